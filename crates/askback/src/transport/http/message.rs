//! Requests sent over HTTP, and their responses.

use askback_core::{
    engine::client::{SentRequest, ServerMessage},
    http::headers::{self, encode},
    jsonrpc::{Message, Payload, RequestId, Response},
    protocol::{ClientRequest, PaginatedParams, RawObject},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::tools::Tools;

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static(headers::PROTOCOL_VERSION);
const METHOD: HeaderName = HeaderName::from_static(headers::METHOD);
const NAME: HeaderName = HeaderName::from_static(headers::NAME);

#[derive(Debug)]
pub(super) struct PendingRequest {
    sent: SentRequest,
    pub(super) bytes: Bytes,
}

#[derive(Debug)]
pub(super) enum Reply {
    /// The response and its length in bytes.
    Response(Response, usize),
    /// An undecoded message that contains the response. The engine takes it apart.
    Whole(ServerMessage),
    /// Any other message, which precedes the response.
    Other(ServerMessage),
}

impl PendingRequest {
    pub(super) fn new(sent: SentRequest, bytes: Bytes) -> Self {
        Self { sent, bytes }
    }

    fn write(sent: SentRequest) -> Self {
        let bytes = sent.to_vec().into();
        Self { sent, bytes }
    }

    pub(super) fn id(&self) -> &RequestId {
        &self.sent.id
    }

    /// Whether this request finds out what the server supports, so that its failure says something
    /// about the server.
    pub(super) fn is_opening(&self) -> bool {
        self.is_initialize() || matches!(*self.sent.request, ClientRequest::Discover(_))
    }

    pub(super) fn is_initialize(&self) -> bool {
        matches!(*self.sent.request, ClientRequest::Initialize(_))
    }

    pub(super) fn cancels_task(&self) -> bool {
        matches!(*self.sent.request, ClientRequest::CancelTask(_))
    }

    /// Whether the message lists tools, and if so, whether it starts a new list.
    pub(super) fn lists_tools(&self) -> Option<bool> {
        match &*self.sent.request {
            ClientRequest::ListTools(params) => Some(params.cursor.is_none()),
            _ => None,
        }
    }

    /// Whether the message names its revision in its `_meta`, and so does not belong to a session.
    pub(super) fn stands_alone(&self) -> bool {
        self.sent.revision().is_some()
    }

    pub(super) fn mirror(&self, tools: &Tools, headers: &mut HeaderMap) {
        let Some(revision) = self.sent.revision() else {
            return;
        };
        let request = &self.sent.request;
        headers.insert(
            PROTOCOL_VERSION,
            HeaderValue::from_static(revision.as_str()),
        );
        put(headers, METHOD, request.method());
        if let Some(name) = request.target() {
            put(headers, NAME, &encode(name));
        }
        if let Some((tool, arguments)) = self.tool()
            && let Some(annotations) = tools.get(tool)
        {
            for (header, value) in annotations.headers(arguments) {
                // The name was checked together with its annotation.
                if let Ok(header) = header.parse() {
                    put(headers, header, &value);
                }
            }
        }
    }

    pub(super) fn tool(&self) -> Option<(&str, Option<&RawObject>)> {
        match &*self.sent.request {
            ClientRequest::CallTool(params) => Some((&params.name, params.arguments.as_ref())),
            _ => None,
        }
    }

    pub(super) fn renamed(&self, id: RequestId) -> Self {
        Self::write(self.sent.renamed(id))
    }

    pub(super) fn list_tools(&self, id: RequestId, cursor: Option<String>) -> Self {
        let params = PaginatedParams { cursor, meta: None };
        Self::write(self.sent.beside(id, ClientRequest::ListTools(params)))
    }

    pub(super) fn recognize(&self, mut message: ServerMessage) -> Reply {
        let id = Some(&self.sent.id);
        let mine = match message.content {
            Ok(Payload::Single(Message::Response(mut response))) => {
                if response.id.is_none() && response.outcome.is_err() {
                    response.id = id.cloned();
                }
                if response.id.as_ref() == id {
                    return Reply::Response(response, message.bytes);
                }
                let content = Ok(Payload::Single(Message::Response(response)));
                return Reply::Other(ServerMessage { content, ..message });
            }
            Ok(Payload::Single(_)) => false,
            Ok(Payload::Batch(ref messages)) => messages.iter().any(|message| match message {
                Ok(Message::Response(response)) => response.id.as_ref() == id,
                Ok(_) => false,
                Err(malformed) => malformed.response && malformed.id.as_ref() == id,
            }),
            // An error without an id answers this request.
            Err(ref mut malformed) => {
                let is_mine = malformed.response
                    && malformed.id.as_ref().is_none_or(|named| Some(named) == id);
                if is_mine {
                    malformed.id = id.cloned();
                }
                is_mine
            }
        };
        if mine {
            Reply::Whole(message)
        } else {
            Reply::Other(message)
        }
    }
}

/// The value is already encoded.
fn put(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}
