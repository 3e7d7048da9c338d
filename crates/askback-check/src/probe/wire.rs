//! The transport of an exchange: the lines of a process, or HTTP requests.

use std::{fmt, io, sync::Arc};

use askback::{
    Limits,
    internal::http::{media::Media, sse::Parser},
    transport::{ChildLine, Http, OpenChild},
};
use askback_oauth::Authorizer;
use askback_requests::{NAME, Names, RequestError, Requests, Route, in_full, next_piece};
use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Method, Request, Response, Uri,
    header::{ACCEPT, CONTENT_TYPE, USER_AGENT, WWW_AUTHENTICATE},
};
use hyper::body::Incoming;
use url::Url;

use super::{Bounds, End, ProbeRequest, Reply, Speaker, Wait, keep};

/// The maximum number of messages that are read while waiting for one answer.
const MESSAGES: usize = 1_024;

#[derive(Debug)]
pub(super) enum Wire {
    /// `None` once it has ended.
    Process(Option<Box<OpenChild>>),
    Address(Arc<Address>),
}

pub struct Address {
    pub(crate) url: Url,
    uri: Uri,
    headers: HeaderMap,
    pub(crate) credentials: Vec<String>,
    authorizer: Option<Arc<Authorizer>>,
    pub(crate) transport: Http,
    requests: Requests,
}

struct Body {
    incoming: Incoming,
    parser: Parser,
    rest: Bytes,
    is_stream: bool,
}

impl Wire {
    /// Sends a request and reads until the answer arrives. The server's own requests are answered
    /// at once.
    pub(super) async fn exchange(
        &mut self,
        sent: &ProbeRequest,
        speaker: &Speaker,
        bounds: &Bounds,
        reply: &mut Reply,
    ) -> End {
        let mut body = None;
        match self {
            Self::Process(None) => return Reply::unsent(sent).end,
            Self::Process(Some(child)) => {
                // If the server went away, what it wrote before is still read.
                if child.send(sent.body.clone()).await.is_ok() && sent.wait == Wait::Nothing {
                    return End::Done;
                }
            }
            Self::Address(address) => match address.send(sent, speaker).await {
                Ok(response) => {
                    let opened = body.insert(Body::new(response, bounds, reply));
                    // The test only needs the stream to be open.
                    if opened.is_stream && sent.wait == Wait::Nothing {
                        return End::Done;
                    }
                }
                Err(end) => return end,
            },
        }
        for _ in 0..MESSAGES {
            let most = bounds.limits.wire.message_bytes;
            let next = match (&mut *self, &mut body) {
                (Self::Process(Some(child)), _) => line(child, reply, most).await,
                (_, Some(body)) => body.next(reply, most).await,
                _ => return End::Done,
            };
            let bytes = match next {
                Ok(bytes) => bytes,
                Err(end) => return end,
            };
            let before = reply.asked.len();
            let is_wanted = reply.take(&bytes, &sent.wait);
            let asked = reply.asked.iter().skip(before);
            for answer in asked.map(|asked| speaker.answer(asked)).collect::<Vec<_>>() {
                // The check does not care whether the server accepts this answer. If it goes away,
                // the next read fails.
                match self {
                    Self::Process(Some(child)) => {
                        let _ = child.send(answer.body).await;
                    }
                    Self::Process(None) => {}
                    Self::Address(address) => _ = address.send(&answer, speaker).await,
                }
            }
            if is_wanted {
                return End::Done;
            }
        }
        End::TooMuch
    }
}

/// Reads the next line of standard output, and keeps the last lines of standard error. The lines
/// may have any length.
async fn line(child: &mut OpenChild, reply: &mut Reply, most: usize) -> Result<Vec<u8>, End> {
    let closed = |error: io::Error| End::Closed(error.to_string());
    loop {
        match child.receive().await.map_err(closed)? {
            Some(ChildLine::Output(bytes)) => {
                reply.count(bytes.len(), most)?;
                return Ok(bytes);
            }
            Some(ChildLine::Stderr(line)) => keep(&mut reply.stderr, line),
            Some(_) => {}
            None => return Err(End::Closed("the server closed its output".to_owned())),
        }
    }
}

impl Body {
    fn new(response: Response<Incoming>, bounds: &Bounds, reply: &mut Reply) -> Self {
        reply.status = Some(response.status().as_u16());
        reply.headers = response.headers().clone();
        let media = reply.headers.get(CONTENT_TYPE);
        let media = media.and_then(|media| Media::of(media.as_bytes()));
        Self {
            incoming: response.into_body(),
            parser: Parser::new(&bounds.limits.wire),
            rest: Bytes::new(),
            is_stream: media == Some(Media::EventStream),
        }
    }

    /// Reads the next event, or a whole body that is not an event stream.
    async fn next(&mut self, reply: &mut Reply, most: usize) -> Result<Vec<u8>, End> {
        let mut whole = Vec::new();
        loop {
            while !self.rest.is_empty() {
                let mut rest = &self.rest[..];
                let event = self.parser.read(&mut rest).map_err(|_| End::TooMuch)?;
                self.rest = self.rest.slice_ref(rest);
                if let Some(event) = event.filter(|event| !event.data.is_empty()) {
                    return Ok(event.data);
                }
            }
            let piece = next_piece(&mut self.incoming).await;
            let Some(piece) = piece.map_err(|error| End::Closed(in_full(&error)))? else {
                break;
            };
            reply.count(piece.len(), most)?;
            match self.is_stream {
                true => self.rest = piece,
                false => whole.extend_from_slice(&piece),
            }
        }
        match self.is_stream {
            true => Err(End::Closed("the stream ended before the answer".to_owned())),
            false if whole.trim_ascii().is_empty() => Err(End::Done),
            false => Ok(whole),
        }
    }
}

impl Address {
    /// Prepares requests to a server. `headers` go with each request; `credentials` are the names
    /// of those that may identify the caller. `authorizer` has the stored tokens, unless a header
    /// has credentials of its own, and never asks a user. `transport` is the same for a client.
    ///
    /// # Errors
    ///
    /// Why the address is unusable, or why HTTP cannot be set up on this machine.
    pub fn new(
        url: Url,
        mut headers: HeaderMap,
        credentials: Vec<String>,
        authorizer: Option<Arc<Authorizer>>,
        transport: Http,
        limits: &Limits,
    ) -> Result<Self, String> {
        let uri = url.as_str().parse::<Uri>();
        let uri = uri.map_err(|error| error.to_string())?;
        let requests = Requests::new(&Route::Environment, Names::system(), &limits.http);
        let requests = requests.map_err(|error| error.to_string())?;
        headers.extend(requests.proxy_headers(&uri));
        headers.entry(USER_AGENT).or_insert(NAME);
        Ok(Self {
            url,
            uri,
            headers,
            credentials,
            authorizer,
            transport,
            requests,
        })
    }

    /// Returns who may find out how to sign in after this refusal. `None` if the refused request had other credentials:
    /// a server that requires a token says so in `WWW-Authenticate`, whatever other headers the request had.
    pub(crate) fn authorizer(&self, refusal: &Reply) -> Option<&Arc<Authorizer>> {
        let names_another = refusal.header(WWW_AUTHENTICATE.as_str()).is_some();
        let may_be_others = names_another || self.credentials.is_empty();
        self.authorizer.as_ref().filter(|_| may_be_others)
    }

    async fn send(
        &self,
        sent: &ProbeRequest,
        speaker: &Speaker,
    ) -> Result<Response<Incoming>, End> {
        let request = self.request(sent, speaker).await;
        let request = request.map_err(End::Unreachable)?;
        let response = self.requests.send(request).await;
        response.map_err(|why| match why {
            RequestError::Unreachable(why) => End::Unreachable(why),
            why => End::Closed(why.to_string()),
        })
    }

    async fn request(
        &self,
        sent: &ProbeRequest,
        speaker: &Speaker,
    ) -> Result<Request<Bytes>, String> {
        let mut all = self.headers.clone();
        let mut accept = HeaderValue::from_static("text/event-stream");
        if sent.method == Method::POST {
            accept = HeaderValue::from_static("application/json, text/event-stream");
            all.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
        all.insert(ACCEPT, accept);
        all.extend(speaker.headers(sent));
        if let Some(authorizer) = &self.authorizer
            && let Some(pass) = authorizer.pass().await.map_err(|error| error.to_string())?
        {
            let permitted = authorizer.headers(&pass, &sent.method, &self.url);
            all.extend(permitted.map_err(|error| error.to_string())?);
        }
        let mut request = Request::new(Bytes::from(sent.body.clone()));
        *request.method_mut() = sent.method.clone();
        *request.uri_mut() = self.uri.clone();
        *request.headers_mut() = all;
        Ok(request)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.url.as_str())
    }
}
