//! A server that requires a token, and its authorization server, in one.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use url::Url;

/// The only valid access token.
pub(crate) const ACCESS: &str = "good-token";
pub(crate) const REFRESH: &str = "renewing-token";

/// Both servers, at one address.
pub(crate) struct Issuer {
    at: SocketAddr,
    state: Shared,
}

type Shared = Arc<Mutex<State>>;

struct State {
    /// For each path: the number of requests, and the last one with its headers and body.
    heard: BTreeMap<String, (usize, String)>,
    access: Option<String>,
    /// The valid refresh token. `None` accepts any token and never replaces it.
    refresh: Option<String>,
    /// The number of rejected requests.
    refused: usize,
    /// The number of requests that must be rejected before a token is renewed.
    patience: usize,
    /// Whether clients can register themselves.
    registers: bool,
    /// Whether all metadata documents are missing.
    is_hidden: bool,
}

pub(crate) struct Response(pub(crate) String);

impl Issuer {
    pub(crate) fn start() -> Self {
        Self::with_endpoint("ORIGIN/authorize")
    }

    /// Starts an issuer with this authorization endpoint in its metadata. `ORIGIN` is replaced with
    /// its own origin.
    pub(crate) fn with_endpoint(endpoint: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
        let at = listener.local_addr().expect("it is bound");
        let state = Arc::new(Mutex::new(State {
            heard: BTreeMap::new(),
            access: Some(ACCESS.to_owned()),
            refresh: None,
            refused: 0,
            patience: 0,
            registers: true,
            is_hidden: false,
        }));
        let (shared, endpoint) = (Arc::clone(&state), endpoint.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (shared, endpoint) = (Arc::clone(&shared), endpoint.clone());
                // A client that disconnects only ends its own thread.
                thread::spawn(move || serve(stream, at, &endpoint, &shared));
            }
        });
        Self { at, state }
    }

    /// Invalidates all access tokens, and accepts each refresh token only once from now on. The
    /// first renewal waits until `patience` requests were rejected.
    pub(crate) fn rotate(&self, patience: usize) {
        let mut state = self.state.lock().expect("no thread panicked");
        state.access = None;
        state.refresh = Some(REFRESH.to_owned());
        state.patience = patience;
    }

    pub(crate) fn close(&self) {
        self.state.lock().expect("no thread panicked").registers = false;
    }

    /// Removes the metadata documents and the references to them.
    pub(crate) fn hide(&self) {
        self.state.lock().expect("no thread panicked").is_hidden = true;
    }

    pub(crate) fn count(&self, path: &str) -> usize {
        let state = self.state.lock().expect("no thread panicked");
        state.heard.get(path).map_or(0, |(count, _)| *count)
    }

    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.at)
    }

    pub(crate) fn server(&self) -> String {
        format!("http://{}/mcp", self.at)
    }

    pub(crate) fn heard(&self, path: &str) -> String {
        let state = self.state.lock().expect("no thread panicked");
        let heard = state.heard.get(path).cloned();
        heard.map(|(_, sent)| sent).unwrap_or_default()
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

/// Opens a URL, like a browser.
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

fn serve(mut stream: TcpStream, at: SocketAddr, endpoint: &str, shared: &Shared) -> Option<()> {
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
    let origin = format!("http://{at}");
    let shown = header("authorization").and_then(|shown| shown.strip_prefix("Bearer "));
    let (is_good, is_hidden) = {
        let mut state = shared.lock().ok()?;
        let heard = state.heard.entry(path.clone()).or_default();
        *heard = (heard.0 + 1, sent);
        let is_good = shown.is_some() && shown == state.access.as_deref();
        state.refused += usize::from(path == "/mcp" && !is_good);
        (is_good, state.is_hidden)
    };
    let (status, more, answer) = match &*path {
        "/mcp" if is_good => ("200 OK", String::new(), answer(&body)),
        "/mcp" if is_hidden => {
            let challenge = "WWW-Authenticate: Bearer\r\n".to_owned();
            ("401 Unauthorized", challenge, Value::Null)
        }
        _ if is_hidden => ("404 Not Found", String::new(), Value::Null),
        "/mcp" => {
            let document = format!("{origin}/.well-known/oauth-protected-resource/mcp");
            let challenge = format!(
                "WWW-Authenticate: Bearer resource_metadata=\"{document}\", scope=\"trips:read\"\r\n"
            );
            ("401 Unauthorized", challenge, Value::Null)
        }
        "/token" => token(&body, shared)?,
        "/authorize" => ("302 Found", back(&origin, &target)?, Value::Null),
        _ => {
            let (status, more, mut answer) = document(&path, &origin, endpoint, &body);
            if let Some(answer) = answer.as_object_mut()
                && !shared.lock().ok()?.registers
            {
                answer.remove("registration_endpoint");
            }
            (status, more, answer)
        }
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
        "/revoke" => Value::Null,
        _ => return ("404 Not Found", String::new(), Value::Null),
    };
    ("200 OK", String::new(), answer)
}

fn token(body: &str, shared: &Shared) -> Option<(&'static str, String, Value)> {
    let given = |wanted: &str| {
        let mut pairs = url::form_urlencoded::parse(body.as_bytes());
        pairs.find_map(|(name, value)| (name == wanted).then(|| value.into_owned()))
    };
    let began = Instant::now();
    let mut state = loop {
        let state = shared.lock().ok()?;
        if state.refused >= state.patience || began.elapsed() > Duration::from_secs(30) {
            break state;
        }
        drop(state);
        thread::sleep(Duration::from_millis(5));
    };
    let mut tokens = (ACCESS.to_owned(), REFRESH.to_owned());
    if let Some(good) = &state.refresh {
        if given("refresh_token").as_ref() != Some(good) {
            let error = json!({"error": "invalid_grant"});
            return Some(("400 Bad Request", String::new(), error));
        }
        tokens = (format!("{ACCESS}-next"), format!("{good}-next"));
        state.access = Some(tokens.0.clone());
        state.refresh = Some(tokens.1.clone());
    }
    let answer = json!({
        "access_token": tokens.0, "token_type": "Bearer", "expires_in": 3600,
        "refresh_token": tokens.1,
    });
    Some(("200 OK", String::new(), answer))
}

/// The redirect of the browser after the user has agreed, which happens at once.
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

/// The server's response to an authorized caller.
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
