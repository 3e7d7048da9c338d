//! Renewal of tokens.

use std::{
    io,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use askback::{
    BoxFuture,
    authorization::{
        Secret,
        client::{CredentialKey, CredentialStore, KeyLock, MemoryCredentials, SignOut},
    },
    clock::Clock,
};
use serde_json::json;
use tokio::task::JoinSet;

use super::{AuthorizationError, Reply, SignInError, World, back, call, value};

#[derive(Clone, Default)]
struct Turned(Arc<AtomicU64>);

impl Clock for Turned {
    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

fn grants(world: &World) -> Vec<String> {
    let posted = world.posted("/token");
    let grant = |form: &Vec<(String, String)>| value(form, "grant_type").unwrap().to_owned();
    posted.iter().map(grant).collect()
}

// Shows AS-07.
#[tokio::test]
async fn many_requests_need_one_new_token() {
    let world = World::new().await;
    let client = Arc::new(world.connect().await.unwrap());
    world.change(|rules| rules.good = None);
    let mut calls = JoinSet::new();
    for _ in 0..50 {
        let client = Arc::clone(&client);
        calls.spawn(async move { call(&client, "book").await });
    }
    let called = calls.join_all().await;
    assert!(called.iter().all(Result::is_ok), "{called:?}");
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
    let refresh = &world.posted("/token")[1];
    assert_eq!(value(refresh, "refresh_token"), Some("refresh-1"));
    assert_eq!(value(refresh, "resource"), Some(world.server.url.as_str()));
    assert_eq!(world.browser.times(), 1);

    // The next renewal uses the refresh token of the last one.
    world.change(|rules| rules.good = None);
    call(&client, "book").await.unwrap();
    assert_eq!(
        value(&world.posted("/token")[2], "refresh_token"),
        Some("refresh-2")
    );
}

#[tokio::test]
async fn a_token_is_renewed_ahead_of_its_end() {
    let world = World::new().await;
    let clock = Turned::default();
    let authorization = world.authorization().clock(clock.clone());
    let client = world.connect_with(&authorization).await.unwrap();
    call(&client, "book").await.unwrap();
    assert_eq!(grants(&world).len(), 1);
    clock.0.store((3600 - 60) * 1000, Ordering::Relaxed);
    call(&client, "book").await.unwrap();
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
    let refusals = world.server.asked();
    let refused = refusals
        .iter()
        .filter(|asked| asked.header("authorization").is_none());
    assert_eq!(refused.filter(|asked| asked.path == "/mcp").count(), 1);
}

#[tokio::test]
async fn a_failed_renewal_is_not_repeated_for_every_request() {
    for (status, tried_later) in [(400, 1), (503, 2)] {
        let world = World::new().await;
        let clock = Turned::default();
        let authorization = world.authorization().clock(clock.clone());
        let client = world.connect_with(&authorization).await.unwrap();
        world.change(|rules| {
            let error = json!({"error": "invalid_grant"}).to_string();
            rules.tokens = Some(Box::new(move |_, _| {
                Some(Reply::json(status, error.clone()))
            }));
        });
        let tried = || grants(&world).len() - 1;
        for (second, count) in [(3539, 0), (3540, 1), (3569, 1), (3570, tried_later)] {
            clock.0.store(second * 1000, Ordering::Relaxed);
            for _ in 0..3 {
                call(&client, "book").await.unwrap();
            }
            assert_eq!(tried(), count, "{status} at {second}");
        }
    }
}

#[tokio::test]
async fn a_token_that_ends_soon_is_used_before_it_is_renewed() {
    let world = World::new().await;
    let clock = Turned::default();
    let authorization = world.authorization().clock(clock.clone());
    world.change(|rules| {
        rules.good = Some("short".to_owned());
        rules.tokens = Some(Box::new(|_, _| {
            let token = json!({
                "access_token": "short",
                "token_type": "Bearer",
                "refresh_token": "next",
                "expires_in": 30,
            });
            Some(Reply::json(200, token.to_string()))
        }));
    });
    let client = Arc::new(world.connect_with(&authorization).await.unwrap());
    for (second, count) in [(14, 1), (15, 2), (29, 2), (30, 3)] {
        clock.0.store(second * 1000, Ordering::Relaxed);
        let mut calls = JoinSet::new();
        for _ in 0..20 {
            let client = Arc::clone(&client);
            calls.spawn(async move { call(&client, "book").await });
        }
        let called = calls.join_all().await;
        assert!(called.iter().all(Result::is_ok), "{called:?}");
        assert_eq!(grants(&world).len(), count, "{second}");
    }
}

#[tokio::test]
async fn a_refresh_token_that_is_not_replaced_stays() {
    let world = World::new().await;
    let client = world.connect().await.unwrap();
    for number in 2..4 {
        world.change(|rules| {
            let access = format!("other-{number}");
            rules.good = Some(access.clone());
            rules.tokens = Some(Box::new(move |_, _| {
                let token = json!({"access_token": access, "token_type": "Bearer"});
                Some(Reply::json(200, token.to_string()))
            }));
        });
        call(&client, "book").await.unwrap();
    }
    let posted = world.posted("/token");
    let used: Vec<_> = posted[1..]
        .iter()
        .map(|it| value(it, "refresh_token"))
        .collect();
    assert_eq!(used, [Some("refresh-1"), Some("refresh-1")]);
}

#[tokio::test]
async fn without_a_renewal_the_user_signs_in_again() {
    let world = World::new().await;
    let client = world.connect().await.unwrap();
    world.change(|rules| {
        rules.good = None;
        rules.refresh = None;
    });
    call(&client, "book").await.unwrap();
    assert_eq!(
        grants(&world),
        ["authorization_code", "refresh_token", "authorization_code"]
    );
    assert_eq!(world.browser.times(), 2);
}

// Shows AZ-48.
#[tokio::test]
async fn a_client_that_was_given_no_refresh_token_signs_in_again() {
    let world = World::new().await;
    world.change(|rules| {
        rules.good = Some("access".to_owned());
        rules.tokens = Some(Box::new(|_, _| {
            let token = json!({"access_token": "access", "token_type": "Bearer"});
            Some(Reply::json(200, token.to_string()))
        }));
    });
    let client = world.connect().await.unwrap();
    call(&client, "book").await.unwrap();
    assert_eq!(grants(&world), ["authorization_code"]);
    world.change(|rules| {
        rules.good = Some("another".to_owned());
        rules.tokens = Some(Box::new(|_, _| {
            let token = json!({"access_token": "another", "token_type": "Bearer"});
            Some(Reply::json(200, token.to_string()))
        }));
    });
    call(&client, "book").await.unwrap();
    assert_eq!(
        grants(&world),
        ["authorization_code", "authorization_code"],
        "nothing was to renew it with"
    );
}

#[tokio::test]
async fn a_failing_issuer_does_not_force_a_sign_in() {
    for (status, error) in [
        (503, None),
        (408, None),
        (429, Some("slow_down")),
        (403, None),
        (400, Some("temporarily_unavailable")),
    ] {
        let world = World::new().await;
        let client = world.connect().await.unwrap();
        world.change(|rules| {
            rules.good = None;
            rules.tokens = Some(Box::new(move |_, before| {
                let reply = match error {
                    Some(error) => Reply::json(status, json!({"error": error}).to_string()),
                    None => Reply::empty(status),
                };
                (before == 2).then_some(reply)
            }));
        });
        let failed = call(&client, "book").await.unwrap_err();
        assert!(failed.to_string().contains(&status.to_string()), "{failed}");
        call(&client, "book").await.unwrap();
        assert_eq!(world.browser.times(), 1, "{status}");
    }
}

/// A store that logs the order of operations.
#[derive(Default)]
struct Watched {
    inner: MemoryCredentials,
    saved: Mutex<Vec<(usize, Secret)>>,
    rules: Mutex<Option<Arc<Mutex<super::Rules>>>>,
}

impl CredentialStore for Watched {
    fn load<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<Option<Secret>>> {
        self.inner.load(key)
    }

    fn save<'a>(
        &'a self,
        key: &'a CredentialKey,
        value: &'a Secret,
    ) -> BoxFuture<'a, io::Result<()>> {
        if matches!(key, CredentialKey::Tokens(_)) {
            let rules = self.rules.lock().unwrap();
            let used = rules.as_ref().unwrap().lock().unwrap().used;
            self.saved.lock().unwrap().push((used, value.clone()));
        }
        self.inner.save(key, value)
    }

    fn remove<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<()>> {
        self.inner.remove(key)
    }

    fn lock<'a>(&'a self, key: &'a CredentialKey) -> BoxFuture<'a, io::Result<KeyLock>> {
        self.inner.lock(key)
    }
}

#[tokio::test]
async fn tokens_are_kept_before_they_are_used() {
    let world = World::new().await;
    let store = Arc::new(Watched::default());
    *store.rules.lock().unwrap() = Some(Arc::clone(&world.rules));
    let authorization = world.authorization().store(Arc::clone(&store));
    let client = world.connect_with(&authorization).await.unwrap();
    world.change(|rules| rules.good = None);
    call(&client, "book").await.unwrap();
    let saved = store.saved.lock().unwrap();
    assert_eq!(saved.len(), 2);
    // No request had used the second token when it was saved.
    let shown_then = saved[1].0;
    let asked = world.server.asked();
    let shown = asked
        .iter()
        .filter(|it| it.header("authorization") == Some("Bearer access-2"));
    assert_eq!(shown_then, 1);
    assert!(shown.count() >= 1);
    assert!(saved[1].1.expose().contains("refresh-2"));
}

// If a caller is dropped during a renewal, the new token is not lost.
#[tokio::test]
async fn a_renewal_outlives_its_caller() {
    let world = World::new().await;
    let client = world.connect().await.unwrap();
    world.change(|rules| rules.good = None);
    let calling = call(&client, "book");
    tokio::select! {
        biased;
        called = calling => panic!("it was not slow: {called:?}"),
        () = world.server.until("POST", 3) => {}
    }
    // The token request is under way, and its caller is gone.
    call(&client, "book").await.unwrap();
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
    assert_eq!(world.browser.times(), 1);
}

#[tokio::test]
async fn no_token_is_lost_for_scopes_that_cannot_be_read() {
    let world = World::new().await;
    let client = world.connect().await.unwrap();
    world.change(|rules| {
        rules.good = Some("access-2".to_owned());
        rules.tokens = Some(Box::new(|_, _| {
            let token = json!({
                "access_token": "access-2",
                "token_type": "Bearer",
                "refresh_token": "refresh-2",
                "scope": "\u{7}",
            });
            Some(Reply::json(200, token.to_string()))
        }));
    });
    call(&client, "book").await.unwrap();
    world.change(|rules| {
        rules.good = None;
        rules.refresh = Some("refresh-2".to_owned());
        rules.tokens = None;
    });
    call(&client, "book").await.unwrap();
    let last = world.posted("/token").pop().unwrap();
    assert_eq!(value(&last, "refresh_token"), Some("refresh-2"));
    assert_eq!(world.browser.times(), 1);
}

#[tokio::test]
async fn invalid_tokens_are_not_used() {
    for body in [
        json!({}),
        json!({"access_token": "", "token_type": "Bearer"}),
        json!({"access_token": "a b", "token_type": "Bearer"}),
        json!({"access_token": "a\r\nb", "token_type": "Bearer"}),
        json!({"access_token": "a", "token_type": "mac"}),
        json!({"access_token": "a", "token_type": "DPoP"}),
        json!({"access_token": "a"}),
        json!({"access_token": "a".repeat(20_000), "token_type": "Bearer"}),
        json!([]),
    ] {
        let world = World::new().await;
        let told = body.to_string();
        world.change(|rules| {
            rules.tokens = Some(Box::new(move |_, _| Some(Reply::json(200, told.clone()))));
        });
        let error = world.refused().await;
        assert!(
            matches!(error, AuthorizationError::Document { .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_registration_that_is_newer_stays() {
    let world = World::new().await;
    let client = world.connect().await.unwrap();
    // Another client of the same issuer, or another program, has registered since.
    let key = CredentialKey::Registration(world.base());
    let kept = world.store.load(&key).await.unwrap().unwrap();
    let newer = Secret::new(kept.expose().replace("\"registered\"", "\"newer\""));
    world.store.save(&key, &newer).await.unwrap();
    world.change(|rules| {
        rules.good = None;
        rules.tokens = Some(Box::new(|_, before| {
            let error = json!({"error": "invalid_client"}).to_string();
            (before == 2).then(|| Reply::json(401, error))
        }));
    });
    call(&client, "book").await.unwrap();
    let kept = world.store.load(&key).await.unwrap().unwrap();
    assert_eq!(kept.expose(), newer.expose());
    assert_eq!(
        world.browser.asked("client_id")[1].as_deref(),
        Some("newer")
    );
}

// Two processes share a store. A refresh token that one has used is not used by the other.
#[tokio::test]
async fn tokens_that_another_process_renewed_are_read_from_the_store() {
    let world = World::new().await;
    let one = world.connect().await.unwrap();
    let other = world.connect().await.unwrap();
    world.change(|rules| rules.good = None);
    call(&one, "book").await.unwrap();
    call(&other, "book").await.unwrap();
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
    assert_eq!(world.browser.times(), 1);
}

// Two processes see the rejected token before either has renewed it.
#[tokio::test]
async fn only_one_of_two_processes_renews() {
    let world = World::new().await;
    let one = world.connect().await.unwrap();
    let other = world.connect().await.unwrap();
    world.change(|rules| rules.good = None);
    let called = tokio::join!(call(&one, "book"), call(&other, "book"));
    assert!(called.0.is_ok() && called.1.is_ok(), "{called:?}");
    assert_eq!(grants(&world), ["authorization_code", "refresh_token"]);
    assert_eq!(world.browser.times(), 1);
}

// A running process still has tokens in memory after another process has signed out.
#[tokio::test]
async fn a_running_process_does_not_undo_a_sign_out() {
    for ahead in [false, true] {
        let world = World::new().await;
        let clock = Turned::default();
        let authorization = world.authorization().clock(clock.clone());
        let client = world.connect_with(&authorization).await.unwrap();
        call(&client, "book").await.unwrap();
        world.browser.answers(|_| Err(SignInError::host("no")));
        let signed_out = world.authorization().sign_out(&world.server.url).await;
        assert_eq!(signed_out, Ok(SignOut::Revoked));
        match ahead {
            true => clock.0.store(3599 * 1000, Ordering::Relaxed),
            // This issuer would still accept the refresh token.
            false => world.change(|rules| rules.good = None),
        }
        let error = call(&client, "book").await.unwrap_err();
        assert!(error.to_string().contains("sign-in"), "{error}");
        assert_eq!(grants(&world), ["authorization_code"], "{ahead}");
        let key = CredentialKey::Tokens(world.server.url.clone());
        assert!(world.store.load(&key).await.unwrap().is_none(), "{ahead}");
    }
}

#[tokio::test]
async fn a_sign_out_waits_for_a_renewal_and_takes_what_came_of_it() {
    let world = World::new().await;
    let client = world.connect().await.unwrap();
    let store = Arc::clone(&world.store);
    let key = CredentialKey::Tokens(world.server.url.clone());
    // Another process is renewing the tokens.
    let renewing = store.lock(&key).await.unwrap();
    let authorization = world.authorization();
    let signing_out = authorization.sign_out(&world.server.url);
    let mut signing_out = std::pin::pin!(signing_out);
    tokio::select! {
        biased;
        signed_out = &mut signing_out => panic!("it did not wait: {signed_out:?}"),
        () = tokio::task::yield_now() => {}
    }
    let kept = store.load(&key).await.unwrap().unwrap();
    let renewed = Secret::new(kept.expose().replace("refresh-1", "refresh-next"));
    store.save(&key, &renewed).await.unwrap();
    drop(renewing);
    assert_eq!(signing_out.await, Ok(SignOut::Revoked));
    let revoked = world.posted("/revoke");
    assert_eq!(value(&revoked[0], "token"), Some("refresh-next"));
    assert!(store.load(&key).await.unwrap().is_none());
    client.close().await;
}

// The tokens of another process's sign-in are used before the user is asked.
#[tokio::test]
async fn a_sign_in_of_another_process_is_enough() {
    let world = World::new().await;
    world.browser.answers(|_| Err(SignInError::host("no")));
    let authorization = world.authorization();
    assert!(world.connect_with(&authorization).await.is_err());
    world
        .browser
        .answers(|url| Ok(back(url, &[("code", "code-1")])));
    world.connect().await.unwrap();
    world.browser.answers(|_| Err(SignInError::host("no")));
    world.connect_with(&authorization).await.unwrap();
    assert_eq!(world.browser.times(), 2);
}
