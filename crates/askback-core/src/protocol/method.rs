//! Methods: every request and notification with its parameters.

use alloc::{boxed::Box, vec::Vec};

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::{
    CallToolParams, CancelledParams, CompleteParams, CreateMessageParams, DetailedTask,
    ElicitParams, ElicitationCompleteParams, GetPromptParams, GetSkillParams, InitializeParams,
    InputRequest, LoggingMessageParams, NotificationParams, OtherRequest, PaginatedParams,
    ProgressParams, ReadResourceDirectoryParams, ReadResourceParams, RequestParams,
    ResourceUpdatedParams, SetLevelParams, SubscribeParams, SubscriptionsAcknowledgedParams,
    SubscriptionsListenParams, TaskParams, TaskState, UpdateTaskParams, meta::has_meta,
    raw::decode_params,
};
use crate::jsonrpc::{self, ErrorObject, RequestId, Walk};

/// Defines an enum of methods. Parameters are left out if the function behind `omitted if` returns
/// true. `else` defines a variant for forwarded requests.
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
            /// The names of all methods of this kind, in any revision.
            pub const METHODS: &'static [&'static str] = &[$($method),*];

            /// Returns the name of the method.
            pub fn method(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $method,)*
                    $(Self::$other(request) => request.method(),)?
                }
            }

            /// Parses the parameters of a method.
            ///
            /// # Errors
            ///
            /// Method not found for an unknown method, invalid params with the reason for invalid
            /// parameters.
            #[inline] // Built where it is called: a side reads only the methods of the other.
            pub fn parse(method: &str, params: Option<&RawValue>) -> Result<Self, ErrorObject> {
                match method {
                    $($method => decode_params(params).map(Self::$variant),)*
                    _ => Err(ErrorObject::method_not_found(method)),
                }
            }

            /// Reads the parameters of a method in a message. `None` means that [`Self::parse`] is
            /// needed.
            #[allow(dead_code, reason = "only requests of a client are read in one pass")]
            pub(crate) fn read(method: &str, params: &mut Walk<'_>) -> Option<Self> {
                match method {
                    $($method => params.read().map(Self::$variant),)*
                    _ => None,
                }
            }

            /// Returns the parameters for serializing, or `None` if they are left out.
            pub fn params(&self) -> Option<Params<'_, Self>> {
                let omitted = match self {
                    $(Self::$variant(_params) => false $(|| _params.$empty())?,)*
                    $(Self::$other(request) => request.is_empty(),)?
                };
                (!omitted).then_some(Params(self))
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

/// The parameters of a request or notification, for serializing.
#[derive(Debug, Clone, Copy)]
pub struct Params<'a, M>(&'a M);

methods! {
    /// A request of a client.
    ClientRequest {
        /// Opens a session (handshake revisions).
        Initialize(Box<InitializeParams>) = "initialize";
        /// Asks for the server's revisions and capabilities (from 2026-07-28 on).
        Discover(RequestParams) = "server/discover", omitted if is_empty;
        /// Checks that the server is alive (handshake revisions).
        Ping(RequestParams) = "ping", omitted if is_empty;
        /// Lists the tools.
        ListTools(PaginatedParams) = "tools/list", omitted if is_empty;
        /// Calls a tool.
        CallTool(CallToolParams) = "tools/call";
        /// Lists the prompts.
        ListPrompts(PaginatedParams) = "prompts/list", omitted if is_empty;
        /// Gets the messages of a prompt.
        GetPrompt(GetPromptParams) = "prompts/get";
        /// Lists the resources.
        ListResources(PaginatedParams) = "resources/list", omitted if is_empty;
        /// Lists the resource templates.
        ListResourceTemplates(PaginatedParams) = "resources/templates/list", omitted if is_empty;
        /// Reads a resource.
        ReadResource(ReadResourceParams) = "resources/read";
        /// Lists the skills (the skills extension).
        ListSkills(PaginatedParams) = "skills/list", omitted if is_empty;
        /// Gets one skill (the skills extension).
        GetSkill(GetSkillParams) = "skills/get";
        /// Lists the files and folders in a folder of a skill (the skills extension).
        ReadResourceDirectory(ReadResourceDirectoryParams) = "resources/directory/read";
        /// Watches a resource (handshake revisions).
        Subscribe(SubscribeParams) = "resources/subscribe";
        /// Stops watching a resource (handshake revisions).
        Unsubscribe(SubscribeParams) = "resources/unsubscribe";
        /// Subscribes to changes (from 2026-07-28 on).
        Listen(SubscriptionsListenParams) = "subscriptions/listen";
        /// Completes an argument.
        Complete(CompleteParams) = "completion/complete";
        /// Sets the minimum log level (handshake revisions).
        SetLevel(SetLevelParams) = "logging/setLevel";
        /// Gets the status of a task (2025-11-25, then the tasks extension).
        GetTask(TaskParams) = "tasks/get";
        /// Asks for the result of a task (2025-11-25).
        GetTaskPayload(TaskParams) = "tasks/result";
        /// Answers the questions of a task (the tasks extension).
        UpdateTask(UpdateTaskParams) = "tasks/update";
        /// Cancels a task (2025-11-25, then the tasks extension).
        CancelTask(TaskParams) = "tasks/cancel";
        /// Lists the tasks (2025-11-25).
        ListTasks(PaginatedParams) = "tasks/list", omitted if is_empty;
    } else {
        /// A forwarded request of any method. It is never parsed from a message.
        Other(OtherRequest)
    }
}

impl ClientRequest {
    /// Returns the name of the method if it is in the specification, else `other`: metrics need a
    /// small number of labels.
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

    /// Returns the target: the name of a tool or prompt, the URI of a resource, or the id of a
    /// task. `Mcp-Name` repeats it (2026-07-28, basic/transports/streamable-http, Standard Request
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
            | Self::ListSkills(_)
            | Self::GetSkill(_)
            | Self::ReadResourceDirectory(_)
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
        /// Checks that the client is alive.
        Ping(RequestParams) = "ping", omitted if is_empty;
        /// Asks the user (from 2025-06-18 on).
        Elicit(ElicitParams) = "elicitation/create";
        /// Asks the model.
        Sample(Box<CreateMessageParams>) = "sampling/createMessage";
        /// Lists the folders in which the server may work.
        Roots(RequestParams) = "roots/list", omitted if is_empty;
        /// Gets the status of a task (2025-11-25).
        GetTask(TaskParams) = "tasks/get";
        /// Asks for the result of a task (2025-11-25).
        GetTaskPayload(TaskParams) = "tasks/result";
        /// Cancels a task (2025-11-25).
        CancelTask(TaskParams) = "tasks/cancel";
        /// Lists the tasks (2025-11-25).
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
        /// Progress of a request (handshake revisions).
        Progress(ProgressParams) = "notifications/progress";
        /// The roots changed (handshake revisions).
        RootsListChanged(NotificationParams) = "notifications/roots/list_changed",
            omitted if is_empty;
        /// The status of a task changed (2025-11-25).
        TaskStatus(TaskState) = "notifications/tasks/status";
    }
}

methods! {
    /// A notification of a server.
    ServerNotification {
        /// A request is no longer wanted, or a subscription has ended.
        Cancelled(CancelledParams) = "notifications/cancelled";
        /// Progress of a request.
        Progress(ProgressParams) = "notifications/progress";
        /// A log message.
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
        /// A watched resource changed.
        ResourceUpdated(ResourceUpdatedParams) = "notifications/resources/updated";
        /// A subscription began (from 2026-07-28 on).
        SubscriptionsAcknowledged(SubscriptionsAcknowledgedParams)
            = "notifications/subscriptions/acknowledged";
        /// The user has finished at a link (2025-11-25).
        ElicitationComplete(ElicitationCompleteParams) = "notifications/elicitation/complete";
        /// The status of a task changed (2025-11-25).
        TaskStatus(TaskState) = "notifications/tasks/status";
        /// The status of a task of the extension changed (from 2026-07-28 on).
        Task(DetailedTask) = "notifications/tasks";
    }
}

impl ClientRequest {
    /// Serializes the request as JSON, without a newline.
    pub fn to_vec(&self, id: &RequestId) -> Vec<u8> {
        jsonrpc::write_request(id, self.method(), self.params().as_ref())
    }

    /// Serializes a request without `_meta`, and adds a `_meta` with these JSON members.
    #[cfg(feature = "client")]
    pub(crate) fn to_vec_with_meta(&self, id: &RequestId, members: &str) -> Vec<u8> {
        jsonrpc::write_request_of(id, self.method(), self.params().as_ref(), members)
    }
}

impl ServerRequest {
    /// Serializes the request as JSON, without a newline.
    pub fn to_vec(&self, id: &RequestId) -> Vec<u8> {
        jsonrpc::write_request(id, self.method(), self.params().as_ref())
    }
}

impl ClientNotification {
    /// Serializes the notification as JSON, without a newline.
    pub fn to_vec(&self) -> Vec<u8> {
        jsonrpc::write_notification(self.method(), self.params().as_ref())
    }
}

impl ServerNotification {
    /// Serializes the notification as JSON, without a newline.
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
