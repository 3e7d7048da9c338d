use std::{
    fmt,
    future::{Future, poll_fn},
    marker::PhantomData,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use askback_core::{
    engine::client::{CallId, ClientError},
    protocol::{
        CallToolParams, CallToolResult, ClientRequest, GetPromptParams, GetPromptResult, Outcome,
        ReadResourceParams, ReadResourceResult, ResultWithEntries,
    },
};
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

#[cfg(feature = "json-schema")]
use super::outputs::ExpectedOutput;
use super::{
    Client, Received,
    command::{CallOutcome, Command},
    received::unreadable,
    trace::SentSpan,
};

/// A call in progress: a future that sends the call when first polled, and cancels it at the server if dropped early.
/// Like a [`Client`], it keeps the connection open.
#[must_use = "a call is sent when it is awaited"]
pub struct PendingCall<T> {
    id: CallId,
    stage: Stage,
    /// The schema that the result must fit; set when the call is sent.
    #[cfg(feature = "json-schema")]
    output: Option<ExpectedOutput>,
    result: PhantomData<fn() -> T>,
}

/// Parameters of a request whose result may ask (2026-07-28, basic/patterns/mrtr, Supported Requests), for
/// [`Client::call_round`]: [`CallToolParams`], [`GetPromptParams`] and [`ReadResourceParams`].
pub trait RoundParams: sealed::RoundRequest {}

mod sealed {
    use askback_core::protocol::ClientRequest;

    use super::CallResult;

    pub trait RoundRequest {
        type Result: CallResult;

        fn into_request(self) -> ClientRequest;
    }
}

macro_rules! round_params {
    ($($params:ident: $variant:ident => $result:ident;)*) => {
        $(
            impl sealed::RoundRequest for $params {
                type Result = $result;

                fn into_request(self) -> ClientRequest {
                    ClientRequest::$variant(self)
                }
            }

            impl RoundParams for $params {}
        )*
    };
}

round_params! {
    CallToolParams: CallTool => CallToolResult;
    GetPromptParams: GetPrompt => GetPromptResult;
    ReadResourceParams: ReadResource => ReadResourceResult;
}

/// The result type of a call.
pub trait CallResult: DeserializeOwned + Send + Sync + 'static {
    /// Reads a result.
    fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Reads a result that may also ask.
    fn outcome(raw: &RawValue) -> Result<Outcome<Self>, serde_json::Error> {
        Outcome::parse(raw)
    }

    /// Returns a tool's result, which must fit the output schema.
    #[cfg(feature = "json-schema")]
    fn of_tool(&self) -> Option<&CallToolResult> {
        None
    }
}

impl CallResult for CallToolResult {
    fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        Self::from_text(text)
    }

    fn outcome(raw: &RawValue) -> Result<Outcome<Self>, serde_json::Error> {
        Outcome::parse_call(raw)
    }

    #[cfg(feature = "json-schema")]
    fn of_tool(&self) -> Option<&CallToolResult> {
        Some(self)
    }
}

impl CallResult for GetPromptResult {
    fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        ResultWithEntries::from_text(text)
    }
}

impl CallResult for ReadResourceResult {
    fn from_text(text: &str) -> Result<Self, serde_json::Error> {
        ResultWithEntries::from_text(text)
    }
}

enum Stage {
    Ready(Client, Box<ClientRequest>),
    Sent(CancelGuard, oneshot::Receiver<CallOutcome>, SentSpan),
    Ended(Option<ClientError>),
}

pub(super) struct CancelGuard {
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

    /// Returns the call's id, which is also in [`Event::Progress`](super::Event::Progress) and in the call's questions.
    #[must_use]
    pub fn id(&self) -> CallId {
        self.id
    }
}

impl<T: CallResult> Future for PendingCall<T> {
    type Output = Result<Received<T>, ClientError>;

    /// # Panics
    ///
    /// If it is polled after completion.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let received: Result<Received<T>, _> =
            ready!(self.poll_outcome(cx)).and_then(|raw| Received::read(raw, T::from_text));
        #[cfg(feature = "json-schema")]
        if let (Ok(result), Some(output)) = (&received, self.output.take())
            && let Some(of_tool) = result.of_tool()
        {
            output.check(of_tool)?;
        }
        Poll::Ready(received)
    }
}

impl<T> PendingCall<T> {
    pub(crate) async fn outcome(mut self) -> CallOutcome {
        poll_fn(|cx| self.poll_outcome(cx)).await
    }

    /// Sends the call if it has not been sent, and polls for the result as it was received.
    ///
    /// # Panics
    ///
    /// If it is polled after completion.
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
        {
            self.output = client.output_of(&request);
        }
        let span = SentSpan::begin(&client, &mut request);
        let (reply, result) = oneshot::channel();
        self.stage = match client.send(self.id, request, reply, None) {
            Ok(calling) => Stage::Sent(calling, result, span),
            Err(error) => Stage::Ended(Some(error)),
        };
    }
}

impl PendingCall<CallToolResult> {
    /// Stops waiting. If the call became a task, the task continues at the server, and its open questions wait until a
    /// client [resumes it](Client::resume_task). A call without a task is cancelled, as on drop.
    ///
    /// [`Event::Task`](super::Event::Task) has the id of the task.
    pub fn leave(mut self) {
        if let Stage::Sent(calling, ..) = mem::replace(&mut self.stage, Stage::Ended(None)) {
            calling.leave();
        }
    }
}

impl<T: CallResult> PendingCall<T> {
    pub(super) async fn round(mut self) -> Result<Received<Outcome<T>>, ClientError> {
        let raw = poll_fn(|cx| self.poll_outcome(cx)).await?;
        let value = T::outcome(&raw).map_err(|error| unreadable(&error, &raw))?;
        #[cfg(feature = "json-schema")]
        if let (Outcome::Done(result), Some(output)) = (&value, self.output.take())
            && let Some(of_tool) = result.of_tool()
        {
            output.check(of_tool)?;
        }
        Ok(Received { value, raw })
    }
}

impl<T> fmt::Debug for PendingCall<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCall")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl CancelGuard {
    pub(super) fn new(client: &Client, id: CallId) -> Self {
        Self {
            client: client.clone(),
            id,
            ended: false,
        }
    }

    pub(super) fn end(mut self) -> CallId {
        self.ended = true;
        self.id
    }

    fn leave(self) {
        let client = self.client.clone();
        // If this fails, the client is closed and has left all its tasks.
        let _ = client.inner.commands.send(Command::Leave(self.end()));
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if !self.ended {
            // If this fails, the client is closed and has cancelled the call.
            let _ = self.client.inner.commands.send(Command::Cancel(self.id));
        }
    }
}
