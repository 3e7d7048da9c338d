use std::borrow::Cow;

use askback_core::ask::{Millis, keys::KeyId};
use askback_sql::{Statement, Value};

use super::rows::{Row, ToColumns, values};
use crate::vault::account::{AccountKey, Holder};
use crate::vault::audit::AuditEvent;

/// The rows that a store lists: those that meet all conditions.
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct Filter {
    conditions: Vec<Cow<'static, str>>,
    values: Vec<Value>,
    order: Option<&'static str>,
    most: Option<usize>,
}

impl Filter {
    /// The rows of a user.
    pub fn of(holder: &Holder) -> Self {
        Self::default().and("tenant = ? AND issuer = ? AND subject = ?", holder)
    }

    /// The row of an account.
    pub fn account(account: &AccountKey) -> Self {
        let same = "tenant = ? AND issuer = ? AND subject = ? AND provider = ? AND account = ?";
        Self::default().and(same, account)
    }

    /// The rows of a provider's account, from all users and tenants. Ignores display names, because users choose them.
    pub fn anyones(provider: &str, account: &str) -> Self {
        Self::default().at(provider).and("account = ?", account)
    }

    /// The rows of a tenant.
    pub fn tenant(tenant: Option<&str>) -> Self {
        Self::default().and("tenant = ?", &tenant)
    }

    /// The row with this id.
    pub fn id(id: [u8; 16]) -> Self {
        Self::default().and("id = ?", &id)
    }

    /// The keys that are not wrapped by this key-encryption key.
    pub fn wrapped_otherwise(kek_id: &str) -> Self {
        Self::default().and("kek_id <> ?", kek_id)
    }

    /// A key wrapped by the next key-encryption key after this one, sorted by name.
    pub fn next_wrapped(kek_id: &str) -> Self {
        let next = Self::default().and("kek_id > ?", kek_id);
        Self {
            order: Some("kek_id"),
            ..next.most(1)
        }
    }

    /// Only rows of this provider.
    pub fn at(self, provider: &str) -> Self {
        self.and("provider = ?", provider)
    }

    /// Only rows that are sealed under another key.
    pub fn sealed_otherwise(self, key: KeyId) -> Self {
        self.and("key_id <> ?", &key)
    }

    /// Only intents whose provider is issuing tokens at this time.
    pub fn busy(self, now: Millis) -> Self {
        self.and("busy_until > ?", &now)
    }

    /// Only audit records after this number.
    pub fn after(self, number: u64) -> Self {
        self.and("number > ?", &number)
    }

    /// Only audit records of this event.
    pub fn event(self, event: AuditEvent) -> Self {
        self.and("event = ?", &event)
    }

    /// Limits the number of rows.
    pub fn most(mut self, most: usize) -> Self {
        self.most = Some(most);
        self
    }

    pub(super) fn and(
        mut self,
        condition: &'static str,
        value: &(impl ToColumns + ?Sized),
    ) -> Self {
        self.conditions.push(condition.into());
        value.write(&mut self.values);
        self
    }

    pub(super) fn and_value(mut self, condition: String, value: Value) -> Self {
        self.conditions.push(condition.into());
        self.values.push(value);
        self
    }

    pub(super) fn select<R: Row>(self) -> Statement {
        let (columns, order) = (R::COLUMNS, self.order.unwrap_or(R::ORDER));
        let most = values(&[&self.most.unwrap_or(usize::MAX)]);
        let text = format!("SELECT {columns} FROM {}", R::TABLE);
        let mut select = self.on(text, Vec::new());
        select.text += &format!(" ORDER BY {order} LIMIT ?");
        select.values.extend(most);
        select
    }

    pub(super) fn delete<R: Row>(self) -> Statement {
        Statement {
            erases: R::ERASES,
            ..self.on(format!("DELETE FROM {}", R::TABLE), Vec::new())
        }
    }

    pub(super) fn update<R: Row>(self, columns: &str, values: Vec<Value>) -> Statement {
        let columns = columns.replace(", ", " = ?, ");
        let text = format!("UPDATE {} SET {columns} = ?", R::TABLE);
        Statement {
            erases: R::ERASES,
            ..self.on(text, values)
        }
    }

    /// A statement. `values` are the parameters before the conditions.
    pub(super) fn on(self, text: String, mut values: Vec<Value>) -> Statement {
        values.extend(self.values);
        Statement::new(
            format!("{text} WHERE {}", self.conditions.join(" AND ")),
            values,
        )
    }
}
