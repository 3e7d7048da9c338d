//! Servers that forward their requests to another server.

use std::{
    future::Future,
    io,
    sync::{Arc, Weak},
    time::Duration,
};

use askback_core::{
    ask::{
        AskError, CheckedRequest, Millis, Principal, Reply,
        seal::{self, Binding, Entropy},
    },
    canonical,
    engine::server::Origin,
    jsonrpc::{ErrorObject, RequestId},
    protocol::{
        ClientCapabilities, ClientRequest, Implementation, InputRequest, InputRequiredResult,
        JsonObject, LoggingLevel, OtherRequest, ProgressToken, RawJson, ServerCapabilities,
        ServerNotification, SubscriptionFilter,
    },
    revision::Revision,
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::{Server, ServerBuilder, Shared, budget::Charge, connection};
use crate::{
    clock::millis,
    ctx::{AskingPeer, CallPeer, missing_for},
    entropy::entropy,
    error::{Error, Result},
    flow::BoxFuture,
    transport::Channel,
};

/// Answers the requests of a server instead of handlers, for example by another server: see
/// [`ServerBuilder::forward`].
pub trait Forward: Send + Sync + 'static {
    /// Returns the capabilities that clients are shown. Called once, when the server is built.
    fn capabilities(&self) -> ServerCapabilities;

    /// Answers a request. Dropping the future cancels it.
    ///
    /// Requests are [`ClientRequest::Other`], with their parameters as they came; on a session also
    /// `logging/setLevel`, `resources/subscribe` and `resources/unsubscribe`. Their `_meta` is in
    /// `ctx`. The server itself answers the requests that open a connection, `ping` and
    /// `subscriptions/listen`.
    ///
    /// # Errors
    ///
    /// Become JSON-RPC errors; [`Error::protocol`] sets code and data.
    fn request(&self, request: ClientRequest, ctx: ForwardCtx) -> BoxFuture<'_, Result<Forwarded>>;

    /// Called when a client has connected, with a handle to notify and ask it outside of requests.
    /// Not called over HTTP.
    fn connected(&self, client: ForwardClient) {
        let _ = client;
    }

    /// Called when a client opens a subscription with this id and filter (2026-07-28,
    /// basic/patterns/subscriptions), and with `None` when the subscription ends.
    /// [`Server::changed`](super::Server::changed) announces a change, and
    /// [`ForwardClient::end_subscription`] ends the subscription. Not called over HTTP.
    fn watches(&self, subscription: &RequestId, filter: Option<&SubscriptionFilter>) {
        let _ = (subscription, filter);
    }
}

/// The answer to a forwarded request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Forwarded {
    /// A result in the format of a revision. It is sent unchanged to clients of that revision, and
    /// converted for others.
    Result {
        /// The `result` of the response.
        result: RawJson,
        /// The revision of the server that returned it.
        revision: Revision,
    },
    /// Questions for a client of 2026-07-28, which sends the request again with the answers.
    NeedInput(InputRequiredResult),
}

/// The client of a forwarded request.
#[derive(Clone)]
pub struct ForwardCtx {
    pub(super) shared: Arc<Shared>,
    pub(super) origin: Arc<Origin>,
    pub(super) peer: CallPeer,
    pub(super) meta: JsonObject,
}

impl ForwardCtx {
    /// The revision of the request.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.origin.revision
    }

    /// Returns the client's own name and version, unverified.
    #[must_use]
    pub fn client_info(&self) -> Option<&Implementation> {
        self.origin.client.as_ref()
    }

    /// Returns the capabilities that the client declared.
    #[must_use]
    pub fn capabilities(&self) -> &ClientCapabilities {
        &self.origin.capabilities
    }

    /// Returns the principal, if the server's authentication identified one.
    #[must_use]
    pub fn principal(&self) -> Option<&Principal> {
        self.origin.principal.as_deref()
    }

    /// Returns the token for progress notifications, if the client wants them.
    #[must_use]
    pub fn progress_token(&self) -> Option<&ProgressToken> {
        self.origin.progress_token.as_ref()
    }

    /// Returns the lowest log level that the request asks for (2026-07-28).
    #[must_use]
    pub fn log_level(&self) -> Option<LoggingLevel> {
        self.origin.log_level
    }

    /// Returns the members of the request's `_meta` that the protocol does not read.
    #[must_use]
    pub fn meta(&self) -> &JsonObject {
        &self.meta
    }

    /// Returns whether the client supports this question, including the mode of an elicitation and
    /// the features of sampling.
    #[must_use]
    pub fn takes(&self, question: &InputRequest) -> bool {
        missing_for(&self.origin, question).is_none()
    }

    /// Returns whether the client can be asked on its session, with [`ForwardCtx::ask`]. Ask other
    /// clients with [`Forwarded::NeedInput`].
    #[must_use]
    pub fn can_ask(&self) -> bool {
        matches!(self.peer, CallPeer::Held(_))
    }

    /// Asks the client on its session, and returns its answer unparsed. Dropping the future
    /// withdraws the question. A `key` is sent in the question's `_meta`.
    ///
    /// # Errors
    ///
    /// The client's error, or an error if the client does not support the question or has no
    /// session.
    pub async fn ask(&self, key: Option<&str>, question: InputRequest) -> Result<RawJson> {
        let CallPeer::Held(peer) = &self.peer else {
            return Err(Error::new("this client is asked in results only"));
        };
        ask(&**peer, &self.origin, key, question).await
    }

    /// Sends the client a notification about this request, if its revision has it.
    pub fn notify(&self, notification: ServerNotification) {
        self.peer.to_tell().notify(notification);
    }

    pub(crate) fn take_room(&self, bytes: usize) -> Result<Room, ErrorObject> {
        let mut charge = self.shared.kept.open(self.origin.principal.as_ref());
        let taken = charge.cover(bytes);
        taken.map_err(|why| ErrorObject::internal(why.to_string()))?;
        Ok(Room { _charge: charge })
    }

    /// Seals a state that the client returns in the next round of the same request.
    pub(crate) fn seal<T: Serialize>(&self, request: &OtherRequest, state: &T) -> Result<String> {
        let issued = self.shared.clock().now();
        let bytes = serde_json::to_vec(&SealedState { issued, state })?;
        let most = self.shared.limits().asking.state_bytes;
        let (keys, arguments) = (self.shared.keys()?, arguments_digest(request)?);
        let binding = self.binding(request, arguments);
        seal::seal(keys, &binding, &bytes, Entropy(entropy()?), most)
            .map_err(|_| Error::new("what this call has to remember is too large"))
    }

    /// Opens a state that was sealed for this request. Returns `None` if it is not one, or is too
    /// old.
    pub(crate) fn open<T: DeserializeOwned>(
        &self,
        request: &OtherRequest,
        state: &str,
    ) -> Result<Option<T>> {
        let asking = &self.shared.limits().asking;
        let (keys, arguments) = (self.shared.keys()?, arguments_digest(request)?);
        let binding = self.binding(request, arguments);
        let Ok(bytes) = seal::open(keys, &binding, state, asking.state_bytes) else {
            return Ok(None);
        };
        let Ok(sealed) = serde_json::from_slice::<SealedState<T>>(&bytes) else {
            return Ok(None);
        };
        Ok(sealed.fresh(self.shared.clock().now(), asking.round_ttl))
    }

    fn binding<'a>(&'a self, request: &'a OtherRequest, arguments: [u8; 32]) -> Binding<'a> {
        Binding {
            target: request.target().unwrap_or_default(),
            arguments,
            revision: self.origin.revision.as_str(),
            ..self.shared.binding(self.principal(), request.method())
        }
    }
}

pub(crate) struct Room {
    _charge: Charge,
}

#[derive(Serialize, Deserialize)]
struct SealedState<T> {
    #[serde(rename = "i")]
    issued: Millis,
    #[serde(rename = "s")]
    state: T,
}

impl<T> SealedState<T> {
    fn fresh(self, now: Millis, ttl: Duration) -> Option<T> {
        let age = now.saturating_sub(self.issued);
        (age <= millis(ttl)).then_some(self.state)
    }
}

/// The digest of a request's parameters, without the answers and the state of its round.
pub(crate) fn arguments_digest(request: &OtherRequest) -> Result<[u8; 32]> {
    let mut request = request.clone();
    request.set_round(None, None)?;
    let params = request.params().cloned().unwrap_or_default();
    canonical::digest_of(&params).map_err(Error::invalid_params)
}

/// The client of a connection, outside of its requests. The handle does not keep the connection
/// open.
#[derive(Clone)]
pub struct ForwardClient(pub(super) Weak<dyn SessionClient>);

pub(super) trait SessionClient: Send + Sync {
    fn peer(self: Arc<Self>) -> Arc<dyn AskingPeer>;

    fn origin(&self) -> Option<Arc<Origin>>;

    fn end_subscription(&self, id: &RequestId, error: Option<&ErrorObject>) -> bool;
}

impl ForwardClient {
    /// Returns whether a session is open whose client supports this question.
    #[must_use]
    pub fn takes(&self, question: &InputRequest) -> bool {
        let origin = self.0.upgrade().and_then(|client| client.origin());
        origin.is_some_and(|origin| missing_for(&origin, question).is_none())
    }

    /// Asks the client of a session, like [`ForwardCtx::ask`].
    ///
    /// # Errors
    ///
    /// The client's error, or an error if the client does not support the question or no session is
    /// open.
    pub async fn ask(&self, key: Option<&str>, question: InputRequest) -> Result<RawJson> {
        let over = || Error::new("no session is open");
        let client = self.0.upgrade().ok_or_else(over)?;
        let origin = client.origin().ok_or_else(over)?;
        ask(&*client.peer(), &origin, key, question).await
    }

    /// Sends the client of a session a notification. A log message also reaches a client without a
    /// session if one of its running requests asks for it.
    pub fn notify(&self, notification: ServerNotification) {
        if let Some(client) = self.0.upgrade() {
            client.peer().notify(notification);
        }
    }

    /// Ends a subscription of the client, because the server behind this one refused or ended it. Sends `error`, or a
    /// result if there is no error. Returns whether the subscription was open.
    pub fn end_subscription(&self, subscription: &RequestId, error: Option<&ErrorObject>) -> bool {
        let client = self.0.upgrade();
        client.is_some_and(|client| client.end_subscription(subscription, error))
    }

    /// Tells the client that the interaction at a link is complete (2025-11-25, client/elicitation,
    /// Completion Notifications).
    pub fn complete_elicitation(&self, elicitation_id: String) {
        if let Some(client) = self.0.upgrade() {
            client.peer().complete_elicitation(elicitation_id);
        }
    }
}

async fn ask(
    peer: &dyn AskingPeer,
    origin: &Origin,
    key: Option<&str>,
    question: InputRequest,
) -> Result<RawJson> {
    if let Some(missing) = missing_for(origin, &question) {
        return Err(AskError::Unsupported(missing).into());
    }
    let asked = peer.ask(key.unwrap_or_default(), CheckedRequest::forwarded(question));
    match asked.await {
        Reply::Value(answer) => Ok(answer),
        Reply::Error { code, message } => Err(Error::protocol(ErrorObject::new(code, message))),
        reply => Ok(reply.into_value()?),
    }
}

impl Server {
    pub(crate) async fn serve_on(
        &self,
        channel: Channel,
        received: Vec<Vec<u8>>,
        signal: impl Future<Output = ()>,
    ) -> io::Result<()> {
        connection::serve(Arc::clone(&self.0), channel, received, signal).await
    }
}

impl ServerBuilder {
    pub(crate) fn described_as(
        mut self,
        info: Implementation,
        instructions: Option<String>,
    ) -> Self {
        self.info = info;
        self.instructions = instructions;
        self
    }

    /// Forwards all requests, for example to another server. This server then has no tools, prompts
    /// or resources of its own, and no rate limit, because the other server has one.
    pub fn forward(mut self, to: impl Forward) -> Self {
        self.forward = Some(Arc::new(to));
        self.without_rate_limit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_state_is_too_old_after_the_time_of_a_round() {
        for (now, is_fresh) in [(1_000, true), (61_000, true), (61_001, false)] {
            let sealed = SealedState {
                issued: 1_000,
                state: (),
            };
            let state = sealed.fresh(now, Duration::from_secs(60));
            assert_eq!(state.is_some(), is_fresh, "{now}");
        }
    }
}
