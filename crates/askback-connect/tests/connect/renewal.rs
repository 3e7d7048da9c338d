use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use askback_connect::vault::{
    AccountKey, AccountState, AuditEvent, Credential, Grant, RenewalError, Renewer, Vault,
    VaultError,
};
use askback_core::{ask::Millis, auth::Scopes, clock::Clock, future::BoxFuture};
use askback_oauth::Secret;
use tokio::task::{JoinHandle, JoinSet};

use crate::stage::{HOUR, Hands, Provider, Stage, ada, keys, tokens, until, wanted};

async fn state(vault: &Vault) -> AccountState {
    vault.accounts(&ada()).await.unwrap()[0].state
}

async fn with_token(stage: &Stage, lasts: Millis) -> Vault {
    let vault = stage.vault().await;
    let granted = tokens(0).expires(stage.clock.now() + lasts);
    vault.put(&ada(), "github", "ada-l", granted).await.unwrap();
    vault
}

/// Asks a vault for the credential, which the provider then renews.
fn getting(vault: &Vault, provider: &Arc<Provider>) -> JoinHandle<Result<Credential, VaultError>> {
    let (vault, renewer) = (vault.clone(), provider.renewer());
    tokio::spawn(async move { vault.get(&wanted(&ada()), &renewer).await })
}

#[tokio::test(flavor = "multi_thread")]
async fn many_tasks_on_several_machines_make_one_request() {
    for stage in Stage::all().await {
        many_make_one_request(&stage).await;
    }
}

pub(crate) async fn many_make_one_request(stage: &Stage) {
    with_token(stage, 0).await;
    let provider = Provider::new(stage);
    let mut machines = Vec::new();
    for _ in 0..3 {
        machines.push(stage.vault().await);
    }
    for expiry in 1..=3 {
        let mut tasks = JoinSet::new();
        for at in 0..150 {
            let (vault, renewer) = (machines[at % 3].clone(), provider.renewer());
            tasks.spawn(async move { vault.get(&wanted(&ada()), &renewer).await });
        }
        while let Some(given) = tasks.join_next().await {
            let given = given.unwrap().unwrap();
            assert_eq!(given.secret.expose(), format!("canary-access-{expiry}"));
        }
        assert_eq!(provider.requests(), expiry);
        stage.clock.turn(HOUR);
    }
}

#[tokio::test]
async fn a_token_that_is_still_good_is_used_while_another_comes() {
    for stage in Stage::all().await {
        let vault = with_token(&stage, HOUR).await;
        let provider = Provider::held(&stage);
        stage.clock.turn(HOUR - 30_000);
        let renewal = getting(&vault, &provider);
        until(|| provider.requests() == 1).await;
        let other = stage.vault().await;
        let given = other
            .get(&wanted(&ada()), &provider.renewer())
            .await
            .unwrap();
        assert_eq!(given.secret.expose(), "canary-access-0");
        provider.answers.add_permits(1);
        let given = renewal.await.unwrap().unwrap();
        assert_eq!(given.secret.expose(), "canary-access-1");
        assert_eq!(provider.requests(), 1);
    }
}

#[tokio::test]
async fn a_renewal_completes_even_if_no_caller_waits() {
    // Expired, and so close to the expiry that only some callers renew it.
    let half = Duration::from_secs(30 * 60);
    for (left, margin) in [(0, Duration::from_secs(60)), (HOUR / 2 + 1, half)] {
        for stage in Stage::all().await {
            cut_off(&stage, left, margin).await;
        }
    }
}

/// Drops a call that renews a token with this much time left.
async fn cut_off(stage: &Stage, left: Millis, margin: Duration) {
    let vault = stage
        .vault_within(Arc::new(keys(7)), |settings| settings.margin = margin)
        .await;
    let lasts = 4 * HOUR;
    let granted = tokens(0).expires(stage.clock.now() + lasts);
    vault.put(&ada(), "github", "ada-l", granted).await.unwrap();
    stage.clock.turn(lasts - left);
    let provider = Provider::held(stage);
    let call = getting(&vault, &provider);
    until(|| provider.requests() == 1).await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    provider.answers.add_permits(1);
    let told = async || {
        let lines = vault.audit(Some("acme"), 0, 99).await.unwrap();
        lines
            .iter()
            .any(|it| it.record.event == AuditEvent::Renewed)
    };
    while !told().await {
        tokio::task::yield_now().await;
    }
    let given = vault.get(&wanted(&ada()), &provider.renewer()).await;
    assert_eq!(given.unwrap().secret.expose(), "canary-access-1");
    assert_eq!(provider.requests(), 1);
}

#[tokio::test]
async fn scopes_that_a_renewal_leaves_out_are_gone() {
    let scopes = |text: &str| Scopes::parse(text).unwrap();
    // The scopes that the provider lists, the scopes that are stored, and whether there is a
    // credential for `repo`.
    for (answered, kept, has_repo) in [
        (None, "gist repo", true),
        (Some("gist"), "gist", false),
        (Some("repo admin"), "repo", true),
        (Some(""), "", false),
    ] {
        for stage in Stage::all().await {
            let (vault, provider) = (stage.vault().await, Provider::new(&stage));
            let granted = tokens(0)
                .scopes(scopes("gist repo"))
                .expires(stage.clock.now());
            vault.put(&ada(), "github", "ada-l", granted).await.unwrap();
            *provider.scopes.lock().unwrap() = answered.map(scopes);
            let repo = wanted(&ada()).scopes(scopes("repo"));
            let given = vault.get(&repo, &provider.renewer()).await;
            match given {
                Ok(given) => assert!(has_repo && given.scopes == scopes(kept)),
                Err(VaultError::NotConnected) => assert!(!has_repo),
                Err(error) => panic!("{error}"),
            }
            let accounts = vault.accounts(&ada()).await.unwrap();
            assert_eq!(accounts[0].scopes, scopes(kept), "{answered:?}");
            assert_eq!(provider.requests(), 1);
        }
    }
}

#[tokio::test]
async fn a_provider_that_fails_is_left_alone_for_longer_each_time() {
    for stage in Stage::all().await {
        let vault = with_token(&stage, 0).await;
        let provider = Provider::new(&stage);
        let failed = |retry_after| RenewalError::Failed { retry_after };
        let asked = |seconds| failed(Some(Duration::from_secs(seconds)));
        let failures = vec![failed(None), failed(None), asked(600), asked(86_400)];
        *provider.renewals.lock().unwrap() = failures;
        for (requests, pause) in [(1, 30_000), (2, 60_000), (3, 600_000), (4, HOUR)] {
            let now = stage.clock.now();
            let refused = vault.get(&wanted(&ada()), &provider.renewer()).await;
            let Err(VaultError::Unavailable { until }) = refused else {
                panic!("{refused:?}");
            };
            // At most a tenth more.
            assert!(
                (pause..=pause / 10 * 11).contains(&(until - now)),
                "{}",
                until - now
            );
            stage.clock.turn(pause - 1);
            let again = stage.vault().await;
            let refused = again.get(&wanted(&ada()), &provider.renewer()).await;
            assert!(matches!(refused, Err(VaultError::Unavailable { .. })));
            assert_eq!(provider.requests(), requests);
            stage.clock.turn(pause / 10 + 1);
        }
        let given = vault
            .get(&wanted(&ada()), &provider.renewer())
            .await
            .unwrap();
        assert_eq!(given.secret.expose(), "canary-access-5");
        assert_eq!(state(&vault).await, AccountState::Active);
    }
}

#[tokio::test]
async fn a_refused_refresh_token_is_not_sent_again() {
    for stage in Stage::all().await {
        let vault = with_token(&stage, 0).await;
        let provider = Provider::new(&stage);
        provider
            .renewals
            .lock()
            .unwrap()
            .push(RenewalError::Refused);
        for _ in 0..3 {
            let refused = vault.get(&wanted(&ada()), &provider.renewer()).await;
            assert!(
                matches!(refused, Err(VaultError::NeedsReconnect)),
                "{refused:?}"
            );
            stage.clock.turn(HOUR);
        }
        assert_eq!(provider.requests(), 1);
        assert_eq!(state(&vault).await, AccountState::NeedsReconnect);
        let lines = vault.audit(Some("acme"), 0, 100).await.unwrap();
        let refusals = lines
            .iter()
            .filter(|it| it.record.event == AuditEvent::RefusedStale);
        assert_eq!(refusals.count(), 3);
        let anew = tokens(9).expires(stage.clock.now() + HOUR);
        vault.put(&ada(), "github", "ada-l", anew).await.unwrap();
        let given = vault
            .get(&wanted(&ada()), &provider.renewer())
            .await
            .unwrap();
        assert_eq!(given.secret.expose(), "canary-access-9");
    }
}

struct TooLate(AtomicUsize, Arc<Hands>);

impl Renewer for TooLate {
    fn renew<'a>(
        &'a self,
        _account: &'a AccountKey,
        _refresh: &'a Secret,
    ) -> BoxFuture<'a, Result<Grant, RenewalError>> {
        let number = 1 + self.0.fetch_add(1, Ordering::SeqCst);
        let ended = tokens(number).expires(self.1.now());
        Box::pin(async move {
            match number {
                ..9 => Ok(ended),
                // It was asked repeatedly.
                _ => Err(RenewalError::Refused),
            }
        })
    }
}

#[tokio::test]
async fn a_provider_that_gives_ended_tokens_is_asked_once_a_call() {
    for stage in Stage::all().await {
        let vault = with_token(&stage, 0).await;
        let provider = Arc::new(TooLate(AtomicUsize::new(0), Arc::clone(&stage.clock)));
        let renewer: Arc<dyn Renewer> = Arc::<TooLate>::clone(&provider);
        for requests in 1..=2 {
            let refused = vault.get(&wanted(&ada()), &renewer).await;
            let Err(VaultError::Unavailable { until }) = refused else {
                panic!("{refused:?}");
            };
            assert!(until > stage.clock.now());
            assert_eq!(provider.0.load(Ordering::SeqCst), requests);
        }
        // The last refresh token is kept until the provider recovers.
        let better = Provider::new(&stage);
        let given = vault.get(&wanted(&ada()), &better.renewer()).await.unwrap();
        assert_eq!(given.secret.expose(), "canary-access-1");
    }
}

#[tokio::test]
async fn a_late_writer_changes_nothing() {
    for stage in Stage::all().await {
        let vault = with_token(&stage, 0).await;
        let (late, quick) = (Provider::held(&stage), Provider::new(&stage));
        let call = getting(&vault, &late);
        until(|| late.requests() == 1).await;
        stage.clock.turn(30_000);
        // The lease has expired, and another machine has renewed.
        quick.requests.store(6, Ordering::SeqCst);
        let other = stage.vault().await;
        let given = other.get(&wanted(&ada()), &quick.renewer()).await.unwrap();
        assert_eq!(given.secret.expose(), "canary-access-7");
        late.answers.add_permits(1);
        let given = call.await.unwrap().unwrap();
        assert_eq!(given.secret.expose(), "canary-access-7");
    }
}

#[tokio::test]
async fn tokens_that_a_new_grant_overtakes_are_given_back() {
    for stage in Stage::all().await {
        let vault = with_token(&stage, 0).await;
        let provider = Provider::held(&stage);
        *provider.is_single.lock().unwrap() = true;
        let call = getting(&vault, &provider);
        until(|| provider.requests() == 1).await;
        // The user connects the account again during its renewal.
        let granted = tokens(5).expires(stage.clock.now() + HOUR);
        vault.put(&ada(), "github", "ada-l", granted).await.unwrap();
        provider.answers.add_permits(1);
        let given = call.await.unwrap().unwrap();
        assert_eq!(given.secret.expose(), "canary-access-5");
        vault.revoke_due(&*provider).await.unwrap();
        let revoked = provider.revoked.lock().unwrap().clone();
        let mut revoked: Vec<_> = revoked.into_iter().map(|(_, token)| token).collect();
        revoked.sort();
        let expected = ["access-0", "access-1", "refresh-0", "refresh-1"];
        assert_eq!(revoked, expected.map(|token| format!("canary-{token}")));
    }
}
