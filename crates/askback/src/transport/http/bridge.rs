//! Which message goes where.

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

/// The task behind the channel: it takes what the engine sends, and carries all requests that are under
/// way. They are no tasks of their own, each of which would cost more than the answer it waits for. The
/// answers to one client are therefore read one after another.
pub(super) struct Bridge {
    state: Arc<HttpState>,
    shape: Shape,
    ongoing: FuturesUnordered<Abortable<BridgeTask>>,
    by_request: BTreeMap<RequestId, AbortHandle>,
    /// Whether the client listens to the server, or is about to.
    is_listening: bool,
    /// Requests whose responses can only come on the stream that the client listens on, and their errors if it ends.
    elsewhere: BTreeMap<RequestId, ClientError>,
    /// How many go on at a time at most: requests, and what is said beside them.
    most: usize,
    /// Something goes on that has to end before the next message is sent.
    is_held: bool,
    /// How many go on that are heard to their end although nobody listens any more.
    parting: usize,
}

/// How something that the bridge carries ended.
#[derive(Debug)]
pub(super) enum BridgeOutcome {
    /// As it should.
    Done,
    /// The server knows that the session is open: it may be listened to.
    Initialized,
    /// The response may come on the stream that the client listens on. Without that stream, the request ends with this
    /// error.
    Elsewhere(ClientError),
    /// The client no longer listens: the server has no stream for that.
    Deaf,
    /// Nothing more can be said on this connection, for the reason given.
    Over(String),
    /// The server does not take `initialize`, but may speak the older transport.
    TryOld {
        request: Box<PendingRequest>,
        error: ClientError,
    },
}

/// Something that goes on: a request, or what is said beside.
struct BridgeTask {
    id: Option<RequestId>,
    /// Whether the next message waits for its end.
    holds: bool,
    /// Whether it is one of those that are heard to their end.
    parts: bool,
    work: BoxFuture<'static, BridgeOutcome>,
}

/// How something ended.
struct Outcome {
    id: Option<RequestId>,
    holds: bool,
    parts: bool,
    /// Nothing where it panicked.
    ended: Option<BridgeOutcome>,
}

/// Which transport is spoken.
enum Shape {
    /// One endpoint; in which era, each message says itself.
    Streamable,
    /// The older pair of URLs, as it is remembered; it was not yet opened.
    RememberedOld,
    /// The older pair of URLs, and where messages go.
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

    /// Carries messages until either side ends; why the server's side did is left in `end`.
    pub(super) async fn run(
        mut self,
        sent: mpsc::Receiver<ClientMessage>,
        end: Arc<Mutex<Option<String>>>,
    ) {
        let state = Arc::clone(&self.state);
        // Whatever a server keeps waiting: it is over when nobody listens any more.
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

    /// Carries messages; says why the server's side ended, if it did.
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

    /// Waits until the server has heard what is told to it at the end, such as that a task is cancelled;
    /// says why the server's side ended, if it did. Whoever closes the client bounds the time.
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
                // Where a request stands alone, hanging up is how it is cancelled
                // (2026-07-28, basic/transports/streamable-http, Cancellation).
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

    /// Begins with what is told to the server, and asks nothing.
    fn tell(&mut self, work: impl Future<Output = BridgeOutcome> + Send + 'static) {
        self.push(BridgeTask {
            id: None,
            holds: false,
            parts: true,
            work: Box::pin(work),
        });
    }

    /// Begins with what the next message waits for: it must find the session open. The requests that are
    /// under way go on beside it.
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
                // Which of them the stream has answered is not known here: the oldest most likely.
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

    /// Ends the requests whose responses cannot come, because the client does not listen.
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

    /// Opens the older transport for a handshake that failed with `error`, or is known to want it.
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

    /// A panic ends only the work that panicked.
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

/// Why the handshake failed, and the older transport beside.
fn with(error: ClientError, old: &ClientError) -> ClientError {
    match error {
        ClientError::Http { status, why } => ClientError::Http {
            status,
            why: format!("{why}; and as a server of the older transport: {old}"),
        },
        error => error,
    }
}
