//! The rows of the vault's records, and the database that has them.

use askback_core::{ask::Millis, ask::keys::KeyId, auth::Scopes};
use askback_sql::Database;

use super::account::{AccountKey, AccountState, Holder};
use askback_core::debug_only;

/// A database with the vault's records. It sees no secret: the [`Vault`](super::Vault) seals all of them before they come
/// here. Only the stores of this crate implement it.
///
/// - **A store reads no clock.** Leases and retries are compared with the `now` of the call.
/// - **Each method is one transaction**, together with the line of the audit that it is given. The line is written if
///   and only if something was changed.
/// - **Nothing is sealed under a key that the tenant does not have**: [`WriteOutcome::UnknownKey`] otherwise. A tenant's key
///   is dropped only when nothing is sealed under it.
pub trait VaultStore: Send + Sync + 'static {
    /// Returns the database.
    #[doc(hidden)]
    fn database(&self) -> &dyn Database;
}

/// A record of the vault.
#[derive(Clone, PartialEq, Eq)]
pub struct VaultRecord {
    /// Whose account, and where.
    pub account: AccountKey,
    /// The name of the account for persons. It is kept as it is, as the key is.
    pub name: String,
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
    pub sealed: SealedSecrets,
    /// Proves, under the key of the secrets, that all of the above were written together. The lease is not part of it.
    pub proof: Vec<u8>,
    /// The lease of whoever is renewing it, if somebody is.
    pub lease: Option<Lease>,
}

/// The secrets of a record, sealed.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecrets {
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

/// The outcome of something to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// It is kept.
    Kept,
    /// The record is not what it was expected to be, and nothing was changed.
    Conflict,
    /// The tenant has no such key, and nothing was changed.
    UnknownKey,
}

/// Tokens that the provider is to be told to revoke. They are sealed as in their record.
#[derive(Clone, PartialEq, Eq)]
pub struct Revocation {
    /// Its id, which is random.
    pub id: [u8; 16],
    /// The account that they were of.
    pub account: AccountKey,
    /// Its name for persons.
    pub name: String,
    /// The tokens.
    pub sealed: SealedSecrets,
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
pub enum Settlement {
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

/// A visit of the pages that ended before its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedVisit {
    /// Its id.
    pub id: [u8; 16],
    /// When it would have ended.
    pub expires: Millis,
}

/// A tenant's data key, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantKey {
    /// The tenant.
    pub tenant: Option<String>,
    /// Its name, derived from the key.
    pub id: KeyId,
    /// The key.
    pub wrapped: WrappedKey,
    /// When it was made: from then on, the key before seals nothing new, and its cookies end after a while. 0 where they end
    /// at once.
    pub made: Millis,
}

/// A tenant's data key, encrypted by a key-encryption key.
#[derive(Clone, PartialEq, Eq)]
pub struct WrappedKey {
    /// The name of the key-encryption key.
    pub kek_id: String,
    /// The encrypted key.
    pub bytes: Vec<u8>,
}

impl WriteOutcome {
    /// Whether it was changed.
    #[must_use]
    pub fn is_kept(self) -> bool {
        self == Self::Kept
    }
}

debug_only! {
    IntentRow { expires, version }
    SealedSecrets { key }
    WrappedKey { kek_id }
    VaultRecord { account, version, state, scopes, expires, sealed, lease }
    Revocation { id, account, sealed, expires, due, attempts, is_spared }
}
