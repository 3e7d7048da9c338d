//! Keys: no vault opens without one, and each can be replaced while in use.

use std::{
    fs,
    io::Write,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use askback_connect::vault::{
    AuditEvent, Change, Filter, Holder, KeyWrapper, LocalKeys, Revocation, TenantKey, Vault,
    VaultError, VaultRecord, VaultSettings, WriteOutcome,
};
use askback_core::{
    ask::{
        Millis, Principal,
        keys::{Key, KeyRing},
    },
    clock::Clock,
};

use crate::stage::{NOW, Provider, Stage, ada, keys, person, ring, tokens, until, wanted};

async fn opened(stage: &Stage, keys: LocalKeys) -> Result<Vault, VaultError> {
    let store = Arc::clone(&stage.store);
    Vault::open(store, Arc::new(keys), VaultSettings::default()).await
}

#[tokio::test]
async fn a_vault_does_not_open_without_its_key() {
    for stage in Stage::all().await {
        let vault = stage.vault().await;
        vault
            .put(&ada(), "github", "ada-l", tokens(0))
            .await
            .unwrap();
        let refused = opened(&stage, keys(8)).await;
        assert!(matches!(refused, Err(VaultError::Keys(_))), "{refused:?}");
        assert!(opened(&stage, keys(7)).await.is_ok());
    }
}

#[tokio::test]
async fn a_vault_does_not_open_after_an_interrupted_change_of_keys() {
    for stage in Stage::all().await {
        let held = Arc::new(keys(7));
        let vault = stage.vault_with(Arc::<LocalKeys>::clone(&held)).await;
        for tenant in ["acme", "other"] {
            let caller = person(tenant, "1");
            vault.put(&caller, "github", "a", tokens(0)).await.unwrap();
        }
        held.replace(ring(8).and_accept(Key::new(&[7; 32])));
        let wrapped = stage
            .store
            .list::<TenantKey>(Filter::wrapped_otherwise(&held.active()).most(1))
            .await;
        let before = wrapped.unwrap().remove(0);
        let tenant = before.tenant.as_deref();
        let secret = held.unwrap(tenant, before.id, &before.wrapped).await;
        let wrapped = held
            .wrap(tenant, before.id, &secret.unwrap())
            .await
            .unwrap();
        let anew = TenantKey {
            wrapped,
            ..before.clone()
        };
        let rewrapped = Change::replace(&anew, &*before.wrapped.bytes);
        assert!(stage.store.write(rewrapped).await.unwrap().is_kept());
        let refused = opened(&stage, keys(8)).await;
        assert!(matches!(refused, Err(VaultError::Keys(_))), "{refused:?}");
    }
}

#[tokio::test]
async fn a_vault_does_not_open_without_every_key_that_wraps_a_tenants_key() {
    // After several interrupted changes of keys, each tenant's key has another wrapper.
    let wraps = [("a", 7), ("b", 8), ("c", 9)];
    for stage in Stage::all().await {
        let all = |active: u8| {
            wraps
                .iter()
                .filter(|(_, key)| *key != active)
                .fold(ring(active), |ring, (_, key)| {
                    ring.and_accept(Key::new(&[*key; 32]))
                })
        };
        for (tenant, key) in wraps {
            let vault = stage.vault_with(Arc::new(LocalKeys::new(all(key)))).await;
            let caller = person(tenant, "1");
            vault.put(&caller, "github", "a", tokens(0)).await.unwrap();
        }
        for (_, missing) in wraps {
            let held = wraps.iter().map(|(_, key)| *key);
            let held: Vec<_> = held.filter(|key| *key != missing).collect();
            for (active, retired) in [(held[0], held[1]), (held[1], held[0])] {
                let ring = ring(active).and_accept(Key::new(&[retired; 32]));
                let refused = opened(&stage, LocalKeys::new(ring)).await;
                let is_refused = matches!(refused, Err(VaultError::Keys(_)));
                assert!(is_refused, "without {missing}: {refused:?}");
            }
        }
        assert!(opened(&stage, LocalKeys::new(all(8))).await.is_ok());
    }
}

#[tokio::test]
async fn the_key_of_a_tenant_opens_for_no_other() {
    for stage in Stage::all().await {
        let vault = stage.vault().await;
        vault.put(&ada(), "github", "a", tokens(0)).await.unwrap();
        let key = stage
            .store
            .list::<TenantKey>(Filter::tenant(Some("acme")))
            .await
            .unwrap();
        // An attacker with write access to the database gives a tenant another tenant's key, to read its secrets.
        for tenant in [Some("other"), Some(""), None] {
            let same = TenantKey {
                tenant: tenant.map(str::to_owned),
                ..key[0].clone()
            };
            let added = stage.store.write(Change::add_key(&same, None)).await;
            assert!(added.unwrap().is_kept());
            let caller = Principal {
                tenant: tenant.map(str::to_owned),
                ..ada()
            };
            let refused = vault.put(&caller, "github", "a", tokens(1)).await;
            let is_refused = matches!(refused, Err(VaultError::NotAuthentic));
            assert!(is_refused, "{tenant:?}: {refused:?}");
        }
    }
}

#[test]
fn keys_are_read_from_a_file_of_their_owner() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("vault.keys");
    #[track_caller]
    fn check(read: Result<LocalKeys, VaultError>, want: &str) {
        let error = read.expect_err("there is no key").to_string();
        assert!(error.contains(want), "{error}");
    }
    check(LocalKeys::file(&path), "openssl rand -hex 32 > ");
    check(LocalKeys::file(directory.path()), "cannot be read");
    fs::write(&path, format!("{}\n", "0707".repeat(16))).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        for mode in [0o640, 0o620, 0o610, 0o604, 0o602, 0o601] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            check(LocalKeys::file(&path), "chmod 600");
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let read = LocalKeys::file(&path).unwrap();
    assert_eq!(read.active(), Key::new(&[7; 32]).id().to_string());
    fs::write(&path, "# none yet\n").unwrap();
    check(LocalKeys::file(&path), "there is no key");
}

#[cfg(unix)]
#[tokio::test]
async fn a_key_that_is_missing_is_named_with_its_file() {
    use std::os::unix::fs::OpenOptionsExt;
    let stage = Stage::in_memory();
    let vault = stage.vault().await;
    vault.put(&ada(), "github", "a", tokens(0)).await.unwrap();
    let path = stage.directory.path().join("vault.keys");
    let mut file = fs::OpenOptions::new();
    let file = file.write(true).create_new(true).mode(0o600).open(&path);
    writeln!(file.unwrap(), "{}", "0808".repeat(16)).unwrap();
    let keys = LocalKeys::file(&path).unwrap();
    let opened = Vault::open(
        Arc::clone(&stage.store),
        Arc::new(keys),
        VaultSettings::default(),
    );
    let refused = opened.await.err().unwrap().to_string();
    let (missing, path) = (Key::new(&[7; 32]).id(), path.display());
    for says in [
        format!("sealed under the key {missing}"),
        format!("not in the file {path}"),
        "on a line below the active one".to_owned(),
    ] {
        assert!(refused.contains(&says), "{says}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_replaced_while_others_read() {
    for stage in Stage::all().await {
        replaced_while_others_read(&stage).await;
    }
}

pub(crate) async fn replaced_while_others_read(stage: &Stage) {
    let people: Vec<_> = (0..12)
        .map(|number| person("acme", &number.to_string()))
        .collect();
    let held = Arc::new(keys(7));
    let vault = stage.vault_with(Arc::<LocalKeys>::clone(&held)).await;
    for (number, caller) in people.iter().enumerate() {
        vault
            .put(caller, "github", "a", tokens(number))
            .await
            .unwrap();
    }
    let first = stage
        .store
        .list::<TenantKey>(Filter::tenant(Some("acme")))
        .await
        .unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let read = Arc::new(AtomicUsize::new(0));
    let mut readers = Vec::new();
    for machine in 0..3 {
        let vault = stage.vault_with(Arc::<LocalKeys>::clone(&held)).await;
        let provider = Provider::new(stage);
        let (people, over, read) = (people.clone(), Arc::clone(&over), Arc::clone(&read));
        readers.push(tokio::spawn(async move {
            while !over.load(Ordering::SeqCst) {
                let reads = read.fetch_add(1, Ordering::SeqCst);
                let number = (reads + machine) % people.len();
                let given = vault
                    .get(&wanted(&people[number]), &provider.renewer())
                    .await;
                let secret = format!("canary-access-{number}");
                assert_eq!(given.expect("a read").secret.expose(), secret);
            }
        }));
    }
    for round in 0..6_u8 {
        let before = read.load(Ordering::SeqCst);
        until(|| read.load(Ordering::SeqCst) > before + 20).await;
        assert_eq!(vault.rotate(Some("acme")).await.unwrap(), people.len());
        let old = if round == 0 { 7 } else { 19 + round };
        held.replace(ring(20 + round).and_accept(Key::new(&[old; 32])));
        assert_eq!(vault.rewrap().await.unwrap(), 1);
        held.replace(ring(20 + round));
    }
    over.store(true, Ordering::SeqCst);
    for reader in readers {
        reader.await.unwrap();
    }
    let last = stage
        .store
        .list::<TenantKey>(Filter::tenant(Some("acme")))
        .await
        .unwrap();
    assert_eq!(last.len(), 1, "the old keys are gone");
    assert_ne!(last[0].id, first[0].id);
    assert!(opened(stage, keys(25)).await.is_ok());
    assert!(opened(stage, keys(7)).await.is_err());
}

/// A clock that allows a limited number of reads, to detect endless loops.
struct Patience(AtomicUsize);

impl Clock for Patience {
    fn now(&self) -> Millis {
        let left = self.0.fetch_sub(1, Ordering::SeqCst);
        assert!(left > 1, "it does not come to an end");
        NOW
    }
}

/// A separate process that fails instead of looping forever.
async fn patient(stage: &Stage) -> Vault {
    let (store, clock) = (Arc::clone(&stage.store), Patience(AtomicUsize::new(10_000)));
    let settings = VaultSettings::default();
    let vault = Vault::open_with(store, Arc::new(keys(7)), settings, Arc::new(clock));
    vault.await.unwrap()
}

/// Checks that all records open and are sealed under the only remaining key.
async fn are_swept(stage: &Stage, people: &[Principal]) {
    let left = stage
        .store
        .list::<TenantKey>(Filter::tenant(Some("acme")))
        .await
        .unwrap();
    assert_eq!(left.len(), 1, "the old keys are gone");
    let (vault, provider) = (stage.vault().await, Provider::new(stage));
    for (number, caller) in people.iter().enumerate() {
        let records = stage
            .store
            .list::<VaultRecord>(Filter::of(&Holder::from(caller)))
            .await;
        assert_eq!(records.unwrap()[0].sealed.key, left[0].id);
        let given = vault.get(&wanted(caller), &provider.renewer()).await;
        let secret = format!("canary-access-{number}");
        assert_eq!(given.unwrap().secret.expose(), secret);
    }
}

#[tokio::test]
async fn a_sweep_ends_if_another_process_made_a_newer_key() {
    let people: Vec<_> = (0..3).map(|it| person("acme", &it.to_string())).collect();
    for stage in Stage::all().await {
        let (one, other) = (patient(&stage).await, patient(&stage).await);
        for (number, caller) in people.iter().enumerate() {
            let kept = one.put(caller, "github", "a", tokens(number)).await;
            kept.unwrap();
        }
        assert_eq!(other.rotate(Some("acme")).await.unwrap(), people.len());
        assert_eq!(one.sweep(Some("acme")).await.unwrap(), 0);
        are_swept(&stage, &people).await;
    }
}

#[tokio::test]
async fn processes_rotate_at_the_same_time() {
    let people: Vec<_> = (0..12).map(|it| person("acme", &it.to_string())).collect();
    for stage in Stage::all().await {
        let (one, other) = (patient(&stage).await, patient(&stage).await);
        for (number, caller) in people.iter().enumerate() {
            let kept = one.put(caller, "github", "a", tokens(number)).await;
            kept.unwrap();
        }
        for _ in 0..4 {
            let rotate = |vault: &Vault| {
                let vault = vault.clone();
                tokio::spawn(async move { vault.rotate(Some("acme")).await })
            };
            for rotation in [rotate(&one), rotate(&other)] {
                rotation.await.unwrap().unwrap();
            }
        }
        one.sweep(Some("acme")).await.unwrap();
        are_swept(&stage, &people).await;
    }
}

#[tokio::test]
async fn a_renewal_continues_while_its_record_is_resealed() {
    for stage in Stage::all().await {
        let vault = stage.vault().await;
        let provider = Provider::held(&stage);
        vault
            .put(&ada(), "github", "a", tokens(0).expires(1))
            .await
            .unwrap();
        let call = {
            let (vault, renewer) = (stage.vault().await, provider.renewer());
            tokio::spawn(async move { vault.get(&wanted(&ada()), &renewer).await })
        };
        until(|| provider.requests() == 1).await;
        assert_eq!(vault.rotate(Some("acme")).await.unwrap(), 1);
        provider.answers.add_permits(1);
        let given = call.await.unwrap().unwrap();
        assert_eq!(given.secret.expose(), "canary-access-1");
        let key = stage
            .store
            .list::<TenantKey>(Filter::tenant(Some("acme")))
            .await
            .unwrap()
            .remove(0);
        let record = stage
            .store
            .list::<VaultRecord>(Filter::of(&Holder::from(&ada())))
            .await
            .unwrap()
            .remove(0);
        assert_eq!(record.sealed.key, key.id);
    }
}

#[tokio::test]
async fn a_compromised_key_is_deleted_while_tokens_wait_for_revocation() {
    for tenant in [Some("acme"), None] {
        for stage in Stage::all().await {
            let (vault, provider) = (stage.vault().await, Provider::new(&stage));
            let ada = Principal {
                tenant: tenant.map(str::to_owned),
                ..ada()
            };
            // The first tokens are spared while the account is connected.
            for number in 0..2 {
                let put = vault.put(&ada, "github", "a", tokens(number));
                put.await.unwrap();
                assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 0);
            }
            let before = stage
                .store
                .list::<TenantKey>(Filter::tenant(tenant))
                .await
                .unwrap()
                .remove(0);
            assert_eq!(vault.rotate_compromised(tenant).await.unwrap(), 2);
            let left = stage
                .store
                .list::<TenantKey>(Filter::tenant(tenant))
                .await
                .unwrap();
            assert!(left.len() == 1 && left[0].id != before.id);
            vault.disconnect(&ada, "github", "a").await.unwrap();
            assert_eq!(vault.revoke_due(&*provider).await.unwrap(), 2);
            let told = provider.revoked.lock().unwrap().clone();
            let mut told: Vec<_> = told.into_iter().map(|(_, token)| token).collect();
            told.sort();
            let both = |kind: &str| [0, 1].map(|number| format!("canary-{kind}-{number}"));
            assert_eq!(told, [both("access"), both("refresh")].concat());
        }
    }
}

#[tokio::test]
async fn a_sweep_skips_secrets_that_do_not_open() {
    // More than one batch.
    for (stage, shut) in [(Stage::in_memory(), 130), (Stage::in_sqlite(), 1)] {
        let many = |settings: &mut VaultSettings| settings.revocations = 1000;
        let vault = stage.vault_within(Arc::new(keys(7)), many).await;
        let (store, holder) = (&stage.store, Holder::from(&ada()));
        for number in 0..=shut {
            let discarded = vault.discard(&ada(), "github", "a", tokens(number)).await;
            discarded.unwrap();
        }
        vault.put(&ada(), "github", "b", tokens(0)).await.unwrap();
        vault.put(&ada(), "github", "c", tokens(0)).await.unwrap();
        // An attacker with write access to the database alters all pending revocations but one, and a record.
        let owed = store.list::<Revocation>(Filter::of(&holder)).await.unwrap();
        for revocation in &owed[..shut] {
            let mut altered = revocation.clone();
            altered.sealed.access.reverse();
            altered.sealed.refresh.as_mut().unwrap().reverse();
            let change = Change::reseal(&altered, &revocation.sealed);
            let done = store.write(change).await;
            assert_eq!(done.unwrap(), WriteOutcome::Kept);
        }
        let mut altered = store
            .list::<VaultRecord>(Filter::of(&holder))
            .await
            .unwrap()
            .remove(0);
        let genuine = altered.sealed.clone();
        altered.sealed.access.reverse();
        altered.sealed.refresh.as_mut().unwrap().reverse();
        let done = store.write(Change::reseal(&altered, &genuine));
        assert_eq!(done.await.unwrap(), WriteOutcome::Kept);

        assert_eq!(vault.rotate(Some("acme")).await.unwrap(), 2);
        let lines = vault.audit(Some("acme"), 0, 1000).await.unwrap();
        let told = lines
            .iter()
            .filter(|it| it.record.event == AuditEvent::NotResealed);
        assert_eq!(told.count(), shut + 1);
        // No token is lost, and the key that sealed the queued tokens is kept.
        assert_eq!(
            store
                .list::<Revocation>(Filter::of(&holder))
                .await
                .unwrap()
                .len(),
            shut + 1
        );
        let left = store
            .list::<TenantKey>(Filter::tenant(Some("acme")))
            .await
            .unwrap();
        let others = store
            .list::<VaultRecord>(
                Filter::tenant(Some("acme"))
                    .sealed_otherwise(left[0].id)
                    .most(9),
            )
            .await;
        assert_eq!((left.len(), others.unwrap().len()), (2, 1));
        // The key is deleted once it is not needed.
        vault.put(&ada(), "github", "b", tokens(1)).await.unwrap();
        vault.disconnect(&ada(), "github", "b").await.unwrap();
        let told = vault.revoke_due(&*Provider::new(&stage)).await;
        assert_eq!(told.unwrap(), 2);
        assert_eq!(vault.sweep(Some("acme")).await.unwrap(), 0);
        let left = store
            .list::<TenantKey>(Filter::tenant(Some("acme")))
            .await
            .unwrap();
        assert_eq!(left.len(), 1);
    }
}

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn a_sweep_skips_secrets_under_an_unknown_key() {
    let stage = Stage::in_sqlite();
    let vault = stage.vault().await;
    vault.put(&ada(), "github", "b", tokens(0)).await.unwrap();
    vault.put(&ada(), "github", "c", tokens(0)).await.unwrap();
    let database = rusqlite::Connection::open(stage.directory.path().join("vault.db")).unwrap();
    let changed = database
        .execute_batch(
            "PRAGMA foreign_keys = OFF;
             UPDATE askback_vault_records SET key_id = randomblob(length(key_id)) WHERE account = 'b';",
        );
    changed.unwrap();
    assert_eq!(vault.rotate(Some("acme")).await.unwrap(), 1);
    let lines = vault.audit(Some("acme"), 0, 1000).await.unwrap();
    let told = lines
        .iter()
        .filter(|it| it.record.event == AuditEvent::NotResealed);
    assert_eq!(told.count(), 1);
    // Nothing is sealed under the old key.
    let left = stage
        .store
        .list::<TenantKey>(Filter::tenant(Some("acme")))
        .await
        .unwrap();
    assert_eq!(left.len(), 1);
}

#[test]
fn a_ring_that_was_replaced_has_another_active_key() {
    let held = LocalKeys::new(KeyRing::new(Key::new(&[1; 32])));
    let before = held.active();
    held.replace(ring(2));
    assert_ne!(held.active(), before);
}
