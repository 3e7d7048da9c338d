use std::collections::BTreeMap;

use askback_core::auth::{BadScopes, Scopes};

/// The scopes that broader scopes imply (2026-07-28, basic/authorization, Step-Up Authorization Flow).
#[derive(Debug, Clone, Default)]
pub(super) struct Hierarchy(BTreeMap<String, Scopes>);

impl Hierarchy {
    pub(super) fn add(&mut self, broad: &str, narrow: &Scopes) -> Result<(), BadScopes> {
        // This also validates the broader scope.
        Scopes::of([broad])?;
        let implied = self.0.entry(broad.to_owned()).or_default();
        *implied = implied.union(narrow)?;
        Ok(())
    }

    /// Returns these scopes with all scopes that they imply, transitively. Scopes beyond the maximum of a set are
    /// dropped, and the client is asked for them again.
    pub(super) fn widen(&self, granted: &Scopes) -> Scopes {
        let mut all = granted.clone();
        let mut fresh: Vec<String> = granted.iter().map(str::to_owned).collect();
        while let Some(scope) = fresh.pop() {
            for narrow in self.0.get(&scope).into_iter().flat_map(Scopes::iter) {
                if !all.contains(narrow) && all.insert(narrow).is_ok() {
                    fresh.push(narrow.to_owned());
                }
            }
        }
        all
    }
}
