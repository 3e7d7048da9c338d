//! The types of every message of every revision, in the shape of the newest revision.
//!
//! The types are a superset. A field that exists only in some revisions is an `Option` and its
//! documentation names them; [`wire`](crate::wire) leaves out fields that the current revision
//! lacks. Parsing is lenient where revisions differ and strict for other errors.
//!
//! `resultType` is not a field; [`Outcome`] tells complete results from results that ask.

pub mod codes;

mod call_target;
mod capability;
mod completion;
mod content;
mod detailed_task;
mod elicit;
mod implementation;
mod input;
mod keyed;
mod lenient;
mod level;
mod lifecycle;
mod logging;
mod messages;
mod meta;
mod meta_key;
mod method;
mod number;
mod other;
mod outcome;
mod paging;
mod progress;
mod prompt;
mod raw;
mod receipt;
mod resource;
mod roots;
mod sampling;
mod skill;
mod subscribe;
mod task;
mod tool;
mod trace;

pub use crate::jsonrpc::ErrorObject;
pub use call_target::CallTarget;
pub use capability::{
    ClientCapabilities, ClientTaskRequests, ClientTasksCapability, ElicitationCapability,
    ElicitationTaskRequests, JsonObject, PromptsCapability, ResourcesCapability, RootsCapability,
    SamplingCapability, SamplingTaskRequests, ServerCapabilities, ServerTaskRequests,
    ServerTasksCapability, TASKS_EXTENSION, ToolTaskRequests, ToolsCapability,
};
pub use completion::{
    CompleteArgument, CompleteContext, CompleteParams, CompleteResult, Completion, PromptReference,
    Reference, ResourceTemplateReference,
};
pub use content::{
    Annotations, AudioContent, BlobResourceContents, ContentBlock, EmbeddedResource, ImageContent,
    ResourceContents, ResourceLink, Role, SamplingBlock, TextContent, TextResourceContents,
    ToolResultContent, ToolUseContent,
};
pub use detailed_task::{DetailedTask, UpdateTaskParams};
pub use elicit::{
    ElicitAction, ElicitFormParams, ElicitParams, ElicitResult, ElicitUrlParams,
    ElicitationCompleteParams, FormMode, UrlElicitationRequired,
};
pub use implementation::{Icon, IconTheme, Implementation};
pub use input::{InputRequest, InputRequests, InputRequiredResult, InputResponse};
pub use keyed::{InputResponses, OrderedMap};
pub use lenient::{LeftOutEntry, ResultWithEntries, reason};
pub use level::LoggingLevel;
pub use lifecycle::{
    DiscoverResult, InitializeParams, InitializeResult, MissingCapability, UnsupportedVersion,
};
pub use logging::{LoggingMessageParams, SetLevelParams};
pub use meta::Signature;
pub use meta::{AnswerSource, HasMeta, Meta, ProgressToken, RelatedTask};
pub use meta_key::MetaKeyError;
pub use method::{ClientNotification, ClientRequest, Params, ServerNotification, ServerRequest};
pub use other::{OtherRequest, name_member};
pub use outcome::{COMPLETE, INPUT_REQUIRED, Outcome, TASK};
pub use paging::{CacheScope, EmptyResult, NotificationParams, PaginatedParams, RequestParams};
pub use progress::{CancelledParams, ProgressParams};
pub use prompt::{
    GetPromptParams, GetPromptResult, ListPromptsResult, Prompt, PromptArgument, PromptMessage,
};
pub use raw::{RawJson, RawObject, Schema};
pub use receipt::Receipt;
pub use resource::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceParams, ReadResourceResult,
    Resource, ResourceTemplate,
};
pub use roots::{ListRootsResult, Root};
pub use sampling::{
    CreateMessageParams, CreateMessageResult, IncludeContext, ModelHint, ModelPreferences,
    SamplingContent, SamplingMessage, ToolChoice, ToolChoiceMode,
};
pub use skill::{
    GetSkillParams, GetSkillResult, ListSkillsResult, ReadResourceDirectoryParams,
    ReadResourceDirectoryResult, SKILLS_EXTENSION, Skill, SkillResource,
};
pub use subscribe::{
    ResourceUpdatedParams, SubscribeParams, SubscriptionFilter, SubscriptionsAcknowledgedParams,
    SubscriptionsListenParams, SubscriptionsListenResult,
};
pub use task::{
    CreateTaskResult, ListTasksResult, Task, TaskMetadata, TaskParams, TaskState, TaskStatus,
};
pub use tool::{
    CallToolParams, CallToolResult, ListToolsResult, TaskSupport, Tool, ToolAnnotations,
    ToolExecution, ToolResultError,
};
pub use trace::TraceContext;
