//! What single tools, prompts and resources need of an access token.

use std::sync::Arc;

use askback_core::{
    ask::Principal,
    auth::Scopes,
    protocol::{ClientRequest, Reference},
};

use super::{
    BuildError, Prompt, Resource, ResourceTemplate, Shared, Tool, registry::Registry,
    resource::Resources,
};
use crate::authorization::server::of_server;

/// The scopes of a thing, or why they are none.
#[derive(Debug, Clone)]
pub(super) struct Needs(Result<Scopes, String>);

impl Default for Needs {
    fn default() -> Self {
        Self(Ok(Scopes::new()))
    }
}

impl Needs {
    fn of<T: AsRef<str>>(scopes: impl IntoIterator<Item = T>) -> Self {
        Self(of_server(scopes).map_err(|bad| bad.to_string()))
    }

    /// The scopes there are. Where there is something wrong with them, no server is built.
    fn scopes(&self) -> Option<&Scopes> {
        self.0.as_ref().ok().filter(|scopes| !scopes.is_empty())
    }

    /// Whether any scope is needed.
    pub(super) fn are_some(&self) -> bool {
        self.scopes().is_some()
    }

    pub(super) fn check(&self, name: &str) -> Result<(), BuildError> {
        let wrong = |why: &String| BuildError::Scopes {
            name: name.to_owned(),
            why: why.clone(),
        };
        self.0.as_ref().map(|_| ()).map_err(wrong)
    }
}

macro_rules! needing {
    ($($name:ident: $used:literal),*) => {$(
        impl $name {
            #[doc = concat!("The scopes an access token must have for ", $used, ", beside those that")]
            /// every request needs. A request whose token lacks any is refused before the handler,
            /// with all of them named at once, so that the client can ask for them (2026-07-28,
            /// basic/authorization, Runtime Insufficient Scope Errors).
            ///
            /// They count wherever there are tokens: over HTTP, where the endpoint is
            /// [protected](crate::http::Endpoint::protect). Where there are none, such as over
            /// standard streams, whoever started the server may use all of it.
            #[must_use]
            pub fn scopes<T: AsRef<str>>(mut self, scopes: impl IntoIterator<Item = T>) -> Self {
                self.needs = Needs::of(scopes);
                self
            }
        }
    )*};
}

needing!(
    Tool: "calls of it",
    Prompt: "getting it, and for completing its arguments",
    Resource: "reading and watching it",
    ResourceTemplate: "reading and watching its resources, and for completing its variables"
);

impl Shared {
    /// Whether anything needs more than every request does.
    pub(super) fn needs_scopes(&self) -> bool {
        let needs = Needs::are_some;
        let tools = self.tools.items().iter().any(|tool| needs(&tool.needs));
        let prompts = self
            .prompts
            .items()
            .iter()
            .any(|prompt| needs(&prompt.needs));
        let Resources {
            fixed, templates, ..
        } = &self.resources;
        let fixed = fixed.items().iter().any(|resource| needs(&resource.needs));
        let templates = templates
            .items()
            .iter()
            .any(|template| needs(&template.needs));
        tools || prompts || fixed || templates
    }

    /// What a request of this principal needs beside what every request does. What becomes of a task
    /// needs what the call did that it was.
    pub(super) fn needed(
        &self,
        request: &ClientRequest,
        principal: Option<&Arc<Principal>>,
    ) -> Vec<&Scopes> {
        let of_task = |id: &str| {
            let tool = self.tool_of_task(id, principal)?;
            needs(&self.tools, &tool, |it| &it.needs)
        };
        fn one(needs: Option<&Needs>) -> Vec<&Scopes> {
            needs.and_then(Needs::scopes).into_iter().collect()
        }
        match request {
            ClientRequest::CallTool(params) => {
                one(needs(&self.tools, &params.name, |it| &it.needs))
            }
            ClientRequest::GetPrompt(params) => {
                one(needs(&self.prompts, &params.name, |it| &it.needs))
            }
            ClientRequest::ReadResource(params) => one(self.resources.needs(&params.uri)),
            ClientRequest::Subscribe(params) => one(self.resources.needs(&params.uri)),
            ClientRequest::GetTask(params) => one(of_task(&params.task_id)),
            ClientRequest::UpdateTask(params) => one(of_task(&params.task_id)),
            ClientRequest::CancelTask(params) => one(of_task(&params.task_id)),
            ClientRequest::Listen(params) => {
                let uris = params.notifications.resource_subscriptions.iter().flatten();
                let tasks = params.notifications.task_ids.iter().flatten();
                let uris = uris.filter_map(|uri| self.resources.needs(uri));
                let needs = uris.chain(tasks.filter_map(|id| of_task(id)));
                needs.filter_map(Needs::scopes).collect()
            }
            ClientRequest::Complete(params) => match &params.reference {
                Reference::Prompt(prompt) => {
                    one(needs(&self.prompts, &prompt.name, |it| &it.needs))
                }
                Reference::Resource(template) => {
                    let templates = &self.resources.templates;
                    one(needs(templates, &template.uri, |it| &it.needs))
                }
            },
            _ => Vec::new(),
        }
    }
}

fn needs<'a, T>(
    registry: &'a Registry<T>,
    name: &str,
    of: impl Fn(&'a T) -> &'a Needs,
) -> Option<&'a Needs> {
    registry.get(name).map(of)
}
