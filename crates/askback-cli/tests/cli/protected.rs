//! The travel agency over HTTP, with required tokens.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{Shutdown, TcpListener, TcpStream},
    process::{Child, Command, Stdio},
    thread,
};

use serde_json::{Value, json};

use crate::{run::Run, scratch::Scratch};

/// A process of the agency, killed on drop.
struct Agency {
    process: Child,
    address: String,
}

impl Drop for Agency {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Agency {
    fn start(scratch: &Scratch, options: &[&str]) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_askback"))
            .args(["serve", "travel", "--http", "127.0.0.1:0", "--directory"])
            .arg(scratch.path("bookings"))
            .args(options)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = Vec::new();
        for line in BufReader::new(process.stderr.take().unwrap()).lines() {
            said.push(line.unwrap());
            if said.iter().any(|line| line.contains("never expire")) {
                break;
            }
        }
        let address = said
            .iter()
            .find_map(|line| line.split("is at http://").nth(1));
        let address = address.unwrap();
        let address = address.split('/').next().unwrap().to_owned();
        Self { process, address }
    }

    fn call(
        &self,
        authorization: Option<&str>,
        method: &str,
        name: &str,
        params: &Value,
    ) -> String {
        let mut params = params.clone();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        });
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let body = body.to_string();
        let authorization =
            authorization.map_or_else(String::new, |it| format!("Authorization: {it}\r\n"));
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: {method}\r\nMcp-Name: {name}\r\nContent-Length: {}\r\n{authorization}\
             Connection: close\r\n\r\n{body}",
            self.address,
            body.len(),
        );
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    fn book(&self, authorization: Option<&str>) -> String {
        let trip = json!({"destination": "Rome", "depart": "2030-06-15"});
        let params = json!({"name": "book_holiday", "arguments": trip});
        self.call(authorization, "tools/call", "book_holiday", &params)
    }
}

#[test]
fn a_client_with_a_token_is_served() {
    let scratch = Scratch::new("protected");
    let options = [
        "--development-token",
        "alice=alices-token",
        "--development-token",
        "bob=bobs-token",
    ];
    let agency = Agency::start(&scratch, &options);
    for (authorization, status) in [
        (None, "401"),
        (Some("Bearer mallorys-token"), "401"),
        (Some("Bearer alices-token"), "200"),
        (Some("Bearer bobs-token"), "200"),
    ] {
        let response = agency.book(authorization);
        let wanted = format!("HTTP/1.1 {status}");
        assert!(
            response.starts_with(&wanted),
            "{authorization:?}: {response}"
        );
        let asks = response.contains("Shall we book?");
        assert_eq!(asks, status == "200", "{response}");
    }
    let refused = agency.book(None);
    let place = format!(
        "http://{}/.well-known/oauth-protected-resource/mcp",
        agency.address
    );
    assert!(refused.contains(&place), "{refused}");
}

// Shows HT-04.
#[test]
fn nobody_on_the_network_is_let_in_unsaid() {
    let scratch = Scratch::new("network");
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:8000"] {
        for options in [&[][..], &["--development-token", "alice=a"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_askback"))
                .args(["serve", "travel", "--http", address, "--directory"])
                .arg(scratch.path("bookings"))
                .args(options)
                .output()
                .unwrap();
            assert_eq!(output.status.code(), Some(2), "{address} {options:?}");
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(said.contains("serve at 127.0.0.1"), "{said}");
        }
    }
}

#[test]
fn booking_takes_a_scope_of_its_own() {
    let scratch = Scratch::new("scopes");
    let options = [
        "--development-token",
        "alice=a",
        "--development-scopes",
        "travel:read",
    ];
    let agency = Agency::start(&scratch, &options);
    let refused = agency.book(Some("Bearer a"));
    assert!(refused.starts_with("HTTP/1.1 403"), "{refused}");
    assert!(
        refused.contains(r#"scope="travel:read travel:book""#),
        "{refused}"
    );
    let uri = "travel://destinations";
    let read = agency.call(
        Some("Bearer a"),
        "resources/read",
        uri,
        &json!({"uri": uri}),
    );
    assert!(read.starts_with("HTTP/1.1 200"), "{read}");
    // The command says what the server requires, in the server's words.
    let url = format!("http://{}/mcp", agency.address);
    let headers = json!({"Authorization": "Bearer a"});
    let servers = json!({"mcpServers": {"agency": {"url": url, "headers": headers}}});
    scratch.file("mcp.json", &servers.to_string());
    let output = Command::new(env!("CARGO_BIN_EXE_askback"))
        .args([
            "call",
            "book_holiday",
            "destination=Lisbon",
            "--server",
            "agency",
            "--config",
        ])
        .arg(scratch.path("mcp.json"))
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(5), "{said}");
    let scopes = r#"scope="travel:read travel:book""#;
    let mut lines = said.lines();
    assert!(
        said.contains("HTTP status 403: the client is not authorized"),
        "{said}"
    );
    let shown = lines.find(|line| line.contains(scopes));
    assert!(
        shown.is_some_and(|line| line.trim_start().starts_with("| ")),
        "{said}"
    );
}

#[test]
fn a_token_is_given_on_the_command_line() {
    let scratch = Scratch::new("header");
    let options = ["--development-token", "alice=alices-token"];
    let agency = Agency::start(&scratch, &options);
    let url = format!("http://{}/mcp", agency.address);
    let run = |words: &[&str], header: Option<&'static str>| {
        let run = Run::new("header-run", words).and(&["--url", &url]);
        let run = run.set("TOKEN", "alices-token");
        match header {
            Some(header) => run.and(&["--header", header]).run(),
            None => run.run(),
        }
    };
    let in_variable = Some("Authorization: Bearer ${TOKEN}");
    for header in [in_variable, Some("authorization:Bearer alices-token")] {
        run(&["list", "tools"], header)
            .expect(0)
            .prints("book_holiday");
    }
    let ran = run(
        &["open", "--trace=trace", "--record", "suite.yaml"],
        in_variable,
    )
    .expect(0);
    for entry in fs::read_dir(ran.scratch.path(".")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains("alices-token"), "{path:?}: {text}");
        }
    }
    run(&["doctor"], in_variable).expect(0);
    let suite = scratch.file("list.yaml", "cases: [{name: it lists, list: tools}]");
    for (header, exit) in [(in_variable, 0), (Some("Authorization: Bearer another"), 5)] {
        run(&["test", &suite], header).expect(exit);
    }
    let how = "--header 'Authorization: Bearer ${TOKEN}', or in `headers` of";
    let wrong = Some("Authorization: Bearer another");
    let ran = run(&["list", "tools"], wrong).expect(5).says(how);
    assert!(!ran.stderr.contains("another"), "{}", ran.stderr);
    let ran = run(&["doctor"], wrong).expect(1);
    let ran = ran.prints("the server does not take the credentials");
    assert!(!ran.stdout.contains("another"), "{}", ran.stdout);
    let started = Run::new("header-started", &["list", "tools", "--header", "a: b"]);
    started
        .on_travel()
        .expect(2)
        .says("not one that is started here");
}

#[test]
fn a_user_who_cannot_sign_in_is_told_how_to_pass_a_token() {
    for (head, exit) in [
        ("401 Unauthorized\r\n", 5),
        (
            "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"a\"\r\n",
            5,
        ),
        ("403 Forbidden\r\n", 4),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let is_post = lines
                    .next()
                    .is_some_and(|it| it.unwrap().starts_with("POST"));
                let head = if is_post { head } else { "404 Not Found\r\n" };
                let rest = "Content-Length: 0\r\nConnection: close\r\n\r\n";
                let _ = write!(&stream, "HTTP/1.1 {head}{rest}");
                // Reads the request to its end, so that the response is not lost.
                let _ = stream.shutdown(Shutdown::Write);
                lines.for_each(drop);
            }
        });
        let url = format!("http://{address}/mcp");
        let how = "--header 'Authorization: Bearer ${TOKEN}', or in `headers` of";
        let run = Run::new("refused-run", &["list", "tools", "--url", &url]);
        run.run().expect(exit).says(how);
        let doctor = Run::new("refused-doctor", &["doctor", "--url", &url]).run();
        doctor.expect(1).prints("--header");
    }
}
