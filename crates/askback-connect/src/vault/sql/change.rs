use askback_core::ask::{Millis, keys::KeyId};
use askback_sql::{Batch, Statement, Value};

use super::Filter;
use super::rows::{Row, SealedRow, VersionedRow, values};
use crate::vault::account::AccountKey;
use crate::vault::audit::{AuditEntry, AuditRecord};
use crate::vault::store::{
    EndedVisit, IntentRoom, IntentRow, Lease, Revocation, SealedSecrets, Settlement, TenantKey,
    VaultRecord,
};

/// A change of one row, with everything that belongs in the same transaction. It is atomic.
#[must_use]
pub struct Change {
    before: Vec<Statement>,
    deciding: Statement,
    then: Vec<Statement>,
    audit: Option<AuditRecord>,
}

impl Change {
    /// Inserts a row, unless its key exists.
    pub fn insert<R: Row>(row: &R) -> Self {
        let columns = R::COLUMNS;
        let marks = vec!["?"; columns.split(", ").count()].join(", ");
        let text = format!(
            "INSERT INTO {} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING",
            R::TABLE
        );
        Self::of(Statement::new(text, values(&[row])))
    }

    /// Replaces the version `before` of a row. Releases the lease of a record.
    pub fn replace<R: VersionedRow>(row: &R, before: impl Into<Value>) -> Self {
        let condition = format!("{} = ?", R::VERSION);
        Self::update(row, R::CHANGES, |key| {
            key.and_value(condition, before.into())
        })
    }

    /// Requires that the record still has this lease. An expired lease counts unless another process has taken over.
    pub fn leased(mut self, lease: [u8; 16]) -> Self {
        self.deciding.text += " AND lease = ?";
        self.deciding.values.push(Value::Bytes(lease.to_vec()));
        self
    }

    /// Writes the new seals of a row's secrets, if its seals are still those in `from`. No two seals are equal, so
    /// comparing the access token's is enough.
    pub fn reseal<R: SealedRow>(row: &R, from: &SealedSecrets) -> Self {
        let condition = format!("{} = ?", R::VERSION);
        let version = column(row, R::VERSION);
        Self::update(row, R::SEALED, |key| {
            key.and_value(condition, version)
                .and("access = ?", &from.access)
        })
    }

    /// Leases the record of an account at this version, unless another lease lasts beyond `now`.
    pub fn lease(account: &AccountKey, version: u64, lease: Lease, now: Millis) -> Self {
        let free = Filter::account(account)
            .and("version = ?", &version)
            .and("(lease IS NULL OR lease_until <= ?)", &now);
        let new = values(&[&lease.id, &lease.until]);
        let text = free.update::<VaultRecord>("lease, lease_until", new);
        Self::of(Statement {
            erases: false,
            ..text
        })
    }

    /// Deletes the record of an account.
    pub fn remove(account: &AccountKey) -> Self {
        Self::of(Filter::account(account).delete::<VaultRecord>())
    }

    /// Adds a revocation with this id, due at once, for the tokens in the account's current record.
    pub fn owing(self, account: &AccountKey, (id, due): ([u8; 16], Millis)) -> Self {
        let of =
            "tenant, issuer, subject, provider, account, name, key_id, access, refresh, expires";
        let text = format!(
            "INSERT INTO {} (id, {of}, due, attempts) SELECT ?, {of}, ?, 0 FROM {}",
            Revocation::TABLE,
            VaultRecord::TABLE,
        );
        let of = Filter::account(account);
        self.before(of.on(text, values(&[&id, &due])))
    }

    /// Deletes a finished revocation, or postpones it.
    pub fn settle(id: [u8; 16], settled: Settlement) -> Self {
        let put_off = |due: Millis, is_spared: bool| {
            let new = values(&[&due, &is_spared]);
            let update = Filter::id(id).update::<Revocation>("due, is_spared", new);
            Statement {
                erases: false,
                ..update
            }
        };
        Self::of(match settled {
            Settlement::Done => Filter::id(id).delete::<Revocation>(),
            Settlement::Again(due) => put_off(due, false),
            Settlement::Spared(due) => put_off(due, true),
        })
    }

    /// Adds a key to a tenant whose newest key is `newest`.
    pub fn add_key(key: &TenantKey, newest: Option<KeyId>) -> Self {
        let (keys, columns) = (TenantKey::TABLE, TenantKey::COLUMNS);
        // Two concurrent inserts get the same number, so one fails.
        let text = format!(
            "INSERT INTO {keys} (number, {columns})
             SELECT COALESCE((SELECT max(number) FROM {keys} WHERE tenant = ?), 0) + 1, ?, ?, ?, ?, ?
             WHERE COALESCE((SELECT id FROM {keys} WHERE tenant = ? ORDER BY number DESC LIMIT 1), ?) = ?
             ON CONFLICT DO NOTHING"
        );
        let mut all = values(&[&key.tenant, key, &key.tenant]);
        let none = Value::Bytes(Vec::new());
        let newest = newest.map_or(none.clone(), |newest| Value::Bytes(newest.0.to_vec()));
        all.extend([none, newest]);
        Self::of(Statement::new(text, all))
    }

    /// Deletes a tenant's key, unless it is the newest. A foreign key protects a key that is still in use.
    pub fn drop_key(tenant: Option<&str>, key: KeyId) -> Self {
        let newest = "number < (SELECT max(number) FROM askback_vault_keys WHERE tenant = ?)";
        let older = Filter::tenant(tenant)
            .and("id = ?", &key)
            .and(newest, &tenant);
        Self::of(older.delete::<TenantKey>())
    }

    /// Adds an intent if the user has fewer than `room.open` open ones that expire after `now`. Does not count an
    /// intent whose exchange was interrupted. Then deletes the intents that [`IntentRoom`] has no room for.
    pub fn add_intent(intent: &IntentRow, room: IntentRoom, now: Millis) -> Self {
        let (intents, columns) = (IntentRow::TABLE, IntentRow::COLUMNS);
        let text = format!(
            "INSERT INTO {intents} ({columns}) SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
             WHERE (SELECT count(*) FROM {intents}
                 WHERE tenant = ? AND issuer = ? AND subject = ? AND is_open = 1
                     AND expires > ? AND (busy_until = 0 OR busy_until > ?)) < ?
             ON CONFLICT DO NOTHING"
        );
        let all = values(&[intent, &intent.holder, &now, &now, &room.open]);
        let ended = Filter::default().and("expires <= ?", &room.before);
        let text_of_surplus = format!(
            "DELETE FROM {intents} WHERE id IN (SELECT id FROM (
                 SELECT id, ROW_NUMBER() OVER (ORDER BY expires DESC, id) AS place FROM {intents}
                 WHERE tenant = ? AND issuer = ? AND subject = ? AND (is_open = 0 OR expires <= ?)
             ) AS closed WHERE place > ?)"
        );
        let surplus = values(&[&intent.holder, &room.at_work, &room.closed]);
        Self::of(Statement::new(text, all))
            .then(ended.delete::<IntentRow>())
            .then(Statement::new(text_of_surplus, surplus))
    }

    /// Records a visit that ended early, and deletes those that would have expired by `now`.
    pub fn end_visit(visit: &EndedVisit, now: Millis) -> Self {
        let over = Filter::default().and("expires <= ?", &now);
        Self::insert(visit).then(over.delete::<EndedVisit>())
    }

    /// Adds an audit record, if something was changed.
    pub fn audited(mut self, line: &AuditRecord) -> Self {
        self.audit = Some(line.clone());
        self
    }

    /// Adds an audit record unconditionally. `turn` comes first, so that each later statement sees the records of
    /// earlier turns. Keeps the newest `most` records of each user and event.
    pub(super) fn append(line: &AuditRecord, most: usize, turn: Option<&'static str>) -> Batch {
        let mut then = Vec::new();
        if let Some(holder) = line.holder() {
            let lines = AuditEntry::TABLE;
            let text = format!(
                "DELETE FROM {lines} WHERE number IN (SELECT number FROM (
                     SELECT number, ROW_NUMBER() OVER (PARTITION BY event ORDER BY number DESC) AS place
                     FROM {lines} WHERE tenant = ? AND issuer = ? AND subject = ?
                 ) AS placed WHERE place > ?)"
            );
            then.push(Statement::new(text, values(&[holder, &most])));
        }
        let (deciding, line) = match take_turn(turn, line) {
            Some(turn) => (turn, Some(inserted(line))),
            None => (inserted(line), None),
        };
        Batch {
            before: Vec::new(),
            deciding,
            then: line.into_iter().chain(then).collect(),
        }
    }

    pub(super) fn of(deciding: Statement) -> Self {
        Self {
            before: Vec::new(),
            deciding,
            then: Vec::new(),
            audit: None,
        }
    }

    pub(super) fn before(mut self, statement: Statement) -> Self {
        self.before.push(statement);
        self
    }

    fn then(mut self, statement: Statement) -> Self {
        self.then.push(statement);
        self
    }

    fn update<R: VersionedRow>(
        row: &R,
        columns: &str,
        which: impl FnOnce(Filter) -> Filter,
    ) -> Self {
        let key: Vec<_> = R::COLUMNS.split(", ").take(R::KEY).collect();
        let key = key.into_iter().fold(Filter::default(), |filter, name| {
            filter.and_value(format!("{name} = ?"), column(row, name))
        });
        let new = columns.split(", ").map(|name| column(row, name));
        Self::of(which(key).update::<R>(columns, new.collect()))
    }

    pub(super) fn batch(mut self, turn: Option<&'static str>) -> Batch {
        if let Some(line) = &self.audit {
            self.then.extend(take_turn(turn, line));
            self.then.push(inserted(line));
        }
        Batch {
            before: self.before,
            deciding: self.deciding,
            then: self.then,
        }
    }
}

/// Orders concurrent audit writes of a tenant, if the database needs a statement for that.
fn take_turn(turn: Option<&'static str>, line: &AuditRecord) -> Option<Statement> {
    turn.map(|text| Statement::new(text, values(&[&line.tenant])))
}

fn inserted(line: &AuditRecord) -> Statement {
    let columns = AuditEntry::COLUMNS.trim_start_matches("number, ");
    let text = format!(
        "INSERT INTO {} ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        AuditEntry::TABLE
    );
    Statement::new(text, values(&[line]))
}

fn column<R: Row>(row: &R, name: &str) -> Value {
    let place = R::COLUMNS.split(", ").position(|column| column == name);
    let value = place.and_then(|place| values(&[row]).into_iter().nth(place));
    value.unwrap_or(Value::Null)
}
