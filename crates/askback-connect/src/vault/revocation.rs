//! Disconnecting an account: its record goes at once, and the provider is told until it has heard.

use askback_core::{ask::Principal, future::BoxFuture};
use askback_oauth::Secret;
use tokio::time::timeout;

use super::account::{AccountKey, Holder};
use super::audit::{AuditEvent, AuditRecord};
use super::error::{VaultError, entropy};
use super::handle::Vault;
use super::seal::Column;
use super::settings::after;
use super::store::Revocation;

/// Tells a provider to revoke a token (RFC 7009).
pub trait Revoker: Send + Sync + 'static {
    /// Sends a token of an account to its provider. A token that the provider does not know is revoked.
    fn revoke<'a>(
        &'a self,
        account: &'a AccountKey,
        token: &'a Secret,
        kind: TokenKind,
    ) -> BoxFuture<'a, Result<(), RevocationFailed>>;
}

/// Which of an account's tokens one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// The one that requests are sent with.
    Access,
    /// The one by which others are had.
    Refresh,
}

/// The provider could not be told to revoke a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the provider could not be told to revoke a token")]
pub struct RevocationFailed;

impl Vault {
    /// Disconnects an account of a person: its secrets are used no more from now on, and
    /// [`Vault::revoke_due`] tells the provider. Returns whether it was connected.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn disconnect(
        &self,
        caller: &Principal,
        provider: &str,
        account: &str,
    ) -> Result<bool, VaultError> {
        let inner = &self.inner;
        let account = Holder::from(caller).account(provider, account);
        let records = inner.store.records(&account.holder, Some(provider)).await?;
        let Some(record) = records.iter().find(|record| record.account == account) else {
            return Ok(false);
        };
        let now = inner.now();
        let mut audit = AuditRecord::of(&account, AuditEvent::Disconnected, now);
        audit.client = caller.client_id.clone();
        let revocation = match record.is_api_key {
            // Nobody but the person can revoke it.
            true => None,
            false => Some((entropy()?, now)),
        };
        inner.store.remove(&account, revocation, &audit).await
    }

    /// Tells providers to revoke what is due, and returns how many revocations were done. A revocation that fails is
    /// due again after a pause. A server calls this after each [`Vault::disconnect`], and every minute or so.
    ///
    /// # Errors
    ///
    /// Those of the store.
    pub async fn revoke_due(&self, revoker: &dyn Revoker) -> Result<usize, VaultError> {
        let inner = &self.inner;
        let mut done = 0;
        loop {
            let now = inner.now();
            // Whoever ends here leaves it to others after the time of a lease.
            let until = after(now, inner.settings.lease);
            let Some(revocation) = inner.store.take_revocation(now, until).await? else {
                return Ok(done);
            };
            let revoked = self.revoke(&revocation, revoker).await?;
            let (event, again) = match revoked {
                Ok(()) => (AuditEvent::Revoked, None),
                Err(RevocationFailed) => {
                    let pause = inner.settings.pause(revocation.attempts);
                    let pause = inner.settings.jittered(pause, entropy()?);
                    (
                        AuditEvent::RevocationFailed,
                        Some(after(inner.now(), pause)),
                    )
                }
            };
            let audit = AuditRecord::of(&revocation.account, event, inner.now());
            let store = &inner.store;
            store
                .settle_revocation(revocation.id, again, &audit)
                .await?;
            done += usize::from(revoked.is_ok());
        }
    }

    /// Revokes the refresh token first: with some providers the access token goes with it.
    async fn revoke(
        &self,
        revocation: &Revocation,
        revoker: &dyn Revoker,
    ) -> Result<Result<(), RevocationFailed>, VaultError> {
        let inner = &self.inner;
        let Revocation {
            account, sealed, ..
        } = revocation;
        let columns = [
            (Column::Refresh, TokenKind::Refresh),
            (Column::Access, TokenKind::Access),
        ];
        for (column, kind) in columns {
            let token = match inner.unsealed(account, sealed, column).await {
                Ok(Some(token)) => token,
                // There is none, or the tenant is gone and its keys with it.
                Ok(None) => continue,
                // Nobody can revoke what nobody can read, and trying again does not help.
                Err(VaultError::NotAuthentic) => continue,
                Err(error) => return Err(error),
            };
            let told = revoker.revoke(account, &token, kind);
            let told = timeout(inner.settings.request, told).await;
            if told.unwrap_or(Err(RevocationFailed)).is_err() {
                return Ok(Err(RevocationFailed));
            }
        }
        Ok(Ok(()))
    }
}
