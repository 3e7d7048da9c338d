//! Intents, and visits of their pages, in statements.

use askback_core::ask::Millis;

use super::batch::{batch, count, statement};
use super::rows::{self, bytes, number, text};
use super::{Batch, Statement};
use crate::vault::account::Holder;
use crate::vault::audit::AuditRecord;
use crate::vault::store::{IntentRoom, IntentRow};

/// Adds one, and removes those that there is no room for.
pub(super) fn added(intent: &IntentRow, room: IntentRoom, now: Millis) -> Batch {
    let mut values = vec![bytes(&intent.id)];
    values.extend(rows::holder(&intent.holder));
    values.extend([number(intent.expires), number(intent.version)]);
    values.extend([number(intent.is_open.into()), bytes(&intent.body)]);
    values.extend([count(room.open), number(now)]);
    values.extend([text(&intent.provider), number(intent.busy_until)]);
    let insert = statement(
        "INSERT INTO askback_vault_intents (id, tenant, issuer, subject, expires, version,
             is_open, body, provider, busy_until)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $11, $12
         WHERE (SELECT count(*) FROM askback_vault_intents
             WHERE tenant = $2 AND issuer = $3 AND subject = $4 AND is_open = 1
                 AND expires > $10 AND (busy_until = 0 OR busy_until > $10)) < $9
         ON CONFLICT (id) DO NOTHING",
        values,
    );
    let ended = statement(
        "DELETE FROM askback_vault_intents WHERE expires <= $1",
        vec![number(room.before)],
    );
    let mut values = rows::holder(&intent.holder);
    values.extend([number(room.at_work), count(room.closed)]);
    let surplus = statement(
        "DELETE FROM askback_vault_intents WHERE id IN (SELECT id FROM (
             SELECT id, ROW_NUMBER() OVER (ORDER BY expires DESC, id) AS place
             FROM askback_vault_intents
             WHERE tenant = $1 AND issuer = $2 AND subject = $3
                 AND (is_open = 0 OR expires <= $4)
         ) AS closed WHERE place > $5)",
        values,
    );
    batch(insert).then(ended).then(surplus)
}

/// Reads one.
pub(super) fn of_id(id: [u8; 16]) -> Statement {
    statement(
        "SELECT id, tenant, issuer, subject, provider, expires, busy_until, version, is_open, body
         FROM askback_vault_intents WHERE id = $1",
        vec![bytes(&id)],
    )
}

/// Finds those of a person that are busy at a provider.
pub(super) fn busy(holder: &Holder, provider: &str, now: Millis) -> Statement {
    let mut values = rows::holder(holder);
    values.extend([text(provider), number(now)]);
    statement(
        "SELECT id FROM askback_vault_intents
         WHERE tenant = $1 AND issuer = $2 AND subject = $3 AND provider = $4 AND busy_until > $5
         LIMIT 1",
        values,
    )
}

/// Puts one in place of its version before.
pub(super) fn advanced(
    intent: &IntentRow,
    expected: u64,
    turn: Option<&'static str>,
    audit: &AuditRecord,
) -> Batch {
    let update = statement(
        "UPDATE askback_vault_intents
         SET version = $2, body = $3, is_open = $5, busy_until = $6
         WHERE id = $1 AND version = $4",
        vec![
            bytes(&intent.id),
            number(intent.version),
            bytes(&intent.body),
            number(expected),
            number(intent.is_open.into()),
            number(intent.busy_until),
        ],
    );
    batch(update).audited(turn, audit)
}

/// Notes a visit that has ended, and removes those that are noted no longer.
pub(super) fn visit_ended(visit: [u8; 16], expires: Millis, now: Millis) -> Batch {
    let insert = statement(
        "INSERT INTO askback_vault_ended_visits (id, expires) VALUES ($1, $2)
         ON CONFLICT (id) DO UPDATE SET expires = excluded.expires",
        vec![bytes(&visit), number(expires)],
    );
    let over = statement(
        "DELETE FROM askback_vault_ended_visits WHERE expires <= $1",
        vec![number(now)],
    );
    batch(insert).then(over)
}
