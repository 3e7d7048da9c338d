//! A provider with scripted responses over a real connection, which signs identity tokens.

use std::{
    fs,
    sync::{Arc, Mutex},
};

use askback_connect::providers::Providers;
use askback_core::limits::Limits;
use askback_oauth::{Fetcher, Reach, Route};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use url::form_urlencoded;

const JSON: &str = "Content-Type: application/json\r\n";

#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Json(u16, Value),
    /// A text that is not JSON.
    Text(&'static str),
    /// A status, and a `Retry-After` value.
    Later(u16, &'static str),
    /// No response, and the connection stays open.
    Silence,
}

pub(crate) struct Issuer {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Request>>>,
    task: JoinHandle<()>,
}

impl Issuer {
    /// Answers each request with the function's result. The function gets the issuer's URL and the request.
    pub(crate) async fn start(
        mut answer: impl FnMut(&str, &Request) -> Reply + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::<Mutex<Vec<Request>>>::default();
        let (log, own) = (Arc::clone(&asked), url.clone());
        let task = tokio::spawn(async move {
            let mut silent = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = read(&mut stream).await;
                log.lock().unwrap().push(request.clone());
                let (status, more, body) = match answer(&own, &request) {
                    Reply::Json(status, body) => (status, JSON.to_owned(), body.to_string()),
                    Reply::Text(body) => (200, String::new(), body.to_owned()),
                    Reply::Later(status, when) => {
                        let more = format!("{JSON}Retry-After: {when}\r\n");
                        (status, more, Value::Null.to_string())
                    }
                    Reply::Silence => {
                        silent.push(stream);
                        continue;
                    }
                };
                let length = body.len();
                let reply = format!(
                    "HTTP/1.1 {status} Reply\r\nContent-Length: {length}\r\n\
                     {more}Connection: close\r\n\r\n{body}"
                );
                let _ = stream.write_all(reply.as_bytes()).await;
            }
        });
        Self { url, asked, task }
    }

    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    pub(crate) fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Request {
    pub(crate) fn field(&self, name: &str) -> Option<String> {
        let mut pairs = form_urlencoded::parse(self.body.as_bytes());
        let pair = pairs.find(|(found, _)| found == name);
        pair.map(|(_, value)| value.into_owned())
    }
}

async fn read(stream: &mut TcpStream) -> Request {
    let mut request = String::new();
    let mut bytes = [0; 4096];
    loop {
        let count = stream.read(&mut bytes).await.unwrap_or_default();
        request += &String::from_utf8_lossy(&bytes[..count]);
        let (head, body) = request.split_once("\r\n\r\n").unwrap_or_default();
        let length = head.lines().find_map(|line| {
            let (name, value) = line.split_once(':')?;
            let is_length = name.eq_ignore_ascii_case("content-length");
            is_length.then(|| value.trim().parse::<usize>().ok())?
        });
        let is_whole = !head.is_empty() && body.len() >= length.unwrap_or_default();
        if is_whole || count == 0 {
            let line = head.lines().next().unwrap_or_default();
            return Request {
                line: line.trim_end_matches(" HTTP/1.1").to_owned(),
                head: head.to_owned(),
                body: body.to_owned(),
            };
        }
    }
}

pub(crate) fn fetcher() -> Fetcher {
    patient(Limits::default())
}

pub(crate) fn impatient() -> Fetcher {
    let mut limits = Limits::default();
    limits.sign_in.document_fetch = std::time::Duration::from_secs(1);
    patient(limits)
}

fn patient(limits: Limits) -> Fetcher {
    Fetcher::new(Reach::anywhere(), &Route::Direct, &limits).expect("HTTP")
}

/// Providers from a file with this text, in which `{own}` is the URL of the issuer. Next to it, `a.secret` has a secret.
pub(crate) async fn providers_of(issuer: &Issuer, fetcher: Fetcher, text: &str) -> Providers {
    let folder = tempfile::tempdir().expect("a folder");
    let secret = folder.path().join("a.secret");
    fs::write(&secret, "s-1").expect("a file");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).expect("a mode");
    }
    let path = folder.path().join("providers.toml");
    fs::write(&path, text.replace("{own}", &issuer.url)).expect("a file");
    let providers = Providers::from_file(fetcher, &path).await;
    providers.expect("a file of providers")
}

fn key(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).expect("a key")
}

pub(crate) fn jwks(seed: u8) -> Value {
    let x = URL_SAFE_NO_PAD.encode(key(seed).public_key());
    json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "one", "use": "sig", "x": x}]})
}

pub(crate) fn signed(seed: u8, header: &Value, claims: &Value) -> String {
    let part = |json: &Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let signed = format!("{}.{}", part(header), part(claims));
    let signature = key(seed).sign(signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}
