//! The travel agency over HTTP, for those who have a token.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, Command, Stdio},
};

use serde_json::{Value, json};

use crate::scratch::Scratch;

/// A process of the agency, which does not outlive its value.
struct Agency {
    process: Child,
    address: String,
    /// Its output when it began.
    said: Vec<String>,
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
            if said.iter().any(|line| line.contains("never end")) {
                break;
            }
        }
        let address = said
            .iter()
            .find_map(|line| line.split("is at http://").nth(1));
        let address = address.unwrap();
        let address = address.split('/').next().unwrap().to_owned();
        Self {
            process,
            address,
            said,
        }
    }

    /// The whole response to a call.
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

    /// Asks for a holiday.
    fn book(&self, authorization: Option<&str>) -> String {
        let trip = json!({"destination": "Rome", "depart": "2030-06-15"});
        let params = json!({"name": "book_holiday", "arguments": trip});
        self.call(authorization, "tools/call", "book_holiday", &params)
    }
}

#[test]
fn whoever_has_a_token_is_served() {
    let scratch = Scratch::new("protected");
    let agency = Agency::start(
        &scratch,
        &[
            "--development-token",
            "alice=alices-token",
            "--development-token",
            "bob",
        ],
    );
    let mut said = agency.said.iter();
    let bobs = said.find_map(|line| line.split_once("token of bob is "));
    let (_, bobs) = bobs.unwrap();
    assert!(bobs.starts_with("development-"));
    let bobs = format!("Bearer {bobs}");
    for (authorization, status) in [
        (None, "401"),
        (Some("Bearer mallorys-token"), "401"),
        (Some("Bearer alices-token"), "200"),
        (Some(&*bobs), "200"),
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
    // The command says what the server wants, as the server says it.
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
    assert_eq!(output.status.code(), Some(4), "{said}");
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
