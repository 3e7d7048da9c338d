//! What tools, prompts, resources and resource templates have in common.

use std::{
    borrow::Cow,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    time::Duration,
};

use askback_core::{
    ask::Principal,
    auth::Scopes,
    limits::Limits,
    protocol::{
        self, CacheScope, HasMeta, ListPromptsResult, ListResourceTemplatesResult,
        ListResourcesResult, ListToolsResult, ServerCapabilities,
    },
};
use serde::Serialize;

use super::{
    BuildError, Change, Prompt, Resource, ResourceTemplate, Tool, catalog::Catalog,
    complete::Completers, registry::Registry,
};
use crate::{clock::millis, ctx::Parameters};

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChangeableLists {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

impl ChangeableLists {
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            tools: self.tools || other.tools,
            prompts: self.prompts || other.prompts,
            resources: self.resources || other.resources,
        }
    }
}

/// The caching hints for clients (2026-07-28, server/utilities/caching).
#[derive(Debug, Clone, Copy)]
pub(super) struct Cache {
    pub(super) ttl: Duration,
    pub(super) scope: CacheScope,
}

/// The callers that can see an offer: all, unless its author restricts it.
#[derive(Clone, Default)]
pub(super) struct Visibility(Option<Arc<PrincipalFilter>>);

type PrincipalFilter = dyn Fn(Option<&Principal>) -> bool + Send + Sync;

impl Visibility {
    pub(super) fn only(
        is_for: impl Fn(Option<&Principal>) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self(Some(Arc::new(is_for)))
    }

    /// Whether this caller may see the offer. If the author's closure panics, no caller may.
    pub(super) fn is_for(&self, caller: Option<&Principal>) -> bool {
        let Some(is_for) = &self.0 else { return true };
        catch_unwind(AssertUnwindSafe(|| is_for(caller))).unwrap_or_else(|_| {
            tracing::error!("a closure of `visible_to` panicked: what it is for is hidden");
            false
        })
    }

    pub(super) fn differs(&self) -> bool {
        self.0.is_some()
    }
}

/// The required scopes, or why they are not valid.
#[derive(Debug, Clone)]
pub(super) struct Needs(Result<Option<Arc<Scopes>>, String>);

impl Default for Needs {
    fn default() -> Self {
        Self(Ok(None))
    }
}

impl Needs {
    pub(super) fn of<T: AsRef<str>>(scopes: impl IntoIterator<Item = T>) -> Self {
        let some = |scopes: Scopes| (!scopes.is_empty()).then(|| Arc::new(scopes));
        let scopes = Scopes::of_server(scopes);
        Self(scopes.map(some).map_err(|bad| bad.to_string()))
    }

    /// Returns the scopes. A server with invalid scopes cannot be built, so an error counts as
    /// none.
    pub(super) fn scopes(&self) -> Option<&Arc<Scopes>> {
        self.0.as_ref().ok()?.as_ref()
    }

    pub(super) fn are_some(&self) -> bool {
        self.scopes().is_some()
    }

    pub(super) fn check(&self, name: &str) -> Result<(), BuildError> {
        let wrong = |why: &String| BuildError::Scopes {
            name: name.to_owned(),
            why: why.clone(),
        };
        self.0.as_ref().map(|_| ()).map_err(wrong)
    }
}

pub(super) trait OfferDetails: Send + Sync {
    fn name(&self) -> &str;

    fn parameters(&self) -> &Parameters;

    fn needs(&self) -> &Needs;

    fn visibility(&self) -> &Visibility;

    fn completers(&self) -> Option<&Completers> {
        None
    }

    fn becomes_task(&self) -> bool {
        false
    }
}

pub(super) trait Offer: OfferDetails + Clone + 'static {
    const ONE: &'static str;
    const KIND: &'static str;

    type Description: Clone + 'static;

    type List: askback_core::wire::Lower + HasMeta + Serialize;

    fn description(&self) -> &Self::Description;

    fn name_of(description: &Self::Description) -> &str;

    /// Adds a prefix to the name, unless the name is a URI.
    fn prefix(&mut self, prefix: &str);

    fn check(&mut self, limits: &Limits) -> Result<(), BuildError>;

    fn registry(catalog: &Catalog) -> &Registry<Self>;

    fn registry_mut(catalog: &mut Catalog) -> &mut Registry<Self>;

    fn changed() -> Change;

    fn changes(changing: ChangeableLists) -> bool;

    fn is_declared(capabilities: &ServerCapabilities) -> bool;

    fn list(
        page: &[Cow<'_, Self::Description>],
        next_cursor: Option<String>,
        cache: Cache,
    ) -> Self::List;
}

fn check_meta(name: &str, offered: &impl HasMeta) -> Result<(), BuildError> {
    let checked = offered.meta().map_or(Ok(()), |meta| meta.check());
    checked.map_err(|why| BuildError::Meta {
        name: name.to_owned(),
        why: why.to_string(),
    })
}

macro_rules! offer {
    ($type:ident {
        one: $one:literal,
        kind: $kind:literal,
        told: $told:ident,
        registry: $registry:ident,
        capability: $capability:ident,
        named: $name:ident,
        list: $list:ident.$member:ident,
        $($special:item)*
    }) => {
        impl OfferDetails for $type {
            fn name(&self) -> &str {
                Self::name_of(&self.description)
            }

            fn parameters(&self) -> &Parameters {
                self.handler.parameters()
            }

            fn needs(&self) -> &Needs {
                &self.needs
            }

            fn visibility(&self) -> &Visibility {
                &self.visibility
            }

            $($special)*
        }

        impl Offer for $type {
            const ONE: &'static str = $one;
            const KIND: &'static str = $kind;

            type Description = protocol::$type;
            type List = $list;

            fn description(&self) -> &Self::Description {
                &self.description
            }

            fn name_of(description: &Self::Description) -> &str {
                &description.$name
            }

            fn prefix(&mut self, prefix: &str) {
                $type::prefix(self, prefix);
            }

            fn check(&mut self, limits: &Limits) -> Result<(), BuildError> {
                check_meta(self.name(), &self.description)?;
                $type::check(self, limits)
            }

            fn registry(catalog: &Catalog) -> &Registry<Self> {
                &catalog.$registry
            }

            fn registry_mut(catalog: &mut Catalog) -> &mut Registry<Self> {
                &mut catalog.$registry
            }

            fn changed() -> Change {
                Change::$told
            }

            fn changes(changing: ChangeableLists) -> bool {
                changing.$capability
            }

            fn is_declared(capabilities: &ServerCapabilities) -> bool {
                capabilities.$capability.is_some()
            }

            fn list(
                page: &[Cow<'_, Self::Description>],
                next_cursor: Option<String>,
                cache: Cache,
            ) -> Self::List {
                $list {
                    $member: page.iter().map(|item| item.clone().into_owned()).collect(),
                    next_cursor,
                    ttl_ms: i64::try_from(millis(cache.ttl)).ok(),
                    cache_scope: Some(cache.scope),
                    meta: None,
                    left_out: Vec::new(),
                }
            }
        }
    };
}

offer!(Tool {
    one: "tool",
    kind: "tools",
    told: Tools,
    registry: tools,
    capability: tools,
    named: name,
    list: ListToolsResult.tools,

    fn becomes_task(&self) -> bool {
        self.tasks.is_some()
    }
});

offer!(Prompt {
    one: "prompt",
    kind: "prompts",
    told: Prompts,
    registry: prompts,
    capability: prompts,
    named: name,
    list: ListPromptsResult.prompts,

    fn completers(&self) -> Option<&Completers> {
        Some(&self.completers)
    }
});

offer!(Resource {
    one: "resource",
    kind: "resources",
    told: Resources,
    registry: resources,
    capability: resources,
    named: uri,
    list: ListResourcesResult.resources,
});

offer!(ResourceTemplate {
    one: "resource template",
    kind: "resource templates",
    told: Resources,
    registry: templates,
    capability: resources,
    named: uri_template,
    list: ListResourceTemplatesResult.resource_templates,

    fn completers(&self) -> Option<&Completers> {
        Some(&self.completers)
    }
});
