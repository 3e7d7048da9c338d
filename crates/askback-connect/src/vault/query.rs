use askback_core::{ask::Principal, auth::Scopes};

use super::account::Holder;
use super::error::VaultError;
use super::store::VaultRecord;
use askback_core::debug_only;

/// The credential that a call needs: the user, the provider, and the required scopes.
///
/// `Debug` prints only the provider and the scopes.
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
    /// The account with this id, or else the only one with this name.
    Called(String),
    Id(String),
}

impl AccountQuery {
    /// Matches any account of the caller at a provider, with any scopes. The first match is used.
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

    /// Requires the account with this id, or else the only one with this name.
    #[must_use]
    pub fn account(mut self, account: impl Into<String>) -> Self {
        self.account = Choice::Called(account.into());
        self
    }

    pub(crate) fn id(mut self, id: impl Into<String>) -> Self {
        self.account = Choice::Id(id.into());
        self
    }

    /// Returns the records of the matching accounts, with any scopes.
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
