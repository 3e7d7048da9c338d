//! The listener for the browser's redirect.
//!
//! It supports as much HTTP as a browser needs to show a page at the end. Any page in the user's
//! browser can send requests to it: requests that are not the answer to this sign-in are ignored,
//! and responses never repeat a part of a request.

use std::{sync::Arc, time::Duration};

use askback::http::{ConnectionPlace, ConnectionPlaces};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::timeout,
};
use url::Url;

/// The maximum size of a request's head in bytes. It contains the code, which may be long.
const HEAD: u64 = 16 << 10;

const PATIENCE: Duration = Duration::from_secs(10);

/// The maximum number of connections at once. Browsers open some in advance.
const CONNECTIONS: usize = 16;

const BACK: &str = "<!doctype html><meta charset=utf-8><title>askback</title>\
    <p>askback has the answer. You can close this page and go back to askback.\n";

const REFUSED: &str = "<!doctype html><meta charset=utf-8><title>askback</title>\
    <p>The sign-in was not completed. You can close this page; the terminal says why.\n";

const NOTHING: &str = "<!doctype html><meta charset=utf-8><title>askback</title>\
    <p>There is nothing here. If you were signing in, start again from the terminal.\n";

/// Waits for the browser to request `uri` with an answer. Returns the full URL.
pub(super) async fn returned(
    listener: &TcpListener,
    uri: &str,
    is_answer: impl Fn(&str) -> bool + Send + Sync + 'static,
) -> String {
    let wanted = Arc::new(AwaitedRequest {
        origin: origin(uri).to_owned(),
        uri: uri.to_owned(),
        is_answer: Box::new(is_answer),
    });
    let places = ConnectionPlaces::new(CONNECTIONS);
    let (answers, mut answered) = mpsc::channel(1);
    // All connections are closed when this future is dropped.
    let mut connections = JoinSet::new();
    // An accepted connection that waits for a free slot.
    let mut next = None;
    loop {
        tokio::select! {
            Some(address) = answered.recv() => return address,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if next.is_none() => match accepted {
                Ok((stream, _)) => next = Some(stream),
                // Too many files are open, or the browser closed the connection. The browser will
                // retry.
                Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
            },
            place = places.take(), if next.is_some() => {
                let Some(stream) = next.take() else { continue };
                let (wanted, answers) = (Arc::clone(&wanted), answers.clone());
                connections.spawn(async move {
                    let served = tokio::select! {
                        served = timeout(PATIENCE, serve(stream, &place, &wanted)) => served,
                        () = place.gives_way() => return,
                    };
                    if let Ok(Some(address)) = served {
                        // Later answers are ignored.
                        let _ = answers.try_send(address);
                    }
                });
            }
        }
    }
}

struct AwaitedRequest {
    /// `http://127.0.0.1:…`.
    origin: String,
    uri: String,
    is_answer: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

/// Responds to one request. Returns its URL if it is the answer.
async fn serve(
    mut stream: TcpStream,
    place: &ConnectionPlace,
    wanted: &AwaitedRequest,
) -> Option<String> {
    let (read, mut write) = stream.split();
    let head = head(read).await?;
    place.work();
    let address = wanted.by(&head);
    let (status, page) = match &address {
        Some(address) if is_refusal(address) => ("200 OK", REFUSED),
        Some(_) => ("200 OK", BACK),
        None => ("404 Not Found", NOTHING),
    };
    let length = page.len();
    let response = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {length}\r\n\
         Cache-Control: no-store\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n\
         Referrer-Policy: no-referrer\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n{page}"
    );
    // The answer counts even if the browser does not read the response.
    let _ = write.write_all(response.as_bytes()).await;
    let _ = write.shutdown().await;
    address
}

/// The lines of a request's head. `None` if it is too long or not text.
async fn head(read: impl tokio::io::AsyncRead + Unpin) -> Option<Vec<String>> {
    let mut read = BufReader::new(read.take(HEAD));
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        read.read_line(&mut line).await.ok()?;
        match line.strip_suffix('\n')?.trim_end_matches('\r') {
            "" => return Some(lines),
            line => lines.push(line.to_owned()),
        }
    }
}

impl AwaitedRequest {
    /// The URL of a request, if it is the answer.
    fn by(&self, head: &[String]) -> Option<String> {
        let (line, headers) = head.split_first()?;
        let (target, _version) = line.strip_prefix("GET ")?.split_once(' ')?;
        let address = format!("{}{target}", self.origin);
        let is_here = address
            .strip_prefix(&self.uri)
            .is_some_and(|query| query.starts_with('?'));
        let mut hosts = headers.iter().filter_map(|line| {
            let (name, value) = line.split_once(':')?;
            name.eq_ignore_ascii_case("host").then(|| value.trim())
        });
        // Rejects another host name that resolves to this machine (DNS rebinding).
        let is_host = hosts.next() == self.origin.strip_prefix("http://") && hosts.next().is_none();
        (is_here && is_host && (self.is_answer)(&address)).then_some(address)
    }
}

/// Whether an answer is an error response (RFC 6749, 4.1.2.1).
fn is_refusal(address: &str) -> bool {
    let url = Url::parse(address);
    url.is_ok_and(|url| url.query_pairs().any(|(name, _)| name == "error"))
}

/// The scheme and authority of one of our URLs.
fn origin(uri: &str) -> &str {
    let authority = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let path = authority.find('/').map_or("", |at| &authority[at..]);
    uri.strip_suffix(path).unwrap_or(uri)
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// Sends these requests to a listener and returns its responses.
    async fn ask(requests: &[String], port: u16) -> Vec<String> {
        let mut said = Vec::new();
        for request in requests {
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))
                .await
                .expect("it listens");
            stream
                .write_all(request.as_bytes())
                .await
                .expect("it reads");
            let mut response = String::new();
            stream
                .read_to_string(&mut response)
                .await
                .expect("it answers");
            said.push(response);
        }
        said
    }

    #[tokio::test]
    async fn only_the_answer_is_taken() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .await
            .expect("there is a loopback");
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
            "GET /callback?state=right HTTP/1.1\r\n\r\n".to_owned(),
            format!("GET /callback?state=right HTTP/1.1\r\n{host}{host}\r\n"),
        ];
        let answer = [format!(
            "GET /callback?state=right&code=<c> HTTP/1.1\r\n{host}\r\n"
        )];
        let came = returned(&listener, &uri, |address| address.contains("state=right"));
        let asking = async {
            // Idle connections that use all slots do not block other connections.
            let mut silent = Vec::new();
            for _ in 0..2 * CONNECTIONS {
                silent.push(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await);
            }
            let asked = async { (ask(&others, port).await, ask(&answer, port).await) };
            let asked = timeout(PATIENCE / 2, asked).await;
            drop(silent);
            asked.expect("it answers before they are given up")
        };
        let (address, (refused, taken)) = tokio::join!(came, asking);
        assert_eq!(address, format!("{uri}?state=right&code=<c>"));
        for response in refused {
            assert!(response.starts_with("HTTP/1.1 404"), "{response}");
        }
        assert!(taken[0].starts_with("HTTP/1.1 200"), "{taken:?}");
        assert!(taken[0].contains("has the answer"), "{taken:?}");
        assert!(!taken[0].contains("<c>"), "{taken:?}");
    }

    #[test]
    fn a_refusal_is_no_answer() {
        let at = "http://127.0.0.1:4321/callback?state=a";
        assert!(is_refusal(&format!("{at}&error=access_denied&iss=b")));
        assert!(!is_refusal(&format!("{at}&code=error&iss=b")));
    }

    #[tokio::test]
    async fn a_head_without_end_is_not_read() {
        let endless = vec![b'x'; 20 << 10];
        assert_eq!(head(&endless[..]).await, None);
        assert_eq!(head(&b"GET / HTTP/1.1\r\n"[..]).await, None);
        assert_eq!(head(&b"\xff\r\n\r\n"[..]).await, None);
    }
}
