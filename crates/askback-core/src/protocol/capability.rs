//! The capabilities of both sides.

use alloc::string::String;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{
    MetaKeyError, SKILLS_EXTENSION, lenient, messages::messages, meta_key::check_extension,
};

/// A JSON object without a known structure.
pub type JsonObject = Map<String, Value>;

/// The name of the tasks extension among the capabilities.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

messages! {
    /// The capabilities of a client.
    #[derive(Default, Deserialize)]
    struct ClientCapabilities {
        /// The client can ask its user (from 2025-06-18 on).
        elicitation?: ElicitationCapability;
        /// The client lets servers use its model.
        sampling?: SamplingCapability;
        /// The client lists the folders in which a server may work.
        roots?: RootsCapability;
        /// Requests to the client may become tasks (2025-11-25).
        tasks?: ClientTasksCapability;
        /// The supported extensions by name (from 2026-07-28 on).
        extensions?: JsonObject;
        /// Experimental capabilities, outside of any specification.
        experimental?: JsonObject;
    }

    /// How a client can ask its user. An empty object means forms only (2025-11-25 and 2026-07-28,
    /// client/elicitation, Capabilities).
    #[derive(Default, Deserialize)]
    struct ElicitationCapability {
        /// It supports forms.
        form?: JsonObject;
        /// It supports links.
        url?: JsonObject;
    }

    /// How a client lets servers use its model.
    #[derive(Default, Deserialize)]
    struct SamplingCapability {
        /// It can include its own context.
        context?: JsonObject;
        /// It can offer the model tools.
        tools?: JsonObject;
    }

    /// How a client lists its roots.
    #[derive(Eq, Default, Deserialize)]
    struct RootsCapability {
        /// It notifies of changes (handshake revisions).
        list_changed?: bool;
    }

    /// The support of a client for tasks (2025-11-25).
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
        /// Sampling requests.
        sampling?: SamplingTaskRequests;
        /// Elicitation requests.
        elicitation?: ElicitationTaskRequests;
    }

    /// The sampling requests that may be tasks.
    #[derive(Default, Deserialize)]
    struct SamplingTaskRequests {
        /// `sampling/createMessage`.
        create_message?: JsonObject;
    }

    /// The elicitation requests that may be tasks.
    #[derive(Default, Deserialize)]
    struct ElicitationTaskRequests {
        /// `elicitation/create`.
        create?: JsonObject;
    }

    /// The capabilities of a server.
    #[derive(Default, Deserialize)]
    struct ServerCapabilities {
        /// The server has tools.
        tools?: ToolsCapability = "lenient::capability";
        /// The server has prompts.
        prompts?: PromptsCapability = "lenient::capability";
        /// The server has resources.
        resources?: ResourcesCapability = "lenient::capability";
        /// The server completes arguments (from 2025-03-26 on).
        completions?: JsonObject = "lenient::capability";
        /// The server sends log messages.
        logging?: JsonObject = "lenient::capability";
        /// Requests to the server may become tasks (2025-11-25).
        tasks?: ServerTasksCapability = "lenient::member";
        /// The supported extensions by name (from 2026-07-28 on).
        extensions?: JsonObject = "lenient::member";
        /// Experimental capabilities, outside of any specification.
        experimental?: JsonObject = "lenient::member";
    }

    /// How a server supports tools.
    #[derive(Eq, Default, Deserialize)]
    struct ToolsCapability {
        /// It notifies of changes to the list.
        list_changed?: bool = "lenient::scalar";
    }

    /// How a server supports prompts.
    #[derive(Eq, Default, Deserialize)]
    struct PromptsCapability {
        /// It notifies of changes to the list.
        list_changed?: bool = "lenient::scalar";
    }

    /// How a server supports resources.
    #[derive(Eq, Default, Deserialize)]
    struct ResourcesCapability {
        /// It notifies of changes to a watched resource.
        subscribe?: bool = "lenient::scalar";
        /// It notifies of changes to the list.
        list_changed?: bool = "lenient::scalar";
    }

    /// The support of a server for tasks (2025-11-25).
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
        /// Tool requests.
        tools?: ToolTaskRequests;
    }

    /// The tool requests that may be tasks.
    #[derive(Default, Deserialize)]
    struct ToolTaskRequests {
        /// `tools/call`.
        call?: JsonObject;
    }
}

impl ClientCapabilities {
    /// Whether the user can be asked to fill in a form.
    pub fn elicits_form(&self) -> bool {
        self.elicitation
            .as_ref()
            .is_some_and(|modes| modes.form.is_some() || modes.url.is_none())
    }

    /// Whether the user can be asked to open a link.
    pub fn elicits_url(&self) -> bool {
        self.elicitation
            .as_ref()
            .is_some_and(|modes| modes.url.is_some())
    }

    /// Whether servers may use the model.
    pub fn samples(&self) -> bool {
        self.sampling.is_some()
    }

    /// Whether servers may offer tools to the model.
    pub fn samples_with_tools(&self) -> bool {
        self.sampling
            .as_ref()
            .is_some_and(|sampling| sampling.tools.is_some())
    }

    /// Whether servers may include the client's context for the model.
    pub fn samples_with_context(&self) -> bool {
        self.sampling
            .as_ref()
            .is_some_and(|sampling| sampling.context.is_some())
    }

    /// Whether the client lists its roots.
    pub fn roots(&self) -> bool {
        self.roots.is_some()
    }
}

impl ServerCapabilities {
    /// Declares that the server has skills, and lists their folders.
    pub fn declare_skills_extension(&mut self) {
        if self.extension(SKILLS_EXTENSION).is_none() {
            let settings = JsonObject::from_iter([("directoryRead".into(), true.into())]);
            declare(&mut self.extensions, SKILLS_EXTENSION, settings);
        }
    }

    /// Whether tool calls may be tasks of the core protocol (2025-11-25).
    pub fn calls_as_tasks(&self) -> bool {
        let requests = self
            .tasks
            .as_ref()
            .and_then(|tasks| tasks.requests.as_ref());
        let tools = requests.and_then(|requests| requests.tools.as_ref());
        tools.is_some_and(|tools| tools.call.is_some())
    }
}

/// Implements access to the extensions of a client or server.
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

            /// Declares an extension with its settings.
            ///
            /// # Errors
            ///
            /// [`MetaKeyError`] if the name is not a valid extension name.
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
