//! Exchanges over HTTP, each a request of its own.

use std::{fmt, sync::Arc, time::Duration};

use askback::transport::Http;
use askback_core::{
    http::{media::Media, sse::Parser},
    limits::Limits,
};
use askback_oauth::Authorizer;
use askback_requests::{NAME, Names, Requests, Route, Unanswered, in_full, next_piece};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT, WWW_AUTHENTICATE},
};
use serde_json::Value;
use tokio::time::{Instant, timeout};
use url::Url;

use super::{Bounds, End, Reply, Sent, Verb, Wait};

/// How long a stream is read in which nothing is waited for.
const GLANCE: Duration = Duration::from_millis(200);

/// A request that answers one of the server, and its headers.
pub(super) type Answer = (Sent, Vec<(String, String)>);

/// The address of a server. Clones share their connections.
#[derive(Clone)]
pub struct Address(Arc<Shared>);

struct Shared {
    site: Site,
    uri: Uri,
    requests: Requests,
}

/// Where a server is, and what is sent to it.
pub struct Site {
    /// The URL.
    pub url: Url,
    /// The headers of every request.
    pub headers: HeaderMap,
    /// The names of the headers that may say who asks.
    pub credentials: Vec<String>,
    /// The stored tokens. Nobody signs in.
    pub authorizer: Option<Arc<Authorizer>>,
    /// The same for our client.
    pub transport: Http,
}

impl Address {
    /// Prepares requests to a server.
    ///
    /// # Errors
    ///
    /// Says why the address cannot be used, or why HTTP cannot be spoken here.
    pub fn new(mut site: Site, limits: &Limits) -> Result<Self, String> {
        let uri = site.url.as_str().parse::<Uri>();
        let uri = uri.map_err(|error| error.to_string())?;
        let requests = Requests::new(&Route::Environment, Names::system(), &limits.http);
        let requests = requests.map_err(|error| error.to_string())?;
        site.headers.extend(requests.proxy_headers(&uri));
        site.headers.entry(USER_AGENT).or_insert(NAME);
        Ok(Self(Arc::new(Shared {
            site,
            uri,
            requests,
        })))
    }

    /// The way there for our client.
    pub(crate) fn transport(&self) -> Http {
        self.0.site.transport.clone()
    }

    /// The URL.
    pub fn url(&self) -> &Url {
        &self.0.site.url
    }

    /// The names of the headers that may say who asks, among those that each request carries.
    pub fn credentials(&self) -> Vec<&str> {
        self.0.site.credentials.iter().map(String::as_str).collect()
    }

    /// Whether the server had what says who asks before this refusal. One that wants a token names it in
    /// `WWW-Authenticate`, whatever other headers it got.
    pub fn sends_credentials(&self, refusal: &Reply) -> bool {
        let headers = &self.0.site.headers;
        let names_another = refusal.header(WWW_AUTHENTICATE.as_str()).is_some();
        headers.contains_key(AUTHORIZATION) || !names_another && !self.credentials().is_empty()
    }

    /// Whether requests go through a proxy, which resolves the name.
    pub fn is_proxied(&self) -> bool {
        self.0.requests.is_proxied(&self.0.uri)
    }

    /// Sends a request with these headers, and reads until what is waited for has come. What the server asks meanwhile
    /// is answered at once, each by a request of its own.
    pub(super) async fn exchange(
        &self,
        sent: &Sent,
        headers: &[(String, String)],
        bounds: &Bounds,
        answer: impl Fn(&Value) -> Option<Answer>,
    ) -> Reply {
        let began = Instant::now();
        let mut reply = Reply::default();
        let patience = bounds.limits.wire.request;
        let running = self.run(sent, headers, bounds, answer, &mut reply);
        let end = timeout(patience, running).await;
        reply.end = end.unwrap_or(End::Silent(patience));
        reply.took = began.elapsed();
        reply
    }

    async fn run(
        &self,
        sent: &Sent,
        headers: &[(String, String)],
        bounds: &Bounds,
        answer: impl Fn(&Value) -> Option<Answer>,
        reply: &mut Reply,
    ) -> End {
        let request = match self.request(sent, headers).await {
            Ok(request) => request,
            Err(why) => return End::Unreachable(why),
        };
        bounds.sends(&sent.body);
        let response = match self.0.requests.send(request).await {
            Ok(response) => response,
            Err(Unanswered::Unreachable(why)) => return End::Unreachable(why),
            Err(why) => return End::Closed(why.to_string()),
        };
        reply.status = Some(response.status().as_u16());
        reply.headers = response.headers().clone();
        let media = response.headers().get(CONTENT_TYPE);
        let is_stream =
            media.and_then(|media| Media::of(media.as_bytes())) == Some(Media::EventStream);
        let mut body = response.into_body();
        let mut parser = Parser::new(&bounds.limits.wire);
        let (mut whole, mut events) = (Vec::new(), 0_usize);
        let glance = Instant::now().checked_add(GLANCE);
        loop {
            let piece = match (is_stream && sent.wait == Wait::Nothing, glance) {
                // A stream that stays open has been opened, which is all that is wanted.
                (true, Some(glance)) => {
                    match tokio::time::timeout_at(glance, next_piece(&mut body)).await {
                        Ok(piece) => piece,
                        Err(_) => return End::Done,
                    }
                }
                _ => next_piece(&mut body).await,
            };
            let piece = match piece {
                Ok(Some(piece)) => piece,
                Ok(None) => break,
                Err(error) => return End::Closed(in_full(&error)),
            };
            reply.bytes = reply.bytes.saturating_add(piece.len());
            if reply.bytes > bounds.limits.wire.message_bytes {
                return End::TooMuch;
            }
            if !is_stream {
                whole.extend_from_slice(&piece);
                continue;
            }
            let mut rest = &piece[..];
            loop {
                match parser.read(&mut rest) {
                    Ok(Some(event)) if !event.data.is_empty() => {
                        events = events.saturating_add(1);
                        bounds.receives(&event.data);
                        let before = reply.asked.len();
                        let is_wanted = reply.take(&event.data, &sent.wait);
                        self.answer(&reply.asked[before..], bounds, &answer).await;
                        if is_wanted && sent.wait != Wait::Nothing {
                            return End::Done;
                        }
                        if events >= bounds.messages {
                            return End::TooMuch;
                        }
                    }
                    Ok(Some(_)) => {}
                    Ok(None) => break,
                    Err(_) => return End::TooMuch,
                }
            }
        }
        if !whole.trim_ascii().is_empty() {
            bounds.receives(&whole);
            let before = reply.asked.len();
            reply.take(&whole, &sent.wait);
            self.answer(&reply.asked[before..], bounds, &answer).await;
        }
        match is_stream && sent.wait != Wait::Nothing {
            true => End::Closed("the stream ended before the answer".to_owned()),
            false => End::Done,
        }
    }

    /// Answers what the server asked. Whether it wants the answers is not what is tried.
    async fn answer(
        &self,
        asked: &[Value],
        bounds: &Bounds,
        answer: &impl Fn(&Value) -> Option<Answer>,
    ) {
        for (sent, headers) in asked.iter().filter_map(answer) {
            if let Ok(request) = self.request(&sent, &headers).await {
                bounds.sends(&sent.body);
                let _ = self.0.requests.send(request).await;
            }
        }
    }

    async fn request(
        &self,
        sent: &Sent,
        headers: &[(String, String)],
    ) -> Result<Request<bytes::Bytes>, String> {
        let mut request = Request::new(bytes::Bytes::from(sent.body.clone()));
        let method = match sent.verb {
            Verb::Post => Method::POST,
            Verb::Get => Method::GET,
            Verb::Delete => Method::DELETE,
        };
        let mut all = self.0.site.headers.clone();
        let accept = match sent.verb {
            Verb::Post => "application/json, text/event-stream",
            Verb::Get | Verb::Delete => "text/event-stream",
        };
        all.insert(ACCEPT, HeaderValue::from_static(accept));
        if sent.verb == Verb::Post {
            all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        for (name, value) in headers {
            if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
                all.insert(name, value);
            }
        }
        if let Some(authorizer) = &self.0.site.authorizer
            && let Some(pass) = authorizer.pass().await.map_err(|error| error.to_string())?
        {
            let permitted = authorizer.headers(&pass, &method, &self.0.site.url);
            all.extend(permitted.map_err(|error| error.to_string())?);
        }
        *request.method_mut() = method;
        *request.uri_mut() = self.0.uri.clone();
        *request.headers_mut() = all;
        Ok(request)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("url", &self.0.site.url.as_str())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        io::{self, BufRead, BufReader, Read, Write},
        net::{TcpListener, TcpStream},
        sync::mpsc::{self, Sender},
        thread,
    };

    use serde_json::json;

    use super::*;
    use crate::probe::Patience;

    /// Responds to a request so, and to an answer with nothing. Its message is told of first.
    fn respond(
        mut stream: TcpStream,
        response: (&str, &str),
        came: &Sender<Value>,
    ) -> io::Result<()> {
        let mut reading = BufReader::new(stream.try_clone()?);
        let (mut length, mut line) = (0, String::new());
        while reading.read_line(&mut line)? > 2 {
            let header = line.trim_end().to_ascii_lowercase();
            if let Some(value) = header.strip_prefix("content-length: ") {
                length = value.parse().unwrap_or_default();
            }
            line.clear();
        }
        let message: Value = serde_json::from_reader(reading.take(length))?;
        let is_request = message.get("method").is_some();
        // It may be over.
        let _ = came.send(message);
        let (media, body) = match is_request {
            true => response,
            false => ("text/plain", ""),
        };
        let length = body.len();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\
             connection: close\r\n\r\n{body}"
        )
    }

    #[tokio::test]
    async fn what_is_asked_on_the_way_to_an_answer_is_answered_whatever_the_body_is() {
        async fn check(media: &'static str, body: &'static str) {
            let listener = TcpListener::bind("127.0.0.1:0").expect("there is a loopback");
            let here = listener.local_addr().expect("it is bound");
            let (sender, came) = mpsc::channel();
            thread::spawn(move || {
                // Ends with the process of the tests.
                for stream in listener.incoming().flatten() {
                    let _ = respond(stream, (media, body), &sender);
                }
            });
            let url = Url::parse(&format!("http://{here}/")).expect("it is a URL");
            let bounds = Bounds {
                limits: Limits::default(),
                start: Duration::ZERO,
                messages: 1_024,
                patience: Patience::new(Duration::from_secs(30)),
                recorder: None,
            };
            let site = Site {
                transport: Http::new(url.as_str()).expect("it is a URL"),
                url,
                headers: HeaderMap::new(),
                credentials: Vec::new(),
                authorizer: None,
            };
            let address = Address::new(site, &bounds.limits);
            let address = address.expect("it can be reached");
            let answer = |asked: &Value| json!({"id": asked["id"], "result": {}});
            let call = json!({"id": 1, "method": "tools/call"});
            let sent = Sent::request(&call);
            let answering =
                |asked: &Value| Some((Sent::message(&answer(asked), Wait::Nothing), Vec::new()));
            let reply = address.exchange(&sent, &[], &bounds, answering).await;
            assert!(reply.result().is_some(), "{}", reply.shown());
            let came: Vec<_> = came.try_iter().collect();
            assert_eq!(came, [call, answer(&json!({"id": "q"}))], "{media}");
        }
        check(
            "application/json",
            r#"[{"id":"q","method":"ping"},{"id":1,"result":{}}]"#,
        )
        .await;
        check(
            "text/event-stream",
            "data: {\"id\":\"q\",\"method\":\"ping\"}\n\ndata: {\"id\":1,\"result\":{}}\n\n",
        )
        .await;
    }
}
