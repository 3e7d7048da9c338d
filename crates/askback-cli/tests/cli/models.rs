//! A model answers sampling requests, as far as the user permits.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::{
    run::{ASKBACK, Run, json_response, served},
    scratch::Scratch,
};

/// Starts a local provider and returns its address. Its replies are numbered and never quote the prompt.
pub(crate) fn provider() -> String {
    let replies = AtomicUsize::new(0);
    let url = served(move |_| {
        let count = replies.fetch_add(1, Ordering::Relaxed);
        let message = json!({"role": "assistant", "content": format!("Reply {count}.")});
        let choice = json!({"message": message, "finish_reason": "stop"});
        let reply = json!({"model": "qwen3", "choices": [choice]});
        json_response("200 OK", &reply)
    });
    url.trim_end_matches("/mcp").to_owned()
}

const CALL: [&str; 4] = [
    "find_best_flight",
    "destination=Barcelona",
    "month=june",
    "wishes=early",
];

/// A conversation with the agency, with these input lines. `name` is its folder, and `state` the folder of the user's
/// state.
fn conversation(name: &str, state: &'static str, address: &str, lines: &str) -> Run {
    let words = ["open", "--model", "ollama/qwen3", "--model-url", address];
    let run = Run::new(&format!("models-{name}"), &words).set("XDG_STATE_HOME", state);
    run.input(&lines.replace("CALL", &format!("/call {}", CALL.join(" "))))
}

#[test]
fn what_a_model_replies_is_looked_over_until_the_person_says_otherwise() {
    let address = provider();
    let kept = Scratch::new("models-state");
    let state: &'static str = Box::leak(kept.path("state").display().to_string().into_boxed_str());
    let open = |name: &str, lines: &str| conversation(name, state, &address, lines).on_travel();
    let ran = open("here", "CALL\n\n/edit\nReply by hand.\n.\n\n").expect(0);
    ran.says("it runs on ollama/qwen3.")
        .says("| Reply 0.")
        .prints("Reply by hand.");
    let ran = open("here", "CALL\n/always\nCALL\n").expect(0);
    ran.prints("Reply 1.").prints("Reply 2.");
    // The permission also holds if no user is present.
    let words = [
        &["call"],
        &CALL[..],
        &["--model", "ollama/qwen3", "--model-url", &address],
    ]
    .concat();
    let alone = || {
        Run::new("models-here", &words)
            .set("XDG_STATE_HOME", state)
            .on_travel()
    };
    alone().expect(0).prints("Reply 3.");
    // In another folder, the same command is another server.
    let ran = open("elsewhere", "/sampling\nCALL\n/cancel\n");
    ran.says("it runs on ollama/qwen3.");
    open("here", "/sampling\n/sampling ask\nCALL\n/never\n")
        .expect(3)
        .says("run without asking, also in later conversations.")
        .says("Each of its requests to a model is shown to you first.")
        .says("Declined.");
    alone().expect(3).says("You chose never");
}

#[test]
fn what_is_wrong_with_a_model_is_said_before_the_server_is_started() {
    for (words, says) in [
        (
            &["--model", "gemini/x"][..],
            "write openai/…, anthropic/…, ollama/…",
        ),
        (
            &["--model", "openai/x"],
            "openai/x needs a key: set ASKBACK_MODEL_KEY or OPENAI_API_KEY",
        ),
        (
            &["--model", "ollama/x", "--model-url", "http://far.example"],
            "use https, or http on this machine",
        ),
        (
            &["--model-url", "http://127.0.0.1:1"],
            "--model needs the name of a model",
        ),
        (
            &["--model", "openai/x", "--model-key-file", "absent"],
            "absent cannot be read",
        ),
    ] {
        let run = Run::new("models-wrong", &["list"])
            .and(words)
            .set("OPENAI_API_KEY", "");
        run.and(&["--", ASKBACK, "nowhere"])
            .run()
            .expect(2)
            .says(says);
    }
    // A key for the provider's own address is not sent elsewhere, and no key is needed there.
    let words = [
        "list",
        "--model",
        "openai/x",
        "--model-url",
        "http://127.0.0.1:1",
    ];
    Run::new("models-key", &words)
        .set("OPENAI_API_KEY", "a\nb")
        .on_travel()
        .expect(0);
}
