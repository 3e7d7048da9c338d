//! The capabilities of both sides.

use alloc::string::String;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{MetaKeyError, lenient, messages::messages, meta_key::check_extension};

/// A JSON object nobody here looks into.
pub type JsonObject = Map<String, Value>;

/// The name under which both sides declare the extension among their capabilities.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

messages! {
    /// The capabilities of a client.
    #[derive(Default, Deserialize)]
    struct ClientCapabilities {
        /// It answers questions put to a person (from 2025-06-18 on).
        elicitation?: ElicitationCapability;
        /// It asks its model for others.
        sampling?: SamplingCapability;
        /// It says where a server may work.
        roots?: RootsCapability;
        /// Its answers may be tasks (2025-11-25).
        tasks?: ClientTasksCapability;
        /// Extensions it speaks, by name (from 2026-07-28 on).
        extensions?: JsonObject;
        /// Capabilities that no specification names.
        experimental?: JsonObject;
    }

    /// How a client lets a person be asked. An empty object means forms only (2025-11-25 and
    /// 2026-07-28, client/elicitation, Capabilities).
    #[derive(Default, Deserialize)]
    struct ElicitationCapability {
        /// By forms.
        form?: JsonObject;
        /// By links.
        url?: JsonObject;
    }

    /// How a client asks its model for others.
    #[derive(Default, Deserialize)]
    struct SamplingCapability {
        /// It can include its own context.
        context?: JsonObject;
        /// It can offer the model tools.
        tools?: JsonObject;
    }

    /// How a client says where a server may work.
    #[derive(Eq, Default, Deserialize)]
    struct RootsCapability {
        /// It tells when that changes (handshake revisions).
        list_changed?: bool;
    }

    /// Which answers of a client may be tasks (2025-11-25).
    #[derive(Default, Deserialize)]
    struct ClientTasksCapability {
        /// It lists its tasks.
        list?: JsonObject;
        /// It cancels its tasks.
        cancel?: JsonObject;
        /// The requests that may be tasks.
        requests?: ClientTaskRequests;
    }

    /// The requests to a client that may be tasks.
    #[derive(Default, Deserialize)]
    struct ClientTaskRequests {
        /// Those of sampling.
        sampling?: SamplingTaskRequests;
        /// Those of elicitation.
        elicitation?: ElicitationTaskRequests;
    }

    /// The requests of sampling that may be tasks.
    #[derive(Default, Deserialize)]
    struct SamplingTaskRequests {
        /// `sampling/createMessage`.
        create_message?: JsonObject;
    }

    /// The requests of elicitation that may be tasks.
    #[derive(Default, Deserialize)]
    struct ElicitationTaskRequests {
        /// `elicitation/create`.
        create?: JsonObject;
    }

    /// The capabilities of a server.
    #[derive(Default, Deserialize)]
    struct ServerCapabilities {
        /// It has tools.
        tools?: ToolsCapability = "lenient::capability";
        /// It has prompts.
        prompts?: PromptsCapability = "lenient::capability";
        /// It has resources.
        resources?: ResourcesCapability = "lenient::capability";
        /// It completes arguments (from 2025-03-26 on).
        completions?: JsonObject = "lenient::capability";
        /// It logs to its client.
        logging?: JsonObject = "lenient::capability";
        /// Its work may be tasks (2025-11-25).
        tasks?: ServerTasksCapability = "lenient::member";
        /// Extensions it speaks, by name (from 2026-07-28 on).
        extensions?: JsonObject = "lenient::member";
        /// Capabilities that no specification names.
        experimental?: JsonObject = "lenient::member";
    }

    /// That a server has tools.
    #[derive(Eq, Default, Deserialize)]
    struct ToolsCapability {
        /// It tells when the list changes.
        list_changed?: bool = "lenient::scalar";
    }

    /// That a server has prompts.
    #[derive(Eq, Default, Deserialize)]
    struct PromptsCapability {
        /// It tells when the list changes.
        list_changed?: bool = "lenient::scalar";
    }

    /// That a server has resources.
    #[derive(Eq, Default, Deserialize)]
    struct ResourcesCapability {
        /// It tells when a resource changes that is watched.
        subscribe?: bool = "lenient::scalar";
        /// It tells when the list changes.
        list_changed?: bool = "lenient::scalar";
    }

    /// Which work of a server may be tasks (2025-11-25).
    #[derive(Default, Deserialize)]
    struct ServerTasksCapability {
        /// It lists its tasks.
        list?: JsonObject;
        /// It cancels its tasks.
        cancel?: JsonObject;
        /// The requests that may be tasks.
        requests?: ServerTaskRequests;
    }

    /// The requests to a server that may be tasks.
    #[derive(Default, Deserialize)]
    struct ServerTaskRequests {
        /// Those of tools.
        tools?: ToolTaskRequests;
    }

    /// The requests of tools that may be tasks.
    #[derive(Default, Deserialize)]
    struct ToolTaskRequests {
        /// `tools/call`.
        call?: JsonObject;
    }
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
