//! The driver of a client's engine. It is the only async part of a client.

use std::{collections::HashMap, future::pending, io, ops::ControlFlow, sync::Arc, time::Duration};

use askback_core::{
    auth::AuthorizationContext,
    engine::client::{
        CallId, ClientError, Connection, Event, Output, Profile, ServerEnd, Timeouts,
    },
    jsonrpc::ErrorObject,
    limits::Limits,
    protocol::{CallToolParams, ClientRequest, SubscriptionFilter},
};
use tokio::{
    sync::{mpsc, oneshot},
    task::{Id, JoinError, yield_now},
    time::{Instant, sleep},
};

use super::{
    Client, Shared,
    command::{CallMode, Command, Reply},
    connection::{ConnectionEvent, ConnectionState, OpenConnection, Outbox},
    host::Host,
    questions::{HostAnswer, Questions},
    trace::Propagator,
};
use crate::transport::{Connect, Link, Pause, Report};

pub(super) struct Handles {
    pub(super) timeouts: Timeouts,
    pub(super) propagate: Option<Propagator>,
    pub(super) checks_results: bool,
}

pub(super) async fn start(
    profile: Profile,
    host: Arc<Host>,
    handles: Handles,
    connector: Box<dyn Connect>,
) -> Result<Client, ClientError> {
    let (commands, received) = mpsc::unbounded_channel();
    let (opened, is_open) = oneshot::channel();
    let limits = profile.limits.clone();
    let driver = Driver {
        limits: limits.clone(),
        engine: Connection::new(profile),
        host,
        shared: None,
        checks_results: handles.checks_results,
        connection: ConnectionState::Closed(connector),
        outbox: Outbox::new(limits.wire.message_bytes),
        calls: HashMap::new(),
        questions: Questions::default(),
        pause: Pause::default(),
        paused: Duration::ZERO,
        authorization: AuthorizationContext::default(),
        opened: Some(opened),
        started: Instant::now(),
    };
    driver.begin(received);
    let shared = is_open.await.unwrap_or(Err(ClientError::Closed))?;
    Ok(Client::new(commands, shared, limits, handles))
}

struct Driver {
    engine: Connection,
    host: Arc<Host>,
    /// State shared with the handles; `None` until the connection is open.
    shared: Option<Arc<Shared>>,
    checks_results: bool,
    limits: Limits,
    connection: ConnectionState,
    outbox: Outbox,
    calls: HashMap<CallId, PendingReply>,
    questions: Questions,
    /// When and for how long the transport has waited for something other than the server.
    pause: Pause,
    paused: Duration,
    authorization: AuthorizationContext,
    opened: Option<oneshot::Sender<Result<Arc<Shared>, ClientError>>>,
    started: Instant,
}

struct PendingReply {
    reply: Reply,
    /// For a subscription that has not begun: receives what was granted.
    granted: Option<oneshot::Sender<SubscriptionFilter>>,
}

/// The maximum number of events to handle before yielding to other tasks and sending messages.
const TURN: usize = 64;

/// How a turn ended.
enum Turn {
    /// All events that had happened are handled.
    Done,
    /// There may be more.
    Full,
}

enum DriverEvent {
    Command(Option<Command>),
    Connection(ConnectionEvent),
    Answered(Result<(Id, HostAnswer), JoinError>),
    Timeout,
    Paused,
}

impl Driver {
    /// Spawns the driver. Not an `async fn`, because then every program that awaits it would compile the whole client
    /// again.
    fn begin(self, commands: mpsc::UnboundedReceiver<Command>) {
        tokio::spawn(self.run(commands));
    }

    async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) {
        self.drain();
        let closed = loop {
            let happened = self.next(&mut commands).await;
            match self.turn(happened, &mut commands) {
                ControlFlow::Break(closed) => break closed,
                // The other tasks and the timers run even if the server sends without a pause.
                ControlFlow::Continue(Turn::Full) => yield_now().await,
                ControlFlow::Continue(Turn::Done) => {}
            }
        };
        self.close().await;
        if let Some(done) = closed {
            // The caller of `close` may not be waiting.
            let _ = done.send(());
        }
    }

    /// Waits for the next event. While the server is exiting, nothing else is handled: new requests go to the next
    /// server.
    async fn next(&mut self, commands: &mut mpsc::UnboundedReceiver<Command>) -> DriverEvent {
        let due = self.engine.next_timeout().filter(|_| !self.pause.is_on());
        let left = due.map(|due| due.saturating_sub(self.now()));
        let timeout = async {
            match left {
                Some(Duration::ZERO) => {}
                Some(left) => sleep(left).await,
                None => pending().await,
            }
        };
        let Self {
            connection,
            outbox,
            questions,
            pause,
            limits,
            ..
        } = self;
        if connection.is_ending() {
            return DriverEvent::Connection(connection.next(outbox, limits).await);
        }
        tokio::select! {
            biased;
            () = timeout => DriverEvent::Timeout,
            () = pause.changed() => DriverEvent::Paused,
            joined = questions.next() => DriverEvent::Answered(joined),
            // Sends pending messages before more are added.
            arrived = connection.next(outbox, limits) => DriverEvent::Connection(arrived),
            command = commands.recv() => DriverEvent::Command(command),
        }
    }

    /// Handles an event and all others that have already happened. Breaks if the client is closed.
    fn turn(
        &mut self,
        first: DriverEvent,
        commands: &mut mpsc::UnboundedReceiver<Command>,
    ) -> ControlFlow<Option<oneshot::Sender<()>>, Turn> {
        let mut happened = first;
        for left in (0..TURN).rev() {
            self.authorize();
            match happened {
                DriverEvent::Command(None) => return ControlFlow::Break(None),
                DriverEvent::Command(Some(Command::Close(done))) => {
                    return ControlFlow::Break(Some(done));
                }
                DriverEvent::Command(Some(command)) => self.command(command),
                DriverEvent::Connection(arrived) => self.arrived(arrived),
                DriverEvent::Answered(joined) => self.answered(joined),
                DriverEvent::Timeout => self.engine.handle_timeout(self.now()),
                DriverEvent::Paused => {}
            }
            self.drain();
            if left == 0 {
                break;
            }
            match self.ready(commands) {
                Some(more) => happened = more,
                None => return ControlFlow::Continue(Turn::Done),
            }
        }
        ControlFlow::Continue(Turn::Full)
    }

    fn ready(&mut self, commands: &mut mpsc::UnboundedReceiver<Command>) -> Option<DriverEvent> {
        if self.connection.is_ending() {
            return None;
        }
        match commands.try_recv() {
            Ok(command) => Some(DriverEvent::Command(Some(command))),
            Err(_) => self
                .connection
                .ready(&self.outbox, &self.limits)
                .map(DriverEvent::Connection),
        }
    }

    /// Returns the clock that measures only the server's time.
    fn now(&self) -> Duration {
        let paused = self.paused + self.pause.lasted();
        self.started.elapsed().saturating_sub(paused)
    }

    /// Updates the cache to the current authorization, so that it neither reads nor stores entries of another one.
    fn authorize(&mut self) {
        let context = self.authorization.number();
        if context != self.engine.authorization_context() {
            self.engine.set_authorization_context(context, self.now());
            self.forget_tools();
        }
    }

    fn command(&mut self, command: Command) {
        let now = self.now();
        match command {
            Command::Call {
                id,
                request,
                timeouts,
                manner,
                reply,
                granted,
            } => {
                self.calls.insert(id, PendingReply { reply, granted });
                match (manner, *request) {
                    (
                        CallMode::Task(task_id),
                        ClientRequest::CallTool(CallToolParams { name, .. }),
                    ) => {
                        self.engine
                            .resume_task(id, (*task_id).to_owned(), name, timeouts, now);
                    }
                    (CallMode::Round, request) => {
                        self.engine.call_round(id, request, timeouts, now)
                    }
                    (CallMode::Whole | CallMode::Task(_), request) => {
                        self.engine.call_within(id, request, timeouts, now);
                    }
                }
            }
            Command::Cancel(id) => {
                tracing::debug!("a call is cancelled: the caller no longer waits for the result");
                self.calls.remove(&id);
                self.engine.cancel(id, now);
            }
            Command::Leave(id) => {
                self.calls.remove(&id);
                self.engine.leave_task(id, now);
            }
            Command::RootsChanged => self.engine.roots_changed(),
            Command::Note(note) => self.host.event(Event::Note(note)),
            Command::SetPrincipal(principal) => {
                self.engine.set_principal(principal);
                self.forget_tools();
            }
            Command::Close(_) => {}
        }
    }

    fn arrived(&mut self, arrived: ConnectionEvent) {
        match arrived {
            ConnectionEvent::Message(Ok(Some(message))) => {
                self.engine.handle_received(message, self.now());
            }
            ConnectionEvent::Room(Ok(())) => {}
            ConnectionEvent::Message(Ok(None) | Err(_)) | ConnectionEvent::Room(Err(_)) => {
                self.end(true)
            }
            ConnectionEvent::Stderr(Some(line)) => self.host.event(Event::ServerStderr(line)),
            ConnectionEvent::Stderr(None) => self.connection.forget_stderr(),
            ConnectionEvent::Report(Some(report)) => self.report(report),
            ConnectionEvent::Report(None) => self.connection.forget_reports(),
            ConnectionEvent::Opened(connector, link) => self.open(connector, link),
            ConnectionEvent::Ended(connector, why) => self.ended(connector, &why),
        }
    }

    fn drain(&mut self) {
        while let Some(output) = self.engine.poll() {
            match output {
                Output::Connect => self.connect(),
                Output::Close(error) => {
                    if let Some(opened) = self.opened.take() {
                        let _ = opened.send(Err(error));
                    }
                    self.end(false);
                }
                Output::Send(message) => self.outbox.push(message),
                Output::Opened => self.greet(),
                Output::Ask(id, question) => self.questions.ask(&self.host, id, *question),
                Output::Withdraw(id) => self.questions.withdraw(id),
                Output::Granted(id, filter) => {
                    let waiting = self.calls.get_mut(&id);
                    if let Some(granted) = waiting.and_then(|waiting| waiting.granted.take()) {
                        // If this fails, the caller has stopped listening, and the call is cancelled, too.
                        let _ = granted.send(filter);
                    }
                }
                Output::Done(id, outcome) => {
                    if let Err(error @ (ClientError::TimedOut(_) | ClientError::Host(_))) = &outcome
                    {
                        tracing::debug!(%error, "a call is cancelled");
                    }
                    if let Some(waiting) = self.calls.remove(&id) {
                        let _ = waiting.reply.send(outcome);
                    }
                }
                Output::Event(event) => {
                    if let Event::Cancelled { reason } = &event {
                        tracing::debug!(reason, "the server cancelled a question or subscription");
                    }
                    if matches!(event, Event::ToolsChanged) {
                        self.forget_tools();
                    }
                    self.host.event(event);
                }
            }
        }
    }

    fn forget_tools(&self) {
        if let Some(shared) = &self.shared {
            shared.forget_tools();
        }
    }

    fn greet(&mut self) {
        let Some(greeting) = self.engine.greeting() else {
            return;
        };
        match &self.shared {
            Some(shared) => shared.greet(greeting.clone()),
            None => {
                let shared = Shared::new(greeting.clone(), self.checks_results);
                self.shared = Some(Arc::new(shared));
            }
        }
        if let (Some(shared), Some(opened)) = (&self.shared, self.opened.take()) {
            let _ = opened.send(Ok(Arc::clone(shared)));
        }
    }

    fn connect(&mut self) {
        self.outbox.clear();
        self.connection = match self.connection.take() {
            ConnectionState::Closed(mut connector) => {
                let limits = self.limits.clone();
                ConnectionState::Opening(Box::pin(async move {
                    let link = connector.connect(&limits).await;
                    (connector, link)
                }))
            }
            connection => connection,
        };
    }

    fn open(&mut self, connector: Box<dyn Connect>, link: io::Result<Link>) {
        match link {
            Ok(Link {
                receiver,
                sender,
                stderr,
                behind,
                carrier,
                reports,
                pause,
                authorization,
                tap,
            }) => {
                if let Some(observer) = &self.host.wire {
                    tap.set(observer);
                }
                self.paused += self.pause.lasted();
                self.pause = pause;
                self.authorization = authorization;
                let now = self.now();
                let open = OpenConnection {
                    connector,
                    receiver,
                    sender,
                    stderr,
                    reports,
                    behind,
                    tap,
                    deaf: None,
                };
                self.connection = ConnectionState::Open(Box::new(open));
                if let Some(shared) = &self.shared {
                    shared.restarted();
                }
                self.engine.set_carrier(carrier);
                self.engine.handle_connected(now);
            }
            Err(error) => {
                self.connection = ConnectionState::Closed(connector);
                let now = self.now();
                self.engine
                    .handle_disconnected(&error.to_string().into(), now);
            }
        }
    }

    fn report(&mut self, report: Report) {
        match report {
            Report::Lost(id, lost) => self.engine.handle_lost(&id, lost, self.now()),
            Report::Note(note) => self.host.event(Event::Note(note)),
        }
    }

    fn end(&mut self, tell: bool) {
        self.connection = match self.connection.take() {
            ConnectionState::Open(mut open) => {
                // Reports on single requests come before the end of the connection.
                while let Some(Ok(report)) = open.reports.as_mut().map(mpsc::Receiver::try_recv) {
                    self.report(report);
                }
                let limits = self.limits.clone();
                let stderr = open.stderr.take();
                // A server that is gone does not read any more.
                let rest = if tell {
                    Outbox::new(0)
                } else {
                    self.outbox.take()
                };
                let end = Box::pin(async move { open.end(rest, &limits).await });
                ConnectionState::Ending { end, stderr, tell }
            }
            connection => connection,
        };
    }

    fn ended(&mut self, connector: Box<dyn Connect>, why: &ServerEnd) {
        let ConnectionState::Ending {
            mut stderr, tell, ..
        } = self.connection.take()
        else {
            return;
        };
        self.connection = ConnectionState::Closed(connector);
        // The last lines of stderr may say why the server exited.
        while let Some(Ok(line)) = stderr.as_mut().map(mpsc::Receiver::try_recv) {
            self.host.event(Event::ServerStderr(line));
        }
        if tell {
            self.engine.handle_disconnected(why, self.now());
        }
    }

    fn answered(&mut self, joined: Result<(Id, HostAnswer), JoinError>) {
        let (task, answer) = match joined {
            Ok((task, answer)) => (task, answer),
            Err(error) => (error.id(), Err(ErrorObject::internal("the host panicked"))),
        };
        // The answer to a withdrawn question is dropped.
        if let Some(question) = self.questions.finish(task) {
            self.engine.answer(question, answer, self.now());
        }
    }

    async fn close(mut self) {
        self.calls.clear();
        self.questions.end().await;
        loop {
            match &self.connection {
                ConnectionState::Closed(_) | ConnectionState::Moving => return,
                ConnectionState::Open(_) => self.end(false),
                ConnectionState::Opening(_) | ConnectionState::Ending { .. } => {}
            }
            match self.connection.next(&mut self.outbox, &self.limits).await {
                ConnectionEvent::Opened(connector, link) => self.open(connector, link),
                ConnectionEvent::Ended(connector, why) => self.ended(connector, &why),
                ConnectionEvent::Stderr(Some(line)) => self.host.event(Event::ServerStderr(line)),
                ConnectionEvent::Stderr(None) => self.connection.forget_stderr(),
                _ => {}
            }
        }
    }
}
