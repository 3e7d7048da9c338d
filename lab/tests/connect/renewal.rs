//! One account, three vaults on one file as in three processes, and many concurrent calls. The authorization server,
//! which treats a refresh token that is used twice as stolen, receives each one once.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use askback::{BoxFuture, Revision::V2026_07_28, SystemClock};
use askback_connect::{
    providers::Providers,
    vault::{AccountKey, AccountQuery, Grant, RenewalError, Renewer},
};
use askback_core::{ask::Millis, clock::Clock};
use askback_oauth::Secret;
use lab::{
    airline::SCOPE,
    issuers::{Event, Maker},
};
use tokio::task::JoinSet;

use crate::{
    Result, browser,
    scene::{Plan, Scene, open},
};

const VAULTS: usize = 3;
const CALLS: usize = 50;
const RENEWALS: usize = 4;

/// The lifetime of a token for the vaults.
const LASTS: Millis = 3_600_000;

/// A clock that is set by hand.
struct Hands(AtomicU64);

impl Clock for Hands {
    fn now(&self) -> Millis {
        self.0.load(Ordering::SeqCst)
    }
}

/// Third parties whose tokens expire by the vaults' clock.
struct Turned {
    providers: Providers,
    clock: Arc<Hands>,
}

impl Renewer for Turned {
    fn renew<'a>(
        &'a self,
        account: &'a AccountKey,
        refresh: &'a Secret,
    ) -> BoxFuture<'a, Result<Grant, RenewalError>> {
        Box::pin(async move {
            let granted = self.providers.renew(account, refresh).await?;
            Ok(granted.expires(self.clock.now() + LASTS))
        })
    }
}

async fn check(name: &'static str, maker: Maker) -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some(scene) = Scene::set(Plan::new(name, maker)).await? else {
        return Ok(());
    };
    let mut call = scene
        .call(browser, "ada", V2026_07_28, false, "my_miles")
        .await?;
    let ada = browser.person("ada").await?;
    scene.connect(&ada, &call.link().await?, "ada").await?;
    assert_eq!(call.json().await?["person"], "ada");

    let clock = Arc::new(Hands(AtomicU64::new(SystemClock.now())));
    let turned: Arc<dyn Renewer> = Arc::new(Turned {
        providers: scene.providers.clone(),
        clock: Arc::clone(&clock),
    });
    let mut vaults = Vec::new();
    for _ in 0..VAULTS {
        let clock = Arc::clone(&clock);
        vaults.push(open(&scene.directory, clock).await?);
    }
    let scopes = askback_core::auth::Scopes::of([SCOPE])?;
    let wanted = AccountQuery::new(&scene.principal("ada"), "airline").scopes(scopes);
    for renewals in 1..=RENEWALS {
        clock.0.fetch_add(2 * LASTS, Ordering::SeqCst);
        let mut calls = JoinSet::new();
        for number in 0..CALLS {
            let (vault, wanted) = (vaults[number % VAULTS].clone(), wanted.clone());
            let turned = Arc::clone(&turned);
            calls.spawn(async move { vault.get(&wanted, &turned).await });
        }
        let mut tokens = Vec::new();
        while let Some(called) = calls.join_next().await {
            tokens.push(called??.secret);
        }
        assert_eq!(tokens.len(), CALLS);
        assert!(tokens.iter().all(|token| *token == tokens[0]));
        assert_eq!(scene.third.renewals().await?, renewals);
    }
    let log = scene.third.log().await?;
    assert!(!log.contains(&Event::FamilyRevoked), "{log:?}");
    assert_eq!(log.len(), 1 + RENEWALS, "{log:?}");
    // The last one is valid.
    let again = scene
        .call(browser, "ada", V2026_07_28, false, "my_miles")
        .await?;
    assert_eq!(again.json().await?["person"], "ada");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_sees_each_refresh_token_once() -> Result<()> {
    check("renewal-oidc-provider", Maker::OidcProvider).await
}

#[tokio::test(flavor = "multi_thread")]
async fn authlib_sees_each_refresh_token_once() -> Result<()> {
    check("renewal-authlib", Maker::Authlib).await
}
