//! Suites with a small server whose tools count, work, ask, fail, hang and crash.

use std::{
    fs,
    process::{Command, Stdio},
};

use crate::{
    full::Terminal,
    run::{ASKBACK, Ran, Run},
    scratch::Scratch,
};

pub(super) const ZOO: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
answer() { say "\"id\":$id,\"result\":$1"; }
text() { answer "{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"; }
tools() {
  list=
  for name in keyed login repeat sample started token; do
    list="$list,{\"name\":\"$name\",\"inputSchema\":{\"type\":\"object\"}}"
  done
  answer "{\"tools\":[${list#,}]}"
}
count=0
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  token=$(printf '%s' "$line" | sed -n 's/.*"progressToken":\([0-9a-zA-Z"-]*\).*/\1/p')
  case $line in
    *'"method":"server/discover"'*) say "\"id\":$id,\"error\":{\"code\":-32601,\"message\":\"no such method\"}" ;;
    *'"method":"initialize"'*)
      answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"zoo","version":"1"}}' ;;
    *'"method":"tools/list"'*) tools ;;
    *'"method":"logging/setLevel"'*) logs=yes; answer '{}' ;;
    *'"name":"count"'*) count=$((count + 1)); text "$count" ;;
    *'"name":"work"'*)
      say "\"method\":\"notifications/progress\",\"params\":{\"progressToken\":$token,\"progress\":1,\"message\":\"half\"}"
      test -n "$logs" && say '"method":"notifications/message","params":{"level":"warning","data":"hungry"}'
      text done ;;
    *'"name":"ask"'*)
      asking=$id
      say '"id":"q","method":"elicitation/create","params":{"message":"Feed it?","requestedSchema":{"type":"object","properties":{"food":{"type":"string"}},"required":["food"]}}' ;;
    *'"name":"login"'*)
      asking=$id
      say '"id":"q","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"user":{"type":"string"},"password":{"type":"string"}}}}' ;;
    *'"name":"sample"'*)
      asking=$id
      say '"id":"q","method":"sampling/createMessage","params":{"maxTokens":9,"messages":[{"role":"user","content":{"type":"text","text":"Which city?"}}],"tools":[{"name":"weather","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"repeat"'*)
      asking=$id
      say '"id":"p","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}' ;;
    *'"id":"p"'*)
      secret=$(printf '%s' "$line" | sed -n 's/.*"password":"\([^"]*\)".*/\1/p')
      say "\"id\":\"q\",\"method\":\"elicitation/create\",\"params\":{\"message\":\"$secret: is that yours?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"note\":{\"type\":\"string\"},\"sure\":{\"type\":\"boolean\"}}}}" ;;
    *'"name":"keyed"'*)
      asking=$id
      say '"id":"k","method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{"password":{"type":"string"}}}}' ;;
    *'"id":"k"'*)
      id=$asking
      secret=$(printf '%s' "$line" | sed -n 's/.*"password":"\([^"]*\)".*/\1/p')
      answer "{\"content\":[],\"structuredContent\":{\"$secret\":1,\"known\":true}}" ;;
    *'"id":"q"'*) id=$asking; text "$(printf '%s' "$line" | tr -d '"\\')" ;;
    *'"name":"hostile"'*) text '\u001b[2J]]> </failure> \u0000\ufffe & \u202e' ;;
    *'"name":"started"'*) text "with $*" ;;
    *'"name":"token"'*)
      token=ghp_0123456789hush other=ghp_9876543210hush
      key='-----BEGIN PRIVATE KEY-----\nhush56789abcdef0=\n-----END PRIVATE KEY-----'
      answer "{\"content\":[{\"type\":\"text\",\"text\":\"Use $token.\"},{\"type\":\"text\",\"text\":\"Or https://ada:hush@zoo.test, npm_0123456789hush.\"},{\"type\":\"text\",\"text\":\"$key\"},{\"type\":\"text\",\"text\":\"{\\\"log\\\":\\\"first\\\\n$other\\\\n\\\"}\"}],\"structuredContent\":{\"issued\":[\"a\",\"$token\"],\"known\":true}}" ;;
    *'"name":"silent"'*) ;;
    *'"name":"again"'*) if test -e seen; then kill -INT $PPID; else : >seen; text once; fi ;;
    *'"name":"crash"'*) exit 7 ;;
    *'"method":"tools/call"'*) say "\"id\":$id,\"error\":{\"code\":-32602,\"message\":\"no such animal\"}" ;;
  esac
done
"#;

/// Runs a suite with the server, in one revision.
pub(super) fn on_zoo(name: &str, words: &[&str], cases: &str) -> Ran {
    let run = Run::new(&format!("suite-{name}"), &["test", "suite.yaml"]).and(words);
    write_suite(&run.scratch, cases);
    run.run()
}

fn write_suite(scratch: &Scratch, cases: &str) {
    scratch.file("zoo.sh", ZOO);
    let head = "server: {command: [sh, zoo.sh], name: zoo}\nrevisions: 2025-11-25\n";
    scratch.file("suite.yaml", &format!("{head}{cases}"));
}

/// The lines of the cases, without their durations.
fn lines(ran: &Ran) -> Vec<&str> {
    let lines = ran.stdout.lines();
    lines
        .map(|line| line.rsplit_once(" (").map_or(line, |(line, _)| line))
        .collect()
}

#[test]
fn cases_share_a_server_unless_they_have_their_own() {
    let cases = "
cases:
  - {name: first, call: count, expect: {text: '1'}}
  - {name: alone, call: count, fresh: true, expect: {text: '1'}}
  - {name: second, call: count, expect: {text: '2'}}
";
    on_zoo("shared", &[], cases).expect(0).prints("3 passed");
}

#[test]
fn a_suite_is_repeated_by_several_clients() {
    let cases = "
cases:
  - {name: counts, call: count, expect: {text: '1'}}
  - {name: fails, call: count, expect: {text: '1'}}
";
    let repeated = ["--repeat", "12", "--at-once", "5"];
    // Each time a new server counts from one.
    let passing = [&repeated[..], &["--filter", "counts"]].concat();
    let ran = on_zoo("repeated", &passing, cases).expect(0);
    assert_eq!(lines(&ran), ["12 passed"]);
    // Nothing is said meanwhile if there is no terminal.
    assert!(!ran.stderr.contains("of 12"), "{}", ran.stderr);
    let ran = on_zoo("repeated-fails", &repeated, cases).expect(1);
    let lines = lines(&ran);
    let fails = lines
        .iter()
        .filter(|line| line.starts_with("FAIL  fails (run "));
    assert_eq!(fails.count(), 10, "{lines:?}");
    let last = [
        "2 more cases that did not pass are not shown.",
        "12 passed, 12 failed",
    ];
    assert!(lines.ends_with(&last), "{lines:?}");
    let counted = lines.iter().filter(|line| line.contains("counts"));
    assert_eq!(counted.count(), 0, "{lines:?}");
}

#[test]
fn each_report_names_the_run_of_a_case() {
    let cases = "cases: [{name: counts, call: count}]";
    let words = |format| ["--repeat", "2", "--format", format];
    let ran = on_zoo("repeated-json", &words("json"), cases).expect(0);
    let report = ran.json();
    let names = [0, 1].map(|case| &report["cases"][case]["name"]);
    assert_eq!(names, ["counts (run 1)", "counts (run 2)"]);
    let ran = on_zoo("repeated-junit", &words("junit"), cases).expect(0);
    ran.prints("name=\"counts (run 1) [2025-11-25]\"")
        .prints("name=\"counts (run 2) [2025-11-25]\"");
}

#[test]
fn a_terminal_shows_how_far_a_repeated_suite_is() {
    let scratch = Scratch::new("suite-progress");
    write_suite(
        &scratch,
        "cases: [{name: is silent, call: silent, expect: {under: 1500ms}}]",
    );
    let command = pty_process::blocking::Command::new(ASKBACK)
        .args(["test", "suite.yaml", "--repeat", "2"])
        .current_dir(scratch.path("."))
        .env("TERM", "xterm-256color");
    let mut terminal = Terminal::start(command, 80);
    terminal
        .until("0 of 2 runs, 0 failed cases")
        .until("1 of 2 runs, 1 failed cases")
        .until("0 passed, 2 failed");
    assert_eq!(terminal.ended(), Some(1));
}

#[test]
fn a_report_that_cannot_be_written_is_known_before_the_first_call() {
    let cases = "cases: [{name: first, call: again}]";
    let words = ["--format", "json", "--output", "nowhere/report.json"];
    let ran = on_zoo("output-nowhere", &words, cases).expect(2);
    let ran = ran.says("nowhere/report.json cannot be written");
    assert!(!fs::exists(ran.scratch.path("seen")).expect("it is ours"));
}

#[test]
fn a_closed_pipe_ends_a_run_and_is_a_failure() {
    #[track_caller]
    fn check(name: &str, tool: &str, words: &[&str]) {
        let scratch = Scratch::new(name);
        write_suite(&scratch, &format!("cases: [{{name: first, call: {tool}}}]"));
        let mut child = Command::new(ASKBACK)
            .args(["test", "suite.yaml"])
            .args(words)
            .current_dir(scratch.path("."))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(2));
        let said = String::from_utf8_lossy(&ended.stderr);
        assert!(said.contains("the result cannot be written"), "{said}");
    }
    check("suite-closed", "silent", &["--repeat", "9"]);
    check("suite-closed-json", "count", &["--format", "json"]);
}

#[test]
fn a_repeated_suite_that_is_stopped_says_how_its_cases_went() {
    let cases = "cases: [{name: first, call: again}]";
    let ran = on_zoo("repeated-stopped", &["--repeat", "9"], cases).expect(130);
    assert_eq!(lines(&ran), ["1 passed"]);
}

#[test]
fn some_requests_come_before_the_cases_on_each_server() {
    let cases = "
answers: [{accept: {food: hay}}]
before:
  - {name: open the zoo, call: count}
  - {name: feed it, call: ask, expect: {text: {contains: hay}}}
  - {name: let somebody in, call: count}
cases:
  - {name: first, call: count, expect: {text: '3'}}
  - {name: alone, call: count, fresh: true, expect: {text: '3'}}
  - {name: second, call: count, expect: {text: '4'}}
";
    on_zoo("before", &[], cases).expect(0).prints("3 passed");
    // If a request of `before` fails, the case is not run, and the next case begins with that
    // request again.
    let cases = "
before:
  - {name: feed it, call: tiger}
cases:
  - {name: first, call: count}
  - {name: second, call: count}
";
    let ran = on_zoo("before-fails", &[], cases).expect(1);
    let told = "expected feed it, before the case: a result";
    ran.prints("2 failed").prints(told);
    let cases = "
before: [{name: feed it, call: ask, fresh: true}]
cases: [{name: first, call: count}]
";
    let ran = on_zoo("before-fresh", &[], cases).expect(2);
    ran.says("a request of `before` has no `revisions`, `fresh` or `roots`");
}

#[test]
fn what_a_server_says_and_asks_is_expected() {
    let cases = "
answers: [{when: {server: zoo}, accept: {food: hay}}]
cases:
  - name: works
    call: work
    expect: {text: done}
  - name: asks
    call: ask
    expect:
      text: {contains: hay}
      questions: [{message: Feed it?, fields: [food], mode: form, reply: accept}]
  - name: refuses
    call: tiger
    expect: {error: {code: -32602, message: {contains: animal}}}
";
    on_zoo("said", &[], cases).expect(0).prints("3 passed");
}

#[test]
fn a_rule_that_answers_nothing_can_fail_its_case() {
    #[track_caller]
    fn check(name: &str, case: &str, told: &str) {
        let shared = "answers: [{when: {message: other}, accept: {food: hay}}]";
        let cases = format!("{shared}\ncases: [{{name: asks, call: ask, {case}}}]");
        match told {
            "" => on_zoo(name, &[], &cases).expect(0),
            told => on_zoo(name, &[], &cases).expect(1).prints(told),
        };
    }
    check(
        "asked",
        "answers: [{accept: {food: hay}}], unused: error",
        "",
    );
    check(
        "unused",
        "answers: [{when: {message: x}, accept: {}}, {cancel: true}], unused: error",
        "came     case rule 1 answered no question",
    );
}

#[test]
fn a_rule_for_a_question_without_an_answer_goes_into_the_suite() {
    let cases = "cases: [{name: asks, call: ask, answers: [{when: {message: x}, cancel: true}]}]";
    let ran = on_zoo("advice", &[], cases).expect(1);
    let ran = ran
        .prints("no rule of the case or of the suite fits; cancelled.")
        .prints("A rule such as this, in the case or in the suite, would answer it:");
    assert!(!ran.stdout.contains("--answers"), "{}", ran.stdout);
}

#[test]
fn an_error_is_no_failure_after_a_no_that_is_expected() {
    #[track_caller]
    fn check(name: &str, rule: &str, exit: i32) {
        let run = Run::new(&format!("suite-no-{name}"), &["test", "suite.yaml"]);
        let case = format!(
            "cases: [{{name: tries, call: tailor_trip, arguments: {{destination: Rome}}, answers: [{rule}]}}]"
        );
        run.scratch.file("suite.yaml", &case);
        run.on_travel().expect(exit);
    }
    check("expected", "{decline: true, expected: true}", 0);
    check("unexpected", "{decline: true}", 1);
}

#[test]
fn rules_know_the_server_by_the_name_it_was_given() {
    let cases = "
answers: [{when: {server: lion}, accept: {food: hay}}]
cases: [{name: asks, call: ask}]
";
    on_zoo("lion", &["--name", "lion"], cases).expect(0);
    on_zoo("no-lion", &[], cases).expect(1);
}

#[test]
fn a_case_that_fails_says_what_was_expected_and_what_came() {
    let cases = "
cases:
  - {name: counts, call: count, expect: {text: '2'}}
  - {name: asks, call: ask}
  - {name: refuses, call: tiger}
  - {name: is silent, call: silent, expect: {under: 1ms}}
";
    let ran = on_zoo("fails", &[], cases).expect(1);
    let expected = "\
FAIL  counts [2025-11-25]
      expected text: \"2\"
      came     | 1
FAIL  asks [2025-11-25]
      expected a rule that answers every question
      came     | Feed it?";
    let shown = lines(&ran).join("\n");
    assert!(shown.starts_with(expected), "{shown}");
    let expected = "\
FAIL  refuses [2025-11-25]
      expected a result
      came     | the server answered with error -32602:
               | no such animal
FAIL  is silent [2025-11-25]
      expected an end within 1 ms
      came     it was given up then
4 failed";
    let shown = shown.replace("0 passed, ", "");
    assert!(shown.ends_with(expected), "{shown}");
}

#[test]
fn a_question_of_a_case_that_was_given_up_is_not_asked_in_the_next_one() {
    let cases = "
cases:
  - {name: waits, call: ask, answers: [{after: 60s, accept: {food: hay}}], expect: {under: 500ms}}
  - {name: counts, call: count, expect: {text: '1', questions: 0}}
";
    let ran = on_zoo("given-up", &[], cases).expect(1);
    let lines = lines(&ran);
    assert_eq!(lines.last(), Some(&"1 passed, 1 failed"), "{lines:?}");
}

#[test]
fn what_was_asked_in_a_case_is_set_in_below_it() {
    let cases = "cases: [{name: asks, call: ask}, {name: counts, call: count}]";
    let ran = on_zoo("set-in", &[], cases).expect(1);
    let (_, below) = ran
        .stdout
        .split_once("      what was asked and said meanwhile:\n")
        .expect("it failed");
    let (below, _) = below.split_once("ok    counts").expect("it comes next");
    assert!(below.contains("        zoo asks\n"), "{below}");
    assert!(below.contains("        | Feed it?\n"), "{below}");
    let is_set_in = |row: &str| row.is_empty() || row.starts_with("        ");
    assert!(below.lines().all(is_set_in), "{below}");
}

#[test]
fn a_server_that_crashes_is_started_again_for_the_next_case() {
    let cases = "
cases:
  - {name: counts, call: count, expect: {text: '1'}}
  - {name: crashes, call: crash}
  - {name: counts again, call: count, expect: {text: '1'}}
";
    let ran = on_zoo("crashes", &[], cases).expect(4);
    let shown = lines(&ran);
    assert_eq!(shown[0], "ok    counts [2025-11-25]");
    assert_eq!(shown[1], "ERROR crashes [2025-11-25]");
    assert_eq!(shown[2], "      the server exited");
    ran.prints("ok    counts again")
        .prints("2 passed, 1 without a result");
}

#[test]
fn a_server_that_does_not_start_is_tried_once() {
    let cases = "revisions: 2025-11-25\ncases: [{name: a, call: x}, {name: b, call: x}]";
    let run = Run::new("suite-unstarted", &["test", "suite.yaml"]);
    run.scratch.file("suite.yaml", cases);
    let script = "echo out of luck >&2; sleep 0.1; exit 7";
    let ran = run.and(&["--", "sh", "-c", script]).run().expect(4);
    assert_eq!(
        ran.stdout.matches("stderr | out of luck").count(),
        1,
        "{}",
        ran.stdout
    );
    assert_eq!(
        ran.stdout.matches("the server exited (code 7)").count(),
        2,
        "{}",
        ran.stdout
    );
    // The second case is not tried.
    let (a, b) = ("ERROR a [2025-11-25] (0 ms)", "ERROR b [2025-11-25] (0 ms)");
    assert!(!ran.stdout.contains(a), "{}", ran.stdout);
    ran.prints(b);
}

#[test]
fn cases_are_chosen() {
    #[track_caller]
    fn check(name: &str, words: &[&str], exit: i32, told: &[&str]) {
        let cases = "
cases:
  - {name: one, call: tiger}
  - {name: two, call: count}
  - {name: three, call: count, revisions: [2025-11-25, 2025-06-18]}
";
        let ran = on_zoo(name, words, cases).expect(exit);
        let names = lines(&ran).into_iter().filter(|line| line.contains('['));
        assert_eq!(names.collect::<Vec<_>>(), told);
    }
    let (one, two) = ("FAIL  one [2025-11-25]", "ok    two [2025-11-25]");
    check("filter", &["--filter", "tw"], 0, &[two]);
    let three = "ok    three [2025-11-25]";
    check(
        "revision",
        &["--revision", "2025-11-25"],
        1,
        &[one, two, three],
    );
    check("none", &["--filter", "four"], 2, &[]);
}

#[test]
fn an_invalid_suite_exits_with_2() {
    #[track_caller]
    fn check(name: &str, suite: &str, told: &str) {
        let run = Run::new(&format!("suite-{name}"), &["test", "suite.yaml"]);
        run.scratch.file("suite.yaml", suite);
        run.run().expect(2).says(told);
    }
    check(
        "typo",
        "cases:\n  - name: a\n    cal: x\n",
        "askback: suite.yaml: cases[0]: `cal` is not known here: did you mean `call`?",
    );
    check(
        "unnamed",
        "cases: [{name: a, call: x}]",
        "askback: no server is named, neither in the suite nor on the command line\n",
    );
    check(
        "folder",
        "server: {command: [x]}\ncases: [{name: a, call: x, roots: [nowhere]}]",
        "nowhere: No such file or directory",
    );
}

#[test]
fn another_client_is_played_in_all_cases() {
    let cases = "cases: [{name: asks, call: ask, answers: [{accept: {food: hay}}], expect: {text: {contains: hay}}}]";
    on_zoo("as-us", &["--as", "no-url"], cases).expect(0);
    on_zoo("as-mute", &["--as", "no-forms"], cases).expect(1);
    on_zoo("as-revision", &["--as", "2025-06-18"], cases)
        .expect(2)
        .says("--as names the revision 2025-06-18, and a suite has its own");
}
