//! Servers that forward their requests to another server (feature `bridge`).
//!
//! [`Forward`] is the extension point: [`ServerBuilder::forward`](crate::ServerBuilder::forward) makes a server that
//! forwards its requests. [`Bridge`] has what most proxies need: one upstream server per client, with all requests,
//! lists, notifications and questions, even if the two sides speak different revisions. Questions go to the client if
//! it supports them, and otherwise to [`Answers`].
//!
//! ```no_run
//! use askback::{bridge::Bridge, transport};
//!
//! # #[cfg(feature = "stdio")]
//! # async fn run() -> std::io::Result<()> {
//! let bridge = Bridge::new(|| transport::Child::command("travel-server"));
//! let limit = askback::Limits::default().wire.message_bytes;
//! bridge.serve(transport::stdio(limit)?).await
//! # }
//! ```

mod greeting;
mod hold;
mod older_server;
mod park;
mod recent_rounds;
mod session;
mod task_questions;
mod upstream;

use std::{
    future::{Future, pending},
    io, iter,
    pin::pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use askback_core::{
    future::BoxFuture,
    jsonrpc::{self, ErrorObject},
    limits::Limits,
    protocol::{
        AnswerSource, ClientCapabilities, ElicitResult, Implementation, InputRequest, InputResponse,
    },
    revision::{Era, Revision},
};
use tokio::time::timeout;

pub use self::hold::Hold;
pub use crate::server::forward::{Forward, ForwardClient, ForwardCtx, Forwarded};

use self::{
    greeting::ClientGreeting, hold::HoldingUpstream, older_server::OlderServer, session::Session,
    upstream::Upstream,
};
use crate::{
    client::{Client, ClientBehind, ClientError, Event, HostQuestion},
    entropy::entropy,
    error::{Error, Result},
    keys::{Key, KeyRing, KeySource},
    server::Server,
    transport::{Channel, Connect},
};

/// Answers the questions that a client does not support.
pub trait Answers: Send + Sync + 'static {
    /// Returns the kinds of questions that this answers. Servers see them as capabilities of every client.
    fn capabilities(&self) -> ClientCapabilities;

    /// Whether a question that this client supports is still answered here, such as a form that the
    /// client cannot draw.
    fn answers_for(&self, client: &Implementation, question: &InputRequest) -> bool {
        let _ = (client, question);
        false
    }

    /// Answers a question. The future is dropped if the question is withdrawn.
    ///
    /// # Errors
    ///
    /// The server gets this error as the answer.
    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, Result<InputResponse>>;

    /// Like [`Answers::answer`]. `withdrawal` says why the future was dropped.
    ///
    /// # Errors
    ///
    /// As [`Answers::answer`].
    fn answer_unless(
        &self,
        question: HostQuestion,
        withdrawal: Withdrawal,
    ) -> BoxFuture<'_, Result<InputResponse>> {
        let _ = withdrawal;
        self.answer(question)
    }
}

/// Receives the reason when a question is withdrawn.
#[derive(Debug, Clone, Default)]
pub struct Withdrawal(Arc<WithdrawalState>);

#[derive(Debug, Default)]
struct WithdrawalState {
    reason: OnceLock<WithdrawalReason>,
    /// If the server does not say which call asks, all calls that may have asked.
    calls: Vec<Withdrawal>,
}

/// Why a question was withdrawn although the server did not withdraw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WithdrawalReason {
    /// The client cancelled the call, or disconnected while it waited.
    CallCancelled,
    /// The call was returned to the client, and the client did not repeat it in time.
    CallExpired,
    /// The client disconnected after the call was returned to it.
    ClientGone,
}

impl Withdrawal {
    fn of_one_of(calls: impl Iterator<Item = Self>) -> Self {
        Self(Arc::new(WithdrawalState {
            reason: OnceLock::new(),
            calls: calls.collect(),
        }))
    }

    /// Returns the reason. `None` if the question was not withdrawn, or if the server withdrew it. If the server does not
    /// say which of several calls asks, there is a reason once each of them has one.
    pub fn reason(&self) -> Option<WithdrawalReason> {
        let of_each = || {
            let reasons = self.0.calls.iter().map(Self::reason);
            reasons.collect::<Option<Vec<_>>>()?.first().copied()
        };
        self.0.reason.get().copied().or_else(of_each)
    }

    fn set(&self, reason: WithdrawalReason) {
        // The first reason is the cause of the others.
        let _ = self.0.reason.set(reason);
    }
}

/// Answers no questions, so servers see only the client's own capabilities. Questions of other kinds are declined, and
/// the answer says that no user was asked.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoAnswers;

impl Answers for NoAnswers {
    fn capabilities(&self) -> ClientCapabilities {
        ClientCapabilities::default()
    }

    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, Result<InputResponse>> {
        Box::pin(async move {
            match question.request {
                InputRequest::Elicit(_) => {
                    // No user was asked.
                    let declined = ElicitResult::decline().answered_by(AnswerSource::Client);
                    Ok(InputResponse::Elicit(declined))
                }
                _ => Err(Error::not_done("nobody could be asked")),
            }
        })
    }
}

/// How calls of a client are held, by its description and whether it takes progress.
type HoldFor = Arc<dyn Fn(&Implementation, bool) -> Hold + Send + Sync>;

/// A fact about a server that may be one that speaks 2026-07-28 but asks only on a session: see
/// [`Bridge::asks_in_older`].
#[derive(Debug, Clone, Copy)]
pub enum OlderSign<'a> {
    /// A client of 2026-07-28 connects. The server is not reached yet.
    Connecting,
    /// The server was connected with a session because it is known, and this is its name and version now.
    Greeting(Option<&'a Implementation>),
    /// A call failed with this text.
    Failure(&'a str),
}

type IsOlder = Arc<dyn Fn(OlderSign<'_>) -> bool + Send + Sync>;
type OlderServerFound = Arc<dyn Fn(Option<&Implementation>) + Send + Sync>;

/// What recognizes servers that ask only on a session.
#[derive(Clone)]
struct OlderRule {
    is_older: IsOlder,
    /// Called when such a server was connected with a session.
    found: OlderServerFound,
}

/// How long a server may take to answer a client that has sent all its requests and closed its side.
const LATE_SERVER: Duration = Duration::from_secs(10);

/// Connects each client to its own upstream server.
///
/// If both sides speak the same revision, requests and results pass unchanged, even unknown methods and members.
/// Otherwise the bridge converts: any client can use any server. A server of a handshake revision waits for answers, so
/// its call is parked in this process until a client of 2026-07-28 sends the next round, for up to
/// [`limits.asking.round_ttl`](crate::limits::AskingLimits::round_ttl).
#[derive(Clone)]
pub struct Bridge {
    upstream: Arc<dyn Fn() -> Box<dyn Connect> + Send + Sync>,
    answers: Arc<dyn Answers>,
    event: Option<Arc<dyn Fn(Event) + Send + Sync>>,
    /// The suffix of client titles.
    mark: String,
    hold: Option<HoldFor>,
    older: Option<OlderRule>,
    limits: Limits,
}

impl Bridge {
    /// Creates a bridge. `upstream` opens a connection to the server for each client.
    pub fn new<C: Connect>(upstream: impl Fn() -> C + Send + Sync + 'static) -> Self {
        Self {
            upstream: Arc::new(move || Box::new(upstream())),
            answers: Arc::new(NoAnswers),
            event: None,
            mark: String::new(),
            hold: None,
            older: None,
            limits: Limits::default(),
        }
    }

    /// Sets what answers the questions that a client does not support. By default they are not asked.
    #[must_use]
    pub fn answers(mut self, answers: impl Answers) -> Self {
        self.answers = Arc::new(answers);
        self
    }

    /// Sets a function that receives events which do not go to clients: lines of the server's standard error, refused
    /// questions, and failures. It must not block.
    #[must_use]
    pub fn on_event(mut self, hear: impl Fn(Event) + Send + Sync + 'static) -> Self {
        self.event = Some(Arc::new(hear));
        self
    }

    /// Adds these words to the title that the server sees of each client, such as ` (through a proxy)`. Its name stays, since
    /// servers treat some clients in their own way.
    #[must_use]
    pub fn mark_clients(mut self, words: impl Into<String>) -> Self {
        self.mark = words.into();
        self
    }

    /// Returns calls that wait for [`Answers`] to a client with a session before the client times out. `hold` gets the
    /// client's description, and whether the call takes progress.
    ///
    /// The call continues at the server. The client is told to repeat the call (same method, target and arguments); the
    /// repeated call waits for the first one and gets its result. While a question is open, the client gets a progress
    /// notification every 15 seconds, if it asked for progress.
    #[must_use]
    pub fn hold(
        mut self,
        hold: impl Fn(&Implementation, bool) -> Hold + Send + Sync + 'static,
    ) -> Self {
        self.hold = Some(Arc::new(hold));
        self
    }

    /// Sets what recognizes a server that speaks 2026-07-28 but can ask only in older revisions.
    ///
    /// The bridge connects such a server with a session, if the server has sessions, and `found` gets its name and version.
    /// The call that failed is not repeated, because it may have had an effect before it asked. Its result says that it can
    /// be made again. A server that is known when a client connects is asked for a session first. If its greeting shows
    /// that it has changed, the bridge connects again without one.
    #[must_use]
    pub fn asks_in_older(
        mut self,
        is_older: impl Fn(OlderSign<'_>) -> bool + Send + Sync + 'static,
        found: impl Fn(Option<&Implementation>) + Send + Sync + 'static,
    ) -> Self {
        self.older = Some(OlderRule {
            is_older: Arc::new(is_older),
            found: Arc::new(found),
        });
        self
    }

    /// Sets the limits for both sides.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Serves one client until its channel ends. The bridge connects to the server after the client has described
    /// itself; if that fails, the client gets an error.
    ///
    /// # Errors
    ///
    /// If the channel fails.
    pub async fn serve(&self, channel: Channel) -> io::Result<()> {
        self.serve_until(channel, pending()).await
    }

    /// Like [`Bridge::serve`], but stops on a signal, as [`Server::serve_until`] does.
    ///
    /// # Errors
    ///
    /// If the channel fails.
    pub async fn serve_until(
        &self,
        mut channel: Channel,
        signal: impl Future<Output = ()> + Send,
    ) -> io::Result<()> {
        let mut signal = pin!(signal);
        let received = tokio::select! {
            received = greeting::receive(&mut channel, &self.limits) => received?,
            () = &mut signal => return Ok(()),
        };
        let Some(client) = received else {
            return Ok(());
        };
        let session = Arc::new(Session::new(
            Arc::clone(&self.answers),
            self.event.clone(),
            client.info.clone(),
            self.limits.asking.clone(),
        ));
        let ending = EndCalls(Arc::clone(&session));
        let (mut kept, mut replaced) = (Vec::new(), None);
        let connected = {
            let mut connecting = pin!(self.connect_first(&client, &session));
            loop {
                let may_be_replaced = client.revision.era() == Era::Modern && replaced.is_none();
                tokio::select! {
                    biased;
                    () = &mut signal => return Ok(()),
                    greeting = greeting::keep(&mut channel, &mut kept, &self.limits, may_be_replaced) => {
                        if greeting.is_some() {
                            replaced = greeting;
                            continue;
                        }
                        // The client has gone, or has closed its side right after its last request.
                        let limit = match kept.is_empty() {
                            true => self.limits.server.drain,
                            false => LATE_SERVER,
                        };
                        tokio::select! {
                            () = &mut signal => return Ok(()),
                            connected = timeout(limit, &mut connecting) => if let Ok(connected) = connected {
                                break connected;
                            }
                        }
                        let error = ErrorObject::internal(
                            "the server did not start in time for a client that has closed its side: keep it open \
                             until the responses have come",
                        );
                        // The client may have gone.
                        let _ = refuse(channel, &client, &error).await;
                        return Ok(());
                    }
                    connected = &mut connecting => break connected,
                }
            }
        };
        let client = replaced.unwrap_or(client);
        let upstream = match connected {
            Ok(upstream) => upstream,
            Err(error) => return refuse(channel, &client, &upstream::error_object(error)).await,
        };
        let older = self.older_server(&client, &session, &upstream);
        let served = match self.open(&client, &session, upstream.clone(), older.clone()) {
            Ok(server) => {
                let received = iter::once(client.message).chain(kept).collect();
                server.serve_on(channel, received, signal).await
            }
            Err(error) => refuse(channel, &client, &error).await,
        };
        // The end of the connection to the server would withdraw the questions without a reason.
        drop(ending);
        upstream.close().await;
        if let Some(older) = older {
            older.close().await;
        }
        served
    }

    async fn connect_first(
        &self,
        client: &ClientGreeting,
        session: &Arc<Session>,
    ) -> Result<Client, ClientError> {
        let is_legacy = client.revision.era() == Era::Legacy;
        let known = self.older.as_ref().filter(|_| !is_legacy);
        let known = known.filter(|rule| (rule.is_older)(OlderSign::Connecting));
        let has_session = is_legacy || known.is_some();
        let upstream = self.connect(client, session, has_session).await?;
        let Some(rule) = known else {
            return Ok(upstream);
        };
        let server = upstream.server_info();
        let is_older = (rule.is_older)(OlderSign::Greeting(server.as_ref()));
        if is_older || upstream.revision().era() == Era::Modern {
            return Ok(upstream);
        }
        upstream.close().await;
        self.connect(client, session, false).await
    }

    async fn connect(
        &self,
        client: &ClientGreeting,
        session: &Arc<Session>,
        has_session: bool,
    ) -> Result<Client, ClientError> {
        let lent = self.answers.capabilities();
        // Use the client's revision, so that little has to be converted, unless it has no links and they are opened on
        // its behalf.
        let has_links = client.revision.facts().elicitation_url;
        let wish = match lent.elicits_url() && !has_links {
            true => Revision::LATEST_LEGACY,
            false => client.revision.min(Revision::LATEST_LEGACY),
        };
        // The bridge does not pass the server's tasks on to the client.
        let capabilities = ClientCapabilities {
            tasks: None,
            ..union(&client.capabilities, &lent)
        };
        let behind = ClientBehind {
            info: marked(client.info.clone(), &self.mark),
            capabilities,
            session: has_session.then_some(wish),
        };
        let builder = Client::builder("", "")
            .limits(self.limits.clone())
            .speak_for(behind);
        let transport = (self.upstream)();
        session.hear(builder).connect_over(transport).await
    }

    /// Returns the second connection to the server, which is opened if the server cannot ask on the first.
    fn older_server(
        &self,
        client: &ClientGreeting,
        session: &Arc<Session>,
        upstream: &Client,
    ) -> Option<Arc<OlderServer>> {
        let eras = [client.revision.era(), upstream.revision().era()];
        let rule = self.older.clone().filter(|_| eras == [Era::Modern; 2])?;
        let (bridge, client) = (self.clone(), client.clone());
        let session = Arc::downgrade(session);
        Some(Arc::new(OlderServer::new(rule, bridge, client, session)))
    }

    fn open(
        &self,
        client: &ClientGreeting,
        session: &Arc<Session>,
        upstream: Client,
        older: Option<Arc<OlderServer>>,
    ) -> Result<Server, ErrorObject> {
        let greeting = upstream.greeting();
        let revision = match (client.revision.era(), greeting.revision.era()) {
            // The older of the two, so that little has to be converted.
            (Era::Legacy, Era::Legacy) => client.revision.min(greeting.revision),
            (Era::Legacy, Era::Modern) => client.revision,
            (Era::Modern, Era::Modern) => greeting.revision,
            // Calls that ask are parked.
            (Era::Modern, Era::Legacy) => client.revision,
        };
        let random = entropy::<32>().map_err(|error| ErrorObject::internal(error.to_string()))?;
        let info = greeting.server.clone().unwrap_or_default();
        let roots = upstream.clone();
        let to = Upstream::new(self, client, Arc::clone(session), upstream, older);
        let server = Server::new(info.name.clone(), info.version.clone())
            // A state opens only on the connection that issued it.
            .keys(KeySource::Ring(KeyRing::new(Key::new(&random))))
            .described_as(info, greeting.instructions.clone())
            .revisions([revision])
            .limits(self.limits.clone())
            .on_roots_changed(move |_| {
                roots.roots_changed();
                async {}
            });
        let server = match &self.hold {
            Some(hold) => {
                let calls = Arc::clone(session.held_calls());
                server.forward(HoldingUpstream::new(to, Arc::clone(hold), calls))
            }
            None => server.forward(to),
        };
        let server = server
            .build()
            .map_err(|error| ErrorObject::internal(error.to_string()))?;
        session.serves(&server);
        Ok(server)
    }
}

/// Ends the client's calls that continue by themselves when its connection ends, even if the future
/// that serves it is dropped.
struct EndCalls(Arc<Session>);

impl Drop for EndCalls {
    fn drop(&mut self) {
        self.0.parks().end();
        self.0.held_calls().end();
        self.0.tasks().end_all();
    }
}

/// Answers the first request of a client whose server cannot be reached, and ends its channel.
async fn refuse(
    mut channel: Channel,
    client: &ClientGreeting,
    error: &ErrorObject,
) -> io::Result<()> {
    let response = jsonrpc::write_error(Some(&client.id), error);
    channel.sender.send(response).await?;
    channel.sender.close().await
}

/// Appends a mark to a client's title.
fn marked(client: Implementation, mark: &str) -> Implementation {
    if mark.is_empty() {
        return client;
    }
    let title = client.title.as_ref().unwrap_or(&client.name);
    Implementation {
        title: Some(format!("{title}{mark}")),
        ..client
    }
}

fn union(one: &ClientCapabilities, other: &ClientCapabilities) -> ClientCapabilities {
    let mut both = one.clone();
    if let Some(elicitation) = &other.elicitation {
        let own = both.elicitation.get_or_insert_default();
        // Forms must be named: once `url` is added, `elicitation` no longer means forms by default.
        if one.elicits_form() || other.elicits_form() {
            own.form.get_or_insert_default();
        }
        own.url = own.url.take().or_else(|| elicitation.url.clone());
    }
    if let Some(sampling) = &other.sampling {
        let own = both.sampling.get_or_insert_default();
        own.tools = own.tools.take().or_else(|| sampling.tools.clone());
        own.context = own.context.take().or_else(|| sampling.context.clone());
    }
    both.roots = both.roots.or_else(|| other.roots.clone());
    both
}
