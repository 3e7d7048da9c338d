//! Messages as transports carry them: written once on the way out, read once on the way in.

use alloc::{borrow::ToOwned, boxed::Box, string::String, sync::Arc, vec::Vec};

use super::Profile;
use crate::{
    jsonrpc::{self, MalformedMessage, Message, Payload, RequestId},
    limits::WireLimits,
    protocol::{
        ClientNotification, ClientRequest, HasMeta, InputResponse, LoggingLevel, Meta, RawJson,
        RequestParams,
    },
    quote::excerpt,
    revision::Revision,
    wire,
};

/// A message to the server.
///
/// A transport that is one stream writes the bytes and needs nothing else. One on which each
/// message is an exchange of its own, as over HTTP, decides by the kind how it travels.
#[derive(Debug)]
pub struct ClientMessage {
    /// The message as JSON, without a newline.
    pub bytes: Vec<u8>,
    /// The kind of the message.
    pub kind: MessageKind,
}

/// The kind of a [`ClientMessage`], as far as it decides how the message travels.
#[derive(Debug)]
pub enum MessageKind {
    /// A request. Its response is awaited.
    Request(Box<SentRequest>),
    /// `notifications/initialized`: the session is open from here on, in this revision.
    Initialized(Revision),
    /// `notifications/cancelled` for the request of this id.
    Cancelled(RequestId),
    /// Anything else, which has no answer.
    Other,
}

/// A request as it was sent: with its id, and lowered to its revision.
#[derive(Debug, Clone)]
pub struct SentRequest {
    /// The id its response will carry.
    pub id: RequestId,
    /// The method and its parameters. The call that may send them again shares them.
    pub request: Arc<ClientRequest>,
    /// Its `_meta` where it stands alone. On a session, that is part of the parameters.
    pub meta: Option<SentMeta>,
}

/// A message, or a batch, of the server, read by the transport or by
/// [`Connection::handle_message`](super::Connection::handle_message).
#[derive(Debug)]
pub struct ServerMessage {
    /// The message, or the reason why it is none.
    pub content: Result<Payload, MalformedMessage>,
    /// The length of the message, in bytes.
    pub bytes: usize,
    /// The beginning of what is no message, as it may stand in a log. None where a part of it could
    /// be read, such as its id.
    pub excerpt: Option<String>,
    /// The text of a response that cannot be read, whole unless it was too long.
    pub text: Option<String>,
}

impl ClientMessage {
    /// Writes a request of a session, in the words of its revision.
    pub(super) fn request(revision: Revision, id: i64, request: ClientRequest) -> Self {
        Self::lowered(id, Arc::new(wire::lower(request, revision)), None)
    }

    /// Writes a request that is in the words of its revision already.
    pub(super) fn lowered(id: i64, request: Arc<ClientRequest>, meta: Option<SentMeta>) -> Self {
        let sent = SentRequest {
            id: RequestId::Number(id),
            request,
            meta,
        };
        Self {
            bytes: sent.to_vec(),
            kind: MessageKind::Request(Box::new(sent)),
        }
    }

    /// Writes a notification in the words of a revision, which must have it.
    pub(super) fn notification(revision: Revision, notification: ClientNotification) -> Self {
        let notification = wire::lower(notification, revision);
        let bytes = notification.to_vec();
        let kind = match notification {
            ClientNotification::Initialized(_) => MessageKind::Initialized(revision),
            ClientNotification::Cancelled(params) => params
                .request_id
                .map_or(MessageKind::Other, MessageKind::Cancelled),
            ClientNotification::Progress(_)
            | ClientNotification::RootsListChanged(_)
            | ClientNotification::TaskStatus(_) => MessageKind::Other,
        };
        Self { bytes, kind }
    }

    /// A response, or a batch of responses, that was written already.
    pub(super) fn response(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            kind: MessageKind::Other,
        }
    }
}

impl SentRequest {
    /// The request as JSON, without a newline.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        match &self.meta {
            Some(meta) => self.request.to_vec_with_meta(&self.id, &meta.members()),
            None => self.request.to_vec(&self.id),
        }
    }

    /// The revision that it names in its `_meta`; none on a session.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.meta.as_ref().map(SentMeta::revision)
    }

    /// The same request under another id.
    #[must_use]
    pub fn renamed(&self, id: RequestId) -> Self {
        Self { id, ..self.clone() }
    }

    /// Another request of the same client, of whose progress nobody wants to be told.
    #[must_use]
    pub fn beside(&self, id: RequestId, request: ClientRequest) -> Self {
        Self {
            id,
            request: Arc::new(request),
            meta: self.meta.as_ref().map(SentMeta::without_progress),
        }
    }
}

impl ServerMessage {
    /// Reads one message or one batch, as it was framed by the transport. The engine reports what
    /// is malformed.
    #[must_use]
    pub fn parse(bytes: &[u8], limits: &WireLimits) -> Self {
        let content = jsonrpc::parse(bytes, limits)
            .or_else(|malformed| jsonrpc::recover(bytes, malformed, limits));
        let (mut excerpt, mut text) = (None, None);
        match &content {
            Err(malformed) if malformed.response => {
                text = Some(String::from_utf8_lossy(bytes).into_owned());
            }
            Err(malformed) if malformed.id.is_none() => excerpt = Some(beginning(bytes)),
            Ok(_) | Err(_) => {}
        }
        Self {
            content,
            bytes: bytes.len(),
            excerpt,
            text,
        }
    }

    /// About how much memory the message takes, in bytes: a batch of many short messages takes more
    /// than its length.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        let in_batch = match &self.content {
            Ok(Payload::Batch(messages)) => messages.len(),
            Ok(Payload::Single(_)) | Err(_) => 0,
        };
        self.bytes + in_batch * size_of::<Result<Message, MalformedMessage>>()
    }
}

/// The beginning of a message as it may stand in a log; what is not text is replaced.
fn beginning(bytes: &[u8]) -> String {
    /// Enough for the longest excerpt, whatever its characters are.
    const MOST: usize = 1024;
    excerpt(&String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]))
}

/// The description of a client as it stands in the `_meta` of its requests.
#[derive(Debug)]
pub(super) struct Introduction {
    revision: Revision,
    log_level: Option<LoggingLevel>,
    members: String,
}

/// The `_meta` of a request that stands alone, as it is written.
#[derive(Debug, Clone)]
pub struct SentMeta {
    introduction: Arc<Introduction>,
    /// The name to tell of progress under.
    progress_token: Option<RequestId>,
    /// The members that the caller wrote there beside.
    own: String,
}

#[derive(Debug, Default)]
pub(super) struct LastIntroduction(Option<Arc<Introduction>>);

impl LastIntroduction {
    /// Returns what to say; written anew only where it is something else than before.
    pub(super) fn get(
        &mut self,
        profile: &Profile,
        revision: Revision,
        log_level: Option<LoggingLevel>,
    ) -> Arc<Introduction> {
        match &self.0 {
            Some(last) if (last.revision, last.log_level) == (revision, log_level) => {
                Arc::clone(last)
            }
            _ => {
                let new = Introduction::new(profile, revision, log_level);
                Arc::clone(self.0.insert(Arc::new(new)))
            }
        }
    }
}

impl Introduction {
    pub(super) fn new(
        profile: &Profile,
        revision: Revision,
        log_level: Option<LoggingLevel>,
    ) -> Self {
        let meta = Meta {
            protocol_version: Some(revision.as_str().to_owned()),
            client_info: Some(profile.info.clone()),
            client_capabilities: Some(profile.capabilities.clone()),
            log_level,
            ..Meta::default()
        };
        Self::of(meta, revision)
    }

    /// What another client says of itself, whose request is passed on.
    pub(super) fn forwarded(client: &Meta, revision: Revision) -> Self {
        let meta = Meta {
            protocol_version: Some(revision.as_str().to_owned()),
            client_info: client.client_info.clone(),
            client_capabilities: client.client_capabilities.clone(),
            log_level: client.log_level,
            ..Meta::default()
        };
        Self::of(meta, revision)
    }

    fn of(meta: Meta, revision: Revision) -> Self {
        Self {
            revision,
            log_level: meta.log_level,
            members: members(meta, revision),
        }
    }
}

impl SentMeta {
    /// The `_meta` of one request. Of what its caller wrote, nothing stands that the engine says itself.
    pub(super) fn new(
        introduction: Arc<Introduction>,
        progress_token: Option<RequestId>,
        own: Option<&Meta>,
    ) -> Self {
        let own = own.map(|own| Meta {
            progress_token: None,
            protocol_version: None,
            client_info: None,
            client_capabilities: None,
            log_level: None,
            ..own.clone()
        });
        let own = own.map(|own| members(own, introduction.revision));
        Self {
            introduction,
            progress_token,
            own: own.unwrap_or_default(),
        }
    }

    /// The same, but that nobody wants to be told of progress.
    pub(super) fn without_progress(&self) -> Self {
        Self {
            progress_token: None,
            ..self.clone()
        }
    }

    pub(super) fn revision(&self) -> Revision {
        self.introduction.revision
    }

    /// Its members, as text without the braces around them.
    pub(super) fn members(&self) -> String {
        // The name of the token, and a number.
        let around = 48;
        let known = &self.introduction.members;
        let mut members = String::with_capacity(around + known.len() + self.own.len());
        if let Some(token) = &self.progress_token {
            for part in [r#""progressToken":"#, &token.to_json(), ","] {
                members.push_str(part);
            }
        }
        members.push_str(known);
        if !self.own.is_empty() {
            members.push(',');
            members.push_str(&self.own);
        }
        members
    }
}

/// The members of a `_meta` in the words of a revision, as text without the braces around them.
fn members(meta: Meta, revision: Revision) -> String {
    let mut params = RequestParams { meta: meta.boxed() };
    wire::lower_in_place(&mut params, revision);
    let Some(meta) = params.meta() else {
        return String::new();
    };
    let json = RawJson::new(meta).expect("keys are texts");
    let text = json.as_str();
    text[1..text.len() - 1].to_owned()
}

/// An answer as a response of its own.
pub(super) fn write_response(
    revision: Revision,
    id: &RequestId,
    response: InputResponse,
) -> Vec<u8> {
    match wire::lower(response, revision) {
        InputResponse::Elicit(result) => jsonrpc::write_result(id, &result),
        InputResponse::Sample(result) => jsonrpc::write_result(id, &result),
        InputResponse::Roots(result) => jsonrpc::write_result(id, &result),
    }
}

/// An answer as it stands in `inputResponses`.
pub(super) fn response_json(response: InputResponse, revision: Revision) -> RawJson {
    let json = match wire::lower(response, revision) {
        InputResponse::Elicit(result) => RawJson::new(&result),
        InputResponse::Sample(result) => RawJson::new(&result),
        InputResponse::Roots(result) => RawJson::new(&result),
    };
    // Writing fails only for maps whose keys are not strings, and no result has one.
    json.unwrap_or_default()
}
