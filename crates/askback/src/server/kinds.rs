//! The methods that tools, prompts, resources and resource templates have alike: for their `_meta`, the scopes they
//! need, and the callers that find them.

use askback_core::{ask::Principal, protocol::HasMeta};
use serde_json::Value;

use super::{
    Prompt, Resource, ResourceTemplate, Tool,
    offer::{Needs, Visibility},
};

macro_rules! with_meta {
    ($($name:ident),*) => {$(
        impl $name {
            /// Sets a value in its `_meta`, under a key of an extension or one of your own such as
            /// `com.example/price`. Clients are told of it with the lists.
            #[must_use]
            pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
                let meta = self.description.meta_mut();
                meta.extra.insert(key.into(), value.into());
                self
            }
        }
    )*};
}

with_meta!(Tool, Prompt, Resource, ResourceTemplate);

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

macro_rules! visible {
    ($($name:ident),*) => {$(
        impl $name {
            /// Shows it only to the callers for whom this is true. For all others it does not exist:
            /// it is in no list, and whatever asks for it is answered as if there were no such thing.
            ///
            /// The caller is the [principal](crate::Ctx::principal) the server has found out, and
            /// `None` where nobody is known. The closure is called for every list and every request
            /// of such a thing, and must be quick; where it panics, the thing is hidden. Where its answer changes for a principal, tell it
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
                self.visibility = Visibility::only(is_for);
                self
            }
        }
    )*};
}

visible!(Tool, Prompt, Resource, ResourceTemplate);
