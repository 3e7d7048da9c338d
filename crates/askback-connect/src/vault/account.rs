//! Whose credentials they are, and for which account.

use askback_core::ask::{Millis, Principal};
use askback_core::debug_only;
use serde::{Deserialize, Serialize};

/// The person whom credentials belong to: a principal, whichever client acts for it.
///
/// `Debug` does not print who it is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The tenant of the person, where a server has several.
    pub tenant: Option<String>,
    /// The issuer that vouches for the person (`iss`).
    pub issuer: Option<String>,
    /// The person (`sub`).
    pub subject: String,
}

/// The key of a record: whose account, at which provider. None of it is secret.
///
/// `Debug` prints the provider alone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountKey {
    /// The person.
    pub holder: Holder,
    /// The provider, by the name that the server gives it, such as `github`.
    pub provider: String,
    /// The account, by what never changes of it: the provider's own id, or the name if the provider has no ids.
    pub account: String,
}

/// How an account is to be used now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccountState {
    /// As it is.
    Active,
    /// Its last renewal failed, and there is none before a moment.
    CoolingDown {
        /// That moment.
        until: Millis,
        /// The number of renewals that failed one after the other.
        failures: u32,
    },
    /// Its tokens are no longer good: the person has to connect it again.
    NeedsReconnect,
    /// As it is, with a token in place of one that the third party refused. Where it refuses this one, too, before a
    /// moment, the person has to connect it again.
    Replaced {
        /// That moment.
        until: Millis,
    },
    /// As it is: the person has connected it again. Where the third party refuses its token before a moment, they are not
    /// asked once more.
    Reconnected {
        /// That moment.
        until: Millis,
    },
    /// The person has disconnected it, and the provider is still to be told.
    Revoking,
}

impl From<&Principal> for Holder {
    fn from(principal: &Principal) -> Self {
        Self {
            tenant: principal.tenant.clone(),
            issuer: principal.issuer.clone(),
            subject: principal.subject.clone(),
        }
    }
}

impl Holder {
    pub(crate) fn principal(&self, client: Option<String>) -> Principal {
        Principal {
            tenant: self.tenant.clone(),
            issuer: self.issuer.clone(),
            subject: self.subject.clone(),
            client_id: client,
        }
    }

    /// Returns an account of this person.
    #[must_use]
    pub fn account(&self, provider: impl Into<String>, account: impl Into<String>) -> AccountKey {
        AccountKey {
            holder: self.clone(),
            provider: provider.into(),
            account: account.into(),
        }
    }
}

impl AccountKey {
    /// The most bytes of a name in a key.
    pub const NAME_BYTES: usize = 1024;

    /// The name of an account of which none is known, while its tokens are owed to the provider.
    pub(super) const UNNAMED: &str = "(no name known)";

    /// An account of the same person at the same provider of which no name is known.
    pub(super) fn unnamed(&self) -> Self {
        self.holder.account(&self.provider, Self::UNNAMED)
    }

    /// Whether it may be this account: an account without a name may be any that the person has at the provider.
    pub(super) fn may_be(&self, other: &Self) -> bool {
        self == other || *self == other.unnamed()
    }

    /// Whether each name in it can be kept everywhere, and so can the one for persons.
    pub(super) fn is_fit(&self, name: &str) -> bool {
        let Holder {
            tenant,
            issuer,
            subject,
        } = &self.holder;
        let given = [subject, &self.provider, &self.account].map(|it| Some(&**it));
        let mut names = [tenant.as_deref(), issuer.as_deref(), Some(name)]
            .into_iter()
            .chain(given)
            .flatten();
        // A database that keeps text takes no NUL.
        names.all(|name| name.len() <= Self::NAME_BYTES && !name.contains('\0'))
    }
}

debug_only! {
    Holder {}
    AccountKey { provider }
}
