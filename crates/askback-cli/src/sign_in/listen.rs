//! The page at which a sign-in ends.
//!
//! Any page in the user's browser can send requests to it: requests that are not the answer to this sign-in are ignored,
//! and responses never repeat a part of a request.

use std::{
    convert::Infallible,
    future::{Ready, ready},
    sync::Arc,
    task::{Context, Poll},
};

use askback::{
    Limits,
    http::{RequestBody, serve_pages},
};
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use tokio::{net::TcpListener, sync::mpsc};
use tower_service::Service;

const BACK: &str = "<!doctype html><meta charset=utf-8><title>askback</title>\
    <p>askback has the answer. You can close this page; the terminal says whether you are signed in.\n";

const NOTHING: &str = "<!doctype html><meta charset=utf-8><title>askback</title>\
    <p>There is nothing here. If you were signing in, start again from the terminal.\n";

/// Waits for the browser to request `uri` with an answer. Returns the full URL.
pub(super) async fn returned(
    listener: TcpListener,
    uri: &str,
    is_answer: impl Fn(&str) -> bool + Send + Sync + 'static,
) -> String {
    let (answers, mut answered) = mpsc::channel(1);
    let callback = Callback(Arc::new(AwaitedRequest {
        origin: origin(uri).to_owned(),
        uri: uri.to_owned(),
        is_answer: Box::new(is_answer),
        answers,
    }));
    let mut address = String::new();
    let until = async { address = answered.recv().await.unwrap_or_default() };
    serve_pages(listener, callback, &Limits::default(), until).await;
    address
}

#[derive(Clone)]
struct Callback(Arc<AwaitedRequest>);

struct AwaitedRequest {
    /// `http://127.0.0.1:…`.
    origin: String,
    uri: String,
    is_answer: Box<dyn Fn(&str) -> bool + Send + Sync>,
    answers: mpsc::Sender<String>,
}

impl Service<Request<RequestBody>> for Callback {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<RequestBody>) -> Self::Future {
        let address = self.0.by(&request);
        let (status, page) = match &address {
            Some(_) => (StatusCode::OK, BACK),
            None => (StatusCode::NOT_FOUND, NOTHING),
        };
        if let Some(address) = address {
            // Later answers are ignored.
            let _ = self.0.answers.try_send(address);
        }
        let mut response = Response::new(Full::from(page));
        *response.status_mut() = status;
        let headers = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CACHE_CONTROL, "no-store"),
            (
                header::CONTENT_SECURITY_POLICY,
                "default-src 'none'; frame-ancestors 'none'",
            ),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::CONNECTION, "close"),
        ];
        for (name, value) in headers {
            response
                .headers_mut()
                .insert(name, http::HeaderValue::from_static(value));
        }
        ready(Ok(response))
    }
}

impl AwaitedRequest {
    /// The URL of a request, if it is the answer.
    fn by(&self, request: &Request<RequestBody>) -> Option<String> {
        let target = request.uri();
        let address = format!("{}{}", self.origin, target.path_and_query()?);
        let is_here = address
            .strip_prefix(&self.uri)
            .is_some_and(|query| query.starts_with('?'));
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let host = self.origin.strip_prefix("http://")?;
        // Rejects another host name that resolves to this machine (DNS rebinding).
        let is_host = hosts.next().is_some_and(|it| it == host) && hosts.next().is_none();
        let is_meant = *request.method() == Method::GET && target.authority().is_none();
        (is_meant && is_here && is_host && (self.is_answer)(&address)).then_some(address)
    }
}

/// The scheme and authority.
fn origin(uri: &str) -> &str {
    let authority = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let path = authority.find('/').map_or("", |at| &authority[at..]);
    uri.strip_suffix(path).unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
    };

    use super::*;

    async fn ask(request: &str, port: u16) -> String {
        let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await;
        let mut stream = stream.expect("it listens");
        let written = stream.write_all(request.as_bytes()).await;
        written.expect("it reads");
        let mut response = String::new();
        let read = stream.read_to_string(&mut response).await;
        read.expect("it answers");
        response
    }

    #[tokio::test]
    async fn only_the_answer_is_taken() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
        let listener = listener.expect("there is a loopback");
        let port = listener.local_addr().expect("it is bound").port();
        let uri = format!("http://127.0.0.1:{port}/callback");
        let host = format!("Host: 127.0.0.1:{port}\r\n");
        let others = [
            format!("GET / HTTP/1.1\r\n{host}\r\n"),
            format!("GET /favicon.ico HTTP/1.1\r\n{host}\r\n"),
            format!("GET /callback HTTP/1.1\r\n{host}\r\n"),
            format!("GET /callback/?state=right HTTP/1.1\r\n{host}\r\n"),
            format!("GET /callback?state=wrong HTTP/1.1\r\n{host}\r\n"),
            format!("POST /callback?state=right HTTP/1.1\r\n{host}\r\n"),
            "GET /callback?state=right HTTP/1.1\r\nHost: evil.example\r\n\r\n".to_owned(),
            format!("GET {uri}?state=right HTTP/1.1\r\n{host}\r\n"),
        ];
        let answer = format!("GET /callback?state=right&code=%3Cc%3E HTTP/1.1\r\n{host}\r\n");
        let came = returned(listener, &uri, |address| address.contains("state=right"));
        let asking = async {
            for other in &others {
                let refused = ask(other, port).await;
                assert!(refused.starts_with("HTTP/1.1 404"), "{other}: {refused}");
            }
            // Without exactly one host, it is no request of HTTP.
            for hosts in [String::new(), format!("{host}{host}")] {
                let other = format!("GET /callback?state=right HTTP/1.1\r\n{hosts}\r\n");
                assert!(ask(&other, port).await.starts_with("HTTP/1.1 4"));
            }
            ask(&answer, port).await
        };
        let (address, taken) = tokio::join!(came, asking);
        assert_eq!(address, format!("{uri}?state=right&code=%3Cc%3E"));
        assert!(taken.starts_with("HTTP/1.1 200"), "{taken}");
        assert!(taken.contains("has the answer"), "{taken}");
        assert!(!taken.contains("%3C"), "{taken}");
    }
}
