//! The stateless era: each request says all there is to know.

use alloc::{boxed::Box, collections::VecDeque, format, string::String, sync::Arc, vec::Vec};

use super::{Call, Origin, Output, Profile};
use crate::{
    jsonrpc::{self, ErrorObject, RequestId},
    protocol::{
        CacheScope, CancelledParams, ClientRequest, DiscoverResult, HasMeta, Meta,
        NotificationParams, ResourceUpdatedParams, ServerCapabilities, ServerNotification,
        SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
        SubscriptionsListenResult, UnsupportedVersion, codes,
    },
    revision::{Era, Kind, Revision},
    wire,
};

/// Something a server offers has changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Changed {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// What stands in the resource of this URI.
    Resource(String),
}

/// Admits a request of the stateless era: its `_meta` must name a revision the server speaks and
/// the capabilities of the client (2026-07-28, basic/index, `_meta`).
///
/// # Errors
///
/// -32602 where a required field of `_meta` is missing, -32022 for a revision not spoken here,
/// -32601 for a method the revision does not have.
pub fn admit(
    profile: &Profile,
    id: RequestId,
    mut request: ClientRequest,
) -> Result<Call, ErrorObject> {
    let meta = request.meta_slot().take().unwrap_or_default();
    let Some(version) = &meta.protocol_version else {
        return Err(missing("protocolVersion"));
    };
    let revision = spoken(profile, version)?;
    let Some(capabilities) = meta.client_capabilities else {
        return Err(missing("clientCapabilities"));
    };
    if !revision.has(Kind::ClientRequest, request.method()) {
        return Err(ErrorObject::method_not_found(request.method()));
    }
    let origin = Origin {
        revision,
        client: meta.client_info,
        capabilities,
        log_level: meta.log_level,
        progress_token: meta.progress_token,
    };
    Ok(Call {
        id,
        request,
        origin: Arc::new(origin),
    })
}

/// The era of a request: what its `_meta` says, else that of the session; a request that says
/// nothing where nothing was agreed is taken for one of a server's only era.
pub(super) fn era_of(request: &ClientRequest, profile: &Profile, session: bool) -> Era {
    if matches!(request, ClientRequest::Initialize(_)) {
        return Era::Legacy;
    }
    let says = request
        .meta()
        .is_some_and(|meta| meta.protocol_version.is_some());
    let handshakes = profile
        .revisions
        .iter()
        .any(|revision| revision.era() == Era::Legacy);
    if says || !(session || handshakes) {
        Era::Modern
    } else {
        Era::Legacy
    }
}

/// The answer to a request in a revision the server does not speak.
pub(super) fn unsupported(profile: &Profile, requested: &str) -> ErrorObject {
    let supported = profile
        .revisions
        .iter()
        .map(|revision| revision.as_str().into())
        .collect();
    let data = UnsupportedVersion {
        supported,
        requested: requested.into(),
    };
    ErrorObject::new(codes::UNSUPPORTED_VERSION, "Unsupported protocol version")
        .with_data(serde_json::json!({"supported": data.supported, "requested": data.requested}))
}

/// What the server is and speaks.
pub(super) fn discover(profile: &Profile, call: &Call) -> Vec<u8> {
    let result = DiscoverResult {
        supported_versions: profile
            .revisions
            .iter()
            .map(|revision| revision.as_str().into())
            .collect(),
        capabilities: profile.capabilities.clone(),
        instructions: profile.instructions.clone(),
        ttl_ms: Some(profile.ttl_ms),
        cache_scope: Some(CacheScope::Public),
        meta: None,
    };
    wire::write_result(call.origin.revision, &call.id, result, Some(&profile.info))
}

/// The open subscriptions of a connection (2026-07-28, basic/patterns/subscriptions).
#[derive(Debug, Default)]
pub(super) struct Listeners(Vec<Listener>);

#[derive(Debug)]
struct Listener {
    id: RequestId,
    revision: Revision,
    filter: SubscriptionFilter,
}

impl Listeners {
    pub(super) fn has(&self, id: &RequestId) -> bool {
        self.0.iter().any(|listener| listener.id == *id)
    }

    /// Opens a subscription; the acknowledgement says which part of the wish is granted.
    pub(super) fn open(
        &mut self,
        profile: &Profile,
        call: &Call,
        params: &SubscriptionsListenParams,
        out: &mut VecDeque<Output>,
    ) -> Result<(), ErrorObject> {
        let most = profile.limits.subscriptions;
        let uris = params
            .notifications
            .resource_subscriptions
            .as_ref()
            .map_or(0, Vec::len);
        if self.0.len() >= most || uris > most {
            let why = format!("too many subscriptions (at most {most})");
            return Err(ErrorObject::new(jsonrpc::INVALID_PARAMS, why));
        }
        let listener = Listener {
            id: call.id.clone(),
            revision: call.origin.revision,
            filter: granted(&profile.capabilities, &params.notifications),
        };
        let acknowledged = SubscriptionsAcknowledgedParams {
            notifications: listener.filter.clone(),
            meta: listener.meta(),
        };
        listener.send(
            ServerNotification::SubscriptionsAcknowledged(acknowledged),
            out,
        );
        self.0.push(listener);
        Ok(())
    }

    /// Ends a subscription its client no longer wants.
    pub(super) fn close(&mut self, id: &RequestId) -> bool {
        let before = self.0.len();
        self.0.retain(|listener| listener.id != *id);
        self.0.len() < before
    }

    pub(super) fn changed(&self, changed: &Changed, out: &mut VecDeque<Output>) {
        for listener in self.0.iter().filter(|listener| listener.wants(changed)) {
            listener.send(notification(changed, listener.meta()), out);
        }
    }

    /// Ends every subscription: it is told as a teardown and answered with its result.
    pub(super) fn finish(&mut self, profile: &Profile, out: &mut VecDeque<Output>) {
        for listener in self.0.drain(..) {
            let cancelled = CancelledParams {
                request_id: Some(listener.id.clone()),
                reason: Some("the server is stopping".into()),
                meta: None,
            };
            listener.send(ServerNotification::Cancelled(cancelled), out);
            let result = SubscriptionsListenResult {
                meta: listener.meta(),
            };
            let message =
                wire::write_result(listener.revision, &listener.id, result, Some(&profile.info));
            out.push_back(Output::Send(message));
        }
    }
}

impl Listener {
    fn wants(&self, changed: &Changed) -> bool {
        let filter = &self.filter;
        match changed {
            Changed::Tools => filter.tools_list_changed == Some(true),
            Changed::Prompts => filter.prompts_list_changed == Some(true),
            Changed::Resources => filter.resources_list_changed == Some(true),
            Changed::Resource(uri) => filter
                .resource_subscriptions
                .as_ref()
                .is_some_and(|uris| uris.contains(uri)),
        }
    }

    fn meta(&self) -> Option<Box<Meta>> {
        Meta {
            subscription_id: Some(self.id.clone()),
            ..Meta::default()
        }
        .boxed()
    }

    fn send(&self, notification: ServerNotification, out: &mut VecDeque<Output>) {
        out.extend(write_notification(self.revision, notification).map(Output::Send));
    }
}

/// The notification that tells of a change.
pub(super) fn notification(changed: &Changed, meta: Option<Box<Meta>>) -> ServerNotification {
    match changed {
        Changed::Tools => ServerNotification::ToolsListChanged(NotificationParams { meta }),
        Changed::Prompts => ServerNotification::PromptsListChanged(NotificationParams { meta }),
        Changed::Resources => ServerNotification::ResourcesListChanged(NotificationParams { meta }),
        Changed::Resource(uri) => {
            let params = ResourceUpdatedParams {
                uri: uri.clone(),
                meta,
            };
            ServerNotification::ResourceUpdated(params)
        }
    }
}

/// A notification in the words of a revision, if it has it.
pub(super) fn write_notification(
    revision: Revision,
    notification: ServerNotification,
) -> Option<Vec<u8>> {
    let has = revision.has(Kind::ServerNotification, notification.method());
    has.then(|| wire::lower(notification, revision).to_vec())
}

/// Whether the server said that it tells of such changes.
pub(super) fn tells(capabilities: &ServerCapabilities, changed: &Changed) -> bool {
    let told = match changed {
        Changed::Tools => capabilities
            .tools
            .as_ref()
            .and_then(|tools| tools.list_changed),
        Changed::Prompts => capabilities
            .prompts
            .as_ref()
            .and_then(|prompts| prompts.list_changed),
        Changed::Resources => capabilities
            .resources
            .as_ref()
            .and_then(|resources| resources.list_changed),
        Changed::Resource(_) => capabilities
            .resources
            .as_ref()
            .and_then(|resources| resources.subscribe),
    };
    told == Some(true)
}

fn granted(capabilities: &ServerCapabilities, wish: &SubscriptionFilter) -> SubscriptionFilter {
    let grant = |wish: Option<bool>, changed: &Changed| {
        (wish == Some(true) && tells(capabilities, changed)).then_some(true)
    };
    let watches = tells(capabilities, &Changed::Resource(String::new()));
    SubscriptionFilter {
        tools_list_changed: grant(wish.tools_list_changed, &Changed::Tools),
        prompts_list_changed: grant(wish.prompts_list_changed, &Changed::Prompts),
        resources_list_changed: grant(wish.resources_list_changed, &Changed::Resources),
        resource_subscriptions: wish.resource_subscriptions.clone().filter(|_| watches),
    }
}

fn spoken(profile: &Profile, version: &str) -> Result<Revision, ErrorObject> {
    let revision = version.parse::<Revision>().ok();
    revision
        .filter(|revision| revision.era() == Era::Modern && profile.revisions.contains(revision))
        .ok_or_else(|| unsupported(profile, version))
}

fn missing(field: &str) -> ErrorObject {
    let why = format!("`_meta` lacks the required field io.modelcontextprotocol/{field}");
    ErrorObject::new(jsonrpc::INVALID_PARAMS, why)
}
