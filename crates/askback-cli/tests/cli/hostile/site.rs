//! A site that responds to every HTTP request in the same hostile way, including sign-in.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    thread,
};

use serde_json::{Value, json};

use super::strings::text;

#[derive(Debug, Clone)]
pub(crate) struct Response {
    status: String,
    headers: String,
    body: String,
    documents: Documents,
}

/// The metadata documents for a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Documents {
    /// They do not exist.
    Absent,
    /// They are invalid.
    Wrong,
    /// They lead to a registration that is rejected.
    Refusing,
    /// They lead to a sign-in.
    Registering,
}

/// A site that runs until the test ends.
pub(crate) struct Site {
    pub(crate) url: String,
}

/// Hostile text that is valid in a header.
fn header(number: usize) -> String {
    let ascii: String = text(number)
        .chars()
        .filter(|c| !c.is_control() || *c == '\t')
        .collect();
    format!("ZQX{ascii}\u{9b}2JZQX")
}

/// Every kind of failure over HTTP.
pub(crate) fn responses() -> Vec<Response> {
    let response = |status: &str, headers: String, body: String, documents| Response {
        status: status.to_owned(),
        headers,
        body,
        documents,
    };
    let kind = |kind: &str| format!("Content-Type: {kind}\r\n");
    let mut all = Vec::new();
    for (number, status) in [
        "200 OK",
        "400 ZQX",
        "404 ZQX",
        "500 ZQX\u{9b}31m",
        "302 ZQX",
    ]
    .into_iter()
    .enumerate()
    {
        let to = format!("Location: https://zqx.example/{}\r\n", header(number));
        for kind_of in [
            "text/html",
            "application/json",
            "text/event-stream",
            &header(number),
        ] {
            all.push(response(
                status,
                kind(kind_of) + &to,
                text(number),
                Documents::Absent,
            ));
        }
        let error =
            json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": text(number)}});
        all.push(response(
            status,
            kind("application/json"),
            error.to_string(),
            Documents::Absent,
        ));
        let event = format!(
            "event: message\ndata: {error}\n\ndata: {}\n\n",
            header(number)
        );
        all.push(response(
            status,
            kind("text/event-stream"),
            event,
            Documents::Absent,
        ));
    }
    for (number, challenge) in [
        format!("Bearer {}", header(0)),
        format!(
            "Bearer error=\"invalid_token\", error_description=\"{}\"",
            header(3)
        ),
        format!(
            "Bearer scope=\"{}\", resource_metadata=\"{}\"",
            header(1),
            header(2)
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let headers = format!("WWW-Authenticate: {challenge}\r\n");
        for status in ["401 ZQX", "403 ZQX"] {
            for documents in [
                Documents::Absent,
                Documents::Wrong,
                Documents::Refusing,
                Documents::Registering,
            ] {
                all.push(response(status, headers.clone(), text(number), documents));
            }
        }
    }
    all
}

impl Site {
    pub(crate) fn open(response: Response) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
        let origin = format!("http://{}", listener.local_addr().expect("it is bound"));
        let url = format!("{origin}/mcp");
        thread::spawn(move || {
            // The thread ends with the test process.
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let _ = answer(stream, &origin, &response, number);
            }
        });
        Self { url }
    }
}

fn answer(
    mut stream: TcpStream,
    origin: &str,
    response: &Response,
    number: usize,
) -> std::io::Result<()> {
    let mut reading = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reading.read_line(&mut request)?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        reading.read_line(&mut line)?;
        let line = line.trim_end().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.parse().unwrap_or(0);
        }
        if line.is_empty() {
            break;
        }
    }
    reading.take(length).read_to_end(&mut Vec::new())?;
    let document = match response.documents {
        Documents::Absent => None,
        documents => document(&request, origin, number, documents),
    };
    let (status, headers, body) = match document {
        Some((status, document)) => (
            status,
            "Content-Type: application/json\r\n",
            document.to_string(),
        ),
        None => (&*response.status, &*response.headers, response.body.clone()),
    };
    let long = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {long}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Returns the requested document, or the response to a registration.
fn document(
    request: &str,
    origin: &str,
    number: usize,
    documents: Documents,
) -> Option<(&'static str, Value)> {
    let path = request.split(' ').nth(1)?;
    if path.contains("oauth-protected-resource") {
        let scope = match documents {
            Documents::Wrong => text(0),
            _ => "ZQX:read".to_owned(),
        };
        return Some((
            "200 OK",
            json!({
                "resource": format!("{origin}/mcp"), "authorization_servers": [origin],
                "scopes_supported": [scope], "resource_name": text(1),
            }),
        ));
    }
    if path.contains("oauth-authorization-server") || path.contains("openid-configuration") {
        return Some((
            "200 OK",
            json!({
                "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "response_types_supported": ["code"], "code_challenge_methods_supported": ["S256"],
                "service_documentation": text(2),
            }),
        ));
    }
    path.contains("register").then(|| match documents {
        Documents::Registering => (
            "201 Created",
            json!({
                "client_id": text(number), "client_name": text(number + 1),
                "redirect_uris": ["http://127.0.0.1/callback"],
            }),
        ),
        _ => (
            "400 Bad Request",
            json!({"error": text(number), "error_description": text(number + 1)}),
        ),
    })
}
