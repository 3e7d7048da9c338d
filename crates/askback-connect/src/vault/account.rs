use askback_core::ask::{Millis, Principal};
use askback_core::debug_only;
use serde::{Deserialize, Serialize};

/// The user whom credentials belong to: a principal without its client.
///
/// `Debug` does not print the user.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Holder {
    /// The user's tenant, if the server has several.
    pub tenant: Option<String>,
    /// The issuer that identifies the user (`iss`).
    pub issuer: Option<String>,
    /// The user (`sub`).
    pub subject: String,
}

/// The key of a record: user, provider and account. It is not secret.
///
/// `Debug` prints only the provider.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountKey {
    /// The user.
    pub holder: Holder,
    /// The server's name for the provider, such as `github`.
    pub provider: String,
    /// The provider's id of the account, which never changes, or the name if the provider has no ids.
    pub account: String,
}

/// Whether an account is usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AccountState {
    /// Usable.
    Active,
    /// The last renewal failed, and the next one has to wait.
    CoolingDown {
        /// When the next renewal is allowed.
        until: Millis,
        /// The number of failed renewals in a row.
        failures: u32,
    },
    /// Its tokens are no longer valid: the user has to connect it again.
    NeedsReconnect,
    /// Usable, with a new token after the third party rejected the old one. If it rejects this one too before `until`,
    /// the user has to connect the account again.
    Replaced {
        /// The end of the doubt.
        until: Millis,
    },
    /// Usable: the user has connected it again. If the third party rejects the token before `until`, the user is not
    /// asked again.
    Reconnected {
        /// The end of the doubt.
        until: Millis,
    },
    /// The user has disconnected it, and its revocation is pending.
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

    /// Returns the key of this user's account.
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
    /// The maximum length of each name in a key, in bytes.
    pub const NAME_BYTES: usize = 1024;

    /// The name of an unknown account while its tokens wait for revocation.
    pub(super) const UNNAMED: &str = "(no name known)";

    /// An unknown account of the same user at the same provider.
    pub(super) fn unnamed(&self) -> Self {
        self.holder.account(&self.provider, Self::UNNAMED)
    }

    /// Whether both may be the same account. An unknown account may be any account of the user at
    /// the provider.
    pub(super) fn may_be(&self, other: &Self) -> bool {
        self == other || *self == other.unnamed()
    }

    /// Whether every database can store the key and the account's display name.
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
        // Databases do not accept NUL in text.
        names.all(|name| name.len() <= Self::NAME_BYTES && !name.contains('\0'))
    }
}

debug_only! {
    Holder {}
    AccountKey { provider }
}
