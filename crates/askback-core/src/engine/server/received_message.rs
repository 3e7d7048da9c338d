//! Messages, as a server received them.

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

/// The method that is nearly always asked for.
const CALL: &str = "tools/call";

/// A message of a client.
#[derive(Debug, Clone)]
pub enum ReceivedMessage {
    /// A request.
    Request(ReceivedRequest),
    /// A request of a method that is not known, or whose parameters do not fit, and what to answer
    /// where nothing else is wrong.
    Misfit(Request, ErrorObject),
    /// A notification.
    Notification(Notification),
    /// The answer to a request of ours.
    Response(Response),
    /// A batch; whether the revision in use has batches is for the caller to say.
    Batch(Vec<Result<Message, MalformedMessage>>),
}

/// A request of a client.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// The id of the request.
    pub id: RequestId,
    /// The request, without its `_meta` where the client is known by that.
    pub request: ClientRequest,
    /// The client, where its `_meta` was known.
    known: Option<Arc<KnownClient>>,
}

impl ReceivedMessage {
    /// Reads one message or one batch. `known` are the clients whose `_meta` need not be read again;
    /// they were learned with the same limits.
    ///
    /// # Errors
    ///
    /// As [`jsonrpc::parse`]; parameters that do not fit are no error yet.
    pub fn parse(
        bytes: &[u8],
        limits: &Limits,
        known: &[Arc<KnownClient>],
    ) -> Result<Self, MalformedMessage> {
        if let Some(call) = read_call(bytes, &limits.wire, known) {
            return Ok(Self::Request(call));
        }
        if let Some((id, request)) = jsonrpc::parse_request(bytes, &limits.wire) {
            return Ok(Self::Request(ReceivedRequest::new(id, request)));
        }
        Ok(match jsonrpc::parse(bytes, &limits.wire)? {
            Payload::Single(message) => message.into(),
            Payload::Batch(messages) => Self::Batch(messages),
        })
    }

    /// Reads one message or one batch for a server that may hand requests on as they came; see
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

    /// A message of a batch, for the same server.
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

    /// The `_meta` of a call that was read, where the next one may say the same: what a
    /// [`KnownClient`] can be made of.
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
    /// A request that was read whole.
    #[must_use]
    pub fn new(id: RequestId, request: ClientRequest) -> Self {
        Self {
            id,
            request,
            known: None,
        }
    }

    /// The revision that its `_meta` names.
    #[must_use]
    pub fn version(&self) -> Option<&str> {
        match &self.known {
            Some(known) => Some(known.version()),
            None => self.request.meta()?.protocol_version.as_deref(),
        }
    }

    /// The client, where its `_meta` was known.
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

/// Whether a server that hands requests on reads those of this method itself.
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

/// Reads a call of a tool that is written as nearly all clients write it, and whose `_meta`, where it
/// has one, is known. It is then what [`jsonrpc::parse`] comes to. `None` says nothing about the
/// message.
fn read_call(
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
        "method" => once(
            &mut method,
            message.string().filter(|method| *method == CALL)?,
        ),
        "params" => once(&mut params, read_params(message, known)?),
        _ => None,
    })?;
    message.end()?;
    let (id, (params, known)) = (id?, params?);
    method?;
    let is_sound = version? == jsonrpc::VERSION && jsonrpc::is_short(&id, limits);
    is_sound.then_some(ReceivedRequest {
        id,
        request: ClientRequest::CallTool(params),
        known,
    })
}

/// Steps over the parameters of a call, with the client that they describe.
fn read_params(
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

/// Puts a member where it belongs; it may stand there once.
fn once<T>(slot: &mut Option<T>, value: T) -> Option<()> {
    match slot.replace(value) {
        None => Some(()),
        Some(_) => None,
    }
}
