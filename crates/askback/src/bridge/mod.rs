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
    protocol::{AnswerSource, ClientCapabilities, ElicitResult, InputRequest, InputResponse},
    revision::{Era, Revision},
};

pub use crate::server::forward::{Forward, ForwardClient, ForwardCtx, Forwarded};

use self::{greeting::ClientGreeting, session::Session, upstream::Upstream};
use crate::{
    client::{Client, ClientBehind, ClientError, Event, HostQuestion},
    entropy::entropy,
    error::{Error, Result},
    keys::{Key, KeyRing, KeySource},
    server::Server,
    transport::{Channel, ChannelEnds, Connect},
};

/// Answers the questions that a client does not support.
pub trait Answers: Send + Sync + 'static {
    /// Returns the kinds of questions that this answers. Servers see them as capabilities of every client.
    fn capabilities(&self) -> ClientCapabilities;

    /// Answers a question. The future is dropped if the question is withdrawn.
    ///
    /// # Errors
    ///
    /// The server gets this error as the answer.
    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, Result<InputResponse>>;
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
    limits: Limits,
}

impl Bridge {
    /// Creates a bridge. `upstream` opens a connection to the server for each client.
    pub fn new<C: Connect>(upstream: impl Fn() -> C + Send + Sync + 'static) -> Self {
        Self {
            upstream: Arc::new(move || Box::new(upstream())),
            answers: Arc::new(NoAnswers),
            event: None,
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
        let session = Session::new(Arc::clone(&self.answers), self.event.clone());
        let session = Arc::new(session);
        let _ending = EndParks(Arc::clone(&session));
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

    async fn connect(
        &self,
        client: &ClientGreeting,
        session: &Arc<Session>,
    ) -> Result<Client, ClientError> {
        let lent = self.answers.capabilities();
        // Use the client's revision, so that little has to be converted, unless it has no links and they are opened on
        // its behalf.
        let has_links = client.revision.facts().elicitation_url;
        let wish = match lent.elicits_url() && !has_links {
            true => Revision::LATEST_LEGACY,
            false => client.revision,
        };
        // The bridge does not pass the server's tasks on to the client.
        let capabilities = ClientCapabilities {
            tasks: None,
            ..union(&client.capabilities, &lent)
        };
        let behind = ClientBehind {
            info: client.info.clone(),
            capabilities,
            session: (client.revision.era() == Era::Legacy).then_some(wish),
        };
        let builder = Client::builder("", "")
            .limits(self.limits.clone())
            .speak_for(behind);
        let transport = (self.upstream)();
        session.hear(builder).connect_over(transport).await
    }

    fn open(
        &self,
        client: &ClientGreeting,
        session: &Arc<Session>,
        upstream: Client,
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
        let to = Upstream::new(
            upstream,
            Arc::clone(session),
            self.answers.capabilities(),
            self.limits.asking.clone(),
            client.revision.era() == Era::Legacy,
        );
        let server = Server::new(info.name.clone(), info.version.clone())
            // A state opens only on the connection that issued it.
            .keys(KeySource::Ring(KeyRing::new(Key::new(&random))))
            .described_as(info, greeting.instructions.clone())
            .revisions([revision])
            .limits(self.limits.clone())
            .on_roots_changed(move |_| {
                roots.roots_changed();
                async {}
            })
            .forward(to)
            .build();
        let server = server.map_err(|error| ErrorObject::internal(error.to_string()))?;
        session.serves(&server);
        Ok(server)
    }
}

/// Ends a client's parked calls with its connection, even if the future that serves it is dropped.
struct EndParks(Arc<Session>);

impl Drop for EndParks {
    fn drop(&mut self) {
        self.0.parks().end();
    }
}

/// Answers the first request of a client whose server cannot be reached, and ends its channel.
async fn refuse(ends: ChannelEnds, client: &ClientGreeting, error: &ErrorObject) -> io::Result<()> {
    let mut sender = ends.sender;
    sender.send(jsonrpc::write_error(Some(&client.id), error));
    sender.close().await
}

fn union(one: &ClientCapabilities, other: &ClientCapabilities) -> ClientCapabilities {
    let mut both = one.clone();
    if let Some(elicitation) = &other.elicitation {
        let own = both.elicitation.get_or_insert_default();
        // Only `elicitation: {}` means forms.
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
