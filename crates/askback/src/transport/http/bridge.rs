//! The task that sends messages and routes responses.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use askback_core::{
    engine::client::{ClientError, ClientMessage, MessageKind, RequestLoss},
    future::BoxFuture,
    jsonrpc::RequestId,
};
use bytes::Bytes;
use futures_util::{
    FutureExt as _, StreamExt as _,
    future::{AbortHandle, Abortable, Aborted},
    stream::FuturesUnordered,
};
use tokio::sync::mpsc;

use super::{
    era::ServerEra,
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
    ongoing: FuturesUnordered<Abortable<BoxFuture<'static, Outcome>>>,
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

struct Outcome {
    id: Option<RequestId>,
    role: Role,
    ended: BridgeOutcome,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// The next message waits for its end.
    Holds,
    /// It runs to its end even if the client closes.
    Parts,
    Other,
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
        let ended = |why| *end.lock().unwrap_or_else(PoisonError::into_inner) = why;
        // It is not replaced if an exchange panics, or the functions of the program that it calls.
        ended(Some(
            "the client panicked: the message of the panic on stderr says where".to_owned(),
        ));
        // Closing the client ends all responses that the server holds open.
        let why = tokio::select! {
            why = self.carry(sent) => why,
            () = state.incoming.closed() => None,
        };
        self.ongoing.clear();
        let is_lost = why.is_some();
        ended(why);
        if !is_lost {
            self.state.delete_session().await;
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
                        self.begin(old::tell(state, endpoint, Some(sent.id), bytes));
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
        let role = match request.cancels_task() {
            true => Role::Parts,
            false => Role::Other,
        };
        let work = exchange(Arc::clone(&self.state), request);
        let end = self.push(Some(id.clone()), role, work);
        self.by_request.insert(id, end);
    }

    fn begin(&mut self, work: impl Future<Output = BridgeOutcome> + Send + 'static) {
        self.push(None, Role::Other, work);
    }

    fn tell(&mut self, work: impl Future<Output = BridgeOutcome> + Send + 'static) {
        self.push(None, Role::Parts, work);
    }

    /// Starts a task that the next message waits for, because it needs the open session. Requests
    /// in flight continue.
    fn hold(&mut self, work: impl Future<Output = BridgeOutcome> + Send + 'static) {
        self.is_held = true;
        self.push(None, Role::Holds, work);
    }

    fn push(
        &mut self,
        id: Option<RequestId>,
        role: Role,
        work: impl Future<Output = BridgeOutcome> + Send + 'static,
    ) -> AbortHandle {
        self.parting += usize::from(role == Role::Parts);
        let (end, registration) = AbortHandle::new_pair();
        // An async block would move the exchange once more, and need twice its memory.
        let work: BoxFuture<'static, Outcome> =
            Box::pin(work.map(move |ended| Outcome { id, role, ended }));
        self.ongoing.push(Abortable::new(work, registration));
        end
    }

    async fn ended(&mut self, outcome: Result<Outcome, Aborted>) -> BridgeOutcome {
        let Ok(Outcome { id, role, ended }) = outcome else {
            return BridgeOutcome::Done;
        };
        match role {
            Role::Holds => self.is_held = false,
            Role::Parts => self.parting -= 1,
            Role::Other => {}
        }
        if let Some(id) = &id {
            self.by_request.remove(id);
        }
        match (ended, id) {
            (BridgeOutcome::TryOld { request, error }, _) => {
                self.open_old(*request, Some(error)).await
            }
            (BridgeOutcome::Initialized, _) => {
                self.is_listening = true;
                self.begin(listen(Arc::clone(&self.state)));
                BridgeOutcome::Done
            }
            (BridgeOutcome::Elsewhere(error), Some(id)) => {
                // Which of them the stream has answered is not known here; most likely the oldest.
                if self.elsewhere.len() >= self.most {
                    self.elsewhere.pop_first();
                }
                self.elsewhere.insert(id, error);
                self.lose_elsewhere();
                BridgeOutcome::Done
            }
            (BridgeOutcome::Deaf, _) => {
                self.is_listening = false;
                self.lose_elsewhere();
                BridgeOutcome::Done
            }
            (ended, _) => ended,
        }
    }

    fn lose_elsewhere(&mut self) {
        if self.is_listening || self.elsewhere.is_empty() {
            return;
        }
        let lost = std::mem::take(&mut self.elsewhere);
        let state = Arc::clone(&self.state);
        self.begin(async move {
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
                self.state.era.set(Some(ServerEra::EventsAndMessages));
                self.begin(old::listen(Arc::clone(&self.state), events));
                let id = Some(request.id().clone());
                let (state, to) = (Arc::clone(&self.state), endpoint.clone());
                self.begin(old::tell(state, to, id, request.bytes));
                self.shape = Shape::Old(endpoint);
            }
            Err(other) => {
                self.state.era.set(None);
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

fn with(error: ClientError, old: &ClientError) -> ClientError {
    match error {
        ClientError::Http { status, why } => ClientError::Http {
            status,
            why: format!("{why}; and as a server of the older transport: {old}"),
        },
        error => error,
    }
}
