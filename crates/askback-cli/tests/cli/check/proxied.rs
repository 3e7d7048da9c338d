//! Faults over HTTP: the agency behind a proxy that modifies messages.

use std::{
    collections::BTreeSet,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};

use super::{TOOLS, agency::Agency, findings, ids};
use crate::run::Run;

/// A request that the proxy forwards.
pub(crate) struct Request {
    line: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

#[derive(Clone, Copy)]
pub(crate) struct Fault {
    /// The values stored by earlier requests are available.
    pub(crate) request: fn(&mut Request, &mut Vec<Value>),
    pub(crate) head: fn(&Request, String) -> String,
}

impl Default for Fault {
    fn default() -> Self {
        Self {
            request: |_, _| {},
            head: |_, head| head,
        }
    }
}

impl Request {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reading = BufReader::new(stream);
        let mut line = String::new();
        reading.read_line(&mut line).ok()?;
        let mut headers = Vec::new();
        loop {
            let mut header = String::new();
            reading.read_line(&mut header).ok()?;
            let Some((name, value)) = header.trim_end().split_once(": ") else {
                break;
            };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        let mut request = Self {
            line: line.trim_end().to_owned(),
            headers,
            body: Vec::new(),
        };
        let length = request
            .header("content-length")
            .and_then(|it| it.parse().ok());
        reading
            .take(length.unwrap_or(0))
            .read_to_end(&mut request.body)
            .ok()?;
        Some(request)
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    fn set(&mut self, name: &str, value: Option<&str>) {
        self.headers.retain(|(known, _)| known != name);
        self.headers
            .extend(value.map(|value| (name.to_owned(), value.to_owned())));
    }

    fn message(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    fn method(&self) -> String {
        self.message()["method"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    fn is_get(&self) -> bool {
        self.line.starts_with("GET")
    }

    fn write(&self, address: &str) -> Vec<u8> {
        let mut head = format!("{}\r\nhost: {address}\r\nconnection: close\r\n", self.line);
        for (name, value) in &self.headers {
            if !["host", "connection", "content-length"].contains(&&**name) {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", self.body.len()));
        [head.as_bytes(), &self.body].concat()
    }
}

pub(crate) fn proxy(address: &str, fault: Fault) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
    let url = format!("http://{}/mcp", listener.local_addr().expect("it is bound"));
    let (address, kept) = (address.to_owned(), Arc::<Mutex<Vec<Value>>>::default());
    thread::spawn(move || {
        // The thread ends with the test process.
        for stream in listener.incoming().flatten() {
            let (address, kept) = (address.clone(), Arc::clone(&kept));
            thread::spawn(move || pass_on(stream, &address, fault, &kept));
        }
    });
    url
}

fn pass_on(
    mut stream: TcpStream,
    address: &str,
    fault: Fault,
    kept: &Mutex<Vec<Value>>,
) -> Option<()> {
    let mut request = Request::read(&stream)?;
    (fault.request)(&mut request, &mut *kept.lock().ok()?);
    let mut server = TcpStream::connect(address).ok()?;
    server.write_all(&request.write(address)).ok()?;
    let mut reading = BufReader::new(server);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reading.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let head = (fault.head)(&request, head);
    stream.write_all(head.as_bytes()).ok()?;
    let mut body = Vec::new();
    loop {
        let piece = reading.fill_buf().ok()?;
        if piece.is_empty() {
            break;
        }
        let length = piece.len();
        stream.write_all(piece).ok()?;
        body.extend_from_slice(piece);
        reading.consume(length);
    }
    if let Ok(answer) = serde_json::from_slice::<Value>(&body) {
        kept.lock()
            .ok()?
            .push(json!({"request": request.message(), "answer": answer}));
    }
    Some(())
}

/// Checks that exactly this fault is found over HTTP.
#[track_caller]
fn finds(revision: &str, server: &[&str], fault: Fault, expected: &str) {
    let agency = Agency::start("check-proxied", server);
    let url = proxy(&agency.address, fault);
    let run = Run::new(
        &format!("check-proxied-{revision}"),
        &["check", "--json", "--timeout", "5"],
    );
    let ran = run
        .and(&TOOLS)
        .and(&["--protocol", revision, "--url", &url])
        .run();
    assert_eq!(findings(&ran), ids(expected), "{}", ran.stdout);
}

fn status(from: &'static str, head: String, to: &str) -> String {
    head.replacen(from, to, 1)
}

#[test]
fn the_agency_keeps_everything_over_http() {
    let agency = Agency::start("check-http", &[]);
    let url = format!("http://{}/mcp", agency.address);
    let run = Run::new("check-http", &["check", "--json"]).and(&TOOLS);
    let ran = run.and(&["--url", &url]).run().expect(0);
    assert_eq!(findings(&ran), BTreeSet::new());
    let report = ran.json();
    for id in ["HT-03", "HT-24", "HT-61", "HT25-31", "HT25-32", "SU-02"] {
        assert!(super::kept(&report).contains(&id), "{id}: {report:#}");
    }
}

#[test]
fn faults_of_http_are_found() {
    let (old, new) = ("2025-11-25", "2026-07-28");
    let fault = Fault::default();
    finds(old, &[], fault, "");
    finds(new, &[], fault, "");
    let open = Fault {
        request: |request, _| request.set("origin", None),
        ..fault
    };
    finds(old, &[], open, "HT-03");
    finds(new, &[], open, "HT-03");
    finds("2025-06-18", &[], open, "HT-02");
    let created = Fault {
        head: |_, head| status("202 Accepted", head, "200 OK"),
        ..fault
    };
    finds(old, &[], created, "HT25-06");
    finds(new, &[], created, "HT-11");
    let taken = Fault {
        head: |request, head| match request.header("mcp-protocol-version") == Some("1999-01-01") {
            true => status("400 Bad Request", head, "200 OK"),
            false => head,
        },
        ..fault
    };
    finds(new, &[], taken, "HT-23");
    let incapable = Fault {
        head: |request, head| match request.method().as_str() {
            "tools/call" if request.header("mcp-name") != Some("askback-other") => {
                status("400 Bad Request", head, "200 OK")
            }
            _ => head,
        },
        ..fault
    };
    finds(new, &[], incapable, "BA-48");
    let modern = ["--protocol", new];
    finds(new, &modern, fault, "");
    let open = Fault {
        head: |request, head| match request.is_get() {
            true => status("405 Method Not Allowed", head, "200 OK"),
            false => head,
        },
        ..fault
    };
    finds(new, &modern, open, "HT-69");
    let html = Fault {
        head: |request, head| match request.method().as_str() {
            "ping" | "server/discover" => head.replace("application/json", "text/json"),
            _ => head,
        },
        ..fault
    };
    finds(old, &[], html, "HT25-08");
    finds(new, &[], html, "HT-13");
    let buffered = Fault {
        head: |_, head| head.replace("x-accel-buffering: no", "x-a: no"),
        ..fault
    };
    finds(new, &[], buffered, "HT-17");
    let found = Fault {
        head: |_, head| status("404 Not Found", head, "200 OK"),
        ..fault
    };
    finds(new, &[], found, "HT-24");
    finds(old, &[], found, "HT25-32");
    let get = Fault {
        head: |request, head| match request.is_get() {
            true => status("200 OK", head, "500 Internal Server Error"),
            false => head,
        },
        ..fault
    };
    finds(old, &[], get, "HT25-18");
    let session = Fault {
        request: |request, kept| match request.header("mcp-session-id") {
            Some(id) => kept.push(json!({"session": id})),
            None if request.method() == "ping" => {
                let id = kept.iter().rev().find_map(|it| it["session"].as_str());
                let id = id.map(str::to_owned);
                request.set("mcp-session-id", id.as_deref());
            }
            None => {}
        },
        ..fault
    };
    finds(old, &[], session, "HT25-31");
}

#[test]
fn headers_that_are_not_looked_at_are_found() {
    let new = "2026-07-28";
    let trusting = |request: &mut Request, _: &mut Vec<Value>| {
        let message = request.message();
        let method = request.method();
        if method.is_empty() {
            return;
        }
        request.set("mcp-method", Some(&method));
        let version = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        request.set("mcp-protocol-version", version.as_str());
        let params = &message["params"];
        let name = params["name"].as_str().or(params["uri"].as_str());
        request.set("mcp-name", name);
    };
    let fault = Fault {
        request: trusting,
        ..Fault::default()
    };
    finds(new, &[], fault, "HT-22 HT-54 HT-55 HT-61");
}

#[test]
fn a_state_that_is_not_looked_at_is_found() {
    // Replaces the state in a request with the last state that the server sent.
    let trusting = Fault {
        request: |request, kept| {
            let mut message = request.message();
            let given = |it: &&Value| it["request"]["params"]["name"] == message["params"]["name"];
            let state = kept
                .iter()
                .rev()
                .filter(given)
                .find_map(|it| it["answer"]["result"]["requestState"].as_str());
            if let Some(state) = state.filter(|_| message["params"]["requestState"].is_string()) {
                message["params"]["requestState"] = json!(state);
                request.body = message.to_string().into_bytes();
            }
        },
        ..Fault::default()
    };
    finds("2026-07-28", &[], trusting, "MR-07");
}
