//! Errors of runs with JSON output.

use serde_json::{Value, json};

use crate::run::{ASKBACK, Ran, Run};

/// The JSON object that a failed run prints.
#[track_caller]
fn error(ran: Ran, exit: i32, kind: &str) -> Value {
    // stderr has the message for users as usual.
    assert!(!ran.stderr.is_empty());
    let ran = ran.expect(exit);
    let printed = ran.json();
    let members = printed.as_object().expect("it is an object");
    assert_eq!(members.len(), 1, "{printed}");
    let error = printed["error"].clone();
    assert_eq!(
        (&error["kind"], &error["exitCode"]),
        (&json!(kind), &json!(exit)),
        "{error}"
    );
    error
}

fn on_travel(name: &str, words: &[&str]) -> Ran {
    Run::new(&format!("json-{name}"), words).on_travel()
}

fn on(name: &str, words: &[&str], server: &[&str]) -> Ran {
    Run::new(&format!("json-{name}"), words)
        .and(&["--"])
        .and(server)
        .run()
}

#[test]
fn an_error_is_one_object_in_place_of_the_result() {
    let told = error(on_travel("tool", &["call", "fly", "--json"]), 2, "usage");
    assert_eq!(told["message"], "there is no tool `fly`");
    assert!(
        told["detail"]
            .as_str()
            .is_some_and(|names| names.contains("book_holiday"))
    );
    assert_eq!(told["hints"], json!(["The server has these."]));

    let atlantis = "travel://destinations/Atlantis";
    let read = ["get", atlantis, "--json", "--protocol", "2025-11-25"];
    let told = error(on_travel("server", &read), 1, "server");
    assert_eq!(told["server"]["code"], json!(-32002), "{told}");
    assert!(told["server"]["message"].is_string(), "{told}");
    assert_eq!(told["server"]["data"]["uri"], atlantis, "{told}");

    let told = error(
        on("gone", &["list", "--json"], &["/not/there"]),
        4,
        "connection",
    );
    assert_eq!(told["message"], "the server cannot be reached");
    let unspoken = ["list", "--all", "--json", "--protocol", "2025-06-18"];
    let newest = [ASKBACK, "serve", "travel", "--protocol", "2026-07-28"];
    error(on("unspoken", &unspoken, &newest), 4, "protocol");
    error(
        on_travel("prompt", &["get", "plan_vacation", "--json"]),
        2,
        "usage",
    );
}

#[cfg(unix)]
#[test]
fn a_server_that_exits_is_told_in_words() {
    let exits = ["sh", "-c", "exit 7"];
    let told = error(
        on("exits", &["call", "x", "--json"], &exits),
        4,
        "connection",
    );
    assert_eq!(told["message"], "the server exited (code 7)");
}

#[test]
fn a_command_line_that_makes_no_sense_is_told_as_json_too() {
    let told = error(Run::new("json-tool", &["call", "--json"]).run(), 2, "usage");
    let message = told["message"].as_str().unwrap_or_default();
    assert!(
        message.starts_with("the following required arguments"),
        "{told}"
    );
    let rest = told["detail"].as_str().unwrap_or_default();
    assert!(rest.contains("<TOOL>"), "{told}");
    let told = error(
        Run::new("json-server", &["call", "x", "--json"]).run(),
        2,
        "usage",
    );
    assert_eq!(told["message"], "no server is named");
    // Words after `--` belong to the server.
    let ran = Run::new("json-behind", &["call", "--", "server", "--json"]).run();
    assert_eq!(ran.expect(2).stdout, "");
}

#[test]
fn without_json_an_error_is_not_on_the_standard_output() {
    let ran = on_travel("plain", &["call", "fly"]).expect(2);
    assert_eq!(ran.says("askback: there is no tool `fly`").stdout, "");
}
