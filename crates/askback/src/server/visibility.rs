//! The visibility of offers.

use std::sync::Arc;

use askback_core::ask::Principal;

/// The callers that can see an offer: all, unless its author restricts it.
#[derive(Clone, Default)]
pub(super) struct Visibility(Option<Arc<IsFor>>);

/// Says whether a thing is for a caller.
type IsFor = dyn Fn(Option<&Principal>) -> bool + Send + Sync;

impl Visibility {
    /// Only the callers for whom this is true.
    pub(super) fn only(
        is_for: impl Fn(Option<&Principal>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(is_for)))
    }

    /// Whether this caller finds it.
    pub(super) fn is_for(&self, caller: Option<&Principal>) -> bool {
        self.0.as_ref().is_none_or(|is_for| is_for(caller))
    }

    /// Whether callers differ in whether they find it.
    pub(super) fn differs(&self) -> bool {
        self.0.is_some()
    }
}
