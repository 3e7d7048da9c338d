//! Messages as transports carry them, each serialized or parsed once.

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
    wire::{self, Lower},
};

/// A message to the server.
///
/// A stream transport only writes the bytes. A transport that sends each message as its own
/// exchange, such as HTTP, decides by the kind.
#[derive(Debug)]
pub struct ClientMessage {
    /// The message as JSON, without a newline.
    pub bytes: Vec<u8>,
    pub kind: MessageKind,
}

#[derive(Debug)]
pub enum MessageKind {
    Request(Box<SentRequest>),
    /// `notifications/initialized`: from here on the session is open, in this revision.
    Initialized(Revision),
    Cancelled(RequestId),
    Other,
}

#[derive(Debug, Clone)]
pub struct SentRequest {
    pub id: RequestId,
    /// The method and parameters, shared with the call, which may send them again.
    pub request: Arc<ClientRequest>,
    /// The `_meta` of a stateless request. On a session it is part of the parameters.
    pub meta: Option<SentMeta>,
}

/// A message or batch from the server, parsed by the transport or by
/// [`Connection::handle_message`](super::Connection::handle_message).
#[derive(Debug)]
pub struct ServerMessage {
    pub content: Result<Payload, MalformedMessage>,
    pub bytes: usize,
    /// The beginning of a malformed message, escaped for a log. `None` if a part could be read,
    /// such as its id.
    pub excerpt: Option<String>,
    /// The text of a response that cannot be read. Long responses are shortened.
    pub text: Option<String>,
}

impl ClientMessage {
    pub(super) fn request(revision: Revision, id: i64, request: ClientRequest) -> Self {
        Self::lowered(id, Arc::new(wire::lower(request, revision)), None)
    }

    /// Serializes a request that is already lowered to its revision.
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

    pub(super) fn response(bytes: Vec<u8>) -> Self {
        Self {
            bytes,
            kind: MessageKind::Other,
        }
    }
}

impl SentRequest {
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        match &self.meta {
            Some(meta) => self.request.to_vec_with_meta(&self.id, &meta.members()),
            None => self.request.to_vec(&self.id),
        }
    }

    /// Returns the revision in its `_meta`; `None` on a session.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        self.meta.as_ref().map(SentMeta::revision)
    }

    #[must_use]
    pub fn renamed(&self, id: RequestId) -> Self {
        Self { id, ..self.clone() }
    }

    /// Makes another request of the same client, without a progress token.
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
    /// Parses one message or batch as the transport framed it. The engine reports malformed
    /// messages.
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

    /// The approximate memory of the message, in bytes. A batch of short messages takes more memory
    /// than its bytes.
    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        let in_batch = match &self.content {
            Ok(Payload::Batch(messages)) => messages.len(),
            Ok(Payload::Single(_)) | Err(_) => 0,
        };
        self.bytes + in_batch * size_of::<Result<Message, MalformedMessage>>()
    }
}

fn beginning(bytes: &[u8]) -> String {
    /// Enough for the longest excerpt, whatever its characters.
    const MOST: usize = 1024;
    excerpt(&String::from_utf8_lossy(&bytes[..bytes.len().min(MOST)]))
}

#[derive(Debug)]
pub(super) struct Introduction {
    revision: Revision,
    log_level: Option<LoggingLevel>,
    members: String,
}

#[derive(Debug, Clone)]
pub struct SentMeta {
    introduction: Arc<Introduction>,
    progress_token: Option<RequestId>,
    own: String,
}

#[derive(Debug, Default)]
pub(super) struct LastIntroduction(Option<Arc<Introduction>>);

impl LastIntroduction {
    /// Returns the client's description. It is serialized again only after a change.
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

    pub(super) fn without_progress(&self) -> Self {
        Self {
            progress_token: None,
            ..self.clone()
        }
    }

    pub(super) fn revision(&self) -> Revision {
        self.introduction.revision
    }

    /// Returns its members as JSON without the surrounding braces.
    pub(super) fn members(&self) -> String {
        // Room for the token's name and a number.
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

/// Serializes the members of a `_meta` in a revision, without the surrounding braces.
fn members(meta: Meta, revision: Revision) -> String {
    let mut params = RequestParams { meta: meta.boxed() };
    params.lower(revision);
    let Some(meta) = params.meta() else {
        return String::new();
    };
    let json = RawJson::new(meta).expect("keys are texts");
    let text = json.as_str();
    text[1..text.len() - 1].to_owned()
}

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

pub(super) fn response_json(response: InputResponse, revision: Revision) -> RawJson {
    let json = match wire::lower(response, revision) {
        InputResponse::Elicit(result) => RawJson::new(&result),
        InputResponse::Sample(result) => RawJson::new(&result),
        InputResponse::Roots(result) => RawJson::new(&result),
    };
    // Serializing fails only for maps whose keys are not strings; no result has such a map.
    json.unwrap_or_default()
}
