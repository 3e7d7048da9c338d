//! Single requests to servers on this machine, without TLS, redirects or cookies.

use std::time::Duration;

use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use url::{Position, Url, form_urlencoded};

use crate::install::Result;

const PATIENCE: Duration = Duration::from_secs(30);

/// The response of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The headers in their order, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
}

impl Answer {
    /// Returns the first value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(it, _)| it == name);
        values.next().map(|(_, value)| value.as_str())
    }

    /// Parses the body as JSON.
    ///
    /// # Errors
    ///
    /// If it is not JSON. The error contains the response.
    pub fn json(&self) -> Result<Value> {
        let said = serde_json::from_str(&self.body);
        Ok(said.map_err(|_| format!("the server did not answer with JSON: {self:?}"))?)
    }
}

/// Sends a `GET` request.
pub async fn get(url: &str, headers: &[(&str, &str)]) -> Result<Answer> {
    send("GET", url, headers, "").await
}

/// Posts a form.
pub async fn post(url: &str, headers: &[(&str, &str)], form: &[(&str, &str)]) -> Result<Answer> {
    let body = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(form)
        .finish();
    let kind = ("Content-Type", "application/x-www-form-urlencoded");
    send("POST", url, &[headers, &[kind]].concat(), &body).await
}

async fn send(method: &str, url: &str, headers: &[(&str, &str)], body: &str) -> Result<Answer> {
    let url = Url::parse(url)?;
    let exchanged = timeout(PATIENCE, exchange(method, &url, headers, body)).await;
    exchanged.map_err(|_| format!("{url} did not answer within {PATIENCE:?}"))?
}

async fn exchange(method: &str, url: &Url, headers: &[(&str, &str)], body: &str) -> Result<Answer> {
    let authority = &url[Position::BeforeHost..Position::AfterPort];
    let target = &url[Position::BeforePath..Position::AfterQuery];
    let lines = headers
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"));
    let lines: String = lines.collect();
    let length = body.len();
    // In HTTP/1.0 the body is everything until the connection closes.
    let request = format!(
        "{method} {target} HTTP/1.0\r\nHost: {authority}\r\n{lines}Content-Length: {length}\r\n\r\n{body}"
    );
    let unreachable = |error| format!("{url} cannot be reached: {error}");
    let mut stream = TcpStream::connect(authority).await.map_err(unreachable)?;
    stream.write_all(request.as_bytes()).await?;
    let mut said = Vec::new();
    stream.read_to_end(&mut said).await?;
    let said = String::from_utf8_lossy(&said);
    read(&said).ok_or_else(|| format!("{url} did not answer in HTTP: {said:?}").into())
}

fn read(said: &str) -> Option<Answer> {
    let (head, body) = said.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()));
    Some(Answer {
        status,
        headers: headers.collect(),
        body: body.to_owned(),
    })
}
