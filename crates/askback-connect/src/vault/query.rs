//! Which credential a call needs.

use askback_core::{ask::Principal, auth::Scopes};

use super::account::Holder;
use super::error::VaultError;
use super::store::VaultRecord;
use askback_core::debug_only;

/// The credential that a call needs: of whom, at which provider, and what it must be good for.
///
/// `Debug` prints the provider and the scopes alone.
#[derive(Clone)]
pub struct AccountQuery {
    pub(super) holder: Holder,
    pub(super) client: Option<String>,
    pub(super) provider: String,
    account: Choice,
    pub(super) scopes: Scopes,
}

#[derive(Clone)]
enum Choice {
    Any,
    /// The one of this id, or else the only one of this name.
    Called(String),
    Id(String),
}

impl AccountQuery {
    /// A credential of the caller for a provider, with any scopes, of the first of their accounts that fits.
    #[must_use]
    pub fn new(caller: &Principal, provider: impl Into<String>) -> Self {
        Self {
            holder: caller.into(),
            client: caller.client_id.clone(),
            provider: provider.into(),
            account: Choice::Any,
            scopes: Scopes::new(),
        }
    }

    /// Returns the provider.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// Requires these scopes.
    #[must_use]
    pub fn scopes(mut self, scopes: Scopes) -> Self {
        self.scopes = scopes;
        self
    }

    /// Requires this account: the one that has this id, or else this name, if the person has no other of that name.
    #[must_use]
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.account = Choice::Called(account.into());
        self
    }

    pub(crate) fn id(mut self, id: impl Into<String>) -> Self {
        self.account = Choice::Id(id.into());
        self
    }

    /// Returns the records of the accounts that may be meant, whatever their scopes.
    pub(super) fn among(
        &self,
        mut records: Vec<VaultRecord>,
    ) -> Result<Vec<VaultRecord>, VaultError> {
        records.retain(|it| self.accepts(&it.account.account, &it.name));
        let Choice::Called(called) = &self.account else {
            return Ok(records);
        };
        if let Some(place) = records.iter().position(|it| it.account.account == *called) {
            return Ok(vec![records.swap_remove(place)]);
        }
        match records.len() {
            0 | 1 => Ok(records),
            _ => Err(VaultError::Ambiguous {
                ids: records.into_iter().map(|it| it.account.account).collect(),
            }),
        }
    }

    pub(crate) fn accepts(&self, id: &str, name: &str) -> bool {
        match &self.account {
            Choice::Any => true,
            Choice::Called(wanted) => wanted == id || wanted == name,
            Choice::Id(wanted) => wanted == id,
        }
    }
}

debug_only! {
    AccountQuery { provider, scopes }
}
