//! Intents in the vault's store.

use std::fmt;

use askback_core::ask::Millis;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Intent, IntentId, Purpose, Stage};
use crate::vault::{AuditEvent, Holder, IntentRow, Vault, VaultError};

/// How often something is noted that others change at the same time.
pub(crate) const TRIES: usize = 8;

/// An intent as it was read, which may be put in place of what was read.
pub(crate) struct Kept {
    pub(crate) id: IntentId,
    pub(crate) intent: Intent,
    version: u64,
}

/// Why an intent was not written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unkept {
    /// It was changed at the same time.
    #[error("it was changed at the same time")]
    Changed,
    /// The store failed.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

/// The part of an intent that the store does not look at. It is sealed, so that only a vault writes it.
#[derive(Serialize, Deserialize)]
struct Body {
    client: Option<String>,
    purpose: Purpose,
    stage: Stage,
    account: Option<String>,
    mismatches: u32,
    taken: Millis,
    visit: Option<[u8; 16]>,
}

impl IntentId {
    /// One that nobody guesses.
    pub(crate) fn random() -> Result<Self, VaultError> {
        crate::vault::entropy().map(Self)
    }

    /// The id of its row. It leads to no link.
    fn row(self) -> [u8; 16] {
        let digest: [u8; 32] = Sha256::digest(self.0).into();
        let mut row = [0; 16];
        row.copy_from_slice(&digest[..16]);
        row
    }

    /// Reads the 32 hexadecimal digits of a link, in small letters.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let is_digit = |c: &u8| c.is_ascii_digit() || (b'a'..=b'f').contains(c);
        if text.len() != 32 || !text.as_bytes().iter().all(is_digit) {
            return None;
        }
        u128::from_str_radix(text, 16)
            .ok()
            .map(|id| Self(id.to_be_bytes()))
    }
}

impl fmt::Display for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

/// The id of a link is not printed: whoever has it may spoil it.
impl fmt::Debug for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IntentId")
    }
}

impl Kept {
    /// Adds an intent. Returns whether the person has room for it; one of this id may be there already, from the same
    /// step done twice.
    pub(crate) async fn add(
        vault: &Vault,
        id: IntentId,
        intent: &Intent,
    ) -> Result<bool, VaultError> {
        let row = row(id, intent, 1)?;
        let added = vault.add_intent(row).await?;
        if added {
            let mut line = vault.line(&intent.holder, intent.purpose.name(), AuditEvent::Asked);
            line.client = intent.client.clone();
            vault.append(&line).await?;
        }
        Ok(added)
    }

    /// Reads the intent of this id.
    pub(crate) async fn find(vault: &Vault, id: IntentId) -> Result<Option<Self>, VaultError> {
        let Some(row) = vault.intent(id.row()).await? else {
            return Ok(None);
        };
        let IntentRow {
            holder,
            expires,
            version,
            body,
            ..
        } = row;
        let body = serde_json::from_slice(&body).map_err(VaultError::store)?;
        let intent = read(holder, expires, body);
        Ok(Some(Self {
            id,
            intent,
            version,
        }))
    }

    /// Notes what came of what was taken: that it is done, with the account that was connected, that the person may try
    /// again, or that nobody can. What others note of the same intent at the same time stays.
    pub(crate) async fn settle(
        &mut self,
        vault: &Vault,
        to: Stage,
        account: Option<&str>,
        event: AuditEvent,
    ) -> Result<(), Unkept> {
        let settled = self.step(vault, event, |intent| {
            let was_exchanged = intent.exchanged(to.clone(), vault.now());
            intent.account = account.map(str::to_owned);
            was_exchanged
        });
        match settled.await? {
            true => Ok(()),
            false => Err(Unkept::Changed),
        }
    }

    /// Takes a step, where it can be taken, with a line of the audit. What others note of the same intent at the same time
    /// stays, and the step is taken after theirs. Returns whether it was taken.
    pub(crate) async fn step(
        &mut self,
        vault: &Vault,
        event: AuditEvent,
        step: impl Fn(&mut Intent) -> bool,
    ) -> Result<bool, Unkept> {
        for _ in 0..TRIES {
            if !step(&mut self.intent) {
                return Ok(false);
            }
            match self.write(vault, event).await {
                Err(Unkept::Changed) => {}
                written => return written.map(|()| true),
            }
            let again = Self::find(vault, self.id).await?;
            *self = again.ok_or(Unkept::Changed)?;
        }
        Err(Unkept::Changed)
    }

    /// Writes the intent in place of what was read, with a line of the audit.
    pub(crate) async fn write(&mut self, vault: &Vault, event: AuditEvent) -> Result<(), Unkept> {
        let version = self.version + 1;
        let row = row(self.id, &self.intent, version)?;
        let mut line = vault.line(&self.intent.holder, self.intent.purpose.name(), event);
        line.client = self.intent.client.clone();
        if !vault.advance_intent(row, self.version, &line).await? {
            return Err(Unkept::Changed);
        }
        self.version = version;
        Ok(())
    }
}

fn row(id: IntentId, intent: &Intent, version: u64) -> Result<IntentRow, VaultError> {
    let body = Body {
        client: intent.client.clone(),
        purpose: intent.purpose.clone(),
        stage: intent.stage.clone(),
        account: intent.account.clone(),
        mismatches: intent.mismatches,
        taken: intent.taken,
        visit: intent.visit,
    };
    Ok(IntentRow {
        id: id.row(),
        holder: intent.holder.clone(),
        provider: intent.purpose.name().to_owned(),
        expires: intent.expires,
        busy_until: intent.busy_until(),
        version,
        // A list of accounts is nothing that the person has to finish, so it takes no place of others.
        is_open: !intent.stage.is_final() && intent.purpose != Purpose::Accounts,
        body: serde_json::to_vec(&body).map_err(VaultError::store)?,
    })
}

fn read(holder: Holder, expires: Millis, body: Body) -> Intent {
    let Body {
        client,
        purpose,
        stage,
        account,
        mismatches,
        taken,
        visit,
    } = body;
    Intent {
        holder,
        client,
        purpose,
        expires,
        stage,
        account,
        mismatches,
        taken,
        visit,
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use std::sync::Arc;

    use askback_core::ask::keys::{Key, KeyRing};

    use super::*;
    use crate::intents::EXCHANGE;
    use crate::vault::{Change, Filter, LocalKeys, SqliteVault, VaultSettings, VaultStore};

    /// A page that the person has not paid on, as somebody who can write the database and has no key would have it.
    #[tokio::test]
    async fn an_intent_with_a_changed_column_does_not_open() {
        const ID: IntentId = IntentId([1; 16]);
        let page = Purpose::Page {
            name: "deposit".to_owned(),
            path: "/pay".to_owned(),
        };
        let store: Arc<dyn VaultStore> = Arc::new(SqliteVault::in_memory().expect("a store"));
        let keys = KeyRing::new(Key::new(&[7; 32]));
        let keys = Arc::new(LocalKeys::new(keys));
        let opened = Vault::open(Arc::clone(&store), keys, VaultSettings::default());
        let vault = opened.await.expect("a vault");
        let holder = |subject: &str| Holder {
            tenant: Some("t".to_owned()),
            issuer: None,
            subject: subject.to_owned(),
        };
        let intent = Intent::new(holder("ada"), None, page, vault.now());
        assert!(Kept::add(&vault, ID, &intent).await.expect("an intent"));
        let read = async || {
            let found = store.list::<IntentRow>(Filter::id(ID.row())).await;
            found.expect("a store").remove(0)
        };
        let older = read().await;
        let mut kept = Kept::find(&vault, ID).await.expect("a store").expect("it");
        assert!(kept.intent.redirect("a", [1; 16]));
        let written = kept.write(&vault, AuditEvent::Consented).await;
        written.expect("the intent is written");
        let genuine = read().await;
        let plain = IntentRow {
            body: row(ID, &kept.intent, 2).expect("a row").body,
            ..genuine.clone()
        };
        let text = String::from_utf8(plain.body.clone()).expect("JSON");
        assert!(text.contains("deposit") && text.contains("Redirected"));

        let write = async |row: &IntentRow| {
            // The store itself changes no person and no end.
            let key = crate::vault::TenantKey {
                tenant: Some("t".to_owned()),
                id: askback_core::ask::keys::KeyId([9; 8]),
                wrapped: crate::vault::Wrapped {
                    kek_id: String::new(),
                    bytes: Vec::new(),
                },
                made: 0,
            };
            let added = store.write(Change::add_key(&key, None)).await;
            assert!(added.expect("a store").is_kept());
            let line = vault.line(&row.holder, "", AuditEvent::TenantDeleted);
            let deleted = store.delete_tenant(Some("t"), &line).await;
            assert!(deleted.expect("a store"));
            let room = crate::vault::IntentRoom {
                open: 9,
                closed: 9,
                at_work: 0,
                before: 0,
            };
            let added = store.write(Change::add_intent(row, room, 0)).await;
            assert!(added.expect("a store").is_kept());
        };
        type Alteration = fn(&mut IntentRow, &IntentRow);
        let changes: [(&str, Alteration); 9] = [
            ("an older body", |it, older| it.body.clone_from(&older.body)),
            ("an older version", |it, older| it.version = older.version),
            ("end", |it, _| it.expires += 1),
            ("openness", |it, _| it.is_open = false),
            ("time of work", |it, _| it.busy_until = 1),
            ("provider", |it, _| it.provider = "other".to_owned()),
            ("person", |it, _| it.holder.subject = "eve".to_owned()),
            ("a byte", |it, _| *it.body.last_mut().expect("bytes") ^= 1),
            ("no body", |it, _| it.body.clear()),
        ];
        for (what, change) in changes {
            for from in [&genuine, &plain] {
                let mut changed = from.clone();
                change(&mut changed, &older);
                write(&changed).await;
                let found = Kept::find(&vault, ID).await.map(|found| found.is_some());
                let is_refused = matches!(found, Err(VaultError::NotAuthentic));
                assert!(is_refused, "{what}: {found:?}");
            }
        }
        let done = text.replace(
            &text[text.find("{\"Redirected").expect("it")..text.find(",\"account\"").expect("it")],
            "\"Done\"",
        );
        assert!(done.contains("\"stage\":\"Done\""), "{done}");
        write(&IntentRow {
            body: done.into_bytes(),
            ..genuine.clone()
        })
        .await;
        assert!(Kept::find(&vault, ID).await.is_err());
        write(&genuine).await;
        assert!(Kept::find(&vault, ID).await.expect("a store").is_some());
        // Under another link, it does not open either.
        let copied = IntentRow {
            id: IntentId([2; 16]).row(),
            ..genuine.clone()
        };
        write(&copied).await;
        assert!(Kept::find(&vault, IntentId([2; 16])).await.is_err());
    }

    #[tokio::test]
    async fn an_intent_is_busy_while_its_provider_is_asked_for_tokens() {
        const VISIT: [u8; 16] = [1; 16];
        let account = Purpose::Account {
            provider: "github".to_owned(),
            scopes: String::new(),
            kept: String::new(),
            account: None,
        };
        let secret = Purpose::Secret {
            name: "github".to_owned(),
            title: "GitHub".to_owned(),
        };
        for (purpose, is_busy) in [(account, true), (secret, false)] {
            let store: Arc<dyn VaultStore> = Arc::new(SqliteVault::in_memory().expect("a store"));
            let keys = KeyRing::new(Key::new(&[7; 32]));
            let keys = Arc::new(LocalKeys::new(keys));
            let opened = Vault::open(Arc::clone(&store), keys, VaultSettings::default());
            let vault = opened.await.expect("a vault");
            let holder = Holder {
                tenant: None,
                issuer: None,
                subject: "ada".to_owned(),
            };
            let (id, now) = (IntentId([1; 16]), vault.now());
            let intent = Intent::new(holder.clone(), None, purpose, now);
            assert!(Kept::add(&vault, id, &intent).await.expect("an intent"));
            let found = Kept::find(&vault, id).await.expect("a store");
            let mut kept = found.expect("the intent");
            let busy = async |at| {
                let busy = Filter::of(&holder).at("github").busy(at);
                let found = store.list::<IntentRow>(busy).await;
                !found.expect("a store").is_empty()
            };
            assert!(kept.intent.redirect("a", VISIT));
            let written = kept.write(&vault, AuditEvent::Consented).await;
            written.expect("the intent is written");
            assert!(!busy(now).await);
            assert!(kept.intent.answered("a", VISIT, now));
            let written = kept.write(&vault, AuditEvent::Answered).await;
            written.expect("the intent is written");
            assert_eq!(busy(now + EXCHANGE - 1).await, is_busy);
            assert!(!busy(now + EXCHANGE).await);
            let done = kept.settle(&vault, Stage::Done, None, AuditEvent::Connected);
            done.await.expect("the intent is written");
            assert!(!busy(now).await);
        }
    }

    #[tokio::test]
    async fn as_many_closed_intents_are_kept_as_the_settings_say() {
        for closed in [1, 3] {
            let settings = VaultSettings {
                closed_intents: closed,
                ..VaultSettings::default()
            };
            let store: Arc<dyn VaultStore> = Arc::new(SqliteVault::in_memory().expect("a store"));
            let keys = Arc::new(LocalKeys::new(KeyRing::new(Key::new(&[7; 32]))));
            let opened = Vault::open(Arc::clone(&store), keys, settings).await;
            let vault = opened.expect("a vault");
            let holder = Holder {
                tenant: None,
                issuer: None,
                subject: "ada".to_owned(),
            };
            let ids = (0..6).map(|number| IntentId([number; 16]));
            for id in ids.clone() {
                let page = Purpose::Page {
                    name: "deposit".to_owned(),
                    path: "/pay".to_owned(),
                };
                let intent = Intent::new(holder.clone(), None, page, vault.now());
                assert!(Kept::add(&vault, id, &intent).await.expect("an intent"));
                let found = Kept::find(&vault, id).await.expect("a store");
                let mut found = found.expect("the intent");
                let declined = found.step(&vault, AuditEvent::Declined, Intent::decline);
                assert!(declined.await.expect("the intent is written"));
            }
            let mut kept = 0;
            for id in ids {
                let found = store.list::<IntentRow>(Filter::id(id.row())).await;
                kept += found.expect("a store").len();
            }
            // The last one was closed after the last was added.
            assert_eq!(kept, closed + 1);
        }
    }
}
