use std::time::{Duration, SystemTime};

use askback::transport::WireEvent;
use askback_host::{
    page::{Look, Page},
    wire::{self, Wire},
};
use serde_json::Value;

/// A session with these messages, one every 250 ms. `>` is to the server, `<` to the client.
fn session(messages: &[&str], most: usize) -> Wire {
    let mut wire = Wire::new(SystemTime::UNIX_EPOCH, most);
    let mut at = Duration::ZERO;
    for message in messages {
        let (direction, message) = message.split_at(1);
        let message = message.trim().as_bytes();
        let event = match direction {
            ">" => WireEvent::Sent(message),
            _ => WireEvent::Received(message),
        };
        wire.take(&event, at);
        at += Duration::from_millis(250);
    }
    wire
}

fn shown(put: impl FnOnce(&mut Page)) -> String {
    let mut page = Page::new(Look {
        columns: 80,
        styled: false,
    });
    put(&mut page);
    page.take().to_string()
}

fn put(page: &mut Page, wire: &Wire, shown: wire::MessageSelection) {
    wire::put(page, wire, shown).expect("there are some");
}

const CALL: &str = r#"> {"id":1,"method":"tools/call","params":{"name":"book"}}"#;

/// Checks the list of these messages, without its last line.
#[track_caller]
fn check(messages: &[&str], expected: &[&str]) {
    let wire = session(messages, 1 << 20);
    let rows = shown(|page| put(page, &wire, wire::MessageSelection::All));
    let rows: Vec<_> = rows.lines().collect();
    assert_eq!(rows[..rows.len() - 1], *expected);
}

#[test]
fn the_rounds_of_a_call_are_one_thing() {
    // Rounds in separate requests, with another call between them.
    check(
        &[
            CALL,
            r#"< {"id":1,"result":{"inputRequests":{"seat":{}},"requestState":"abc"}}"#,
            r#"> {"id":2,"method":"tools/list"}"#,
            r#"< {"id":2,"result":{"tools":[]}}"#,
            r#"> {"id":3,"method":"tools/call","params":{"name":"book","requestState":"abc","inputResponses":{"seat":{}}}}"#,
            r#"< {"id":3,"result":{"inputRequests":{"meal":{}}}}"#,
            r#"> {"id":4,"method":"tools/call","params":{"name":"book","inputResponses":{"meal":{}}}}"#,
            r#"< {"id":4,"result":{"content":[]}}"#,
        ],
        &[
            "One call: rounds 3, messages 6, 391 B, 0.750 s at the server | book",
            "   1    0.000    55 B → | tools/call book",
            "   2    0.250    68 B ← | asks seat, state of 3 characters, after 0.250 s",
            "   5    1.000   105 B → | tools/call book, answers seat, state of 3 characters",
            "   6    1.250    47 B ← | asks meal, after 0.250 s",
            "   7    1.500    84 B → | tools/call book, answers meal",
            "   8    1.750    32 B ← | result, after 0.250 s",
            "   3    0.500    30 B → | tools/list",
            "   4    0.750    30 B ← | result, after 0.250 s",
        ],
    );
    // Questions during the call, and progress.
    check(
        &[
            r#"> {"id":1,"method":"tools/call","params":{"name":"book","_meta":{"progressToken":7}}}"#,
            r#"< {"method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#,
            r#"< {"id":1,"method":"elicitation/create","params":{"message":"Which seat?"}}"#,
            r#"> {"id":1,"result":{"action":"decline"}}"#,
            r#"< {"id":1,"result":{"content":[],"isError":true}}"#,
        ],
        &[
            "One call: server requests 1, messages 5, 318 B, 0.750 s at the server",
            "  | book",
            "   1    0.000    83 B → | tools/call book",
            "   2    0.250    77 B ← | notifications/progress 1",
            "   3    0.500    73 B ← | elicitation/create",
            "   4    0.750    38 B → | answers elicitation/create: decline, after 0.250 s",
            "   5    1.000    47 B ← | result, the tool reports an error, after 1.000 s",
        ],
    );
}

#[test]
fn an_answer_of_the_person_says_what_it_answers() {
    check(
        &[
            CALL,
            r#"< {"id":1,"method":"roots/list"}"#,
            r#"> {"id":1,"result":{"roots":[]}}"#,
            r#"< {"id":2,"method":"sampling/createMessage"}"#,
            r#"> {"id":2,"error":{"code":-1,"message":"no"}}"#,
            // A response of the server may have any members.
            r#"< {"id":1,"result":{"action":"accept"}}"#,
        ],
        &[
            "One call: server requests 2, messages 6, 237 B, 0.750 s at the server",
            "  | book",
            "   1    0.000    55 B → | tools/call book",
            "   2    0.250    30 B ← | roots/list",
            "   3    0.500    30 B → | answers roots/list, after 0.250 s",
            "   4    0.750    42 B ← | sampling/createMessage",
            "   5    1.000    43 B → | answers sampling/createMessage: error -1: no, after",
            "                         | 0.250 s",
            "   6    1.250    37 B ← | result, after 1.250 s",
        ],
    );
}

#[test]
fn a_log_line_is_listed_with_the_only_open_call() {
    const LOG: &str = r#"< {"method":"notifications/message","params":{"data":"a"}}"#;
    // In the only open call; between two of its rounds, by itself.
    check(
        &[
            CALL,
            LOG,
            r#"< {"id":1,"result":{"requestState":"abc"}}"#,
            LOG,
            r#"> {"id":2,"method":"tools/call","params":{"name":"book","requestState":"abc"}}"#,
            r#"< {"id":2,"result":{}}"#,
            LOG,
        ],
        &[
            "One call: rounds 2, messages 5, 247 B, 0.750 s at the server | book",
            "   1    0.000    55 B → | tools/call book",
            "   2    0.250    56 B ← | notifications/message a",
            "   3    0.500    40 B ← | wants to be called again, state of 3 characters,",
            "                         | after 0.500 s",
            "   5    1.000    76 B → | tools/call book, state of 3 characters",
            "   6    1.250    20 B ← | result, after 0.250 s",
            "   4    0.750    56 B ← | notifications/message a",
            "   7    1.500    56 B ← | notifications/message a",
        ],
    );
    // If two calls are open, a log message belongs to neither.
    check(
        &[
            CALL,
            r#"> {"id":2,"method":"tools/call","params":{"name":"ring"}}"#,
            LOG,
            r#"< {"id":1,"result":{}}"#,
            r#"< {"id":2,"result":{}}"#,
        ],
        &[
            "   1    0.000    55 B → | tools/call book",
            "   4    0.750    20 B ← | result, after 0.750 s",
            "   2    0.250    55 B → | tools/call ring",
            "   5    1.000    20 B ← | result, after 0.750 s",
            "   3    0.500    56 B ← | notifications/message a",
        ],
    );
}

#[test]
fn a_message_of_an_unknown_call_is_shown_alone() {
    // Two calls are open, and either may ask.
    check(
        &[
            CALL,
            r#"> {"id":2,"method":"tools/call","params":{"name":"ring"}}"#,
            r#"< {"id":9,"method":"roots/list"}"#,
            r#"< {"id":5,"result":{}}"#,
            "< hello",
        ],
        &[
            "   1    0.000    55 B → | tools/call book",
            "   2    0.250    55 B → | tools/call ring",
            "   3    0.500    30 B ← | roots/list",
            "   4    0.750    20 B ← | result",
            "   5    1.000     5 B ← | not a message of JSON-RPC",
        ],
    );
}

#[test]
fn a_state_is_of_the_call_it_came_from_and_no_other() {
    check(
        &[
            CALL,
            r#"< {"id":1,"result":{"requestState":"abc"}}"#,
            r#"> {"id":2,"method":"tools/call","params":{"name":"book","requestState":"abd"}}"#,
        ],
        &[
            "   1    0.000    55 B → | tools/call book",
            "   2    0.250    40 B ← | wants to be called again, state of 3 characters,",
            "                         | after 0.250 s",
            "   3    0.500    76 B → | tools/call book, state of 3 characters",
        ],
    );
}

#[test]
fn the_oldest_messages_go_first_and_that_is_said() {
    let call = CALL.to_owned();
    let messages = vec![call.as_str(); 100];
    let wire = session(&messages, 10_000);
    let kept: Vec<_> = (1..=100)
        .filter(|number| wire.get(*number).is_some())
        .collect();
    assert_eq!(kept, (84..=100).collect::<Vec<_>>());
    assert_eq!(wire.dropped(), 83);
    let rows = shown(|page| put(page, &wire, wire::MessageSelection::Last));
    let rows: Vec<_> = rows.lines().collect();
    let dropped = "  The first 83 messages were dropped: askback keeps 10.0 kB of messages.";
    assert_eq!(rows[0], dropped);
    assert_eq!(rows[1], "  84   20.750    55 B → | tools/call book");
    assert_eq!(rows.len(), 17 + 2);
    let wire = session(&messages, 1 << 20);
    let rows = shown(|page| put(page, &wire, wire::MessageSelection::Last));
    let rows: Vec<_> = rows.lines().collect();
    assert_eq!(rows[0], "  70 messages before; /wire all shows them");
    assert_eq!(rows[1], "  71   17.500    55 B → | tools/call book");
    assert_eq!(rows.len(), 30 + 2);
    let long = format!("> {{\"id\":1,\"method\":\"{}\"}}", "x".repeat(20_000));
    assert_eq!(session(&[&long], 10_000).entries().count(), 0);
}

#[test]
fn a_message_is_shown_whole_with_what_acts_or_hides_escaped() {
    let state = r#"{\"exp\":90}"#;
    let message = format!(
        "< {{\"id\":1,\"result\":{{\"requestState\":\"{state}\",\"text\":\"\u{202e}a\",\"n\":1.50}}}}"
    );
    let wire = session(&[CALL, &message], 1 << 20);
    let rows = shown(|page| put(page, &wire, wire::MessageSelection::One(2)));
    assert_eq!(
        rows.lines().collect::<Vec<_>>(),
        [
            "Message 2, received at 1970-01-01T00:00:00.25Z, 72 B",
            "  0.250 s after its request",
            "  part of what began with message 1",
            "  requestState: 10 characters",
            "| {",
            "|   \"id\": 1,",
            "|   \"result\": {\"requestState\":\"{\\\"exp\\\":90}\",\"text\":\"\\u202ea\",\"n\":1.50}",
            "| }",
        ]
    );
}

#[test]
fn a_line_of_json_holds_a_message_as_it_came() {
    #[track_caller]
    fn check(message: &str, member: &str, expected: &str) {
        let wire = session(&[message], 1 << 20);
        let entry = wire.get(1).expect("it is kept");
        let line = wire::line(wire.began(), entry);
        assert!(!line.contains('\n'));
        let read: Value = serde_json::from_str(&line).expect("it is JSON");
        assert_eq!(read["direction"], "received");
        assert_eq!(read["time"], "1970-01-01T00:00:00Z");
        assert!(line.contains(&format!("\"{member}\":{expected}")), "{line}");
    }
    check(
        "< {\"id\":1.0,\"a\":1,\"a\":\"\u{202e}\"}",
        "message",
        "{\"id\":1.0,\"a\":1,\"a\":\"\\u202e\"}",
    );
    check("< {\"id\":1,\n\"a\":2}", "message", "{\"id\":1, \"a\":2}");
    check("< Traceback: \"no\"", "text", "\"Traceback: \\\"no\\\"\"");
}
