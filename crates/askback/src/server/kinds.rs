//! Methods that tools, prompts, resources and resource templates share: for `_meta`, required
//! scopes and visibility.

use askback_core::{ask::Principal, protocol::HasMeta};
use serde_json::Value;

#[cfg(feature = "skills")]
use super::Skill;
use super::{
    Prompt, Resource, ResourceTemplate, Tool,
    offer::{Needs, Visibility},
};

macro_rules! with_meta {
    ($($name:ident),*) => {$(
        impl $name {
            /// Sets a value in `_meta`, under a key of an extension or one of your own such as
            /// `com.example/price`. Lists show it to clients.
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
            /// every request needs. A request without them is refused before the handler runs. The
            /// error names all missing scopes, so that the client can request them (2026-07-28,
            /// basic/authorization, Runtime Insufficient Scope Errors).
            ///
            /// Scopes are checked only if the endpoint is
            /// [protected](crate::http::Endpoint::protect). Without tokens, as over standard
            /// streams, the process that started the server may use everything.
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

#[cfg(feature = "skills")]
needing!(Skill: "reading and watching its files, and for getting it");

macro_rules! visible {
    ($($name:ident),*) => {$(
        impl $name {
            /// Shows it only to callers for which this returns true. For all others it does not
            /// exist: lists leave it out, and requests for it fail as if it did not exist.
            ///
            /// The caller is the [principal](crate::Ctx::principal) that the server has
            /// authenticated, or `None`. The closure is called for every list and every request, so
            /// it must be fast. If it panics, the thing is hidden. When its result changes for a
            /// principal, call [`Server::changed_for`](crate::Server::changed_for) or
            /// [`Ctx::changed_for_caller`](crate::Ctx::changed_for_caller).
            ///
            /// A list that differs by caller cannot be cached for all callers
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

#[cfg(feature = "skills")]
visible!(Skill);
