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

/// The revisions that a client speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Protocol {
    /// The newest revision that the server supports, of either era.
    #[default]
    Auto,
    /// Only this revision.
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
    declared: ClientCapabilities,
    wrong: Option<ClientError>,
    propagate: Option<Propagator>,
    #[cfg(feature = "bridge")]
    behind: Option<ClientBehind>,
}

#[cfg(feature = "bridge")]
#[derive(Clone)]
pub(crate) struct ClientBehind {
    pub(crate) info: Implementation,
    pub(crate) capabilities: ClientCapabilities,
    /// The revision of its session, if it has one. The server is then reached with a session, too, if it supports
    /// sessions.
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

    /// Sets the client whose requests are forwarded. This client declares the same capabilities, regardless of its
    /// functions.
    #[cfg(feature = "bridge")]
    pub(crate) fn speak_for(mut self, client: ClientBehind) -> Self {
        self.info = client.info.clone();
        self.tasks = false;
        self.checks_results = false;
        self.behind = Some(client);
        self
    }

    /// Sets the display name.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.info.title = Some(title.into());
        self
    }

    /// Sets the function that shows a form to the user, or fills it in itself, and declares `elicitation` with forms.
    ///
    /// It is called for each question, and several may be open at the same time. The future is dropped if the question
    /// is withdrawn. A refusal is an ordinary answer ([`ElicitResult::decline`]); an error ends the call that asks. A
    /// panic affects only the question.
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

    /// Passes forms that break the specification to the function of [`on_elicit`](Self::on_elicit), unchanged. Parts
    /// that cannot be displayed become a JSON field ([`FieldKind::Json`](crate::forms::FieldKind::Json)), and a default
    /// may be invalid for its own field (check with [`Field::check`](crate::forms::Field::check)). By default such
    /// forms are refused, and such defaults are removed.
    #[must_use]
    pub fn elicits_any_form(mut self) -> Self {
        self.any_form = true;
        self
    }

    /// Sets the function that opens a link for the user, and declares `elicitation` with links. A client must only open
    /// a link with the consent of a user who has seen its URL (2025-11-25, client/elicitation, Safe URL Handling).
    ///
    /// If [`HostQuestion::retried`] is set, the client repeats the call after the answer, so answer when the user is
    /// done with the page. Otherwise answer as soon as the user agrees ([`ElicitResult::agree`]).
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

    /// Sets the function that requests a completion from a model, and declares `sampling`. If the user refuses, return
    /// [`Error::not_done`](crate::Error::not_done).
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

    /// Declares that the model of [`on_sample`](Self::on_sample) can call tools (`sampling.tools`, since 2025-11-25).
    #[must_use]
    pub fn samples_with_tools(mut self) -> Self {
        self.host.sampling.tools = Some(JsonObject::new());
        self
    }

    /// Declares that the function of [`on_sample`](Self::on_sample) adds the client's context if a server asks for it
    /// (`sampling.context`, since 2025-11-25).
    #[must_use]
    pub fn samples_with_context(mut self) -> Self {
        self.host.sampling.context = Some(JsonObject::new());
        self
    }

    /// Sets the function that lists the folders in which the server may work, and declares `roots`. Call
    /// [`Client::roots_changed`] when the list changes.
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

    /// Sets the function that receives progress, log messages, changes and everything else that is neither a result nor
    /// a question. It must not block.
    #[must_use]
    pub fn on_event(mut self, hear: impl Fn(Event) + Send + Sync + 'static) -> Self {
        self.host.event = Some(Arc::new(hear));
        self
    }

    /// Sets a function that sees every message in both directions, for debugging. It must not block. Without it, no
    /// messages are copied or stored.
    ///
    /// Do not log the messages: they contain users' answers and servers' states.
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

    /// Declares an extension by its name and settings: an object, or `()` for no settings (2026-07-28,
    /// basic/versioning, Extension Negotiation). Servers of older revisions do not see it. [`Client::extension`]
    /// returns whether the server declares it, too.
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

    /// Sets the timeout for each request. The default is [`limits.wire.request`](crate::limits::WireLimits::request).
    /// Time spent on questions to the user does not count. After the timeout the request is cancelled and fails with
    /// [`ClientError::TimedOut`]. [`Client::with_timeout`] sets the timeout of single requests.
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

    /// Sets the revisions that the client speaks.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Sets the principal of the requests. Results that the server marks private are cached and reused only for the
    /// same principal. A client that signs in by itself does not need this: results of one sign-in are never reused for
    /// another.
    #[must_use]
    pub fn principal(mut self, principal: impl Into<String>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// Sets whether the server may turn a call into a task (extension `io.modelcontextprotocol/tasks`); the default is
    /// yes. The caller sees no difference, because the client polls the task until it ends.
    #[must_use]
    pub fn tasks(mut self, tasks: bool) -> Self {
        self.tasks = tasks;
        self
    }

    /// Sets whether a round with answers is sent again if the server goes away before it responds: once, and over HTTP
    /// up to `limits.http.stream_resumptions` times in a row.
    ///
    /// By default it is sent again only if nothing listened at the server's address. Otherwise the server may already
    /// have acted on the answers, and would act again unless it keeps a record. The call then ends with
    /// [`ClientError::OutcomeUnknown`], and the user decides. Enable this if all servers record their effects, as
    /// servers with `Ctx::commit` do.
    #[must_use]
    pub fn resend_answers(mut self, resend: bool) -> Self {
        self.resends_answers = resend;
        self
    }

    /// Sets whether the structured results of tools are checked against the output schemas that the server listed
    /// (feature `json-schema`); the default is yes. After a child process was started again, they are not checked until
    /// its tools are listed again. Without the check, results are passed on as they are, and tools with a schema in
    /// an unsupported dialect can be called.
    #[must_use]
    pub fn check_results(mut self, check: bool) -> Self {
        self.checks_results = check;
        self
    }

    /// Sets the function that provides the trace context of a request. It is called with the request's span, and its
    /// result goes into the request's `_meta`, so that the server's span becomes a child (SEP-414). An OpenTelemetry
    /// propagator can inject into this carrier.
    #[must_use]
    pub fn trace_context(
        mut self,
        propagate: impl Fn(&tracing::Span) -> TraceContext + Send + Sync + 'static,
    ) -> Self {
        self.propagate = Some(Arc::new(propagate));
        self
    }

    /// Connects to a server: starts it if it is a child process, and negotiates the revision and capabilities. Must be
    /// called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// If the server cannot be reached, has no revision in common with the client, or does not answer.
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
