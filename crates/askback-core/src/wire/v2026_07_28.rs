//! 2026-07-28: what only 2025-11-25 has is left out, a text field has no pattern, and lists and
//! reads say how long they may be kept.

use alloc::{borrow::ToOwned, boxed::Box};

use super::{degrade, lower::Step};
use crate::{
    protocol::{
        CacheScope, ClientCapabilities, ElicitFormParams, ElicitUrlParams, Meta,
        ServerCapabilities, TaskMetadata, Tool,
    },
    revision::Revision,
};

pub(super) struct Down;

impl Step for Down {
    fn meta(&self, meta: &mut Meta) {
        meta.related_task = None;
    }

    /// Questions travel inside a result and answers inside a request: neither is a message of its
    /// own, so neither has a `_meta`. Only a person's own words go along all the same, for servers
    /// that look for them.
    fn question_meta(&self, meta: &mut Option<Box<Meta>>) {
        let reason = meta
            .take()
            .and_then(|meta| meta.reason().map(ToOwned::to_owned));
        if let Some(reason) = reason {
            let mut kept = Meta::default();
            kept.set_reason(reason);
            *meta = kept.boxed();
        }
    }

    /// Both must be said (server/utilities/caching); an author who does not say them wants nothing
    /// kept.
    fn cache(&self, ttl_ms: &mut Option<i64>, scope: &mut Option<CacheScope>) {
        ttl_ms.get_or_insert(0);
        scope.get_or_insert(CacheScope::Private);
    }

    fn task(&self, task: &mut Option<TaskMetadata>) {
        *task = None;
    }

    fn client_capabilities(&self, capabilities: &mut ClientCapabilities) {
        capabilities.tasks = None;
        if let Some(roots) = &mut capabilities.roots {
            roots.list_changed = None;
        }
    }

    fn server_capabilities(&self, capabilities: &mut ServerCapabilities) {
        capabilities.tasks = None;
    }

    fn tool(&self, tool: &mut Tool) {
        tool.execution = None;
    }

    fn elicit_form(&self, params: &mut ElicitFormParams) {
        degrade::form(params, Revision::V2026_07_28);
    }

    fn elicit_url(&self, params: &mut ElicitUrlParams) {
        params.elicitation_id = None;
    }
}
