//! `askback check --quick`, also called `askback doctor`: finds the step that fails, and says what to do.

use std::{
    io::{Read, Write},
    net::TcpListener,
    thread,
};

use serde_json::{Value, json};

#[cfg(unix)]
use crate::{
    check::{Agency, Fault, proxy},
    sign_in::issuer::Issuer,
};
use crate::{
    run::{ASKBACK, Ran, Run},
    scratch::Scratch,
};

fn doctor(name: &str, words: &[&str]) -> Ran {
    let run = Run::new(
        &format!("doctor-{name}"),
        &["doctor", "--json", "--timeout", "3"],
    );
    run.and(words).run()
}

/// The names and states of the steps of a run.
fn steps(ran: &Ran) -> Vec<(String, String)> {
    let report = ran.json();
    let steps = report["steps"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    steps
        .map(|step| (text(&step["step"]), text(&step["state"])))
        .collect()
}

/// Checks that this step fails with these words, and that later steps are not tried.
#[track_caller]
fn fails_at(ran: Ran, step: &str, words: &[&str]) {
    let ran = ran.expect(1);
    let report = ran.json();
    let all = steps(&ran);
    let at = all.iter().position(|(_, state)| state == "failed");
    let at = at.unwrap_or_else(|| panic!("nothing failed: {report:#}"));
    assert_eq!(all[at].0, step, "{report:#}");
    let after = all[at..].iter().skip(1);
    assert!(
        after.clone().all(|(_, state)| state == "not tried"),
        "{report:#}"
    );
    let failed = report["steps"][at].to_string();
    for word in words {
        assert!(failed.contains(word), "{word:?} is not in {failed}");
    }
}

#[test]
fn nothing_is_wrong_with_the_agency() {
    let ran = doctor("agency", &["--", ASKBACK, "serve", "travel"]).expect(0);
    let names = ["program", "start", "protocol", "lists"];
    let expected: Vec<_> = names.map(|name| (name.to_owned(), "ok".to_owned())).into();
    assert_eq!(steps(&ran), expected);
    assert_eq!(ran.json()["findings"], json!([]));
    let run = Run::new("doctor-words", &["doctor"]).on_travel().expect(0);
    run.prints("✓ program        ok,")
        .prints("each request by itself, in 2026-07-28, 2025-11-25")
        .prints("tools 4, prompts 4, resources 1, templates 2")
        .prints("| askback-travel 0.1.0");
}

#[test]
fn a_program_that_is_missing_fails_at_once() {
    let ran = doctor("missing", &["--", "askback-no-such-program"]);
    fails_at(
        ran,
        "program",
        &["found no program", "add its folder to PATH"],
    );
}

#[cfg(unix)]
#[test]
fn a_file_that_is_not_executable_differs_from_a_missing_one() {
    let run = Run::new("doctor-mode", &["doctor", "--json"]);
    let file = run.scratch.file("server.py", "#!/usr/bin/env python3\n");
    let ran = run.and(&["--", &file]).run();
    fails_at(ran, "program", &["may not be executed", "chmod +x"]);
}

#[test]
fn a_failed_start_does_not_show_the_value_of_a_variable() {
    #[track_caller]
    fn check(words: &[&str], server: &str, exit: i32) {
        let name = format!("secret-launch-{}", words[0]);
        let run = Run::new(&name, words).set("SECRET_V", "hush");
        let run = run.and(&["--server", "it", "--config", "mcp.json"]);
        let file = format!(r#"{{"mcpServers": {{"it": {server}}}}}"#);
        run.scratch.file("mcp.json", &file);
        let ran = run.run().expect(exit);
        for said in [&ran.stdout, &ran.stderr] {
            assert!(!said.contains("hush"), "{words:?}: {said}");
        }
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(said.contains("/${SECRET_V}/x"), "{words:?}: {said}");
    }
    let program = r#"{"command": "/nonexist/${SECRET_V}/x"}"#;
    let folder = r#"{"command": "sh", "cwd": "/nonexist/${SECRET_V}/x"}"#;
    for (command, exit) in [("list", 4), ("check", 1), ("doctor", 1)] {
        check(&[command], program, exit);
        check(&[command, "--json"], program, exit);
    }
    for (command, exit) in [("list", 4), ("open", 4), ("check", 1), ("doctor", 1)] {
        check(&[command], folder, exit);
    }
    check(&["doctor", "--json"], folder, 1);
}

#[cfg(unix)]
#[test]
fn what_a_process_does_instead_of_answering_is_told() {
    let sh = |name: &str, script: &str| doctor(name, &["--", "sh", "-c", script]);
    let ran = sh("exits", "echo 'no key' >&2; exit 7");
    fails_at(
        ran,
        "start",
        &["exited (code 7)", "no key", "What it said is above."],
    );
    let trace = "Traceback (most recent call last):\n  File \"s.py\", line 1, in <module>\n    ";
    let early = "No module named 'a', so there are no colours\n";
    for (number, (said, known)) in [
        (
            "ModuleNotFoundError: No module named 'fastmcp'".to_owned(),
            "Python does not find a module",
        ),
        (
            format!("{trace}import a\nModuleNotFoundError: No module named 'a'"),
            "does not find a module",
        ),
        (
            "    def f(:\n          ^\nSyntaxError: invalid syntax".to_owned(),
            "has a syntax error",
        ),
        (
            "node:a:1228\nError: Cannot find module '/a/index.js'\n    at a".to_owned(),
            "Node.js does not find",
        ),
        (
            "No module named 'a.b'; 'a' is not a package".to_owned(),
            "has the name of a package",
        ),
        // The last error ended the process.
        (
            format!("{early}KeyError: 'API_TOKEN'"),
            "variable of the environment",
        ),
        // Earlier output of the program did not end it.
        (
            format!("{early}{trace}raise Sorry('KeyError')\nSorry: out of luck"),
            "What it said is above.",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let script = ["--", "sh", "-c", "printf '%s\n' \"$0\" >&2; exit 1", &said];
        fails_at(
            doctor(&format!("known-{number}"), &script),
            "start",
            &[known],
        );
    }
    let web = "echo 'INFO: Uvicorn running on http://127.0.0.1:8000' >&2; sleep 60";
    fails_at(
        sh("uvicorn", web),
        "protocol",
        &["no answer within 3 s", "reach it with --url"],
    );
    let ran = sh("mute", "exit 0");
    fails_at(ran, "start", &["exited (code 0)", "start it by hand"]);
    let ran = sh("web", "echo 'listening on 80'; sleep 60");
    fails_at(
        ran,
        "protocol",
        &["no answer within 3 s", "listening on 80", "Logs belong"],
    );
    let refuses = r#"while read -r l; do
        id=$(printf '%s' "$l" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-1,"message":"go away"}}\n' "$id"
    done"#;
    fails_at(
        sh("refuses", refuses),
        "protocol",
        &["it cannot be understood", "go away"],
    );
}

#[cfg(unix)]
#[test]
fn messages_that_clients_refuse_are_told() {
    const FILTER: &str = r#""$0" serve travel --protocol 2025-11-25 | sed -u "$1""#;
    for (name, filter, step, words) in [
        (
            "version",
            r#"s/"jsonrpc":"2.0",//"#,
            "protocol",
            "its messages do not say",
        ),
        (
            "text-id",
            r#"s/"id":\([0-9]*\),/"id":"\1",/"#,
            "protocol",
            "another id than that of the request",
        ),
        (
            "both",
            r#"s/"result":{"tools"/"error":{},&/"#,
            "lists",
            "a result and an error at once",
        ),
        (
            "neither",
            r#"s/"result":{"tools"/"outcome":{"tools"/"#,
            "lists",
            "neither a result nor an error",
        ),
    ] {
        let ran = doctor(name, &["--", "sh", "-c", FILTER, ASKBACK, filter]);
        fails_at(ran, step, &[words, "Clients "]);
    }
}

#[cfg(unix)]
#[test]
fn a_list_without_an_end_is_told() {
    let endless = |cursor: &str| {
        let page = format!(r#""result":{{"nextCursor":"{cursor}","tools":["#);
        let server = SLOPPY.replace(r#""result":{"tools":["#, &page);
        server.replace("sleep 60", "")
    };
    // The cursor of each page is the id of the request.
    let ran = doctor("endless", &["--", "sh", "-c", &endless(r#"'"$id"'"#)]);
    fails_at(
        ran,
        "lists",
        &["tools/list cannot be read", "longer than the 256 pages"],
    );
    let ran = doctor("circle", &["--", "sh", "-c", &endless("a")]);
    let words = ["tools/list cannot be read", "leads back to an earlier page"];
    fails_at(ran, "lists", &words);
}

#[cfg(unix)]
#[test]
fn a_long_standard_error_is_no_fault_of_the_answers() {
    const TALKS: &str = r#"yes 'a line of the log' | head -n 100000 >&2; exec "$0" serve travel"#;
    let server = ["--", "sh", "-c", TALKS, ASKBACK];
    // The server answers, even on a slow machine.
    let ran = Run::new("doctor-talks", &["doctor", "--json"]);
    let ran = ran.and(&server).run().expect(0);
    assert!(steps(&ran).iter().all(|(_, state)| state == "ok"));
    const DIES: &str = r#"seq 20000 >&2; exit 7"#;
    fails_at(
        doctor("dies", &["--", "sh", "-c", DIES]),
        "start",
        &["20000"],
    );
}

/// A careless server of 2025-11-25: it prints text before its first message, sends a request while its tools are
/// listed, has a tool with an invalid name, and keeps running after its input is closed.
#[cfg(unix)]
const SLOPPY: &str = r#"
echo "starting up"
while read -r l; do
    id=$(printf '%s' "$l" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$l" in
    *'"initialize"'*)
        printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"sloppy","version":"1"}}}\n' "$id" ;;
    *'"tools/list"'*)
        printf '{"jsonrpc":"2.0","id":"q","method":"roots/list"}\n'
        printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a b","inputSchema":{"type":"object","properties":{"x":{"type":"array"}}}}]}}\n' "$id" ;;
    *'"id"'*'"method"'*)
        printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
    esac
done
sleep 60
"#;

#[cfg(unix)]
#[test]
fn a_finding_fails_a_strict_run_alone() {
    // The server exits when its input is closed.
    let prompt = SLOPPY.replace("sleep 60", "");
    let run = |name: &str, words: &[&str]| doctor(name, &[words, &["sh", "-c", &prompt]].concat());
    run("lax", &["--"]).expect(0);
    let ran = run("strict", &["--strict", "--"]).expect(1);
    assert!(steps(&ran).iter().all(|(_, state)| state == "ok"));
    let agency = ["--strict", "--", ASKBACK, "serve", "travel"];
    doctor("strict-agency", &agency).expect(0);
}

#[cfg(unix)]
#[test]
fn what_is_wrong_with_a_server_that_can_be_used_is_told() {
    let ran = doctor("sloppy", &["--", "sh", "-c", SLOPPY]).expect(0);
    let report = ran.json();
    let findings = report["findings"].as_array().expect("a list").iter();
    let found: Vec<(&str, &Value)> = findings
        .map(|it| (it["id"].as_str().expect("an id"), &it["places"]))
        .collect();
    let expected = [
        ("LI25-16", json!(["roots/list"])),
        ("ST-03", json!(["starting up"])),
        ("TO-14", json!(["a b"])),
        ("schema-items", json!(["a b: x"])),
        ("tool-name", json!(["a b"])),
    ];
    let expected: Vec<(&str, &Value)> = expected.iter().map(|(id, it)| (*id, it)).collect();
    assert_eq!(found, expected);
}

#[cfg(unix)]
#[test]
fn the_way_to_an_address_is_gone_step_by_step() {
    let agency = Agency::start("doctor-http", &[]);
    let at = |path: &str| format!("http://{}{path}", agency.address);
    let ran = doctor("http", &["--url", &at("/mcp")]).expect(0);
    let names = [
        "connection",
        "endpoint",
        "authorization",
        "protocol",
        "lists",
    ];
    let found: Vec<String> = steps(&ran).into_iter().map(|(name, _)| name).collect();
    assert_eq!(found, names);
    let ran = doctor("path", &["--url", &at("/elsewhere")]);
    fails_at(
        ran,
        "endpoint",
        &["HTTP status 404", "many servers use /mcp"],
    );
    let secure = at("/mcp").replace("http:", "https:");
    fails_at(
        doctor("tls", &["--url", &secure]),
        "connection",
        &["without TLS at this port: write http:"],
    );
    let scratch = Scratch::new("no-tls");
    let suite = scratch.file("suite.yaml", "cases: [{name: it lists, list: tools}]");
    for words in [&["list", "--all"][..], &["test", &suite]] {
        let ran = Run::new("inspect-tls", words).and(&["--url", &secure]);
        let ran = ran.run().expect(4);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(
            said.contains("not seem to use TLS: if so, write http:"),
            "{words:?}: {said}"
        );
    }
    // A TLS alert, as a server sends it to a client without TLS. To other clients the server sends nothing.
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
    let port = listener.local_addr().expect("it is bound").port();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut first = [0; 4096];
            let _ = stream.read(&mut first);
            if first[0] == 22 {
                let _ = stream.write_all(b"\x15\x03\x01\x00\x02\x02F");
            }
        }
    });
    let ran = doctor(
        "http-at-tls",
        &["--url", &format!("http://127.0.0.1:{port}/mcp")],
    );
    fails_at(ran, "endpoint", &["write https: in the place of http:"]);
    let answers = |head: &'static str| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
        let port = listener.local_addr().expect("it is bound").port();
        thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _ = stream.read(&mut [0; 4096]);
                let _ = write!(
                    stream,
                    "HTTP/1.1 {head}Content-Length: 13\r\nConnection: close\r\n\r\nuse https: 400"
                );
            }
        });
        format!("http://127.0.0.1:{port}/mcp")
    };
    // The response mentions TLS but is not TLS.
    let ran = doctor("http-of-tls", &["--url", &answers("400 Bad Request\r\n")]);
    assert!(!ran.stdout.contains("write https:"), "{}", ran.stdout);
    let key = ["--header", "X-Api-Key: hush"];
    for (head, step, word) in [
        (
            "401 Unauthorized\r\n",
            "authorization",
            "See whether it wants `x-api-key`",
        ),
        (
            "403 Forbidden\r\n",
            "endpoint",
            "the user of `x-api-key` may use it",
        ),
        (
            "401 Unauthorized\r\nWWW-Authenticate: Bearer\r\n",
            "authorization",
            "RFC 9728",
        ),
    ] {
        let ran = doctor("key", &[&["--url", &answers(head)][..], &key].concat());
        assert!(!ran.stdout.contains("hush"), "{}", ran.stdout);
        fails_at(ran, step, &[word]);
    }
    let ran = doctor("closed", &["--url", "http://127.0.0.1:1/mcp"]);
    fails_at(
        ran,
        "connection",
        &["no request can be sent", "whether the server runs"],
    );
    let ran = doctor("name", &["--url", "http://askback.invalid/mcp"]);
    fails_at(
        ran,
        "connection",
        &["no request can be sent", "Check the name"],
    );
}

#[cfg(unix)]
#[test]
fn a_sign_in_is_looked_into_and_not_begun() {
    let issuer = Issuer::start();
    let url = issuer.server();
    let at = ["--credentials", "nowhere", "--url", &url];
    let ran = doctor("sign-in", &at).expect(5);
    let report = ran.json();
    let state = |name: &str| {
        let steps = report["steps"].as_array().expect("a list");
        steps
            .iter()
            .find(|step| step["step"] == name)
            .cloned()
            .expect("a step")
    };
    let found = state("authorization");
    assert_eq!(found["state"], "ok", "{report:#}");
    let protocol = state("protocol");
    assert_eq!(protocol["state"], "not tried");
    assert!(
        protocol["says"]
            .as_str()
            .expect("a text")
            .contains("askback list --url")
    );
    let ran = Run::new("check-sign-in", &["check"]).and(&at).run();
    ran.expect(5).prints("a sign-in is needed");
    assert_eq!(issuer.count("/register"), 0);
}

#[cfg(unix)]
#[test]
fn documents_that_are_missing_are_named() {
    let agency = Agency::start("doctor-documents", &[]);
    let fault = Fault {
        head: |_, head| head.replacen("200 OK", "401 Unauthorized", 1),
        ..Fault::default()
    };
    let url = proxy(&agency.address, fault);
    let ran = doctor("documents", &["--credentials", "nowhere", "--url", &url]);
    let words = [
        "no document at its origin names an authorization server",
        "RFC 9728",
    ];
    fails_at(ran, "authorization", &words);
}
