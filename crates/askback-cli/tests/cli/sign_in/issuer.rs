//! A server that wants a token, and the authorization server that gives it, in one.

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

/// The one token that is good.
pub(crate) const ACCESS: &str = "good-token";
/// The refresh token.
pub(crate) const REFRESH: &str = "renewing-token";

/// Both servers, at one address.
pub(crate) struct Issuer {
    at: SocketAddr,
    state: Shared,
}

type Shared = Arc<Mutex<State>>;

struct State {
    /// The last request to each path, its headers and its body, and how many there were.
    heard: BTreeMap<String, (usize, String)>,
    /// The access token that is good.
    access: Option<String>,
    /// The refresh token that is good; any where none is named, and it is not replaced.
    refresh: Option<String>,
    /// How many requests were refused.
    refused: usize,
    /// How many must have been before a token is renewed.
    patience: usize,
    /// Whether clients can register themselves.
    registers: bool,
    /// Whether no document is anywhere.
    is_hidden: bool,
}

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
                // A client that hangs up early ends its own thread.
                thread::spawn(move || serve(stream, at, &endpoint, &shared));
            }
        });
        Self { at, state }
    }

    /// Takes no access token any more that it gave, and from now on each refresh token once: the
    /// first after so many requests were refused.
    pub(crate) fn rotate(&self, patience: usize) {
        let mut state = self.state.lock().expect("no thread panicked");
        state.access = None;
        state.refresh = Some(REFRESH.to_owned());
        state.patience = patience;
    }

    /// Registers no clients any more.
    pub(crate) fn close(&self) {
        self.state.lock().expect("no thread panicked").registers = false;
    }

    /// Has no documents any more, and names none.
    pub(crate) fn hide(&self) {
        self.state.lock().expect("no thread panicked").is_hidden = true;
    }

    /// How often something was sent to a path.
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

    /// The last request to a path.
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

/// Gives tokens out.
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

/// The answer of the server once it knows the caller.
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
