//! A connected account.

use std::fmt;

use crate::vault::Granted;

/// An account that a person has connected: its name, and what goes into the vault.
pub struct Connected {
    /// The name of the account, as the third party knows it.
    pub account: String,
    /// The tokens or the key, with the scopes that were granted.
    pub granted: Granted,
}

impl fmt::Debug for Connected {
    /// Without the name of the account.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connected")
            .field("granted", &self.granted)
            .finish_non_exhaustive()
    }
}
