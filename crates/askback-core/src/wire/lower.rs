//! The walk through a message that lets a step down see each thing in it.

use alloc::{boxed::Box, vec::Vec};

use super::step::LowerStep;
use crate::protocol::{
    Annotations, AudioContent, CallToolParams, CallToolResult, CancelledParams, ClientCapabilities,
    ClientNotification, ClientRequest, CompleteParams, CompleteResult, ContentBlock,
    CreateMessageParams, CreateMessageResult, CreateTaskResult, DetailedTask, DiscoverResult,
    ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams, ElicitationCompleteParams,
    EmbeddedResource, EmptyResult, GetPromptParams, GetPromptResult, ImageContent, Implementation,
    InitializeParams, InitializeResult, InputRequest, InputRequests, InputRequiredResult,
    InputResponse, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListRootsResult, ListTasksResult, ListToolsResult, LoggingMessageParams, Meta,
    NotificationParams, PaginatedParams, ProgressParams, Prompt, ReadResourceParams,
    ReadResourceResult, Reference, RequestParams, Resource, ResourceContents, ResourceLink,
    ResourceTemplate, ResourceUpdatedParams, SamplingBlock, SamplingContent, SamplingMessage,
    ServerCapabilities, ServerNotification, ServerRequest, SetLevelParams, SubscribeParams,
    SubscriptionsAcknowledgedParams, SubscriptionsListenParams, SubscriptionsListenResult,
    TaskParams, TaskState, TextContent, Tool, UpdateTaskParams, UrlElicitationRequired,
};

/// A message, or a part of one, that can be lowered to an older revision with
/// [`lower`](super::lower).
pub trait Lower {
    /// Lets a step see each thing in this message, the outer before the inner.
    fn lower(&mut self, step: &dyn LowerStep);
}

/// Walks the `_meta` of a thing; one that says nothing any more is left out.
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

macro_rules! lower_meta_only {
    ($($name:ident),* $(,)?) => {
        $(
            impl Lower for $name {
                fn lower(&mut self, step: &dyn LowerStep) {
                    walk_meta(&mut self.meta, step);
                    step.members(self);
                }
            }
        )*
    };
}

lower_meta_only! {
    CancelledParams, CompleteResult, CreateTaskResult, ElicitationCompleteParams, EmptyResult,
    ListTasksResult, LoggingMessageParams, NotificationParams, PaginatedParams, RequestParams,
    ResourceUpdatedParams, SetLevelParams, SubscribeParams, SubscriptionsAcknowledgedParams,
    SubscriptionsListenParams, SubscriptionsListenResult, TaskParams, TaskState, UpdateTaskParams,
}

macro_rules! lower_annotated {
    ($($name:ident),* $(,)?) => {
        $(
            impl Lower for $name {
                fn lower(&mut self, step: &dyn LowerStep) {
                    self.annotations.lower(step);
                    walk_meta(&mut self.meta, step);
                    step.members(self);
                }
            }
        )*
    };
}

lower_annotated! {
    TextContent, ImageContent, AudioContent, ResourceLink, EmbeddedResource, Resource,
    ResourceTemplate,
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

impl Lower for ClientRequest {
    fn lower(&mut self, step: &dyn LowerStep) {
        match self {
            Self::Initialize(params) => params.lower(step),
            Self::Discover(params) | Self::Ping(params) => params.lower(step),
            Self::ListTools(params)
            | Self::ListPrompts(params)
            | Self::ListResources(params)
            | Self::ListResourceTemplates(params)
            | Self::ListTasks(params) => params.lower(step),
            Self::CallTool(params) => params.lower(step),
            Self::GetPrompt(params) => params.lower(step),
            Self::ReadResource(params) => params.lower(step),
            Self::Subscribe(params) | Self::Unsubscribe(params) => params.lower(step),
            Self::Listen(params) => params.lower(step),
            Self::Complete(params) => params.lower(step),
            Self::SetLevel(params) => params.lower(step),
            Self::GetTask(params) | Self::GetTaskPayload(params) | Self::CancelTask(params) => {
                params.lower(step);
            }
            Self::UpdateTask(params) => params.lower(step),
        }
    }
}

impl Lower for ServerRequest {
    fn lower(&mut self, step: &dyn LowerStep) {
        match self {
            Self::Ping(params) | Self::Roots(params) => params.lower(step),
            Self::Elicit(params) => params.lower(step),
            Self::Sample(params) => params.lower(step),
            Self::GetTask(params) | Self::GetTaskPayload(params) | Self::CancelTask(params) => {
                params.lower(step);
            }
            Self::ListTasks(params) => params.lower(step),
        }
    }
}

impl Lower for ClientNotification {
    fn lower(&mut self, step: &dyn LowerStep) {
        match self {
            Self::Initialized(params) | Self::RootsListChanged(params) => params.lower(step),
            Self::Cancelled(params) => params.lower(step),
            Self::Progress(params) => params.lower(step),
            Self::TaskStatus(params) => params.lower(step),
        }
    }
}

impl Lower for ServerNotification {
    fn lower(&mut self, step: &dyn LowerStep) {
        match self {
            Self::Cancelled(params) => params.lower(step),
            Self::Progress(params) => params.lower(step),
            Self::Message(params) => params.lower(step),
            Self::ToolsListChanged(params)
            | Self::PromptsListChanged(params)
            | Self::ResourcesListChanged(params) => params.lower(step),
            Self::ResourceUpdated(params) => params.lower(step),
            Self::SubscriptionsAcknowledged(params) => params.lower(step),
            Self::ElicitationComplete(params) => params.lower(step),
            Self::TaskStatus(params) => params.lower(step),
            Self::Task(params) => params.lower(step),
        }
    }
}

impl Lower for InputRequest {
    fn lower(&mut self, step: &dyn LowerStep) {
        match self {
            Self::Elicit(params) => params.lower(step),
            Self::Sample(params) => params.lower(step),
            Self::Roots(params) => params.lower(step),
        }
    }
}

impl Lower for InputResponse {
    fn lower(&mut self, step: &dyn LowerStep) {
        match self {
            Self::Elicit(result) => result.lower(step),
            Self::Sample(result) => result.lower(step),
            Self::Roots(result) => result.lower(step),
        }
    }
}

impl Lower for InputRequiredResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        walk_questions(&mut self.input_requests, step);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for DetailedTask {
    fn lower(&mut self, step: &dyn LowerStep) {
        walk_questions(&mut self.input_requests, step);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for Implementation {
    fn lower(&mut self, step: &dyn LowerStep) {
        step.members(self);
    }
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

impl Lower for ServerCapabilities {
    fn lower(&mut self, step: &dyn LowerStep) {
        step.members(self);
    }
}

impl Lower for InitializeParams {
    fn lower(&mut self, step: &dyn LowerStep) {
        self.capabilities.lower(step);
        self.client_info.lower(step);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for InitializeResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        self.capabilities.lower(step);
        self.server_info.lower(step);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for DiscoverResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        self.capabilities.lower(step);
        step.cache(&mut self.ttl_ms, &mut self.cache_scope);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for Tool {
    fn lower(&mut self, step: &dyn LowerStep) {
        step.tool(self);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for ListToolsResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        self.tools.lower(step);
        step.cache(&mut self.ttl_ms, &mut self.cache_scope);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for CallToolParams {
    fn lower(&mut self, step: &dyn LowerStep) {
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for CallToolResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        step.tool_result(self);
        self.content.lower(step);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for Prompt {
    fn lower(&mut self, step: &dyn LowerStep) {
        for argument in self.arguments.iter_mut().flatten() {
            step.members(argument);
        }
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for ListPromptsResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        self.prompts.lower(step);
        step.cache(&mut self.ttl_ms, &mut self.cache_scope);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for GetPromptParams {
    fn lower(&mut self, step: &dyn LowerStep) {
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for GetPromptResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        for message in &mut self.messages {
            message.content.lower(step);
        }
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for ResourceContents {
    fn lower(&mut self, step: &dyn LowerStep) {
        match self {
            Self::Text(text) => {
                walk_meta(&mut text.meta, step);
                step.members(text);
            }
            Self::Blob(blob) => {
                walk_meta(&mut blob.meta, step);
                step.members(blob);
            }
        }
    }
}

impl Lower for ListResourcesResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        self.resources.lower(step);
        step.cache(&mut self.ttl_ms, &mut self.cache_scope);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for ListResourceTemplatesResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        self.resource_templates.lower(step);
        step.cache(&mut self.ttl_ms, &mut self.cache_scope);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for ReadResourceParams {
    fn lower(&mut self, step: &dyn LowerStep) {
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for ReadResourceResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        self.contents.lower(step);
        step.cache(&mut self.ttl_ms, &mut self.cache_scope);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for Annotations {
    fn lower(&mut self, step: &dyn LowerStep) {
        step.members(self);
    }
}

impl Lower for ContentBlock {
    fn lower(&mut self, step: &dyn LowerStep) {
        step.content(self);
        match self {
            Self::Text(text) => text.lower(step),
            Self::Image(image) => image.lower(step),
            Self::Audio(audio) => audio.lower(step),
            Self::ResourceLink(link) => link.lower(step),
            Self::Resource(embedded) => {
                embedded.resource.lower(step);
                embedded.lower(step);
            }
        }
    }
}

impl Lower for SamplingBlock {
    fn lower(&mut self, step: &dyn LowerStep) {
        step.sampling_block(self);
        match self {
            Self::Text(text) => text.lower(step),
            Self::Image(image) => image.lower(step),
            Self::Audio(audio) => audio.lower(step),
            Self::ToolUse(call) => {
                walk_meta(&mut call.meta, step);
                step.members(call);
            }
            Self::ToolResult(result) => {
                result.content.lower(step);
                walk_meta(&mut result.meta, step);
                step.members(result);
            }
        }
    }
}

impl Lower for SamplingContent {
    fn lower(&mut self, step: &dyn LowerStep) {
        match self {
            Self::One(block) => block.lower(step),
            Self::Many(blocks) => blocks.lower(step),
        }
    }
}

impl Lower for SamplingMessage {
    fn lower(&mut self, step: &dyn LowerStep) {
        self.content.lower(step);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for CreateMessageParams {
    fn lower(&mut self, step: &dyn LowerStep) {
        step.sampling_messages(&mut self.messages);
        self.messages.lower(step);
        self.tools.lower(step);
        walk_meta(&mut self.meta, step);
        step.question_meta(&mut self.meta);
        step.members(self);
    }
}

impl Lower for CreateMessageResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        step.sampling_result(&mut self.content);
        self.content.lower(step);
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for ElicitParams {
    fn lower(&mut self, step: &dyn LowerStep) {
        match self {
            Self::Form(params) => params.lower(step),
            Self::Url(params) => params.lower(step),
        }
    }
}

impl Lower for ElicitFormParams {
    fn lower(&mut self, step: &dyn LowerStep) {
        step.elicit_form(self);
        walk_meta(&mut self.meta, step);
        step.question_meta(&mut self.meta);
        step.members(self);
    }
}

impl Lower for ElicitUrlParams {
    fn lower(&mut self, step: &dyn LowerStep) {
        walk_meta(&mut self.meta, step);
        step.question_meta(&mut self.meta);
        step.members(self);
    }
}

impl Lower for ElicitResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        walk_meta(&mut self.meta, step);
        step.question_meta(&mut self.meta);
        step.members(self);
    }
}

impl Lower for UrlElicitationRequired {
    fn lower(&mut self, step: &dyn LowerStep) {
        for link in self.links_mut() {
            link.lower(step);
        }
    }
}

impl Lower for ListRootsResult {
    fn lower(&mut self, step: &dyn LowerStep) {
        for root in &mut self.roots {
            walk_meta(&mut root.meta, step);
            step.members(root);
        }
        walk_meta(&mut self.meta, step);
        step.question_meta(&mut self.meta);
        step.members(self);
    }
}

impl Lower for CompleteParams {
    fn lower(&mut self, step: &dyn LowerStep) {
        if let Reference::Prompt(reference) = &mut self.reference {
            step.members(reference);
        }
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}

impl Lower for ProgressParams {
    fn lower(&mut self, step: &dyn LowerStep) {
        walk_meta(&mut self.meta, step);
        step.members(self);
    }
}
