//! The task that sends messages and routes responses.

use std::{
    collections::BTreeMap,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use askback_core::{
    engine::client::{ClientError, ClientMessage, MessageKind, RequestLoss},
    future::BoxFuture,
    jsonrpc::RequestId,
};
use bytes::Bytes;
use futures_util::{
    StreamExt as _,
    future::{AbortHandle, Abortable, Aborted},
    stream::FuturesUnordered,
};
use tokio::sync::mpsc;

use super::{
    eras::ServerEra,
    exchange::{exchange, tell},
    message::PendingRequest,
    old,
    send::{HttpState, Target},
    stream::listen,
};

/// The task behind the channel: it takes the engine's messages and polls all running requests. A
/// task per request would cost more than the response it waits for, so the responses to one client
/// are read one after another.
pub(super) struct Bridge {
    state: Arc<HttpState>,
    shape: Shape,
    ongoing: FuturesUnordered<Abortable<BridgeTask>>,
    by_request: BTreeMap<RequestId, AbortHandle>,
    /// Whether the client has opened the server's event stream, or is about to.
    is_listening: bool,
    /// Requests whose responses can only arrive on the client's event stream, and their errors if
    /// it ends.
    elsewhere: BTreeMap<RequestId, ClientError>,
    /// The limit of concurrent requests and notifications.
    most: usize,
    /// A task must end before the next message is sent.
    is_held: bool,
    /// The number of tasks that run to their end even if the client closes.
    parting: usize,
}

#[derive(Debug)]
pub(super) enum BridgeOutcome {
    Done,
    /// The server knows that the session is open, so the event stream can be opened.
    Initialized,
    /// The response may arrive on the client's event stream. Without that stream, the request fails
    /// with this error.
    Elsewhere(ClientError),
    /// The event stream is closed: the server does not offer one.
    Deaf,
    /// The connection cannot be used any more, for this reason.
    Over(String),
    /// The server does not accept `initialize`, but may use the older transport.
    TryOld {
        request: Box<PendingRequest>,
        error: ClientError,
    },
}

struct BridgeTask {
    id: Option<RequestId>,
    /// Whether the next message waits for this task.
    holds: bool,
    /// Whether this task runs to its end even if the client closes.
    parts: bool,
    work: BoxFuture<'static, BridgeOutcome>,
}

struct Outcome {
    id: Option<RequestId>,
    holds: bool,
    parts: bool,
    /// `None` if the task panicked.
    ended: Option<BridgeOutcome>,
}

enum Shape {
    /// One endpoint. Each message says which era it belongs to.
    Streamable,
    /// The older pair of URLs, remembered but not yet opened.
    RememberedOld,
    /// The older pair of URLs, and the URL for messages.
    Old(Target),
}

impl Bridge {
    pub(super) fn new(state: HttpState, old: bool) -> Self {
        Self {
            most: state.limits.wire.requests_in_flight.saturating_mul(2),
            state: Arc::new(state),
            shape: if old {
                Shape::RememberedOld
            } else {
                Shape::Streamable
            },
            ongoing: FuturesUnordered::new(),
            by_request: BTreeMap::new(),
            is_listening: false,
            elsewhere: BTreeMap::new(),
            is_held: false,
            parting: 0,
        }
    }

    pub(super) async fn run(
        mut self,
        sent: mpsc::Receiver<ClientMessage>,
        end: Arc<Mutex<Option<String>>>,
    ) {
        let state = Arc::clone(&self.state);
        // Closing the client ends all responses that the server holds open.
        let why = tokio::select! {
            why = self.carry(sent) => why,
            () = state.incoming.closed() => None,
        };
        self.ongoing.clear();
        match why {
            Some(why) => *end.lock().unwrap_or_else(PoisonError::into_inner) = Some(why),
            None => self.state.delete_session().await,
        }
    }

    async fn carry(&mut self, mut sent: mpsc::Receiver<ClientMessage>) -> Option<String> {
        loop {
            let ended = tokio::select! {
                message = sent.recv(), if !self.is_held && self.ongoing.len() < self.most => match message {
                    None => return self.part().await,
                    Some(message) => self.send(message).await,
                },
                Some(outcome) = self.ongoing.next() => self.ended(outcome).await,
            };
            if let BridgeOutcome::Over(why) = ended {
                return Some(why);
            }
        }
    }

    /// Waits until the server has received the last notifications, such as a task's cancellation.
    /// Returns the reason if the server's side ended. The caller limits the time.
    async fn part(&mut self) -> Option<String> {
        while self.parting > 0 {
            let outcome = self.ongoing.next().await?;
            if let BridgeOutcome::Over(why) = self.ended(outcome).await {
                return Some(why);
            }
        }
        None
    }

    async fn send(&mut self, message: ClientMessage) -> BridgeOutcome {
        let ClientMessage { bytes, kind } = message;
        let bytes = Bytes::from(bytes);
        match (&self.shape, kind) {
            (Shape::Old(endpoint), kind) => {
                let (state, endpoint) = (Arc::clone(&self.state), endpoint.clone());
                match kind {
                    MessageKind::Initialized(_) => {
                        self.hold(old::tell(state, endpoint, None, bytes));
                    }
                    MessageKind::Request(sent) => {
                        self.begin(None, old::tell(state, endpoint, Some(sent.id), bytes));
                    }
                    MessageKind::Cancelled(_) | MessageKind::Other => {
                        self.tell(old::tell(state, endpoint, None, bytes));
                    }
                }
            }
            (Shape::RememberedOld, MessageKind::Request(sent)) => {
                let request = PendingRequest::new(*sent, bytes);
                if request.is_initialize() {
                    return self.open_old(request, None).await;
                }
                self.ask(request);
            }
            (Shape::Streamable, MessageKind::Request(sent)) => {
                self.ask(PendingRequest::new(*sent, bytes));
            }
            (_, MessageKind::Initialized(revision)) => {
                self.state.session().revision = Some(revision);
                let state = Arc::clone(&self.state);
                self.hold(async move {
                    match tell(state, bytes).await {
                        BridgeOutcome::Done => BridgeOutcome::Initialized,
                        ended => ended,
                    }
                });
            }
            (_, MessageKind::Cancelled(id)) => {
                let stands_alone = self.state.session().revision.is_none();
                if let Some(end) = self.by_request.remove(&id) {
                    end.abort();
                }
                self.elsewhere.remove(&id);
                // A stateless request is cancelled by closing its connection (2026-07-28,
                // basic/transports/streamable-http, Cancellation).
                if !stands_alone {
                    self.tell(tell(Arc::clone(&self.state), bytes));
                }
            }
            (_, MessageKind::Other) => {
                self.tell(tell(Arc::clone(&self.state), bytes));
            }
        }
        BridgeOutcome::Done
    }

    fn ask(&mut self, request: PendingRequest) {
        let id = request.id().clone();
        let parts = request.cancels_task();
        let work = Box::pin(exchange(Arc::clone(&self.state), request));
        let end = self.push(BridgeTask {
            id: Some(id.clone()),
            holds: false,
            parts,
            work,
        });
        self.by_request.insert(id, end);
    }

    fn begin(
        &mut self,
        id: Option<RequestId>,
        work: impl Future<Output = BridgeOutcome> + Send + 'static,
    ) -> AbortHandle {
        let work = Box::pin(work);
        self.push(BridgeTask {
            id,
            holds: false,
            parts: false,
            work,
        })
    }

    fn tell(&mut self, work: impl Future<Output = BridgeOutcome> + Send + 'static) {
        self.push(BridgeTask {
            id: None,
            holds: false,
            parts: true,
            work: Box::pin(work),
        });
    }

    /// Starts a task that the next message waits for, because it needs the open session. Requests
    /// in flight continue.
    fn hold(&mut self, work: impl Future<Output = BridgeOutcome> + Send + 'static) {
        self.is_held = true;
        self.push(BridgeTask {
            id: None,
            holds: true,
            parts: false,
            work: Box::pin(work),
        });
    }

    fn push(&mut self, ongoing: BridgeTask) -> AbortHandle {
        self.parting += usize::from(ongoing.parts);
        let (end, registration) = AbortHandle::new_pair();
        self.ongoing.push(Abortable::new(ongoing, registration));
        end
    }

    async fn ended(&mut self, outcome: Result<Outcome, Aborted>) -> BridgeOutcome {
        let Ok(outcome) = outcome else {
            return BridgeOutcome::Done;
        };
        let Outcome {
            id,
            holds,
            parts,
            ended,
        } = outcome;
        self.parting -= usize::from(parts);
        if holds {
            self.is_held = false;
        }
        if let Some(id) = &id {
            self.by_request.remove(id);
        }
        match (ended, id) {
            (Some(BridgeOutcome::TryOld { request, error }), _) => {
                self.open_old(*request, Some(error)).await
            }
            (Some(BridgeOutcome::Initialized), _) => {
                self.is_listening = true;
                self.begin(None, listen(Arc::clone(&self.state)));
                BridgeOutcome::Done
            }
            (Some(BridgeOutcome::Elsewhere(error)), Some(id)) => {
                // Which of them the stream has answered is not known here; most likely the oldest.
                if self.elsewhere.len() >= self.most {
                    self.elsewhere.pop_first();
                }
                self.elsewhere.insert(id, error);
                self.lose_elsewhere();
                BridgeOutcome::Done
            }
            (Some(BridgeOutcome::Deaf), _) => {
                self.is_listening = false;
                self.lose_elsewhere();
                BridgeOutcome::Done
            }
            (Some(ended), _) => ended,
            (None, Some(id)) => {
                let why = "the exchange of the request panicked".to_owned();
                self.state.lose(id, RequestLoss::Broken(why)).await;
                BridgeOutcome::Done
            }
            (None, None) => BridgeOutcome::Done,
        }
    }

    fn lose_elsewhere(&mut self) {
        if self.is_listening || self.elsewhere.is_empty() {
            return;
        }
        let lost = std::mem::take(&mut self.elsewhere);
        let state = Arc::clone(&self.state);
        self.begin(None, async move {
            for (id, error) in lost {
                state.lose(id, RequestLoss::Failed(error)).await;
            }
            BridgeOutcome::Done
        });
    }

    /// Opens the older transport after the handshake failed with `error`, or if the server is known
    /// to need it.
    async fn open_old(
        &mut self,
        request: PendingRequest,
        error: Option<ClientError>,
    ) -> BridgeOutcome {
        match old::open(&self.state).await {
            Ok((endpoint, events)) => {
                self.state
                    .eras
                    .learn(&self.state.target.url, ServerEra::EventsAndMessages);
                self.begin(None, old::listen(Arc::clone(&self.state), events));
                let id = Some(request.id().clone());
                let (state, to) = (Arc::clone(&self.state), endpoint.clone());
                self.begin(None, old::tell(state, to, id, request.bytes));
                self.shape = Shape::Old(endpoint);
            }
            Err(other) => {
                self.state.eras.forget(&self.state.target.url);
                self.shape = Shape::Streamable;
                match error {
                    Some(error) => {
                        let lost = RequestLoss::Failed(with(error, &other));
                        self.state.lose(request.id().clone(), lost).await;
                    }
                    None => self.ask(request),
                }
            }
        }
        BridgeOutcome::Done
    }
}

impl Future for BridgeTask {
    type Output = Outcome;

    /// A panic ends only the task that panicked.
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Outcome> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.work.as_mut().poll(cx)));
        let ended = match polled {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(ended)) => Some(ended),
            Err(_) => None,
        };
        Poll::Ready(Outcome {
            id: self.id.take(),
            holds: self.holds,
            parts: self.parts,
            ended,
        })
    }
}

fn with(error: ClientError, old: &ClientError) -> ClientError {
    match error {
        ClientError::Http { status, why } => ClientError::Http {
            status,
            why: format!("{why}; and as a server of the older transport: {old}"),
        },
        error => error,
    }
}
