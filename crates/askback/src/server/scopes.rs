//! The scopes that a request needs.

use std::sync::Arc;

use askback_core::{
    ask::Principal,
    auth::Scopes,
    engine::server::ReceivedMessage,
    protocol::{ClientRequest, Reference},
};

use super::{Shared, fleet, offer::OfferDetails, registry::Registry};
use crate::error::Result;

impl Shared {
    /// Returns the scopes that a request of this principal needs in addition to those of every
    /// request. A request about a task needs the scopes of its call.
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
        let of_tasks = tasks_of(request).filter_map(|id| self.scopes_of_task(id, principal));
        let of_resource = |uri: &str| catalog.scopes_of_resource(uri, caller);
        let one = match request {
            ClientRequest::CallTool(params) => of(&catalog.tools, &params.name, caller),
            ClientRequest::GetPrompt(params) => of(&catalog.prompts, &params.name, caller),
            ClientRequest::ReadResource(params) => of_resource(&params.uri),
            ClientRequest::GetSkill(params) => of_resource(&params.uri),
            ClientRequest::Subscribe(params) => of_resource(&params.uri),
            ClientRequest::Listen(params) => {
                let uris = params.notifications.resource_subscriptions.iter().flatten();
                let uris = uris.filter_map(|uri| of_resource(uri));
                return uris.chain(of_tasks).collect();
            }
            ClientRequest::Complete(params) => match &params.reference {
                Reference::Prompt(prompt) => of(&catalog.prompts, &prompt.name, caller),
                Reference::Resource(template) => of(&catalog.templates, &template.uri, caller),
            },
            ClientRequest::Initialize(_)
            | ClientRequest::Discover(_)
            | ClientRequest::Ping(_)
            | ClientRequest::ListTools(_)
            | ClientRequest::ListPrompts(_)
            | ClientRequest::ListResources(_)
            | ClientRequest::ListResourceTemplates(_)
            | ClientRequest::ListSkills(_)
            | ClientRequest::ReadResourceDirectory(_)
            | ClientRequest::Unsubscribe(_)
            | ClientRequest::SetLevel(_)
            | ClientRequest::GetTask(_)
            | ClientRequest::UpdateTask(_)
            | ClientRequest::CancelTask(_)
            | ClientRequest::GetTaskPayload(_)
            | ClientRequest::ListTasks(_)
            | ClientRequest::Other(_) => None,
        };
        one.into_iter().chain(of_tasks).collect()
    }
}

impl Shared {
    /// Returns the scopes that a request about tasks of a fleet needs: the scopes of their calls.
    ///
    /// # Errors
    ///
    /// If the journal does not answer.
    pub(super) async fn needed_by_tasks(
        &self,
        received: &ReceivedMessage,
        principal: Option<&Arc<Principal>>,
    ) -> Result<Vec<Arc<Scopes>>> {
        let ReceivedMessage::Request(received) = received else {
            return Ok(Vec::new());
        };
        let (Some(node), true) = (&self.fleet, self.catalog.load().needs_scopes) else {
            return Ok(Vec::new());
        };
        let tasks = tasks_of(&received.request).take(self.limits().server.subscriptions);
        let mut all = Vec::new();
        for task in tasks {
            all.extend(fleet::tasks::scopes(self, node, task, principal).await?);
        }
        Ok(all)
    }
}

fn tasks_of(request: &ClientRequest) -> impl Iterator<Item = &str> {
    let (one, several) = match request {
        ClientRequest::GetTask(params) => (Some(&params.task_id), None),
        ClientRequest::UpdateTask(params) => (Some(&params.task_id), None),
        ClientRequest::CancelTask(params) => (Some(&params.task_id), None),
        ClientRequest::Listen(params) => (None, params.notifications.task_ids.as_ref()),
        _ => (None, None),
    };
    let all = one.into_iter().chain(several.into_iter().flatten());
    all.map(String::as_str)
}

fn of<T: OfferDetails>(
    registry: &Registry<T>,
    name: &str,
    caller: Option<&Principal>,
) -> Option<Arc<Scopes>> {
    registry.find(name, caller)?.item.needs().scopes().cloned()
}
