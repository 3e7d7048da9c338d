//! The capabilities of both sides.

use alloc::string::String;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{MetaKeyError, lenient, meta_key::check_extension};

/// A JSON object nobody here looks into.
pub type JsonObject = Map<String, Value>;

/// The name under which both sides declare the extension among their capabilities.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The capabilities of a client.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClientCapabilities {
    /// It answers questions put to a person (from 2025-06-18 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationCapability>,
    /// It asks its model for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCapability>,
    /// It says where a server may work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub roots: Option<RootsCapability>,
    /// Its answers may be tasks (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<ClientTasksCapability>,
    /// Extensions it speaks, by name (from 2026-07-28 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extensions: Option<JsonObject>,
    /// Capabilities that no specification names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub experimental: Option<JsonObject>,
}

/// How a client lets a person be asked. An empty object means forms only (2025-11-25 and
/// 2026-07-28, client/elicitation, Capabilities).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ElicitationCapability {
    /// By forms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub form: Option<JsonObject>,
    /// By links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<JsonObject>,
}

/// How a client asks its model for others.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SamplingCapability {
    /// It can include its own context.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonObject>,
    /// It can offer the model tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<JsonObject>,
}

/// How a client says where a server may work.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RootsCapability {
    /// It tells when that changes (handshake revisions).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list_changed: Option<bool>,
}

/// Which answers of a client may be tasks (2025-11-25).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClientTasksCapability {
    /// It lists its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<JsonObject>,
    /// It cancels its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<JsonObject>,
    /// The requests that may be tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<ClientTaskRequests>,
}

/// The requests to a client that may be tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ClientTaskRequests {
    /// Those of sampling.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingTaskRequests>,
    /// Those of elicitation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation: Option<ElicitationTaskRequests>,
}

/// The requests of sampling that may be tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SamplingTaskRequests {
    /// `sampling/createMessage`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create_message: Option<JsonObject>,
}

/// The requests of elicitation that may be tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ElicitationTaskRequests {
    /// `elicitation/create`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<JsonObject>,
}

/// The capabilities of a server.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServerCapabilities {
    /// It has tools.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::capability"
    )]
    pub tools: Option<ToolsCapability>,
    /// It has prompts.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::capability"
    )]
    pub prompts: Option<PromptsCapability>,
    /// It has resources.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::capability"
    )]
    pub resources: Option<ResourcesCapability>,
    /// It completes arguments (from 2025-03-26 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::capability"
    )]
    pub completions: Option<JsonObject>,
    /// It logs to its client.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::capability"
    )]
    pub logging: Option<JsonObject>,
    /// Its work may be tasks (2025-11-25).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::member"
    )]
    pub tasks: Option<ServerTasksCapability>,
    /// Extensions it speaks, by name (from 2026-07-28 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::member"
    )]
    pub extensions: Option<JsonObject>,
    /// Capabilities that no specification names.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::member"
    )]
    pub experimental: Option<JsonObject>,
}

/// That a server has tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolsCapability {
    /// It tells when the list changes.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub list_changed: Option<bool>,
}

/// That a server has prompts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptsCapability {
    /// It tells when the list changes.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub list_changed: Option<bool>,
}

/// That a server has resources.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourcesCapability {
    /// It tells when a resource changes that is watched.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub subscribe: Option<bool>,
    /// It tells when the list changes.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub list_changed: Option<bool>,
}

/// Which work of a server may be tasks (2025-11-25).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServerTasksCapability {
    /// It lists its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<JsonObject>,
    /// It cancels its tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cancel: Option<JsonObject>,
    /// The requests that may be tasks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<ServerTaskRequests>,
}

/// The requests to a server that may be tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ServerTaskRequests {
    /// Those of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<ToolTaskRequests>,
}

/// The requests of tools that may be tasks.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ToolTaskRequests {
    /// `tools/call`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<JsonObject>,
}

impl ClientCapabilities {
    /// Whether a person can be asked to fill in a form.
    pub fn elicits_form(&self) -> bool {
        self.elicitation
            .as_ref()
            .is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }

    /// Whether a person can be asked to open a link.
    pub fn elicits_url(&self) -> bool {
        self.elicitation
            .as_ref()
            .is_some_and(|modes| modes.url.is_some())
    }

    /// Whether the model can be asked.
    pub fn samples(&self) -> bool {
        self.sampling.is_some()
    }

    /// Whether the model can be offered tools.
    pub fn samples_with_tools(&self) -> bool {
        self.sampling
            .as_ref()
            .is_some_and(|sampling| sampling.tools.is_some())
    }

    /// Whether the client's own context can be included when the model is asked.
    pub fn samples_with_context(&self) -> bool {
        self.sampling
            .as_ref()
            .is_some_and(|sampling| sampling.context.is_some())
    }

    /// Whether the client says where a server may work.
    pub fn roots(&self) -> bool {
        self.roots.is_some()
    }
}

impl ServerCapabilities {
    /// Whether calls of tools may be tasks of the core protocol (2025-11-25).
    pub fn calls_as_tasks(&self) -> bool {
        let requests = self
            .tasks
            .as_ref()
            .and_then(|tasks| tasks.requests.as_ref());
        let tools = requests.and_then(|requests| requests.tools.as_ref());
        tools.is_some_and(|tools| tools.call.is_some())
    }
}

/// Implements the extensions of what a party declares.
macro_rules! extensions {
    ($($type:ident of $party:literal: $tasks:literal;)*) => {$(
        impl $type {
            #[doc = concat!("Whether ", $tasks, ".")]
            pub fn tasks_extension(&self) -> bool {
                self.extension(TASKS_EXTENSION).is_some()
            }

            #[doc = concat!("Declares that ", $tasks, ".")]
            pub fn declare_tasks_extension(&mut self) {
                if !self.tasks_extension() {
                    declare(&mut self.extensions, TASKS_EXTENSION, JsonObject::new());
                }
            }

            #[doc = concat!("Returns the settings of an extension that ", $party, " declares; empty where it")]
            /// has none.
            pub fn extension(&self, name: &str) -> Option<&JsonObject> {
                self.extensions.as_ref()?.get(name)?.as_object()
            }

            /// Declares an extension, with its settings.
            ///
            /// # Errors
            ///
            /// [`MetaKeyError`] for a name that is not written as those of extensions are.
            pub fn declare_extension(
                &mut self,
                name: &str,
                settings: JsonObject,
            ) -> Result<(), MetaKeyError> {
                check_extension(name)?;
                declare(&mut self.extensions, name, settings);
                Ok(())
            }
        }
    )*};
}

extensions! {
    ClientCapabilities of "the client": "the client takes a task of the extension in place of a result";
    ServerCapabilities of "the server": "calls may become tasks of the extension";
}

fn declare(extensions: &mut Option<JsonObject>, name: &str, settings: JsonObject) {
    let declared = extensions.get_or_insert_default();
    declared.insert(name.into(), Value::Object(settings));
}
