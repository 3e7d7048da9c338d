//! The part of a conversation that belongs to one server.

use std::collections::BTreeMap;

use askback::client::Subscription;
use askback_core::protocol::Tool;

use super::{again::LastCall, shown::Shown};

/// The part of a conversation that belongs to one server, beside what the host knows of it.
#[derive(Default)]
pub(super) struct Known {
    /// The last call.
    pub(super) last: Option<LastCall>,
    /// The tools, since a call needed the list.
    pub(super) tools: Option<Vec<Tool>>,
    /// A call failed in a way that a tool which is gone may cause.
    pub(super) has_stale_tools: bool,
    /// Its result, as it is shown.
    pub(super) shown: Option<Shown>,
    /// Has the server tell of changed lists, for as long as it lives.
    pub(super) changes: Option<Subscription>,
    /// The resources whose changes the server tells of, by their URIs.
    pub(super) watched: BTreeMap<String, Subscription>,
    /// The person has talked to the server, or had it called.
    pub(super) is_met: bool,
    /// The shared folders by their URIs, as far as they were looked at: whether each is there.
    pub(super) there: BTreeMap<String, bool>,
    /// Requests that were edited and not answered, by the numbers of those that they were.
    pub(super) unsent: BTreeMap<u64, String>,
}
