//! The visibility of offers.

use std::sync::Arc;

use askback_core::ask::Principal;

use super::{Prompt, Resource, ResourceTemplate, Tool};

/// The callers that can see an offer: all, unless its author restricts it.
#[derive(Clone, Default)]
pub(super) struct Visibility(Option<Arc<IsFor>>);

/// Says whether a thing is for a caller.
type IsFor = dyn Fn(Option<&Principal>) -> bool + Send + Sync;

impl Visibility {
    /// Whether this caller finds it.
    pub(super) fn is_for(&self, caller: Option<&Principal>) -> bool {
        self.0.as_ref().is_none_or(|is_for| is_for(caller))
    }

    /// Whether callers differ in whether they find it.
    pub(super) fn differs(&self) -> bool {
        self.0.is_some()
    }
}

macro_rules! visible {
    ($($name:ident),*) => {$(
        impl $name {
            /// Shows it only to the callers for whom this is true. For all others it does not exist:
            /// it is in no list, and whatever asks for it is answered as if there were no such thing.
            ///
            /// The caller is the [principal](crate::Ctx::principal) the server has found out, and
            /// `None` where nobody is known. The closure is called for every list and every request
            /// of such a thing, and must be quick. Where its answer changes for a principal, tell it
            /// with [`Server::changed_for`](crate::Server::changed_for) or
            /// [`Ctx::changed_for_caller`](crate::Ctx::changed_for_caller).
            ///
            /// A list that differs by caller is never the same for everybody
            /// ([`ServerBuilder::cache`](crate::ServerBuilder::cache)).
            ///
            /// ```
            /// use askback::{Principal, Tool};
            ///
            /// let payroll = Tool::new("payroll", async || Ok("All are paid."));
            /// let payroll = payroll.visible_to(|who| who.is_some_and(|who| who.subject == "ada"));
            /// ```
            #[must_use]
            pub fn visible_to<F>(mut self, is_for: F) -> Self
            where
                F: Fn(Option<&Principal>) -> bool + Send + Sync + 'static,
            {
                self.visibility = Visibility(Some(Arc::new(is_for)));
                self
            }
        }
    )*};
}

visible!(Tool, Prompt, Resource, ResourceTemplate);
