//! The catalog of a server: its tools, prompts and resources.

use std::{collections::BTreeMap, sync::Arc};

#[cfg(feature = "oauth-server")]
use askback_core::auth::Scopes;
use askback_core::{
    ask::Principal,
    protocol::{
        self, JsonObject, Outcome, PromptsCapability, ReadResourceResult, ResourcesCapability,
        ServerCapabilities, ToolsCapability,
    },
};
use percent_encoding::percent_decode_str;

#[cfg(feature = "skills")]
use super::skill::OfferedSkill;
use super::{
    Prompt, Resource, ResourceTemplate, Tool,
    offer::{ChangeableLists, OfferDetails},
    page_cache::WrittenPages,
    registry::{Entry, Registry, ScopeId},
};
use crate::{error::Result, flow::BoxFuture, handler::ErasedHandler};

pub(super) type Lister = Arc<
    dyn Fn(Option<Arc<Principal>>) -> BoxFuture<'static, Result<Vec<protocol::Resource>>>
        + Send
        + Sync,
>;

#[derive(Clone, Default)]
pub(super) struct Catalog {
    pub(super) tools: Registry<Tool>,
    pub(super) prompts: Registry<Prompt>,
    pub(super) resources: Registry<Resource>,
    pub(super) templates: Registry<ResourceTemplate>,
    #[cfg(feature = "skills")]
    pub(super) skills: Vec<Arc<OfferedSkill>>,
    pub(super) listers: Vec<Lister>,
    /// Whether a lister's result depends on the caller.
    pub(super) lists_of_each: bool,
    /// Whether any offer has ever needed more scopes than every request does.
    pub(super) needs_scopes: bool,
    /// Whether any handler has ever used its HTTP request.
    pub(super) takes_extensions: bool,
    /// Whether any offer has ever had an encoded name.
    pub(super) has_encoded_names: bool,
    pub(super) written: WrittenPages,
}

enum ResourceMatch<'a> {
    Resource(&'a Entry<Resource>),
    OfTemplate(&'a Entry<ResourceTemplate>, BTreeMap<String, String>),
}

pub(super) struct ResourceReader {
    pub(super) handler: ErasedHandler<Outcome<ReadResourceResult>>,
    pub(super) variables: BTreeMap<String, String>,
    pub(super) mime_type: Option<String>,
    /// Whether the result is only for some callers.
    pub(super) private: bool,
    pub(super) scope: ScopeId,
}

impl Catalog {
    /// Whether the catalog is empty and cannot change.
    #[cfg(feature = "bridge")]
    pub(super) fn is_empty(&self) -> bool {
        self.all().next().is_none() && self.listers.is_empty()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = (&dyn OfferDetails, ScopeId)> {
        fn of<T: OfferDetails + 'static>(
            registry: &Registry<T>,
        ) -> impl Iterator<Item = (&dyn OfferDetails, ScopeId)> {
            let entries = registry.entries().iter();
            entries.map(|entry| (&*entry.item as &dyn OfferDetails, entry.scope))
        }
        let resources = of(&self.resources).chain(of(&self.templates));
        of(&self.tools).chain(of(&self.prompts)).chain(resources)
    }

    /// Returns the capabilities that clients see. They are fixed for the server's lifetime, so
    /// offers that may be added later are declared in advance.
    pub(super) fn capabilities(
        &self,
        changing: ChangeableLists,
        logs: bool,
        declared: ServerCapabilities,
    ) -> ServerCapabilities {
        let has = |there: bool| there.then(JsonObject::new);
        let list_changed = |changes: bool| changes.then_some(true);
        let ChangeableLists {
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
                list_changed: list_changed(tools || self.tools.differs()),
            }),
            prompts: (prompts || !self.prompts.is_empty()).then_some(PromptsCapability {
                list_changed: list_changed(prompts || self.prompts.differs()),
            }),
            resources: (resources || has_resources).then_some(ResourcesCapability {
                list_changed: list_changed(
                    resources || lists || self.resources.differs() || self.templates.differs(),
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
        #[cfg(feature = "skills")]
        if !self.skills.is_empty() {
            capabilities.declare_skills_extension();
        }
        capabilities
    }

    pub(super) fn reading(&self, uri: &str, caller: Option<&Principal>) -> Option<ResourceReader> {
        let found = self.resource_at(uri, caller)?;
        let offered = found.offered();
        let private = offered.needs().are_some() || offered.visibility().differs();
        let (handler, scope, mime_type, variables) = match found {
            ResourceMatch::Resource(Entry { item, scope, .. }) => {
                let mime_type = &item.description.mime_type;
                (&item.handler, scope, mime_type, BTreeMap::new())
            }
            ResourceMatch::OfTemplate(Entry { item, scope, .. }, variables) => {
                let mime_type = &item.description.mime_type;
                (&item.handler, scope, mime_type, variables)
            }
        };
        Some(ResourceReader {
            handler: handler.clone(),
            scope: *scope,
            variables,
            mime_type: mime_type.clone(),
            private,
        })
    }

    #[cfg(feature = "oauth-server")]
    pub(super) fn scopes_of_resource(
        &self,
        uri: &str,
        caller: Option<&Principal>,
    ) -> Option<Arc<Scopes>> {
        let found = self.resource_at(uri, caller)?;
        found.offered().needs().scopes().cloned()
    }

    /// Whether a caller may be told of changes at a URI. If no offer has the URI, any caller may.
    pub(super) fn may_know(&self, uri: &str, caller: Option<&Principal>) -> bool {
        self.first_at(uri).is_none_or(|first| first.is_for(caller))
    }

    /// Finds the resource at a URI for this caller. If the first match is hidden from the caller,
    /// later matches are not tried, because that would bypass the author's rules.
    fn resource_at(&self, uri: &str, caller: Option<&Principal>) -> Option<ResourceMatch<'_>> {
        self.first_at(uri).filter(|first| first.is_for(caller))
    }

    /// Finds the first match for a URI, ignoring visibility: a fixed resource, else the first
    /// template that fits. A differently encoded form of a fixed resource's URI matches nothing.
    fn first_at(&self, uri: &str) -> Option<ResourceMatch<'_>> {
        if let Some(resource) = self.resources.get(uri) {
            return Some(ResourceMatch::Resource(resource));
        }
        if self.is_alias(uri) {
            return None;
        }
        self.templates.entries().iter().find_map(|entry| {
            let variables = entry.item.matches(uri)?;
            Some(ResourceMatch::OfTemplate(entry, variables))
        })
    }

    /// Whether a URI equals a resource's URI when both are decoded.
    fn is_alias(&self, uri: &str) -> bool {
        let mut resources = self.resources.entries().iter();
        let is_same = |entry: &Entry<Resource>| {
            percent_decode_str(entry.item.name()).eq(percent_decode_str(uri))
        };
        (self.has_encoded_names || uri.contains('%')) && resources.any(is_same)
    }
}

impl ResourceMatch<'_> {
    fn is_for(&self, caller: Option<&Principal>) -> bool {
        match self {
            Self::Resource(entry) => entry.is_for(caller),
            Self::OfTemplate(entry, _) => entry.is_for(caller),
        }
    }

    fn offered(&self) -> &dyn OfferDetails {
        match self {
            Self::Resource(entry) => &*entry.item,
            Self::OfTemplate(entry, _) => &*entry.item,
        }
    }
}
