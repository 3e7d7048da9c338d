//! Clients: call a server and answer its questions.
//!
//! A [`Client`] negotiates the revision, drives the rounds in which the server asks, and restarts a crashed server if
//! that is safe. Functions set on the [`ClientBuilder`] answer the server's questions. A kind of question without a
//! function is not declared.
//!
//! ```
//! use askback::{Ctx, Form, Result, Server, Tool, client::Client, protocol::ElicitResult, transport};
//! use serde_json::json;
//!
//! #[derive(Form)]
//! struct Seat {
//!     /// A seat by the window?
//!     window: bool,
//! }
//!
//! async fn reserve(ctx: Ctx) -> Result<String> {
//!     let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
//!     Ok(format!("By the window: {}", seat.window))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
//! // Here the server is in this process; `transport::Child` starts one.
//! let server = Server::new("airline", "1.0.0").tool(Tool::new("reserve", reserve)).build()?;
//! let (near, far) = transport::memory();
//! tokio::spawn(async move { server.serve(far).await });
//!
//! let client = Client::builder("guide", "1.0.0")
//!     .on_elicit(|_| async { Ok(ElicitResult::form(&Seat { window: true })) })
//!     .connect(near)
//!     .await?;
//! let result = client.call_tool("reserve", json!({})).await?;
//! assert_eq!(result.text()?, "By the window: true");
//! client.close().await;
//! # Ok(())
//! # }
//! ```

mod builder;
mod call;
mod command;
mod connection;
mod driver;
mod host;
#[cfg(feature = "json-schema")]
mod outputs;
mod pages;
mod questions;
mod received;
mod servers;
#[cfg(feature = "skills")]
mod skills;
mod subscription;
mod trace;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

#[doc(inline)]
pub use askback_core::engine::client::{
    CallId, CallTarget, ClientError, Event, Greeting, HostQuestion, RefusedQuestion, ServerEnd,
};
use askback_core::{
    engine::client::Timeouts,
    limits::Limits,
    protocol::{
        CallToolParams, CallToolResult, ClientRequest, CompleteArgument, CompleteContext,
        CompleteParams, CompleteResult, Completion, GetPromptParams, GetPromptResult, HasMeta,
        Implementation, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, LoggingLevel, Meta, MetaKeyError, Outcome, Prompt,
        RawJson, RawObject, ReadResourceParams, ReadResourceResult, Reference, RequestParams,
        Resource, ResourceTemplate, ServerCapabilities, SetLevelParams, SubscriptionFilter,
        TaskMetadata, Tool,
    },
    revision::Revision,
};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use tokio::sync::{mpsc, oneshot};

#[cfg(feature = "bridge")]
pub(crate) use builder::ClientBehind;
pub use builder::{ClientBuilder, Protocol};
pub use call::{PendingCall, RoundParams};
pub use pages::List;
pub use received::Received;
pub use servers::{ServerCommand, ServerEntry, ServerUrl, ServersFile, ServersFileError};
#[cfg(feature = "skills")]
pub use skills::{SkillError, check_skill_file};
pub use subscription::Subscription;

use self::{
    call::CancelGuard,
    command::{CallMode, Command, Reply},
    driver::Handles,
    received::read,
};
use crate::mutex::Mutex;

/// A connection to a server. Clones are cheap and share the connection. When the last clone is dropped or one is
/// [closed](Client::close), the connection ends, and a server that is a child process is stopped.
///
/// Dropping the future of a call cancels the call. So does the timeout:
/// [`limits.wire.request`](crate::limits::WireLimits::request), or the value set with
/// [`with_timeout`](Client::with_timeout).
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    timeouts: Timeouts,
    manner: CallMode,
    meta: Option<Arc<Meta>>,
}

struct Inner {
    commands: mpsc::UnboundedSender<Command>,
    shared: Arc<Shared>,
    limits: Limits,
    last_id: AtomicU64,
    propagate: Option<trace::Propagator>,
    /// The subscriptions opened by [`Client::subscribe`], for servers without sessions.
    watched: Mutex<HashMap<String, Subscription>>,
}

struct Shared {
    greeting: Mutex<Arc<Greeting>>,
    /// The output schemas of tools; `None` if results are not checked.
    #[cfg(feature = "json-schema")]
    outputs: Option<outputs::Outputs>,
}

impl Client {
    /// Returns a builder for a client with this name and version.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(name.into(), version.into())
    }

    /// Returns the negotiated revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.greeting().revision
    }

    /// Returns the server's name and version, as it claims them.
    #[must_use]
    pub fn server_info(&self) -> Option<Implementation> {
        self.greeting().server.clone()
    }

    /// Returns the server's capabilities.
    #[must_use]
    pub fn capabilities(&self) -> ServerCapabilities {
        self.greeting().capabilities.clone()
    }

    /// Returns the server's instructions for a model.
    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        self.greeting().instructions.clone()
    }

    /// Returns the server's description of itself, from when the connection opened.
    #[must_use]
    pub fn greeting(&self) -> Arc<Greeting> {
        self.inner.shared.greeting.lock().clone()
    }

    /// Returns a handle of the same client with another timeout for each request. Time spent on questions to the user
    /// does not count. Each progress notification restarts the timeout, up to the limit of
    /// [`Client::with_timeout_in_all`].
    ///
    /// After the timeout the request is cancelled and fails with [`ClientError::TimedOut`].
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use askback::client::{Client, ClientError};
    /// # async fn search(client: Client) -> Result<(), ClientError> {
    /// let hurried = client.with_timeout(Duration::from_secs(5));
    /// let found = hurried.call_tool("search", ()).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn with_timeout(&self, timeout: Duration) -> Self {
        let mut client = self.clone();
        client.timeouts.request = Some(timeout);
        client
    }

    /// Returns a handle of the same client with another total timeout for a call, which progress does not restart. A
    /// task gets the same time again. Time spent on questions to the user does not count, unless a task asks. The
    /// default is [`limits.client.request_in_all`](crate::limits::ClientLimits::request_in_all), and
    /// [`limits.tasks.in_all`](crate::limits::TaskLimits::in_all) for a task.
    #[must_use]
    pub fn with_timeout_in_all(&self, timeout: Duration) -> Self {
        let mut client = self.clone();
        client.timeouts.in_all = Some(timeout);
        client
    }

    /// Returns a handle of the same client that adds this value to the `_meta` of each request. Use the key of an
    /// extension or your own, such as `com.example/tenant`.
    ///
    /// # Errors
    ///
    /// [`MetaKeyError`] if the text is not a valid key, or is a key that the protocol sets itself.
    pub fn with_meta(&self, key: &str, value: impl Into<Value>) -> Result<Self, MetaKeyError> {
        let mut meta = self.meta.as_deref().cloned().unwrap_or_default();
        meta.set(key, value)?;
        let mut client = self.clone();
        client.meta = Some(Arc::new(meta));
        Ok(client)
    }

    /// Returns the settings of an extension that the server declares, which may be empty; `None` if it does not declare
    /// it.
    #[must_use]
    pub fn extension(&self, name: &str) -> Option<JsonObject> {
        self.greeting().capabilities.extension(name).cloned()
    }

    /// Returns all tools; an empty list if the server has no tools. Invalid entries are [left out](List::left_out). The
    /// other lists do the same.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn tools(&self) -> Result<List<Tool>, ClientError> {
        #[cfg(feature = "json-schema")]
        let asked = self.outputs().map(outputs::Outputs::asked);
        let tools = self.pages::<ListToolsResult>().await?;
        #[cfg(feature = "json-schema")]
        if let (Some(outputs), Some(asked)) = (self.outputs(), asked) {
            outputs.note(asked, &tools, true, self.limits());
        }
        Ok(tools)
    }

    /// Returns one page of the tools: the first page, or the page of a `nextCursor`.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn tools_page(&self, cursor: Option<String>) -> Result<ListToolsResult, ClientError> {
        #[cfg(feature = "json-schema")]
        let (is_first, asked) = (
            cursor.is_none(),
            self.outputs().map(outputs::Outputs::asked),
        );
        let page: ListToolsResult = self.page(cursor).await?;
        #[cfg(feature = "json-schema")]
        if let (Some(outputs), Some(asked)) = (self.outputs(), asked) {
            outputs.note(asked, &page.tools, is_first, self.limits());
        }
        Ok(page)
    }

    /// Returns all prompts.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn prompts(&self) -> Result<List<Prompt>, ClientError> {
        self.pages::<ListPromptsResult>().await
    }

    /// Returns all resources.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn resources(&self) -> Result<List<Resource>, ClientError> {
        self.pages::<ListResourcesResult>().await
    }

    /// Returns all resource templates.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn resource_templates(&self) -> Result<List<ResourceTemplate>, ClientError> {
        self.pages::<ListResourceTemplatesResult>().await
    }

    /// Calls a tool. The arguments are any value that serializes to an object, such as a struct, a map or
    /// `json!({..})`, or `()` for no arguments.
    ///
    /// If the tool itself fails, that is also a result: [`CallToolResult::text`] and [`CallToolResult::structured`]
    /// return it as an error.
    ///
    /// ```
    /// # use askback::client::{Client, ClientError};
    /// use serde_json::json;
    ///
    /// # async fn weather(client: Client) -> Result<(), ClientError> {
    /// let weather = client.call_tool("weather", json!({"city": "Oslo"})).await?;
    /// println!("{}", weather.text()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// With the feature `json-schema`, the result of a tool that was listed with an output schema is checked against
    /// it, unless disabled with [`ClientBuilder::check_results`]. If a child process is started again, results are not
    /// checked until its tools are listed again.
    ///
    /// # Errors
    ///
    /// [`ClientError::Arguments`] if the arguments are not an object, and [`ClientError::Output`] if the result does
    /// not fit the schema; see [`ClientError`].
    pub fn call_tool(&self, name: &str, arguments: impl Serialize) -> PendingCall<CallToolResult> {
        self.call(name, &arguments, false)
    }

    fn call(
        &self,
        name: &str,
        arguments: &impl Serialize,
        is_task: bool,
    ) -> PendingCall<CallToolResult> {
        let params = object(arguments).map(|arguments| CallToolParams {
            arguments,
            task: is_task.then(TaskMetadata::default),
            ..CallToolParams::new(name)
        });
        let params = params.map_err(|why| refused(name, &why));
        PendingCall::new(self, params.map(ClientRequest::CallTool))
    }

    /// Calls a listed tool: as a task of the core protocol if the tool requires it (2025-11-25, server/tools,
    /// `execution`), and otherwise like [`Client::call_tool`]. The caller sees no difference: the client polls the task
    /// until it ends, and cancels it if the future is dropped.
    ///
    /// # Errors
    ///
    /// As for [`Client::call_tool`].
    pub fn call_listed(
        &self,
        tool: &Tool,
        arguments: impl Serialize,
    ) -> PendingCall<CallToolResult> {
        let is_task = tool.requires_task() && self.makes_tasks();
        self.call(&tool.name, &arguments, is_task)
    }

    /// Calls a listed tool: as a task if the tool supports it, and otherwise like [`Client::call_tool`]. The client
    /// polls the task as in [`Client::call_listed`], and reports its status with [`Event::Task`]. Since 2026-07-28 the
    /// server decides for each call whether it becomes a task.
    ///
    /// # Errors
    ///
    /// As for [`Client::call_tool`].
    pub fn call_as_task(
        &self,
        tool: &Tool,
        arguments: impl Serialize,
    ) -> PendingCall<CallToolResult> {
        let is_task = tool.may_be_task() && self.makes_tasks();
        self.call(&tool.name, &arguments, is_task)
    }

    /// Resumes a task that an earlier call of this tool became, possibly in another process. It behaves like that call:
    /// questions go to the client's functions, [`Event::Task`] reports the status, the result is checked, and the task
    /// is cancelled if the future is dropped, unless you [leave](PendingCall::leave) it.
    ///
    /// The id is the `task_id` of `Event::Task`. Store it as soon as you get it, with the names of the tool and the
    /// server. Protect it like a key, because it may be enough to use the task. A question that another client did not
    /// answer is asked again.
    ///
    /// ```
    /// # use askback::client::{Client, ClientError};
    /// # async fn resume(client: Client, kept: &str) -> Result<(), Box<dyn std::error::Error>> {
    /// match client.resume_task(kept, "search").await {
    ///     Ok(result) => println!("{}", result.text()?),
    ///     Err(ClientError::TaskLost(_)) => println!("Its time is over."),
    ///     Err(error) => return Err(error.into()),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`ClientError::TaskLost`] if the server does not know the task, or not any more, or not for this caller.
    /// [`ClientError::Unsupported`] if one of the sides does not support tasks or the id is too long. Otherwise as for
    /// [`Client::call_tool`].
    pub fn resume_task(&self, task_id: &str, tool: &str) -> PendingCall<CallToolResult> {
        let mut client = self.clone();
        client.manner = CallMode::Task(task_id.into());
        let request = ClientRequest::CallTool(CallToolParams::new(tool));
        PendingCall::new(&client, Ok(request))
    }

    /// Whether a call of a listed tool can become a task, according to the server's capabilities and the tool.
    #[must_use]
    pub fn may_be_task(&self, tool: &Tool) -> bool {
        let facts = self.revision().facts();
        let is_core = tool.may_be_task() && self.makes_tasks();
        is_core || (facts.extensions && self.greeting().capabilities.tasks_extension())
    }

    /// Whether the core protocol (2025-11-25) can make tool calls tasks here.
    fn makes_tasks(&self) -> bool {
        self.revision().facts().tasks && self.greeting().capabilities.calls_as_tasks()
    }

    /// Sends one round of a call, for a tool, prompt or resource. Returns the result, or the server's questions and
    /// state ([`Outcome::NeedInput`]). The client's functions are not called. To continue, send the same parameters
    /// with the answers by key in `input_responses`, and the state in `request_state`. This works at any time and from
    /// any process, as long as the server accepts the state.
    ///
    /// That is for 2026-07-28. In older revisions a question belongs to the open connection: it is answered as in
    /// [`Client::call_tool`], and the result is always final.
    ///
    /// ```
    /// # use askback::client::{Client, ClientError};
    /// use askback::protocol::{CallToolParams, ElicitResult, Outcome, RawJson};
    ///
    /// # async fn agree(client: Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let mut call = CallToolParams::new("reserve");
    /// while let Outcome::NeedInput(asks) = client.call_round(call.clone()).await?.value {
    ///     let keys = asks.input_requests.into_iter().flatten().map(|(key, _)| key);
    ///     let answer = RawJson::new(&ElicitResult::decline())?;
    ///     call.input_responses = Some(keys.map(|key| (key, answer.clone())).collect());
    ///     call.request_state = asks.request_state;
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`Client::call_tool`].
    pub async fn call_round<P: RoundParams>(
        &self,
        params: P,
    ) -> Result<Received<Outcome<P::Result>>, ClientError> {
        let mut client = self.clone();
        client.manner = CallMode::Round;
        let request = params.into_request();
        PendingCall::new(&client, Ok(request)).round().await
    }

    /// Gets the messages of a prompt. The arguments are any value that serializes to an object of strings, or `()` for
    /// no arguments.
    ///
    /// # Errors
    ///
    /// [`ClientError::Arguments`] if the arguments are not an object of strings; see [`ClientError`].
    pub fn get_prompt(
        &self,
        name: &str,
        arguments: impl Serialize,
    ) -> PendingCall<GetPromptResult> {
        let params = object(&arguments)
            .and_then(|given| given.map(|given| given.decode()).transpose())
            .map(|arguments| GetPromptParams {
                name: name.to_owned(),
                arguments,
                ..GetPromptParams::default()
            });
        let params = params.map_err(|why| refused(name, &why));
        PendingCall::new(self, params.map(ClientRequest::GetPrompt))
    }

    /// Reads a resource.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub fn read_resource(&self, uri: &str) -> PendingCall<ReadResourceResult> {
        let params = ReadResourceParams {
            uri: uri.to_owned(),
            ..ReadResourceParams::default()
        };
        PendingCall::new(self, Ok(ClientRequest::ReadResource(params)))
    }

    /// Completes an argument from its name and the text typed so far, with the arguments already given as context.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn complete(
        &self,
        reference: Reference,
        argument: (&str, &str),
        context: BTreeMap<String, String>,
    ) -> Result<Completion, ClientError> {
        let (name, value) = argument;
        let context = CompleteContext {
            arguments: Some(context),
        };
        let params = CompleteParams {
            reference,
            argument: CompleteArgument {
                name: name.to_owned(),
                value: value.to_owned(),
            },
            context: Some(context)
                .filter(|it| it.arguments.as_ref().is_some_and(|a| !a.is_empty())),
            meta: None,
        };
        let raw = self.request(ClientRequest::Complete(params)).await?;
        read::<CompleteResult>(&raw).map(|result| result.completion)
    }

    /// Checks that the server responds (handshake revisions).
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn ping(&self) -> Result<(), ClientError> {
        self.request(ClientRequest::Ping(RequestParams::default()))
            .await
            .map(|_| ())
    }

    /// Sets the minimum level of log messages from the server: for the session, or in each later request, depending on
    /// the revision.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn set_log_level(&self, level: LoggingLevel) -> Result<(), ClientError> {
        let params = SetLevelParams { level, meta: None };
        self.request(ClientRequest::SetLevel(params))
            .await
            .map(|_| ())
    }

    /// Notifies the server that the roots changed, if the revision supports it.
    pub fn roots_changed(&self) {
        let _ = self.inner.commands.send(Command::RootsChanged);
    }

    /// Sets the principal of later requests; see [`ClientBuilder::principal`].
    pub fn set_principal(&self, principal: Option<String>) {
        let _ = self.inner.commands.send(Command::SetPrincipal(principal));
    }

    /// Closes the connection for all clones. Pending requests end with [`ClientError::Closed`]. Returns when a server
    /// that is a child process has exited.
    pub async fn close(self) {
        let (done, closed) = oneshot::channel();
        if self.inner.commands.send(Command::Close(done)).is_ok() {
            // If the driver has already ended, there is nothing to wait for.
            let _ = closed.await;
        }
    }

    fn new(
        commands: mpsc::UnboundedSender<Command>,
        shared: Arc<Shared>,
        limits: Limits,
        handles: Handles,
    ) -> Self {
        Self {
            inner: Arc::new(Inner {
                commands,
                shared,
                limits,
                last_id: AtomicU64::new(0),
                propagate: handles.propagate,
                watched: Mutex::default(),
            }),
            timeouts: handles.timeouts,
            manner: CallMode::Whole,
            meta: None,
        }
    }

    #[cfg(feature = "bridge")]
    pub(crate) fn exchange(&self, request: ClientRequest) -> PendingCall<()> {
        PendingCall::new(self, Ok(request))
    }

    fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    fn next_id(&self) -> CallId {
        CallId(self.inner.last_id.fetch_add(1, Ordering::Relaxed))
    }

    async fn request(&self, request: ClientRequest) -> Result<Box<RawValue>, ClientError> {
        PendingCall::<()>::new(self, Ok(request)).outcome().await
    }

    fn send(
        &self,
        id: CallId,
        mut request: Box<ClientRequest>,
        reply: Reply,
        granted: Option<oneshot::Sender<SubscriptionFilter>>,
    ) -> Result<CancelGuard, ClientError> {
        if let Some(meta) = &self.meta {
            request.meta_mut().extra.extend(meta.extra.clone());
        }
        let command = Command::Call {
            id,
            request,
            timeouts: self.timeouts,
            manner: self.manner.clone(),
            reply,
            granted,
        };
        let sent = self.inner.commands.send(command);
        sent.map_err(|_| ClientError::Closed)?;
        Ok(CancelGuard::new(self, id))
    }
}

fn object(arguments: &impl Serialize) -> Result<Option<RawObject>, serde_json::Error> {
    let json = RawJson::new(arguments)?;
    match json.as_str() {
        "null" => Ok(None),
        _ => RawObject::from_json(json).map(Some),
    }
}

fn refused(name: &str, why: &serde_json::Error) -> ClientError {
    ClientError::Arguments {
        name: name.to_owned(),
        why: why.to_string(),
    }
}

impl Shared {
    #[cfg_attr(not(feature = "json-schema"), expect(unused_variables))]
    fn new(greeting: Greeting, checks_results: bool) -> Self {
        Self {
            greeting: Mutex::new(Arc::new(greeting)),
            #[cfg(feature = "json-schema")]
            outputs: checks_results.then(outputs::Outputs::default),
        }
    }

    fn forget_tools(&self) {
        #[cfg(feature = "json-schema")]
        if let Some(outputs) = &self.outputs {
            outputs.forget();
        }
    }

    fn restarted(&self) {
        #[cfg(feature = "json-schema")]
        if let Some(outputs) = &self.outputs {
            outputs.restart();
        }
    }

    fn greet(&self, greeting: Greeting) {
        self.restarted();
        *self.greeting.lock() = Arc::new(greeting);
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let greeting = self.greeting();
        f.debug_struct("Client")
            .field("revision", &greeting.revision)
            .field("server", &greeting.server)
            .finish_non_exhaustive()
    }
}
