//! Calls on their way.

#[cfg(feature = "json-schema")]
use std::sync::Arc;
use std::{
    fmt,
    future::Future,
    marker::PhantomData,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use askback_core::{
    engine::client::{CallId, ClientError},
    protocol::{CallToolResult, ClientRequest, GetPromptResult, ReadResourceResult},
};
use serde::de::DeserializeOwned;
use tokio::sync::oneshot;

#[cfg(feature = "json-schema")]
use super::outputs::OutputSchema;
use super::{
    Client, Received,
    command::{CallOutcome, Command},
    trace::SentSpan,
};

/// A call on its way to its result: a future that sends it when it is first polled, and cancels it
/// at the server when it is dropped before it ended. It keeps the connection open, as a [`Client`]
/// does.
#[must_use = "a call is sent when it is awaited"]
pub struct PendingCall<T> {
    id: CallId,
    stage: Stage,
    /// The schema that the result must fit; known when the call is sent.
    #[cfg(feature = "json-schema")]
    output: Option<Arc<OutputSchema>>,
    result: PhantomData<fn() -> T>,
}

/// The result type of a call.
pub(super) trait CallResult: DeserializeOwned {
    /// Checks it by the output schema of its tool.
    #[cfg(feature = "json-schema")]
    fn check(&self, output: &OutputSchema) -> Result<(), ClientError> {
        let _ = output;
        Ok(())
    }
}

impl CallResult for CallToolResult {
    #[cfg(feature = "json-schema")]
    fn check(&self, output: &OutputSchema) -> Result<(), ClientError> {
        output.check(self)
    }
}

impl CallResult for GetPromptResult {}

impl CallResult for ReadResourceResult {}

enum Stage {
    Ready(Client, Box<ClientRequest>),
    Sent(Calling, oneshot::Receiver<CallOutcome>, SentSpan),
    /// It ends with this, or has ended.
    Ended(Option<ClientError>),
}

/// Cancels a call that is dropped before it ended.
pub(super) struct Calling {
    client: Client,
    id: CallId,
    ended: bool,
}

impl<T> PendingCall<T> {
    pub(super) fn new(client: &Client, request: Result<ClientRequest, ClientError>) -> Self {
        Self {
            id: client.next_id(),
            stage: match request {
                Ok(request) => Stage::Ready(client.clone(), Box::new(request)),
                Err(error) => Stage::Ended(Some(error)),
            },
            #[cfg(feature = "json-schema")]
            output: None,
            result: PhantomData,
        }
    }

    /// Returns the id of the call, by which [`Event::Progress`](super::Event::Progress) and the
    /// questions it leads to name it.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.id
    }
}

impl<T: CallResult> Future for PendingCall<T> {
    type Output = Result<Received<T>, ClientError>;

    /// # Panics
    ///
    /// If it is polled after it ended.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let received: Result<Received<T>, _> =
            ready!(self.poll_outcome(cx)).and_then(Received::read);
        #[cfg(feature = "json-schema")]
        if let (Ok(received), Some(output)) = (&received, self.output.take()) {
            received.check(&output)?;
        }
        Poll::Ready(received)
    }
}

impl<T> PendingCall<T> {
    /// Sends the call if that is still to be done, and polls for its result as it was received.
    ///
    /// # Panics
    ///
    /// If it is polled after it ended.
    pub(super) fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<CallOutcome> {
        loop {
            let outcome = match &mut self.stage {
                Stage::Ended(error) => Err(error.take().expect("a call that ended is not polled")),
                Stage::Sent(_, result, _) => {
                    ready!(Pin::new(result).poll(cx)).unwrap_or(Err(ClientError::Closed))
                }
                Stage::Ready(..) => {
                    self.send();
                    continue;
                }
            };
            if let Stage::Sent(calling, _, span) = mem::replace(&mut self.stage, Stage::Ended(None))
            {
                calling.end();
                span.end(&outcome);
            }
            return Poll::Ready(outcome);
        }
    }

    fn send(&mut self) {
        let Stage::Ready(client, mut request) = mem::replace(&mut self.stage, Stage::Ended(None))
        else {
            return;
        };
        #[cfg(feature = "json-schema")]
        match client.output_of(&request) {
            Ok(output) => self.output = output,
            Err(error) => {
                self.stage = Stage::Ended(Some(error));
                return;
            }
        }
        let span = SentSpan::begin(&client, &mut request);
        let (reply, result) = oneshot::channel();
        self.stage = match client.send(self.id, request, reply, None) {
            Ok(calling) => Stage::Sent(calling, result, span),
            Err(error) => Stage::Ended(Some(error)),
        };
    }
}

impl<T> fmt::Debug for PendingCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCall")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Calling {
    pub(super) fn new(client: &Client, id: CallId) -> Self {
        Self {
            client: client.clone(),
            id,
            ended: false,
        }
    }

    /// The call has ended, or is somebody else's to cancel.
    pub(super) fn end(mut self) -> CallId {
        self.ended = true;
        self.id
    }
}

impl Drop for Calling {
    fn drop(&mut self) {
        if !self.ended {
            // A client that is closed has cancelled it already.
            let _ = self.client.inner.commands.send(Command::Cancel(self.id));
        }
    }
}
