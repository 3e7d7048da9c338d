use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use askback_connect::vault::{
    Change, Filter, KeyWrapper, LocalKeys, SqliteVault, TenantKey, Vault, VaultError,
    VaultSettings, VaultStore, WrappedKey,
};
use askback_core::{ask::keys::KeyId, future::BoxFuture};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use tokio::task::JoinSet;
use zeroize::Zeroizing;

use crate::stage::{HOUR, keys};
use crate::visitor::{Browser, Scene, WEB};

/// Keys that count their calls of `unwrap`.
struct Counted {
    keys: LocalKeys,
    unwrapped: AtomicUsize,
}

impl KeyWrapper for Counted {
    fn active(&self) -> String {
        self.keys.active()
    }

    fn wrap<'a>(
        &'a self,
        tenant: Option<&'a str>,
        id: KeyId,
        key: &'a [u8; 32],
    ) -> BoxFuture<'a, Result<WrappedKey, VaultError>> {
        self.keys.wrap(tenant, id, key)
    }

    fn unwrap<'a>(
        &'a self,
        tenant: Option<&'a str>,
        id: KeyId,
        wrapped: &'a WrappedKey,
    ) -> BoxFuture<'a, Result<Zeroizing<[u8; 32]>, VaultError>> {
        self.unwrapped.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            // Other tasks run meanwhile.
            tokio::task::yield_now().await;
            self.keys.unwrap(tenant, id, wrapped).await
        })
    }
}

async fn is_known(browser: &mut Browser) -> bool {
    let page = browser.get(&format!("{WEB}/accounts")).await;
    assert_eq!(page.status, 200, "{}", page.text);
    page.text.contains("My accounts")
}

#[tokio::test]
async fn a_new_key_signs_no_user_out() {
    let scene = Scene::web().await;
    let other = scene.other_process().await;
    let mut before = scene.signed_in("acme", "ada").await;
    assert!(is_known(&mut before.at(&other)).await);

    scene.stage.clock.turn(1000);
    scene.vault.rotate(None).await.unwrap();
    let mut after = scene.signed_in("acme", "bob").await;
    for (who, browser) in [("before", &mut before), ("after", &mut after)] {
        assert!(is_known(browser).await, "{who}");
        assert!(is_known(&mut browser.at(&other)).await, "{who}, elsewhere");
    }

    // The old key is deleted once it cannot have sealed anything that is needed: intents are stored for a day after
    // their ten minutes.
    for (turned, left) in [(24 * HOUR + 600_000 + 299_999, 2), (1, 1)] {
        scene.stage.clock.turn(turned);
        scene.vault.sweep(None).await.unwrap();
        let keys = scene
            .stage
            .store
            .list::<TenantKey>(Filter::tenant(None))
            .await
            .unwrap();
        assert_eq!(keys.len(), left);
    }
    let mut late = scene.signed_in("acme", "ada").await;
    assert!(is_known(&mut late).await);
}

#[tokio::test]
async fn a_stolen_key_is_useless_once_its_replacement_is_old_enough() {
    let scene = Scene::web().await;
    scene.signed_in("acme", "ada").await;
    let stolen = scene
        .stage
        .store
        .list::<TenantKey>(Filter::tenant(None))
        .await
        .unwrap()
        .remove(0);
    let elsewhere: Arc<dyn VaultStore> = Arc::new(SqliteVault::in_memory().unwrap());
    let added = elsewhere.write(Change::add_key(&stolen, None)).await;
    assert!(added.unwrap().is_kept());
    let clock = Arc::clone(&scene.stage.clock);
    let own = Arc::new(keys(7));
    let thief = Vault::open_with(elsewhere, own, VaultSettings::default(), clock);
    let thief = scene.process_of(thief.await.unwrap()).await;

    scene.stage.clock.turn(1000);
    scene.vault.rotate(None).await.unwrap();
    // Without a sweep. A second, newer key does not extend the time of the first.
    for (turned, rotates, opens) in [
        (HOUR, true, true),
        (299_999, false, true),
        (1, false, false),
        (HOUR, false, false),
    ] {
        scene.stage.clock.turn(turned);
        if rotates {
            scene.vault.rotate(None).await.unwrap();
        }
        let mut forged = scene.browser().at(&thief);
        let issuer = &scene.issuer.url;
        forged.sign_in(issuer, "accounts", "acme", "ada").await;
        assert!(is_known(&mut forged).await);
        let known = is_known(&mut forged.at(&scene.kit)).await;
        assert_eq!(known, opens, "{turned} milliseconds later");
    }
    let kept = scene
        .stage
        .store
        .list::<TenantKey>(Filter::tenant(None))
        .await
        .unwrap();
    assert!(kept.contains(&stolen));
}

#[tokio::test]
async fn a_compromised_key_opens_nothing_after_its_replacement() {
    let scene = Scene::web().await;
    let other = scene.other_process().await;
    let oldest = scene.signed_in("acme", "ada").await;
    scene.stage.clock.turn(1000);
    scene.vault.rotate(None).await.unwrap();
    let newest = scene.signed_in("acme", "bob").await;
    for browser in [&oldest, &newest] {
        assert!(is_known(&mut browser.at(&other)).await);
    }
    scene.stage.clock.turn(1000);
    scene.vault.rotate_compromised(None).await.unwrap();
    // The other process still has the old keys cached.
    for browser in [&oldest, &newest] {
        for process in [&other, &scene.kit] {
            assert!(!is_known(&mut browser.at(process)).await);
        }
    }
    let keys = scene
        .stage
        .store
        .list::<TenantKey>(Filter::tenant(None))
        .await
        .unwrap();
    assert_eq!(keys.len(), 1);
    let after = scene.signed_in("acme", "ada").await;
    for process in [&other, &scene.kit] {
        assert!(is_known(&mut after.at(process)).await);
    }
}

#[tokio::test]
async fn cookies_under_no_key_are_looked_for_once_a_second() {
    let scene = Scene::web().await;
    let mut browser = scene.signed_in("acme", "ada").await;
    for (value, _) in browser.jar.values_mut() {
        let mut sealed = URL_SAFE_NO_PAD.decode(&*value).unwrap();
        sealed[2..10].fill(9);
        *value = URL_SAFE_NO_PAD.encode(sealed);
    }
    let counted = Arc::new(Counted {
        keys: keys(7),
        unwrapped: AtomicUsize::new(0),
    });
    let wrapper = Arc::<Counted>::clone(&counted);
    let process = scene
        .process_of(scene.stage.vault_with(wrapper).await)
        .await;
    // The first load.
    assert!(!is_known(&mut browser.at(&process)).await);
    for (turned, loads) in [(0, 0), (999, 0), (1, 1), (500, 0), (500, 1)] {
        scene.stage.clock.turn(turned);
        let before = counted.unwrapped.load(Ordering::SeqCst);
        let mut visits: JoinSet<_> = (0..20)
            .map(|_| {
                let mut browser = browser.at(&process);
                async move { is_known(&mut browser).await }
            })
            .collect();
        while let Some(is_known) = visits.join_next().await {
            assert!(!is_known.unwrap());
        }
        let loaded = counted.unwrapped.load(Ordering::SeqCst) - before;
        assert_eq!(loaded, loads, "after {turned} milliseconds");
    }
}
