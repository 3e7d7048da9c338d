//! The scopes that single tools, prompts and resources need.

use std::sync::Arc;

use askback_core::auth::Scopes;
#[cfg(feature = "oauth-server")]
use askback_core::{
    ask::Principal,
    protocol::{ClientRequest, Reference},
};

use super::{BuildError, Prompt, Resource, ResourceTemplate, Tool};
#[cfg(feature = "oauth-server")]
use super::{Shared, offer::Offered, registry::Registry};

/// The scopes of a thing, or why they are none.
#[derive(Debug, Clone)]
pub(super) struct Needs(Result<Option<Arc<Scopes>>, String>);

impl Default for Needs {
    fn default() -> Self {
        Self(Ok(None))
    }
}

impl Needs {
    fn of<T: AsRef<str>>(scopes: impl IntoIterator<Item = T>) -> Self {
        let some = |scopes: Scopes| (!scopes.is_empty()).then(|| Arc::new(scopes));
        let scopes = Scopes::of_server(scopes);
        Self(scopes.map(some).map_err(|bad| bad.to_string()))
    }

    /// The scopes there are. Where there is something wrong with them, no server is built.
    pub(super) fn scopes(&self) -> Option<&Arc<Scopes>> {
        self.0.as_ref().ok()?.as_ref()
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
            #[doc = concat!("Sets the scopes an access token must have for ", $used, ", beside those that")]
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

#[cfg(feature = "oauth-server")]
impl Shared {
    /// Returns the scopes that a request of this principal needs beside those of every request. A
    /// request about a task needs the scopes of the call that it was.
    pub(super) fn needed(
        &self,
        request: &ClientRequest,
        principal: Option<&Arc<Principal>>,
    ) -> Vec<Arc<Scopes>> {
        let catalog = self.catalog.load();
        if !catalog.needs_scopes {
            return Vec::new();
        }
        let caller = principal.map(|principal| &**principal);
        let of_task = |id: &str| self.scopes_of_task(id, principal);
        let of_resource = |uri: &str| catalog.scopes_of_resource(uri, caller);
        let one = match request {
            ClientRequest::CallTool(params) => of(&catalog.tools, &params.name, caller),
            ClientRequest::GetPrompt(params) => of(&catalog.prompts, &params.name, caller),
            ClientRequest::ReadResource(params) => of_resource(&params.uri),
            ClientRequest::Subscribe(params) => of_resource(&params.uri),
            ClientRequest::GetTask(params) => of_task(&params.task_id),
            ClientRequest::UpdateTask(params) => of_task(&params.task_id),
            ClientRequest::CancelTask(params) => of_task(&params.task_id),
            ClientRequest::Listen(params) => {
                let uris = params.notifications.resource_subscriptions.iter().flatten();
                let tasks = params.notifications.task_ids.iter().flatten();
                let uris = uris.filter_map(|uri| of_resource(uri));
                return uris.chain(tasks.filter_map(|id| of_task(id))).collect();
            }
            ClientRequest::Complete(params) => match &params.reference {
                Reference::Prompt(prompt) => of(&catalog.prompts, &prompt.name, caller),
                Reference::Resource(template) => of(&catalog.templates, &template.uri, caller),
            },
            _ => None,
        };
        one.into_iter().collect()
    }
}

#[cfg(feature = "oauth-server")]
fn of<T: Offered>(
    registry: &Registry<T>,
    name: &str,
    caller: Option<&Principal>,
) -> Option<Arc<Scopes>> {
    registry.find(name, caller)?.item.needs().scopes().cloned()
}
