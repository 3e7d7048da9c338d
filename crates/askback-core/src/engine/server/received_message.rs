//! Messages that a server receives.

use alloc::{string::String, sync::Arc, vec::Vec};

use super::{
    Profile,
    known_client::{KnownClient, describes_only_a_client},
};
use crate::{
    jsonrpc::{
        self, ErrorObject, MalformedMessage, Message, Notification, Payload, Request, RequestId,
        Response, Walk,
    },
    limits::{Limits, WireLimits},
    protocol::{CallToolParams, ClientRequest, HasMeta, Meta, OtherRequest, RawObject},
};

/// The most frequent method.
const CALL: &str = "tools/call";

#[derive(Debug, Clone)]
pub enum ReceivedMessage {
    Request(ReceivedRequest),
    /// A request with an unknown method or invalid parameters, and the error to return if nothing
    /// else is wrong.
    Misfit(Request, ErrorObject),
    Notification(Notification),
    Response(Response),
    /// A batch. The caller checks whether the revision has batches.
    Batch(Vec<Result<Message, MalformedMessage>>),
}

#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub id: RequestId,
    /// The request, without its `_meta` if `known` is set.
    pub request: ClientRequest,
    known: Option<Arc<KnownClient>>,
}

impl ReceivedMessage {
    /// Parses one message or batch. The `_meta` of `known` clients is not parsed again; they were
    /// learned with the same limits.
    ///
    /// # Errors
    ///
    /// As [`jsonrpc::parse`]. Invalid parameters are not an error yet.
    pub fn parse(
        bytes: &[u8],
        limits: &Limits,
        known: &[Arc<KnownClient>],
    ) -> Result<Self, MalformedMessage> {
        if let Some(request) = read_request(bytes, &limits.wire, known) {
            return Ok(Self::Request(request));
        }
        Ok(match jsonrpc::parse(bytes, &limits.wire)? {
            Payload::Single(message) => message.into(),
            Payload::Batch(messages) => Self::Batch(messages),
        })
    }

    /// Parses one message or batch for a server that may forward requests; see
    /// [`Profile::forwards`].
    ///
    /// # Errors
    ///
    /// As [`ReceivedMessage::parse`].
    pub fn parse_for(
        profile: &Profile,
        bytes: &[u8],
        known: &[Arc<KnownClient>],
    ) -> Result<Self, MalformedMessage> {
        if !profile.forwards {
            return Self::parse(bytes, &profile.limits, known);
        }
        Ok(match jsonrpc::parse(bytes, &profile.limits.wire)? {
            Payload::Single(message) => Self::of(profile, message),
            Payload::Batch(messages) => Self::Batch(messages),
        })
    }

    /// Converts one message of a batch in the same way.
    pub(super) fn of(profile: &Profile, message: Message) -> Self {
        match message {
            Message::Request(request) if profile.forwards && !is_read_here(&request.method) => {
                match OtherRequest::new(&request.method, request.params.as_deref()) {
                    Ok(other) => Self::Request(ReceivedRequest::new(request.id, other.into())),
                    Err(error) => Self::Misfit(request, error),
                }
            }
            message => message.into(),
        }
    }

    /// Returns the `_meta` of a call, if the next call may have the same and a [`KnownClient`] can
    /// be made of it.
    #[must_use]
    pub fn unknown_client(&self) -> Option<&Meta> {
        match self {
            Self::Request(ReceivedRequest {
                request: ClientRequest::CallTool(params),
                known: None,
                ..
            }) => params.meta().filter(|meta| describes_only_a_client(meta)),
            _ => None,
        }
    }
}

impl ReceivedRequest {
    #[must_use]
    pub fn new(id: RequestId, request: ClientRequest) -> Self {
        Self {
            id,
            request,
            known: None,
        }
    }

    #[must_use]
    pub fn version(&self) -> Option<&str> {
        match &self.known {
            Some(known) => Some(known.version()),
            None => self.request.meta()?.protocol_version.as_deref(),
        }
    }

    pub(super) fn known(&self) -> Option<&Arc<KnownClient>> {
        self.known.as_ref()
    }
}

impl From<Message> for ReceivedMessage {
    fn from(message: Message) -> Self {
        match message {
            Message::Request(request) => {
                match ClientRequest::parse(&request.method, request.params.as_deref()) {
                    Ok(read) => Self::Request(ReceivedRequest::new(request.id, read)),
                    Err(error) => Self::Misfit(request, error),
                }
            }
            Message::Notification(notification) => Self::Notification(notification),
            Message::Response(response) => Self::Response(response),
        }
    }
}

/// Whether a forwarding server parses requests of this method itself.
fn is_read_here(method: &str) -> bool {
    matches!(
        method,
        "initialize"
            | "server/discover"
            | "ping"
            | "subscriptions/listen"
            | "resources/subscribe"
            | "resources/unsubscribe"
            | "logging/setLevel"
    )
}

/// Parses a request in its usual form, with its parameters behind the method, in one pass, and gives
/// the same result as [`jsonrpc::parse`]. `None` means that the message needs the full parser.
fn read_request(
    bytes: &[u8],
    limits: &WireLimits,
    known: &[Arc<KnownClient>],
) -> Option<ReceivedRequest> {
    let text = jsonrpc::text_within(bytes, limits)?;
    let mut message = Walk::new(text);
    let (mut version, mut id, mut method, mut params) = (None, None, None, None);
    message.object(|message, name| match name {
        "jsonrpc" => once(&mut version, message.string()?),
        "id" => once(&mut id, message.request_id()?),
        "method" => once(&mut method, message.string()?),
        "params" => once(&mut params, read_params(message, method?, known)?),
        _ => None,
    })?;
    message.end()?;
    let (id, (request, known)) = (id?, params?);
    let is_sound = version? == jsonrpc::VERSION && jsonrpc::is_short(&id, limits);
    is_sound.then_some(ReceivedRequest { id, request, known })
}

fn read_params(
    message: &mut Walk<'_>,
    method: &str,
    known: &[Arc<KnownClient>],
) -> Option<(ClientRequest, Option<Arc<KnownClient>>)> {
    if method == CALL {
        let begin = *message;
        if let Some((params, known)) = read_call(message, known) {
            return Some((ClientRequest::CallTool(params), known));
        }
        *message = begin;
    }
    Some((ClientRequest::read(method, message)?, None))
}

/// Reads the parameters of a tool call with known or no `_meta`.
fn read_call(
    message: &mut Walk<'_>,
    known: &[Arc<KnownClient>],
) -> Option<(CallToolParams, Option<Arc<KnownClient>>)> {
    let (mut name, mut client) = (None, None);
    let mut params = CallToolParams::default();
    message.object(|message, member| match member {
        "name" => once(&mut name, message.string()?),
        "arguments" => once(&mut params.arguments, message.read::<RawObject>()?),
        "requestState" => once(&mut params.request_state, message.string()?.into()),
        "inputResponses" => once(&mut params.input_responses, message.read()?),
        "_meta" => {
            let mut known = known.iter();
            let known = known.find(|known| message.object_of(known.text()).is_some())?;
            once(&mut client, Arc::clone(known))
        }
        _ => None,
    })?;
    params.name = String::from(name?);
    Some((params, client))
}

/// Sets a member. Returns `None` if it was already set.
fn once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    if slot.is_some() {
        return None;
    }
    *slot = Some(value);
    Some(())
}
