//! The visibility of offers.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use askback_core::ask::Principal;

/// The callers that can see an offer: all, unless its author restricts it.
#[derive(Clone, Default)]
pub(super) struct Visibility(Option<Arc<PrincipalFilter>>);

/// Says whether a thing is for a caller.
type PrincipalFilter = dyn Fn(Option<&Principal>) -> bool + Send + Sync;

impl Visibility {
    /// Only the callers for whom this is true.
    pub(super) fn only(
        is_for: impl Fn(Option<&Principal>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(is_for)))
    }

    /// Whether this caller finds it. Where the author's closure panics, nobody does.
    pub(super) fn is_for(&self, caller: Option<&Principal>) -> bool {
        let Some(is_for) = &self.0 else { return true };
        catch_unwind(AssertUnwindSafe(|| is_for(caller))).unwrap_or_else(|_| {
            tracing::error!("a closure of `visible_to` panicked: what it is for is hidden");
            false
        })
    }

    /// Whether callers differ in whether they find it.
    pub(super) fn differs(&self) -> bool {
        self.0.is_some()
    }
}
