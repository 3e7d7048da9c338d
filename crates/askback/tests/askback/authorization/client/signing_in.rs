//! A client that the server refuses obtains a token.

use std::{sync::Arc, time::Duration};

use askback::{
    BoxFuture, Revision,
    authorization::client::{
        Authorization, CredentialKey, CredentialStore, Redirect, SignIn, SignInError,
        SignInRequest, SignOut, StoredSignIn,
    },
    client::ClientError,
    transport::Http,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::sync::Notify;

use super::{Browser, World, builder, call, value};
use crate::client::{
    http::{
        server::{Piece, Reply, Server},
        session,
    },
    limits,
};

// Shows AZ-01, AZ-11, AZ-20, AZ-27, AZ-28, AZ-29, AZ-30, AZ-31, AZ-34, AZ-35, AZ-36, AZ-37, AZ-38, AS-03,
// AS-11, AS-12, AS-16, AS-30, AZ25-18, AZ25-19, AZ25-30, BA-27.
#[tokio::test]
async fn a_refused_client_signs_in_and_asks_again() {
    let world = World::new().await;
    let client = world.connect().await.unwrap();
    call(&client, "book").await.unwrap();
    client.close().await;

    assert_eq!(world.browser.times(), 1);
    let asked = |name| world.browser.asked(name).remove(0);
    assert_eq!(asked("response_type").as_deref(), Some("code"));
    assert_eq!(asked("client_id").as_deref(), Some("registered"));
    assert_eq!(asked("resource"), Some(world.server.url.clone()));
    assert_eq!(asked("code_challenge_method").as_deref(), Some("S256"));
    assert_eq!(asked("scope"), None);

    let exchange = &world.posted("/token")[0];
    let sent = |name| value(exchange, name);
    assert_eq!(sent("grant_type"), Some("authorization_code"));
    assert_eq!(sent("code"), Some("code-1"));
    assert_eq!(sent("resource"), Some(world.server.url.as_str()));
    assert_eq!(sent("redirect_uri"), Some("http://127.0.0.1:1/callback"));
    let digest = Sha256::digest(sent("code_verifier").unwrap());
    assert_eq!(
        asked("code_challenge"),
        Some(URL_SAFE_NO_PAD.encode(digest))
    );

    // The first request had no token. Every other one had it in the header, never in a URL.
    let asked = world.server.asked();
    let to_server = asked.iter().filter(|asked| asked.path.starts_with("/mcp"));
    let shown: Vec<_> = to_server.map(|it| it.header("authorization")).collect();
    assert_eq!(shown[0], None);
    assert!(shown.len() > 2 && shown[1..].iter().all(|it| *it == Some("Bearer access-1")));
    let elsewhere = asked.iter().filter(|asked| asked.path != "/mcp");
    for asked in elsewhere {
        assert!(!asked.path.contains("access-1"), "{}", asked.path);
        assert_eq!(asked.header("authorization"), None, "{}", asked.path);
    }
}

// Shows AZ-37, AZ25-10.
#[tokio::test]
async fn the_era_is_found_after_the_sign_in() {
    for protocol in [None, Some(Revision::V2025_11_25)] {
        let issuer = World::new().await;
        let base = issuer.base();
        let challenge = issuer.rules.lock().unwrap().challenge.clone();
        let good = std::sync::Arc::clone(&issuer.rules);
        let server = Server::start(move |asked, _| {
            let shown = asked.header("authorization").map(str::to_owned);
            let good = good.lock().unwrap().good.clone();
            if good.is_some() && shown == good.map(|good| format!("Bearer {good}")) {
                session(asked)
            } else {
                Reply::empty(401).header("WWW-Authenticate", challenge.clone())
            }
        })
        .await;
        issuer.resource(|it| it["resource"] = json!(server.url));
        let http = Http::new(&server.url)
            .unwrap()
            .authorize(&issuer.authorization());
        let client = builder(protocol).connect(http).await.unwrap();
        assert!(client.revision() < Revision::V2026_07_28, "{base}");
        call(&client, "book").await.unwrap();
        server.until("GET", 1).await;
        client.close().await;
        assert_eq!(issuer.browser.times(), 1);
        // Every request of the session has the token, including its stream and its DELETE.
        for what in [
            "initialize",
            "tools/call",
            "GET",
            "DELETE",
            "notifications/initialized",
        ] {
            let last = server.last(what);
            assert_eq!(
                last.header("authorization"),
                Some("Bearer access-1"),
                "{what}"
            );
        }
    }
}

#[tokio::test]
async fn what_is_kept_is_used_by_the_next_run() {
    let world = World::new().await;
    world.connect().await.unwrap().close().await;
    let before = world.server.asked().len();
    let client = world.connect().await.unwrap();
    call(&client, "book").await.unwrap();
    assert_eq!(world.browser.times(), 1);
    let asked = &world.server.asked()[before];
    assert_eq!(asked.header("authorization"), Some("Bearer access-1"));

    let key = CredentialKey::Tokens(world.server.url.clone());
    let kept = world.store.load(&key).await.unwrap().unwrap();
    let signed_in = StoredSignIn::read(&kept).unwrap();
    assert_eq!(signed_in.server, world.server.url);
    assert_eq!(signed_in.issuer, world.base());
    assert_eq!(signed_in.client_id, "registered");
    assert!(signed_in.renewable && signed_in.expires_at.is_some());
    assert_eq!(key.to_string(), format!("tokens {}", world.server.url));
}

#[tokio::test]
async fn connections_that_share_sign_in_once() {
    let world = World::new().await;
    let authorization = world.authorization();
    let (one, two) = tokio::join!(
        world.connect_with(&authorization),
        world.connect_with(&authorization)
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    let calls = tokio::join!(call(&one, "book"), call(&two, "book"));
    assert!(calls.0.is_ok() && calls.1.is_ok());
    assert_eq!(world.browser.times(), 1);
}

#[tokio::test]
async fn signing_out_gives_the_tokens_back() {
    let world = World::new().await;
    let authorization = world.authorization();
    assert_eq!(
        authorization.sign_out(&world.server.url).await,
        Ok(SignOut::WasNot)
    );
    world
        .connect_with(&authorization)
        .await
        .unwrap()
        .close()
        .await;
    assert_eq!(
        authorization.sign_out(&world.server.url).await,
        Ok(SignOut::Revoked)
    );
    let revoked = &world.posted("/revoke")[0];
    assert_eq!(value(revoked, "token"), Some("refresh-1"));
    assert_eq!(value(revoked, "token_type_hint"), Some("refresh_token"));
    assert_eq!(value(revoked, "client_id"), Some("registered"));
    assert_eq!(
        authorization.sign_out(&world.server.url).await,
        Ok(SignOut::WasNot)
    );
    // The next connection starts from the beginning.
    world
        .connect_with(&authorization)
        .await
        .unwrap()
        .close()
        .await;
    assert_eq!(world.browser.times(), 2);

    // If the issuer supports no revocation, the tokens are still deleted locally.
    world.issuer(|it| it["revocation_endpoint"] = json!(null));
    world.change(|rules| rules.good = None);
    let other = Authorization::person(Browser::new());
    world.connect_with(&other).await.unwrap().close().await;
    let signed_out = other.sign_out(&world.server.url).await;
    assert!(
        matches!(signed_out, Ok(SignOut::Forgotten(_))),
        "{signed_out:?}"
    );
}

#[tokio::test]
async fn without_authorization_a_refusal_is_told() {
    let world = World::new().await;
    let http = Http::new(&world.server.url).unwrap();
    let refused = builder(None).connect(http).await;
    let refused = refused.map(drop).unwrap_err();
    assert!(
        matches!(refused, ClientError::Unauthorized { status: 401, .. }),
        "{refused:?}"
    );
    assert_eq!(world.paths(), ["/mcp"]);
}

#[tokio::test]
async fn a_token_that_is_never_taken_ends_in_an_error() {
    let world = World::new().await;
    world.change(|rules| {
        rules.tokens = Some(Box::new(|_, _| {
            let token = json!({"access_token": "of-no-use", "token_type": "Bearer"});
            Some(Reply::json(200, token.to_string()))
        }));
    });
    let refused = world.refused().await;
    assert!(
        matches!(refused, super::AuthorizationError::NotAccepted(_)),
        "{refused:?}"
    );
    assert_eq!(world.browser.times(), 1);
}

// The user's time does not count against the server's timeout.
#[tokio::test]
async fn a_person_may_take_longer_than_a_server() {
    struct Slow(Browser);
    struct Waiting(Box<dyn Redirect>);
    impl SignIn for Slow {
        fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>> {
            Box::pin(async {
                let ready = self.0.ready().await?;
                Ok(Box::new(Waiting(ready)) as Box<dyn Redirect>)
            })
        }
    }
    impl Redirect for Waiting {
        fn uri(&self) -> &str {
            self.0.uri()
        }
        fn show(
            self: Box<Self>,
            request: SignInRequest,
        ) -> BoxFuture<'static, Result<String, SignInError>> {
            let shown = self.0.show(request);
            Box::pin(async {
                tokio::time::sleep(Duration::from_millis(1500)).await;
                shown.await
            })
        }
    }
    let world = World::new().await;
    let authorization = Authorization::person(Slow(world.browser.clone()));
    let http = Http::new(&world.server.url)
        .unwrap()
        .authorize(&authorization);
    let short = limits(|limits| {
        limits.wire.request = Duration::from_secs(1);
        limits.client.request_in_all = Duration::from_secs(1);
    });
    let client = builder(None).limits(short).connect(http).await.unwrap();
    call(&client, "book").await.unwrap();
    // The timeout of the server itself stays the same.
    world.change(|rules| {
        rules.calls = Some(Box::new(|_, _| Some(Reply::empty(200).then(Piece::Hang))));
    });
    let late = call(&client, "book").await.unwrap_err();
    assert!(matches!(late, ClientError::TimedOut(_)), "{late:?}");
}

#[tokio::test]
async fn the_user_is_not_asked_for_a_caller_that_is_gone() {
    #[derive(Clone, Default)]
    struct Pending {
        shown: Arc<Notify>,
        withdrawn: Arc<Notify>,
    }
    impl SignIn for Pending {
        fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>> {
            Box::pin(async { Ok(Box::new(self.clone()) as Box<dyn Redirect>) })
        }
    }
    impl Redirect for Pending {
        fn uri(&self) -> &str {
            "http://127.0.0.1:1/callback"
        }
        fn show(
            self: Box<Self>,
            _: SignInRequest,
        ) -> BoxFuture<'static, Result<String, SignInError>> {
            struct Told(Arc<Notify>);
            impl Drop for Told {
                fn drop(&mut self) {
                    self.0.notify_one();
                }
            }
            self.shown.notify_one();
            let told = Told(Arc::clone(&self.withdrawn));
            Box::pin(async move {
                let _told = told;
                std::future::pending().await
            })
        }
    }
    let world = World::new().await;
    let person = Pending::default();
    let authorization = Authorization::person(person.clone());
    tokio::select! {
        _ = world.connect_with(&authorization) => panic!("nobody signed in"),
        () = person.shown.notified() => {}
    }
    person.withdrawn.notified().await;
    assert!(world.posted("/token").is_empty());
}
