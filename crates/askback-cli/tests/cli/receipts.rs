//! Receipts: a tool that requires a receipt, a user in a terminal, and `askback receipts`.

use std::{
    fs,
    process::Command,
    sync::{Arc, Mutex, mpsc},
    thread,
};

use askback::{Ctx, Result, Server, Tool, witness::WitnessKey};
use serde_json::{Value, json};

use crate::{
    full::{ENTER, REVIEW, Terminal},
    run::{ASKBACK, Run},
    scratch::Scratch,
};

async fn wire_money(ctx: Ctx) -> Result<String> {
    let amount = ctx.elicit::<u32>("How much?").await?.accepted()?;
    Ok(format!("{amount} USD are on their way"))
}

/// A server over HTTP that trusts one key. Returns its URL, and where to set the key.
fn bank() -> (String, Arc<Mutex<Option<WitnessKey>>>) {
    let trusted = Arc::new(Mutex::new(None));
    let known = Arc::clone(&trusted);
    let (sender, bound) = mpsc::channel();
    // The thread ends with the test process.
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("there is room");
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
            let listener = listener.expect("there is a loopback");
            let address = listener.local_addr().expect("it is bound");
            sender.send(address).expect("the test waits for it");
            let server = Server::new("bank", "1")
                .tool(Tool::new("wire_money", wire_money).requires_witness())
                .trust_witness(move |key, _| *known.lock().unwrap() == Some(*key))
                .build()
                .expect("it is whole");
            server.http().serve(listener).await
        })
    });
    let url = format!("http://{}/mcp", bound.recv().expect("it is bound"));
    (url, trusted)
}

#[test]
fn a_person_at_a_terminal_is_told_from_a_script() {
    let scratch = Scratch::new("receipts");
    let state = scratch.path("state").display().to_string();
    let receipts = |words: &[&str]| {
        let run = Command::new(ASKBACK)
            .arg("receipts")
            .args(words)
            .env("XDG_STATE_HOME", &state)
            .env("NO_COLOR", "1")
            .output()
            .expect("it runs");
        let stdout = String::from_utf8(run.stdout).expect("it writes text");
        (run.status.code(), stdout)
    };
    let (url, trusted) = bank();
    let answer = |is_plain: bool, expected: &str| {
        let mut words = vec!["call", "wire_money", "--url", &*url];
        words.extend(is_plain.then_some("--plain"));
        let state = [("XDG_STATE_HOME", &*state)];
        let mut terminal = Terminal::open_with(&words, 100, &state);
        if is_plain {
            terminal.until_asked();
        } else {
            terminal.until("How much?");
        }
        let (review, end) = match is_plain {
            true => (ENTER, "Enter sends"),
            false => (REVIEW, "[Enter] Send"),
        };
        terminal.press("7").press(review).until(end).press(ENTER);
        terminal.until(expected);
        assert!(terminal.exit().is_some());
    };
    // The server does not know the key yet.
    answer(false, "no valid receipt");
    let (exit, key) = receipts(&["--key", &url]);
    assert_eq!(exit, Some(0), "{key}");
    *trusted.lock().unwrap() = Some(key.trim().parse().expect("it is a key"));
    answer(false, "7 USD are on their way");
    answer(true, "7 USD are on their way");
    // An answer from a file is not accepted either, even with the same key.
    let words = ["call", "wire_money", "--url", &*url];
    let script = Run::new("receipts-script", &words).set("XDG_STATE_HOME", state.clone());
    let script = script
        .answers("answers:\n  - when: {key: number}\n    accept: {answer: 7}\n")
        .run();
    script.expect(1).prints("no valid receipt");

    let (exit, list) = receipts(&[]);
    assert_eq!(exit, Some(0), "{list}");
    for (number, renderer) in [
        (1, "terminal"),
        (2, "terminal"),
        (3, "lines"),
        (4, "script"),
    ] {
        let row = list
            .lines()
            .find(|row| row.trim_start().starts_with(&format!("{number} ")));
        assert!(row.is_some_and(|row| row.contains(renderer)), "{list}");
    }
    // First a receipt is changed, then all are removed.
    let file = scratch.path("state/askback/receipts/receipts.jsonl");
    let whole = fs::read_to_string(&file).expect("it was written");
    // Each receipt begins a new line, even after a truncated one.
    let whole = whole.replace("\n\n", "\n");
    let whole = whole.trim_start().to_owned();
    let check = |text: &str, fault: &str| {
        fs::write(&file, text).expect("it is ours");
        let (exit, list) = receipts(&["--json"]);
        assert_eq!(exit, Some(1), "{list}");
        let list: Value = serde_json::from_str(&list).expect("it is JSON");
        assert_eq!(list[0]["fault"], json!(fault));
    };
    check(
        &whole.replace("\"script\"", "\"page\""),
        "receipt 4: the signature does not fit",
    );
    let without_last: String = whole.split_inclusive('\n').take(3).collect();
    check(&without_last, "4 were signed, and 3 are in the list");
    let without_first: String = whole.split_inclusive('\n').skip(1).collect();
    check(
        &without_first,
        "receipt 1: a receipt before it is missing or was changed",
    );
    let (torn, _) = whole.split_at(whole.len() - 9);
    check(torn, "4 were signed, and 3 are in the list");
    check("", "4 were signed, and none is in the list");
}
