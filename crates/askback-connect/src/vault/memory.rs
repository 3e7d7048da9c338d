//! A vault's records in memory.

mod outbox;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    fmt,
    sync::{Mutex, PoisonError},
};

use askback_core::ask::{Millis, keys::KeyId};

use super::account::{AccountKey, Holder};
use super::audit::{AuditEntry, AuditEvent, AuditRecord};
use super::store::{
    Fence, IntentRoom, IntentRow, Lease, Revocation, Sealed, Settled, TenantKey, VaultFuture,
    VaultRecord, VaultStore, Wrapped, Written,
};

/// Keeps the vault's records for as long as the process lives: for tests, and for servers whose accounts may be
/// connected again after each start.
#[derive(Default)]
pub struct MemoryVault {
    tables: Mutex<Tables>,
}

#[derive(Default)]
struct Tables {
    /// The keys of each tenant, the oldest first.
    keys: BTreeMap<Option<String>, Vec<TenantKey>>,
    records: BTreeMap<AccountKey, VaultRecord>,
    revocations: BTreeMap<[u8; 16], Revocation>,
    intents: BTreeMap<[u8; 16], IntentRow>,
    /// The visits that have ended, and until when that is noted.
    ended: HashMap<[u8; 16], Millis>,
    audit: BTreeMap<u64, AuditRecord>,
    /// The number of the last line of the audit.
    audited: u64,
}

impl Tables {
    fn has_key(&self, tenant: Option<&str>, key: KeyId) -> bool {
        let keys = self.keys.get(&tenant.map(str::to_owned));
        keys.is_some_and(|keys| keys.iter().any(|known| known.id == key))
    }

    fn write(&mut self, record: &VaultRecord, audit: &AuditRecord) -> Written {
        let tenant = record.account.holder.tenant.as_deref();
        if !self.has_key(tenant, record.sealed.key) {
            return Written::UnknownKey;
        }
        let record = VaultRecord {
            lease: None,
            ..record.clone()
        };
        self.records.insert(record.account.clone(), record);
        self.append(audit);
        Written::Kept
    }

    fn append(&mut self, audit: &AuditRecord) {
        self.audited += 1;
        self.audit.insert(self.audited, audit.clone());
    }
}

impl MemoryVault {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn with<'a, T: Send + 'a>(
        &'a self,
        work: impl FnOnce(&mut Tables) -> T + Send + 'a,
    ) -> VaultFuture<'a, T> {
        Box::pin(async move {
            // Where tests have others go on in between.
            #[cfg(test)]
            super::pause::pause_once().await;
            let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(work(&mut tables))
        })
    }
}

impl VaultStore for MemoryVault {
    fn records<'a>(
        &'a self,
        holder: &'a Holder,
        provider: Option<&'a str>,
    ) -> VaultFuture<'a, Vec<VaultRecord>> {
        self.with(move |tables| {
            let records = tables.records.values();
            let of = records.filter(|record| {
                let at = provider.is_none_or(|provider| record.account.provider == provider);
                record.account.holder == *holder && at
            });
            of.cloned().collect()
        })
    }

    fn records_of<'a>(
        &'a self,
        provider: &'a str,
        account: &'a str,
        most: usize,
    ) -> VaultFuture<'a, Vec<VaultRecord>> {
        self.with(move |tables| {
            let records = tables.records.values();
            let is_it = |it: &AccountKey| it.provider == provider && it.account == account;
            let of = records.filter(|it| is_it(&it.account));
            of.take(most).cloned().collect()
        })
    }

    fn put<'a>(
        &'a self,
        record: &'a VaultRecord,
        expected: Option<u64>,
        revocation: Option<([u8; 16], Millis)>,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, Written> {
        self.with(move |tables| {
            let before = tables.records.get(&record.account).cloned();
            if before.as_ref().map(|kept| kept.version) != expected {
                return Written::Conflict;
            }
            let written = tables.write(record, audit);
            if let (Written::Kept, Some(before)) = (written, before) {
                tables.owe(before, revocation);
            }
            written
        })
    }

    fn lease<'a>(
        &'a self,
        account: &'a AccountKey,
        version: u64,
        lease: Lease,
        now: Millis,
    ) -> VaultFuture<'a, bool> {
        self.with(move |tables| {
            let record = tables.records.get_mut(account);
            let free = record.filter(|record| {
                let is_free = record.lease.is_none_or(|lease| lease.until <= now);
                record.version == version && is_free
            });
            free.map(|record| record.lease = Some(lease)).is_some()
        })
    }

    fn renew<'a>(
        &'a self,
        record: &'a VaultRecord,
        fence: Fence,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, Written> {
        self.with(move |tables| {
            let kept = tables.records.get(&record.account);
            let is_mine = kept.is_some_and(|kept| {
                let lease = kept.lease.map(|lease| lease.id);
                kept.version == fence.version && lease == Some(fence.lease)
            });
            if !is_mine {
                return Written::Conflict;
            }
            tables.write(record, audit)
        })
    }

    fn reseal<'a>(&'a self, record: &'a VaultRecord, from: KeyId) -> VaultFuture<'a, Written> {
        self.with(move |tables| {
            let account = &record.account;
            if !tables.has_key(account.holder.tenant.as_deref(), record.sealed.key) {
                return Written::UnknownKey;
            }
            let kept = tables.records.get_mut(account);
            match kept.filter(|it| it.version == record.version && it.sealed.key == from) {
                Some(kept) => {
                    kept.sealed = record.sealed.clone();
                    kept.proof.clone_from(&record.proof);
                    Written::Kept
                }
                None => Written::Conflict,
            }
        })
    }

    fn sealed_otherwise<'a>(
        &'a self,
        tenant: Option<&'a str>,
        key: KeyId,
        most: usize,
    ) -> VaultFuture<'a, Vec<VaultRecord>> {
        self.with(move |tables| {
            let records = tables.records.values();
            let of = records.filter(|record| {
                record.account.holder.tenant.as_deref() == tenant && record.sealed.key != key
            });
            of.take(most).cloned().collect()
        })
    }

    fn remove<'a>(
        &'a self,
        account: &'a AccountKey,
        revocation: Option<([u8; 16], Millis)>,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, bool> {
        self.with(move |tables| {
            let Some(record) = tables.records.remove(account) else {
                return false;
            };
            tables.owe(record, revocation);
            tables.append(audit);
            true
        })
    }

    fn add_revocation<'a>(&'a self, revocation: &'a Revocation) -> VaultFuture<'a, Written> {
        self.with(move |tables| {
            let tenant = revocation.account.holder.tenant.as_deref();
            if !tables.has_key(tenant, revocation.sealed.key) {
                return Written::UnknownKey;
            }
            tables.revocations.insert(revocation.id, revocation.clone());
            Written::Kept
        })
    }

    fn revocations<'a>(&'a self, holder: &'a Holder) -> VaultFuture<'a, Vec<Revocation>> {
        self.with(move |tables| {
            let all = tables.revocations.values();
            let of = all.filter(|revocation| revocation.account.holder == *holder);
            of.cloned().collect()
        })
    }

    fn surplus_revocations(&self, bytes: u64, most: usize) -> VaultFuture<'_, Vec<Revocation>> {
        self.with(move |tables| tables.surplus(bytes, most))
    }

    fn take_revocation(&self, now: Millis, until: Millis) -> VaultFuture<'_, Option<Revocation>> {
        self.with(move |tables| tables.take(now, until))
    }

    fn renew_revocation<'a>(&'a self, revocation: &'a Revocation) -> VaultFuture<'a, Written> {
        self.with(move |tables| tables.renew(revocation))
    }

    fn revocations_sealed_otherwise<'a>(
        &'a self,
        tenant: Option<&'a str>,
        key: KeyId,
        most: usize,
    ) -> VaultFuture<'a, Vec<Revocation>> {
        self.with(move |tables| {
            let all = tables.revocations.values();
            let of = all
                .filter(|it| it.account.holder.tenant.as_deref() == tenant && it.sealed.key != key);
            of.take(most).cloned().collect()
        })
    }

    fn reseal_revocation<'a>(
        &'a self,
        id: [u8; 16],
        from: &'a Sealed,
        sealed: &'a Sealed,
    ) -> VaultFuture<'a, Written> {
        self.with(move |tables| tables.reseal(id, from, sealed))
    }

    fn settle_revocation<'a>(
        &'a self,
        id: [u8; 16],
        settled: Settled,
        audit: Option<&'a AuditRecord>,
    ) -> VaultFuture<'a, bool> {
        self.with(move |tables| tables.settle(id, settled, audit))
    }

    fn tenant_keys<'a>(&'a self, tenant: Option<&'a str>) -> VaultFuture<'a, Vec<TenantKey>> {
        self.with(move |tables| {
            let keys = tables.keys.get(&tenant.map(str::to_owned));
            keys.into_iter().flatten().rev().cloned().collect()
        })
    }

    fn add_tenant_key<'a>(
        &'a self,
        tenant: Option<&'a str>,
        key: &'a TenantKey,
        newest: Option<KeyId>,
    ) -> VaultFuture<'a, bool> {
        self.with(move |tables| {
            let keys = tables.keys.entry(tenant.map(str::to_owned)).or_default();
            let is_newest = keys.last().map(|key| key.id) == newest;
            if is_newest {
                keys.push(key.clone());
            }
            is_newest
        })
    }

    fn wrapped_otherwise<'a>(
        &'a self,
        kek_id: &'a str,
        most: usize,
    ) -> VaultFuture<'a, Vec<(Option<String>, TenantKey)>> {
        self.with(move |tables| {
            let all = tables.keys.iter();
            let keys = all.flat_map(|(tenant, keys)| keys.iter().map(move |key| (tenant, key)));
            keys.filter(|(_, key)| key.wrapped.kek_id != kek_id)
                .take(most)
                .map(|(tenant, key)| (tenant.clone(), key.clone()))
                .collect()
        })
    }

    fn wrapped_by_each(&self) -> VaultFuture<'_, Vec<(Option<String>, TenantKey)>> {
        self.with(|tables| {
            let mut each = BTreeMap::new();
            for (tenant, keys) in &tables.keys {
                for key in keys {
                    let one = || (tenant.clone(), key.clone());
                    each.entry(&key.wrapped.kek_id).or_insert_with(one);
                }
            }
            each.into_values().collect()
        })
    }

    fn rewrap<'a>(
        &'a self,
        tenant: Option<&'a str>,
        key: KeyId,
        from: &'a Wrapped,
        to: &'a Wrapped,
    ) -> VaultFuture<'a, bool> {
        self.with(move |tables| {
            let keys = tables.keys.get_mut(&tenant.map(str::to_owned));
            let mut keys = keys.into_iter().flatten();
            let same = keys.find(|kept| kept.id == key && kept.wrapped == *from);
            same.map(|kept| kept.wrapped = to.clone()).is_some()
        })
    }

    fn drop_tenant_key<'a>(&'a self, tenant: Option<&'a str>, key: KeyId) -> VaultFuture<'a, bool> {
        self.with(move |tables| {
            let records = tables.records.values();
            let revocations = tables.revocations.values();
            let sealed = records
                .map(|record| (&record.account, record.sealed.key))
                .chain(revocations.map(|it| (&it.account, it.sealed.key)))
                .any(|(account, by)| account.holder.tenant.as_deref() == tenant && by == key);
            let Some(keys) = tables.keys.get_mut(&tenant.map(str::to_owned)) else {
                return false;
            };
            let older = keys.iter().rev().skip(1).any(|kept| kept.id == key);
            if older && !sealed {
                keys.retain(|kept| kept.id != key);
            }
            older && !sealed
        })
    }

    fn delete_tenant<'a>(
        &'a self,
        tenant: Option<&'a str>,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, bool> {
        self.with(move |tables| {
            if tables.keys.remove(&tenant.map(str::to_owned)).is_none() {
                return false;
            }
            let is_other = |account: &AccountKey| account.holder.tenant.as_deref() != tenant;
            tables.records.retain(|account, _| is_other(account));
            tables.revocations.retain(|_, it| is_other(&it.account));
            let intents = &mut tables.intents;
            intents.retain(|_, it| it.holder.tenant.as_deref() != tenant);
            tables.append(audit);
            true
        })
    }

    fn add_intent<'a>(
        &'a self,
        intent: &'a IntentRow,
        room: IntentRoom,
        now: Millis,
    ) -> VaultFuture<'a, bool> {
        self.with(move |tables| {
            let intents = &mut tables.intents;
            let of_person = intents.values().filter(|it| it.holder == intent.holder);
            let of_person = of_person.filter(|it| it.is_open_at(now));
            if of_person.count() >= room.open || intents.contains_key(&intent.id) {
                return false;
            }
            intents.insert(intent.id, intent.clone());
            intents.retain(|_, it| it.expires > room.before);
            let is_closed = |it: &&IntentRow| {
                it.holder == intent.holder && (!it.is_open || it.expires <= room.at_work)
            };
            let closed = intents.values().filter(is_closed);
            let mut closed: Vec<_> = closed.map(|it| (Reverse(it.expires), it.id)).collect();
            closed.sort_unstable();
            for (_, id) in closed.into_iter().skip(room.closed) {
                intents.remove(&id);
            }
            true
        })
    }

    fn is_busy<'a>(
        &'a self,
        holder: &'a Holder,
        provider: &'a str,
        now: Millis,
    ) -> VaultFuture<'a, bool> {
        self.with(move |tables| {
            let mut intents = tables.intents.values();
            intents.any(|it| it.holder == *holder && it.provider == provider && it.busy_until > now)
        })
    }

    fn intent(&self, id: [u8; 16]) -> VaultFuture<'_, Option<IntentRow>> {
        self.with(move |tables| tables.intents.get(&id).cloned())
    }

    fn advance_intent<'a>(
        &'a self,
        intent: &'a IntentRow,
        expected: u64,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, bool> {
        self.with(move |tables| {
            let kept = tables.intents.get_mut(&intent.id);
            let Some(kept) = kept.filter(|kept| kept.version == expected) else {
                return false;
            };
            kept.version = intent.version;
            kept.is_open = intent.is_open;
            kept.busy_until = intent.busy_until;
            kept.body.clone_from(&intent.body);
            tables.append(audit);
            true
        })
    }

    fn end_visit(&self, visit: [u8; 16], expires: Millis, now: Millis) -> VaultFuture<'_, ()> {
        self.with(move |tables| {
            tables.ended.retain(|_, expires| *expires > now);
            tables.ended.insert(visit, expires);
        })
    }

    fn has_ended(&self, visit: [u8; 16]) -> VaultFuture<'_, bool> {
        self.with(move |tables| tables.ended.contains_key(&visit))
    }

    fn append<'a>(&'a self, audit: &'a AuditRecord, most: usize) -> VaultFuture<'a, ()> {
        self.with(move |tables| {
            tables.append(audit);
            let Some(holder) = audit.holder() else {
                return;
            };
            let mut kept = HashMap::<_, usize>::new();
            let of_person = tables.audit.iter().rev();
            let of_person = of_person.filter(|(_, line)| line.holder() == Some(holder));
            let surplus = of_person.filter(|(_, line)| {
                let count = kept.entry(line.event.name()).or_default();
                *count += 1;
                *count > most
            });
            let surplus: Vec<_> = surplus.map(|(number, _)| *number).collect();
            for number in surplus {
                tables.audit.remove(&number);
            }
        })
    }

    fn audit<'a>(
        &'a self,
        tenant: Option<&'a str>,
        after: u64,
        most: usize,
    ) -> VaultFuture<'a, Vec<AuditEntry>> {
        self.with(move |tables| {
            let later = tables.audit.range(after.saturating_add(1)..);
            let of = later.filter(|(_, record)| record.tenant.as_deref() == tenant);
            let entries = of.map(|(number, record)| AuditEntry {
                number: *number,
                record: record.clone(),
            });
            entries.take(most).collect()
        })
    }

    fn latest<'a>(
        &'a self,
        holder: &'a Holder,
        event: AuditEvent,
    ) -> VaultFuture<'a, Vec<AuditRecord>> {
        self.with(move |tables| {
            let of = |line: &&AuditRecord| line.event == event && line.holder() == Some(holder);
            let lines = tables.audit.values().filter(of);
            let lines = lines.filter_map(|line| Some((line.account.clone()?, line.clone())));
            // Of an account, the last one stays.
            lines.collect::<HashMap<_, _>>().into_values().collect()
        })
    }

    fn purge_audit(&self, before: Millis) -> VaultFuture<'_, u64> {
        self.with(move |tables| {
            let there = tables.audit.len();
            tables.audit.retain(|_, record| record.at >= before);
            (there - tables.audit.len()) as u64
        })
    }
}

impl fmt::Debug for MemoryVault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryVault").finish_non_exhaustive()
    }
}
