//! Statements, and what is done in one transaction.

use super::rows::{self, name, number};
use super::{Batch, Statement, Value};
use crate::vault::account::AccountKey;
use crate::vault::audit::AuditRecord;

pub(super) fn statement(text: &'static str, values: Vec<Value>) -> Statement {
    Statement {
        text,
        values,
        erases: false,
    }
}

/// A statement that takes out secrets, keys or lines about persons.
pub(super) fn erasing(text: &'static str, values: Vec<Value>) -> Statement {
    Statement {
        text,
        values,
        erases: true,
    }
}

pub(super) fn batch(deciding: Statement) -> Batch {
    Batch {
        before: Vec::new(),
        deciding,
        then: Vec::new(),
    }
}

impl Batch {
    pub(super) fn before(mut self, statement: Statement) -> Self {
        self.before.push(statement);
        self
    }

    pub(super) fn maybe_before(mut self, statement: Option<Statement>) -> Self {
        self.before.extend(statement);
        self
    }

    pub(super) fn then(mut self, statement: Statement) -> Self {
        self.then.push(statement);
        self
    }

    /// Whether it takes something out that nobody is to read any more.
    #[cfg_attr(
        not(feature = "sqlite"),
        expect(dead_code, reason = "PostgreSQL clears its files by itself")
    )]
    pub(super) fn erases(&self) -> bool {
        let all = self.before.iter().chain([&self.deciding]).chain(&self.then);
        all.into_iter().any(|statement| statement.erases)
    }

    /// Adds a line to the audit, after `turn`.
    pub(super) fn audited(mut self, turn: Option<&'static str>, audit: &AuditRecord) -> Self {
        self.then.extend(turn_of(turn, audit));
        self.then(appended(audit))
    }
}

/// Has the lines of a tenant's audit come one after the other, where the database needs to be told.
pub(super) fn turn_of(turn: Option<&'static str>, audit: &AuditRecord) -> Option<Statement> {
    turn.map(|text| statement(text, vec![name(audit.tenant.as_deref())]))
}

pub(super) fn appended(audit: &AuditRecord) -> Statement {
    statement(
        "INSERT INTO askback_vault_audit
             (at, tenant, issuer, subject, provider, account, client, event)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
        rows::audit(audit),
    )
}

/// The values of an account, and then others.
pub(super) fn of_account(
    account: &AccountKey,
    others: impl IntoIterator<Item = Value>,
) -> Vec<Value> {
    let mut values = rows::account(account);
    values.extend(others);
    values
}

pub(super) fn count(most: usize) -> Value {
    number(most as u64)
}
