//! The requests of one revocation, in order.
//!
//! | the provider accepts | request |
//! |---|---|
//! | refresh tokens | revoke the refresh token, which ends the grant, then the access token |
//! | access tokens only | revoke the access token if it is known to be valid, otherwise one from a renewal |
//! | no tokens | none |
//!
//! Many providers report success, or an unknown token, for an expired token too. So that does not count as success
//! while a refresh token can produce more tokens. Renewed tokens are written into the revocation before they are
//! revoked, so that another process can continue after a crash.

use askback_oauth::Secret;
use tokio::time::timeout;

use super::{RevocationFailure, RevocationOutcome, Revoker, TellOutcome, TokenKind};
use crate::vault::account::AccountKey;
use crate::vault::credential::Grant;
use crate::vault::error::VaultError;
use crate::vault::handle::{BATCH, Inner};
use crate::vault::renewal::RenewalError;
use crate::vault::seal::Column;
use crate::vault::sql::{Change, Filter};
use crate::vault::store::{IntentRow, Revocation, VaultRecord};

/// Why no more requests are made for a revocation.
enum Ended {
    Told(TellOutcome),
    Failed(VaultError),
}

impl From<VaultError> for Ended {
    fn from(error: VaultError) -> Self {
        Self::Failed(error)
    }
}

impl Inner {
    pub(super) async fn tell(
        &self,
        revocation: Revocation,
        revoker: &dyn Revoker,
    ) -> Result<TellOutcome, VaultError> {
        match self.told(revocation, revoker).await {
            Ok(told) | Err(Ended::Told(told)) => Ok(told),
            Err(Ended::Failed(error)) => Err(error),
        }
    }

    async fn told(
        &self,
        mut revocation: Revocation,
        revoker: &dyn Revoker,
    ) -> Result<TellOutcome, Ended> {
        let refresh = self.tell_of(&mut revocation, TokenKind::Refresh, revoker);
        let refresh = refresh.await?;
        // A refresh token that the provider does not revoke can produce more tokens.
        let mut may_renew = refresh == Some(RevocationOutcome::NotTaken);
        let is_refresh_revoked = refresh == Some(RevocationOutcome::Revoked);
        loop {
            let heard = self.tell_of(&mut revocation, TokenKind::Access, revoker);
            let heard = heard.await?;
            // The revocation may have been read again.
            let has_ended = revocation.expires.is_some_and(|at| at <= self.now());
            let is_revoked = heard == Some(RevocationOutcome::Revoked) && !has_ended;
            let is_taken = heard.is_some_and(|heard| heard != RevocationOutcome::NotTaken);
            if !is_revoked && is_taken && may_renew {
                may_renew = false;
                self.renew_to_revoke(&mut revocation, revoker).await?;
                continue;
            }
            return Ok(match is_revoked || is_refresh_revoked {
                true => TellOutcome::Revoked,
                false => TellOutcome::Nothing,
            });
        }
    }

    /// Returns `None` if there is no such token, or it is in use.
    async fn tell_of(
        &self,
        revocation: &mut Revocation,
        kind: TokenKind,
        revoker: &dyn Revoker,
    ) -> Result<Option<RevocationOutcome>, Ended> {
        let account = &revocation.account.clone();
        let is_single = revoker.revokes_singly(&account.provider);
        if !is_single {
            let intents = Filter::of(&account.holder).at(&account.provider);
            let busy = intents.busy(self.now()).most(1);
            if !self.store.list::<IntentRow>(busy).await?.is_empty() {
                return Err(Ended::Told(TellOutcome::Busy));
            }
        }
        // Checked for each token, because the account may have been connected meanwhile.
        let kept = self.kept_beside(revocation, revoker).await?;
        if kept.len() > BATCH || !kept.is_empty() && !is_single {
            return Err(Ended::Told(TellOutcome::Spared));
        }
        let column = match kind {
            TokenKind::Refresh => Column::Refresh,
            TokenKind::Access => Column::Access,
        };
        let token = match self.token(revocation, column).await {
            Ok(Some(token)) => token,
            // The record has no such token, or the tenant was deleted with its keys.
            Ok(None) => return Ok(None),
            // A token that does not open cannot be revoked, and a retry does not help.
            Err(VaultError::NotAuthentic) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // Some providers return the same access token again, and some renewals keep the refresh token.
        if self.is_kept(&kept, column, &token).await? {
            return Ok(None);
        }
        let told = revoker.revoke(account, &token, kind);
        let told = timeout(self.settings.request, told).await;
        match told.unwrap_or(Err(RevocationFailure)) {
            Ok(heard) => Ok(Some(heard)),
            Err(RevocationFailure) => Err(Ended::Told(TellOutcome::Failed)),
        }
    }

    /// Opens a token of a revocation. If it was resealed, reads it again.
    async fn token(
        &self,
        revocation: &mut Revocation,
        column: Column,
    ) -> Result<Option<Secret>, VaultError> {
        let Revocation {
            id,
            account,
            sealed,
            expires,
            ..
        } = revocation;
        let token = self.unsealed(account, sealed, column).await?;
        let has_none = matches!(column, Column::Refresh) && sealed.refresh.is_none();
        if token.is_some() || has_none {
            return Ok(token);
        }
        let owed = self.store.list::<Revocation>(Filter::id(*id)).await?;
        match owed.into_iter().next() {
            Some(kept) => (*sealed, *expires) = (kept.sealed, kept.expires),
            None => return Ok(None),
        }
        self.unsealed(account, sealed, column).await
    }

    /// The records that may use the account's tokens, of all users. More than [`BATCH`] if there are too many to check.
    async fn kept_beside(
        &self,
        revocation: &Revocation,
        revoker: &dyn Revoker,
    ) -> Result<Vec<VaultRecord>, VaultError> {
        let AccountKey {
            holder,
            provider,
            account,
        } = &revocation.account;
        let mut kept = self.records(holder, provider).await?;
        kept.retain(|record| revocation.account.may_be(&record.account));
        if revoker.names_accounts(provider) {
            let all = Filter::anyones(provider, account).most(BATCH + 1);
            let all = self.store.list::<VaultRecord>(all).await?;
            let others = all.into_iter().filter(|it| it.account.holder != *holder);
            kept.extend(others);
        }
        Ok(kept)
    }

    async fn is_kept(
        &self,
        kept: &[VaultRecord],
        column: Column,
        token: &Secret,
    ) -> Result<bool, VaultError> {
        for record in kept.iter().filter(|record| !record.is_api_key) {
            match self.opened(record, column).await {
                Ok(opened) if opened.as_ref() == Some(token) => return Ok(true),
                // A record that does not open uses no token.
                Ok(_) | Err(VaultError::NotAuthentic) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Renews the tokens and writes the new ones into the revocation.
    async fn renew_to_revoke(
        &self,
        revocation: &mut Revocation,
        revoker: &dyn Revoker,
    ) -> Result<(), Ended> {
        let before = self.token(revocation, Column::Refresh).await?;
        let before = before.ok_or(Ended::Told(TellOutcome::Nothing))?;
        let renewed = revoker.renew(&revocation.account, &before);
        let renewed = timeout(self.settings.request, renewed).await;
        let unanswered = RenewalError::Failed { retry_after: None };
        let granted = match renewed.unwrap_or(Err(unanswered)) {
            Ok(granted) => granted,
            Err(RenewalError::Refused) => return Err(Ended::Told(TellOutcome::Nothing)),
            Err(RenewalError::Failed { .. }) => return Err(Ended::Told(TellOutcome::Failed)),
        };
        let granted = Grant {
            refresh: Some(granted.refresh.unwrap_or(before)),
            ..granted
        };
        let account = revocation.account.clone();
        let attempts = u64::from(revocation.attempts);
        revocation.expires = granted.expires;
        let mut tries = 0;
        loop {
            revocation.sealed = self.sealed(&account, &granted).await?;
            let written = self
                .store
                .write(Change::replace(revocation, attempts))
                .await;
            // If another process has taken over, only this task knows these tokens.
            let known = self.unless_again(&mut tries, &account, written).await?;
            if known.is_some() {
                return Ok(());
            }
        }
    }
}
