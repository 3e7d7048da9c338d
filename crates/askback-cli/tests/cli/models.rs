//! A model replies where a server wants a text of one, as far as the person lets it.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::{
    run::{ASKBACK, Run, json_response, served},
    scratch::Scratch,
};

/// A provider on this machine: its address. It counts its replies, and says nothing of the prompt.
pub(crate) fn provider() -> String {
    let replies = AtomicUsize::new(0);
    let url = served(move |_| {
        let count = replies.fetch_add(1, Ordering::Relaxed);
        let message = json!({"role": "assistant", "content": format!("Reply {count}.")});
        let reply = json!({"model": "qwen3", "message": message, "done_reason": "stop"});
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

/// A conversation with the agency in lines, in the folder of this name, of a person whose state is kept in that one.
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
    // Also where nobody is there to be asked.
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
    // The same words start another server in another folder.
    let ran = open("elsewhere", "/sampling\nCALL\n/cancel\n");
    ran.says("it runs on ollama/qwen3.");
    open("here", "/sampling\n/sampling ask\nCALL\n/never\n")
        .expect(3)
        .says("run without asking, also in later conversations.")
        .says("Each of its requests to a model is shown to you first.")
        .says("Declined.");
    alone().expect(3).says("you chose never");
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
    // A key that is meant for the provider alone is not used elsewhere, and none is needed there.
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
