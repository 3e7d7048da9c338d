//! Renewing tokens: by one of all who need them, on all machines.
//!
//! A task that finds a token near its end leases the record. It asks the provider and writes the new token. The write
//! counts only if the record is still the one that was leased. The other tasks use the old token while it is good, and
//! then wait. A token is handed out as the store holds it, so that its refresh token is kept before its first use.

use std::time::Duration;

use askback_core::auth::Scopes;
use askback_oauth::Secret;
use tokio::time::{sleep, timeout};

use super::account::{AccountKey, AccountState};
use super::audit::{AuditEvent, AuditRecord};
use super::credential::{Granted, GrantedKind};
use super::error::{VaultError, entropy};
use super::handle::{Inner, TRIES};
use super::renewal::{RenewalError, Renewer, Step, decide};
use super::seal::Column;
use super::settings::after;
use super::sql::{Change, Filter};
use super::store::{Lease, VaultRecord, Written};
use super::wanted::Wanted;

impl Inner {
    /// Returns the record to be used, with its secret: after a renewal, if it needs one.
    pub(super) async fn current(
        &self,
        wanted: &Wanted,
        renewer: &dyn Renewer,
    ) -> Result<(VaultRecord, Secret), VaultError> {
        let margin = self.settings.jittered(self.settings.margin, entropy()?);
        let deadline = after(self.now(), self.settings.wait);
        let (mut renewed, mut unread) = (false, 0);
        loop {
            let record = self.find(wanted).await?;
            let now = self.now();
            let step = match decide(&record, now, margin) {
                // A provider that gives tokens that have ended is not asked again and again.
                Step::Renew if renewed => Step::Unavailable(after(now, self.settings.cooldown)),
                step => step,
            };
            match step {
                Step::Use => match self.secret(&record).await {
                    Ok(Some(secret)) => return Ok((record, secret)),
                    Ok(None) if unread < TRIES => unread += 1,
                    Ok(None) | Err(VaultError::NotAuthentic) => {
                        return Err(self.not_authentic(&record, wanted).await);
                    }
                    Err(error) => return Err(error),
                },
                Step::Renew => {
                    let id = entropy()?;
                    let until = after(now, self.settings.lease);
                    let lease = Lease { id, until };
                    let change = Change::lease(&record.account, record.version, lease, now);
                    if !self.store.write(change).await?.is_kept() {
                        self.pause().await?;
                        continue;
                    }
                    let then = AccountState::Active;
                    renewed = match self.renew(&record, lease, renewer, then).await {
                        Err(VaultError::NotAuthentic) => {
                            return Err(self.not_authentic(&record, wanted).await);
                        }
                        renewed => renewed?,
                    };
                }
                Step::Wait if now < deadline => self.pause().await?,
                Step::Wait => {
                    let until = after(now, self.settings.poll);
                    return Err(self.refused(&record, wanted, Some(until)).await);
                }
                Step::Reconnect => return Err(self.refused(&record, wanted, None).await),
                Step::Unavailable(until) => {
                    return Err(self.refused(&record, wanted, Some(until)).await);
                }
            }
        }
    }

    /// Asks the provider and writes what came of it: with new tokens, the record has the state `then`. Returns whether
    /// there are some.
    pub(super) async fn renew(
        &self,
        record: &VaultRecord,
        lease: Lease,
        renewer: &dyn Renewer,
        then: AccountState,
    ) -> Result<bool, VaultError> {
        let Some(refresh) = self.opened(record, Column::Refresh).await? else {
            // Sealed anew by others just now. The lease is taken from this very call, so it ends here.
            return self.failed(record, lease, Duration::ZERO).await;
        };
        let asked = renewer.renew(&record.account, &refresh);
        let unanswered = RenewalError::Failed { retry_after: None };
        let answer = timeout(self.settings.request, asked).await;
        match answer.unwrap_or(Err(unanswered)) {
            Ok(mut granted) => {
                // A renewal gives no more than there was, whatever the provider says (RFC 6749, 6).
                granted.scopes = granted.scopes.map(|answered| {
                    let (provider, before) = (&record.account.provider, &record.scopes);
                    let left = renewer.scopes_left(provider, before, &answered);
                    let kept = before.iter().filter(|scope| left.contains(scope));
                    Scopes::of(kept).unwrap_or_default()
                });
                let before = (record, refresh);
                self.renewed(before, lease, granted, then).await
            }
            Err(RenewalError::Refused) => {
                let changed = VaultRecord {
                    state: AccountState::NeedsReconnect,
                    ..record.clone()
                };
                // Where somebody else has renewed it meanwhile, the fence keeps their tokens.
                self.settle(changed, lease, AuditEvent::RenewalRefused)
                    .await
            }
            Err(RenewalError::Failed { retry_after }) => {
                let failures = failures(record).saturating_add(1);
                let pause = self.settings.pause(failures);
                let pause = self.settings.jittered(pause, entropy()?);
                let asked = retry_after.unwrap_or_default();
                let asked = asked.min(self.settings.longest_cooldown);
                self.failed(record, lease, pause.max(asked)).await
            }
        }
    }

    async fn failed(
        &self,
        record: &VaultRecord,
        lease: Lease,
        pause: Duration,
    ) -> Result<bool, VaultError> {
        let changed = VaultRecord {
            state: AccountState::CoolingDown {
                until: after(self.now(), pause),
                failures: failures(record).saturating_add(1),
            },
            ..record.clone()
        };
        self.settle(changed, lease, AuditEvent::RenewalFailed).await
    }

    /// Writes what became of a record, with the secrets it has.
    pub(super) async fn settle(
        &self,
        mut record: VaultRecord,
        lease: Lease,
        event: AuditEvent,
    ) -> Result<bool, VaultError> {
        let before = record.version;
        record.version += 1;
        let audit = AuditRecord::of(&record.account, event, self.now());
        for _ in 0..TRIES {
            let written = match self.prove(&mut record).await? {
                true => {
                    let change = Change::replace(&record, before).leased(lease.id);
                    self.store.write(change.audited(&audit)).await?
                }
                false => Written::UnknownKey,
            };
            match written {
                Written::Kept | Written::Conflict => return Ok(false),
                // Sealed anew by others, whose key it then has.
                Written::UnknownKey => match self.again(&record.account).await? {
                    Some(now) if now.version == before => {
                        self.verify(&now).await?;
                        let VaultRecord { version, state, .. } = record;
                        record = VaultRecord {
                            version,
                            state,
                            ..now
                        };
                    }
                    _ => return Ok(false),
                },
            }
        }
        Err(VaultError::Conflict)
    }

    /// Writes new tokens.
    async fn renewed(
        &self,
        (record, before): (&VaultRecord, Secret),
        lease: Lease,
        granted: Granted,
        then: AccountState,
    ) -> Result<bool, VaultError> {
        let GrantedKind::Tokens { access, refresh } = granted.kind else {
            return self.failed(record, lease, self.settings.cooldown).await;
        };
        let granted = Granted {
            kind: GrantedKind::Tokens {
                access,
                refresh: Some(refresh.unwrap_or(before)),
            },
            name: Some(record.name.clone()),
            ..granted
        };
        let now = self.now();
        let audit = AuditRecord::of(&record.account, AuditEvent::Renewed, now);
        let mut pause = self.settings.poll;
        for attempt in 1..=TRIES {
            let mut renewed = VaultRecord {
                account: record.account.clone(),
                name: record.name.clone(),
                version: record.version + 1,
                state: then,
                scopes: granted
                    .scopes
                    .clone()
                    .unwrap_or_else(|| record.scopes.clone()),
                obtained: now,
                expires: granted.expires,
                is_api_key: false,
                sealed: self.sealed(&record.account, &granted.kind).await?,
                proof: Vec::new(),
                lease: None,
            };
            self.prove(&mut renewed).await?;
            let change = Change::replace(&renewed, record.version).leased(lease.id);
            match self.store.write(change.audited(&audit)).await {
                // The provider may take the old refresh token no more, so that these tokens cannot be had again.
                Err(VaultError::Store(_)) if attempt < TRIES => {
                    sleep(self.settings.jittered(pause, entropy()?)).await;
                    pause = pause.saturating_mul(2);
                }
                Err(error) => return Err(error),
                Ok(Written::Kept) => return Ok(true),
                Ok(Written::Conflict) => {
                    // The person has disconnected the account meanwhile, or connected it again: nobody knows these tokens,
                    // unless an earlier try has kept them, and then they are not taken back.
                    self.owe(&record.account, &granted).await?;
                    return Ok(false);
                }
                Ok(Written::UnknownKey) => self.forget_keys(&record.account),
            }
        }
        Err(VaultError::Conflict)
    }

    /// Returns the record of an account as it is now.
    pub(super) async fn again(
        &self,
        account: &AccountKey,
    ) -> Result<Option<VaultRecord>, VaultError> {
        let found = self.store.list(Filter::account(account)).await?;
        Ok(found.into_iter().next())
    }

    pub(super) async fn pause(&self) -> Result<(), VaultError> {
        sleep(self.settings.jittered(self.settings.poll, entropy()?)).await;
        Ok(())
    }
}

fn failures(record: &VaultRecord) -> u32 {
    match record.state {
        AccountState::CoolingDown { failures, .. } => failures,
        _ => 0,
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests;
