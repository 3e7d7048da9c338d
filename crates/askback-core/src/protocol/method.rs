//! Methods: every request and notification with its parameters.

use alloc::{boxed::Box, vec::Vec};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::value::RawValue;

use super::{
    CallToolParams, CancelledParams, CompleteParams, CreateMessageParams, DetailedTask,
    ElicitParams, ElicitationCompleteParams, GetPromptParams, InitializeParams, InputRequest,
    LoggingMessageParams, NotificationParams, OtherRequest, PaginatedParams, ProgressParams,
    ReadResourceParams, RequestParams, ResourceUpdatedParams, SetLevelParams, SubscribeParams,
    SubscriptionsAcknowledgedParams, SubscriptionsListenParams, TaskParams, TaskState,
    UpdateTaskParams, meta::has_meta, raw::decode_params,
};
use crate::jsonrpc::{self, ErrorObject, RequestId};

/// Makes an enum of methods. `omitted if` names the test after which a method's parameters are
/// left out when they say nothing. `else` is a variant for requests that are passed on as they came.
macro_rules! methods {
    (
        $(#[$doc:meta])*
        $name:ident {
            $(
                $(#[$variant_doc:meta])*
                $variant:ident($params:ty) = $method:literal $(, omitted if $empty:ident)?;
            )*
        }
        $(else { $(#[$other_doc:meta])* $other:ident($raw:ty) })?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub enum $name {
            $(
                $(#[$variant_doc])*
                $variant($params),
            )*
            $($(#[$other_doc])* $other(Box<$raw>),)?
        }

        impl $name {
            /// The names of all methods here, in whatever revision they exist.
            pub const METHODS: &'static [&'static str] = &[$($method),*];

            /// The name of the method.
            pub fn method(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $method,)*
                    $(Self::$other(request) => request.method(),)?
                }
            }

            /// Reads the parameters of a method.
            ///
            /// # Errors
            ///
            /// Method not found for a method that is none of these, invalid params with the reason
            /// for parameters that do not fit.
            #[inline] // Built where it is called: a side reads only the methods of the other.
            pub fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
                match method {
                    $($method => decode_params(params).map(Self::$variant),)*
                    _ => Err(ErrorObject::method_not_found(method)),
                }
            }

            /// The parameters, to be written; none where they would say nothing.
            pub fn params(&self) -> Option<Params<'_, Self>> {
                let omitted = match self {
                    $(Self::$variant(_params) => false $(|| _params.$empty())?,)*
                    $(Self::$other(request) => request.is_empty(),)?
                };
                (!omitted).then_some(Params(self))
            }
        }

        impl jsonrpc::ReadParams for $name {
            fn read_params<'de, D: Deserializer<'de>>(
                method: &str,
                params: D,
            ) -> Result<Self, D::Error> {
                match method {
                    $($method => Deserialize::deserialize(params).map(Self::$variant),)*
                    _ => Err(de::Error::custom("there is no such method")),
                }
            }
        }

        has_meta! { $name: $($variant)|+ $(| $other)?; }

        impl Serialize for Params<'_, $name> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self.0 {
                    $($name::$variant(params) => params.serialize(serializer),)*
                    $($name::$other(request) => request.serialize(serializer),)?
                }
            }
        }
    };
}

/// The parameters of a request or notification, to be written.
#[derive(Debug, Clone, Copy)]
pub struct Params<'a, M>(&'a M);

methods! {
    /// A request of a client.
    ClientRequest {
        /// Opens a session (handshake revisions).
        Initialize(Box<InitializeParams>) = "initialize";
        /// Asks for the server's revisions and capabilities (from 2026-07-28 on).
        Discover(RequestParams) = "server/discover", omitted if is_empty;
        /// Are you there (handshake revisions)?
        Ping(RequestParams) = "ping", omitted if is_empty;
        /// Which tools are there?
        ListTools(PaginatedParams) = "tools/list", omitted if is_empty;
        /// Call a tool.
        CallTool(CallToolParams) = "tools/call";
        /// Which prompts are there?
        ListPrompts(PaginatedParams) = "prompts/list", omitted if is_empty;
        /// The messages of a prompt.
        GetPrompt(GetPromptParams) = "prompts/get";
        /// Which resources are there?
        ListResources(PaginatedParams) = "resources/list", omitted if is_empty;
        /// Which families of resources are there?
        ListResourceTemplates(PaginatedParams) = "resources/templates/list", omitted if is_empty;
        /// Read a resource.
        ReadResource(ReadResourceParams) = "resources/read";
        /// Watch a resource (handshake revisions).
        Subscribe(SubscribeParams) = "resources/subscribe";
        /// No longer watch a resource (handshake revisions).
        Unsubscribe(SubscribeParams) = "resources/unsubscribe";
        /// Tell me of changes (from 2026-07-28 on).
        Listen(SubscriptionsListenParams) = "subscriptions/listen";
        /// Complete an argument.
        Complete(CompleteParams) = "completion/complete";
        /// Log from this level on (handshake revisions).
        SetLevel(SetLevelParams) = "logging/setLevel";
        /// How does a task stand (2025-11-25, then the tasks extension)?
        GetTask(TaskParams) = "tasks/get";
        /// Asks for the result of a task (2025-11-25).
        GetTaskPayload(TaskParams) = "tasks/result";
        /// Answers to the questions of a task (the tasks extension).
        UpdateTask(UpdateTaskParams) = "tasks/update";
        /// Cancel a task (2025-11-25, then the tasks extension).
        CancelTask(TaskParams) = "tasks/cancel";
        /// Which tasks are there (2025-11-25)?
        ListTasks(PaginatedParams) = "tasks/list", omitted if is_empty;
    } else {
        /// A request that is passed on as it came, of any method. It is never read from a message.
        Other(OtherRequest)
    }
}

impl ClientRequest {
    /// The name of the method if a revision has it, else `other`. Metrics need a small number of labels.
    #[must_use]
    pub fn known_method(&self) -> &'static str {
        match self {
            Self::CallTool(_) => "tools/call",
            Self::Other(request) => request.known_method(),
            request => {
                let mut known = Self::METHODS.iter();
                known
                    .find(|known| **known == request.method())
                    .unwrap_or(&"other")
            }
        }
    }

    /// Returns the target: the name of a tool or prompt, the URI of a resource, or a task.
    /// `Mcp-Name` repeats it (2026-07-28, basic/transports/streamable-http, Standard Request
    /// Headers).
    #[must_use]
    pub fn target(&self) -> Option<&str> {
        match self {
            Self::CallTool(params) => Some(&params.name),
            Self::GetPrompt(params) => Some(&params.name),
            Self::ReadResource(params) => Some(&params.uri),
            Self::GetTask(params) | Self::CancelTask(params) => Some(&params.task_id),
            Self::UpdateTask(params) => Some(&params.task_id),
            Self::Other(request) => request.target(),
            Self::Initialize(_)
            | Self::Discover(_)
            | Self::Ping(_)
            | Self::ListTools(_)
            | Self::ListPrompts(_)
            | Self::ListResources(_)
            | Self::ListResourceTemplates(_)
            | Self::Subscribe(_)
            | Self::Unsubscribe(_)
            | Self::Listen(_)
            | Self::Complete(_)
            | Self::SetLevel(_)
            | Self::GetTaskPayload(_)
            | Self::ListTasks(_) => None,
        }
    }
}

methods! {
    /// A request of a server on a session (handshake revisions).
    ServerRequest {
        /// Are you there?
        Ping(RequestParams) = "ping", omitted if is_empty;
        /// Ask a person (from 2025-06-18 on).
        Elicit(ElicitParams) = "elicitation/create";
        /// Ask the model.
        Sample(Box<CreateMessageParams>) = "sampling/createMessage";
        /// Where may I work?
        Roots(RequestParams) = "roots/list", omitted if is_empty;
        /// How does a task stand (2025-11-25)?
        GetTask(TaskParams) = "tasks/get";
        /// Asks for the result of a task (2025-11-25).
        GetTaskPayload(TaskParams) = "tasks/result";
        /// Cancel a task (2025-11-25).
        CancelTask(TaskParams) = "tasks/cancel";
        /// Which tasks are there (2025-11-25)?
        ListTasks(PaginatedParams) = "tasks/list", omitted if is_empty;
    }
}

methods! {
    /// A notification of a client.
    ClientNotification {
        /// The session is open (handshake revisions).
        Initialized(NotificationParams) = "notifications/initialized", omitted if is_empty;
        /// A request is no longer wanted.
        Cancelled(CancelledParams) = "notifications/cancelled";
        /// How far a request has come (handshake revisions).
        Progress(ProgressParams) = "notifications/progress";
        /// The roots changed (handshake revisions).
        RootsListChanged(NotificationParams) = "notifications/roots/list_changed",
            omitted if is_empty;
        /// A task stands differently (2025-11-25).
        TaskStatus(TaskState) = "notifications/tasks/status";
    }
}

methods! {
    /// A notification of a server.
    ServerNotification {
        /// A request is no longer wanted, or a subscription has ended.
        Cancelled(CancelledParams) = "notifications/cancelled";
        /// How far a request has come.
        Progress(ProgressParams) = "notifications/progress";
        /// A log line.
        Message(LoggingMessageParams) = "notifications/message";
        /// The list of tools changed.
        ToolsListChanged(NotificationParams) = "notifications/tools/list_changed",
            omitted if is_empty;
        /// The list of prompts changed.
        PromptsListChanged(NotificationParams) = "notifications/prompts/list_changed",
            omitted if is_empty;
        /// The list of resources changed.
        ResourcesListChanged(NotificationParams) = "notifications/resources/list_changed",
            omitted if is_empty;
        /// A resource changed that is watched.
        ResourceUpdated(ResourceUpdatedParams) = "notifications/resources/updated";
        /// A subscription began (from 2026-07-28 on).
        SubscriptionsAcknowledged(SubscriptionsAcknowledgedParams)
            = "notifications/subscriptions/acknowledged";
        /// The task behind a link is done (2025-11-25).
        ElicitationComplete(ElicitationCompleteParams) = "notifications/elicitation/complete";
        /// A task stands differently (2025-11-25).
        TaskStatus(TaskState) = "notifications/tasks/status";
        /// A task of the extension stands differently (from 2026-07-28 on).
        Task(DetailedTask) = "notifications/tasks";
    }
}

impl ClientRequest {
    /// The request as JSON, without a newline.
    pub fn to_vec(&self, id: &RequestId) -> Vec<u8> {
        jsonrpc::write_request(id, self.method(), self.params().as_ref())
    }

    /// The same of a request without a `_meta`, with these members in its place, as text.
    #[cfg(feature = "client")]
    pub(crate) fn to_vec_with_meta(&self, id: &RequestId, members: &str) -> Vec<u8> {
        jsonrpc::write_request_of(id, self.method(), self.params().as_ref(), members)
    }
}

impl ServerRequest {
    /// The request as JSON, without a newline.
    pub fn to_vec(&self, id: &RequestId) -> Vec<u8> {
        jsonrpc::write_request(id, self.method(), self.params().as_ref())
    }
}

impl ClientNotification {
    /// The notification as JSON, without a newline.
    pub fn to_vec(&self) -> Vec<u8> {
        jsonrpc::write_notification(self.method(), self.params().as_ref())
    }
}

impl ServerNotification {
    /// The notification as JSON, without a newline.
    pub fn to_vec(&self) -> Vec<u8> {
        jsonrpc::write_notification(self.method(), self.params().as_ref())
    }
}

impl From<InputRequest> for ServerRequest {
    fn from(request: InputRequest) -> Self {
        match request {
            InputRequest::Elicit(params) => Self::Elicit(params),
            InputRequest::Sample(params) => Self::Sample(params),
            InputRequest::Roots(params) => Self::Roots(params),
        }
    }
}
