//! The checks that every offer has to pass.

use askback_core::{ask::check_form, limits::Limits, protocol::CacheScope};

use super::{
    BuildError,
    catalog::Catalog,
    complete::Completers,
    handler_scope::ScopeParts,
    offer::{Cache, Offer},
    rate::ThingHash,
    registry::ScopeId,
};
use crate::ctx::States;

pub(super) struct Rules<'a> {
    pub(super) states: &'a States,
    pub(super) limits: &'a Limits,
    pub(super) cache: Cache,
}

impl Catalog {
    /// Adds an item, which is [checked](Rules::check) later. The registry keeps the order.
    pub(super) fn add<T: Offer>(&mut self, item: T, scope: ScopeId) -> Result<(), BuildError> {
        let needs_scopes = item.needs().are_some();
        let completers = item.completers().into_iter();
        let mut parameters = completers
            .flat_map(Completers::parameters)
            .chain([item.parameters()]);
        let takes_extensions = parameters.any(|parameters| parameters.extensions);
        drop(parameters);
        let is_encoded = item.name().contains('%');
        let thing = ThingHash::new(T::KIND, item.name());
        let added = T::registry_mut(self).add(item, scope, thing);
        added.map_err(|item| BuildError::Twice {
            kind: T::KIND,
            name: item.name().to_owned(),
        })?;
        self.needs_scopes |= needs_scopes;
        self.takes_extensions |= takes_extensions;
        self.has_encoded_names |= is_encoded;
        Ok(())
    }

    pub(super) fn check(
        &mut self,
        cache: Cache,
        handler_scopes: &[ScopeParts],
    ) -> Result<(), BuildError> {
        if self.lists_of_each && cache.scope == CacheScope::Public {
            return Err(BuildError::PublicCache);
        }
        let rules = |scope: ScopeId| {
            let ScopeParts { states, limits, .. } = &handler_scopes[scope.0];
            Rules {
                states,
                limits,
                cache,
            }
        };
        self.tools
            .complete(|item, scope| rules(scope).check(item))?;
        self.prompts
            .complete(|item, scope| rules(scope).check(item))?;
        self.resources
            .complete(|item, scope| rules(scope).check(item))?;
        self.templates
            .complete(|item, scope| rules(scope).check(item))
    }
}

impl Rules<'_> {
    /// Checks one item: its own rules, the questions before its handler, the states that its
    /// handler needs, its scopes and its visibility. Completes what is known only then.
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
