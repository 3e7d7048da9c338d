use askback_core::{ask::Millis, ask::keys::KeyId, auth::Scopes};
use askback_sql::Database;

use super::account::{AccountKey, AccountState, Holder};
use askback_core::debug_only;

/// A database with the vault's records. It sees no secrets, because the [`Vault`](super::Vault) seals them first. Only
/// the stores of this crate implement it.
///
/// - **A store reads no clock.** Leases and retries are compared with the `now` of the call.
/// - **Each method is one transaction**, including the given audit record. The record is written if
///   and only if something was changed.
/// - **Nothing is sealed under an unknown key**: such a write returns [`WriteOutcome::UnknownKey`].
///   A tenant's key is deleted only when nothing is sealed under it.
pub trait VaultStore: Send + Sync + 'static {
    /// Returns the database.
    #[doc(hidden)]
    fn database(&self) -> &dyn Database;
}

/// A record of the vault.
#[derive(Clone, PartialEq, Eq)]
pub struct VaultRecord {
    /// The user, the provider and the account.
    pub account: AccountKey,
    /// The account's display name. Like the key, it is stored in plain text.
    pub name: String,
    /// Changes with each write. The first version is random, so that an account that is connected again is not mistaken
    /// for the old record.
    pub version: u64,
    /// Whether it is usable. Never [`AccountState::Revoking`], because such an account has no record.
    pub state: AccountState,
    /// The scopes.
    pub scopes: Scopes,
    /// When the secret was obtained.
    pub obtained: Millis,
    /// When the access token expires, if known.
    pub expires: Option<Millis>,
    /// Whether the secret is an API key.
    pub is_api_key: bool,
    /// The secrets.
    pub sealed: SealedSecrets,
    /// Proves, under the key of the secrets, that all fields above were written together. The lease is excluded.
    pub proof: Vec<u8>,
    /// The lease of the task that is renewing it.
    pub lease: Option<Lease>,
}

/// The sealed secrets of a record.
#[derive(Clone, PartialEq, Eq)]
pub struct SealedSecrets {
    /// The tenant's key that they are sealed under.
    pub key: KeyId,
    /// The access token, or the API key.
    pub access: Vec<u8>,
    /// The refresh token.
    pub refresh: Option<Vec<u8>>,
}

/// The right to renew a record for a limited time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lease {
    /// A random id.
    pub id: [u8; 16],
    /// When another task may take over.
    pub until: Millis,
}

/// The result of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The write succeeded.
    Kept,
    /// The record has another version. Nothing was changed.
    Conflict,
    /// The tenant has no such key. Nothing was changed.
    UnknownKey,
}

/// Tokens that wait for revocation, sealed as in their record.
#[derive(Clone, PartialEq, Eq)]
pub struct Revocation {
    /// A random id.
    pub id: [u8; 16],
    /// The account of the tokens.
    pub account: AccountKey,
    /// The account's display name.
    pub name: String,
    /// The tokens.
    pub sealed: SealedSecrets,
    /// When the access token expires, if known.
    pub expires: Option<Millis>,
    /// When the next attempt is due.
    pub due: Millis,
    /// The number of attempts and checks.
    pub attempts: u32,
    /// Whether it waits until no user has the account connected.
    pub is_spared: bool,
}

/// The result of one attempt at a revocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settlement {
    /// Finished or abandoned.
    Done,
    /// To be retried at this time.
    Again(Millis),
    /// Waits until no user has the account connected. To be checked again at this time.
    Spared(Millis),
}

/// An intent: what a user is asked to do on a page. Only the pages read its body.
#[derive(Clone, PartialEq, Eq)]
pub struct IntentRow {
    /// A random id.
    pub id: [u8; 16],
    /// The user who was asked.
    pub holder: Holder,
    /// The provider, or the name of the secret.
    pub provider: String,
    /// When it expires.
    pub expires: Millis,
    /// Until when the provider may be issuing tokens; 0 if it is not.
    pub busy_until: Millis,
    /// Changes with each write.
    pub version: u64,
    /// Whether it can still change.
    pub is_open: bool,
    /// The sealed content.
    pub body: Vec<u8>,
}

/// How many intents are stored, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntentRoom {
    /// The maximum number of open intents of one user.
    pub open: usize,
    /// The maximum number of closed intents of one user. The oldest are deleted.
    pub closed: usize,
    /// An open intent that expired after this time does not count as closed, because its page may still be processing a
    /// payment.
    pub at_work: Millis,
    /// Intents that expired before this time are deleted.
    pub before: Millis,
}

/// A visit of the pages that ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedVisit {
    /// The id.
    pub id: [u8; 16],
    /// When it would have expired.
    pub expires: Millis,
}

/// A tenant's data key in the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TenantKey {
    /// The tenant.
    pub tenant: Option<String>,
    /// The name, derived from the key.
    pub id: KeyId,
    /// The key.
    pub wrapped: WrappedKey,
    /// When it was created. From then on, the previous key seals nothing new, and its cookies expire after a while. 0
    /// means that they expire at once.
    pub made: Millis,
}

/// A tenant's data key, encrypted with a key-encryption key.
#[derive(Clone, PartialEq, Eq)]
pub struct WrappedKey {
    /// The name of the key-encryption key.
    pub kek_id: String,
    /// The encrypted key.
    pub bytes: Vec<u8>,
}

impl WriteOutcome {
    /// Returns whether the write succeeded.
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
