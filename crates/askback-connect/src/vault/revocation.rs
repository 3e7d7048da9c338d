//! Tokens that are kept no more, or never were: each is owed to its provider, which is told until it has heard.
//!
//! They are those of an account that was disconnected, those that a new grant takes the place of, and those that came and
//! are not kept. What the provider makes of it is another matter: it may end all that the person has granted to this
//! client (RFC 7009, 2.1 leaves to it what a grant is), and so the tokens that took their place, or those that somebody else
//! has for the same account. So while the account is connected, by whomever, the provider is told only where it is known to
//! take tokens back one by one ([`Revoker::revokes_singly`]). Otherwise they are spared: they wait, and are looked at again
//! from time to time, until nobody has connected the account any more. While a page of the person is at the provider for
//! tokens that nobody knows yet, it is not told either. Tokens of an account without a name may be of each that the person
//! has connected there.

use std::cmp::Reverse;

use askback_core::{ask::Principal, future::BoxFuture};
use askback_oauth::Secret;

use super::account::{AccountKey, Holder};
use super::audit::{AuditEvent, AuditRecord};
use super::credential::Grant;
use super::error::{VaultError, entropy};
use super::handle::{BATCH, Inner, TRIES, Vault};
use super::renewal::Renewer;
use super::settings::after;
use super::sql::{Change, Filter};
use super::store::{Revocation, Settlement, WriteOutcome};

/// Tells a provider to revoke a token (RFC 7009). Where it takes access tokens alone, one that has ended is renewed before.
pub trait Revoker: Renewer {
    /// Sends a token of an account to its provider.
    fn revoke<'a>(
        &'a self,
        account: &'a AccountKey,
        token: &'a Secret,
        kind: TokenKind,
    ) -> BoxFuture<'a, Result<RevocationOutcome, RevocationFailure>>;

    /// Whether accounts of different persons at a provider are the same one where they have the same name. They are not where
    /// all are called alike.
    fn names_accounts(&self, _provider: &str) -> bool {
        true
    }

    /// Whether a provider that takes a token back lets all other tokens of the same account be good. It is not known to,
    /// unless this says so.
    fn revokes_singly(&self, _provider: &str) -> bool {
        false
    }
}

/// The answer of a provider that was told to revoke a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevocationOutcome {
    /// It took the token back.
    Revoked,
    /// It knows no such token: it has ended, or was taken back before.
    Unknown,
    /// It takes no tokens of this kind back.
    NotTaken,
}

enum TellOutcome {
    Revoked,
    /// There was none that it could take back.
    Nothing,
    /// It is not told while the account is connected.
    Spared,
    /// It is not told before it has given the tokens that it is being asked for.
    Busy,
    Failed,
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
pub struct RevocationFailure;

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
        let records = inner.records(&account.holder, provider).await?;
        let Some(record) = records.iter().find(|record| record.account == account) else {
            return Ok(false);
        };
        let now = inner.now();
        let mut audit = AuditRecord::of(&account, AuditEvent::Disconnected, now);
        audit.client = caller.client_id.clone();
        let mut removal = Change::remove(&account).audited(&audit);
        // Nobody but the person can revoke a key.
        if !record.is_api_key {
            removal = removal.owing(&account, (entropy()?, now));
        }
        let removed = inner.store.write(removal).await?.is_kept();
        inner.hasten(&account).await?;
        inner.give_up(&account.holder).await;
        Ok(removed)
    }

    /// Takes what a provider gave for an account of a person and is not to be kept, such as tokens of fewer scopes than
    /// are needed, so that [`Vault::revoke_due`] tells the provider. Nobody but the person can revoke a key.
    ///
    /// # Errors
    ///
    /// [`VaultError::Refused`] where something is too large, and those of the store.
    pub async fn discard(
        &self,
        caller: &Principal,
        provider: &str,
        account: &str,
        granted: Grant,
    ) -> Result<(), VaultError> {
        let account = Holder::from(caller).account(provider, account);
        self.inner.check(&account, &granted)?;
        self.inner.owe(&account, &granted).await
    }

    /// Takes tokens that a provider gave, as [`Vault::discard`], where it did not say of which account they are. They may
    /// be of any that the person has connected there.
    ///
    /// # Errors
    ///
    /// As [`Vault::discard`].
    pub async fn discard_unnamed(
        &self,
        caller: &Principal,
        provider: &str,
        granted: Grant,
    ) -> Result<(), VaultError> {
        self.discard(caller, provider, AccountKey::UNNAMED, granted)
            .await
    }

    /// Tells providers to revoke what is due, and returns how many revocations they have heard. A revocation that fails is
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
            let Some(revocation) = inner.store.take_due(now, until).await? else {
                return Ok(done);
            };
            let (id, attempts) = (revocation.id, revocation.attempts);
            let was_spared = revocation.is_spared;
            let account = revocation.account.clone();
            let told = inner.tell(revocation, revoker).await?;
            let settings = &inner.settings;
            let later = |pause| -> Result<_, VaultError> {
                Ok(after(inner.now(), settings.jittered(pause, entropy()?)))
            };
            let (settled, event) = match told {
                TellOutcome::Revoked => (Settlement::Done, Some(AuditEvent::Revoked)),
                TellOutcome::Nothing => (Settlement::Done, Some(AuditEvent::NothingToRevoke)),
                TellOutcome::Spared => (
                    Settlement::Spared(later(settings.longest_cooldown)?),
                    // Each look at it is no event.
                    (!was_spared).then_some(AuditEvent::RevocationSpared),
                ),
                TellOutcome::Busy => (Settlement::Again(later(settings.lease)?), None),
                TellOutcome::Failed => (
                    Settlement::Again(later(settings.pause(attempts))?),
                    Some(AuditEvent::RevocationFailed),
                ),
            };
            let mut change = Change::settle(id, settled);
            if let Some(event) = event {
                change = change.audited(&AuditRecord::of(&account, event, inner.now()));
            }
            inner.store.write(change).await?;
            done += usize::from(matches!(told, TellOutcome::Revoked));
        }
    }
}

mod telling;

impl Inner {
    /// Notes tokens that are not kept, to be taken back by the provider.
    pub(super) async fn owe(
        &self,
        account: &AccountKey,
        granted: &Grant,
    ) -> Result<(), VaultError> {
        if granted.is_api_key {
            return Ok(());
        }
        for _ in 0..TRIES {
            let revocation = Revocation {
                id: entropy()?,
                account: account.clone(),
                name: granted.name_of(account).into(),
                sealed: self.sealed(account, granted).await?,
                expires: granted.expires,
                due: self.now(),
                attempts: 0,
                is_spared: false,
            };
            match self.store.write(Change::insert(&revocation)).await? {
                WriteOutcome::Kept => {
                    self.give_up(&account.holder).await;
                    return Ok(());
                }
                WriteOutcome::Conflict | WriteOutcome::UnknownKey => self.forget_keys(account),
            }
        }
        Err(VaultError::Conflict)
    }

    /// Has what a person is owed for an account looked at now, where it was spared.
    async fn hasten(&self, account: &AccountKey) -> Result<(), VaultError> {
        let now = self.now();
        // One that is due so soon may be looked at just now.
        let leased = after(now, self.settings.lease);
        for waiting in self
            .store
            .list::<Revocation>(Filter::of(&account.holder))
            .await?
        {
            let is_spared = waiting.is_spared && waiting.due > leased;
            if is_spared && waiting.account.may_be(account) {
                let settled = Change::settle(waiting.id, Settlement::Again(now));
                self.store.write(settled).await?;
            }
        }
        Ok(())
    }

    /// Gives up the revocations that are too many. Where that fails, the next one does it.
    pub(super) async fn give_up(&self, holder: &Holder) {
        if let Err(error) = self.tried_to_give_up(holder).await {
            tracing::warn!(%error, "revocations that are too many are given up later");
        }
    }

    async fn tried_to_give_up(&self, holder: &Holder) -> Result<(), VaultError> {
        let settings = &self.settings;
        let mut theirs = self.store.list::<Revocation>(Filter::of(holder)).await?;
        theirs.sort_by_key(|it| (it.attempts, Reverse(it.due)));
        let most = settings.revocations.min(theirs.len());
        let mut surplus = theirs.split_off(most);
        surplus.extend(self.store.surplus(settings.revocation_bytes, BATCH).await?);
        for revocation in surplus {
            let event = AuditEvent::RevocationGivenUp;
            let audit = AuditRecord::of(&revocation.account, event, self.now());
            let settled = Change::settle(revocation.id, Settlement::Done).audited(&audit);
            if self.store.write(settled).await?.is_kept() {
                let provider = &revocation.account.provider;
                let attempts = revocation.attempts;
                tracing::warn!(
                    provider,
                    attempts,
                    "a revocation is given up: too many wait"
                );
            }
        }
        Ok(())
    }
}
