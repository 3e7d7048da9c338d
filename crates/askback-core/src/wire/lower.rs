//! Lowers messages: what each revision has, and what becomes of the rest.
//!
//! Every member of every type is listed here, with its revisions unless all have it. A member that a
//! revision lacks is dropped. A new member does not compile until it is listed.

use alloc::{boxed::Box, string::String, vec::Vec};
use core::ops::RangeInclusive;

use serde::Deserialize;

use super::{degrade, dialect};
use crate::{
    forms,
    protocol::{
        Annotations, AudioContent, BlobResourceContents, CacheScope, CallToolParams,
        CallToolResult, CancelledParams, ClientCapabilities, ClientNotification, ClientRequest,
        CompleteParams, CompleteResult, ContentBlock, CreateMessageParams, CreateMessageResult,
        CreateTaskResult, DetailedTask, DiscoverResult, ElicitFormParams, ElicitParams,
        ElicitResult, ElicitUrlParams, ElicitationCapability, ElicitationCompleteParams,
        EmbeddedResource, EmptyResult, GetPromptParams, GetPromptResult, GetSkillParams,
        GetSkillResult, ImageContent, Implementation, InitializeParams, InitializeResult,
        InputRequest, InputRequests, InputRequiredResult, InputResponse, ListPromptsResult,
        ListResourceTemplatesResult, ListResourcesResult, ListRootsResult, ListSkillsResult,
        ListTasksResult, ListToolsResult, LoggingMessageParams, Meta, NotificationParams,
        OtherRequest, PaginatedParams, ProgressParams, Prompt, PromptArgument, PromptMessage,
        PromptReference, ReadResourceDirectoryParams, ReadResourceDirectoryResult,
        ReadResourceParams, ReadResourceResult, Reference, RequestParams, Resource,
        ResourceContents, ResourceLink, ResourceTemplate, ResourceTemplateReference,
        ResourceUpdatedParams, Root, RootsCapability, SamplingBlock, SamplingCapability,
        SamplingContent, SamplingMessage, Schema, ServerCapabilities, ServerNotification,
        ServerRequest, SetLevelParams, SubscribeParams, SubscriptionsAcknowledgedParams,
        SubscriptionsListenParams, SubscriptionsListenResult, TaskParams, TaskState, TextContent,
        TextResourceContents, Tool, ToolResultContent, ToolUseContent, UpdateTaskParams,
        UrlElicitationRequired,
    },
    revision::Revision::{self, V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28},
};

/// A message, or a part of one, that can be converted to an older revision.
pub trait Lower {
    /// Expresses this in a revision. Parts that the revision lacks are dropped or expressed otherwise, and members that
    /// it requires are added.
    fn lower(&mut self, revision: Revision);
}

type Span = RangeInclusive<Revision>;

const SINCE_2025_03_26: Span = V2025_03_26..=Revision::LATEST;
const SINCE_2025_06_18: Span = V2025_06_18..=Revision::LATEST;
const SINCE_2025_11_25: Span = V2025_11_25..=Revision::LATEST;
const SINCE_2026_07_28: Span = V2026_07_28..=Revision::LATEST;
const ONLY_2025_11_25: Span = V2025_11_25..=V2025_11_25;
/// Some clients of 2025-06-18 declare links, and read them in the form of 2025-11-25.
const LINKS_OF_SESSIONS: Span = V2025_06_18..=V2025_11_25;
const LEGACY: Span = V2024_11_05..=Revision::LATEST_LEGACY;

/// Lists the members of types. A span says which revisions have a member, `LOWERED` that it has members of its own.
/// The function after `by` changes the whole first.
macro_rules! lower {
    ($($name:ident $(by $change:ident)? { $($member:ident $(: $($how:ident)+)?),* $(,)? })*) => {
        $(
            impl Lower for $name {
                fn lower(&mut self, revision: Revision) {
                    $($change(self, revision);)?
                    let Self { $($member),* } = self;
                    $(lower!(@member revision $member $member $($($how)+)?);)*
                }
            }
        )*
    };
    (@member $revision:ident $member:ident meta $($how:ident)*) => {
        lower_meta($member, $revision);
        $(lower!(@how $revision $member $how);)*
    };
    (@member $revision:ident $member:ident $name:ident $($how:ident)*) => {
        let _ = (&$member, $revision);
        $(lower!(@how $revision $member $how);)*
    };
    (@how $revision:ident $member:ident LOWERED) => { $member.lower($revision) };
    (@how $revision:ident $member:ident OF_QUESTION) => { lower_question_meta($member, $revision) };
    (@how $revision:ident $member:ident CACHE_TIME) => { hint($member, 0, $revision) };
    (@how $revision:ident $member:ident CACHE_SCOPE) => { hint($member, CacheScope::Private, $revision) };
    (@how $revision:ident $member:ident $span:ident) => {
        if !$span.contains(&$revision) {
            *$member = None;
        }
    };
}

/// Implements [`Lower`] for enums.
macro_rules! lower_variants {
    ($($name:ident $(by $change:ident)?: $($variant:ident)|+;)*) => {
        $(
            impl Lower for $name {
                fn lower(&mut self, revision: Revision) {
                    $($change(self, revision);)?
                    match self {
                        $(Self::$variant(thing) => thing.lower(revision),)+
                    }
                }
            }
        )*
    };
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
    ContentBlock by content_block: Text | Image | Audio | ResourceLink | Resource;
    SamplingBlock by sampling_block: Text | Image | Audio | ToolUse | ToolResult;
    SamplingContent: One | Many;
    Reference: Prompt | Resource;
}

lower! {
    Meta {
        progress_token,
        protocol_version: SINCE_2026_07_28,
        client_info: LOWERED SINCE_2026_07_28,
        client_capabilities: LOWERED SINCE_2026_07_28,
        log_level: SINCE_2026_07_28,
        subscription_id: SINCE_2026_07_28,
        server_info: LOWERED SINCE_2026_07_28,
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
    ClientCapabilities by client_capabilities {
        experimental,
        sampling: LOWERED,
        roots: LOWERED,
        elicitation: LOWERED SINCE_2025_06_18,
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
    InitializeParams { protocol_version, capabilities: LOWERED, client_info: LOWERED, meta }
    InitializeResult { protocol_version, capabilities: LOWERED, server_info: LOWERED, instructions, meta }
    DiscoverResult {
        supported_versions,
        capabilities: LOWERED,
        instructions,
        ttl_ms: CACHE_TIME,
        cache_scope: CACHE_SCOPE,
        meta,
    }

    // Tools.
    Tool by tool {
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
    ListToolsResult { tools: LOWERED, next_cursor, ttl_ms: CACHE_TIME, cache_scope: CACHE_SCOPE, left_out, meta }
    CallToolParams {
        name,
        arguments,
        task: ONLY_2025_11_25,
        input_responses: SINCE_2026_07_28,
        request_state: SINCE_2026_07_28,
        meta,
    }
    CallToolResult by tool_result {
        content: LOWERED, structured_content: SINCE_2025_06_18, is_error, left_out, meta,
    }

    // Prompts.
    Prompt {
        name,
        description,
        arguments: LOWERED,
        title: SINCE_2025_06_18,
        meta: SINCE_2025_06_18,
        icons: SINCE_2025_11_25,
    }
    PromptArgument { name, description, required, title: SINCE_2025_06_18 }
    ListPromptsResult { prompts: LOWERED, next_cursor, ttl_ms: CACHE_TIME, cache_scope: CACHE_SCOPE, left_out, meta }
    GetPromptParams {
        name,
        arguments,
        input_responses: SINCE_2026_07_28,
        request_state: SINCE_2026_07_28,
        meta,
    }
    GetPromptResult { description, messages: LOWERED, left_out, meta }
    PromptMessage { role, content: LOWERED }

    // Resources.
    Resource {
        uri,
        name,
        description,
        mime_type,
        size,
        annotations: LOWERED,
        title: SINCE_2025_06_18,
        meta: SINCE_2025_06_18,
        icons: SINCE_2025_11_25,
    }
    ResourceTemplate {
        uri_template,
        name,
        description,
        mime_type,
        annotations: LOWERED,
        title: SINCE_2025_06_18,
        meta: SINCE_2025_06_18,
        icons: SINCE_2025_11_25,
    }
    ListResourcesResult { resources: LOWERED, next_cursor, ttl_ms: CACHE_TIME, cache_scope: CACHE_SCOPE, left_out, meta }
    ListResourceTemplatesResult {
        resource_templates: LOWERED, next_cursor, ttl_ms: CACHE_TIME, cache_scope: CACHE_SCOPE, left_out, meta,
    }
    ReadResourceParams { uri, input_responses: SINCE_2026_07_28, request_state: SINCE_2026_07_28, meta }
    ReadResourceResult { contents: LOWERED, ttl_ms: CACHE_TIME, cache_scope: CACHE_SCOPE, left_out, meta }
    TextResourceContents { uri, mime_type, text, meta: SINCE_2025_06_18 }
    BlobResourceContents { uri, mime_type, blob, meta: SINCE_2025_06_18 }

    // Skills.
    ListSkillsResult { skills, next_cursor, ttl_ms: CACHE_TIME, cache_scope: CACHE_SCOPE, left_out, meta }
    GetSkillParams { uri, meta }
    ReadResourceDirectoryParams { uri, cursor, meta }
    ReadResourceDirectoryResult { resources: LOWERED, next_cursor, meta }
    GetSkillResult { skill, ttl_ms: CACHE_TIME, cache_scope: CACHE_SCOPE, meta }

    // Content.
    Annotations { audience, priority, last_modified: SINCE_2025_06_18 }
    TextContent { text, annotations: LOWERED, meta: SINCE_2025_06_18 }
    ImageContent { data, mime_type, annotations: LOWERED, meta: SINCE_2025_06_18 }
    AudioContent { data, mime_type, annotations: LOWERED, meta: SINCE_2025_06_18 }
    ResourceLink {
        uri,
        name,
        title,
        description,
        mime_type,
        size,
        annotations: LOWERED,
        meta,
        icons: SINCE_2025_11_25,
    }
    EmbeddedResource { resource: LOWERED, annotations: LOWERED, meta: SINCE_2025_06_18 }
    ToolUseContent { id, name, input, meta }
    ToolResultContent { tool_use_id, content: LOWERED, structured_content, is_error, meta }

    // Questions and answers.
    InputRequiredResult { input_requests: LOWERED, request_state, meta }
    ElicitFormParams by form {
        message,
        requested_schema,
        mode: SINCE_2025_11_25,
        task: ONLY_2025_11_25,
        meta: OF_QUESTION,
    }
    ElicitUrlParams { message, url, elicitation_id: LINKS_OF_SESSIONS, task: ONLY_2025_11_25, meta: OF_QUESTION }
    ElicitResult { action, content, meta: OF_QUESTION }
    ElicitationCompleteParams { elicitation_id, meta }
    CreateMessageParams by sampling {
        messages: LOWERED,
        max_tokens,
        system_prompt,
        model_preferences,
        temperature,
        stop_sequences,
        include_context,
        metadata,
        tools: LOWERED SINCE_2025_11_25,
        tool_choice: SINCE_2025_11_25,
        task: ONLY_2025_11_25,
        meta: OF_QUESTION,
    }
    CreateMessageResult by sampling_result { role, content: LOWERED, model, stop_reason, meta }
    SamplingMessage { role, content: LOWERED, meta: SINCE_2025_11_25 }
    Root { uri, name, meta: SINCE_2025_06_18 }
    ListRootsResult { roots: LOWERED, meta: OF_QUESTION }

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
        input_requests: LOWERED,
        result,
        error,
        meta,
    }
    UpdateTaskParams { task_id, input_responses, meta }

    // The rest.
    CompleteParams { reference: LOWERED, argument, context: SINCE_2025_06_18, meta }
    PromptReference { name, title: SINCE_2025_06_18 }
    ResourceTemplateReference { uri }
    CompleteResult { completion, meta }
    ProgressParams { progress_token, progress, total, message: SINCE_2025_03_26, meta }
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

impl<T: Lower> Lower for Option<T> {
    fn lower(&mut self, revision: Revision) {
        self.iter_mut().for_each(|thing| thing.lower(revision));
    }
}

impl<T: Lower> Lower for Vec<T> {
    fn lower(&mut self, revision: Revision) {
        self.iter_mut().for_each(|thing| thing.lower(revision));
    }
}

impl<T: Lower> Lower for Box<T> {
    fn lower(&mut self, revision: Revision) {
        T::lower(self, revision);
    }
}

impl Lower for InputRequests {
    fn lower(&mut self, revision: Revision) {
        self.values_mut()
            .for_each(|question| question.lower(revision));
    }
}

impl Lower for UrlElicitationRequired {
    fn lower(&mut self, revision: Revision) {
        self.links_mut()
            .iter_mut()
            .for_each(|link| link.lower(revision));
    }
}

/// A forwarded request is already in its revision, except for the parsed `_meta`.
impl Lower for OtherRequest {
    fn lower(&mut self, revision: Revision) {
        lower_meta(&mut self.meta, revision);
    }
}

/// Lowers a `_meta` and removes it if it is empty afterwards.
fn lower_meta(slot: &mut Option<Box<Meta>>, revision: Revision) {
    slot.lower(revision);
    slot.take_if(|meta| meta.is_empty());
}

/// In 2026-07-28, questions are part of a result and answers part of a request, so they have no `_meta` of their own.
/// The user's reason, who refused the question, challenges and receipts are sent anyway, for servers that read them.
fn lower_question_meta(slot: &mut Option<Box<Meta>>, revision: Revision) {
    if !revision.facts().result_type {
        return;
    }
    *slot = slot.take().and_then(|meta| {
        let mut kept = meta.of_answer();
        if let Some(challenge) = meta.challenge() {
            kept.set_challenge(challenge);
        }
        kept.boxed()
    });
}

/// Both hints are required in cacheable results (2026-07-28, server/utilities/caching). An author who does not set them
/// does not want caching.
fn hint<T>(slot: &mut Option<T>, default: T, revision: Revision) {
    let given = slot.take().unwrap_or(default);
    *slot = revision.facts().cache_hints.then_some(given);
}

fn client_capabilities(capabilities: &mut ClientCapabilities, revision: Revision) {
    // Elicitation means forms in older revisions, so a client that supports only links declares nothing.
    if !revision.facts().elicitation_url && !capabilities.elicits_form() {
        capabilities.elicitation = None;
    }
}

fn tool(tool: &mut Tool, revision: Revision) {
    /// Whether a schema has `"type": "object"` at its root, as required of output schemas.
    fn describes_object(schema: &Schema) -> bool {
        #[derive(Deserialize)]
        struct Root {
            r#type: Option<String>,
        }
        schema
            .decode::<Root>()
            .is_ok_and(|root| root.r#type.as_deref() == Some("object"))
    }
    let facts = revision.facts();
    if !facts.structured_any {
        tool.output_schema
            .take_if(|schema| !describes_object(schema));
    }
    // The annotations of a tool had a title before the tool itself.
    if !facts.titles
        && let Some(title) = tool.title.take()
    {
        let annotations = tool.annotations.get_or_insert_default();
        annotations.title.get_or_insert(title);
    }
}

/// Structured content that the revision lacks becomes the text if there is no other content.
fn tool_result(result: &mut CallToolResult, revision: Revision) {
    let facts = revision.facts();
    let lacks = |json: &mut _| {
        !facts.structured_content || !facts.structured_any && !degrade::is_object(json)
    };
    if let Some(structured) = result.structured_content.take_if(lacks)
        && result.content.is_empty()
    {
        result.content.push(ContentBlock::text(structured.as_str()));
    }
}

fn content_block(block: &mut ContentBlock, revision: Revision) {
    let facts = revision.facts();
    match block {
        ContentBlock::ResourceLink(link) if !facts.resource_links => {
            *block = ContentBlock::Text(degrade::link(link));
        }
        ContentBlock::Audio(audio) if !facts.audio => {
            *block = ContentBlock::Text(degrade::audio(audio))
        }
        _ => {}
    }
}

fn sampling_block(block: &mut SamplingBlock, revision: Revision) {
    let facts = revision.facts();
    if let SamplingBlock::ToolResult(result) = block
        && !facts.structured_any
    {
        result
            .structured_content
            .take_if(|json| !degrade::is_object(json));
    }
    match block {
        SamplingBlock::ToolUse(call) if !facts.sampling_tools => {
            *block = SamplingBlock::text(degrade::tool_use(call));
        }
        SamplingBlock::ToolResult(result) if !facts.sampling_tools => {
            *block = SamplingBlock::text(degrade::tool_result(result));
        }
        SamplingBlock::Audio(audio) if !facts.audio => {
            *block = SamplingBlock::Text(degrade::audio(audio))
        }
        _ => {}
    }
}

/// Before 2025-11-25 a message has one block, so each block becomes its own message.
fn sampling(params: &mut CreateMessageParams, revision: Revision) {
    let messages = &mut params.messages;
    let is_single = |message: &SamplingMessage| {
        matches!(message.content, SamplingContent::One(_)) && message.meta.is_none()
    };
    if revision.facts().sampling_tools || messages.iter().all(is_single) {
        return;
    }
    let split = core::mem::take(messages).into_iter().flat_map(|message| {
        let blocks = message.content.into_blocks().into_iter();
        blocks.map(move |block| SamplingMessage {
            role: message.role,
            content: block.into(),
            meta: None,
        })
    });
    *messages = split.collect();
}

/// Before 2025-11-25 a reply has one block. Several blocks are joined as text.
fn sampling_result(result: &mut CreateMessageResult, revision: Revision) {
    if let SamplingContent::Many(blocks) = &mut result.content
        && !revision.facts().sampling_tools
    {
        blocks.lower(revision);
        let block = match blocks.as_mut_slice() {
            [block] => core::mem::replace(block, SamplingBlock::text("")),
            blocks => SamplingBlock::text(degrade::as_text(blocks)),
        };
        result.content = block.into();
    }
}

fn form(params: &mut ElicitFormParams, revision: Revision) {
    let lowered = forms::lower(&params.requested_schema, &dialect(revision));
    params.requested_schema = lowered.schema.into();
}
