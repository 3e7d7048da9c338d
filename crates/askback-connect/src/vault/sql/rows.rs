//! Rows of the tables as the types of the contract, and back.

use askback_core::{ask::keys::KeyId, auth::Scopes};

use super::Value;
use crate::vault::account::{AccountKey, AccountName, AccountState, Holder};
use crate::vault::audit::{AuditEntry, AuditEvent, AuditRecord};
use crate::vault::error::VaultError;
use crate::vault::store::{IntentRow, Lease, Revocation, Sealed, TenantKey, VaultRecord, Wrapped};

/// The values of a row, taken from left to right.
pub(super) struct Row(std::vec::IntoIter<Value>);

type Read<T> = Result<T, VaultError>;

impl Row {
    pub(super) fn new(values: Vec<Value>) -> Self {
        Self(values.into_iter())
    }

    fn maybe_text(&mut self) -> Read<Option<String>> {
        match self.0.next() {
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(Value::Null) => Ok(None),
            _ => Err(unreadable("a text")),
        }
    }

    fn text(&mut self) -> Read<String> {
        self.maybe_text()?.ok_or_else(|| unreadable("a text"))
    }

    fn maybe_bytes(&mut self) -> Read<Option<Vec<u8>>> {
        match self.0.next() {
            Some(Value::Bytes(bytes)) => Ok(Some(bytes)),
            Some(Value::Null) => Ok(None),
            _ => Err(unreadable("bytes")),
        }
    }

    fn bytes(&mut self) -> Read<Vec<u8>> {
        self.maybe_bytes()?.ok_or_else(|| unreadable("bytes"))
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let bytes = self.bytes()?;
        bytes.try_into().map_err(|_| unreadable("an id"))
    }

    fn maybe_number(&mut self) -> Read<Option<u64>> {
        match self.0.next() {
            Some(Value::Number(number)) => Ok(u64::try_from(number).ok()),
            Some(Value::Null) => Ok(None),
            _ => Err(unreadable("a number")),
        }
    }

    fn number(&mut self) -> Read<u64> {
        self.maybe_number()?.ok_or_else(|| unreadable("a number"))
    }

    fn count(&mut self) -> Read<u32> {
        Ok(u32::try_from(self.number()?).unwrap_or(u32::MAX))
    }

    /// The columns `tenant, issuer, subject, provider, account`.
    fn account(&mut self) -> Read<AccountKey> {
        Ok(AccountKey {
            holder: self.holder()?,
            provider: self.text()?,
            account: self.text()?,
        })
    }

    /// All columns of an intent.
    pub(super) fn intent(mut self) -> Read<IntentRow> {
        Ok(IntentRow {
            id: self.array()?,
            holder: self.holder()?,
            provider: self.text()?,
            expires: self.number()?,
            busy_until: self.number()?,
            version: self.number()?,
            is_open: self.number()? != 0,
            body: self.bytes()?,
        })
    }

    /// The columns `tenant, issuer, subject`.
    fn holder(&mut self) -> Read<Holder> {
        Ok(Holder {
            tenant: read_name(&self.text()?),
            issuer: read_name(&self.text()?),
            subject: self.text()?,
        })
    }

    /// The columns `key_id, access, refresh`.
    fn sealed(&mut self) -> Read<Sealed> {
        Ok(Sealed {
            key: KeyId(self.array()?),
            access: self.bytes()?,
            refresh: self.maybe_bytes()?,
        })
    }

    /// All columns of a record.
    pub(super) fn record(mut self) -> Read<VaultRecord> {
        let account = self.account()?;
        let name = AccountName::from(self.text()?);
        let version = self.number()?;
        let (state, until, failures) = (self.text()?, self.number()?, self.count()?);
        let state = match &*state {
            ACTIVE => AccountState::Active,
            COOLING_DOWN => AccountState::CoolingDown { until, failures },
            NEEDS_RECONNECT => AccountState::NeedsReconnect,
            REPLACED => AccountState::Replaced { until },
            RECONNECTED => AccountState::Reconnected { until },
            _ => return Err(unreadable("a state")),
        };
        let scopes = Scopes::parse(&self.text()?).map_err(|_| unreadable("scopes"))?;
        let (obtained, expires) = (self.number()?, self.maybe_number()?);
        let is_api_key = self.number()? != 0;
        let (sealed, proof) = (self.sealed()?, self.bytes()?);
        let (lease, until) = (self.maybe_bytes()?, self.maybe_number()?);
        let id = lease.map(|id| id.try_into().map_err(|_| unreadable("a lease")));
        let lease = id.transpose()?.map(|id| Lease {
            id,
            until: until.unwrap_or(0),
        });
        Ok(VaultRecord {
            account,
            name,
            version,
            state,
            scopes,
            obtained,
            expires,
            is_api_key,
            sealed,
            proof,
            lease,
        })
    }

    /// All columns of a revocation.
    pub(super) fn revocation(mut self) -> Read<Revocation> {
        Ok(Revocation {
            id: self.array()?,
            account: self.account()?,
            name: self.text()?.into(),
            sealed: self.sealed()?,
            expires: self.maybe_number()?,
            due: self.number()?,
            attempts: self.count()?,
            is_spared: self.number()? != 0,
        })
    }

    /// The columns `tenant, id, kek_id, wrapped, made`.
    pub(super) fn key(mut self) -> Read<(Option<String>, TenantKey)> {
        let tenant = read_name(&self.text()?);
        let id = KeyId(self.array()?);
        let wrapped = Wrapped {
            kek_id: self.text()?,
            bytes: self.bytes()?,
        };
        let made = self.number()?;
        Ok((tenant, TenantKey { id, wrapped, made }))
    }

    /// All columns of a line of the audit.
    pub(super) fn audit(mut self) -> Read<AuditEntry> {
        let (number, at) = (self.number()?, self.number()?);
        let tenant = read_name(&self.text()?);
        let (issuer, subject) = (self.maybe_text()?, self.maybe_text()?);
        let (provider, account) = (self.maybe_text()?, self.maybe_text()?);
        let client = self.maybe_text()?;
        let event = AuditEvent::named(&self.text()?).ok_or_else(|| unreadable("an event"))?;
        let account = match (issuer, subject, provider, account) {
            (Some(issuer), Some(subject), Some(provider), Some(account)) => Some(AccountKey {
                holder: Holder {
                    tenant: tenant.clone(),
                    issuer: read_name(&issuer),
                    subject,
                },
                provider,
                account,
            }),
            _ => None,
        };
        let record = AuditRecord {
            at,
            account,
            tenant,
            client,
            event,
        };
        Ok(AuditEntry { number, record })
    }
}

const ACTIVE: &str = "active";
const COOLING_DOWN: &str = "cooling down";
const REPLACED: &str = "replaced";
const RECONNECTED: &str = "reconnected";
const NEEDS_RECONNECT: &str = "needs reconnect";

/// The columns of a record, in their order.
pub(super) fn record(record: &VaultRecord) -> Vec<Value> {
    let (state, until, failures) = match record.state {
        AccountState::CoolingDown { until, failures } => (COOLING_DOWN, until, failures),
        AccountState::NeedsReconnect => (NEEDS_RECONNECT, 0, 0),
        AccountState::Replaced { until } => (REPLACED, until, 0),
        AccountState::Reconnected { until } => (RECONNECTED, until, 0),
        _ => (ACTIVE, 0, 0),
    };
    let mut values = account(&record.account);
    values.extend([
        text(&record.name),
        number(record.version),
        text(state),
        number(until),
        number(failures.into()),
        text(&record.scopes.to_string()),
        number(record.obtained),
        optional(record.expires),
        number(record.is_api_key.into()),
    ]);
    values.extend(sealed(&record.sealed));
    values.push(bytes(&record.proof));
    values
}

/// The columns `tenant, issuer, subject, provider, account`.
pub(super) fn account(account: &AccountKey) -> Vec<Value> {
    let mut values = holder(&account.holder);
    values.extend([text(&account.provider), text(&account.account)]);
    values
}

/// The columns `tenant, issuer, subject`.
pub(super) fn holder(holder: &Holder) -> Vec<Value> {
    vec![
        name(holder.tenant.as_deref()),
        name(holder.issuer.as_deref()),
        text(&holder.subject),
    ]
}

/// The columns `key_id, access, refresh`.
pub(super) fn sealed(sealed: &Sealed) -> Vec<Value> {
    let refresh = sealed.refresh.clone();
    vec![
        bytes(&sealed.key.0),
        bytes(&sealed.access),
        refresh.map_or(Value::Null, Value::Bytes),
    ]
}

/// The columns of a line of the audit, without its number.
pub(super) fn audit(record: &AuditRecord) -> Vec<Value> {
    let mut values = vec![number(record.at), name(record.tenant.as_deref())];
    match &record.account {
        Some(of) => values.extend([
            name(of.holder.issuer.as_deref()),
            text(&of.holder.subject),
            text(&of.provider),
            text(&of.account),
        ]),
        None => values.extend([Value::Null, Value::Null, Value::Null, Value::Null]),
    }
    values.push(record.client.as_deref().map_or(Value::Null, text));
    values.push(text(record.event.name()));
    values
}

pub(super) fn text(text: &str) -> Value {
    Value::Text(text.to_owned())
}

pub(super) fn bytes(bytes: &[u8]) -> Value {
    Value::Bytes(bytes.to_owned())
}

/// The integers of databases are signed; a moment beyond them is as good as never.
pub(super) fn number(number: u64) -> Value {
    Value::Number(i64::try_from(number).unwrap_or(i64::MAX))
}

/// A number that may be missing.
pub(super) fn optional(known: Option<u64>) -> Value {
    known.map_or(Value::Null, number)
}

/// A name that may be missing: a column of a primary key is never null.
pub(super) fn name(name: Option<&str>) -> Value {
    Value::Text(name.map_or_else(String::new, |name| format!("={name}")))
}

fn read_name(written: &str) -> Option<String> {
    written.strip_prefix('=').map(str::to_owned)
}

fn unreadable(what: &str) -> VaultError {
    VaultError::store(format!("a row does not hold {what} where it should"))
}
