//! The members of each revision: the last step of lowering.
//!
//! Every member of every type is listed here, with its revisions unless all have it. Members that a
//! revision lacks are dropped, even if no step mentions them. A new member does not compile until
//! it is listed.

use alloc::boxed::Box;

use super::{
    degrade,
    step::{LowerStep, Members},
};
use crate::{
    protocol::{
        Annotations, AudioContent, BlobResourceContents, CacheScope, CallToolParams,
        CallToolResult, CancelledParams, ClientCapabilities, CompleteParams, CompleteResult,
        CreateMessageParams, CreateMessageResult, CreateTaskResult, DetailedTask, DiscoverResult,
        ElicitFormParams, ElicitResult, ElicitUrlParams, ElicitationCapability,
        ElicitationCompleteParams, EmbeddedResource, EmptyResult, GetPromptParams, GetPromptResult,
        GetSkillParams, GetSkillResult, ImageContent, Implementation, InitializeParams,
        InitializeResult, InputRequiredResult, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListRootsResult, ListSkillsResult, ListTasksResult, ListToolsResult,
        LoggingMessageParams, Meta, NotificationParams, PaginatedParams, ProgressParams, Prompt,
        PromptArgument, PromptReference, ReadResourceDirectoryParams, ReadResourceDirectoryResult,
        ReadResourceParams, ReadResourceResult, RequestParams, Resource, ResourceLink,
        ResourceTemplate, ResourceUpdatedParams, Root, RootsCapability, SamplingCapability,
        SamplingMessage, ServerCapabilities, SetLevelParams, SubscribeParams,
        SubscriptionsAcknowledgedParams, SubscriptionsListenParams, SubscriptionsListenResult,
        TaskParams, TaskState, TextContent, TextResourceContents, Tool, ToolResultContent,
        ToolUseContent, UpdateTaskParams,
    },
    revision::Revision::{self, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28},
};

/// Drops the members that a revision lacks, and adds those that it requires.
pub(super) struct MemberFilter(pub(super) Revision);

/// The revisions that have a member.
struct Span {
    first: Revision,
    last: Revision,
}

const SINCE_2025_03_26: Span = since(V2025_03_26);
const SINCE_2025_06_18: Span = since(V2025_06_18);
const SINCE_2025_11_25: Span = since(V2025_11_25);
const SINCE_2026_07_28: Span = since(V2026_07_28);
const ONLY_2025_11_25: Span = Span {
    first: V2025_11_25,
    last: V2025_11_25,
};
/// Some clients of 2025-06-18 declare links, and read them in the form of 2025-11-25.
const LINKS_OF_SESSIONS: Span = Span {
    first: V2025_06_18,
    last: V2025_11_25,
};
const LEGACY: Span = Span {
    first: Revision::V2024_11_05,
    last: Revision::LATEST_LEGACY,
};

const fn since(first: Revision) -> Span {
    Span {
        first,
        last: Revision::LATEST,
    }
}

impl Span {
    fn has(&self, revision: Revision) -> bool {
        self.first <= revision && revision <= self.last
    }
}

impl LowerStep for MemberFilter {
    fn members(&self, thing: &mut dyn Members) {
        thing.keep(self.0);
    }

    /// In 2026-07-28, questions are part of a result and answers part of a request, so they have no
    /// `_meta` of their own. The user's reason, who refused the question, challenges and receipts are sent
    /// anyway, for servers that read them.
    fn question_meta(&self, meta: &mut Option<Box<Meta>>) {
        if !self.0.facts().result_type {
            return;
        }
        *meta = meta.take().and_then(|meta| {
            let mut kept = meta.of_answer();
            if let Some(challenge) = meta.challenge() {
                kept.set_challenge(challenge);
            }
            kept.boxed()
        });
    }

    /// Both members are required in cacheable results (2026-07-28, server/utilities/caching). An
    /// author who does not set them does not want caching.
    fn cache(&self, ttl_ms: &mut Option<i64>, scope: &mut Option<CacheScope>) {
        if self.0.facts().cache_hints {
            ttl_ms.get_or_insert(0);
            scope.get_or_insert(CacheScope::Private);
        }
    }

    fn elicit_form(&self, params: &mut ElicitFormParams) {
        degrade::form(params, self.0);
    }
}

/// Lists the members of types. A member without a span is in all revisions of its type.
macro_rules! members {
    ($($name:ident { $($member:ident $(: $span:ident)?),* $(,)? })*) => {
        $(
            impl Members for $name {
                fn keep(&mut self, revision: Revision) {
                    let Self { $($member),* } = self;
                    $(members!(@keep $member revision $($span)?);)*
                }
            }
        )*
    };
    (@keep $member:ident $revision:ident) => {
        let _ = (&$member, $revision);
    };
    (@keep $member:ident $revision:ident $span:ident) => {
        if !$span.has($revision) {
            *$member = None;
        }
    };
}

members! {
    Meta {
        progress_token,
        protocol_version: SINCE_2026_07_28,
        client_info: SINCE_2026_07_28,
        client_capabilities: SINCE_2026_07_28,
        log_level: SINCE_2026_07_28,
        subscription_id: SINCE_2026_07_28,
        server_info: SINCE_2026_07_28,
        related_task: ONLY_2025_11_25,
        extra,
    }

    // Implementations.
    Implementation {
        name,
        version,
        title: SINCE_2025_06_18,
        description: SINCE_2025_11_25,
        icons: SINCE_2025_11_25,
        website_url: SINCE_2025_11_25,
    }
    ClientCapabilities {
        sampling,
        roots,
        experimental,
        elicitation: SINCE_2025_06_18,
        tasks: ONLY_2025_11_25,
        extensions: SINCE_2026_07_28,
    }
    ElicitationCapability { form: SINCE_2025_11_25, url: SINCE_2025_11_25 }
    SamplingCapability { context: SINCE_2025_11_25, tools: SINCE_2025_11_25 }
    RootsCapability { list_changed: LEGACY }
    ServerCapabilities {
        tools,
        prompts,
        resources,
        logging,
        experimental,
        completions: SINCE_2025_03_26,
        tasks: ONLY_2025_11_25,
        extensions: SINCE_2026_07_28,
    }
    InitializeParams { protocol_version, capabilities, client_info, meta }
    InitializeResult { protocol_version, capabilities, server_info, instructions, meta }
    DiscoverResult {
        supported_versions,
        capabilities,
        instructions,
        meta,
        ttl_ms: SINCE_2026_07_28,
        cache_scope: SINCE_2026_07_28,
    }

    // Tools.
    Tool {
        name,
        description,
        input_schema,
        annotations: SINCE_2025_03_26,
        title: SINCE_2025_06_18,
        output_schema: SINCE_2025_06_18,
        meta: SINCE_2025_06_18,
        icons: SINCE_2025_11_25,
        execution: ONLY_2025_11_25,
    }
    ListToolsResult {
        tools,
        next_cursor,
        meta,
        ttl_ms: SINCE_2026_07_28,
        cache_scope: SINCE_2026_07_28, left_out }
    CallToolParams {
        name,
        arguments,
        meta,
        task: ONLY_2025_11_25,
        input_responses: SINCE_2026_07_28,
        request_state: SINCE_2026_07_28,
    }
    CallToolResult { content, is_error, meta, structured_content: SINCE_2025_06_18, left_out }

    // Prompts.
    Prompt {
        name,
        description,
        arguments,
        title: SINCE_2025_06_18,
        meta: SINCE_2025_06_18,
        icons: SINCE_2025_11_25,
    }
    PromptArgument { name, description, required, title: SINCE_2025_06_18 }
    ListPromptsResult {
        prompts,
        next_cursor,
        meta,
        ttl_ms: SINCE_2026_07_28,
        cache_scope: SINCE_2026_07_28, left_out }
    GetPromptParams {
        name,
        arguments,
        meta,
        input_responses: SINCE_2026_07_28,
        request_state: SINCE_2026_07_28,
    }
    GetPromptResult { description, messages, meta, left_out }

    // Resources.
    Resource {
        uri,
        name,
        description,
        mime_type,
        size,
        annotations,
        title: SINCE_2025_06_18,
        meta: SINCE_2025_06_18,
        icons: SINCE_2025_11_25,
    }
    ResourceTemplate {
        uri_template,
        name,
        description,
        mime_type,
        annotations,
        title: SINCE_2025_06_18,
        meta: SINCE_2025_06_18,
        icons: SINCE_2025_11_25,
    }
    ListResourcesResult {
        resources,
        next_cursor,
        meta,
        ttl_ms: SINCE_2026_07_28,
        cache_scope: SINCE_2026_07_28, left_out }
    ListResourceTemplatesResult {
        resource_templates,
        next_cursor,
        meta,
        ttl_ms: SINCE_2026_07_28,
        cache_scope: SINCE_2026_07_28, left_out }
    ReadResourceParams {
        uri,
        meta,
        input_responses: SINCE_2026_07_28,
        request_state: SINCE_2026_07_28,
    }
    ReadResourceResult {
        contents,
        meta,
        ttl_ms: SINCE_2026_07_28,
        cache_scope: SINCE_2026_07_28, left_out }
    TextResourceContents { uri, mime_type, text, meta: SINCE_2025_06_18 }
    BlobResourceContents { uri, mime_type, blob, meta: SINCE_2025_06_18 }

    // Skills.
    ListSkillsResult {
        skills,
        next_cursor,
        meta,
        ttl_ms: SINCE_2026_07_28,
        cache_scope: SINCE_2026_07_28, left_out }
    GetSkillParams { uri, meta }
    ReadResourceDirectoryParams { uri, cursor, meta }
    ReadResourceDirectoryResult { resources, next_cursor, meta }
    GetSkillResult {
        skill,
        meta,
        ttl_ms: SINCE_2026_07_28,
        cache_scope: SINCE_2026_07_28,
    }

    // Content.
    Annotations { audience, priority, last_modified: SINCE_2025_06_18 }
    TextContent { text, annotations, meta: SINCE_2025_06_18 }
    ImageContent { data, mime_type, annotations, meta: SINCE_2025_06_18 }
    AudioContent { data, mime_type, annotations, meta: SINCE_2025_06_18 }
    ResourceLink {
        uri,
        name,
        title,
        description,
        mime_type,
        size,
        annotations,
        meta,
        icons: SINCE_2025_11_25,
    }
    EmbeddedResource { resource, annotations, meta: SINCE_2025_06_18 }
    ToolUseContent { id, name, input, meta }
    ToolResultContent { tool_use_id, content, structured_content, is_error, meta }

    // Questions and answers.
    InputRequiredResult { input_requests, request_state, meta }
    ElicitFormParams {
        message,
        requested_schema,
        meta,
        mode: SINCE_2025_11_25,
        task: ONLY_2025_11_25,
    }
    ElicitUrlParams {
        message,
        url,
        meta,
        elicitation_id: LINKS_OF_SESSIONS,
        task: ONLY_2025_11_25,
    }
    ElicitResult { action, content, meta }
    ElicitationCompleteParams { elicitation_id, meta }
    CreateMessageParams {
        messages,
        max_tokens,
        system_prompt,
        model_preferences,
        temperature,
        stop_sequences,
        include_context,
        metadata,
        meta,
        tools: SINCE_2025_11_25,
        tool_choice: SINCE_2025_11_25,
        task: ONLY_2025_11_25,
    }
    CreateMessageResult { role, content, model, stop_reason, meta }
    SamplingMessage { role, content, meta: SINCE_2025_11_25 }
    Root { uri, name, meta: SINCE_2025_06_18 }
    ListRootsResult { roots, meta }

    // Tasks.
    CreateTaskResult { task, meta }
    TaskParams { task_id, meta }
    TaskState { task, meta }
    ListTasksResult { tasks, next_cursor, meta }
    DetailedTask {
        task_id,
        status,
        status_message,
        created_at,
        last_updated_at,
        ttl_ms,
        poll_interval_ms,
        input_requests,
        result,
        error,
        meta,
    }
    UpdateTaskParams { task_id, input_responses, meta }

    // The rest.
    CompleteParams { reference, argument, meta, context: SINCE_2025_06_18 }
    PromptReference { name, title: SINCE_2025_06_18 }
    CompleteResult { completion, meta }
    ProgressParams { progress_token, progress, total, meta, message: SINCE_2025_03_26 }
    CancelledParams { request_id, reason, meta }
    SetLevelParams { level, meta }
    LoggingMessageParams { level, logger, data, meta }
    RequestParams { meta }
    NotificationParams { meta }
    PaginatedParams { cursor, meta }
    EmptyResult { meta }
    SubscribeParams { uri, meta }
    ResourceUpdatedParams { uri, meta }
    SubscriptionsListenParams { notifications, meta }
    SubscriptionsListenResult { meta }
    SubscriptionsAcknowledgedParams { notifications, meta }
}
