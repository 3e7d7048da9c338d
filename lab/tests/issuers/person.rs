//! A user with a browser that follows redirects, keeps cookies, and fills in the forms of an authorization server.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use askback::{
    BoxFuture,
    authorization::client::{Redirect, SignIn, SignInError, SignInRequest},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use url::Url;

use crate::Result;

/// The redirect URI. Nothing listens there: the browser stops and reports the URL.
pub(crate) const ENDS_AT: &str = "http://127.0.0.1:49152/callback";

const PAGES: usize = 12;

#[derive(Clone)]
pub(crate) struct Person {
    login: &'static str,
    /// The scopes of each request, in order.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Person {
    pub(crate) fn new(login: &'static str) -> Self {
        Self {
            login,
            asked: Arc::default(),
        }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl SignIn for Person {
    fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>> {
        let way: Box<dyn Redirect> = Box::new(self.clone());
        Box::pin(async move { Ok(way) })
    }
}

impl Redirect for Person {
    fn uri(&self) -> &str {
        ENDS_AT
    }

    fn show(
        self: Box<Self>,
        request: SignInRequest,
    ) -> BoxFuture<'static, Result<String, SignInError>> {
        let scopes = request.scopes.as_ref().map(ToString::to_string);
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push(scopes.unwrap_or_default());
        drop(asked);
        Box::pin(async move {
            let ended = browse(request.url(), self.login).await;
            ended.map_err(SignInError::host)
        })
    }
}

/// Signs in at an address with a new browser. Returns the final redirect.
pub(crate) async fn browse(address: &str, login: &str) -> Result<String> {
    Browser::default().sign_in(address, login).await
}

#[derive(Default)]
struct Browser {
    cookies: BTreeMap<String, String>,
}

struct Page {
    location: Option<String>,
    body: String,
}

impl Browser {
    /// Opens an address and fills in the pages until the final redirect.
    async fn sign_in(mut self, address: &str, login: &str) -> Result<String> {
        let mut at = Url::parse(address)?;
        let mut page = self.get(&at).await?;
        for _ in 0..PAGES {
            page = match page.location {
                Some(location) => {
                    at = at.join(&location)?;
                    if at.as_str().starts_with(ENDS_AT) {
                        return Ok(at.into());
                    }
                    self.get(&at).await?
                }
                None => {
                    let action = attribute(&page.body, "<form", "action")
                        .ok_or_else(|| format!("there is no form at {at}: {}", page.body))?;
                    let prompt = attribute(&page.body, r#"name="prompt""#, "value");
                    at = at.join(&action)?;
                    let form = format!(
                        "prompt={}&login={login}&password=x",
                        prompt.unwrap_or_default()
                    );
                    self.post(&at, &form).await?
                }
            };
        }
        Err(format!("the pages do not end: {at}").into())
    }

    async fn get(&mut self, at: &Url) -> Result<Page> {
        self.ask(at, "GET", "").await
    }

    async fn post(&mut self, at: &Url, form: &str) -> Result<Page> {
        self.ask(at, "POST", form).await
    }

    async fn ask(&mut self, at: &Url, method: &str, body: &str) -> Result<Page> {
        let host = at.host_str().unwrap_or_default();
        let port = at.port_or_known_default().unwrap_or_default();
        let target = &at[url::Position::BeforePath..url::Position::AfterQuery];
        let cookies = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"));
        let cookies = cookies.collect::<Vec<_>>().join("; ");
        let length = body.len();
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}:{port}\r\nCookie: {cookies}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {length}\r\n\
             Connection: close\r\n\r\n{body}"
        );
        let mut stream = TcpStream::connect((host, port)).await?;
        stream.write_all(request.as_bytes()).await?;
        let mut said = Vec::new();
        stream.read_to_end(&mut said).await?;
        let said = String::from_utf8_lossy(&said);
        let (head, body) = said.split_once("\r\n\r\n").unwrap_or((&said, ""));
        Ok(Page {
            location: self.read(head),
            body: body.to_owned(),
        })
    }

    /// Stores a response's cookies, and returns its redirect.
    fn read(&mut self, head: &str) -> Option<String> {
        let mut location = None;
        for (name, value) in head.lines().filter_map(|line| line.split_once(": ")) {
            let pair = value
                .split(';')
                .next()
                .and_then(|pair| pair.split_once('='));
            match (name.to_ascii_lowercase().as_str(), pair) {
                ("set-cookie", Some((name, value))) => {
                    self.cookies.insert(name.to_owned(), value.to_owned());
                }
                ("location", _) => location = Some(value.to_owned()),
                _ => {}
            }
        }
        location
    }
}

/// Returns an attribute of the first element that begins with `element`.
fn attribute(body: &str, element: &str, name: &str) -> Option<String> {
    let (_, rest) = body.split_once(element)?;
    let (tag, _) = rest.split_once('>')?;
    let (_, value) = tag.split_once(&format!("{name}=\""))?;
    let (value, _) = value.split_once('"')?;
    Some(value.replace("&amp;", "&"))
}
