//! The common part of the four kinds of offers.

use std::borrow::Cow;

use askback_core::{
    limits::Limits,
    protocol::{
        self, HasMeta, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult, ServerCapabilities,
    },
};
use serde::Serialize;

use super::{
    BuildError, Change, Prompt, Resource, ResourceTemplate, Tool, cache::Cache, catalog::Catalog,
    complete::Completers, needs::Needs, registry::Registry, visibility::Visibility,
};
use crate::{clock::millis, ctx::Parameters};

/// Which lists of a server may change while it runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ChangeableLists {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

impl ChangeableLists {
    /// Returns the lists that may change where both are one server.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            tools: self.tools || other.tools,
            prompts: self.prompts || other.prompts,
            resources: self.resources || other.resources,
        }
    }
}

/// One thing that a server offers, of whatever kind.
pub(super) trait OfferDetails: Send + Sync {
    /// The name or URI by which clients ask for it.
    fn name(&self) -> &str;

    /// Returns the needs of its handler's parameters.
    fn parameters(&self) -> &Parameters;

    fn needs(&self) -> &Needs;

    fn visibility(&self) -> &Visibility;

    /// The completers of its arguments, for kinds whose arguments are completed.
    fn completers(&self) -> Option<&Completers> {
        None
    }

    fn becomes_task(&self) -> bool {
        false
    }
}

/// A kind of thing that a server offers: each has a registry of its own, and a list.
pub(super) trait Offer: OfferDetails + Clone + 'static {
    /// The words for one and for several.
    const ONE: &'static str;
    const KIND: &'static str;

    type Description: Clone + 'static;

    type List: askback_core::wire::Lower + HasMeta + Serialize;

    fn description(&self) -> &Self::Description;

    fn name_of(description: &Self::Description) -> &str;

    /// Puts a prefix before its name, where its name is not a URI.
    fn prefix(&mut self, prefix: &str);

    /// Checks what only a complete one shows, and takes down what calls need of that.
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

/// Checks the `_meta` of something that is offered.
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
