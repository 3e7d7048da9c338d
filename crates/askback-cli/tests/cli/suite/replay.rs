//! Recordings that are played in the place of their server.

use std::fs;

use super::record::{RECORD, login};
use crate::{
    end_to_end::Agency,
    run::{ASKBACK, Ran, Run},
    wire::is_private,
};

const REVISIONS: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

const TAILORED: &str = "answers:
  - accept: {email: ada@example.com, depart: 2026-04-02, meals: breakfast, interests: [food]}
";

/// The suite and the messages of a recording.
fn recorded(ran: &Ran) -> [String; 2] {
    ["recorded.yaml", "recorded.jsonl"]
        .map(|file| fs::read_to_string(ran.scratch.path(file)).expect("it was written"))
}

/// A run that plays a recording. Its server is none that could be started.
fn replay(name: &str, [suite, messages]: &[String; 2]) -> Run {
    let run = Run::new(
        &format!("replay-{name}"),
        &["test", "recorded.yaml", "--replay"],
    );
    let suite = suite.replace(ASKBACK, "/nowhere/askback");
    run.scratch.file("recorded.yaml", &suite);
    run.scratch.file("recorded.jsonl", messages);
    run
}

/// A call of the travel agency, with a form where the revision has forms.
fn tailored(name: &str, protocol: &str) -> [String; 2] {
    let words = [
        "call",
        "tailor_trip",
        "destination=Kyoto",
        "--protocol",
        protocol,
    ];
    let run = Run::new(&format!("replay-record-{name}"), &words).and(&RECORD);
    let ran = run.answers(TAILORED).on_travel().expect(0);
    recorded(&ran)
}

#[test]
fn a_call_with_its_forms_is_played_without_the_server() {
    let answers = "answers:
  - {when: {key: wishes}, accept: {confirm_booking: true}}
  - {when: {key: contact}, accept: {name: Ada Lovelace, email: ada@example.com}}
";
    for protocol in ["2025-06-18", "2025-11-25", "2026-07-28"] {
        let words = [
            "call",
            "book_holiday",
            "destination=Rome",
            "depart=2026-06-15",
        ];
        let run = Run::new(&format!("replay-record-{protocol}"), &words)
            .and(&["--protocol", protocol])
            .and(&RECORD)
            .answers(answers);
        let ran = run.on_travel().expect(0);
        assert!(is_private(&ran.scratch.path("recorded.jsonl")));
        let ran = replay(protocol, &recorded(&ran)).run().expect(0);
        ran.prints(&format!("ok    1: call book_holiday [{protocol}]"));
    }
}

#[test]
fn a_conversation_is_played_in_every_revision_over_both_transports() {
    let agency = Agency::open("replay-agency");
    let lines = "/call book_holiday destination=Atlantis depart=2026-06-15 nights=7 travellers=2\n\
         /read travel://destinations\n\
         /packing_list Rome may\n\
         /read travel://destinations/x\n";
    for protocol in REVISIONS {
        for is_http in [false, true] {
            // Streamable HTTP is younger than the first revision.
            if is_http && protocol == REVISIONS[0] {
                continue;
            }
            let name = format!("open-{protocol}-{is_http}");
            let run = Run::new(&format!("record-{name}"), &["open", "--protocol", protocol]);
            let run = run.and(&RECORD).input(lines);
            let ran = match is_http {
                true => run.and(&["--url", &agency.url]).run(),
                false => run.on_travel(),
            };
            let recorded = recorded(&ran.expect(1));
            let ran = replay(&name, &recorded).run().expect(0);
            ran.prints("4 passed");
        }
    }
}

#[test]
fn a_difference_is_told_with_its_place() {
    #[track_caller]
    fn check(name: &str, recorded: &[String; 2], from: &str, to: &str, told: &str) {
        let [suite, messages] = recorded;
        assert!(suite.contains(from), "{suite}");
        let changed = [suite.replacen(from, to, 1), messages.clone()];
        replay(name, &changed).run().expect(1).prints(told);
    }
    let session = tailored("session", "2025-11-25");
    let rounds = tailored("rounds", "2026-07-28");
    check(
        "answer",
        &session,
        "meals: breakfast",
        "meals: none",
        "\n      expected \"breakfast\" at /result/content/meals (message",
    );
    check(
        "round",
        &rounds,
        "meals: breakfast",
        "meals: none",
        "\n      expected \"breakfast\" at /params/inputResponses/preferences/content/meals\n",
    );
    check(
        "argument",
        &rounds,
        "destination: Kyoto",
        "destination: Rome",
        "destination (message 5)\n      came     \"Rome\"\n",
    );
    check(
        "decline",
        &session,
        "    accept:",
        "    decline: true\n  - accept:",
        "expected \"accept\" at /result/action (message",
    );
    check(
        "tool",
        &rounds,
        "  call: tailor_trip",
        "  call: untold",
        "came     tools/call of untold\n",
    );
}

#[test]
fn what_was_traced_is_played_by_a_suite_of_ones_own() {
    let words = [
        "call",
        "find_best_flight",
        "destination=Rome",
        "month=may",
        "wishes=cheap",
        "--trace=wire.jsonl",
    ];
    let ran = Run::new("replay-trace", &words)
        .answers("sampling: [{reply: '1, 2, 3'}]")
        .on_travel()
        .expect(0);
    let wire = fs::read_to_string(ran.scratch.path("wire.jsonl")).expect("it was written");
    let suite = "cases:
  - name: asks a model
    call: find_best_flight
    arguments: {destination: Rome, month: may, wishes: cheap}
    sampling: [{reply: '1, 2, 3'}]
    expect: {structured: {/flights: {length: 3}}}
";
    let run = Run::new("replay-own", &["test", "own.yaml", "--replay=wire.jsonl"]);
    run.scratch.file("own.yaml", suite);
    run.scratch.file("wire.jsonl", &wire);
    let ran = run.run().expect(0);

    let words = [
        "test",
        "own.yaml",
        "--replay=wire.jsonl",
        "--revision",
        "2024-11-05",
    ];
    let run = Run::new("replay-revision", &words);
    run.scratch.file("own.yaml", suite);
    run.scratch.file("wire.jsonl", &wire);
    run.run().expect(2).says("the recording is in 2026-07-28");
    drop(ran);
}

#[cfg(unix)]
#[test]
fn a_server_that_answers_with_an_older_revision_than_was_offered_is_played() {
    for revision in &REVISIONS[..3] {
        let run = Run::new(
            &format!("replay-record-offered-{revision}"),
            &["call", "started", "--trace=wire.jsonl"],
        );
        let zoo = super::zoo::ZOO.replace(REVISIONS[3], revision);
        run.scratch.file("zoo.sh", &zoo);
        let ran = run.and(&RECORD).and(&["--", "sh", "zoo.sh"]).run();
        let ran = ran.expect(0);
        let [suite, messages] = recorded(&ran);
        let traced = fs::read_to_string(ran.scratch.path("wire.jsonl")).expect("it was written");
        for messages in [messages, traced] {
            assert!(messages.contains("\"protocolVersion\":\"2025-11-25\""));
            let name = format!("offered-{revision}");
            let ran = replay(&name, &[suite.clone(), messages]).run().expect(0);
            ran.prints(&format!("ok    1: call started [{revision}]"));
        }
    }
}

#[test]
fn a_recording_that_cannot_be_played_is_told() {
    #[track_caller]
    fn check(name: &str, words: &[&str], says: &str) {
        let run = Run::new(&format!("replay-{name}"), &["test", "suite.yaml"]).and(words);
        run.scratch
            .file("suite.yaml", "cases: [{name: a, call: x}]");
        run.scratch.file("broken.jsonl", "{}\n");
        run.run().expect(2).says(says);
    }
    check("absent", &["--replay"], "suite.jsonl cannot be read");
    check(
        "broken",
        &["--replay=broken.jsonl"],
        "broken.jsonl: line 1 is no message: `number` is missing",
    );
    check(
        "both",
        &["--replay=broken.jsonl", "--", "server"],
        "cannot be used with",
    );
}

#[test]
fn a_recording_of_messages_is_not_written_over() {
    let words = ["call", "x", "--record", "recorded.yaml", "--", "nowhere"];
    let run = Run::new("replay-over", &words);
    run.scratch.file("recorded.jsonl", "mine");
    run.run().expect(2).says("recorded.jsonl is there already");
    let words = ["call", "x", "--record", "recorded.jsonl", "--", "nowhere"];
    let run = Run::new("replay-name", &words).run().expect(2);
    run.says("recorded.jsonl is the name of a file of messages");
}

#[cfg(unix)]
#[test]
fn secrets_are_in_no_message() {
    let run = login("replay-secret");
    let ran = run.and(&["--", "sh", "zoo.sh"]).run().expect(0);
    let [suite, messages] = recorded(&ran.prints("hush-hush"));
    assert!(!messages.contains("hush"), "{messages}");
    assert!(messages.contains("\"user\":\"ada\""), "{messages}");
    for pointer in ["/params/arguments/apiKey", "/result/content/password"] {
        assert!(messages.contains(pointer), "{messages}");
    }
    // Whoever plays it adds a password, or another.
    let suite = suite.replacen("user: ada", "{user: ada, password: other}", 1);
    let suite = suite.replace("accept:\n          {user", "accept: {user");
    let suite = suite.replace("accept:\n        {user", "accept: {user");
    let suite = suite.replace("accept:\n      {user", "accept: {user");
    replay("secret", &[suite, messages]).run().expect(0);
}

#[cfg(unix)]
#[test]
fn a_reply_that_calls_tools_is_recorded_and_played() {
    #[track_caller]
    fn check(name: &str, reply: &str, written: &str) {
        let words = ["call", "sample", "--protocol", "2025-11-25"];
        let run = Run::new(&format!("replay-record-{name}"), &words).and(&RECORD);
        run.scratch.file("zoo.sh", super::zoo::ZOO);
        let run = run.answers(&format!("sampling: [{{reply: {reply}}}]"));
        let ran = run.and(&["--", "sh", "zoo.sh"]).run().expect(0);
        let [suite, messages] = recorded(&ran);
        assert!(suite.contains(written), "{suite}");
        // A model has a name of its own, and another one for each call.
        let messages = messages.replace("\"call-1\"", "\"toolu_7Q\"");
        let messages = messages.replace("\"model\":\"person\"", "\"model\":\"other\"");
        replay(name, &[suite.clone(), messages.clone()])
            .run()
            .expect(0);
        let other = suite.replace("Kyoto", "Rome");
        let ran = replay(&format!("{name}-other"), &[other, messages]).run();
        ran.expect(1)
            .prints("expected \"Kyoto\" at /result/content/");
    }
    check(
        "tools",
        "{tool: weather, input: {city: Kyoto}}",
        "    reply:\n    - tool: weather\n      input:\n        city: Kyoto\n",
    );
    check(
        "tools-and-text",
        "[Let me see., {tool: weather, input: {city: Kyoto}}, {tool: weather}]",
        "    reply:\n    - Let me see.\n    - tool: weather\n      input:\n        city: Kyoto\n    - tool: weather\n      input: {}\n",
    );
}
