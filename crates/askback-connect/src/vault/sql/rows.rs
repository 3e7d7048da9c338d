use std::vec::IntoIter;

use askback_core::{ask::keys::KeyId, auth::Scopes};
use askback_sql::Value;

use crate::vault::account::{AccountKey, AccountState, Holder};
use crate::vault::audit::{AuditEntry, AuditEvent, AuditRecord};
use crate::vault::error::VaultError;
use crate::vault::store::{
    EndedVisit, IntentRow, Lease, Revocation, SealedSecrets, TenantKey, VaultRecord, WrappedKey,
};

/// A value written to one or more columns.
pub trait ToColumns: Sync {
    fn write(&self, to: &mut Vec<Value>);
}

/// A value read from one or more columns.
pub trait FromColumns: Sized {
    /// Takes the value of each column from the left.
    ///
    /// # Errors
    ///
    /// If a column has an invalid value.
    fn read(from: &mut IntoIter<Value>) -> Result<Self, VaultError>;
}

/// A row of one of the vault's tables.
pub trait Row: ToColumns + FromColumns {
    const TABLE: &'static str;
    /// The columns, in the order of writing and reading.
    const COLUMNS: &'static str;
    /// The number of leading columns that form the key.
    const KEY: usize = 1;
    /// The order of a listing.
    const ORDER: &'static str = "id";
    /// Whether a deleted row must be erased from the database's files.
    const ERASES: bool = true;
}

/// A row that is replaced only if its version is the one that was read.
pub trait VersionedRow: Row {
    /// The column that changes with each write.
    const VERSION: &'static str = "version";
    /// The columns that a change writes.
    const CHANGES: &'static str;
}

/// A row with secrets.
pub trait SealedRow: VersionedRow {
    /// The columns that are written when the secrets are sealed under another key.
    const SEALED: &'static str;
}

macro_rules! columns {
    ($($type:ty = $kind:ident, |$it:ident| $write:expr, |$found:ident| $read:expr;)*) => {$(
        impl ToColumns for $type {
            fn write(&self, to: &mut Vec<Value>) {
                let $it = self;
                to.push(Value::$kind($write));
            }
        }

        impl FromColumns for $type {
            fn read(from: &mut IntoIter<Value>) -> Result<Self, VaultError> {
                match from.next() {
                    Some(Value::$kind($found)) => $read,
                    _ => None,
                }
                .ok_or_else(|| unreadable(stringify!($type)))
            }
        }
    )*};
}

columns! {
    String = Text, |it| it.clone(), |found| Some(found);
    Scopes = Text, |it| it.to_string(), |found| Scopes::parse(&found).ok();
    AuditEvent = Text, |it| it.name().to_owned(), |found| AuditEvent::named(&found);
    Vec<u8> = Bytes, |it| it.clone(), |found| Some(found);
    [u8; 16] = Bytes, |it| it.to_vec(), |found| found.try_into().ok();
    KeyId = Bytes, |it| it.0.to_vec(), |found| found.try_into().ok().map(KeyId);
    // SQL integers are signed. A larger time means never.
    u64 = Number, |it| i64::try_from(*it).unwrap_or(i64::MAX), |found| u64::try_from(found).ok();
    usize = Number, |it| i64::try_from(*it).unwrap_or(i64::MAX), |found| usize::try_from(found).ok();
    u32 = Number, |it| i64::from(*it), |found| u32::try_from(found).ok();
    bool = Number, |it| i64::from(*it), |found| Some(found != 0);
    // An optional name. Columns of a primary key are never null.
    Option<String> = Text, |it| optional_name(it.as_deref()), |found| Some(found.strip_prefix('=').map(str::to_owned));
}

macro_rules! nullable {
    ($($type:ty),*) => {$(
        impl ToColumns for Option<$type> {
            fn write(&self, to: &mut Vec<Value>) {
                match self {
                    Some(known) => known.write(to),
                    None => to.push(Value::Null),
                }
            }
        }

        impl FromColumns for Option<$type> {
            fn read(from: &mut IntoIter<Value>) -> Result<Self, VaultError> {
                match from.as_slice().first() {
                    Some(Value::Null) => Ok(from.next().and(None)),
                    _ => FromColumns::read(from).map(Some),
                }
            }
        }
    )*};
}

nullable!(u64, Vec<u8>, [u8; 16]);

/// A struct whose fields are consecutive columns.
macro_rules! fields {
    ($($type:ident { $($field:ident),* })*) => {$(
        impl ToColumns for $type {
            fn write(&self, to: &mut Vec<Value>) {
                $(self.$field.write(to);)*
            }
        }

        impl FromColumns for $type {
            fn read(from: &mut IntoIter<Value>) -> Result<Self, VaultError> {
                Ok(Self { $($field: FromColumns::read(from)?),* })
            }
        }
    )*};
}

fields! {
    Holder { tenant, issuer, subject }
    AccountKey { holder, provider, account }
    SealedSecrets { key, access, refresh }
    WrappedKey { kek_id, bytes }
    TenantKey { tenant, id, wrapped, made }
    EndedVisit { id, expires }
    Revocation { id, account, name, sealed, expires, due, attempts, is_spared }
    IntentRow { id, holder, provider, expires, busy_until, version, is_open, body }
    VaultRecord { account, name, version, state, scopes, obtained, expires, is_api_key, sealed, proof, lease }
    AuditEntry { number, record }
}

impl Row for VaultRecord {
    const TABLE: &'static str = "askback_vault_records";
    const COLUMNS: &'static str = "tenant, issuer, subject, provider, account, name, version, state, until, failures, \
        scopes, obtained, expires, is_api_key, key_id, access, refresh, proof, lease, lease_until";
    const KEY: usize = 5;
    const ORDER: &'static str = "tenant, issuer, subject, provider, account";
}

impl VersionedRow for VaultRecord {
    const CHANGES: &'static str = "name, version, state, until, failures, scopes, obtained, expires, is_api_key, \
        key_id, access, refresh, proof, lease, lease_until";
}

impl SealedRow for VaultRecord {
    // Keeps the lease, so that a concurrent renewal continues.
    const SEALED: &'static str = "key_id, access, refresh, proof";
}

impl Row for Revocation {
    const TABLE: &'static str = "askback_vault_revocations";
    const COLUMNS: &'static str = "id, tenant, issuer, subject, provider, account, name, key_id, access, refresh, \
        expires, due, attempts, is_spared";
}

impl VersionedRow for Revocation {
    const VERSION: &'static str = "attempts";
    const CHANGES: &'static str = "key_id, access, refresh, expires";
}

impl SealedRow for Revocation {
    const SEALED: &'static str = "key_id, access, refresh";
}

impl Row for TenantKey {
    const TABLE: &'static str = "askback_vault_keys";
    const COLUMNS: &'static str = "tenant, id, kek_id, wrapped, made";
    const KEY: usize = 2;
    const ORDER: &'static str = "number DESC";
}

impl VersionedRow for TenantKey {
    const VERSION: &'static str = "wrapped";
    const CHANGES: &'static str = "kek_id, wrapped";
}

impl Row for IntentRow {
    const TABLE: &'static str = "askback_vault_intents";
    const COLUMNS: &'static str =
        "id, tenant, issuer, subject, provider, expires, busy_until, version, is_open, body";
    const ERASES: bool = false;
}

impl VersionedRow for IntentRow {
    // The user, the provider and the expiry never change.
    const CHANGES: &'static str = "busy_until, version, is_open, body";
}

impl Row for EndedVisit {
    const TABLE: &'static str = "askback_vault_ended_visits";
    const COLUMNS: &'static str = "id, expires";
    const ERASES: bool = false;
}

impl Row for AuditEntry {
    const TABLE: &'static str = "askback_vault_audit";
    const COLUMNS: &'static str =
        "number, at, tenant, issuer, subject, provider, account, client, event";
    const ORDER: &'static str = "number";
}

impl ToColumns for str {
    fn write(&self, to: &mut Vec<Value>) {
        to.push(Value::Text(self.to_owned()));
    }
}

impl ToColumns for [u8] {
    fn write(&self, to: &mut Vec<Value>) {
        to.push(Value::Bytes(self.to_owned()));
    }
}

impl ToColumns for Option<&str> {
    fn write(&self, to: &mut Vec<Value>) {
        optional_name(*self).write(to);
    }
}

/// Writing a row releases its lease. Only [`Change::lease`](super::Change::lease) adds one.
impl ToColumns for Option<Lease> {
    fn write(&self, to: &mut Vec<Value>) {
        to.extend([Value::Null, Value::Null]);
    }
}

impl FromColumns for Option<Lease> {
    fn read(from: &mut IntoIter<Value>) -> Result<Self, VaultError> {
        let (id, until): (Option<_>, Option<_>) =
            (FromColumns::read(from)?, FromColumns::read(from)?);
        Ok(id.zip(until).map(|(id, until)| Lease { id, until }))
    }
}

const ACTIVE: &str = "active";
const COOLING_DOWN: &str = "cooling down";
const REPLACED: &str = "replaced";
const RECONNECTED: &str = "reconnected";
const NEEDS_RECONNECT: &str = "needs reconnect";

impl ToColumns for AccountState {
    fn write(&self, to: &mut Vec<Value>) {
        let (state, until, failures) = match *self {
            Self::CoolingDown { until, failures } => (COOLING_DOWN, until, failures),
            Self::NeedsReconnect => (NEEDS_RECONNECT, 0, 0),
            Self::Replaced { until } => (REPLACED, until, 0),
            Self::Reconnected { until } => (RECONNECTED, until, 0),
            // No record is being revoked.
            Self::Active | Self::Revoking => (ACTIVE, 0, 0),
        };
        to.push(Value::Text(state.to_owned()));
        to.extend(values(&[&until, &failures]));
    }
}

impl FromColumns for AccountState {
    fn read(from: &mut IntoIter<Value>) -> Result<Self, VaultError> {
        let (state, until) = (String::read(from)?, FromColumns::read(from)?);
        let failures = FromColumns::read(from)?;
        Ok(match &*state {
            ACTIVE => Self::Active,
            COOLING_DOWN => Self::CoolingDown { until, failures },
            NEEDS_RECONNECT => Self::NeedsReconnect,
            REPLACED => Self::Replaced { until },
            RECONNECTED => Self::Reconnected { until },
            _ => return Err(unreadable("AccountState")),
        })
    }
}

impl ToColumns for AuditRecord {
    fn write(&self, to: &mut Vec<Value>) {
        to.extend(values(&[&self.at, &self.tenant]));
        match &self.account {
            Some(AccountKey {
                holder,
                provider,
                account,
            }) => {
                holder.issuer.write(to);
                to.extend(values(&[&holder.subject, provider, account]));
            }
            None => to.extend([Value::Null, Value::Null, Value::Null, Value::Null]),
        }
        to.push(self.client.clone().map_or(Value::Null, Value::Text));
        self.event.write(to);
    }
}

impl FromColumns for AuditRecord {
    fn read(from: &mut IntoIter<Value>) -> Result<Self, VaultError> {
        let (at, tenant) = (FromColumns::read(from)?, Option::<String>::read(from)?);
        let account = match from.as_slice().first() {
            Some(Value::Null) => {
                from.by_ref().take(4).for_each(drop);
                None
            }
            _ => {
                let holder = Holder {
                    tenant: tenant.clone(),
                    issuer: FromColumns::read(from)?,
                    subject: FromColumns::read(from)?,
                };
                Some(AccountKey {
                    holder,
                    provider: FromColumns::read(from)?,
                    account: FromColumns::read(from)?,
                })
            }
        };
        let client = match from.next() {
            Some(Value::Text(client)) => Some(client),
            _ => None,
        };
        let event = FromColumns::read(from)?;
        Ok(Self {
            at,
            account,
            tenant,
            client,
            event,
        })
    }
}

pub(in crate::vault) fn values(parts: &[&dyn ToColumns]) -> Vec<Value> {
    let mut values = Vec::new();
    for part in parts {
        part.write(&mut values);
    }
    values
}

fn optional_name(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!("={name}"))
}

fn unreadable(what: &str) -> VaultError {
    VaultError::store(format!("a row does not hold a {what} where it should"))
}
