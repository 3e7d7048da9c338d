//! Commands that send one request and print the result.

use serde_json::{Value, json};

use crate::{
    full::{CTRL_D, Terminal},
    run::{ASKBACK, Ran, Run},
};

const ALL: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];

fn on_travel(name: &str, words: &[&str]) -> Ran {
    Run::new(&format!("one-shot-{name}"), words).on_travel()
}

#[test]
fn a_resource_is_read() {
    let uri = "travel://destinations";
    for revision in ALL {
        let words = ["get", uri, "--protocol", revision];
        let ran = on_travel(&format!("read-{revision}"), &words).expect(0);
        let text = ran.stdout;
        let json = on_travel("read-json", &["get", uri, "--json", "--protocol", revision]);
        let result = json.expect(0).json();
        // Prints only the text, so that it can be redirected to a file.
        assert_eq!(result["contents"][0]["text"], json!(text.trim_end()));
    }
    let nowhere = "travel://destinations/Atlantis";
    let ran = on_travel("read-nowhere", &["get", nowhere]);
    ran.expect(1).says("the server answered with error");
}

#[test]
fn only_the_requested_lists_are_printed() {
    #[track_caller]
    fn check(kinds: &[&str], members: &[&str], headings: &str) {
        let name = format!("list-{}", kinds.join("-"));
        let words = [&["list"], kinds].concat();
        let ran = on_travel(&name, &[&words[..], &["--json"]].concat()).expect(0);
        let listed = ran.json();
        let listed: Vec<_> = listed
            .as_object()
            .expect("it is an object")
            .keys()
            .collect();
        assert_eq!(listed, members);
        let ran = on_travel(&name, &words).expect(0);
        let ours: Vec<_> = ran
            .stdout
            .lines()
            .filter(|row| !row.starts_with(' '))
            .collect();
        assert_eq!(ours.join(" ").trim(), headings);
    }
    let all = ["prompts", "resourceTemplates", "resources", "tools"];
    check(&[], &all, "Tools  Prompts  Resources");
    check(&["tools"], &["tools"], "Tools");
    check(&["templates"], &["resourceTemplates"], "Resource templates");
    check(
        &["resources", "tools"],
        &["resources", "tools"],
        "Tools  Resources",
    );
    on_travel("list-what", &["list", "cats"])
        .expect(2)
        .says("templates");
}

/// A server that sends change notifications after the handshake, and again when a resource is subscribed to. Its first
/// argument has its capabilities.
#[cfg(unix)]
const CHANGING: &str = r#"
say() { printf '%s\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"initialize"'*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":'"$1"',"serverInfo":{"name":"c","version":"1"}}}' ;;
    *'"notifications/initialized"'*)
        say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        say '{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}' ;;
    *resources/subscribe*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{}}'
        say '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
        say '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b\u009b\n"}}' ;;
    esac
done
"#;

#[cfg(unix)]
fn watching(name: &str, capabilities: &Value, words: &[&str]) -> Ran {
    let words = [
        &["watch", "--protocol", "2025-11-25", "--name", "zoo"],
        words,
    ]
    .concat();
    let server = ["--", "sh", "-c", CHANGING, "sh", &capabilities.to_string()];
    let run = Run::new(&format!("watch-{name}"), &words);
    run.and(&server).run()
}

#[cfg(unix)]
#[test]
fn a_line_is_printed_for_each_change() {
    let changing = json!({"listChanged": true});
    let lists = json!({"tools": changing, "prompts": {}});
    let ran = watching("lists", &lists, &["--count", "2"]).expect(0);
    let ran = ran
        .says("  Watching tools. Ctrl-C ends it.\n")
        .says("  zoo does not report changes of prompts\n")
        .says("  zoo does not report changes of resources\n");
    // A notification counts even if the server did not declare it.
    assert_eq!(ran.stdout, "tools\nprompts\n");

    let resources = json!({"tools": changing, "resources": {"subscribe": true}});
    let ran = watching("resource", &resources, &["a://b", "--count", "1"]).expect(0);
    assert_eq!(
        ran.says("Watching a://b.").stdout,
        "resource a://b<U+009B><U+000A>\n"
    );

    let words = ["a://b", "--lists", "--count", "4", "--json"];
    let ran = watching("both", &resources, &words).expect(0);
    let lines: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    let list = |kind: &str| json!({"changed": kind});
    let resource = json!({"changed": "resource", "uri": "a://b\u{9b}\n"});
    assert_eq!(
        lines,
        [list("tools"), list("prompts"), list("tools"), resource]
    );
}

#[cfg(unix)]
#[test]
fn a_server_that_tells_of_nothing_is_not_watched() {
    for (name, words) in [("nothing", &[][..]), ("no-resource", &["a://b"])] {
        let ran = watching(name, &json!({"tools": {}, "resources": {}}), words);
        ran.expect(2)
            .says("zoo does not report changes of ")
            .says("there is nothing to watch");
    }
}

/// A server that exits at a subscription, as many times as its first argument says.
#[cfg(unix)]
const DYING: &str = r#"
say() { printf '%s\n' "$1"; }
lives=$(cat lives 2>/dev/null || echo 0)
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"initialize"'*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true}},"serverInfo":{"name":"d","version":"1"}}}' ;;
    *resources/subscribe*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{}}'
        [ "$lives" = "$1" ] || { echo $((lives+1)) > lives; exit 7; }
        say '{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a://b"}}' ;;
    esac
done
"#;

#[cfg(unix)]
#[test]
fn a_server_that_goes_away_is_watched_again_or_ends_the_watch() {
    let watch = |lives: &str| {
        let words = [
            "watch",
            "a://b",
            "--count",
            "1",
            "--protocol",
            "2025-11-25",
            "--json",
        ];
        let run = Run::new(&format!("watch-dying-{lives}"), &words);
        run.and(&["--", "sh", "-c", DYING, "sh", lives]).run()
    };
    let ran = watch("1").expect(0);
    let ran = ran.says("note | the server went away and is started again");
    assert_eq!(ran.json(), json!({"changed": "resource", "uri": "a://b"}));
    let ran = watch("9").expect(4);
    assert_eq!(ran.json()["error"]["message"], "the server exited (code 7)");
}

#[cfg(unix)]
#[test]
fn a_watch_in_the_newest_revision_ends_if_the_server_ends_it() {
    let watch = |name: &str, capabilities: &Value| {
        let run = Run::new(&format!("watch-modern-{name}"), &["watch", "--count", "1"]);
        let server = ["--", "sh", "-c", ENDING, "sh", &capabilities.to_string()];
        run.and(&server).run()
    };
    let ran = watch("ends", &json!({"tools": {"listChanged": true}}));
    ran.expect(4).says("the server ended the subscription");
    // No request is sent to a server without change notifications.
    let ran = watch("nothing", &json!({"tools": {}}));
    ran.expect(2).says("there is nothing to watch");
}

#[cfg(unix)]
#[test]
fn a_conversation_says_that_changes_are_told_of_no_more() {
    let capabilities = json!({"tools": {"listChanged": true}}).to_string();
    let words = [
        "open",
        "--plain",
        "--",
        "sh",
        "-c",
        ENDING,
        "sh",
        &capabilities,
    ];
    let mut terminal = Terminal::open(&words, 80);
    terminal.until("the server ended a subscription");
    terminal.until("Changes of its lists are no longer reported; /restart connects again.");
    terminal.until("sh> ").press(CTRL_D);
    assert_eq!(terminal.exit(), Some(0));
}

/// A server of 2026-07-28 that ends every subscription. Its first argument has its capabilities.
#[cfg(unix)]
const ENDING: &str = r#"
say() { printf '%s\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"server/discover"'*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":'"$1"',"serverInfo":{"name":"c","version":"1"},"ttlMs":0,"cacheScope":"private"}}' ;;
    *'"subscriptions/listen"'*)
        say '{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/subscriptionId":'$id'}}}'
        say '{"jsonrpc":"2.0","id":'$id',"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":'$id'}}}' ;;
    esac
done
"#;

#[test]
fn a_command_that_cannot_be_done_says_what_is_missing() {
    let ran = Run::new("one-shot-none", &["get", "a://b"]).run();
    ran.expect(2).says("no server is named");
    let words = ["get", "a://b", "c=d"];
    let ran = Run::new("one-shot-uri", &words).and(&["--", ASKBACK]).run();
    ran.expect(2).says("a resource has no arguments");
}
