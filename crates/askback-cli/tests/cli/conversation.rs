//! A conversation: results that the user saves, and unsolicited messages of the server.

use std::fs;

use crate::{
    full::{CTRL_C, CTRL_D, ENTER, Terminal},
    run::{Ran, Run},
};

/// A server whose tool returns text, an image and a binary resource. It sends a change notification
/// at each subscription, and a log message whenever a level is set.
const SERVER: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"initialize"'*) say "\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":$1,\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}" ;;
  *'"tools/list"'*) say "\"id\":$id,\"result\":{\"tools\":[{\"name\":\"draw\",\"inputSchema\":{\"type\":\"object\"}}]}" ;;
  *'"tools/call"'*) say "\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"two\"},{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"b25l\"},{\"type\":\"resource\",\"resource\":{\"uri\":\"a://b\",\"blob\":\"dHdv\"}}]}" ;;
  *'"resources/list"'*) say "\"id\":$id,\"result\":{\"resources\":[]}" ;;
  *'"resources/templates/list"'*) say "\"id\":$id,\"result\":{\"resourceTemplates\":[]}" ;;
  *'"resources/blob"'*) say "\"id\":$id,\"result\":{\"contents\":[{\"uri\":\"a://b\",\"blob\":\"dHdv\"}]}" ;;
  *'"resources/read"'*) say "\"id\":$id,\"result\":{\"contents\":[{\"uri\":\"a://b\",\"text\":\"text\"}]}" ;;
  *'"resources/subscribe"'*) say "\"id\":$id,\"result\":{}"; say '"method":"notifications/resources/updated","params":{"uri":"a://b"}' ;;
  *'"resources/unsubscribe"'*) say "\"id\":$id,\"result\":{}" ;;
  *'"logging/setLevel"'*) say "\"id\":$id,\"result\":{}"; say '"method":"notifications/message","params":{"level":"error","data":"sold out"}' ;;
  esac
done
"#;

const ALL: &str = r#"{"tools":{},"resources":{"subscribe":true},"logging":{}}"#;

/// Runs a conversation. `DIR` in its lines is replaced with the test folder.
fn run(name: &str, capabilities: &str, lines: &str) -> Ran {
    let run = Run::new(name, &["open", "--protocol", "2025-11-25"]);
    let folder = run.scratch.path("");
    let lines = lines.replace("DIR", &folder.to_string_lossy());
    let server = ["--", "sh", "-c", SERVER, "sh", capabilities];
    run.input(&lines).and(&server).run()
}

#[test]
fn a_result_is_saved_as_it_is() {
    let ran = run(
        "save",
        ALL,
        "/call draw\n/save DIR/one 1\n/save DIR/two 2\n/read a://b\n/save DIR/text.json\n",
    );
    let folder = ran.scratch.path("");
    let ran = ran.expect(0).says("3 bytes are in");
    assert_eq!(
        fs::read(folder.join("one")).unwrap(),
        b"one",
        "{}",
        ran.stderr
    );
    assert_eq!(fs::read(folder.join("two")).unwrap(), b"two");
    assert!(crate::wire::is_private(&folder.join("two")));
    let text = fs::read_to_string(folder.join("text.json")).unwrap();
    assert!(text.contains("\"text\":\"text\""), "{text}");

    let refused = |name: &str, lines: &str, why: &str| {
        run(name, ALL, lines).expect(2).says(why);
    };
    refused("save-none", "/save DIR/a\n", "there is no result to save");
    refused(
        "save-which",
        "/call draw\n/save DIR/a\n",
        "the result holds 2 files: name one by its number",
    );
    refused(
        "save-third",
        "/call draw\n/save DIR/a 3\n",
        "the result holds 2 files, counted from 1",
    );
    let twice = "/call draw\n/save DIR/a 1\n/save DIR/a 1\n";
    refused(
        "save-twice",
        twice,
        "exists already, and is not overwritten",
    );
}

#[test]
fn what_a_server_tells_unasked_is_asked_for() {
    let ran = run("told", ALL, "/subscribe a://b\n/log info\n/tools\n").expect(0);
    ran.says("Changes are reported of | a://b")
        .says("changed | a://b")
        .says("error | sold out");
    run(
        "untold",
        ALL,
        "/subscribe a://b\n/unsubscribe a://b\n/unsubscribe\n",
    )
    .expect(0)
    .says("Its changes are no longer reported.");
    run("unknown", ALL, "/unsubscribe a://b\n")
        .expect(2)
        .says("there is no subscription to this resource");
    run(
        "silent",
        r#"{"tools":{},"resources":{}}"#,
        "/subscribe a://b\n",
    )
    .expect(2)
    .says("the server does not report changes of resources");
}

/// Has one more tool after the first call.
const GROWING: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
more=
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"initialize"'*) say "\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{\"listChanged\":true}},\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}" ;;
  *'"tools/list"'*) say "\"id\":$id,\"result\":{\"tools\":[{\"name\":\"plant\",\"inputSchema\":{\"type\":\"object\"}}$more]}" ;;
  *'"tools/call"'*)
    more=',{"name":"harvest","inputSchema":{"type":"object"}}'
    say "\"id\":$id,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"planted\"}]}"
    say '"method":"notifications/tools/list_changed"' ;;
  esac
done
"#;

#[test]
fn a_list_that_has_changed_is_offered_as_it_is_now() {
    let words = [
        "open",
        "--protocol",
        "2025-11-25",
        "--",
        "sh",
        "-c",
        GROWING,
    ];
    let mut terminal = Terminal::open(&words, 80);
    terminal.until("Tools 1").press("/call plant").press(ENTER);
    terminal.until("| planted").until("Tools 2");
    terminal.press("harv").until("/call harvest");
    terminal.press(CTRL_C).press(CTRL_D);
    assert_eq!(terminal.end(), Some(0));
}

/// Logs the methods of received messages. Its tools change before `grow` answers, and it sends a notification if it
/// declares `listChanged`.
const HEARING: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
while read -r line; do
  method=${line#*\"method\":\"}
  printf '%s\n' "${method%%\"*}" >> heard
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"initialize"'*) say "\"id\":$id,\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":$1,\"serverInfo\":{\"name\":\"s\",\"version\":\"1\"}}" ;;
  *'"tools/list"'*) say "\"id\":$id,\"result\":{\"tools\":[{\"name\":\"plant\",\"inputSchema\":{\"type\":\"object\"}},{\"name\":\"grow\",\"inputSchema\":{\"type\":\"object\"}}]}" ;;
  *'"tools/call"'*)
    case $1$line in *listChanged*'"grow"'*) say '"method":"notifications/tools/list_changed"' ;; esac
    say "\"id\":$id,\"result\":{\"content\":[]}" ;;
  esac
done
"#;

#[test]
fn the_tools_are_listed_before_a_call_only_after_a_change() {
    #[track_caller]
    fn check(name: &str, capabilities: &str, expected: &[&str]) {
        let calls = "/call plant\n/call plant\n/call grow\n/call plant\n";
        let words = [
            "open",
            "--protocol",
            "2025-11-25",
            "--",
            "sh",
            "-c",
            HEARING,
            "sh",
        ];
        let run = Run::new(name, &words).and(&[capabilities]).input(calls);
        let ran = run.run().expect(0);
        let heard = fs::read_to_string(ran.scratch.path("heard")).unwrap();
        let heard: Vec<_> = heard
            .lines()
            .filter(|it| it.starts_with("tools/"))
            .collect();
        assert_eq!(heard, expected);
    }
    let (list, call) = ("tools/list", "tools/call");
    let changing = r#"{"tools":{"listChanged":true}}"#;
    check(
        "listed-again",
        changing,
        &[list, call, call, call, list, call],
    );
    check(
        "listed-once",
        r#"{"tools":{}}"#,
        &[list, call, call, call, call],
    );
}

/// Logs during a call if the call asks for it.
const LOGGING: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
answer() { say '"id":'$id',"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private",'"$1"'}'; }
while read -r line; do
  id=${line#*\"id\":}
  id=${id%%[,\}]*}
  case $line in
  *'"server/discover"'*) answer '"supportedVersions":["2026-07-28"],"capabilities":'"$1" ;;
  *'"tools/list"'*) answer '"tools":[{"name":"t","inputSchema":{"type":"object"}}]' ;;
  *'"tools/call"'*)
    case $line in *'modelcontextprotocol/logLevel":"info"'*) say '"method":"notifications/message","params":{"level":"warning","data":"sold out"}' ;; esac
    answer '"content":[]' ;;
  esac
done
"#;

#[test]
fn a_call_shows_log_lines_in_2026_07_28() {
    for (name, capabilities, is_logged) in [
        ("logs", r#"{"tools":{},"logging":{}}"#, true),
        ("logs-nothing", r#"{"tools":{}}"#, false),
    ] {
        let run = Run::new(name, &["call", "t", "--", "sh", "-c", LOGGING, "sh"]);
        let ran = run.and(&[capabilities]).run().expect(0);
        assert_eq!(ran.stderr.contains("sold out"), is_logged, "{}", ran.stderr);
    }
}

#[test]
fn a_command_is_explained_and_one_that_is_mistyped_is_named() {
    let ran = Run::new("explained", &["open"]).input("/help /tasks\n/tols\n");
    ran.on_travel()
        .expect(2)
        .says("  /tasks [N | wait N | cancel N]\n")
        .says("  wait N                     wait for its end\n")
        .says("found no prompt and no command `tols`\n")
        .says("  Did you mean /tools?\n");
}

#[test]
fn the_descriptions_of_commands_are_aligned() {
    let ran = Run::new("help", &["open"]).input("/help\n").on_travel();
    let beside = |command, does| format!("  {command:25}  {does}\n");
    let ran = ran
        .expect(0)
        .says(&beside("/quit", "leave, like Ctrl-D"))
        .says(&beside(
            "/begin TOOL [KEY=VALUE]…",
            "call a tool in the background",
        ))
        .says(&beside(
            "/save FILE [N]",
            "write the last result, or one of its files",
        ));
    let rows = ran.stderr.lines();
    let rows = rows.skip_while(|row| !row.starts_with("  /tools"));
    for row in rows.take_while(|row| row.starts_with("  ")) {
        let does: String = row.chars().skip(27).collect();
        let is_beside = does.starts_with("  ") && !does.starts_with("   ");
        let is_alone = row.starts_with("  /") && row.chars().count() > 26;
        assert!(is_beside || is_alone, "{row}");
    }
}
