//! The stateless era: each request is self-contained.

use alloc::{boxed::Box, format, string::String, sync::Arc, vec::Vec};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::{
    Call, ClientLocation, Origin, Profile,
    known_client::{KnownClient, describes_only_a_client},
    origin::{check_watched, id_bytes, known_capabilities, known_client, known_token, too_long},
    received_message::ReceivedRequest,
};
use crate::{
    ask::Principal,
    jsonrpc::{self, ErrorObject, RequestId},
    protocol::{
        CacheScope, CancelledParams, ClientCapabilities, ClientRequest, DetailedTask,
        DiscoverResult, HasMeta, JsonObject, Meta, MissingCapability, NotificationParams,
        ResourceUpdatedParams, ServerCapabilities, ServerNotification, Signature,
        SubscriptionFilter, SubscriptionsAcknowledgedParams, SubscriptionsListenParams,
        SubscriptionsListenResult, TraceContext, UnsupportedVersion,
    },
    quote::{QuotedName, clipped},
    revision::{Era, Kind, Revision},
    wire,
};

/// A change that clients can subscribe to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Change {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources.
    Resources,
    /// The content of the resource with this URI.
    Resource(String),
    /// The status of the task with this id (SEP-2663). Servers report it by themselves.
    Task(String),
}

/// Admits a request of the stateless era: its `_meta` must name a supported revision and the
/// capabilities of the client (2026-07-28, basic/index, `_meta`).
///
/// # Errors
///
/// -32602 if `_meta` lacks a required field or its progress token is longer than
/// [`limits.wire.request_id_bytes`](crate::limits::WireLimits::request_id_bytes), -32022 if the
/// revision is not supported, -32601 if the revision lacks the method.
pub fn admit(
    profile: &Profile,
    principal: Option<Arc<Principal>>,
    place: ClientLocation,
    received: ReceivedRequest,
) -> Result<Call, ErrorObject> {
    if let Some(known) = received.known() {
        // A known client was admitted before.
        return Ok(Call {
            origin: known.origin(principal, place),
            id: received.id,
            request: received.request,
            meta: JsonObject::new(),
        });
    }
    let ReceivedRequest {
        id, mut request, ..
    } = received;
    let mut meta = request.meta_slot().take().unwrap_or_default();
    let Some(version) = &meta.protocol_version else {
        return Err(missing("protocolVersion"));
    };
    let revision = spoken(profile, version)?;
    if !has_method(revision, &request) {
        return Err(ErrorObject::method_not_found(request.method()));
    }
    let origin = origin_of(profile, revision, principal, place, &mut meta)?;
    Ok(Call {
        id,
        request,
        meta: core::mem::take(&mut meta.extra),
        origin: Arc::new(origin),
    })
}

impl KnownClient {
    /// Learns the client's description from the `_meta` of `message`. Returns `None` if `_meta` has
    /// other members, is too long, or is not admitted.
    #[must_use]
    pub fn learn(
        message: &[u8],
        meta: &Meta,
        profile: &Profile,
        place: ClientLocation,
    ) -> Option<Self> {
        #[derive(Deserialize)]
        struct Message<'a> {
            #[serde(borrow)]
            params: Params<'a>,
        }
        #[derive(Deserialize)]
        struct Params<'a> {
            #[serde(rename = "_meta", borrow)]
            meta: &'a RawValue,
        }
        let message: Message<'_> = serde_json::from_slice(message).ok()?;
        let text = message.params.meta.get();
        if !describes_only_a_client(meta) || text.len() > Self::TEXT_BYTES {
            return None;
        }
        let revision = spoken(profile, meta.protocol_version.as_deref()?).ok()?;
        let origin = origin_of(profile, revision, None, place, &mut meta.clone()).ok()?;
        Some(Self::new(text, origin))
    }
}

/// Whether a revision has the method of a request. Forwarded requests always pass.
pub(super) fn has_method(revision: Revision, request: &ClientRequest) -> bool {
    matches!(request, ClientRequest::Other(_))
        || revision.has(Kind::ClientRequest, request.method())
}

/// Takes the protocol's members out of `_meta` to make the origin of a request.
fn origin_of(
    profile: &Profile,
    revision: Revision,
    principal: Option<Arc<Principal>>,
    place: ClientLocation,
    meta: &mut Meta,
) -> Result<Origin, ErrorObject> {
    let limits = &profile.limits;
    let Some(capabilities) = meta.client_capabilities.take() else {
        return Err(missing("clientCapabilities"));
    };
    let client = meta.client_info.take();
    Ok(Origin {
        revision,
        client: client.map(|client| known_client(client, limits)),
        capabilities: known_capabilities(capabilities, limits),
        log_level: meta.log_level,
        progress_token: known_token(meta.progress_token.take(), limits)?,
        principal,
        place,
        trace: TraceContext::of(meta).map(Box::new),
        attachment: None,
    })
}

/// Returns the era of a request: from its `_meta`, else from the session. Without either it is the
/// stateless era only if the server supports no other.
///
/// A server that supports only the handshake answers requests of the stateless era as old servers
/// did: -32022 would tell the client not to try the handshake (2026-07-28, basic/transports/stdio,
/// Backward Compatibility).
pub(super) fn era_of(received: &ReceivedRequest, profile: &Profile, session: bool) -> Era {
    if matches!(received.request, ClientRequest::Initialize(_)) {
        return Era::Legacy;
    }
    let says = received.version().is_some();
    let speaks = |era| profile.revisions.iter().any(|known| known.era() == era);
    let may_be_modern = says || !(session || speaks(Era::Legacy));
    if may_be_modern && speaks(Era::Modern) {
        Era::Modern
    } else {
        Era::Legacy
    }
}

#[must_use]
pub fn unsupported(profile: &Profile, requested: &str) -> ErrorObject {
    let supported = profile
        .revisions
        .iter()
        .map(|revision| revision.as_str().into())
        .collect();
    let unsupported = UnsupportedVersion {
        supported,
        requested: clipped(requested, QuotedName::MOST),
    };
    unsupported.into_error()
}

#[must_use]
pub fn discover(profile: &Profile, call: &Call) -> Vec<u8> {
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
    let signature = Signature::new(&profile.info);
    wire::write_result(call.origin.revision, &call.id, result, Some(&signature))
}

/// An open `subscriptions/listen` (2026-07-28, basic/patterns/subscriptions).
///
/// It writes its messages; the owner sends them.
#[derive(Debug)]
pub struct OpenSubscription {
    id: RequestId,
    revision: Revision,
    principal: Option<Arc<Principal>>,
    filter: SubscriptionFilter,
}

impl OpenSubscription {
    /// Why subscriptions end when the server stops.
    pub const STOPPING: &str = "the server is stopping";

    /// Opens a subscription. The returned acknowledgement names the granted part of the wish and is
    /// sent first.
    ///
    /// # Errors
    ///
    /// -32602 if the number of resources and tasks exceeds
    /// [`limits.server.subscriptions`](crate::limits::ServerLimits::subscriptions), or a name is
    /// longer than
    /// [`limits.server.watched_uri_bytes`](crate::limits::ServerLimits::watched_uri_bytes) or
    /// [`limits.wire.request_id_bytes`](crate::limits::WireLimits::request_id_bytes). -32021 if the
    /// wish includes tasks and the client does not support them.
    pub fn open(
        profile: &Profile,
        call: &Call,
        params: &SubscriptionsListenParams,
    ) -> Result<(Self, Vec<u8>), ErrorObject> {
        let most = profile.limits.server.subscriptions;
        let uris = params.notifications.resource_subscriptions.as_ref();
        let tasks = params.notifications.task_ids.as_ref();
        if uris.map_or(0, Vec::len).max(tasks.map_or(0, Vec::len)) > most {
            return Err(too_many(most));
        }
        for uri in uris.into_iter().flatten() {
            check_watched(uri, &profile.limits)?;
        }
        let most = profile.limits.wire.request_id_bytes;
        if tasks.into_iter().flatten().any(|id| id.len() > most) {
            return Err(too_long("the id of a task", most));
        }
        if tasks.is_some() && !call.origin.capabilities.tasks_extension() {
            return Err(no_tasks());
        }
        let subscription = Self {
            id: call.id.clone(),
            revision: call.origin.revision,
            principal: call.origin.principal.clone(),
            filter: granted(&profile.capabilities, &params.notifications),
        };
        let acknowledged = SubscriptionsAcknowledgedParams {
            notifications: subscription.filter.clone(),
            meta: subscription.meta(),
        };
        let acknowledged = ServerNotification::SubscriptionsAcknowledged(acknowledged);
        let message = wire::lower(acknowledged, subscription.revision).to_vec();
        Ok((subscription, message))
    }

    #[must_use]
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    pub(super) fn filter(&self) -> &SubscriptionFilter {
        &self.filter
    }

    #[must_use]
    pub fn principal(&self) -> Option<&Arc<Principal>> {
        self.principal.as_ref()
    }

    #[must_use]
    pub fn kept_bytes(&self) -> usize {
        let named = [&self.filter.resource_subscriptions, &self.filter.task_ids];
        let named = named.into_iter().flatten().flatten();
        size_of::<Self>()
            + id_bytes(&self.id)
            + named
                .map(|name| size_of::<String>() + name.len())
                .sum::<usize>()
    }

    #[must_use]
    pub fn wants(&self, changed: &Change) -> bool {
        let filter = &self.filter;
        match changed {
            Change::Tools => filter.tools_list_changed == Some(true),
            Change::Prompts => filter.prompts_list_changed == Some(true),
            Change::Resources => filter.resources_list_changed == Some(true),
            Change::Resource(uri) => filter
                .resource_subscriptions
                .as_ref()
                .is_some_and(|uris| uris.contains(uri)),
            Change::Task(id) => filter.task_ids.as_ref().is_some_and(|ids| ids.contains(id)),
        }
    }

    pub fn watched(&self) -> impl Iterator<Item = Change> {
        let filter = &self.filter;
        let lists = [
            (filter.tools_list_changed, Change::Tools),
            (filter.prompts_list_changed, Change::Prompts),
            (filter.resources_list_changed, Change::Resources),
        ];
        let lists = lists
            .into_iter()
            .filter_map(|(wish, list)| (wish == Some(true)).then_some(list));
        let resources = filter.resource_subscriptions.iter().flatten();
        let tasks = filter.task_ids.iter().flatten();
        lists
            .chain(resources.cloned().map(Change::Resource))
            .chain(tasks.cloned().map(Change::Task))
    }

    /// Writes the notification of a change. For tasks use [`OpenSubscription::task`].
    #[must_use]
    pub fn changed(&self, changed: &Change) -> Option<Vec<u8>> {
        write_notification(self.revision, notification(changed, self.meta())?)
    }

    #[must_use]
    pub fn task(&self, task: &DetailedTask) -> Option<Vec<u8>> {
        let mut task = task.clone();
        task.meta = self.meta();
        write_notification(self.revision, ServerNotification::Task(task))
    }

    /// Ends the subscription: writes its teardown notification, which says why, and its result (Graceful Closure).
    #[must_use]
    pub fn finish(&self, profile: &Profile, why: &str) -> Vec<Vec<u8>> {
        let cancelled = CancelledParams {
            request_id: Some(self.id.clone()),
            reason: Some(why.into()),
            meta: None,
        };
        let cancelled = write_notification(self.revision, ServerNotification::Cancelled(cancelled));
        let result = SubscriptionsListenResult { meta: self.meta() };
        let signature = Signature::new(&profile.info);
        let result = wire::write_result(self.revision, &self.id, result, Some(&signature));
        cancelled.into_iter().chain([result]).collect()
    }

    fn meta(&self) -> Option<Box<Meta>> {
        Meta {
            subscription_id: Some(self.id.clone()),
            ..Meta::default()
        }
        .boxed()
    }
}

pub(super) fn too_many(most: usize) -> ErrorObject {
    let why = format!("too many subscriptions (at most {most})");
    ErrorObject::new(jsonrpc::INVALID_PARAMS, why)
}

/// The error if a client subscribes to tasks without supporting them (SEP-2663, Task Status
/// Notifications).
fn no_tasks() -> ErrorObject {
    let mut required_capabilities = ClientCapabilities::default();
    required_capabilities.declare_tasks_extension();
    let missing = MissingCapability {
        required_capabilities,
    };
    missing.into_error("to hear of tasks, the client must declare that it supports them")
}

pub(super) fn notification(
    changed: &Change,
    meta: Option<Box<Meta>>,
) -> Option<ServerNotification> {
    Some(match changed {
        Change::Tools => ServerNotification::ToolsListChanged(NotificationParams { meta }),
        Change::Prompts => ServerNotification::PromptsListChanged(NotificationParams { meta }),
        Change::Resources => ServerNotification::ResourcesListChanged(NotificationParams { meta }),
        Change::Resource(uri) => {
            let params = ResourceUpdatedParams {
                uri: uri.clone(),
                meta,
            };
            ServerNotification::ResourceUpdated(params)
        }
        Change::Task(_) => return None,
    })
}

#[must_use]
pub fn write_notification(revision: Revision, notification: ServerNotification) -> Option<Vec<u8>> {
    let has = revision.has(Kind::ServerNotification, notification.method());
    has.then(|| wire::lower(notification, revision).to_vec())
}

#[must_use]
pub fn tells(capabilities: &ServerCapabilities, changed: &Change) -> bool {
    let told = match changed {
        Change::Tools => capabilities
            .tools
            .as_ref()
            .and_then(|tools| tools.list_changed),
        Change::Prompts => capabilities
            .prompts
            .as_ref()
            .and_then(|prompts| prompts.list_changed),
        Change::Resources => capabilities
            .resources
            .as_ref()
            .and_then(|resources| resources.list_changed),
        Change::Resource(_) => capabilities
            .resources
            .as_ref()
            .and_then(|resources| resources.subscribe),
        Change::Task(_) => Some(capabilities.tasks_extension()),
    };
    told == Some(true)
}

fn granted(capabilities: &ServerCapabilities, wish: &SubscriptionFilter) -> SubscriptionFilter {
    let grant = |wish: Option<bool>, changed: &Change| {
        (wish == Some(true) && tells(capabilities, changed)).then_some(true)
    };
    let watches = tells(capabilities, &Change::Resource(String::new()));
    SubscriptionFilter {
        tools_list_changed: grant(wish.tools_list_changed, &Change::Tools),
        prompts_list_changed: grant(wish.prompts_list_changed, &Change::Prompts),
        resources_list_changed: grant(wish.resources_list_changed, &Change::Resources),
        resource_subscriptions: wish.resource_subscriptions.clone().filter(|_| watches),
        task_ids: wish
            .task_ids
            .clone()
            .filter(|_| capabilities.tasks_extension()),
    }
}

/// Parses a supported revision of the stateless era.
///
/// # Errors
///
/// -32022 for any other revision.
pub fn spoken(profile: &Profile, version: &str) -> Result<Revision, ErrorObject> {
    let revision = version.parse::<Revision>().ok();
    revision
        .filter(|revision| revision.era() == Era::Modern && profile.revisions.contains(revision))
        .ok_or_else(|| unsupported(profile, version))
}

fn missing(field: &str) -> ErrorObject {
    let why = format!("`_meta` lacks the required field io.modelcontextprotocol/{field}");
    ErrorObject::new(jsonrpc::INVALID_PARAMS, why)
}
