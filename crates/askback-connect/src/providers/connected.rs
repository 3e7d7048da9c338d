//! A connected account.

use std::fmt;

use crate::vault::Granted;

/// An account that a person has connected: its id, and what goes into the vault.
pub struct Connected {
    /// The id of the account, which never changes. It is the name where the third party is not known to tell an id.
    pub account: String,
    /// The tokens or the key, with the scopes that were granted and the name of the account for persons.
    pub granted: Granted,
}

impl Connected {
    /// Returns the name of the account for persons.
    #[must_use]
    pub fn name(&self) -> &str {
        self.granted.name.as_deref().unwrap_or(&self.account)
    }
}

impl fmt::Debug for Connected {
    /// Without the account.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connected")
            .field("granted", &self.granted)
            .finish_non_exhaustive()
    }
}
