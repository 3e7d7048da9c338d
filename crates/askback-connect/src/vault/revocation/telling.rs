//! The words to a provider about one revocation, in their order.
//!
//! | the provider takes | it is told |
//! |---|---|
//! | refresh tokens | the refresh token, which ends the grant, and then the access token |
//! | access tokens alone | the access token, if it is known to be good; otherwise the one that the refresh token gives |
//! | none | nothing |
//!
//! Many answer that they know no such token, or that all is well, to a token that has ended, too. So that is no success
//! while there is a refresh token that gives others. These are written into the revocation before the provider is told, so
//! that whoever goes on after a crash has them.

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

enum Step {
    /// There is no such token, or it is kept.
    None,
    RevocationOutcome(RevocationOutcome),
    Ended(TellOutcome),
}

impl Inner {
    pub(super) async fn tell(
        &self,
        mut revocation: Revocation,
        revoker: &dyn Revoker,
    ) -> Result<TellOutcome, VaultError> {
        let refresh = match self
            .tell_of(&mut revocation, TokenKind::Refresh, revoker)
            .await?
        {
            Step::Ended(told) => return Ok(told),
            Step::RevocationOutcome(heard) => Some(heard),
            Step::None => None,
        };
        // Others may come of a refresh token that the provider does not take.
        let mut may_renew = refresh == Some(RevocationOutcome::NotTaken);
        let is_refresh_revoked = refresh == Some(RevocationOutcome::Revoked);
        loop {
            let heard = match self
                .tell_of(&mut revocation, TokenKind::Access, revoker)
                .await?
            {
                Step::Ended(told) => return Ok(told),
                Step::RevocationOutcome(heard) => Some(heard),
                Step::None => None,
            };
            // It may have been read again.
            let has_ended = revocation.expires.is_some_and(|at| at <= self.now());
            let is_revoked = heard == Some(RevocationOutcome::Revoked) && !has_ended;
            let is_taken = heard.is_some_and(|heard| heard != RevocationOutcome::NotTaken);
            if !is_revoked && is_taken && may_renew {
                may_renew = false;
                match self.renewed_to_revoke(&mut revocation, revoker).await? {
                    None => continue,
                    Some(told) => return Ok(told),
                }
            }
            return Ok(match is_revoked || is_refresh_revoked {
                true => TellOutcome::Revoked,
                false => TellOutcome::Nothing,
            });
        }
    }

    async fn tell_of(
        &self,
        revocation: &mut Revocation,
        kind: TokenKind,
        revoker: &dyn Revoker,
    ) -> Result<Step, VaultError> {
        let account = &revocation.account.clone();
        let is_single = revoker.revokes_singly(&account.provider);
        if !is_single {
            let intents = Filter::of(&account.holder).at(&account.provider);
            let busy = intents.busy(self.now()).most(1);
            if !self.store.list::<IntentRow>(busy).await?.is_empty() {
                return Ok(Step::Ended(TellOutcome::Busy));
            }
        }
        // Looked at for each token: the account may have been connected since.
        let kept = self.kept_beside(revocation, revoker).await?;
        if kept.len() > BATCH || !kept.is_empty() && !is_single {
            return Ok(Step::Ended(TellOutcome::Spared));
        }
        let column = match kind {
            TokenKind::Refresh => Column::Refresh,
            TokenKind::Access => Column::Access,
        };
        let token = match self.token(revocation, column).await {
            Ok(Some(token)) => token,
            // There is none, or the tenant is gone and its keys with it.
            Ok(None) => return Ok(Step::None),
            // Nobody can revoke what nobody can read, and trying again does not help.
            Err(VaultError::NotAuthentic) => return Ok(Step::None),
            Err(error) => return Err(error),
        };
        // Some give the same token again, and some renewals leave the refresh token as it was.
        if self.is_kept(&kept, column, &token).await? {
            return Ok(Step::None);
        }
        let told = revoker.revoke(account, &token, kind);
        let told = timeout(self.settings.request, told).await;
        Ok(match told.unwrap_or(Err(RevocationFailure)) {
            Ok(heard) => Step::RevocationOutcome(heard),
            Err(RevocationFailure) => Step::Ended(TellOutcome::Failed),
        })
    }

    /// Opens a token of a revocation. Where it is sealed under another key by now, it is read again.
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

    /// The records that the tokens of an account may be of, whoever has them: more than [`BATCH`] where they are too many to
    /// be looked at.
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
                // What does not open is no token that anybody uses.
                Ok(_) | Err(VaultError::NotAuthentic) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(false)
    }

    /// Has the refresh token give others, and writes them into the revocation. Returns how all of it ends where there are
    /// none.
    async fn renewed_to_revoke(
        &self,
        revocation: &mut Revocation,
        revoker: &dyn Revoker,
    ) -> Result<Option<TellOutcome>, VaultError> {
        let Some(before) = self.token(revocation, Column::Refresh).await? else {
            return Ok(Some(TellOutcome::Nothing));
        };
        let renewed = revoker.renew(&revocation.account, &before);
        let renewed = timeout(self.settings.request, renewed).await;
        let unanswered = RenewalError::Failed { retry_after: None };
        let granted = match renewed.unwrap_or(Err(unanswered)) {
            Ok(granted) => granted,
            Err(RenewalError::Refused) => return Ok(Some(TellOutcome::Nothing)),
            Err(RenewalError::Failed { .. }) => return Ok(Some(TellOutcome::Failed)),
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
            // If another process has taken it since, these tokens are known to nobody but this task.
            let known = self.unless_again(&mut tries, &account, written).await?;
            if known.is_some() {
                return Ok(None);
            }
        }
    }
}
