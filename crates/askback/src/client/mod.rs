//! Clients: calling what a server has, and answering what it asks.
//!
//! A [`Client`] finds out by itself which revision a server speaks, drives the rounds in which the
//! server asks, and starts a crashed server again if that is safe. The functions that a
//! [`ClientBuilder`] is given answer the server's questions; a kind of question without a function is not declared.
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

mod alarm;
mod builder;
mod call;
mod clients;
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
mod subscription;
mod trace;

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
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
pub use clients::Clients;
pub use pages::List;
pub use received::Received;
pub use servers::{ServerCommand, ServerEntry, ServerUrl, ServersFile, ServersFileError};
pub use subscription::Subscription;

use self::{
    call::CancelGuard,
    command::{CallMode, Command, Reply},
    driver::Handles,
    received::read,
};

/// A connection to a server. Clones are cheap and share it; it ends, and with it a server that is
/// a child process, when the last one is dropped or one is [closed](Client::close).
///
/// Dropping the future of a call cancels the call. A call that takes too long is cancelled, too:
/// after [`limits.wire.request`](crate::limits::WireLimits::request), or what
/// [`with_timeout`](Client::with_timeout) says.
#[derive(Clone)]
pub struct Client {
    inner: Arc<Inner>,
    /// Those of this handle.
    timeouts: Timeouts,
    manner: CallMode,
    /// The `_meta` that this handle adds to its requests.
    meta: Option<Arc<Meta>>,
}

struct Inner {
    commands: mpsc::UnboundedSender<Command>,
    shared: Arc<Shared>,
    limits: Limits,
    last_id: AtomicU64,
    /// Gives each request its place in a trace.
    propagate: Option<trace::Propagator>,
    /// The open subscriptions of [`Client::subscribe`], where watching is a subscription of its
    /// own.
    watched: Mutex<HashMap<String, Subscription>>,
}

/// The state that the driver shares with all handles.
struct Shared {
    greeting: Mutex<Arc<Greeting>>,
    /// The output schemas of tools; `None` where results are not checked.
    #[cfg(feature = "json-schema")]
    outputs: Option<outputs::Outputs>,
}

impl Client {
    /// Returns a builder of a client that calls itself so.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(name.into(), version.into())
    }

    /// The revision that is spoken.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.greeting().revision
    }

    /// Returns the server's own name and version, unverified.
    #[must_use]
    pub fn server_info(&self) -> Option<Implementation> {
        self.greeting().server.clone()
    }

    /// Returns the server's capabilities.
    #[must_use]
    pub fn capabilities(&self) -> ServerCapabilities {
        self.greeting().capabilities.clone()
    }

    /// How to use the server, for a model.
    #[must_use]
    pub fn instructions(&self) -> Option<String> {
        self.greeting().instructions.clone()
    }

    /// All the server said of itself when the connection opened.
    #[must_use]
    pub fn greeting(&self) -> Arc<Greeting> {
        self.inner.shared.lock().clone()
    }

    /// Returns a handle of the same client with another time-out: how long the server may take for
    /// each request. The time a person is asked is not counted; each sign of progress gives the
    /// server that time again, but not beyond [`Client::with_timeout_in_all`].
    ///
    /// A request that takes longer is cancelled and ends with [`ClientError::TimedOut`].
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

    /// Returns a handle of the same client that gives a call so much time in all, whatever progress
    /// the server reports, and a task it becomes as much again. The time a person is asked is not
    /// counted, unless a task asks. Otherwise it is
    /// [`limits.client.request_in_all`](crate::limits::ClientLimits::request_in_all), and
    /// [`limits.tasks.in_all`](crate::limits::TaskLimits::in_all) for a task.
    #[must_use]
    pub fn with_timeout_in_all(&self, timeout: Duration) -> Self {
        let mut client = self.clone();
        client.timeouts.in_all = Some(timeout);
        client
    }

    /// Returns a handle of the same client that says this in the `_meta` of each of its requests,
    /// under a key of an extension or one of your own such as `com.example/tenant`.
    ///
    /// # Errors
    ///
    /// [`MetaKeyError`] for a text that is not a key, and for a key that the protocol sets itself.
    pub fn with_meta(&self, key: &str, value: impl Into<Value>) -> Result<Self, MetaKeyError> {
        let mut meta = self.meta.as_deref().cloned().unwrap_or_default();
        meta.set(key, value)?;
        let mut client = self.clone();
        client.meta = Some(Arc::new(meta));
        Ok(client)
    }

    /// Returns the settings of an extension that the server declares, which may be empty; `None` if it does not have the
    /// extension.
    #[must_use]
    pub fn extension(&self, name: &str) -> Option<JsonObject> {
        self.greeting().capabilities.extension(name).cloned()
    }

    /// All tools; none of a server that has no tools. Entries that cannot be used are
    /// [left out](List::left_out). Likewise the other lists.
    ///
    /// # Errors
    ///
    /// As all calls: see [`ClientError`].
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

    /// One page of the tools: the first, or the one a page before named in its `nextCursor`.
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

    /// All prompts.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn prompts(&self) -> Result<List<Prompt>, ClientError> {
        self.pages::<ListPromptsResult>().await
    }

    /// One page of the prompts.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn prompts_page(
        &self,
        cursor: Option<String>,
    ) -> Result<ListPromptsResult, ClientError> {
        self.page(cursor).await
    }

    /// All resources.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn resources(&self) -> Result<List<Resource>, ClientError> {
        self.pages::<ListResourcesResult>().await
    }

    /// One page of the resources.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn resources_page(
        &self,
        cursor: Option<String>,
    ) -> Result<ListResourcesResult, ClientError> {
        self.page(cursor).await
    }

    /// All resource templates.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn resource_templates(&self) -> Result<List<ResourceTemplate>, ClientError> {
        self.pages::<ListResourceTemplatesResult>().await
    }

    /// One page of the resource templates.
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn resource_templates_page(
        &self,
        cursor: Option<String>,
    ) -> Result<ListResourceTemplatesResult, ClientError> {
        self.page(cursor).await
    }

    /// Calls a tool. The arguments are anything that serializes as an object: a struct, a map,
    /// `json!({..})`; or `()` for no arguments.
    ///
    /// That the tool itself failed is a result like any other: [`CallToolResult::text`] and
    /// [`CallToolResult::structured`] return it as an error.
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
    /// With the feature `json-schema`, the result of a tool that was listed with an output schema is
    /// checked by it, unless [`ClientBuilder::check_results`] says otherwise.
    ///
    /// # Errors
    ///
    /// [`ClientError::Arguments`] if the arguments are no object, and [`ClientError::Output`] if the
    /// result does not fit the schema; see [`ClientError`].
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

    /// Calls a tool that was listed: as a task of the core protocol if it has to be one (2025-11-25,
    /// server/tools, `execution`), and otherwise as [`Client::call_tool`] does. The caller notices
    /// nothing of the task; the client asks after it until it has ended, and has it cancelled when the
    /// future is dropped.
    ///
    /// # Errors
    ///
    /// As [`Client::call_tool`].
    pub fn call_listed(
        &self,
        tool: &Tool,
        arguments: impl Serialize,
    ) -> PendingCall<CallToolResult> {
        let is_task = tool.requires_task() && self.makes_tasks();
        self.call(&tool.name, &arguments, is_task)
    }

    /// Calls a tool that was listed: as a task if it may be one, and otherwise as
    /// [`Client::call_tool`] does. The client follows a task as in [`Client::call_listed`]; how it
    /// stands is told by [`Event::Task`]. From 2026-07-28 on it is the server that decides, call by
    /// call, whether one becomes a task.
    ///
    /// # Errors
    ///
    /// As [`Client::call_tool`].
    pub fn call_as_task(
        &self,
        tool: &Tool,
        arguments: impl Serialize,
    ) -> PendingCall<CallToolResult> {
        let is_task = tool.may_be_task() && self.makes_tasks();
        self.call(&tool.name, &arguments, is_task)
    }

    /// Follows a task that a call of this tool became before, also one of another process that has
    /// ended. Nothing is called: the result is that of the call, and on the way to it all is as if
    /// this client had called. Its questions are put to the functions that answer them,
    /// [`Event::Task`] tells how it stands, the result is checked, and the task is
    /// cancelled when the future is dropped, unless it is [left](PendingCall::leave).
    ///
    /// The id is the `task_id` of `Event::Task`: keep it as soon as it is told, with the name of the tool
    /// and the server. Whoever has it may be able to use the task, so keep it as you would a key. A
    /// question that another client was asked and did not answer is asked again.
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
    /// [`ClientError::TaskLost`] where the server does not know the task,
    /// any more or for this caller, and [`ClientError::Unsupported`] where
    /// one of the sides has no tasks or the id is too long; else as [`Client::call_tool`].
    pub fn resume_task(&self, task_id: &str, tool: &str) -> PendingCall<CallToolResult> {
        let mut client = self.clone();
        client.manner = CallMode::Task(task_id.into());
        let request = ClientRequest::CallTool(CallToolParams::new(tool));
        PendingCall::new(&client, Ok(request))
    }

    /// Whether a call of a tool that was listed can become a task, by what the server says of both.
    #[must_use]
    pub fn may_be_task(&self, tool: &Tool) -> bool {
        let facts = self.revision().facts();
        let is_core = tool.may_be_task() && self.makes_tasks();
        is_core || (facts.extensions && self.greeting().capabilities.tasks_extension())
    }

    /// Whether calls of tools can be made tasks of the core protocol (2025-11-25).
    fn makes_tasks(&self) -> bool {
        self.revision().facts().tasks && self.greeting().capabilities.calls_as_tasks()
    }

    /// Sends one round of a call of a tool, of getting a prompt or of reading a resource, and returns
    /// what came of it: the result, or the questions
    /// of the server with its state ([`Outcome::NeedInput`]). Nothing is put to the functions that
    /// answer questions. To go on, send the same parameters with the answers by their keys in
    /// `input_responses`, and the state in `request_state`: at any time, and from another process, for
    /// as long as the server accepts the state.
    ///
    /// That is so in 2026-07-28. In older revisions a question belongs to the open connection: it is
    /// answered as in [`Client::call_tool`], and the result is always done.
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
    /// As [`Client::call_tool`].
    pub async fn call_round<P: RoundParams>(
        &self,
        params: P,
    ) -> Result<Received<Outcome<P::Result>>, ClientError> {
        let mut client = self.clone();
        client.manner = CallMode::Round;
        let request = params.into_request();
        PendingCall::new(&client, Ok(request)).round().await
    }

    /// Gets the messages of a prompt. The arguments are anything that serializes as an object of
    /// texts, or `()` for no arguments.
    ///
    /// # Errors
    ///
    /// [`ClientError::Arguments`] where the arguments are no object of texts; see [`ClientError`].
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

    /// Completes an argument, given by name and what is typed so far, in the context of arguments
    /// already given.
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

    /// Asks whether the server is there (handshake revisions).
    ///
    /// # Errors
    ///
    /// See [`ClientError`].
    pub async fn ping(&self) -> Result<(), ClientError> {
        self.request(ClientRequest::Ping(RequestParams::default()))
            .await
            .map(|_| ())
    }

    /// From which level on the server shall log to this client: for the session, or with each
    /// request from now on, as the revision has it.
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

    /// Tells the server that the roots changed, where the revision has a way to.
    pub fn roots_changed(&self) {
        // A closed client tells the server nothing.
        let _ = self.inner.commands.send(Command::RootsChanged);
    }

    /// From now on the client makes its requests for another principal; see [`ClientBuilder::principal`].
    pub fn set_principal(&self, principal: Option<String>) {
        // A closed client makes no requests.
        let _ = self.inner.commands.send(Command::SetPrincipal(principal));
    }

    /// Ends the connection, for all clones: what is in progress ends with [`ClientError::Closed`].
    /// Returns when a server that is a child process has ended.
    pub async fn close(self) {
        let (done, closed) = oneshot::channel();
        if self.inner.commands.send(Command::Close(done)).is_ok() {
            // Where the driver has ended otherwise there is nothing to wait for.
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

    /// Makes a request as it is, and gives its result as it was received.
    #[cfg(feature = "bridge")]
    pub(crate) fn exchange(&self, request: ClientRequest) -> PendingCall<()> {
        PendingCall::new(self, Ok(request))
    }

    fn limits(&self) -> &Limits {
        &self.inner.limits
    }

    fn watched(&self) -> MutexGuard<'_, HashMap<String, Subscription>> {
        self.inner
            .watched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
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

/// The arguments of a call, if any were given.
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

    /// The tools of the server may be others now.
    fn forget_tools(&self) {
        #[cfg(feature = "json-schema")]
        if let Some(outputs) = &self.outputs {
            outputs.forget();
        }
    }

    /// The server was started again, and its tools may be others.
    fn restarted(&self) {
        #[cfg(feature = "json-schema")]
        if let Some(outputs) = &self.outputs {
            outputs.restart();
        }
    }

    /// The server said something else of itself, as it was started again.
    fn greet(&self, greeting: Greeting) {
        self.restarted();
        *self.lock() = Arc::new(greeting);
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Greeting>> {
        self.greeting.lock().unwrap_or_else(PoisonError::into_inner)
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
