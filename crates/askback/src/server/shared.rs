//! The state that all requests of a server share.

use std::{any::Any, sync::Arc};

use askback_core::{
    ask::{Principal, keys::KeyRing, seal::Binding},
    engine::server::{Change, Origin, Profile, tells},
    limits::Limits,
    protocol::{Signature, TraceContext},
};
use tracing::Span;

use super::{
    board::Board,
    budget::Budget,
    handler_scope::HandlerScope,
    keys::Keys,
    live::LiveCatalog,
    offer::{Cache, ChangeableLists},
    page::Pages,
    rate::{RateLimit, RateLimitError, ThingHash},
    registry::ScopeId,
    roots::{self, RootsWatch},
    rules::Rules,
};
use crate::{
    clock::Clock,
    ctx::{Audience, Backing, CallServer, Changes, Ctx, RunningCommits},
    error::{Error, Result},
};

pub(super) type TraceParent = Arc<dyn Fn(&Span, &TraceContext) + Send + Sync>;

pub(crate) struct Shared {
    pub(super) profile: Arc<Profile>,
    pub(super) signature: Signature,
    pub(super) catalog: LiveCatalog,
    pub(super) changing: ChangeableLists,
    pub(super) changes: Changes,
    pub(super) pages: Pages,
    pub(super) cache: Cache,
    pub(super) service: String,
    pub(super) keys: Arc<Keys>,
    pub(super) commits: RunningCommits,
    pub(super) spills: bool,
    pub(super) seed: Option<[u8; 32]>,
    pub(super) checks_replay: bool,
    pub(super) trace_parent: Option<TraceParent>,
    pub(super) roots_changed: Option<roots::Handler>,
    pub(super) backing: Arc<Backing>,
    /// The scopes of the handlers: the server's own, and one for each mounted server.
    pub(super) handler_scopes: Vec<HandlerScope>,
    pub(super) rate: Option<RateLimit>,
    pub(super) tasks: Board,
    pub(super) kept: Budget,
    #[cfg(feature = "http-server")]
    pub(super) fleet: Option<Arc<super::fleet::Node>>,
    #[cfg(feature = "bridge")]
    pub(super) forward: Option<Arc<dyn super::forward::Forward>>,
    #[cfg(feature = "witness")]
    pub(super) trusted_keys: Option<crate::witness::TrustedKeys>,
}

impl Shared {
    pub(super) fn handler_scope(&self, scope: ScopeId) -> &HandlerScope {
        &self.handler_scopes[scope.0]
    }

    /// Counts one call for the rate limit.
    ///
    /// # Errors
    ///
    /// An error that says how long to wait.
    pub(super) async fn take_call(
        &self,
        caller: Option<&Principal>,
        thing: ThingHash,
        method: &str,
        name: &str,
    ) -> Result<()> {
        #[cfg(feature = "http-server")]
        if let (Some(rate), Some(calls)) = (&self.rate, self.calls_of_fleet()) {
            let now = self.clock().now();
            if let Some(taken) = calls.take(rate, caller, (method, name), now).await {
                return taken.map_err(|early| called_too_often(early, method, name));
            }
        }
        self.take_call_here(caller, thing, method, name)
    }

    /// Counts one call for the rate limit, in this process alone.
    ///
    /// # Errors
    ///
    /// As [`take_call`](Self::take_call).
    pub(super) fn take_call_here(
        &self,
        caller: Option<&Principal>,
        thing: ThingHash,
        method: &str,
        name: &str,
    ) -> Result<()> {
        let Some(rate) = &self.rate else {
            return Ok(());
        };
        let taken = rate.take(caller, thing, self.processes(), self.clock().now());
        taken.map_err(|early| called_too_often(early, method, name))
    }

    /// Returns the number of processes that serve, with this one.
    fn processes(&self) -> u64 {
        #[cfg(feature = "http-server")]
        return self.fleet.as_ref().map_or(1, |node| node.processes());
        #[cfg(not(feature = "http-server"))]
        1
    }

    pub(crate) fn limits(&self) -> &Arc<Limits> {
        &self.profile.limits
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.backing.clock
    }

    pub(super) fn roots_changed(&self, watch: &mut RootsWatch, origin: Arc<Origin>) {
        let limit = self.limits().wire.request;
        watch.changed(self.roots_changed.as_ref(), limit, origin);
    }

    pub(super) fn is_in_fleet(&self) -> bool {
        #[cfg(feature = "http-server")]
        return self.fleet.is_some();
        #[cfg(not(feature = "http-server"))]
        false
    }

    pub(crate) fn spills(&self) -> bool {
        self.spills
    }

    /// The name under which the processes of this service recognize each other's states.
    #[cfg(feature = "http-server")]
    pub(crate) fn service(&self) -> &str {
        &self.service
    }

    /// The binding of data that is sealed for one principal and one purpose.
    pub(crate) fn binding<'a>(
        &'a self,
        principal: Option<&'a Principal>,
        method: &'a str,
    ) -> Binding<'a> {
        Binding {
            audience: &self.service,
            tenant: principal.and_then(|principal| principal.tenant.as_deref()),
            issuer: principal.and_then(|principal| principal.issuer.as_deref()),
            subject: principal.map(|principal| &*principal.subject),
            client_id: principal.and_then(|principal| principal.client_id.as_deref()),
            method,
            target: "",
            arguments: [0; 32],
            revision: "",
        }
    }

    #[cfg(feature = "http-server")]
    pub(super) fn calls_of_fleet(&self) -> Option<&super::fleet::FleetCalls> {
        self.fleet.as_ref().and_then(|node| node.calls.as_ref())
    }

    pub(crate) fn keys(&self) -> Result<&KeyRing> {
        self.keys.ring()
    }

    pub(crate) fn checks_replay(&self) -> bool {
        self.checks_replay
    }

    pub(super) fn behind(ctx: &Ctx) -> Arc<Self> {
        let server: Arc<dyn Any + Send + Sync> = Arc::clone(ctx.call_server()) as _;
        let shared = Arc::downcast(server);
        shared.expect("calls are handled by servers")
    }

    pub(super) fn rules(&self) -> Rules<'_> {
        Rules {
            states: &self.backing.states,
            limits: &self.backing.limits,
            cache: self.cache,
        }
    }

    pub(crate) fn changed(&self, changed: &Change, to: Audience) {
        if !tells(&self.profile.capabilities, changed) {
            tracing::warn!(
                ?changed,
                "no client is told of this change: the server does not declare that this list \
                 changes, as with `ServerBuilder::changing_tools`"
            );
            return;
        }
        #[cfg(feature = "http-server")]
        if let Some(node) = &self.fleet {
            super::fleet::hints::publish_change(self, node, changed, &to);
        }
        self.changes.tell(changed, to);
    }

    /// Whether a change concerns a caller. A change at an offer's URI concerns only callers that
    /// can see the offer.
    pub(crate) fn concerns(
        &self,
        changed: &Change,
        to: &Audience,
        caller: Option<&Principal>,
    ) -> bool {
        to.has(caller)
            && match changed {
                Change::Resource(_) if self.profile.forwards => true,
                Change::Resource(uri) => self.catalog.load().may_know(uri, caller),
                _ => true,
            }
    }
}

fn called_too_often(early: RateLimitError, method: &str, name: &str) -> Error {
    let seconds = early.wait.as_secs_f64().ceil();
    let what = if name.is_empty() { method } else { name };
    if early.is_first {
        tracing::warn!(
            method,
            name,
            seconds,
            "a caller is refused by the rate limit"
        );
    }
    Error::new(format!(
        "`{what}` was called too often. Try again in {seconds} s."
    ))
}

impl CallServer for Shared {
    fn changed(&self, changed: &Change, to: Audience) {
        Shared::changed(self, changed, to);
    }
}
