//! Revocation of tokens that are not stored any more, or never were. Each waits in a queue until its provider has
//! revoked it.
//!
//! These are the tokens of disconnected accounts, tokens that a new grant has replaced, and tokens that could not be
//! kept. A provider may revoke the user's whole grant to this client (RFC 7009, 2.1 lets it decide), and with it the
//! replacement tokens, or the tokens that another user has for the same account. So while any user has the account
//! connected, a revocation is sent only if the provider revokes tokens one by one ([`Revoker::revokes_singly`]).
//! Otherwise it is spared: it waits and is checked from time to time, until the account is no longer connected. It also
//! waits while a page of the user is obtaining tokens from the provider. Tokens of an unknown account may belong to any
//! account that the user has connected there.

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

/// Sends revocations to a provider (RFC 7009). If it accepts only access tokens, an expired one is renewed first.
pub trait Revoker: Renewer {
    /// Sends a token of an account to its provider.
    fn revoke<'a>(
        &'a self,
        account: &'a AccountKey,
        token: &'a Secret,
        kind: TokenKind,
    ) -> BoxFuture<'a, Result<RevocationOutcome, RevocationFailure>>;

    /// Returns whether equal account names of different users mean the same account. Return `false` if all accounts
    /// have the same name.
    fn names_accounts(&self, _provider: &str) -> bool {
        true
    }

    /// Returns whether revoking one token leaves the account's other tokens valid. The default is `false`.
    fn revokes_singly(&self, _provider: &str) -> bool {
        false
    }
}

/// A provider's response to a revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevocationOutcome {
    /// The token was revoked.
    Revoked,
    /// There is no such token: it has expired or was revoked before.
    Unknown,
    /// The provider does not revoke this kind of token.
    NotTaken,
}

enum TellOutcome {
    Revoked,
    Nothing,
    /// Postponed while the account is connected.
    Spared,
    /// Postponed while the provider is issuing tokens.
    Busy,
    Failed,
}

/// The kind of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// The access token, or a key.
    Access,
    /// The refresh token.
    Refresh,
}

/// A revocation failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the provider could not be told to revoke a token")]
pub struct RevocationFailure;

impl Vault {
    /// Disconnects a user's account: its secrets are not used any more, and [`Vault::revoke_due`] revokes them. Returns
    /// whether it was connected.
    ///
    /// # Errors
    ///
    /// If the store fails.
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
        // Only the user can revoke a key.
        if !record.is_api_key {
            removal = removal.owing(&account, (entropy()?, now));
        }
        let removed = inner.store.write(removal).await?.is_kept();
        inner.hasten(&account).await?;
        inner.give_up(&account.holder).await;
        Ok(removed)
    }

    /// Queues tokens that must not be kept for revocation by [`Vault::revoke_due`], such as tokens with too few scopes.
    /// Ignores keys, which only the user can revoke.
    ///
    /// # Errors
    ///
    /// [`VaultError::Refused`] if a value is too large. Also if the store fails.
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

    /// Like [`Vault::discard`], for tokens whose account is unknown. They may belong to any account that the user has
    /// connected there.
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

    /// Sends the pending revocations to the providers, and returns how many succeeded. A failed one is retried after a
    /// pause. Call this after each [`Vault::disconnect`], and about once a minute.
    ///
    /// # Errors
    ///
    /// If the store fails.
    pub async fn revoke_due(&self, revoker: &dyn Revoker) -> Result<usize, VaultError> {
        let inner = &self.inner;
        let mut done = 0;
        loop {
            let now = inner.now();
            // If this task dies, another one takes over after the time of a lease.
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
                    // Record only the first postponement.
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

    /// Makes the spared revocations of an account due now.
    async fn hasten(&self, account: &AccountKey) -> Result<(), VaultError> {
        let now = self.now();
        // A revocation that is due this soon may be in progress.
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

    /// Abandons surplus revocations. If this fails, the next call repeats it.
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
