//! The scopes that an offer needs.

use std::sync::Arc;

use askback_core::auth::Scopes;

use super::BuildError;

/// The scopes of a thing, or why they are none.
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

    /// The scopes there are. Where there is something wrong with them, no server is built.
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
