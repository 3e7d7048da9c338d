//! Renewal of tokens by one task among all machines.
//!
//! A task that finds a token about to expire leases the record, asks the provider and writes the new token. The write
//! succeeds only if the record is still the leased one. Other tasks use the old token while it is valid, and then wait.
//! A token is handed out only as read from the store, so that its refresh token is stored before its first use.

use std::time::Duration;

use askback_core::auth::Scopes;
use askback_oauth::Secret;
use tokio::time::{sleep, timeout};

use super::account::{AccountKey, AccountState};
use super::audit::{AuditEvent, AuditRecord};
use super::credential::Grant;
use super::error::{VaultError, entropy};
use super::handle::{Inner, TRIES};
use super::query::AccountQuery;
use super::renewal::{RenewalError, Renewer, Step, decide};
use super::seal::Column;
use super::settings::after;
use super::sql::{Change, Filter};
use super::store::{Lease, VaultRecord, WriteOutcome};

impl Inner {
    pub(super) async fn current(
        &self,
        wanted: &AccountQuery,
        renewer: &dyn Renewer,
    ) -> Result<(VaultRecord, Secret), VaultError> {
        let margin = self.settings.jittered(self.settings.margin, entropy()?);
        let deadline = after(self.now(), self.settings.wait);
        let (mut renewed, mut unread) = (false, 0);
        loop {
            let record = self.find(wanted).await?;
            let now = self.now();
            let step = match decide(&record, now, margin) {
                // Do not ask again if the provider issues expired tokens.
                Step::Renew if renewed => Step::Unavailable(after(now, self.settings.cooldown)),
                step => step,
            };
            match step {
                Step::Use => match self.secret(&record).await {
                    Ok(Some(secret)) => return Ok((record, secret)),
                    Ok(None) if unread < TRIES => unread += 1,
                    Ok(None) | Err(VaultError::NotAuthentic) => {
                        let error = VaultError::NotAuthentic;
                        return Err(self.refused(&record, wanted, error).await);
                    }
                    Err(error) => return Err(error),
                },
                Step::Renew => {
                    let Some(lease) = self.lease(&record).await? else {
                        continue;
                    };
                    let then = AccountState::Active;
                    renewed = match self.renew(&record, lease, renewer, then).await {
                        Err(error @ VaultError::NotAuthentic) => {
                            return Err(self.refused(&record, wanted, error).await);
                        }
                        renewed => renewed?,
                    };
                }
                Step::Wait if now < deadline => self.pause().await?,
                Step::Wait => {
                    let until = after(now, self.settings.poll);
                    let error = VaultError::Unavailable { until };
                    return Err(self.refused(&record, wanted, error).await);
                }
                Step::Reconnect => {
                    let error = VaultError::NeedsReconnect;
                    return Err(self.refused(&record, wanted, error).await);
                }
                Step::Unavailable(until) => {
                    let error = VaultError::Unavailable { until };
                    return Err(self.refused(&record, wanted, error).await);
                }
            }
        }
    }

    /// Leases a record for this task. If another task was faster, waits a moment.
    pub(super) async fn lease(&self, record: &VaultRecord) -> Result<Option<Lease>, VaultError> {
        let now = self.now();
        let lease = Lease {
            id: entropy()?,
            until: after(now, self.settings.lease),
        };
        let change = Change::lease(&record.account, record.version, lease, now);
        if self.store.write(change).await?.is_kept() {
            return Ok(Some(lease));
        }
        self.pause().await?;
        Ok(None)
    }

    /// Asks the provider and writes the result. With new tokens, the record gets the state `then`. Returns whether
    /// there are new tokens.
    pub(super) async fn renew(
        &self,
        record: &VaultRecord,
        lease: Lease,
        renewer: &dyn Renewer,
        then: AccountState,
    ) -> Result<bool, VaultError> {
        let Some(refresh) = self.opened(record, Column::Refresh).await? else {
            // Another process has just resealed it. The lease was taken for this call, so release it.
            return self.failed(record, lease, Duration::ZERO).await;
        };
        let asked = renewer.renew(&record.account, &refresh);
        let unanswered = RenewalError::Failed { retry_after: None };
        let answer = timeout(self.settings.request, asked).await;
        match answer.unwrap_or(Err(unanswered)) {
            Ok(mut granted) => {
                // A renewal grants no additional scopes, whatever the provider says (RFC 6749, 6).
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
                // If another task has renewed it meanwhile, the fence keeps its tokens.
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

    /// Writes the new state of a record, with its current secrets.
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
                false => WriteOutcome::UnknownKey,
            };
            match written {
                WriteOutcome::Kept | WriteOutcome::Conflict => return Ok(false),
                // Another process has resealed it under a newer key.
                WriteOutcome::UnknownKey => match self.again(&record.account).await? {
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

    async fn renewed(
        &self,
        (record, before): (&VaultRecord, Secret),
        lease: Lease,
        granted: Grant,
        then: AccountState,
    ) -> Result<bool, VaultError> {
        let granted = Grant {
            refresh: Some(granted.refresh.unwrap_or(before)),
            is_api_key: false,
            name: Some(record.name.clone()),
            ..granted
        };
        let now = self.now();
        let audit = AuditRecord::of(&record.account, AuditEvent::Renewed, now);
        let scopes = granted.scopes.as_ref().unwrap_or(&record.scopes);
        let mut tries = 0;
        // The provider may no longer accept the old refresh token, so these tokens must not be lost.
        let written = loop {
            let mut renewed = VaultRecord {
                version: record.version + 1,
                state: then,
                scopes: scopes.clone(),
                obtained: now,
                expires: granted.expires,
                is_api_key: false,
                sealed: self.sealed(&record.account, &granted).await?,
                ..record.clone()
            };
            self.prove(&mut renewed).await?;
            let change = Change::replace(&renewed, record.version).leased(lease.id);
            let written = self.store.write(change.audited(&audit)).await;
            let written = self.unless_again(&mut tries, &record.account, written);
            if let Some(written) = written.await? {
                break written;
            }
        };
        if !written.is_kept() {
            // The user has disconnected the account or connected it again, so these tokens are unused. An earlier
            // attempt may have stored them; then they are not revoked.
            self.owe(&record.account, &granted).await?;
        }
        Ok(written.is_kept())
    }

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
