//! Tokens that a third party rejects before they expire, because the user has withdrawn consent.
//!
//! | the account | action |
//! |---|---|
//! | has a newer token | try that one |
//! | can be renewed | renew once; the new token is doubted for a while |
//! | cannot be renewed, or its new token was rejected too | the next call asks the user |
//! | was recently connected again | nothing: the API rejects all tokens |

use std::sync::Arc;

use askback_oauth::Secret;

use super::account::AccountState;
use super::audit::AuditEvent;
use super::error::VaultError;
use super::handle::{Inner, TRIES, Vault, completed};
use super::query::AccountQuery;
use super::renewal::Renewer;
use super::settings::after;
use super::store::VaultRecord;

impl Vault {
    /// Records that the third party rejected this secret of an account. Returns whether there is a new one.
    ///
    /// The token is renewed if possible. If not, or if its successor was rejected within
    /// [`VaultSettings::doubt`](super::VaultSettings::doubt), the user has to connect the account again. An account that
    /// was connected again stays unchanged for the same time. So an API that rejects all tokens does not cause repeated
    /// renewals or questions.
    ///
    /// # Errors
    ///
    /// [`VaultError::NeedsReconnect`] if the user has to connect the account again. Also if the store fails.
    pub async fn rejected(
        &self,
        wanted: &AccountQuery,
        secret: &Secret,
        renewer: &Arc<dyn Renewer>,
    ) -> Result<bool, VaultError> {
        let (inner, renewer) = (Arc::clone(&self.inner), Arc::clone(renewer));
        let (wanted, secret) = (wanted.clone(), Secret::new(secret.expose()));
        completed(async move { inner.rejected(&wanted, &secret, &*renewer).await }).await
    }
}

enum Remedy {
    Wait,
    Renew,
    Reconnect,
    Leave,
}

impl Inner {
    async fn rejected(
        &self,
        wanted: &AccountQuery,
        refused: &Secret,
        renewer: &dyn Renewer,
    ) -> Result<bool, VaultError> {
        let deadline = after(self.now(), self.settings.wait);
        let mut unread = 0;
        loop {
            let record = self.find(wanted).await?;
            if record.state == AccountState::NeedsReconnect {
                return Err(VaultError::NeedsReconnect);
            }
            match self.secret(&record).await? {
                Some(secret) if secret.expose() == refused.expose() => {}
                Some(_) => return Ok(true),
                // Another process has just resealed it.
                None if unread < TRIES => {
                    unread += 1;
                    continue;
                }
                None => return Err(VaultError::NotAuthentic),
            }
            let now = self.now();
            let remedy = match self.remedy(&record) {
                Remedy::Wait if now >= deadline => Remedy::Leave,
                remedy => remedy,
            };
            let lease = match remedy {
                Remedy::Leave => return Ok(false),
                Remedy::Wait => {
                    self.pause().await?;
                    None
                }
                Remedy::Renew | Remedy::Reconnect => self.lease(&record).await?,
            };
            let Some(lease) = lease else {
                continue;
            };
            if matches!(remedy, Remedy::Renew) {
                let until = after(now, self.settings.doubt);
                let then = AccountState::Replaced { until };
                self.renew(&record, lease, renewer, then).await?;
            } else {
                let stale = VaultRecord {
                    state: AccountState::NeedsReconnect,
                    lease: None,
                    ..record
                };
                let event = AuditEvent::TokenRejected;
                self.settle(stale, lease, event).await?;
            }
        }
    }

    fn remedy(&self, record: &VaultRecord) -> Remedy {
        let now = self.now();
        match (record.state, record.lease) {
            (AccountState::Reconnected { until }, _) if now < until => Remedy::Leave,
            (AccountState::CoolingDown { until, .. }, _) if now < until => Remedy::Leave,
            (_, Some(lease)) if now < lease.until => Remedy::Wait,
            (AccountState::Replaced { until }, _) if now < until => Remedy::Reconnect,
            _ if record.sealed.refresh.is_none() => Remedy::Reconnect,
            _ => Remedy::Renew,
        }
    }
}
