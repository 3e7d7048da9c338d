use std::{sync::Arc, time::Duration};

use askback_connect::vault::{
    AccountQuery, AccountState, AuditEvent, Change, Credential, Filter, Grant, Holder, TenantKey,
    TokenKind, Vault, VaultError, VaultRecord, VaultSettings, WriteOutcome,
};
use askback_core::{ask::Principal, auth::Scopes};
use askback_oauth::Secret;

use crate::stage::{HOUR, NOW, Provider, Stage, ada, keys, person, tokens, until, wanted};

fn scopes(written: &str) -> Scopes {
    Scopes::parse(written).unwrap()
}

async fn events(vault: &Vault, tenant: Option<&str>) -> Vec<AuditEvent> {
    let lines = vault.audit(tenant, 0, 100).await.unwrap();
    lines.iter().map(|line| line.record.event).collect()
}

#[tokio::test]
async fn a_person_sees_since_when_an_account_is_connected_and_when_it_was_used() {
    for stage in Stage::all().await {
        let (vault, renewer) = (stage.vault().await, Provider::new(&stage).renewer());
        let put = async || vault.put(&ada(), "github", "a", tokens(0)).await.unwrap();
        let seen = async |since: u64, used: Option<u64>| {
            let accounts = vault.accounts(&ada()).await.unwrap();
            let [account] = &accounts[..] else {
                panic!("{accounts:?}")
            };
            assert_eq!((account.connected, account.used), (Some(NOW + since), used));
        };
        put().await;
        seen(0, None).await;
        stage.clock.turn(7);
        let bob = person("acme", "bob");
        vault.put(&bob, "github", "a", tokens(1)).await.unwrap();
        vault.get(&wanted(&bob), &renewer).await.unwrap();
        seen(0, None).await;
        vault.get(&wanted(&ada()), &renewer).await.unwrap();
        seen(0, Some(NOW + 7)).await;
        stage.clock.turn(1);
        vault.get(&wanted(&ada()), &renewer).await.unwrap();
        seen(0, Some(NOW + 8)).await;
        stage.clock.turn(1);
        put().await;
        seen(9, None).await;
        // If the audit does not go back that far, the time of the tokens counts.
        vault.purge_audit(NOW + 10).await.unwrap();
        seen(9, None).await;
    }
}

#[tokio::test]
async fn a_credential_is_given_to_its_person_alone() {
    for stage in Stage::all().await {
        let (vault, renewer) = (stage.vault().await, Provider::new(&stage).renewer());
        vault
            .put(&ada(), "github", "ada-l", tokens(0))
            .await
            .unwrap();
        let given = vault.get(&wanted(&ada()), &renewer).await.unwrap();
        assert_eq!(given.secret.expose(), "canary-access-0");
        let others = [
            person("acme", "bob"),
            person("other", "ada"),
            Principal {
                issuer: None,
                ..ada()
            },
            Principal {
                issuer: Some("https://login.example/".to_owned()),
                ..ada()
            },
            Principal {
                tenant: None,
                ..ada()
            },
        ];
        for other in &others {
            let refused = vault.get(&wanted(other), &renewer).await;
            assert!(
                matches!(refused, Err(VaultError::NotConnected)),
                "{refused:?}"
            );
        }
        let same = Principal {
            client_id: Some("another client".to_owned()),
            ..ada()
        };
        assert!(vault.get(&wanted(&same), &renewer).await.is_ok());
    }
}

#[tokio::test]
async fn an_account_is_found_by_the_scopes_that_it_must_have() {
    for stage in Stage::all().await {
        let (vault, renewer) = (stage.vault().await, Provider::new(&stage).renewer());
        for (number, (account, granted)) in [("a", "gist"), ("b", "gist repo"), ("c", "")]
            .into_iter()
            .enumerate()
        {
            let granted = tokens(number).scopes(scopes(granted));
            vault.put(&ada(), "github", account, granted).await.unwrap();
        }
        let check = async |wanted: AccountQuery, want: Option<&str>| {
            let given = vault.get(&wanted, &renewer).await;
            let account = given.as_ref().ok().map(|given| &*given.account.account);
            assert_eq!(account, want, "{wanted:?}");
        };
        let any = || wanted(&ada());
        check(any(), Some("a")).await;
        check(any().scopes(scopes("gist")), Some("a")).await;
        check(any().scopes(scopes("repo gist")), Some("b")).await;
        check(any().scopes(scopes("admin")), None).await;
        check(any().account("c"), Some("c")).await;
        check(any().account("c").scopes(scopes("gist")), None).await;
        check(any().account("d"), None).await;
        check(AccountQuery::new(&ada(), "gitlab"), None).await;
    }
}

#[tokio::test]
async fn what_is_connected_again_is_another_credential() {
    for stage in Stage::all().await {
        let (vault, renewer) = (stage.vault().await, Provider::new(&stage).renewer());
        vault
            .put(&ada(), "github", "ada-l", tokens(0))
            .await
            .unwrap();
        let key = Grant::api_key(Secret::new("canary-key"));
        vault.put(&ada(), "github", "ada-l", key).await.unwrap();
        let given = vault.get(&wanted(&ada()), &renewer).await.unwrap();
        assert_eq!(given.secret.expose(), "canary-key");
        assert_eq!(vault.accounts(&ada()).await.unwrap().len(), 1);
    }
}

#[tokio::test]
async fn what_is_too_large_is_refused() {
    let stage = Stage::in_memory();
    let vault = stage.vault().await;
    let check = async |account: &str, secret: usize, is_kept: bool| {
        let granted = Grant::api_key(Secret::new("x".repeat(secret)));
        let put = vault.put(&ada(), "github", account, granted).await;
        match put {
            Ok(()) => assert!(is_kept),
            Err(error) => assert!(!is_kept && matches!(error, VaultError::Refused { .. })),
        }
    };
    check("a", 16 << 10, true).await;
    check("a", (16 << 10) + 1, false).await;
    check(&"a".repeat(1024), 1, true).await;
    check(&"a".repeat(1025), 1, false).await;
    check("a\0", 1, false).await;
    for number in 2..64 {
        check(&number.to_string(), 1, true).await;
    }
    check("one more", 1, false).await;
    // An existing account may be connected again.
    check("a", 1, true).await;
}

#[tokio::test]
async fn a_provider_is_told_of_a_disconnection_until_it_has_heard() {
    for stage in Stage::all().await {
        let vault = stage.vault().await;
        let provider = Provider::new(&stage);
        vault
            .put(&ada(), "github", "ada-l", tokens(0))
            .await
            .unwrap();
        *provider.is_down.lock().unwrap() = true;
        assert!(vault.disconnect(&ada(), "github", "ada-l").await.unwrap());
        assert!(!vault.disconnect(&ada(), "github", "ada-l").await.unwrap());
        let refused = vault.get(&wanted(&ada()), &provider.renewer()).await;
        assert!(matches!(refused, Err(VaultError::NotConnected)));

        assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 0);
        let accounts = vault.accounts(&ada()).await.unwrap();
        let states: Vec<_> = accounts.iter().map(|account| account.state).collect();
        assert_eq!(states, [AccountState::Revoking]);
        *provider.is_down.lock().unwrap() = false;
        assert_eq!(
            vault.revoke_due(&*provider).await.unwrap(),
            0,
            "it is left alone"
        );
        stage.clock.turn(HOUR);
        // Another process can send the revocation too.
        assert_eq!(stage.vault().await.revoke_due(&*provider).await.unwrap(), 1);
        let told = provider.revoked.lock().unwrap().clone();
        let wanted = [
            (TokenKind::Refresh, "canary-refresh-0".to_owned()),
            (TokenKind::Access, "canary-access-0".to_owned()),
        ];
        assert_eq!(told, wanted);
        assert_eq!(vault.accounts(&ada()).await.unwrap(), []);
        assert_eq!(stage.vault().await.revoke_due(&*provider).await.unwrap(), 0);
        use AuditEvent::{Disconnected, Granted, RevocationFailed, Revoked};
        let lines = [Granted, Disconnected, RevocationFailed, Revoked];
        assert_eq!(events(&vault, Some("acme")).await, lines);
    }
}

#[tokio::test]
async fn tokens_of_an_account_that_was_disconnected_meanwhile_are_revoked() {
    for stage in Stage::all().await {
        let vault = stage.vault().await;
        let provider = Provider::held(&stage);
        let ended = tokens(0).expires(stage_now(&stage));
        vault.put(&ada(), "github", "ada-l", ended).await.unwrap();
        let renewal = {
            let (vault, renewer) = (vault.clone(), provider.renewer());
            tokio::spawn(async move { vault.get(&wanted(&ada()), &renewer).await })
        };
        until(|| provider.requests() == 1).await;
        assert!(vault.disconnect(&ada(), "github", "ada-l").await.unwrap());
        provider.answers.add_permits(1);
        let refused = renewal.await.unwrap();
        assert!(
            matches!(refused, Err(VaultError::NotConnected)),
            "{refused:?}"
        );
        assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 2);
        let told = provider.revoked.lock().unwrap().clone();
        for token in ["canary-refresh-0", "canary-refresh-1", "canary-access-1"] {
            assert!(told.iter().any(|(_, revoked)| revoked == token), "{told:?}");
        }
    }
}

fn stage_now(stage: &Stage) -> u64 {
    askback_core::clock::Clock::now(&*stage.clock)
}

#[tokio::test]
async fn a_record_in_another_place_does_not_open() {
    for stage in Stage::all().await {
        let (vault, renewer) = (stage.vault().await, Provider::new(&stage).renewer());
        vault
            .put(&ada(), "github", "ada-l", tokens(0))
            .await
            .unwrap();
        let store = &stage.store;
        let records = store
            .list::<VaultRecord>(Filter::of(&Holder::from(&ada())))
            .await
            .unwrap();
        let line = vault.audit(Some("acme"), 0, 1).await.unwrap().remove(0);
        // An attacker with write access to the database copies Ada's record to another place, where
        // one column differs.
        let bob = person("acme", "bob");
        let elsewhere = Principal {
            issuer: None,
            ..ada()
        };
        let places = [
            (&bob, "github", "ada-l"),
            (&elsewhere, "github", "ada-l"),
            (&ada(), "gitlab", "ada-l"),
            (&ada(), "github", "ada-m"),
        ];
        for (caller, provider, account) in places {
            let mut copied = records[0].clone();
            copied.account = Holder::from(caller).account(provider, account);
            let put = store
                .write(Change::insert(&copied).audited(&line.record))
                .await
                .unwrap();
            assert_eq!(put, WriteOutcome::Kept);
            let wanted = AccountQuery::new(caller, provider).account(account);
            let refused = vault.get(&wanted, &renewer).await;
            let is_refused = matches!(refused, Err(VaultError::NotAuthentic));
            assert!(is_refused, "{provider} {account}: {refused:?}");
            let last = events(&vault, Some("acme")).await.pop();
            assert_eq!(last, Some(AuditEvent::RefusedNotAuthentic));
        }
        // A value that is moved to another column cannot be opened either.
        let mut columns = records[0].clone();
        columns.version += 1;
        columns.sealed.access = columns.sealed.refresh.clone().unwrap();
        let put = store
            .write(Change::replace(&columns, records[0].version).audited(&line.record))
            .await
            .unwrap();
        assert_eq!(put, WriteOutcome::Kept);
        let refused = vault.get(&wanted(&ada()), &renewer).await;
        let is_refused = matches!(refused, Err(VaultError::NotAuthentic));
        assert!(is_refused, "{refused:?}");
    }
}

/// An attacker without the key changes one column of a record, or restores older secrets.
#[tokio::test]
async fn a_record_with_a_changed_column_does_not_open() {
    #[track_caller]
    fn check(what: &str, refused: Result<Credential, VaultError>) {
        let is_refused = matches!(refused, Err(VaultError::NotAuthentic));
        assert!(is_refused, "{what}: {refused:?}");
    }
    type Alteration = fn(&mut VaultRecord, &VaultRecord);
    let changes: [(&str, Alteration); 10] = [
        ("older secrets", |it, older| {
            it.sealed = older.sealed.clone()
        }),
        ("an older proof", |it, older| it.proof = older.proof.clone()),
        ("both", |it, older| {
            (it.sealed, it.proof) = (older.sealed.clone(), older.proof.clone());
        }),
        ("scopes", |it, _| it.scopes = scopes("admin repo")),
        ("name", |it, _| it.name = "root".into()),
        ("state", |it, _| {
            it.state = AccountState::Reconnected { until: 1 }
        }),
        ("end", |it, _| it.expires = None),
        ("beginning", |it, _| it.obtained += 1),
        ("refresh token", |it, _| it.sealed.refresh = None),
        ("kind", |it, _| it.is_api_key = true),
    ];
    for stage in Stage::all().await {
        let (vault, renewer) = (stage.vault().await, Provider::new(&stage).renewer());
        let (store, holder) = (&stage.store, Holder::from(&ada()));
        let read = async || {
            store
                .list::<VaultRecord>(Filter::of(&holder))
                .await
                .unwrap()
                .remove(0)
        };
        let mut kept = Vec::new();
        for number in [0, 1] {
            let granted = tokens(number).expires(u64::MAX);
            vault.put(&ada(), "github", "ada-l", granted).await.unwrap();
            kept.push(read().await);
        }
        let (older, genuine) = (&kept[0], &kept[1]);
        let line = vault.audit(Some("acme"), 0, 1).await.unwrap().remove(0);
        let write = async |record: &VaultRecord, from: u64| {
            let put = store
                .write(Change::replace(record, from).audited(&line.record))
                .await;
            assert_eq!(put.unwrap(), WriteOutcome::Kept);
        };
        for (what, change) in changes {
            let mut changed = genuine.clone();
            change(&mut changed, older);
            changed.version += 1;
            write(&changed, genuine.version).await;
            check(
                "another version",
                vault.get(&wanted(&ada()), &renewer).await,
            );
            changed.version = genuine.version;
            write(&changed, genuine.version + 1).await;
            check(what, vault.get(&wanted(&ada()), &renewer).await);
            // A new key does not make it genuine: only the pending revocation is resealed.
            assert_eq!(vault.rotate(Some("acme")).await.unwrap(), 1);
            check(what, vault.get(&wanted(&ada()), &renewer).await);
            changed = genuine.clone();
            changed.version += 1;
            write(&changed, genuine.version).await;
            write(genuine, genuine.version + 1).await;
            let given = vault.get(&wanted(&ada()), &renewer).await.unwrap();
            assert_eq!(given.secret.expose(), "canary-access-1");
        }
    }
}

#[tokio::test]
async fn a_deleted_tenant_leaves_nothing_that_opens() {
    for stage in Stage::all().await {
        let (vault, renewer) = (stage.vault().await, Provider::new(&stage).renewer());
        let elsewhere = person("other", "ada");
        for caller in [&ada(), &elsewhere] {
            vault
                .put(caller, "github", "ada-l", tokens(0))
                .await
                .unwrap();
        }
        let other = stage.vault().await;
        other.get(&wanted(&ada()), &renewer).await.unwrap();
        let kept = stage
            .store
            .list::<VaultRecord>(Filter::of(&Holder::from(&ada())))
            .await
            .unwrap()
            .remove(0);
        assert!(vault.delete_tenant(Some("acme")).await.unwrap());
        assert!(!vault.delete_tenant(Some("acme")).await.unwrap());
        for vault in [&vault, &other] {
            let refused = vault.get(&wanted(&ada()), &renewer).await;
            assert!(matches!(refused, Err(VaultError::NotConnected)));
            assert!(vault.get(&wanted(&elsewhere), &renewer).await.is_ok());
        }
        assert_eq!(
            stage
                .store
                .list::<TenantKey>(Filter::tenant(Some("acme")))
                .await
                .unwrap(),
            []
        );
        // The tenant may come back. A copy of an old record does not open under its new key.
        vault
            .put(&ada(), "github", "ada-l", tokens(1))
            .await
            .unwrap();
        let new = stage
            .store
            .list::<VaultRecord>(Filter::of(&Holder::from(&ada())))
            .await
            .unwrap()
            .remove(0);
        assert_ne!(new.sealed.key, kept.sealed.key);
    }
}

#[tokio::test]
async fn the_audit_tells_who_did_what() {
    let stage = Stage::in_sqlite();
    let (vault, renewer) = (stage.vault().await, Provider::new(&stage).renewer());
    let expires = stage_now(&stage) + HOUR;
    vault
        .put(&ada(), "github", "ada-l", tokens(0).expires(expires))
        .await
        .unwrap();
    vault.get(&wanted(&ada()), &renewer).await.unwrap();
    stage.clock.turn(HOUR);
    vault.get(&wanted(&ada()), &renewer).await.unwrap();
    use AuditEvent::{Granted, Renewed, Used};
    assert_eq!(
        events(&vault, Some("acme")).await,
        [Granted, Used, Renewed, Used]
    );
    let lines = vault.audit(Some("acme"), 0, 100).await.unwrap();
    let used = &lines[1].record;
    assert_eq!(used.holder(), Some(&Holder::from(&ada())));
    assert_eq!(used.client.as_deref(), Some("editor"));
    assert_eq!(vault.purge_audit(stage_now(&stage)).await.unwrap(), 2);
    assert_eq!(events(&vault, Some("acme")).await, [Renewed, Used]);
}

#[tokio::test]
async fn the_settings_say_how_much_of_the_audit_is_kept() {
    use AuditEvent::{Granted, Used};
    async fn check(set: fn(&mut VaultSettings), expected: &[AuditEvent]) {
        let stage = Stage::in_memory();
        let vault = stage.vault_within(Arc::new(keys(7)), set).await;
        let renewer = Provider::new(&stage).renewer();
        vault.put(&ada(), "github", "a", tokens(0)).await.unwrap();
        for _ in 0..4 {
            vault.get(&wanted(&ada()), &renewer).await.unwrap();
            stage.clock.turn(HOUR);
        }
        assert_eq!(events(&vault, Some("acme")).await, expected);
    }
    check(|_| {}, &[Granted, Used, Used, Used, Used]).await;
    check(|it| it.audit_lines = 2, &[Granted, Used, Used]).await;
    let age = |it: &mut VaultSettings| it.audit_age = Duration::from_millis(HOUR * 3 / 2);
    check(age, &[Used, Used]).await;
}

#[tokio::test]
async fn what_cannot_be_written_into_the_audit_is_not_done() {
    let stage = Stage::in_sqlite();
    let (vault, provider) = (stage.vault().await, Provider::new(&stage));
    vault.put(&ada(), "github", "a", tokens(0)).await.unwrap();
    let database = rusqlite::Connection::open(stage.directory.path().join("vault.db")).unwrap();
    let rename = |from: &str, to: &str| {
        let rename = format!("ALTER TABLE {from} RENAME TO {to}");
        database.execute_batch(&rename).unwrap();
    };
    rename("askback_vault_audit", "away");
    let failed = |done: Result<(), VaultError>| {
        assert!(matches!(done, Err(VaultError::Store(_))), "{done:?}");
    };
    let given = vault.get(&wanted(&ada()), &provider.renewer()).await;
    failed(given.map(drop));
    failed(vault.put(&ada(), "gitlab", "a", tokens(1)).await);
    failed(vault.disconnect(&ada(), "github", "a").await.map(drop));
    failed(vault.delete_tenant(Some("acme")).await.map(drop));
    rename("away", "askback_vault_audit");
    let accounts = vault.accounts(&ada()).await.unwrap();
    let there: Vec<_> = accounts
        .iter()
        .map(|it| (&*it.key.provider, it.state))
        .collect();
    assert_eq!(there, [("github", AccountState::Active)]);
    let given = vault.get(&wanted(&ada()), &provider.renewer()).await;
    assert_eq!(given.unwrap().secret.expose(), "canary-access-0");
    use AuditEvent::{Granted, Used};
    assert_eq!(events(&vault, Some("acme")).await, [Granted, Used]);
}
