//! Servers whose requests are answered by another server (feature `bridge`).
//!
//! [`Forward`] is the seam: [`ServerBuilder::forward`](crate::ServerBuilder::forward) makes a server that hands its
//! requests on. [`Bridge`] is what most proxies need of it: one upstream server for each client, with its requests, lists,
//! notifications and questions, also if the two sides speak different revisions. A question goes to the client if it takes
//! it, and else to [`Answers`].
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
mod held;
mod hold;
mod park;
mod session;
mod upstream;

use std::{
    future::{Future, pending},
    io,
    pin::pin,
    sync::Arc,
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

pub use self::hold::Hold;
pub use crate::server::forward::{Forward, ForwardClient, ForwardCtx, Forwarded};

use self::{greeting::ClientGreeting, held::HoldingUpstream, session::Session, upstream::Upstream};
use crate::{
    client::{Client, ClientBehind, ClientError, Event, HostQuestion},
    entropy::entropy,
    error::{Error, Result},
    keys::{Key, KeyRing, KeySource},
    server::Server,
    transport::{Channel, ChannelEnds, Connect},
};

/// Answers the questions that a client does not take.
pub trait Answers: Send + Sync + 'static {
    /// Returns the kinds of questions that are answered. Servers are told that each client takes them.
    fn capabilities(&self) -> ClientCapabilities;

    /// Whether a question that this client takes is answered here all the same, such as a form that it cannot draw.
    fn answers_for(&self, client: &Implementation, question: &InputRequest) -> bool {
        let _ = (client, question);
        false
    }

    /// Answers a question. The future is dropped if the question is withdrawn.
    ///
    /// # Errors
    ///
    /// The server is answered with this error.
    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, Result<InputResponse>>;
}

/// Answers no question: servers are told what the client takes. A question of another kind is declined, and the answer says that
/// no person was asked.
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
                    // No person was asked.
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

/// Passes what a client says on to a server of its own, and back.
///
/// Between equal revisions, requests and results pass as they are, also methods and members that no revision has. A client
/// of any revision can use a server of any. A server of a handshake revision waits for answers: its call is parked until
/// a client of 2026-07-28 sends the next round, up to
/// [`limits.asking.round_ttl`](crate::limits::AskingLimits::round_ttl), in this process.
#[derive(Clone)]
pub struct Bridge {
    upstream: Arc<dyn Fn() -> Box<dyn Connect> + Send + Sync>,
    answers: Arc<dyn Answers>,
    event: Option<Arc<dyn Fn(Event) + Send + Sync>>,
    /// What is added to the titles of clients.
    mark: String,
    hold: Option<HoldFor>,
    limits: Limits,
}

impl Bridge {
    /// A bridge to the server that this way leads to. It is opened for each client.
    pub fn new<C: Connect>(upstream: impl Fn() -> C + Send + Sync + 'static) -> Self {
        Self {
            upstream: Arc::new(move || Box::new(upstream())),
            answers: Arc::new(NoAnswers),
            event: None,
            mark: String::new(),
            hold: None,
            limits: Limits::default(),
        }
    }

    /// Sets what answers the questions that a client does not take. Without it they are not asked.
    #[must_use]
    pub fn answers(mut self, answers: impl Answers) -> Self {
        self.answers = Arc::new(answers);
        self
    }

    /// Sets the function that is told what clients are not: lines of the server's standard error, questions that were
    /// refused, and what went wrong. It must not block.
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

    /// Gives calls in which [`Answers`] is asked back to a client with a session before it gives up. The function gets the
    /// client's description, and whether the call takes progress.
    ///
    /// The call goes on at the server. The client is told to make the same call again (method, target and arguments), which
    /// then waits for the first one and gets its result. While a question is open, the client is told of progress every 15
    /// seconds, if it asked for that.
    #[must_use]
    pub fn hold(
        mut self,
        hold: impl Fn(&Implementation, bool) -> Hold + Send + Sync + 'static,
    ) -> Self {
        self.hold = Some(Arc::new(hold));
        self
    }

    /// Sets the limits of both sides.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Serves one client until its channel ends. The server is reached once the client has said what it is; if it cannot
    /// be reached, the client is told so.
    ///
    /// # Errors
    ///
    /// Fails if the channel does.
    pub async fn serve(&self, channel: Channel) -> io::Result<()> {
        self.serve_until(channel, pending()).await
    }

    /// [`Bridge::serve`], and stops when the signal comes, as [`Server::serve_until`].
    ///
    /// # Errors
    ///
    /// Fails if the channel does.
    pub async fn serve_until(
        &self,
        channel: Channel,
        signal: impl Future<Output = ()> + Send,
    ) -> io::Result<()> {
        let mut ends = channel.into_ends();
        let mut signal = pin!(signal);
        let received = tokio::select! {
            received = greeting::receive(&mut ends, &self.limits) => received?,
            () = &mut signal => return Ok(()),
        };
        let Some(client) = received else {
            return Ok(());
        };
        let session = Session::new(
            Arc::clone(&self.answers),
            self.event.clone(),
            client.info.clone(),
        );
        let session = Arc::new(session);
        let _ending = EndCalls(Arc::clone(&session));
        let connected = tokio::select! {
            connected = self.connect(&client, &session) => connected,
            () = &mut signal => return Ok(()),
        };
        let upstream = match connected {
            Ok(upstream) => upstream,
            Err(error) => return refuse(ends, &client, &upstream::error_object(error)).await,
        };
        let served = match self.open(&client, &session, upstream.clone()) {
            Ok(server) => server.serve_on(ends, client.message, signal).await,
            Err(error) => refuse(ends, &client, &error).await,
        };
        upstream.close().await;
        served
    }

    /// Reaches the server, as the client that it is for.
    async fn connect(
        &self,
        client: &ClientGreeting,
        session: &Arc<Session>,
    ) -> Result<Client, ClientError> {
        let lent = self.answers.capabilities();
        // The client's revision, so that as little as possible has to be converted, unless it has no links and they are
        // opened in its place.
        let has_links = client.revision.facts().elicitation_url;
        let wish = match lent.elicits_url() && !has_links {
            true => Revision::LATEST_LEGACY,
            false => client.revision,
        };
        // No task of the server goes on at the client.
        let capabilities = ClientCapabilities {
            tasks: None,
            ..union(&client.capabilities, &lent)
        };
        let behind = ClientBehind {
            info: marked(client.info.clone(), &self.mark),
            capabilities,
            session: (client.revision.era() == Era::Legacy).then_some(wish),
        };
        let builder = Client::builder("", "")
            .limits(self.limits.clone())
            .speak_for(behind);
        let transport = (self.upstream)();
        session.hear(builder).connect_over(transport).await
    }

    /// Makes the server that the client sees.
    fn open(
        &self,
        client: &ClientGreeting,
        session: &Arc<Session>,
        upstream: Client,
    ) -> Result<Server, ErrorObject> {
        let greeting = upstream.greeting();
        let revision = match (client.revision.era(), greeting.revision.era()) {
            // The older of the two, so that as little as possible has to be converted.
            (Era::Legacy, Era::Legacy) => client.revision.min(greeting.revision),
            (Era::Legacy, Era::Modern) => client.revision,
            (Era::Modern, Era::Modern) => greeting.revision,
            // The calls that ask are parked.
            (Era::Modern, Era::Legacy) => client.revision,
        };
        let random = entropy::<32>().map_err(|error| ErrorObject::internal(error.to_string()))?;
        let info = greeting.server.clone().unwrap_or_default();
        let roots = upstream.clone();
        let to = Upstream::new(
            upstream,
            Arc::clone(session),
            self.answers.capabilities(),
            self.limits.asking.clone(),
            client.revision.era() == Era::Legacy,
            self.mark.clone(),
        );
        let server = Server::new(info.name.clone(), info.version.clone())
            // A state opens on the connection that gave it, and at no other server.
            .keys(KeySource::Ring(KeyRing::new(Key::new(&random))))
            .described_as(info, greeting.instructions.clone())
            .revisions([revision])
            .limits(self.limits.clone())
            .on_roots_changed(move |_| {
                roots.roots_changed();
                async {}
            });
        let server = match &self.hold {
            Some(hold) if client.revision.era() == Era::Legacy => {
                let calls = Arc::clone(session.live_calls());
                server.forward(HoldingUpstream::new(to, Arc::clone(hold), calls))
            }
            _ => server.forward(to),
        };
        let server = server
            .build()
            .map_err(|error| ErrorObject::internal(error.to_string()))?;
        session.serves(&server);
        Ok(server)
    }
}

/// Ends the calls of a client that go on by themselves with its connection, also if the future that serves it is dropped.
struct EndCalls(Arc<Session>);

impl Drop for EndCalls {
    fn drop(&mut self) {
        self.0.parks().end();
        self.0.live_calls().end();
    }
}

/// Answers the first request of a client whose server cannot be reached, and ends its channel.
async fn refuse(ends: ChannelEnds, client: &ClientGreeting, error: &ErrorObject) -> io::Result<()> {
    let mut sender = ends.sender;
    sender.send(jsonrpc::write_error(Some(&client.id), error));
    sender.close().await
}

/// A client with words behind its title.
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

/// What either of two takes.
fn union(one: &ClientCapabilities, other: &ClientCapabilities) -> ClientCapabilities {
    let mut both = one.clone();
    if let Some(elicitation) = &other.elicitation {
        let own = both.elicitation.get_or_insert_default();
        // Nothing but `elicitation: {}` means forms.
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
