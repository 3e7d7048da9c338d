//! A server that wants a token, and the authorization server that gives it, in one.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
};

use serde_json::{Value, json};
use url::Url;

/// The one token that is good.
pub(crate) const ACCESS: &str = "good-token";
/// What renews it.
pub(crate) const REFRESH: &str = "renewing-token";

/// Both servers, at one address.
pub(crate) struct Issuer {
    at: SocketAddr,
    heard: Heard,
}

/// What was sent to each path: the headers and the body.
type Heard = Arc<Mutex<BTreeMap<String, String>>>;

/// A response as it came.
pub(crate) struct Response(pub(crate) String);

impl Issuer {
    pub(crate) fn start() -> Self {
        Self::with_endpoint("ORIGIN/authorize")
    }

    /// One whose document says that people sign in there. `ORIGIN` stands for its own origin.
    pub(crate) fn with_endpoint(endpoint: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
        let at = listener.local_addr().expect("it is bound");
        let heard = Heard::default();
        let (told, endpoint) = (Arc::clone(&heard), endpoint.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (told, endpoint) = (Arc::clone(&told), endpoint.clone());
                // A client that hangs up early ends its own thread.
                thread::spawn(move || serve(stream, at, &endpoint, &told));
            }
        });
        Self { at, heard }
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.at)
    }

    pub(crate) fn server(&self) -> String {
        format!("http://{}/mcp", self.at)
    }

    /// What was last sent to a path.
    pub(crate) fn heard(&self, path: &str) -> String {
        let heard = self.heard.lock().expect("no thread panicked");
        heard.get(path).cloned().unwrap_or_default()
    }
}

impl Response {
    pub(crate) fn status(&self) -> &str {
        self.0.split(' ').nth(1).unwrap_or_default()
    }

    pub(crate) fn location(&self) -> Option<String> {
        let mut lines = self.0.lines();
        lines.find_map(|line| line.strip_prefix("Location: ").map(str::to_owned))
    }
}

/// Goes to an address, as a browser does.
pub(crate) fn fetch(method: &str, url: &str) -> Response {
    let url = Url::parse(url).expect("it is a URL");
    let at = &url[url::Position::BeforeHost..url::Position::AfterPort];
    let target = &url[url::Position::BeforePath..];
    let mut stream = TcpStream::connect(at).expect("somebody listens");
    write!(
        stream,
        "{method} {target} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"
    )
    .expect("it reads");
    let mut said = String::new();
    stream
        .read_to_string(&mut said)
        .expect("it answers in text");
    Response(said)
}

fn serve(mut stream: TcpStream, at: SocketAddr, endpoint: &str, heard: &Heard) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end() {
            "" => break,
            line => head.push(line.to_owned()),
        }
    }
    let target = head.first()?.split(' ').nth(1)?.to_owned();
    let header = |wanted: &str| {
        head.iter().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case(wanted).then_some(value)
        })
    };
    let length = header("content-length").and_then(|length| length.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).ok()?;
    let body = String::from_utf8(body).ok()?;
    let path = target.split('?').next()?.to_owned();
    let sent = format!("{}\n{body}", head.join("\n"));
    heard.lock().ok()?.insert(path.clone(), sent);
    let origin = format!("http://{at}");
    let is_good = header("authorization") == Some(&format!("Bearer {ACCESS}"));
    let (status, more, answer) = match &*path {
        "/mcp" if is_good => ("200 OK", String::new(), answer(&body)),
        "/mcp" => {
            let document = format!("{origin}/.well-known/oauth-protected-resource/mcp");
            let challenge = format!(
                "WWW-Authenticate: Bearer resource_metadata=\"{document}\", scope=\"trips:read\"\r\n"
            );
            ("401 Unauthorized", challenge, Value::Null)
        }
        "/authorize" => ("302 Found", back(&origin, &target)?, Value::Null),
        _ => document(&path, &origin, endpoint, &body),
    };
    let answer = if answer.is_null() {
        String::new()
    } else {
        answer.to_string()
    };
    let length = answer.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{more}\
         Connection: close\r\n\r\n{answer}"
    )
    .ok()
}

fn document(path: &str, origin: &str, endpoint: &str, body: &str) -> (&'static str, String, Value) {
    let answer = match path {
        "/.well-known/oauth-protected-resource/mcp" => json!({
            "resource": format!("{origin}/mcp"), "authorization_servers": [origin],
        }),
        "/.well-known/oauth-authorization-server" => json!({
            "issuer": origin,
            "authorization_endpoint": endpoint.replace("ORIGIN", origin),
            "token_endpoint": format!("{origin}/token"),
            "registration_endpoint": format!("{origin}/register"),
            "revocation_endpoint": format!("{origin}/revoke"),
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
            "response_types_supported": ["code"],
        }),
        "/register" => {
            let mut client: Value = serde_json::from_str(body).unwrap_or_default();
            client["client_id"] = "made".into();
            return ("201 Created", String::new(), client);
        }
        "/token" => json!({
            "access_token": ACCESS, "token_type": "Bearer", "expires_in": 3600,
            "refresh_token": REFRESH,
        }),
        "/revoke" => Value::Null,
        _ => return ("404 Not Found", String::new(), Value::Null),
    };
    ("200 OK", String::new(), answer)
}

/// Where the browser is sent once the person has agreed, which they do at once.
fn back(origin: &str, target: &str) -> Option<String> {
    let asked = Url::parse(&format!("{origin}{target}")).ok()?;
    let given = |wanted: &str| {
        let mut pairs = asked.query_pairs();
        pairs.find_map(|(name, value)| (name == wanted).then(|| value.into_owned()))
    };
    let mut back = Url::parse(&given("redirect_uri")?).ok()?;
    back.query_pairs_mut()
        .append_pair("code", "one-time")
        .append_pair("state", &given("state")?)
        .append_pair("iss", origin);
    Some(format!("Location: {back}\r\n"))
}

/// What the server says once it knows who asks.
fn answer(body: &str) -> Value {
    let asked: Value = serde_json::from_str(body).unwrap_or_default();
    let result = match asked["method"].as_str() {
        Some("server/discover") => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
        }),
        Some("tools/list") => json!({
            "resultType": "complete", "ttlMs": 0, "cacheScope": "private",
            "tools": [{"name": "hello", "inputSchema": {"type": "object"}}],
        }),
        _ => json!({
            "resultType": "complete", "content": [{"type": "text", "text": "Hello!"}],
        }),
    };
    json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})
}
