//! Prompts: messages that a user picks like a command.

use askback_core::{
    limits::Limits,
    protocol::{self, GetPromptResult, Outcome, PromptArgument},
};

use super::{
    BuildError,
    complete::{Completer, Completers},
    described::described,
    offer::{Needs, Visibility},
};
use crate::handler::{ErasedHandler, Handler, IntoPromptResult, erase};

/// A prompt and its handler.
///
/// The arguments are a struct with `#[derive(Form)]`. Clients send strings, which the types of the
/// fields parse. A field with a fixed choice completes itself; use [`Prompt::complete`] for any
/// other argument.
#[derive(Clone)]
pub struct Prompt {
    pub(super) description: protocol::Prompt,
    pub(super) handler: ErasedHandler<Outcome<GetPromptResult>>,
    pub(super) completers: Completers,
    pub(super) needs: Needs,
    pub(super) visibility: Visibility,
}

impl Prompt {
    /// Creates a prompt with the arguments that its handler takes.
    pub fn new<M, H>(name: impl Into<String>, handler: H) -> Self
    where
        H: Handler<M>,
        H::Output: IntoPromptResult,
    {
        let form = H::parameters().form;
        let completers = Completers::of(form.as_deref());
        let arguments = form.map(|form| {
            let arguments = form.fields.iter().map(|field| PromptArgument {
                name: field.name.clone(),
                title: field.title.clone(),
                description: field.description.clone(),
                required: Some(field.required),
            });
            arguments.collect::<Vec<_>>()
        });
        Self {
            description: protocol::Prompt {
                arguments,
                ..protocol::Prompt::new(name)
            },
            handler: erase(handler, IntoPromptResult::into_prompt_result),
            completers,
            needs: Needs::default(),
            visibility: Visibility::default(),
        }
    }

    /// Adds a completer for an argument. It also gets the values of the other arguments that the
    /// client has. At most
    /// [`limits.server.completion_values`](crate::limits::ServerLimits::completion_values) values
    /// are sent.
    #[must_use]
    pub fn complete<M, C: Completer<M>>(
        mut self,
        argument: impl Into<String>,
        completer: C,
    ) -> Self {
        self.completers.add(argument.into(), completer);
        self
    }

    pub(super) fn has_argument(&self, name: &str) -> bool {
        self.description
            .arguments
            .iter()
            .flatten()
            .any(|argument| argument.name == name)
    }

    /// Prefixes the name when the server is mounted. The separator is not a dot, because many model
    /// APIs do not allow dots in function names.
    pub(super) fn prefix(&mut self, prefix: &str) {
        let name = &mut self.description.name;
        *name = format!("{prefix}_{name}");
    }

    pub(super) fn check(&self, _: &Limits) -> Result<(), BuildError> {
        let parameters = self.handler.parameters();
        let reads = parameters.undescribed || parameters.schema.is_some();
        if reads && parameters.form.is_none() {
            return Err(BuildError::Arguments {
                name: self.description.name.clone(),
                why: "clients are told of those of a form alone: take a struct that derives `Form`"
                    .to_owned(),
            });
        }
        let known = |argument: &str| self.has_argument(argument);
        self.completers.check(&self.description.name, known)
    }
}

described!(Prompt.description: "Sets the description of what it is for.");

/// A function that returns a prompt, as [`#[prompt]`](macro@crate::prompt) makes it.
impl<F: FnOnce() -> Self> From<F> for Prompt {
    fn from(function: F) -> Self {
        function()
    }
}
