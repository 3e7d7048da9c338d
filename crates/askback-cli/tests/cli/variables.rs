//! Variables for a server on the command line.

use std::fs;

use crate::run::{Ran, Run};

/// A server with two tools: one returns the length of a variable and two other variables, and one returns none of them.
const SAYING: &str = r#"
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"initialize"'*)
        answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
    *tools/list*)
        answer '{"tools":[{"name":"say","inputSchema":{"type":"object"}},{"name":"hide","inputSchema":{"type":"object"}}]}' ;;
    *'"name":"hide"'*)
        answer '{"content":[{"type":"text","text":"hidden"}]}' ;;
    *tools/call*)
        answer '{"content":[{"type":"text","text":"'"${#API_KEY} $LEVEL $TYPED"'"}]}' ;;
    esac
done
"#;

fn run(name: &str, words: &[&str]) -> Run {
    let run = Run::new(&format!("variables-{name}"), words);
    let run = run.set("TYPED", "here").set("HUSH", "hush-hush");
    run.scratch.file("say.sh", SAYING);
    let servers = r#"{"mcpServers": {"s": {"command": "sh", "args": ["say.sh"], "env": {"LEVEL": "file", "API_KEY": "x"}}}}"#;
    run.scratch.file("servers.json", servers);
    run
}

fn started(name: &str, words: &[&str]) -> Ran {
    run(name, words).and(&["--", "sh", "say.sh"]).run()
}

#[test]
fn a_server_that_is_started_gets_the_variables_of_the_command_line() {
    let set = [
        "--env",
        "LEVEL=a=b",
        "--env",
        "API_KEY=${HUSH}",
        "--env",
        "TYPED",
    ];
    let call = [&["call", "say"][..], &set].concat();
    let ran = started("call", &call).expect(0);
    assert_eq!(ran.stdout, "9 a=b here\n");
    let of_file = [&call[..], &["--server", "s", "--config", "servers.json"]].concat();
    let ran = run("file", &of_file).run().expect(0);
    assert_eq!(ran.stdout, "9 a=b here\n");
    let doctor = [&["doctor"][..], &set].concat();
    started("doctor", &doctor).expect(0);
    let text = "
server: {command: [sh, say.sh]}
cases: [{name: says, call: say, expect: {text: 9 a=b here}}]
";
    let suite = run("test", &[&["test", "suite.yaml"][..], &set].concat());
    suite.scratch.file("suite.yaml", text);
    suite.run().expect(0);
}

#[test]
fn no_value_is_in_a_trace_a_recording_or_an_error() {
    let words = [
        "open",
        "--trace=trace",
        "--record",
        "suite.yaml",
        "--env",
        "LEVEL=hush-level",
        "--env",
        "API_KEY=${HUSH}",
    ];
    let open = run("kept", &words).input("/call hide\n");
    let ran = open.and(&["--", "sh", "say.sh"]).run().expect(0);
    for file in ["trace", "suite.yaml"] {
        let text = fs::read_to_string(ran.scratch.path(file)).expect("it was written");
        assert!(text.contains("hide"), "{file}: {text}");
        assert!(!text.contains("hush"), "{file}: {text}");
    }
    for (variable, says) in [
        (
            "hush hush=1",
            "--env takes the name of a variable and its value",
        ),
        (
            "API_KEY=${NOT_SET_HERE}hush",
            "a variable of the server takes a value",
        ),
    ] {
        let ran = started("wrong", &["list", "tools", "--env", variable]).expect(2);
        assert!(!ran.says(says).stderr.contains("hush"));
    }
    let url = [
        "list",
        "tools",
        "--url",
        "http://127.0.0.1:1/mcp",
        "--env",
        "A=b",
    ];
    run("url", &url)
        .run()
        .expect(2)
        .says("--env is for a server that is started here");
    let all = ["open", "--all", "--config", "servers.json", "--env", "A=b"];
    run("all", &all)
        .run()
        .expect(2)
        .says("--env is for one server");
    let both = ["open", "--server", "s", "--server", "t"];
    for (option, value) in [("--env", "A=b"), ("--header", "A: b")] {
        let words = [&both[..], &["--config", "servers.json", option, value]].concat();
        let ran = run(&format!("both{option}"), &words).run().expect(2);
        ran.says(&format!("{option} is for one server"));
    }
}
