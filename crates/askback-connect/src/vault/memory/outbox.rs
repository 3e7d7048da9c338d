//! Revocations in memory.

use std::cmp::Reverse;

use askback_core::ask::Millis;

use super::Tables;
use crate::vault::audit::AuditRecord;
use crate::vault::store::{Revocation, Sealed, Settled, VaultRecord, Written};

impl Tables {
    /// Makes a revocation of a record that is there no more.
    pub(super) fn owe(&mut self, record: VaultRecord, revocation: Option<([u8; 16], Millis)>) {
        if let Some((id, due)) = revocation {
            let revocation = Revocation {
                id,
                account: record.account,
                name: record.name,
                sealed: record.sealed,
                expires: record.expires,
                due,
                attempts: 0,
                is_spared: false,
            };
            self.revocations.insert(id, revocation);
        }
    }

    /// Returns those that are too many.
    pub(super) fn surplus(&self, bytes: u64, most: usize) -> Vec<Revocation> {
        let mut all: Vec<_> = self.revocations.values().collect();
        all.sort_by_key(|it| (it.attempts, Reverse(it.due), it.id));
        let mut taken = 0;
        let mut surplus: Vec<_> = all
            .into_iter()
            .filter(|it| {
                let refresh = it.sealed.refresh.as_ref().map_or(0, Vec::len);
                taken += (it.sealed.access.len() + refresh) as u64;
                taken > bytes
            })
            .cloned()
            .collect();
        surplus.reverse();
        surplus.truncate(most);
        surplus
    }

    /// Takes the one that has been due for the longest.
    pub(super) fn take(&mut self, now: Millis, until: Millis) -> Option<Revocation> {
        let all = self.revocations.values_mut();
        let due = all.filter(|revocation| revocation.due <= now);
        let next = due.min_by_key(|revocation| revocation.due)?;
        next.due = until;
        next.attempts += 1;
        Some(next.clone())
    }

    /// Puts other tokens into one that nobody has taken since.
    pub(super) fn renew(&mut self, revocation: &Revocation) -> Written {
        let tenant = revocation.account.holder.tenant.as_deref();
        if !self.has_key(tenant, revocation.sealed.key) {
            return Written::UnknownKey;
        }
        let kept = self.revocations.get_mut(&revocation.id);
        match kept.filter(|kept| kept.attempts == revocation.attempts) {
            Some(kept) => {
                kept.sealed = revocation.sealed.clone();
                kept.expires = revocation.expires;
                Written::Kept
            }
            None => Written::Conflict,
        }
    }

    /// Puts the same tokens, sealed under another key, into one that has them as they were.
    pub(super) fn reseal(&mut self, id: [u8; 16], from: &Sealed, sealed: &Sealed) -> Written {
        let kept = self.revocations.get(&id).map(|it| it.account.clone());
        let Some(account) = kept else {
            return Written::Conflict;
        };
        if !self.has_key(account.holder.tenant.as_deref(), sealed.key) {
            return Written::UnknownKey;
        }
        let kept = self.revocations.get_mut(&id);
        match kept.filter(|kept| kept.sealed == *from) {
            Some(kept) => {
                kept.sealed = sealed.clone();
                Written::Kept
            }
            None => Written::Conflict,
        }
    }

    /// Removes one that is done, or puts it off. Returns whether it was there.
    pub(super) fn settle(
        &mut self,
        id: [u8; 16],
        settled: Settled,
        audit: Option<&AuditRecord>,
    ) -> bool {
        let Some(revocation) = self.revocations.get_mut(&id) else {
            return false;
        };
        revocation.is_spared = matches!(settled, Settled::Spared(_));
        match settled {
            Settled::Again(due) | Settled::Spared(due) => revocation.due = due,
            Settled::Done => drop(self.revocations.remove(&id)),
        }
        if let Some(audit) = audit {
            self.append(audit);
        }
        true
    }
}
