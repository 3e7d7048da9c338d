//! Everything that a server offers.

use std::{collections::BTreeMap, sync::Arc};

use askback_core::{
    ask::Principal,
    protocol::{
        self, JsonObject, Outcome, PromptsCapability, ReadResourceResult, ResourcesCapability,
        ServerCapabilities, ToolsCapability,
    },
};

use super::{
    BuildError, Prompt, Resource, ResourceTemplate, Tool,
    needs::Needs,
    offer::{Offer, Offered},
    registry::Registry,
};
use crate::{ctx::States, error::Result, flow::BoxFuture, handler::Erased};

/// Lists resources that come and go, for whoever asks.
pub(super) type Lister = Arc<
    dyn Fn(Option<Arc<Principal>>) -> BoxFuture<'static, Result<Vec<protocol::Resource>>>
        + Send
        + Sync,
>;

/// Everything that a server offers.
#[derive(Default)]
pub(super) struct Catalog {
    pub(super) tools: Registry<Tool>,
    pub(super) prompts: Registry<Prompt>,
    pub(super) resources: Registry<Resource>,
    pub(super) templates: Registry<ResourceTemplate>,
    pub(super) listers: Vec<Lister>,
    /// Whether one of them lists to each who asks their own.
    pub(super) lists_of_each: bool,
}

/// How a URI is read.
pub(super) struct Reading<'a> {
    pub(super) handler: &'a Erased<Outcome<ReadResourceResult>>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) mime_type: Option<&'a str>,
    pub(super) needs: &'a Needs,
}

impl Catalog {
    /// Adds a thing. The registry of its kind keeps the order in which they were added.
    pub(super) fn add<T: Offer>(&mut self, mut item: T) -> Result<(), BuildError> {
        item.check()?;
        let name = item.name().to_owned();
        let added = T::registry_mut(self).add(name.clone(), item);
        added.map_err(|_| BuildError::Twice {
            kind: T::KIND,
            name,
        })
    }

    /// All things of all kinds.
    pub(super) fn all(&self) -> impl Iterator<Item = &dyn Offered> {
        fn of<T: Offer>(registry: &Registry<T>) -> impl Iterator<Item = &dyn Offered> {
            registry.items().iter().map(|item| item as &dyn Offered)
        }
        let resources = of(&self.resources).chain(of(&self.templates));
        of(&self.tools).chain(of(&self.prompts)).chain(resources)
    }

    /// Checks that the handlers can be given all that they take, and what tokens must have.
    pub(super) fn check(&self, states: &States) -> Result<(), BuildError> {
        for item in self.all() {
            let (name, parameters) = (item.name(), item.parameters());
            if parameters.described_twice {
                return Err(BuildError::Parameters(name.to_owned()));
            }
            let mut taken = parameters.states.iter();
            if let Some(missing) = taken.find(|state| !states.has(**state)) {
                return Err(BuildError::State {
                    name: name.to_owned(),
                    state: missing.name,
                });
            }
            item.needs().check(name)?;
        }
        Ok(())
    }

    /// What clients are told that the server can do.
    pub(super) fn capabilities(&self, logs: bool) -> ServerCapabilities {
        let changes = Some(true);
        let has = |there: bool| there.then(JsonObject::new);
        let mut completers = self.all().filter_map(Offered::completers);
        let mut capabilities = ServerCapabilities {
            tools: (!self.tools.is_empty()).then_some(ToolsCapability {
                list_changed: changes,
            }),
            prompts: (!self.prompts.is_empty()).then_some(PromptsCapability {
                list_changed: changes,
            }),
            resources: self.has_resources().then_some(ResourcesCapability {
                list_changed: changes,
                subscribe: changes,
            }),
            completions: has(completers.any(|completers| !completers.is_empty())),
            logging: has(logs),
            ..ServerCapabilities::default()
        };
        if self.all().any(Offered::becomes_task) {
            capabilities.declare_tasks_extension();
        }
        capabilities
    }

    fn has_resources(&self) -> bool {
        !(self.resources.is_empty() && self.templates.is_empty() && self.listers.is_empty())
    }

    /// How a URI is read: as a resource of its own, else as one of the first template it fits.
    pub(super) fn reading(&self, uri: &str) -> Option<Reading<'_>> {
        if let Some(resource) = self.resources.get(uri) {
            return Some(Reading {
                handler: &resource.handler,
                variables: BTreeMap::new(),
                mime_type: resource.description.mime_type.as_deref(),
                needs: &resource.needs,
            });
        }
        self.templates.items().iter().find_map(|template| {
            Some(Reading {
                handler: &template.handler,
                variables: template.matches(uri)?,
                mime_type: template.description.mime_type.as_deref(),
                needs: &template.needs,
            })
        })
    }
}
