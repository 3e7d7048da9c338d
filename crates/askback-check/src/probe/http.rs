//! Exchanges over HTTP, each a request of its own.

use std::{fmt, sync::Arc, time::Duration};

use askback::transport::Http;
use askback_core::{
    http::{media::Media, sse::Parser},
    limits::Limits,
};
use askback_oauth::Authorizer;
use askback_requests::{NAME, Names, Requests, Route, Unanswered, in_full, next_piece};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Uri,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT, WWW_AUTHENTICATE},
};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

use super::{Bounds, End, Reply, Sent, Speaker, Wait};

/// How long a stream is read in which nothing is waited for.
const GLANCE: Duration = Duration::from_millis(200);

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

    /// Sends a request, and reads until what is waited for has come. What the server asks meanwhile is answered at once,
    /// each by a request of its own.
    pub(super) async fn exchange(&self, sent: &Sent, speaker: &Speaker, bounds: &Bounds) -> Reply {
        let began = Instant::now();
        let mut reply = Reply::default();
        let patience = bounds.limits.wire.request;
        let running = self.run(sent, speaker, bounds, &mut reply);
        let end = timeout(patience, running).await;
        reply.end = end.unwrap_or(End::Silent(patience));
        reply.took = began.elapsed();
        reply
    }

    async fn run(&self, sent: &Sent, speaker: &Speaker, bounds: &Bounds, reply: &mut Reply) -> End {
        let request = match self.request(sent, speaker).await {
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
        let media = reply.headers.get(CONTENT_TYPE);
        let is_stream =
            media.and_then(|media| Media::of(media.as_bytes())) == Some(Media::EventStream);
        // A stream that stays open has been opened, which is all that is wanted.
        let is_opened = is_stream && sent.wait == Wait::Nothing;
        let glance = Instant::now().checked_add(GLANCE).filter(|_| is_opened);
        let mut body = response.into_body();
        let mut parser = Parser::new(&bounds.limits.wire);
        let (mut whole, mut events) = (Vec::new(), 0_usize);
        loop {
            let next = next_piece(&mut body);
            let piece = match glance {
                Some(glance) => match timeout_at(glance, next).await {
                    Ok(piece) => piece,
                    Err(_) => return End::Done,
                },
                None => next.await,
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
                let event = match parser.read(&mut rest) {
                    Ok(Some(event)) => event,
                    Ok(None) => break,
                    Err(_) => return End::TooMuch,
                };
                if event.data.is_empty() {
                    continue;
                }
                events = events.saturating_add(1);
                let is_wanted = self
                    .receive(&event.data, sent, speaker, bounds, reply)
                    .await;
                if is_wanted && !is_opened {
                    return End::Done;
                }
                if events >= bounds.messages {
                    return End::TooMuch;
                }
            }
        }
        if !whole.trim_ascii().is_empty() {
            self.receive(&whole, sent, speaker, bounds, reply).await;
        }
        match is_stream && !is_opened {
            true => End::Closed("the stream ended before the answer".to_owned()),
            false => End::Done,
        }
    }

    /// Takes a message, and answers what the server asks in it. Whether it wants the answers is not what is tried.
    async fn receive(
        &self,
        bytes: &[u8],
        sent: &Sent,
        speaker: &Speaker,
        bounds: &Bounds,
        reply: &mut Reply,
    ) -> bool {
        let (is_wanted, answers) = reply.receive(bytes, &sent.wait, speaker, bounds);
        for answer in answers {
            if let Ok(request) = self.request(&answer, speaker).await {
                bounds.sends(&answer.body);
                let _ = self.0.requests.send(request).await;
            }
        }
        is_wanted
    }

    async fn request(&self, sent: &Sent, speaker: &Speaker) -> Result<Request<Bytes>, String> {
        let mut all = self.0.site.headers.clone();
        let accept = match sent.method {
            Method::POST => "application/json, text/event-stream",
            _ => "text/event-stream",
        };
        all.insert(ACCEPT, HeaderValue::from_static(accept));
        if sent.method == Method::POST {
            all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        all.extend(speaker.headers(sent));
        if let Some(authorizer) = &self.0.site.authorizer
            && let Some(pass) = authorizer.pass().await.map_err(|error| error.to_string())?
        {
            let permitted = authorizer.headers(&pass, &sent.method, &self.0.site.url);
            all.extend(permitted.map_err(|error| error.to_string())?);
        }
        let mut request = Request::new(Bytes::from(sent.body.clone()));
        *request.method_mut() = sent.method.clone();
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
