//! Parked questions, which another process answers later.

#[cfg(unix)]
mod terminal;

use std::{
    fs::{self, File},
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::Value;

use crate::{run::ASKBACK, scratch::Scratch};

/// A user with a home folder.
struct User(Scratch);

/// The exit code of a command, and its output.
struct Came {
    exit: Option<i32>,
    stdout: String,
    stderr: String,
}

impl User {
    fn new(name: &str) -> Self {
        Self(Scratch::new(&format!("parked-{name}")))
    }

    fn run(&self, words: &[&str]) -> Came {
        self.pipe(words, "")
    }

    /// Runs a command with this stdin.
    fn pipe(&self, words: &[&str], input: &str) -> Came {
        let input = self.0.file("input", input);
        let input = File::open(input).expect("it was written");
        Came::of(self.command(words).stdin(input))
    }

    /// A command in the user's folder, without stdin.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(ASKBACK);
        command
            .args(words)
            .current_dir(self.0.path("."))
            .env("XDG_STATE_HOME", self.0.path("state"))
            .stdin(Stdio::null());
        command
    }

    /// Parks the first question of a booking.
    fn park(&self) -> Value {
        let call = [
            "call",
            "book_holiday",
            "destination=Rome",
            "depart=2030-06-15",
            "--park",
            "--",
            ASKBACK,
            "serve",
            "travel",
        ];
        self.run(&call).parked()
    }

    fn path(&self, id: &str) -> PathBuf {
        self.0.path(&format!("state/askback/parked/{id}.json"))
    }

    /// Writes the file of a parked call, as the command would.
    fn write(&self, id: &str, text: &str) {
        let path = self.path(id);
        fs::write(&path, text).expect("it is ours");
        #[cfg(unix)]
        {
            let owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            fs::set_permissions(&path, owner).expect("it is ours");
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.0.path("state/askback/parked"));
        let files = files.map(|files| files.flatten().map(|file| file.path()).collect());
        files.unwrap_or_default()
    }
}

impl Came {
    /// Runs a command until it exits.
    fn of(command: &mut Command) -> Self {
        let output = command.output().expect("it was built");
        Self {
            exit: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("it is text"),
            stderr: String::from_utf8(output.stderr).expect("it is text"),
        }
    }

    #[track_caller]
    fn expect(self, exit: i32, says: &str) -> Self {
        let all = format!("{}\n{}", self.stdout, self.stderr);
        assert_eq!(self.exit, Some(exit), "{all}");
        assert!(all.contains(says), "{says:?} is not in\n{all}");
        self
    }

    /// The question that it printed.
    #[track_caller]
    fn parked(self) -> Value {
        let came = self.expect(8, "");
        let json: Value = serde_json::from_str(&came.stdout).expect("it is JSON");
        json["parked"].clone()
    }
}

fn id(parked: &Value) -> &str {
    parked["id"].as_str().expect("it has an id")
}

#[test]
fn a_question_is_answered_by_another_process() {
    let user = User::new("whole");
    user.run(&["answer"]).expect(0, "Nothing waits.");
    let first = user.park();
    let id = id(&first);
    assert_eq!(first["tool"], "book_holiday");
    assert_eq!(first["questions"][0]["key"], "wishes");
    assert_eq!(first["questions"][0]["kind"], "form");
    let schema = &first["questions"][0]["schema"]["properties"];
    assert!(schema["confirm_booking"].is_object(), "{first:#}");
    user.run(&["answer"])
        .expect(0, &format!("{id} askback | book_holiday: wishes\n"));
    // An invalid answer prints the question again, and the call is still parked.
    assert_eq!(user.run(&["answer", id]).parked(), first);
    user.run(&["answer", id, "confirm_booking=perhaps"])
        .expect(2, "must be yes or no");
    user.run(&["answer", id, "confirm_booking=true", "nobody=1"])
        .expect(2, "the answer does not fit the form:");
    let broken = ["answer", id, "confirm_booking=true", "no\nbody=1", "one=1"];
    let faults = "\n  | `no<U+000A>body`: is not known\n  | `one`: is not known\n";
    user.run(&broken).expect(2, faults);
    let second = user.run(&["answer", id, "confirm_booking=true"]).parked();
    assert_eq!(second["questions"][0]["key"], "contact");
    // The first call has ended: an answer to it is an error.
    user.run(&["answer", id, "--accept"])
        .expect(2, "no waiting call ");
    let id = self::id(&second);
    let contact = ["answer", id, "name=Ada", "email=ada@example.com", "--json"];
    let booked = user.run(&contact).expect(0, "");
    let booked: Value = serde_json::from_str(&booked.stdout).expect("it is JSON");
    assert_eq!(
        booked["structuredContent"]["destination"], "Rome",
        "{booked:#}"
    );
    user.run(&["answer", id]).expect(2, "no waiting call ");
    assert!(user.files().is_empty());
}

#[test]
fn declining_a_parked_question_counts_as_a_refusal() {
    let user = User::new("no");
    let parked = user.park();
    user.run(&["answer", id(&parked), "--decline"])
        .expect(3, "");
    assert!(user.files().is_empty());
    let parked = user.park();
    user.run(&["answer", id(&parked), "--cancel"]).expect(3, "");
    user.run(&["answer", "--decline"]).expect(2, "");
    user.run(&["answer", "../../../x", "--decline"])
        .expect(2, "no waiting call ");
}

/// A server of 2026-07-28 whose tool `t` asks the questions in the file `asks`, and returns the answers. It also
/// supports an older revision, and appends a line to `calls` for each call. Files in its working directory change its
/// behaviour. `down`: it exits instead of reading an answer. `again`: it asks again. `refuse`: the answer gets an error
/// with the code in the file. `once`: the same, but only for processes after the first one that got an answer. `odd`:
/// its result is invalid.
#[cfg(unix)]
const ASKING: &str = r#"
say() { printf '%s\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id": *\([^,}]*\).*/\1/p')
    case "$line" in
    *server/discover*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"c","version":"1"},"ttlMs":0,"cacheScope":"private"}}' ;;
    *'"initialize"'*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"c","version":"1"}}}' ;;
    *tools/list*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object","properties":{"known":{"type":"string"}}}}],"ttlMs":0,"cacheScope":"private"}}' ;;
    *tools/call*)
        echo >> calls
        if [ -e again ] || ! printf '%s' "$line" | grep -q inputResponses; then
            say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"input_required","requestState":"abcdefghijkl","inputRequests":'"$(cat asks)"'}}'
            continue
        fi
        if [ -e down ]; then exit 7; fi
        if [ -e refuse ]; then
            say '{"jsonrpc":"2.0","id":'$id',"error":{"code":'$(cat refuse)',"message":"requestState is not valid"}}'
            continue
        fi
        if [ -e once ]; then mv once refuse; fi
        if [ -e odd ]; then
            say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","content":7}}'
            continue
        fi
        told=$(printf '%s' "$line" | sed 's/.*"inputResponses":\({.*}}\).*/\1/; s/"/\\"/g')
        say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","content":[{"type":"text","text":"told: '"$told"'"}]}}' ;;
    esac
done
"#;

/// A question with a yes or no.
#[cfg(unix)]
const SURE: &str = r#"{"method":"elicitation/create","params":{"mode":"form","message":"Delete it?","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean","default":true}}}}}"#;

#[cfg(unix)]
impl User {
    /// Calls the tool of a server that asks these questions.
    fn call(&self, asks: &str) -> Came {
        self.0.file("asks", asks);
        self.run(&["call", "t", "--park", "--", "sh", "-c", ASKING])
    }
}

#[cfg(unix)]
#[test]
fn a_call_ends_with_a_result_that_cannot_be_read() {
    let user = User::new("odd");
    let parked = user.call(&format!(r#"{{"k":{SURE}}}"#)).parked();
    let id = id(&parked);
    user.0.file("odd", "");
    let ended = user.run(&["answer", id, "--accept"]);
    ended.expect(4, "so the call may have taken effect");
    user.run(&["answer"]).expect(0, "");
    user.run(&["answer", id, "--accept"])
        .expect(2, "no waiting call ");
    let calls = fs::read_to_string(user.0.path("calls")).expect("it was called");
    assert_eq!(calls.lines().count(), 2);
}

#[cfg(unix)]
#[test]
fn an_answer_that_was_not_delivered_is_replaced_by_another() {
    #[track_caller]
    fn check(name: &str, words: &[&str], exit: i32, told: &str) {
        let user = User::new(&format!("again-{name}"));
        let parked = user.call(&format!(r#"{{"k":{SURE}}}"#)).parked();
        let id = id(&parked);
        user.0.file("down", "");
        let failed = user.run(&["answer", id, "--accept"]);
        failed.expect(4, &format!("askback answer {id} sends the answer again."));
        user.run(&["answer"])
            .expect(0, "answered: accept, sent, but no result came | k\n");
        fs::remove_file(user.0.path("down")).expect("it is ours");
        let again = user.run(&[&["answer", id], words].concat());
        again.expect(exit, told);
    }
    let yes = r#"{"k":{"action":"accept","content":{"sure":true}}}"#;
    check("same", &[], 0, yes);
    check(
        "same-told",
        &[],
        0,
        "answered: accept, sent, but no result came | k",
    );
    check(
        "decline",
        &["--decline"],
        3,
        r#"{"k":{"action":"decline"}}"#,
    );
    check(
        "reason",
        &["--decline", "--reason", "too dear"],
        3,
        r#""_meta":{"dev.askback/reason":"too dear"}"#,
    );
    check(
        "reason-of-a-yes",
        &["--accept", "--reason", "x"],
        2,
        "with '--reason",
    );
    check("cancel", &["--cancel"], 3, r#"{"k":{"action":"cancel"}}"#);
    let no = r#"{"k":{"action":"accept","content":{"sure":false}}}"#;
    check("fields", &["sure=false"], 0, no);
    check("key", &["--key", "k", "sure=false"], 0, no);
    check("key-alone", &["--key", "k"], 8, r#""answered":"accept""#);
    check("no-key", &["--key", "x", "--accept"], 2, "with --key:");
    check("as-a-person-says", &["sure=no"], 0, no);
    check("unfit", &["sure=perhaps"], 2, "sure: must be yes or no");
}

#[cfg(unix)]
#[test]
fn an_answer_is_not_called_sent_before_it_is() {
    let user = User::new("unsent");
    let parked = user.call(&format!(r#"{{"k":{SURE},"l":{SURE}}}"#)).parked();
    let id = id(&parked);
    let answer = ["answer", id, "--key", "k", "--accept"];
    let waits = user.run(&answer).parked();
    assert_eq!(waits["questions"][0]["sent"], false, "{waits:#}");
    let not_sent = "answered: accept, not sent yet | k\n";
    user.run(&["answer"]).expect(0, not_sent);
    // The server accepts both answers, but its result cannot be printed.
    let mut last = user.command(&["answer", id, "--key", "l", "--accept"]);
    let full = File::options().write(true).open("/dev/full");
    let Ok(full) = full else { return };
    let ended = last.stdout(full).stderr(Stdio::null()).status();
    assert!(!ended.expect("it was built").success());
    user.run(&["answer"]).expect(0, "Nothing waits.");
}

/// A form with a field of each kind that is not parsed as JSON.
#[cfg(unix)]
const KINDS: &str = r#"{"method":"elicitation/create","params":{"mode":"form","message":"How?","requestedSchema":{"type":"object","properties":{
    "room":{"type":"string","oneOf":[{"const":"sea_view","title":"Sea view"},{"const":"yard","title":"Yard"}]},
    "food":{"type":"array","items":{"anyOf":[{"const":"veg","title":"No meat"},{"const":"nuts","title":"No nuts"}]}},
    "day":{"type":"string","format":"date"},"nights":{"type":"integer"},"note":{"type":"string"},"sure":{"type":"boolean"}}}}}"#;

#[cfg(unix)]
#[test]
fn fields_are_read_as_at_a_terminal() {
    #[track_caller]
    fn check(name: &str, words: &[&str], exit: i32, told: &str) {
        let user = User::new(&format!("read-{name}"));
        let kinds = KINDS.replace('\n', "");
        let parked = user.call(&format!(r#"{{"k":{kinds}}}"#)).parked();
        let answered = user.run(&[&["answer", id(&parked)], words].concat());
        answered.expect(exit, told);
    }
    let sent = |content: &str| format!(r#"{{"k":{{"action":"accept","content":{content}}}}}"#);
    check(
        "title",
        &["room=Sea view"],
        0,
        &sent(r#"{"room":"sea_view"}"#),
    );
    check("value", &["room=yard"], 0, &sent(r#"{"room":"yard"}"#));
    check("mark", &["room=2"], 0, &sent(r#"{"room":"yard"}"#));
    check(
        "several",
        &["food=No meat, nuts"],
        0,
        &sent(r#"{"food":["veg","nuts"]}"#),
    );
    check(
        "list",
        &[r#"food:=["veg"]"#],
        0,
        &sent(r#"{"food":["veg"]}"#),
    );
    check("yes", &["sure=yes"], 0, &sent(r#"{"sure":true}"#));
    check("true", &["sure=true"], 0, &sent(r#"{"sure":true}"#));
    check("number", &["nights=3"], 0, &sent(r#"{"nights":3}"#));
    check("text", &["note=true"], 0, &sent(r#"{"note":"true"}"#));
    check(
        "date",
        &["day=2026-06-15"],
        0,
        &sent(r#"{"day":"2026-06-15"}"#),
    );
    check(
        "day-first",
        &["day=2026-06-15"],
        0,
        &sent(r#"{"day":"2026-06-15"}"#),
    );
    check(
        "option",
        &["room=Cellar"],
        2,
        "room: must be one of the options",
    );
    check(
        "word",
        &["nights=three"],
        2,
        "nights: must be a whole number",
    );
    check(
        "unknown",
        &["rooms=2"],
        2,
        "the answer does not fit the form:",
    );
}

#[cfg(unix)]
const OTHER_PROCESS: &str = "may have sealed its state with a key that was lost";

#[cfg(unix)]
#[test]
fn a_state_that_is_refused_may_be_of_another_process() {
    for (code, is_told) in [("-32602", true), ("-32603", false)] {
        let user = User::new(&format!("sealed{code}"));
        let parked = user.call(&format!(r#"{{"k":{SURE}}}"#)).parked();
        user.0.file("refuse", code);
        let refused = user.run(&["answer", id(&parked), "--accept"]).expect(1, "");
        // Long lines are only wrapped in a terminal.
        assert_eq!(
            refused.stderr.contains(OTHER_PROCESS),
            is_told,
            "{}",
            refused.stderr
        );
        // The call is over, so its file was deleted.
        assert!(user.files().is_empty());
    }
}

#[cfg(unix)]
#[test]
fn a_later_round_that_is_sent_again_may_go_to_another_process() {
    let user = User::new("resent");
    user.0.file("asks", &format!(r#"{{"k":{SURE}}}"#));
    user.0.file("once", "-32602");
    // Message 5 is the first round, which the server answers with the question again. Message 7 has the answer, which
    // the server rejects.
    for (number, is_told) in [(5, false), (7, true)] {
        let lines = format!("/call t known=1\n\n\n/wire edit {number}\n\n\n");
        let came = user.pipe(&["open", "--", "sh", "-c", ASKING], &lines);
        let came = came.expect(0, "Sent on a connection of its own");
        assert_eq!(
            came.stderr.contains(OTHER_PROCESS),
            is_told,
            "{}\n{}",
            came.stdout,
            came.stderr
        );
        fs::rename(user.0.path("refuse"), user.0.path("once")).expect("it was answered");
    }
}

#[cfg(unix)]
#[test]
fn an_argument_that_the_schema_does_not_know_is_named_and_sent() {
    let unknown = "sent with an argument that the tool's schema does not have | other\n";
    let user = User::new("unknown");
    user.0.file("asks", &format!(r#"{{"k":{SURE}}}"#));
    let talk = "/call t known=1 other=2\n\n\n/wire 5\n";
    let came = user.pipe(&["open", "--", "sh", "-c", ASKING], talk);
    let came = came
        .expect(0, unknown)
        .expect(0, r#"{"known":"1","other":"2"}"#);
    assert_eq!(came.stderr.matches("schema does not have").count(), 1);
    let call = ["call", "t", "known=1", "other=2", "--park", "--"];
    let call = [&call[..], &["sh", "-c", ASKING]].concat();
    let parked = user.run(&call).expect(8, unknown).parked();
    let kept = fs::read_to_string(user.path(id(&parked))).expect("it waits");
    let kept: Value = serde_json::from_str(&kept).expect("it is JSON");
    assert_eq!(
        kept["arguments"],
        serde_json::json!({"known": "1", "other": "2"})
    );
}

#[cfg(unix)]
#[test]
fn a_no_counts_in_every_round_after_it() {
    let user = User::new("no-before");
    let parked = user.call(&format!(r#"{{"k":{SURE}}}"#)).parked();
    user.0.file("again", "");
    let next = user.run(&["answer", id(&parked), "--decline"]).parked();
    fs::remove_file(user.0.path("again")).expect("it is ours");
    user.run(&["answer", id(&next), "--accept"])
        .expect(3, r#"told: {"k":{"action":"accept""#);
}

#[cfg(unix)]
#[test]
fn of_several_answers_one_is_replaced_before_and_after_a_delivery() {
    let user = User::new("several");
    let parked = user.call(&format!(r#"{{"a":{SURE},"b":{SURE}}}"#)).parked();
    let id = id(&parked);
    assert!(
        parked["answer"]
            .as_str()
            .unwrap_or_default()
            .contains("--key KEY")
    );
    user.run(&["answer", id, "--accept"]).expect(2, "--key:");
    user.run(&["answer", id, "--key", "a", "--accept"]).parked();
    let parked = user.run(&["answer", id, "--key", "a", "--cancel"]).parked();
    assert_eq!(parked["questions"][0]["answered"], "cancel");
    assert_eq!(parked["questions"][1]["answered"], Value::Null);
    user.0.file("down", "");
    // The remaining question needs no key.
    user.run(&["answer", id, "--accept"]).expect(4, "");
    user.run(&["answer", id, "--decline"]).expect(2, "--key:");
    fs::remove_file(user.0.path("down")).expect("it is ours");
    user.run(&["answer", id, "--key", "b", "--decline"])
        .expect(3, r#"{"a":{"action":"cancel"},"b":{"action":"decline"}}"#);
}

/// A question to open this link.
#[cfg(unix)]
fn link(url: &str) -> String {
    serde_json::json!({
        "method": "elicitation/create",
        "params": {"mode": "url", "message": "Sign in.", "url": url},
    })
    .to_string()
}

#[cfg(unix)]
#[test]
fn a_link_that_is_never_opened_is_declined_before_the_user_is_asked() {
    #[track_caller]
    fn check(name: &str, url: &str, why: &str) {
        let user = User::new(&format!("link-{name}"));
        let bad = link(url);
        // Without other questions, it is declined at once.
        let ran = user.call(&format!(r#"{{"k":{bad}}}"#));
        ran.expect(3, r#"told: {"k":{"action":"decline"}}"#)
            .expect(3, why);
        assert!(user.files().is_empty());
        // With another question, the decline is stored, and cannot be changed to an accept.
        let parked = user.call(&format!(r#"{{"k":{bad},"s":{SURE}}}"#)).parked();
        assert_eq!(parked["questions"][0]["answered"], "decline");
        assert!(parked["questions"][0]["refused"].is_string(), "{parked:#}");
        assert_eq!(parked["questions"][0]["site"], Value::Null);
        let id = id(&parked);
        user.run(&["answer", id, "--key", "k", "--accept"])
            .expect(2, &format!("the link is not opened: {why}"));
        user.run(&["answer", id, "--accept"]).expect(
            3,
            r#"told: {"k":{"action":"decline"},"s":{"action":"accept""#,
        );
    }
    let user = "it names a user, which can pass for a host";
    let scheme = "only https and http are opened";
    check("script", "javascript:alert(1)", scheme);
    check("file", "file:///etc/passwd", scheme);
    check("user", "https://good.example@evil.example/", user);
}

#[cfg(unix)]
#[test]
fn a_link_shows_its_site_and_warnings_when_the_user_agrees_to_it() {
    let user = User::new("site");
    let ask = |url: &str| user.call(&format!(r#"{{"k":{}}}"#, link(url))).parked();
    let parked = ask("https://login.example.com/x");
    // The question is printed once.
    assert_eq!(
        fs::read_to_string(user.0.path("calls")).expect("it was called"),
        "\n"
    );
    assert_eq!(parked["questions"][0]["site"], "login.example.com");
    assert_eq!(parked["questions"][0]["warnings"], serde_json::json!([]));
    let ran = user.run(&["answer", id(&parked), "--accept"]).expect(0, "");
    assert_eq!(ran.stderr, "");
    let answer = parked["answer"].as_str().expect("a command line");
    assert!(
        answer.ends_with(" --accept (or --decline, --cancel)"),
        "{answer}"
    );
    let parked = ask("https://login.example.com/?next=https://elsewhere.example/");
    let leads_on = serde_json::json!(["elsewhere.example"]);
    assert_eq!(parked["questions"][0]["leads_on"], leads_on);
    let parked = ask("http://a.example/");
    let warning = "The connection is not encrypted (http): others can read along.";
    assert_eq!(parked["questions"][0]["warnings"][0], warning);
    user.run(&["answer", id(&parked), "--accept"])
        .expect(0, warning);
}

#[cfg(unix)]
#[test]
fn a_server_that_requests_a_link_endlessly_is_given_up() {
    let user = User::new("for-ever");
    user.0.file("again", "");
    let asks = format!(r#"{{"k":{}}}"#, link("javascript:alert(1)"));
    user.call(&asks).expect(4, "keeps asking");
    assert!(user.files().is_empty());
}

#[cfg(unix)]
#[test]
fn a_form_that_asks_for_a_secret_takes_none_unawares() {
    const ASKS: &str = r#"{"k":{"method":"elicitation/create","params":{"mode":"form","message":"Sign in.","requestedSchema":{"type":"object","properties":{"user":{"type":"string"},"password":{"type":"string"},"age":{"type":"integer"},"api_key":{"type":"string"}}}}}}"#;
    let user = User::new("secret");
    let parked = user.call(ASKS);
    // The fields are in the order that the server chose.
    let marked = r#""properties":{"user":{"type":"string"},"password":{"type":"string","secret":true},"age":{"type":"integer"},"api_key":{"type":"string","secret":true}}"#;
    let parked = parked.expect(8, marked).parked();
    let id = id(&parked);
    let told = r#"told: {"k":{"action":"accept","content":{"password":"-- S 1"#;
    let refused = |words: &[&str], input: &str, why: &str| {
        let ran = user.pipe(&[&["answer", id], words].concat(), input);
        let kept = fs::read_to_string(user.path(id)).expect("it waits");
        assert!(!kept.contains("S1"), "{kept}");
        ran.expect(2, why);
    };
    refused(&["password=S1"], "", "--secret sends the value");
    refused(&["password:=\"S1\""], "", "  | password\n");
    refused(&["user=a", "api_key=S1"], "", "  | api_key\n");
    refused(&["--accept", "password=S1"], "", "--secret");
    refused(&["password=-", "api_key=S1"], "x", "  | api_key\n");
    refused(&["password=-", "api_key=-"], "S1", "only one field");
    refused(
        &["password=-"],
        &"S1".repeat(40_000),
        "more than 65536 bytes",
    );
    user.pipe(&["answer", id, "password=-"], "-- S 1\n")
        .expect(0, told);
    // Other fields are given as usual, and `-` is a valid value.
    let answer = |words: &[&str], told: &str| {
        let parked = user.call(ASKS).parked();
        let id = self::id(&parked);
        user.run(&[&["answer", id], words].concat()).expect(0, told);
    };
    answer(&["user=-"], r#""content":{"user":"-"}"#);
    answer(&["--accept"], r#""content":{}"#);
    answer(&["password=S1", "--secret"], r#""password":"S1""#);
}

#[cfg(unix)]
#[test]
fn a_parked_call_is_private_and_expires() {
    use std::os::unix::fs::PermissionsExt;
    let user = User::new("private");
    let parked = user.park();
    let path = user.path(id(&parked));
    let mode = fs::metadata(&path).expect("it is there").permissions();
    assert_eq!(mode.mode() & 0o777, 0o600);
    // Any later use of a parked call deletes it.
    let ended = "00000000";
    let next: [&[&str]; 4] = [
        &["answer", id(&parked), "--decline"],
        &["answer", ended, "--decline"],
        &["answer", "--json"],
        &[
            "call",
            "--park",
            "book_holiday",
            "--",
            ASKBACK,
            "serve",
            "travel",
        ],
    ];
    let kept = fs::read_to_string(&path).expect("it is there");
    for words in next {
        let mut call: Value = serde_json::from_str(&kept).expect("it is JSON");
        call["since"] = 7.into();
        user.write(id(&parked), &call.to_string());
        user.run(words);
        assert!(!path.exists(), "{words:?}");
    }
    user.run(&["answer", "--json"]).expect(0, "{\"parked\":[]}");
}

#[test]
fn a_damaged_file_keeps_no_other_call_from_its_answer() {
    let user = User::new("damaged");
    let parked = user.park();
    let kept = fs::read_to_string(user.path(id(&parked))).expect("it is there");
    let mut unasked: Value = serde_json::from_str(&kept).expect("it is JSON");
    unasked["asked"] = 7.into();
    user.write("00000001", "{");
    user.write("00000002", &unasked.to_string());
    let list = user.run(&["answer"]).expect(0, id(&parked));
    // A long path is wrapped.
    let said = list.stderr.replace("\n  ", "");
    for named in ["00000001.json: ", "00000002.json: "] {
        assert!(said.contains(named), "{said}");
    }
    user.park();
    user.run(&["answer", "00000001"])
        .expect(2, "cannot save the call in its file");
    user.run(&["answer", id(&parked), "--decline"])
        .expect(3, "left out:");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_parked_is_refused_before_the_tool_is_called() {
    #[track_caller]
    fn check(name: &str, prepare: impl FnOnce(&User, &mut Command), why: &str) {
        let user = User::new(name);
        user.0.file("asks", &format!(r#"{{"k":{SURE}}}"#));
        let mut call = user.command(&["call", "t", "--park"]);
        prepare(&user, &mut call);
        Came::of(call.args(["--", "sh", "-c", ASKING])).expect(2, why);
        assert!(!user.0.path("calls").exists(), "{name} was called");
    }
    check(
        "session",
        |_, call| {
            call.args(["--protocol", "2025-11-25"]);
        },
        "a question cannot be parked in 2025-11-25: there it belongs to the open connection",
    );
    check(
        "homeless",
        |_, call| {
            call.env_remove("XDG_STATE_HOME").env_remove("HOME");
        },
        "no folder to save the call in",
    );
    check(
        "many",
        |user, _| {
            let parked = user.call(&format!(r#"{{"k":{SURE}}}"#)).parked();
            let kept = fs::read_to_string(user.path(id(&parked))).expect("it is there");
            for number in 1..256 {
                user.write(&format!("{number:08x}"), &kept);
            }
            fs::remove_file(user.0.path("calls")).expect("it was called");
        },
        "256 calls wait already",
    );
}

#[cfg(unix)]
#[test]
fn a_server_is_started_in_its_folder_and_a_failed_start_keeps_the_answer() {
    let user = User::new("where");
    let (work, away) = (user.0.path("work"), user.0.path("away"));
    fs::create_dir(&work).expect("it is ours");
    user.0.file("work/asks", &format!(r#"{{"k":{SURE}}}"#));
    let mut call = user.command(&["call", "t", "--park", "--", "sh", "-c", ASKING]);
    let parked = Came::of(call.current_dir(&work)).parked();
    let id = id(&parked);
    fs::rename(&work, &away).expect("it is ours");
    user.run(&["answer", id, "--decline"])
        .expect(2, "work cannot be entered")
        .expect(2, &format!("askback answer {id} tries again."));
    fs::rename(&away, &work).expect("it is ours");
    user.run(&["answer", id])
        .expect(3, r#"told: {"k":{"action":"decline"}}"#);
    let calls = fs::read_to_string(work.join("calls")).expect("it was called");
    assert_eq!(calls, "\n\n");
}
