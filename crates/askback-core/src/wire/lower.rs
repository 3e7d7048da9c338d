//! Visits the parts of a message to lower it by one revision.

use alloc::{boxed::Box, vec::Vec};

use super::step::LowerStep;
use crate::protocol::{
    Annotations, AudioContent, BlobResourceContents, CallToolParams, CallToolResult,
    CancelledParams, ClientCapabilities, ClientNotification, ClientRequest, CompleteParams,
    CompleteResult, ContentBlock, CreateMessageParams, CreateMessageResult, CreateTaskResult,
    DetailedTask, DiscoverResult, ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams,
    ElicitationCompleteParams, EmbeddedResource, EmptyResult, GetPromptParams, GetPromptResult,
    GetSkillParams, GetSkillResult, ImageContent, Implementation, InitializeParams,
    InitializeResult, InputRequest, InputRequests, InputRequiredResult, InputResponse,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListRootsResult,
    ListSkillsResult, ListTasksResult, ListToolsResult, LoggingMessageParams, Meta,
    NotificationParams, OtherRequest, PaginatedParams, ProgressParams, Prompt,
    ReadResourceDirectoryParams, ReadResourceDirectoryResult, ReadResourceParams,
    ReadResourceResult, Reference, RequestParams, Resource, ResourceContents, ResourceLink,
    ResourceTemplate, ResourceUpdatedParams, Root, SamplingBlock, SamplingContent, SamplingMessage,
    ServerCapabilities, ServerNotification, ServerRequest, SetLevelParams, SubscribeParams,
    SubscriptionsAcknowledgedParams, SubscriptionsListenParams, SubscriptionsListenResult,
    TaskParams, TaskState, TextContent, TextResourceContents, Tool, ToolResultContent,
    ToolUseContent, UpdateTaskParams, UrlElicitationRequired,
};

/// A message, or a part of one, that `lower` can convert to an older revision.
pub trait Lower {
    /// Applies a step to each part of this message, outer parts before inner ones.
    fn lower(&mut self, step: &dyn LowerStep);
}

/// Visits a `_meta` and removes it if it is empty afterwards.
fn walk_meta(slot: &mut Option<Box<Meta>>, step: &dyn LowerStep) {
    let Some(meta) = slot else { return };
    meta.client_capabilities.lower(step);
    for implementation in [&mut meta.client_info, &mut meta.server_info] {
        implementation.lower(step);
    }
    step.members(&mut **meta);
    if meta.is_empty() {
        *slot = None;
    }
}

fn walk_questions(questions: &mut Option<InputRequests>, step: &dyn LowerStep) {
    for question in questions.iter_mut().flat_map(InputRequests::values_mut) {
        question.lower(step);
    }
}

/// Implements [`Lower`] for structs: first the given expression, then the `_meta`, then the
/// members. The variant `question` is for questions to a client and their answers.
macro_rules! lower {
    ($($($name:ident)|+ => |$this:ident, $step:ident| $first:expr;)*) => {
        $(lower! { @each ($($name)+) |$this, $step| $first; {} })*
    };
    (question $($($name:ident)|+ => |$this:ident, $step:ident| $first:expr;)*) => {
        $(lower! { @each ($($name)+) |$this, $step| $first; $step.question_meta(&mut $this.meta) })*
    };
    (@each ($($name:ident)+) |$this:ident, $step:ident| $first:expr; $last:expr) => {
        $(lower! { @of $name |$this, $step| $first; $last })+
    };
    (@of $name:ident |$this:ident, $step:ident| $first:expr; $last:expr) => {
        impl Lower for $name {
            fn lower(&mut self, $step: &dyn LowerStep) {
                let $this = self;
                $first;
                walk_meta(&mut $this.meta, $step);
                $last;
                $step.members($this);
            }
        }
    };
}

/// Implements [`Lower`] for enums: first the named method of the step, if any, then the variant.
macro_rules! lower_variants {
    ($($name:ident $(by $first:ident)?: $($variant:ident)|+;)*) => {
        $(
            impl Lower for $name {
                fn lower(&mut self, step: &dyn LowerStep) {
                    $(step.$first(self);)?
                    match self {
                        $(Self::$variant(thing) => thing.lower(step),)+
                    }
                }
            }
        )*
    };
}

impl<T: Lower> Lower for Option<T> {
    fn lower(&mut self, step: &dyn LowerStep) {
        if let Some(thing) = self {
            thing.lower(step);
        }
    }
}

impl<T: Lower> Lower for Vec<T> {
    fn lower(&mut self, step: &dyn LowerStep) {
        for thing in self {
            thing.lower(step);
        }
    }
}

impl<T: Lower> Lower for Box<T> {
    fn lower(&mut self, step: &dyn LowerStep) {
        T::lower(self, step);
    }
}

lower_variants! {
    ClientRequest: Initialize | Discover | Ping | ListTools | CallTool | ListPrompts | GetPrompt
        | ListResources | ListResourceTemplates | ReadResource | ListSkills | GetSkill | ReadResourceDirectory | Subscribe | Unsubscribe | Listen
        | Complete | SetLevel | GetTask | GetTaskPayload | UpdateTask | CancelTask | ListTasks | Other;
    ServerRequest: Ping | Elicit | Sample | Roots | GetTask | GetTaskPayload | CancelTask | ListTasks;
    ClientNotification: Initialized | Cancelled | Progress | RootsListChanged | TaskStatus;
    ServerNotification: Cancelled | Progress | Message | ToolsListChanged | PromptsListChanged
        | ResourcesListChanged | ResourceUpdated | SubscriptionsAcknowledged | ElicitationComplete
        | TaskStatus | Task;
    InputRequest: Elicit | Sample | Roots;
    InputResponse: Elicit | Sample | Roots;
    ElicitParams: Form | Url;
    ResourceContents: Text | Blob;
    ContentBlock by content: Text | Image | Audio | ResourceLink | Resource;
    SamplingBlock by sampling_block: Text | Image | Audio | ToolUse | ToolResult;
    SamplingContent: One | Many;
}

lower! {
    CallToolParams | CancelledParams | CompleteResult | CreateTaskResult | ElicitationCompleteParams
        | EmptyResult | GetPromptParams | GetSkillParams | ListTasksResult | LoggingMessageParams | NotificationParams
        | PaginatedParams | ProgressParams | ReadResourceDirectoryParams | ReadResourceParams | RequestParams
        | ResourceUpdatedParams | Root | SetLevelParams | SubscribeParams
        | SubscriptionsAcknowledgedParams | SubscriptionsListenParams | SubscriptionsListenResult
        | TaskParams | TaskState | UpdateTaskParams | TextResourceContents | BlobResourceContents
        | ToolUseContent => |this, step| {};
    InputRequiredResult | DetailedTask => |this, step| walk_questions(&mut this.input_requests, step);
    InitializeParams => |this, step| {
        this.capabilities.lower(step);
        this.client_info.lower(step);
    };
    InitializeResult => |this, step| {
        this.capabilities.lower(step);
        this.server_info.lower(step);
    };
    DiscoverResult => |this, step| {
        this.capabilities.lower(step);
        step.cache(&mut this.ttl_ms, &mut this.cache_scope);
    };
    Tool => |this, step| step.tool(this);
    ListToolsResult => |this, step| {
        this.tools.lower(step);
        step.cache(&mut this.ttl_ms, &mut this.cache_scope);
    };
    CallToolResult => |this, step| {
        step.tool_result(this);
        this.content.lower(step);
    };
    Prompt => |this, step| {
        for argument in this.arguments.iter_mut().flatten() {
            step.members(argument);
        }
    };
    ListPromptsResult => |this, step| {
        this.prompts.lower(step);
        step.cache(&mut this.ttl_ms, &mut this.cache_scope);
    };
    GetPromptResult => |this, step| {
        for message in &mut this.messages {
            message.content.lower(step);
        }
    };
    ListResourcesResult => |this, step| {
        this.resources.lower(step);
        step.cache(&mut this.ttl_ms, &mut this.cache_scope);
    };
    ListResourceTemplatesResult => |this, step| {
        this.resource_templates.lower(step);
        step.cache(&mut this.ttl_ms, &mut this.cache_scope);
    };
    ReadResourceDirectoryResult => |this, step| this.resources.lower(step);
    ListSkillsResult | GetSkillResult => |this, step| {
        step.cache(&mut this.ttl_ms, &mut this.cache_scope);
    };
    ReadResourceResult => |this, step| {
        this.contents.lower(step);
        step.cache(&mut this.ttl_ms, &mut this.cache_scope);
    };
    TextContent | ImageContent | AudioContent | ResourceLink | Resource | ResourceTemplate
        => |this, step| this.annotations.lower(step);
    EmbeddedResource => |this, step| {
        this.resource.lower(step);
        this.annotations.lower(step);
    };
    ToolResultContent | SamplingMessage => |this, step| this.content.lower(step);
    CreateMessageResult => |this, step| {
        step.sampling_result(&mut this.content);
        this.content.lower(step);
    };
    CompleteParams => |this, step| {
        if let Reference::Prompt(reference) = &mut this.reference {
            step.members(reference);
        }
    };
}

lower! {
    question
    CreateMessageParams => |this, step| {
        step.sampling_messages(&mut this.messages);
        this.messages.lower(step);
        this.tools.lower(step);
    };
    ElicitFormParams => |this, step| step.elicit_form(this);
    ElicitUrlParams | ElicitResult => |this, step| {};
    ListRootsResult => |this, step| this.roots.lower(step);
}

impl Lower for ClientCapabilities {
    fn lower(&mut self, step: &dyn LowerStep) {
        step.client_capabilities(self);
        if let Some(roots) = &mut self.roots {
            step.members(roots);
        }
        if let Some(sampling) = &mut self.sampling {
            step.members(sampling);
        }
        if let Some(elicitation) = &mut self.elicitation {
            step.members(elicitation);
        }
        step.members(self);
    }
}

macro_rules! lower_members {
    ($($name:ident)*) => {
        $(
            impl Lower for $name {
                fn lower(&mut self, step: &dyn LowerStep) {
                    step.members(self);
                }
            }
        )*
    };
}

/// A forwarded request is already in its revision, except for the parsed `_meta`.
impl Lower for OtherRequest {
    fn lower(&mut self, step: &dyn LowerStep) {
        walk_meta(&mut self.meta, step);
    }
}

lower_members! { Annotations Implementation ServerCapabilities }

impl Lower for UrlElicitationRequired {
    fn lower(&mut self, step: &dyn LowerStep) {
        for link in self.links_mut() {
            link.lower(step);
        }
    }
}
