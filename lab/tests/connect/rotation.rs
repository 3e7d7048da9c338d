//! Keys are replaced while users sign in, consent, come back and look at their accounts, and calls use them. Everything
//! can still be decrypted, and no user is refused.

use std::{
    future::Future,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use askback::{Principal, Revision::V2026_07_28};
use askback_connect::vault::{AccountQuery, AuditEvent, Grant, LocalKeys, Renewer, Vault};
use askback_core::ask::keys::{Key, KeyRing};
use askback_oauth::Secret;
use lab::{browser::Browser, issuers::Maker};
use tokio::{task::JoinHandle, time::interval};

use crate::{
    Result, browser,
    scene::{KEY, MILES, Plan, Scene},
};

const TENANT: &str = "acme";
const PERSONS: [&str; 3] = ["ada", "grace", "hedy"];

/// An additional account without a tenant.
const KEPT: &str = "a key that was there before";

/// The minimum pause between rotations and reads, because the browser and the issuers need the CPU, too.
const PACE: Duration = Duration::from_millis(20);

/// The minimum number of rotations for a meaningful test.
const ROUNDS: usize = 10;

struct Busy {
    ends: Arc<AtomicBool>,
    done: Arc<AtomicUsize>,
    task: JoinHandle<Result<()>>,
}

impl Busy {
    fn with<F, T>(mut work: F) -> Self
    where
        F: FnMut(usize) -> T + Send + 'static,
        T: Future<Output = Result<()>> + Send,
    {
        let (ends, done) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
        let (told, counted) = (Arc::clone(&ends), Arc::clone(&done));
        let task = tokio::spawn(async move {
            let mut turns = interval(PACE);
            while !told.load(Relaxed) {
                turns.tick().await;
                work(counted.load(Relaxed)).await?;
                counted.fetch_add(1, Relaxed);
            }
            Ok(())
        });
        Self { ends, done, task }
    }

    async fn end(self) -> Result<usize> {
        self.ends.store(true, Relaxed);
        self.task.await??;
        Ok(self.done.load(Relaxed))
    }
}

/// Replaces the key-encryption key. Both keys are available until everything is wrapped with the new one.
async fn exchange(vault: &Vault, keys: &LocalKeys, round: usize) -> Result<()> {
    let key = |round: usize| {
        let mut bytes = KEY;
        bytes[31] = u8::try_from(round % 200).unwrap_or_default();
        Key::new(&bytes)
    };
    let before = match round {
        0 => Key::new(&KEY),
        _ => key(round),
    };
    keys.replace(KeyRing::new(key(round + 1)).and_accept(before));
    vault.rewrap().await?;
    keys.replace(KeyRing::new(key(round + 1)));
    Ok(())
}

fn nobody() -> Principal {
    Principal {
        tenant: None,
        issuer: None,
        subject: "nobody".to_owned(),
        client_id: None,
    }
}

/// Rotates all keys repeatedly, including those of the pages' cookies, alternating between the pages' process and
/// another one.
async fn rotating(scene: &Scene) -> Result<Busy> {
    let vaults = [scene.vault.clone(), scene.open_again().await?];
    let keys = Arc::clone(&scene.keys);
    Ok(Busy::with(move |round| {
        let (vault, keys) = (vaults[round % 2].clone(), Arc::clone(&keys));
        async move {
            vault.rotate(Some(TENANT)).await?;
            // Each of these keys is kept for the lifetime of a cookie.
            if round < ROUNDS {
                vault.rotate(None).await?;
            }
            exchange(&vault, &keys, round).await
        }
    }))
}

fn reading(scene: &Scene) -> Busy {
    let vault = scene.vault.clone();
    let renewer: Arc<dyn Renewer> = Arc::new(scene.providers.clone());
    Busy::with(move |_| {
        let (vault, renewer) = (vault.clone(), Arc::clone(&renewer));
        async move {
            let found = vault
                .get(&AccountQuery::new(&nobody(), "pay"), &renewer)
                .await?;
            assert_eq!(found.secret.expose(), KEPT);
            Ok(())
        }
    })
}

/// Completes the flow as a user, looks at the accounts, and calls again.
async fn goes(browser: &Browser, scene: &Scene, login: &str) -> Result<()> {
    let mut call = scene
        .call(browser, login, V2026_07_28, false, "my_miles")
        .await?;
    let person = browser.person(login).await?;
    scene.connect(&person, &call.link().await?, login).await?;
    assert_eq!(call.json().await?["miles"], MILES);
    person.goto(&format!("{}/accounts", scene.pages)).await?;
    person.sees(&format!("Signed in as {login}")).await?;
    let again = scene
        .call(browser, login, V2026_07_28, false, "my_miles")
        .await?;
    assert_eq!(again.json().await?["person"], login);
    person
        .click("button", &format!("Disconnect Airline {login}"))
        .await?;
    person.sees("My accounts").await?;
    let requests = person.requests().await?;
    let refused = requests
        .iter()
        .filter(|it| it.url.starts_with(&scene.pages));
    let refused: Vec<_> = refused.filter(|it| it.status >= Some(400)).collect();
    assert!(refused.is_empty(), "{refused:?}");
    Ok(())
}

async fn scene(name: &'static str) -> Result<Option<Scene>> {
    let plan = Plan {
        tenant: Some(TENANT),
        ..Plan::new(name, Maker::Authlib)
    };
    let Some(scene) = Scene::set(plan).await? else {
        return Ok(None);
    };
    for login in PERSONS {
        scene.airline.credit(login, MILES);
    }
    let granted = Grant::api_key(Secret::new(KEPT));
    scene.vault.put(&nobody(), "pay", "", granted).await?;
    Ok(Some(scene))
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_exchanged_while_all_are_busy() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some(scene) = scene("rotation").await? else {
        return Ok(());
    };
    let (rotating, reading) = (rotating(&scene).await?, reading(&scene));
    let [ada, grace, hedy] = PERSONS.map(|login| goes(browser, &scene, login));
    tokio::try_join!(ada, grace, hedy)?;
    let (rounds, reads) = (rotating.end().await?, reading.end().await?);
    assert!(rounds >= ROUNDS, "{rounds} rounds");
    assert!(reads >= ROUNDS, "{reads} reads");
    for login in PERSONS {
        let events = scene.events(login).await?;
        assert!(events.contains(&AuditEvent::Connected), "{events:?}");
        assert!(!events.contains(&AuditEvent::CallbackRefused), "{events:?}");
    }
    Ok(())
}

/// A new key for tenantless data signs no visitor out, neither during a visit nor on the way back from the airline.
#[tokio::test(flavor = "multi_thread")]
async fn a_visit_goes_on_with_new_keys() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some(scene) = scene("rotation-visit").await? else {
        return Ok(());
    };
    let mut call = scene
        .call(browser, "ada", V2026_07_28, false, "my_miles")
        .await?;
    let link = call.link().await?;
    let ada = browser.person("ada").await?;
    scene.visit(&ada, "ada").await?;
    scene.vault.rotate(None).await?;
    ada.goto(&format!("{}/accounts", scene.pages)).await?;
    ada.sees("Signed in as ada").await?;

    scene.agree(&ada, &link).await?;
    ada.arrives(&scene.third.name).await?;
    scene.vault.rotate(None).await?;
    scene.allow(&ada, "ada").await?;
    ada.arrives(&format!("{}/cb/airline", scene.pages)).await?;
    ada.sees("Airline is connected").await?;
    assert_eq!(call.json().await?["miles"], MILES);
    scene.vault.rotate(None).await?;
    let again = scene
        .call(browser, "ada", V2026_07_28, false, "my_miles")
        .await?;
    assert_eq!(again.json().await?["miles"], MILES);
    let renewer: Arc<dyn Renewer> = Arc::new(scene.providers.clone());
    let kept = AccountQuery::new(&nobody(), "pay");
    let kept = scene.vault.get(&kept, &renewer).await?;
    assert_eq!(kept.secret.expose(), KEPT);
    Ok(())
}
