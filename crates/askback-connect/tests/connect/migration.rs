//! Tables of an older version: what is in them stays, and works.

use askback_connect::vault::{AuditEvent, Vault};

use crate::stage::{HOUR, Provider, Stage, ada, tokens, wanted};

/// Makes the newest tables those of version 4.
pub(crate) const BACK: &str = "
    ALTER TABLE askback_vault_revocations DROP COLUMN expires;
    ALTER TABLE askback_vault_revocations DROP COLUMN is_spared;
    DROP INDEX askback_vault_records_account;
    ALTER TABLE askback_vault_intents DROP COLUMN provider;
    ALTER TABLE askback_vault_intents DROP COLUMN busy_until;
    DROP TABLE askback_vault_ended_visits;
    DROP INDEX askback_vault_records_name;
    ALTER TABLE askback_vault_records DROP COLUMN name;
    ALTER TABLE askback_vault_revocations DROP COLUMN name;
";

/// Has a vault hold a record, and tokens that are to be revoked.
pub(crate) async fn fill(stage: &Stage) {
    let vault = stage.vault().await;
    for account in ["a", "b"] {
        let granted = tokens(0).expires(u64::MAX);
        vault.put(&ada(), "github", account, granted).await.unwrap();
    }
    vault.disconnect(&ada(), "github", "b").await.unwrap();
}

/// Looks at whether they are there.
pub(crate) async fn check(stage: &Stage, vault: &Vault) {
    let provider = Provider::new(stage);
    let given = vault
        .get(&wanted(&ada()), &provider.renewer())
        .await
        .unwrap();
    assert_eq!(given.secret.expose(), "canary-access-0");
    assert_eq!(vault.accounts(&ada()).await.unwrap().len(), 2);
    assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 1);
    vault.disconnect(&ada(), "github", "a").await.unwrap();
    stage.clock.turn(2 * HOUR);
    assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 1);
    let lines = vault.audit(Some("acme"), 0, 99).await.unwrap();
    let revoked = lines
        .iter()
        .filter(|it| it.record.event == AuditEvent::Revoked);
    assert_eq!(revoked.count(), 2);
}

#[tokio::test]
async fn a_file_of_an_older_version_keeps_what_it_has() {
    let stage = Stage::in_sqlite();
    fill(&stage).await;
    let path = stage.directory.path().join("vault.db");
    let older = rusqlite::Connection::open(&path).unwrap();
    older.execute_batch(BACK).unwrap();
    older.pragma_update(None, "user_version", 4).unwrap();
    drop(older);
    check(&stage, &stage.vault().await).await;
}
