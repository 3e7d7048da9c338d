use std::fmt;

use sha2::{Digest, Sha256};

use super::{Intent, IntentId, Purpose, Stage};
use crate::vault::{AuditEvent, AuditRecord, IntentRow, Vault, VaultError};

/// How many times a change is retried after a concurrent change.
pub(crate) const TRIES: usize = 8;

impl IntentId {
    pub(crate) fn random() -> Result<Self, VaultError> {
        crate::vault::entropy().map(Self)
    }

    /// The id of its database row, which does not reveal the link.
    fn row(self) -> [u8; 16] {
        let digest: [u8; 32] = Sha256::digest(self.0).into();
        let mut row = [0; 16];
        row.copy_from_slice(&digest[..16]);
        row
    }

    /// Parses the 32 lowercase hexadecimal digits of a link.
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

/// Does not print the id: other users could burn the link with it.
impl fmt::Debug for IntentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IntentId")
    }
}

impl Intent {
    /// Adds the intent. Returns whether the user may have another link. If the same step runs twice, the intent may
    /// exist already.
    pub(crate) async fn add(&self, vault: &Vault) -> Result<bool, VaultError> {
        let added = vault.add_intent(self.row()?).await?;
        if added {
            vault.append(&self.line(vault, AuditEvent::Asked)).await?;
        }
        Ok(added)
    }

    pub(crate) async fn find(vault: &Vault, id: IntentId) -> Result<Option<Self>, VaultError> {
        let Some(row) = vault.intent(id.row()).await? else {
            return Ok(None);
        };
        let intent = serde_json::from_slice(&row.body).map_err(VaultError::store)?;
        Ok(Some(Self {
            id,
            version: row.version,
            ..intent
        }))
    }

    /// Records the outcome of an exchange, as [`step`](Self::step) does. Returns whether one was running.
    pub(crate) async fn settle(
        &mut self,
        vault: &Vault,
        to: Stage,
        account: Option<&str>,
        event: AuditEvent,
    ) -> Result<bool, VaultError> {
        let settled = self.step(vault, event, |intent| {
            let was_exchanged = intent.exchanged(to.clone(), vault.now());
            intent.account = account.map(str::to_owned);
            was_exchanged
        });
        settled.await
    }

    /// Takes a step if it is allowed, with an audit entry. Retries after concurrent changes of the intent, and keeps
    /// them. Returns whether the step was taken.
    pub(crate) async fn step(
        &mut self,
        vault: &Vault,
        event: AuditEvent,
        step: impl Fn(&mut Self) -> bool,
    ) -> Result<bool, VaultError> {
        for _ in 0..TRIES {
            if !step(self) {
                return Ok(false);
            }
            if self.write(vault, event).await? {
                return Ok(true);
            }
            match Self::find(vault, self.id).await? {
                Some(again) => *self = again,
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// Replaces the version that was read, and adds an audit entry. Returns false if it was changed at the same time.
    pub(crate) async fn write(
        &mut self,
        vault: &Vault,
        event: AuditEvent,
    ) -> Result<bool, VaultError> {
        let before = self.version;
        self.version += 1;
        let line = self.line(vault, event);
        vault.advance_intent(self.row()?, before, &line).await
    }

    fn line(&self, vault: &Vault, event: AuditEvent) -> AuditRecord {
        AuditRecord {
            client: self.client.clone(),
            ..vault.line(&self.holder, self.purpose.name(), event)
        }
    }

    fn row(&self) -> Result<IntentRow, VaultError> {
        Ok(IntentRow {
            id: self.id.row(),
            holder: self.holder.clone(),
            provider: self.purpose.name().to_owned(),
            expires: self.expires,
            busy_until: self.busy_until(),
            version: self.version,
            // The user does not have to finish a list of accounts, so it does not count as an open link.
            is_open: !self.stage.is_final() && self.purpose != Purpose::Accounts,
            body: serde_json::to_vec(self).map_err(VaultError::store)?,
        })
    }
}

#[cfg(all(test, feature = "sqlite"))]
mod tests {
    use std::sync::Arc;

    use askback_core::ask::keys::{Key, KeyRing};

    use super::*;
    use crate::intents::EXCHANGE;
    use crate::vault::{
        Change, Filter, Holder, IntentRoom, LocalKeys, SqliteVault, TenantKey, VaultSettings,
        VaultStore, WrappedKey,
    };

    async fn vault() -> (Arc<dyn VaultStore>, Vault) {
        let store: Arc<dyn VaultStore> = Arc::new(SqliteVault::in_memory().expect("a store"));
        let keys = LocalKeys::new(KeyRing::new(Key::new(&[7; 32])));
        let settings = VaultSettings::default();
        let opened = Vault::open(Arc::clone(&store), Arc::new(keys), settings);
        let vault = opened.await.expect("a vault");
        (store, vault)
    }

    fn ada(tenant: Option<&str>) -> Holder {
        Holder {
            tenant: tenant.map(str::to_owned),
            issuer: None,
            subject: "ada".to_owned(),
        }
    }

    fn page() -> Purpose {
        Purpose::Page {
            name: "deposit".to_owned(),
            path: "/pay".to_owned(),
        }
    }

    /// An unpaid page, changed by an attacker who can write the database but has no key.
    #[tokio::test]
    async fn an_intent_with_a_changed_column_does_not_open() {
        const ID: IntentId = IntentId([1; 16]);
        let (store, vault) = vault().await;
        let intent = Intent::new(ID, ada(Some("t")), None, page(), vault.now());
        assert!(intent.add(&vault).await.expect("an intent"));
        let read = async || {
            let found = store.list::<IntentRow>(Filter::id(ID.row())).await;
            found.expect("a store").remove(0)
        };
        let older = read().await;
        let mut intent = Intent::find(&vault, ID)
            .await
            .expect("a store")
            .expect("it");
        assert!(intent.redirect("a", [1; 16]));
        let written = intent.write(&vault, AuditEvent::Consented).await;
        written.expect("the intent is written");
        let genuine = read().await;
        let plain = IntentRow {
            body: intent.row().expect("a row").body,
            ..genuine.clone()
        };
        let text = String::from_utf8(plain.body.clone()).expect("JSON");
        assert!(text.contains("deposit") && text.contains("Redirected"));

        let write = async |row: &IntentRow| {
            // The store itself never changes the user or the expiry.
            let key = TenantKey {
                tenant: Some("t".to_owned()),
                id: askback_core::ask::keys::KeyId([9; 8]),
                wrapped: WrappedKey {
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
            let room = IntentRoom {
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
                let found = Intent::find(&vault, ID).await.map(|found| found.is_some());
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
        assert!(Intent::find(&vault, ID).await.is_err());
        write(&genuine).await;
        assert!(Intent::find(&vault, ID).await.expect("a store").is_some());
        // Copied to the row of another link, it does not open either.
        let copied = IntentRow {
            id: IntentId([2; 16]).row(),
            ..genuine.clone()
        };
        write(&copied).await;
        assert!(Intent::find(&vault, IntentId([2; 16])).await.is_err());
    }

    #[tokio::test]
    async fn an_intent_is_busy_while_its_provider_is_asked_for_tokens() {
        const VISIT: [u8; 16] = [1; 16];
        let account = Purpose::Account {
            provider: "github".to_owned(),
            scopes: Default::default(),
            kept: Default::default(),
            account: None,
        };
        let secret = Purpose::Secret {
            name: "github".to_owned(),
            title: "GitHub".to_owned(),
        };
        for (purpose, is_busy) in [(account, true), (secret, false)] {
            let (store, vault) = vault().await;
            let (holder, id, now) = (ada(None), IntentId([1; 16]), vault.now());
            let mut intent = Intent::new(id, holder.clone(), None, purpose, now);
            assert!(intent.add(&vault).await.expect("an intent"));
            let busy = async |at| {
                let busy = Filter::of(&holder).at("github").busy(at);
                let found = store.list::<IntentRow>(busy).await;
                !found.expect("a store").is_empty()
            };
            assert!(intent.redirect("a", VISIT));
            let written = intent.write(&vault, AuditEvent::Consented).await;
            written.expect("the intent is written");
            assert!(!busy(now).await);
            assert!(intent.answered("a", VISIT, now));
            let written = intent.write(&vault, AuditEvent::Answered).await;
            written.expect("the intent is written");
            assert_eq!(busy(now + EXCHANGE - 1).await, is_busy);
            assert!(!busy(now + EXCHANGE).await);
            let done = intent.settle(&vault, Stage::Done, None, AuditEvent::Connected);
            done.await.expect("the intent is written");
            assert!(!busy(now).await);
        }
    }
}
