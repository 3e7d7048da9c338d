//! Making a client.

use std::{future::Future, sync::Arc, time::Duration};

use askback_core::{
    engine::client::{Profile, Timeouts},
    limits::Limits,
    protocol::{
        ClientCapabilities, CreateMessageParams, CreateMessageResult, ElicitFormParams,
        ElicitResult, ElicitUrlParams, Implementation, JsonObject, RequestParams, Root,
        TraceContext,
    },
    revision::Revision,
};
use serde::Serialize;

use super::{
    Client, ClientError, Event, HostQuestion, driver,
    driver::Handles,
    host::{Host, answerer},
    trace::Propagator,
};
use crate::{
    error::Result,
    extension::settings,
    transport::{Connect, WireEvent},
};

/// Which revisions a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Protocol {
    /// The newest the server speaks, whatever its era.
    #[default]
    Auto,
    /// This one alone.
    Only(Revision),
}

/// A builder of a [`Client`].
#[derive(Clone)]
pub struct ClientBuilder {
    info: Implementation,
    host: Host,
    limits: Limits,
    timeouts: Timeouts,
    protocol: Protocol,
    principal: Option<String>,
    tasks: bool,
    any_form: bool,
    resends_answers: bool,
    checks_results: bool,
    /// The extensions.
    declared: ClientCapabilities,
    wrong: Option<ClientError>,
    propagate: Option<Propagator>,
    /// The client that it speaks for, if there is another one.
    #[cfg(feature = "bridge")]
    behind: Option<ClientBehind>,
}

/// Another client, whose requests are passed on.
#[cfg(feature = "bridge")]
#[derive(Clone)]
pub(crate) struct ClientBehind {
    pub(crate) info: Implementation,
    pub(crate) capabilities: ClientCapabilities,
    /// The revision of its session, if it has one: a server that has sessions is better spoken to in one, too.
    pub(crate) session: Option<Revision>,
}

impl ClientBuilder {
    pub(super) fn new(name: String, version: String) -> Self {
        Self {
            info: Implementation::new(name, version),
            host: Host::default(),
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            protocol: Protocol::Auto,
            principal: None,
            tasks: true,
            any_form: false,
            resends_answers: false,
            checks_results: true,
            declared: ClientCapabilities::default(),
            wrong: None,
            propagate: None,
            #[cfg(feature = "bridge")]
            behind: None,
        }
    }

    /// Sets the client whose requests are passed on. It declares what that client declares, whatever functions answer.
    #[cfg(feature = "bridge")]
    pub(crate) fn speak_for(mut self, client: ClientBehind) -> Self {
        self.info = client.info.clone();
        self.tasks = false;
        self.checks_results = false;
        self.behind = Some(client);
        self
    }

    /// Sets the name that people read.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Sets the function that has a person fill in a form, or fills it in by itself, and declares
    /// `elicitation` with forms.
    ///
    /// It is called for each question; several may be open at the same time. The future is dropped
    /// when the question is withdrawn. A no is an answer like any other
    /// ([`ElicitResult::decline`]); an error ends the call that asks. A panic costs only the question.
    ///
    /// ```
    /// use askback::{Form, client::Client, protocol::ElicitResult};
    ///
    /// #[derive(Form)]
    /// struct Meal {
    ///     vegetarian: bool,
    /// }
    ///
    /// let builder = Client::builder("guide", "1.0.0").on_elicit(|question| async move {
    ///     Ok(match question.key.as_deref() {
    ///         Some("meal") => ElicitResult::form(&Meal { vegetarian: true }),
    ///         _ => ElicitResult::decline(),
    ///     })
    /// });
    /// # let _ = builder;
    /// ```
    #[must_use]
    pub fn on_elicit<Fut>(
        mut self,
        answer: impl Fn(HostQuestion<ElicitFormParams>) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = Result<ElicitResult>> + Send + 'static,
    {
        self.host.elicit = answerer(answer);
        self
    }

    /// Has forms put to the function of [`on_elicit`](Self::on_elicit) that a server must not ask, as they
    /// are. What cannot be drawn of one is a field of JSON ([`FieldKind::Json`](crate::forms::FieldKind::Json)),
    /// and a default may break its own field ([`Field::check`](crate::forms::Field::check) says so). Without
    /// this the former are refused, and such a default is left out.
    #[must_use]
    pub fn elicits_any_form(mut self) -> Self {
        self.any_form = true;
        self
    }

    /// Sets the function that has a person open a link, and declares `elicitation` with links. A
    /// client opens none without the consent of a person who has read where it leads
    /// (2025-11-25, client/elicitation, Safe URL Handling).
    ///
    /// Where [`HostQuestion::retried`] is set, answering makes the client send the call again: the
    /// link is then best answered when the person has finished with it, otherwise as soon as they
    /// agree ([`ElicitResult::agree`]).
    #[must_use]
    pub fn on_elicit_url<Fut>(
        mut self,
        answer: impl Fn(HostQuestion<ElicitUrlParams>) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = Result<ElicitResult>> + Send + 'static,
    {
        self.host.elicit_url = answerer(answer);
        self
    }

    /// Sets the function that asks a model, and declares `sampling`. Somebody who refuses to have it
    /// asked is [`Error::not_done`](crate::Error::not_done).
    #[must_use]
    pub fn on_sample<Fut>(
        mut self,
        answer: impl Fn(HostQuestion<CreateMessageParams>) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = Result<CreateMessageResult>> + Send + 'static,
    {
        self.host.sample = answerer(answer);
        self
    }

    /// Declares that the model of [`on_sample`](Self::on_sample) can be given tools to call
    /// (`sampling.tools`, from 2025-11-25 on).
    #[must_use]
    pub fn samples_with_tools(mut self) -> Self {
        self.host.sampling.tools = Some(JsonObject::new());
        self
    }

    /// Declares that the function of [`on_sample`](Self::on_sample) includes context of the client
    /// where a server asks for it (`sampling.context`, from 2025-11-25 on).
    #[must_use]
    pub fn samples_with_context(mut self) -> Self {
        self.host.sampling.context = Some(JsonObject::new());
        self
    }

    /// Sets the function that lists the folders in which the server may work, and declares `roots`.
    /// When the list is another one, [`Client::roots_changed`] tells the server.
    #[must_use]
    pub fn on_roots<Fut>(
        mut self,
        answer: impl Fn(HostQuestion<RequestParams>) -> Fut + Send + Sync + 'static,
    ) -> Self
    where
        Fut: Future<Output = Result<Vec<Root>>> + Send + 'static,
    {
        self.host.roots = answerer(answer);
        self
    }

    /// Sets the function that is told of progress, log lines, changes and whatever else is neither a
    /// result nor a question. It must not block.
    #[must_use]
    pub fn on_event(mut self, hear: impl Fn(Event) + Send + Sync + 'static) -> Self {
        self.host.event = Some(Arc::new(hear));
        self
    }

    /// Sets the function that is shown every message as it travels, in both directions, to find out
    /// what went wrong. It must not block. Without one, nothing is copied or kept.
    ///
    /// Messages hold what people answered, and the states of servers: they are no text for a log.
    ///
    /// ```
    /// use askback::{client::Client, transport::WireEvent};
    ///
    /// let builder = Client::builder("guide", "1.0.0").on_wire(|event| match event {
    ///     WireEvent::Sent(message) => eprintln!("sent {} bytes", message.len()),
    ///     WireEvent::Received(message) => eprintln!("received {} bytes", message.len()),
    ///     _ => {}
    /// });
    /// # let _ = builder;
    /// ```
    #[must_use]
    pub fn on_wire(mut self, show: impl Fn(WireEvent<'_>) + Send + Sync + 'static) -> Self {
        self.host.wire = Some(Arc::new(show));
        self
    }

    /// Declares an extension, by its name and its settings: an object, or `()` for none (2026-07-28,
    /// basic/versioning, Extension Negotiation). Servers of older revisions are not told.
    /// [`Client::extension`] tells whether the server declares it, too.
    #[must_use]
    pub fn extension(mut self, name: &str, of: impl Serialize) -> Self {
        let declared = settings(&of).and_then(|of| {
            let declared = self.declared.declare_extension(name, of);
            declared.map_err(|why| why.to_string())
        });
        if let Err(why) = declared {
            self.wrong.get_or_insert(ClientError::Extension {
                name: name.to_owned(),
                why,
            });
        }
        self
    }

    /// Sets how long the server may take for each request:
    /// [`limits.wire.request`](crate::limits::WireLimits::request) where nothing is said. The time
    /// a person is asked is not counted. A request that takes longer is cancelled and ends with
    /// [`ClientError::TimedOut`]; [`Client::with_timeout`] sets another time for single requests.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeouts.request = Some(timeout);
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets which revisions the client speaks.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Sets the principal the client asks for, where the server tells people apart: what the server
    /// calls private is used again for the same principal only. A client that signs in by itself
    /// needs none for that: what was given for one sign-in is not used for another in any case.
    #[must_use]
    pub fn principal(mut self, principal: impl Into<String>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// Sets whether the server may make a call a task, where it has the extension for that
    /// (`io.modelcontextprotocol/tasks`): it may unless told otherwise. The caller notices nothing;
    /// the client asks after the task until it has ended.
    #[must_use]
    pub fn tasks(mut self, tasks: bool) -> Self {
        self.tasks = tasks;
        self
    }

    /// Sets whether a round that carries answers is sent again by itself if the server goes away before it responds: once, and
    /// over HTTP up to `limits.http.stream_resumptions` times in a row.
    ///
    /// By default it is sent again only if nothing listened at the server's address. Otherwise the server may have acted on
    /// the answers already, and unless it remembers that, it acts again. The call then ends with
    /// [`ClientError::OutcomeUnknown`], and a person decides. Turn it on if all servers keep claims of what they did, as
    /// servers with `Ctx::commit` do.
    #[must_use]
    pub fn resend_answers(mut self, resend: bool) -> Self {
        self.resends_answers = resend;
        self
    }

    /// Sets whether the structured results of tools are checked by the output schemas that the server has
    /// listed (feature `json-schema`): they are by default. Without the check a result is what the server
    /// sent, and a tool can be called whose schema is in a dialect that is not interpreted.
    #[must_use]
    pub fn check_results(mut self, check: bool) -> Self {
        self.checks_results = check;
        self
    }

    /// Sets what says where a request stands in its trace: called with the span of each request, it
    /// gives what is written into its `_meta`, so that the server's span becomes a child of it
    /// (SEP-414). An OpenTelemetry propagator injects into such a carrier.
    #[must_use]
    pub fn trace_context(
        mut self,
        propagate: impl Fn(&tracing::Span) -> TraceContext + Send + Sync + 'static,
    ) -> Self {
        self.propagate = Some(Arc::new(propagate));
        self
    }

    /// Connects to a server: starts it if it is a child process, finds out which revision it
    /// speaks and what it has. It must be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// Where the server cannot be reached, speaks nothing the client speaks, or does not answer.
    pub async fn connect(self, transport: impl Connect) -> Result<Client, ClientError> {
        self.connect_over(Box::new(transport)).await
    }

    pub(crate) async fn connect_over(
        self,
        transport: Box<dyn Connect>,
    ) -> Result<Client, ClientError> {
        if let Some(wrong) = self.wrong {
            return Err(wrong);
        }
        let revisions = match self.protocol {
            Protocol::Auto => Revision::ALL.into(),
            Protocol::Only(revision) => vec![revision],
        };
        let mut capabilities = ClientCapabilities {
            extensions: self.declared.extensions,
            ..self.host.capabilities()
        };
        if self.tasks {
            capabilities.declare_tasks_extension();
        }
        #[cfg(feature = "bridge")]
        let (forwards, handshake) = match self.behind {
            None => (false, None),
            Some(behind) => {
                capabilities = behind.capabilities;
                (true, behind.session)
            }
        };
        #[cfg(not(feature = "bridge"))]
        let (forwards, handshake) = (false, None);
        let profile = Profile {
            info: self.info,
            capabilities,
            any_form: self.any_form,
            forwards,
            handshake,
            resends_answers: self.resends_answers,
            revisions,
            principal: self.principal,
            limits: self.limits,
        };
        let handles = Handles {
            timeouts: self.timeouts,
            propagate: self.propagate,
            checks_results: self.checks_results,
        };
        driver::start(profile, Arc::new(self.host), handles, transport).await
    }
}
