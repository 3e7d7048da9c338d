//! The contract of whatever keeps the vault's records.

use std::fmt;

use askback_core::{ask::Millis, ask::keys::KeyId, auth::Scopes, future::BoxFuture};

use super::account::{AccountKey, AccountName, AccountState, Holder};
use super::audit::{AuditEntry, AuditEvent, AuditRecord};
use super::error::VaultError;

/// The future of a store's method.
pub type VaultFuture<'a, T> = BoxFuture<'a, Result<T, VaultError>>;

/// Keeps the vault's records. It sees no secret: the [`Vault`](super::Vault) seals all of them before they come here.
///
/// - **A store reads no clock.** Leases and retries are compared with the `now` of the call.
/// - **Each method is one transaction**, together with the line of the audit that it is given. The line is written if
///   and only if something was changed.
/// - **Nothing is sealed under a key that the tenant does not have**: [`Written::UnknownKey`] otherwise. A tenant's key
///   is dropped only when nothing is sealed under it.
pub trait VaultStore: Send + Sync + 'static {
    /// Returns the records of a person, at one provider or at all of them, in the order of the bytes of providers and
    /// accounts.
    fn records<'a>(
        &'a self,
        holder: &'a Holder,
        provider: Option<&'a str>,
    ) -> VaultFuture<'a, Vec<VaultRecord>>;

    /// Returns the records of an account at a provider, from all users and tenants; at most so many. Names do not count,
    /// because users choose them.
    fn records_of<'a>(
        &'a self,
        provider: &'a str,
        account: &'a str,
        most: usize,
    ) -> VaultFuture<'a, Vec<VaultRecord>>;

    /// Puts a record in place of the one that has the version `expected`, or where there is none. The record's version
    /// must differ from that. What was leased is so no longer. With a revocation, the tokens that it takes the place of
    /// become one of that id, which is due `at` once, as with [`VaultStore::remove`].
    fn put<'a>(
        &'a self,
        record: &'a VaultRecord,
        expected: Option<u64>,
        revocation: Option<([u8; 16], Millis)>,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, Written>;

    /// Leases a record that has this version, unless a lease of it lasts beyond `now`. Returns whether it did.
    fn lease<'a>(
        &'a self,
        account: &'a AccountKey,
        version: u64,
        lease: Lease,
        now: Millis,
    ) -> VaultFuture<'a, bool>;

    /// Puts a record in place of the one that has the version and the lease of `fence`, and ends the lease.
    /// [`Written::Conflict`] where that is no longer so. A lease that has run out and that nobody else has taken is
    /// still one.
    fn renew<'a>(
        &'a self,
        record: &'a VaultRecord,
        fence: Fence,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, Written>;

    /// Writes the secrets and the proof of a record, sealed under another key, if the kept record has the same version and
    /// is sealed under `from`; [`Written::Conflict`] otherwise. The lease stays: a renewal at the same time goes on.
    fn reseal<'a>(&'a self, record: &'a VaultRecord, from: KeyId) -> VaultFuture<'a, Written>;

    /// Returns records of a tenant that are sealed under other keys than this one, at most so many.
    fn sealed_otherwise<'a>(
        &'a self,
        tenant: Option<&'a str>,
        key: KeyId,
        most: usize,
    ) -> VaultFuture<'a, Vec<VaultRecord>>;

    /// Removes a record. With a revocation, its tokens become one of that id, which is due `at` once. Returns whether
    /// there was a record.
    fn remove<'a>(
        &'a self,
        account: &'a AccountKey,
        revocation: Option<([u8; 16], Millis)>,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, bool>;

    /// Adds tokens that the provider is to be told to revoke.
    fn add_revocation<'a>(&'a self, revocation: &'a Revocation) -> VaultFuture<'a, Written>;

    /// Returns the revocations of a person that are not done.
    fn revocations<'a>(&'a self, holder: &'a Holder) -> VaultFuture<'a, Vec<Revocation>>;

    /// Returns revocations, of anybody, that are too many where the secrets of all others take at most so many bytes: those
    /// that were tried most often first, and of these those that have been due for the longest; at most so many.
    fn surplus_revocations(&self, bytes: u64, most: usize) -> VaultFuture<'_, Vec<Revocation>>;

    /// Takes the revocation that has been due for the longest: it is due again at `until`, and counts one attempt more.
    /// Of many who take at the same time, no two are given the same one.
    fn take_revocation(&self, now: Millis, until: Millis) -> VaultFuture<'_, Option<Revocation>>;

    /// Puts the tokens of a revocation, and their end, in place of those that it had. [`Written::Conflict`] where it was taken
    /// since: its number of attempts is another one.
    fn renew_revocation<'a>(&'a self, revocation: &'a Revocation) -> VaultFuture<'a, Written>;

    /// Returns revocations of a tenant whose tokens are sealed under other keys than this one, at most so many.
    fn revocations_sealed_otherwise<'a>(
        &'a self,
        tenant: Option<&'a str>,
        key: KeyId,
        most: usize,
    ) -> VaultFuture<'a, Vec<Revocation>>;

    /// Puts the same tokens, sealed under another key, into a revocation that has them sealed as in `from` still.
    /// [`Written::Conflict`] where it does not, or is done.
    fn reseal_revocation<'a>(
        &'a self,
        id: [u8; 16],
        from: &'a Sealed,
        sealed: &'a Sealed,
    ) -> VaultFuture<'a, Written>;

    /// Removes a revocation that is done, or puts it off until a moment. Returns whether it was there.
    fn settle_revocation<'a>(
        &'a self,
        id: [u8; 16],
        settled: Settled,
        audit: Option<&'a AuditRecord>,
    ) -> VaultFuture<'a, bool>;

    /// Returns the keys of a tenant, the newest first.
    fn tenant_keys<'a>(&'a self, tenant: Option<&'a str>) -> VaultFuture<'a, Vec<TenantKey>>;

    /// Adds a key to a tenant whose newest key is `newest`. Returns whether it still was.
    fn add_tenant_key<'a>(
        &'a self,
        tenant: Option<&'a str>,
        key: &'a TenantKey,
        newest: Option<KeyId>,
    ) -> VaultFuture<'a, bool>;

    /// Returns keys of any tenants that are wrapped by another key than this one, at most so many.
    fn wrapped_otherwise<'a>(
        &'a self,
        kek_id: &'a str,
        most: usize,
    ) -> VaultFuture<'a, Vec<(Option<String>, TenantKey)>>;

    /// Returns one key, of any tenant, for each key-encryption key that some are wrapped by, in the order of its names.
    fn wrapped_by_each(&self) -> VaultFuture<'_, Vec<(Option<String>, TenantKey)>>;

    /// Puts another wrapping in place of `from`. Returns whether the key still was wrapped so.
    fn rewrap<'a>(
        &'a self,
        tenant: Option<&'a str>,
        key: KeyId,
        from: &'a Wrapped,
        to: &'a Wrapped,
    ) -> VaultFuture<'a, bool>;

    /// Drops a tenant's key, unless it is the newest or something is sealed under it. Returns whether it did.
    fn drop_tenant_key<'a>(&'a self, tenant: Option<&'a str>, key: KeyId) -> VaultFuture<'a, bool>;

    /// Deletes the keys, the records, the intents and the revocations of a tenant. Its audit stays. Returns whether there was a key.
    fn delete_tenant<'a>(
        &'a self,
        tenant: Option<&'a str>,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, bool>;

    /// Adds an intent whose id is not there, if the person has fewer than `room.open` that are open and end after `now`.
    /// Returns whether it did. One that was busy and is not done is not counted: its process is gone.
    ///
    /// Then it removes what [`IntentRoom`] has no room for.
    fn add_intent<'a>(
        &'a self,
        intent: &'a IntentRow,
        room: IntentRoom,
        now: Millis,
    ) -> VaultFuture<'a, bool>;

    /// Whether an intent of a person is busy at a provider at this time.
    fn is_busy<'a>(
        &'a self,
        holder: &'a Holder,
        provider: &'a str,
        now: Millis,
    ) -> VaultFuture<'a, bool>;

    /// Returns the intent of this id, ended or not.
    fn intent(&self, id: [u8; 16]) -> VaultFuture<'_, Option<IntentRow>>;

    /// Puts an intent in place of the one that has its id and the version `expected`. Its person, its provider and its end
    /// stay.
    /// Returns whether there was one.
    fn advance_intent<'a>(
        &'a self,
        intent: &'a IntentRow,
        expected: u64,
        audit: &'a AuditRecord,
    ) -> VaultFuture<'a, bool>;

    /// Notes a visit of the pages that ended before its time, until the moment `expires`, and forgets those whose moment had
    /// come at `now`.
    fn end_visit(&self, visit: [u8; 16], expires: Millis, now: Millis) -> VaultFuture<'_, ()>;

    /// Whether a visit is noted as ended.
    fn has_ended(&self, visit: [u8; 16]) -> VaultFuture<'_, bool>;

    /// Adds a line to the audit. Of the lines about the same person, it keeps the newest `most` of each event.
    fn append<'a>(&'a self, audit: &'a AuditRecord, most: usize) -> VaultFuture<'a, ()>;

    /// Returns the lines of a tenant's audit after a number, at most so many. Lines appear in the order of their
    /// numbers: no line is added before one that was returned.
    fn audit<'a>(
        &'a self,
        tenant: Option<&'a str>,
        after: u64,
        most: usize,
    ) -> VaultFuture<'a, Vec<AuditEntry>>;

    /// Returns the last line of the audit about each account of a person with this event.
    fn latest<'a>(
        &'a self,
        holder: &'a Holder,
        event: AuditEvent,
    ) -> VaultFuture<'a, Vec<AuditRecord>>;

    /// Removes the lines of all audits before a moment, and returns how many there were.
    fn purge_audit(&self, before: Millis) -> VaultFuture<'_, u64>;
}

/// A record of the vault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VaultRecord {
    /// Whose account, and where.
    pub account: AccountKey,
    /// The name of the account for persons. It is kept as it is, as the key is.
    pub name: AccountName,
    /// Another one after each change. The first is random, so that an account that was removed and connected again is
    /// not taken for the one before.
    pub version: u64,
    /// How it is to be used: never [`AccountState::Revoking`], which is no record any more.
    pub state: AccountState,
    /// The scopes.
    pub scopes: Scopes,
    /// When the secret was had.
    pub obtained: Millis,
    /// When the access token ends, if that is known.
    pub expires: Option<Millis>,
    /// Whether its secret is a key, and no tokens.
    pub is_api_key: bool,
    /// The secrets.
    pub sealed: Sealed,
    /// Proves, under the key of the secrets, that all of the above were written together. The lease is not part of it.
    pub proof: Vec<u8>,
    /// The lease of whoever is renewing it, if somebody is.
    pub lease: Option<Lease>,
}

/// The secrets of a record, sealed.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The tenant's key that they are sealed under.
    pub key: KeyId,
    /// The access token, or the key.
    pub access: Vec<u8>,
    /// The refresh token.
    pub refresh: Option<Vec<u8>>,
}

/// The right to renew a record, for a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// Random, so that nobody else has the same.
    pub id: [u8; 16],
    /// When others may take it.
    pub until: Millis,
}

/// The state that a record must still be in for a renewal to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence {
    /// Its version.
    pub version: u64,
    /// The id of its lease.
    pub lease: [u8; 16],
}

/// The outcome of something to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Written {
    /// It is kept.
    Kept,
    /// The record is not what it was expected to be, and nothing was changed.
    Conflict,
    /// The tenant has no such key, and nothing was changed.
    UnknownKey,
}

/// Tokens that the provider is to be told to revoke. They are sealed as in their record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// Its id, which is random.
    pub id: [u8; 16],
    /// The account that they were of.
    pub account: AccountKey,
    /// Its name for persons.
    pub name: AccountName,
    /// The tokens.
    pub sealed: Sealed,
    /// When the access token ends, if that is known.
    pub expires: Option<Millis>,
    /// When the provider is to be told.
    pub due: Millis,
    /// How often that was tried, or looked at.
    pub attempts: u32,
    /// Whether it waits until nobody has connected the account any more.
    pub is_spared: bool,
}

/// The outcome of a revocation that was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It is done, or given up.
    Done,
    /// It is due again at a moment.
    Again(Millis),
    /// It waits until nobody has connected the account any more, and is looked at again at a moment.
    Spared(Millis),
}

/// An intent: something that a person is asked to do on a page. What it is about is for the pages alone.
#[derive(Clone, PartialEq, Eq)]
pub struct IntentRow {
    /// Its id, which is random.
    pub id: [u8; 16],
    /// The person who was asked.
    pub holder: Holder,
    /// The provider, or the name of what is asked for.
    pub provider: String,
    /// When it ends.
    pub expires: Millis,
    /// Until when the provider is being asked for tokens, which nobody knows yet; 0 where it is not.
    pub busy_until: Millis,
    /// Another one after each change.
    pub version: u64,
    /// Whether anything can still happen to it.
    pub is_open: bool,
    /// The rest.
    pub body: Vec<u8>,
}

/// How many intents are kept, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntentRoom {
    /// The most open intents of one person.
    pub open: usize,
    /// The most other intents of one person: the oldest give way.
    pub closed: usize,
    /// An open intent that ended after this moment is not counted as closed: what was done on its page may still be paid.
    pub at_work: Millis,
    /// Intents of any person that had ended at this moment are removed.
    pub before: Millis,
}

/// A tenant's data key, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantKey {
    /// Its name, derived from the key.
    pub id: KeyId,
    /// The key.
    pub wrapped: Wrapped,
    /// When it was made: from then on, the key before seals nothing new, and its cookies end after a while. 0 where they end
    /// at once.
    pub made: Millis,
}

/// A tenant's data key, encrypted by a key-encryption key.
#[derive(Clone, PartialEq, Eq)]
pub struct Wrapped {
    /// The name of the key-encryption key.
    pub kek_id: String,
    /// The encrypted key.
    pub bytes: Vec<u8>,
}

impl fmt::Debug for IntentRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IntentRow")
            .field("expires", &self.expires)
            .field("version", &self.version)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Sealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealed({})", self.key)
    }
}

impl fmt::Debug for Wrapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Wrapped({})", self.kek_id)
    }
}
