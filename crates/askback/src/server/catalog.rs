//! Everything that a server offers.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use arc_swap::{ArcSwap, Guard};
#[cfg(feature = "oauth-server")]
use askback_core::auth::Scopes;
use askback_core::{
    ask::{Principal, check_form},
    limits::Limits,
    protocol::{
        self, CacheScope, JsonObject, Outcome, PromptsCapability, ReadResourceResult,
        ResourcesCapability, ServerCapabilities, ToolsCapability,
    },
};

use super::{
    BuildError, Prompt, Resource, ResourceTemplate, Tool,
    complete::Completers,
    mount::Parts,
    offer::{Offer, Offered},
    offers::Changing,
    registry::{Entry, Home, Registry},
    shared::Cache,
};
use crate::{ctx::States, error::Result, flow::BoxFuture, handler::Erased};

/// Lists resources that come and go, for whoever asks.
pub(super) type Lister = Arc<
    dyn Fn(Option<Arc<Principal>>) -> BoxFuture<'static, Result<Vec<protocol::Resource>>>
        + Send
        + Sync,
>;

/// Everything that a server offers.
#[derive(Clone, Default)]
pub(super) struct Catalog {
    pub(super) tools: Registry<Tool>,
    pub(super) prompts: Registry<Prompt>,
    pub(super) resources: Registry<Resource>,
    pub(super) templates: Registry<ResourceTemplate>,
    pub(super) listers: Vec<Lister>,
    /// Whether one of them lists to each who asks their own.
    pub(super) lists_of_each: bool,
    /// Whether anything has ever needed more of a token than every request does.
    pub(super) needs_scopes: bool,
}

/// The current catalog of a server. A change makes another catalog, so that a request is answered
/// from one that stays the same.
pub(super) struct LiveCatalog {
    now: ArcSwap<Catalog>,
    /// Held by whoever makes the next one.
    changing: Mutex<()>,
}

/// The rules that everything a server offers has to fit.
pub(super) struct Rules<'a> {
    pub(super) states: &'a States,
    pub(super) limits: &'a Limits,
    pub(super) cache: Cache,
}

/// A resource, as a caller finds it at its URI.
enum Found<'a> {
    Resource(&'a Entry<Resource>),
    /// With the values that the template takes out of the URI.
    OfTemplate(&'a Entry<ResourceTemplate>, BTreeMap<String, String>),
}

/// How a URI is read.
pub(super) struct Reading {
    pub(super) handler: Erased<Outcome<ReadResourceResult>>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) mime_type: Option<String>,
    /// Whether it is not for everybody.
    pub(super) private: bool,
    pub(super) home: Home,
}

impl LiveCatalog {
    pub(super) fn new(catalog: Catalog) -> Self {
        Self {
            now: ArcSwap::from_pointee(catalog),
            changing: Mutex::new(()),
        }
    }

    /// The catalog of this moment, for what does not wait.
    pub(super) fn load(&self) -> Guard<Arc<Catalog>> {
        self.now.load()
    }

    /// The catalog of this moment.
    pub(super) fn snapshot(&self) -> Arc<Catalog> {
        self.now.load_full()
    }

    /// Changes what is offered from now on, unless the change fails.
    pub(super) fn change<T, E>(
        &self,
        change: impl FnOnce(&mut Catalog) -> Result<T, E>,
    ) -> Result<T, E> {
        let _changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut next = Catalog::clone(&self.now.load());
        let changed = change(&mut next)?;
        self.now.store(Arc::new(next));
        Ok(changed)
    }
}

impl Catalog {
    /// Adds a thing, which is [checked](Rules::check) before the server offers it. The registry of its
    /// kind keeps the order in which they were added.
    pub(super) fn add<T: Offer>(&mut self, item: T, home: Home) -> Result<(), BuildError> {
        let needs_scopes = item.needs().are_some();
        let added = T::registry_mut(self).add(item, home);
        added.map_err(|item| BuildError::Twice {
            kind: T::KIND,
            name: item.name().to_owned(),
        })?;
        self.needs_scopes |= needs_scopes;
        Ok(())
    }

    /// All things of all kinds, with the households they belong to.
    pub(super) fn all(&self) -> impl Iterator<Item = (&dyn Offered, Home)> {
        fn of<T: Offer>(registry: &Registry<T>) -> impl Iterator<Item = (&dyn Offered, Home)> {
            let entries = registry.entries().iter();
            entries.map(|entry| (&*entry.item as &dyn Offered, entry.home))
        }
        let resources = of(&self.resources).chain(of(&self.templates));
        of(&self.tools).chain(of(&self.prompts)).chain(resources)
    }

    /// Checks that the server can keep to all that it offers, and completes it.
    pub(super) fn check(&mut self, cache: Cache, households: &[Parts]) -> Result<(), BuildError> {
        if self.lists_of_each && cache.scope == CacheScope::Public {
            return Err(BuildError::PublicCache);
        }
        let rules = |home: Home| {
            let Parts { states, limits, .. } = &households[home.0];
            Rules {
                states,
                limits,
                cache,
            }
        };
        self.tools.complete(|item, home| rules(home).check(item))?;
        self.prompts
            .complete(|item, home| rules(home).check(item))?;
        self.resources
            .complete(|item, home| rules(home).check(item))?;
        self.templates
            .complete(|item, home| rules(home).check(item))
    }

    /// Returns the capabilities that clients are shown. They hold for the server's lifetime: offers
    /// that come later are declared before.
    pub(super) fn capabilities(
        &self,
        changing: Changing,
        logs: bool,
        declared: ServerCapabilities,
    ) -> ServerCapabilities {
        fn differs<T: Offer>(registry: &Registry<T>) -> bool {
            let mut entries = registry.entries().iter();
            entries.any(|entry| entry.item.visibility().differs())
        }
        let has = |there: bool| there.then(JsonObject::new);
        let list_changed = |changes: bool| changes.then_some(true);
        let Changing {
            tools,
            prompts,
            resources,
        } = changing;
        let lists = !self.listers.is_empty();
        let has_resources = !(self.resources.is_empty() && self.templates.is_empty()) || lists;
        let mut completers = self.all().filter_map(|(item, _)| item.completers());
        let completes = completers.any(|completers| !completers.is_empty());
        let mut capabilities = ServerCapabilities {
            tools: (tools || !self.tools.is_empty()).then_some(ToolsCapability {
                list_changed: list_changed(tools || differs(&self.tools)),
            }),
            prompts: (prompts || !self.prompts.is_empty()).then_some(PromptsCapability {
                list_changed: list_changed(prompts || differs(&self.prompts)),
            }),
            resources: (resources || has_resources).then_some(ResourcesCapability {
                list_changed: list_changed(
                    resources || lists || differs(&self.resources) || differs(&self.templates),
                ),
                subscribe: Some(true),
            }),
            completions: has(completes || prompts || resources),
            logging: has(logs),
            ..declared
        };
        if tools || self.all().any(|(item, _)| item.becomes_task()) {
            capabilities.declare_tasks_extension();
        }
        capabilities
    }

    /// How a URI is read.
    pub(super) fn reading(&self, uri: &str, caller: Option<&Principal>) -> Option<Reading> {
        let found = self.resource_at(uri, caller)?;
        let offered = found.offered();
        let private = offered.needs().are_some() || offered.visibility().differs();
        Some(match found {
            Found::Resource(Entry { item, home, .. }) => Reading {
                home: *home,
                handler: item.handler.clone(),
                variables: BTreeMap::new(),
                mime_type: item.description.mime_type.clone(),
                private,
            },
            Found::OfTemplate(Entry { item, home, .. }, variables) => Reading {
                home: *home,
                handler: item.handler.clone(),
                variables,
                mime_type: item.description.mime_type.clone(),
                private,
            },
        })
    }

    /// Returns the scopes that reading a URI needs.
    #[cfg(feature = "oauth-server")]
    pub(super) fn scopes_of_resource(
        &self,
        uri: &str,
        caller: Option<&Principal>,
    ) -> Option<Arc<Scopes>> {
        let found = self.resource_at(uri, caller)?;
        found.offered().needs().scopes().cloned()
    }

    /// Whether a caller may be told of what is at a URI. Of a URI that nothing offered has, anybody may.
    pub(super) fn may_know(&self, uri: &str, caller: Option<&Principal>) -> bool {
        self.resource_at(uri, caller).is_some() || !self.has_at(uri)
    }

    /// Finds what is at a URI for this caller: a resource of its own, else one of the first template it fits.
    fn resource_at(&self, uri: &str, caller: Option<&Principal>) -> Option<Found<'_>> {
        if let Some(resource) = self.resources.find(uri, caller) {
            return Some(Found::Resource(resource));
        }
        self.templates.list(caller).find_map(|entry| {
            let variables = entry.item.matches(uri)?;
            Some(Found::OfTemplate(entry, variables))
        })
    }

    /// Whether there is anything at a URI, whoever finds it.
    fn has_at(&self, uri: &str) -> bool {
        let mut templates = self.templates.entries().iter();
        self.resources.get(uri).is_some()
            || templates.any(|entry| entry.item.matches(uri).is_some())
    }
}

impl Found<'_> {
    fn offered(&self) -> &dyn Offered {
        match self {
            Self::Resource(entry) => &*entry.item,
            Self::OfTemplate(entry, _) => &*entry.item,
        }
    }
}

impl Rules<'_> {
    /// Checks a thing by itself, that what its handler asks first may be asked, that the handler can be
    /// given all that it takes, what tokens must have, and who finds it; completes what only is known then.
    pub(super) fn check<T: Offer>(&self, item: &mut T) -> Result<(), BuildError> {
        item.check(self.limits)?;
        let (name, parameters) = (item.name(), item.parameters());
        if parameters.described_twice {
            return Err(BuildError::Parameters(name.to_owned()));
        }
        for (form, message) in &parameters.asks {
            check_form(form, message, self.limits).map_err(|issues| BuildError::Question {
                name: name.to_owned(),
                why: issues.to_string(),
            })?;
        }
        let completers = item.completers().into_iter();
        let parameters = completers
            .flat_map(Completers::parameters)
            .chain([parameters]);
        let mut taken = parameters.flat_map(|parameters| &parameters.states);
        if let Some(missing) = taken.find(|state| !self.states.has(**state)) {
            return Err(BuildError::State {
                name: name.to_owned(),
                state: missing.name,
            });
        }
        if item.visibility().differs() && self.cache.scope == CacheScope::Public {
            return Err(BuildError::PublicCache);
        }
        item.needs().check(name)
    }
}
