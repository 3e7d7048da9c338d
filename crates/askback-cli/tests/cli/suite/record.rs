//! Recordings of sessions. A recording is a suite.

use std::fs;

use crate::{
    run::{Ran, Run},
    wire::is_private,
};

fn recorded(ran: &Ran) -> String {
    fs::read_to_string(ran.scratch.path("recorded.yaml")).expect("it was written")
}

fn test(name: &str, recorded: &str) -> Ran {
    let run = Run::new(&format!("recorded-{name}"), &["test", "recorded.yaml"]);
    run.scratch.file("recorded.yaml", recorded);
    run.run()
}

pub(super) const RECORD: [&str; 2] = ["--record", "recorded.yaml"];

#[test]
fn a_call_is_recorded_with_its_questions_and_passes_again() {
    let answers = "answers:
  - accept: {email: ada@example.com, depart: 2026-04-02, meals: breakfast, interests: [food]}
";
    for protocol in ["2025-11-25", "2026-07-28"] {
        let words = [
            "call",
            "tailor_trip",
            "destination=Kyoto",
            "--protocol",
            protocol,
        ];
        let run = Run::new(&format!("record-call-{protocol}"), &words).and(&RECORD);
        let ran = run.answers(answers).on_travel().expect(0);
        let ran = ran.says("recorded in recorded.yaml, cases: 1\n");
        assert!(is_private(&ran.scratch.path("recorded.yaml")));
        let suite = recorded(&ran);
        assert!(suite.contains(" key: preferences\n"), "{suite}");
        let name = format!("ok    1: call tailor_trip [{protocol}]");
        test(protocol, &suite).expect(0).prints(&name);
    }
}

/// A server that speaks a newer revision from its second start on.
#[cfg(unix)]
const NEWER: &str = r#"
[ -e started ] && revision=2025-11-25 || revision=2025-06-18
touch started
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"initialize"'*)
        echo '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"'$revision'","capabilities":{"tools":{}},"serverInfo":{"name":"n","version":"1"}}}' ;;
    *tools/list*)
        echo '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}' ;;
    *tools/call*) echo '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"'$revision'"}]}}' ;;
    *'"id"'*) echo '{"jsonrpc":"2.0","id":'$id',"error":{"code":-32601,"message":"no"}}' ;;
    esac
done
"#;

#[cfg(unix)]
#[test]
fn a_case_has_the_revision_in_which_it_was_recorded() {
    #[track_caller]
    fn check(name: &str, lines: &str, expected: &[&str]) {
        let run = Run::new(&format!("record-newer-{name}"), &["open"]).and(&RECORD);
        let run = run.and(&["--", "sh", "-c", NEWER]).input(lines);
        let ran = run.run().expect(0);
        let suite = recorded(&ran);
        let lines = suite.lines().filter(|line| line.contains("revisions: "));
        assert_eq!(lines.collect::<Vec<_>>(), expected, "{suite}");
    }
    let only = ["revisions: 2025-11-25"];
    check("before", "/restart\n/call t\n", &only);
    let both = ["revisions: 2025-06-18", "  revisions: 2025-11-25"];
    check("later", "/call t\n/restart\n/call t\n", &both);
}

#[test]
fn a_recording_names_the_client_that_was_played() {
    #[track_caller]
    fn check(client: &str, named: Option<&str>) {
        let words = ["call", "tailor_trip", "destination=Rome", "--as", client];
        let run = Run::new(&format!("record-played-{client}"), &words).and(&RECORD);
        // A client without forms cannot be asked.
        let suite = recorded(&run.answers("answers: [{cancel: true}]").on_travel());
        let (_, told) = suite.split_once("askback test --as ").unzip();
        let told = told.and_then(|told| told.lines().next());
        assert_eq!(told, named, "{suite}");
        let words = ["test", "recorded.yaml"];
        let run = Run::new(&format!("recorded-played-{client}"), &words);
        run.scratch.file("recorded.yaml", &suite);
        let run = match named {
            Some(named) => run.and(&["--as", named]),
            None => run,
        };
        run.run().expect(0);
    }
    check("no-forms", Some("no-forms"));
    check("codex,2025-11-25", Some("codex"));
    check("2025-06-18", None);
}

const CALL_A_MODEL: [&str; 5] = [
    "call",
    "find_best_flight",
    "destination=Rome",
    "month=may",
    "wishes=cheap",
];

#[test]
fn a_no_and_a_model_are_recorded() {
    #[track_caller]
    fn check(name: &str, words: &[&str], answers: &str, exit: i32, holds: &str) {
        let run = Run::new(&format!("record-{name}"), words).and(&RECORD);
        let ran = run.answers(answers).on_travel().expect(exit);
        let suite = recorded(&ran);
        assert!(suite.contains(holds), "{suite}");
        // The text depends on how long the refusal took.
        assert!(!suite.contains("Nothing was done"), "{suite}");
        test(name, &suite).expect(0);
    }
    check(
        "no",
        &[
            "call",
            "book_holiday",
            "destination=Rome",
            "depart=2026-06-15",
        ],
        "answers: [{decline: true, reason: 'too: dear'}]",
        3,
        "    decline: true\n    reason: 'too: dear'\n",
    );
    check(
        "model",
        &CALL_A_MODEL,
        "sampling: [{reply: '1, 2, 3'}]",
        0,
        "    reply: 1, 2, 3\n",
    );
    // The question was not answered: exit code 6.
    check(
        "unanswered",
        &["call", "tailor_trip", "destination=Kyoto"],
        "answers: []",
        6,
        "    cancel: true\n",
    );
    check(
        "unanswered-model",
        &[&CALL_A_MODEL[..], &["--protocol", "2025-11-25"]].concat(),
        "answers: []",
        6,
        "    decline: true\n",
    );
    // In this run the server did not answer the call.
    let run = Run::new("record-unanswered", &CALL_A_MODEL).and(&RECORD);
    let ran = run.answers("answers: []").on_travel().expect(6);
    ran.says("nothing is recorded in recorded.yaml\n");
}

#[test]
fn structured_content_is_recorded() {
    let answers = "answers:
  - when: {key: wishes}
    accept: {confirm_booking: true}
  - when: {key: contact}
    accept: {name: Ada, email: ada@example.com}
";
    let words = [
        "call",
        "book_holiday",
        "destination=Barcelona",
        "depart=2026-06-15",
    ];
    let run = Run::new("record-structured", &words).and(&RECORD);
    let ran = run.answers(answers).on_travel().expect(0);
    let suite = recorded(&ran);
    assert!(suite.contains("      /total: 3000"), "{suite}");
    let other = suite.replace("/total: 3000", "/total: 3001");
    let ran = test("structured-other", &other).expect(1);
    ran.prints("expected structured /total: 3001");
}

#[test]
fn a_conversation_is_recorded_case_by_case() {
    let run = Run::new("record-open", &["open"]).and(&RECORD).input(
        "/call book_holiday destination=Atlantis depart=2026-06-15 nights=7 travellers=2\n\
         /read travel://destinations\n\
         /packing_list destination=Rome month=may\n\
         /read travel://destinations/x\n",
    );
    let ran = run
        .on_travel()
        .expect(1)
        .says("recorded in recorded.yaml, cases: 4\n");
    let suite = recorded(&ran);
    for name in [
        "1: call book_holiday",
        "2: read",
        "3: prompt packing_list",
        "4: read",
    ] {
        assert!(suite.contains(&format!("name: '{name}")), "{suite}");
    }
    test("open", &suite).expect(0).prints("4 passed");
}

#[test]
fn nothing_is_written_over_and_nothing_is_left_behind() {
    let words = [
        "call",
        "x",
        "--record",
        "recorded.yaml",
        "--",
        "sh",
        "-c",
        "exit 7",
    ];
    let run = Run::new("record-over", &words);
    run.scratch.file("recorded.yaml", "mine");
    let ran = run.run().expect(2);
    let ran = ran.says("askback: recorded.yaml exists already, and is not overwritten\n");
    assert_eq!(recorded(&ran), "mine");

    let ran = Run::new("record-nothing", &words).run().expect(4);
    assert!(!ran.scratch.path("recorded.yaml").exists());
}

#[cfg(unix)]
#[test]
fn a_file_that_comes_into_being_meanwhile_is_not_written_over() {
    let making = format!(
        "echo mine > recorded.yaml; exec {} serve travel",
        crate::run::ASKBACK
    );
    let run = Run::new("record-meanwhile", &["open"]).input("/read travel://destinations\n");
    let ran = run.and(&RECORD).and(&["--", "sh", "-c", &making]).run();
    let ran = ran.expect(2).says("recorded.yaml exists already");
    assert_eq!(recorded(&ran), "mine\n");
}

/// A recorded call with secrets in its arguments and its result.
#[cfg(unix)]
pub(super) fn login(name: &str) -> Run {
    let answers = "answers: [{accept: {user: ada, password: hush-hush}}]";
    let words = [
        "call",
        "login",
        "apiKey=hush-key",
        "cookie=hush-cookie",
        "path=ghp_hush-path",
        "--protocol",
        "2025-11-25",
    ];
    let run = Run::new(name, &words).and(&RECORD).answers(answers);
    run.scratch.file("zoo.sh", super::zoo::ZOO);
    run
}

#[cfg(unix)]
#[test]
fn secrets_are_left_out() {
    let run = login("record-secret");
    let ran = run
        .and(&["--", "sh", "zoo.sh", "--token=hush-token"])
        .run()
        .expect(0);
    let ran = ran
        .prints("hush-hush")
        .says("left out, since it may be secret | apiKey, cookie, password, path, the command\n");
    let suite = recorded(&ran);
    assert!(!suite.contains("hush"), "{suite}");
    assert!(suite.contains("user: ada\n"), "{suite}");
    let told = "# Left out, since it may be secret: apiKey, cookie, password, path, the command of the server\n";
    assert!(suite.contains(told), "{suite}");
}

#[cfg(unix)]
#[test]
fn a_secret_that_a_server_repeats_is_in_no_question_and_no_answer() {
    let answers = "answers:
  - {when: {message: Who}, accept: {password: hush-hush}}
  - {when: {message: yours}, accept: {note: 'Yes, hush-hush.', sure: true}}
";
    let words = ["call", "repeat", "--protocol", "2025-11-25"];
    let run = Run::new("record-repeat", &words)
        .and(&RECORD)
        .answers(answers);
    run.scratch.file("zoo.sh", super::zoo::ZOO);
    let ran = run.and(&["--", "sh", "zoo.sh"]).run().expect(0);
    let ran = ran.says("left out, since it may be secret | an answer, password\n");
    let suite = recorded(&ran);
    assert!(!suite.contains("hush"), "{suite}");
}
