use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use http::{
    Method, StatusCode,
    header::{HeaderMap, HeaderName, HeaderValue, WWW_AUTHENTICATE},
};
use tokio::{task::JoinSet, time::Instant};
use url::Url;

use super::{Attempt, Authorizer};
use crate::{
    Authorization, AuthorizationError, BoxFuture, CredentialKey, CredentialStore as _,
    MemoryCredentials, Redirect, Secret, SignIn, SignInError,
    identity::Method as ClientMethod,
    key::SigningKey,
    records::{Grant, StoredClient, write},
};

const SERVER: &str = "https://mcp.example.com/mcp";

/// A user who always refuses, with a count of the prompts.
#[derive(Clone, Default)]
struct UnwillingPerson(Arc<AtomicUsize>);

impl SignIn for UnwillingPerson {
    fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Box::pin(async { Err(SignInError::host("no")) })
    }
}

fn url(text: &str) -> Url {
    Url::parse(text).expect("a URL")
}

/// An authorizer for a server. A token for `kept` is stored under the server's key.
async fn authorizer(server: &str, kept: &str, person: &UnwillingPerson) -> Arc<Authorizer> {
    with_key(None, server, kept, person).await
}

async fn with_key(
    key: Option<Secret>,
    server: &str,
    kept: &str,
    person: &UnwillingPerson,
) -> Arc<Authorizer> {
    let grant = Grant {
        server: kept.to_owned(),
        resource: kept.to_owned(),
        issuer: "https://auth.example.com".to_owned(),
        token_endpoint: "https://auth.example.com/token".to_owned(),
        revocation_endpoint: None,
        client: StoredClient {
            id: "c".to_owned(),
            method: ClientMethod::None,
            secret: None,
        },
        by_hand: false,
        access_token: Secret::new("token"),
        refresh_token: None,
        expires_at: None,
        asked: askback_core::auth::Scopes::new(),
        granted: None,
        key,
    };
    let store = Arc::new(MemoryCredentials::new());
    let record = write(&grant).expect("it can be written");
    let key = CredentialKey::Tokens(server.to_owned());
    store.save(&key, &record).await.expect("it is kept");
    let authorization = Authorization::person(person.clone()).store(store);
    authorization.authorizer(&url(server)).expect("a client")
}

/// A refusal that names a metadata document on another reachable host.
fn refusal() -> HeaderMap {
    let challenge = "Bearer resource_metadata=\"https://evil.example.com/prm\"";
    let challenge = HeaderValue::from_static(challenge);
    HeaderMap::from_iter([(WWW_AUTHENTICATE, challenge)])
}

#[tokio::test]
async fn a_token_is_sent_only_to_its_origin() {
    let authorizer = authorizer(SERVER, SERVER, &UnwillingPerson::default()).await;
    let pass = authorizer
        .pass()
        .await
        .expect("it is kept")
        .expect("a token");
    for (place, is_shown) in [
        (SERVER, true),
        ("https://mcp.example.com/elsewhere", true),
        ("https://example.com/mcp", false),
        ("https://mcp.example.com:8443/mcp", false),
        ("http://mcp.example.com/mcp", false),
        ("https://mcp.example.com.evil.com/mcp", false),
    ] {
        let headers = authorizer.headers(&pass, &Method::POST, &url(place));
        let headers = headers.expect("they can be written");
        assert_eq!(!headers.is_empty(), is_shown, "{place}");
    }
}

#[tokio::test]
async fn what_is_kept_for_another_server_is_not_used() {
    let other = "https://other.example.com/mcp";
    let authorizer = authorizer(SERVER, other, &UnwillingPerson::default()).await;
    assert!(authorizer.pass().await.expect("a store").is_none());
}

// Several concurrent requests get the nonce, and only one is the first to learn it.
#[tokio::test]
async fn a_nonce_that_another_request_learned_costs_no_token() {
    let person = UnwillingPerson::default();
    let (_, key) = SigningKey::generate().expect("a key");
    let authorizer = with_key(Some(key), SERVER, SERVER, &person).await;
    let pass = authorizer.pass().await.expect("a store");
    let place = url(SERVER);
    let headers = |nonce: &'static str| {
        HeaderMap::from_iter([
            (
                WWW_AUTHENTICATE,
                HeaderValue::from_static("DPoP error=\"use_dpop_nonce\""),
            ),
            (
                HeaderName::from_static("dpop-nonce"),
                HeaderValue::from_static(nonce),
            ),
        ])
    };
    let next = headers("next");
    for _ in 0..3 {
        let mut attempt = Attempt::default();
        let answer = (StatusCode::UNAUTHORIZED, &next);
        let again = authorizer.again(&mut attempt, &place, answer, pass.clone());
        assert_eq!(again.await, Ok(true));
    }
    assert_eq!(person.0.load(Ordering::Relaxed), 0);

    // A nonce that cannot be sent in a header is ignored, and a request is repeated only a limited
    // number of times.
    for (nonce, most) in [("a\"b", 0), ("next", 2)] {
        let (mut attempt, headers) = (Attempt::default(), headers(nonce));
        let mut times = 0;
        loop {
            let answer = (StatusCode::UNAUTHORIZED, &headers);
            let again = authorizer.again(&mut attempt, &place, answer, pass.clone());
            match again.await {
                Ok(again) => assert!(again),
                Err(_) => break,
            }
            times += 1;
        }
        assert_eq!(times, most, "{nonce}");
    }
}

#[tokio::test]
async fn all_waiting_requests_get_the_same_refusal() {
    let person = UnwillingPerson::default();
    let authorizer = authorizer(SERVER, SERVER, &person).await;
    let pass = authorizer.pass().await.expect("a store");
    for times in 1..3 {
        let mut asking = JoinSet::new();
        for _ in 0..10 {
            let (authorizer, pass) = (Arc::clone(&authorizer), pass.clone());
            asking.spawn(async move {
                let (place, headers) = (url(SERVER), refusal());
                let answer = (StatusCode::UNAUTHORIZED, &headers);
                let mut attempt = Attempt::default();
                let again = authorizer.again(&mut attempt, &place, answer, pass);
                again.await.expect_err("nobody is willing")
            });
        }
        // There is one thread, so all requests wait before the first one is handled.
        let errors = asking.join_all().await;
        assert!(errors.iter().all(|error| *error == errors[0]), "{errors:?}");
        // A later request may try again.
        assert_eq!(person.0.load(Ordering::Relaxed), times);
    }
}

// Shows AS-08.
#[tokio::test]
async fn nobody_signs_in_where_others_can_listen() {
    for (server, may_be) in [
        ("http://mcp.example.com/mcp", false),
        ("http://192.168.0.7/mcp", false),
        ("http://127.0.0.1:8080/mcp", true),
        ("http://localhost:8080/mcp", true),
        (SERVER, true),
    ] {
        let person = UnwillingPerson::default();
        let authorizer = authorizer(server, server, &person).await;
        let pass = authorizer.pass().await.expect("a store");
        assert_eq!(pass.is_some(), may_be, "{server}");
        let answer = (StatusCode::UNAUTHORIZED, &refusal());
        let mut attempt = Attempt::default();
        let again = authorizer
            .again(&mut attempt, &url(server), answer, pass)
            .await;
        let error = again.expect_err("nobody is willing");
        let is_refused = matches!(error, AuthorizationError::Url { .. });
        assert_eq!(is_refused, !may_be, "{server}: {error:?}");
        assert_eq!(person.0.load(Ordering::Relaxed), usize::from(may_be));
    }
}

// Another process holds the lock and never releases it.
#[tokio::test(start_paused = true)]
async fn a_lock_that_is_not_released_is_waited_for_up_to_a_limit() {
    let authorizer = authorizer(SERVER, SERVER, &UnwillingPerson::default()).await;
    let pass = authorizer.pass().await.expect("a store");
    let pass = pass.expect("it is kept");
    let (store, most) = (
        Arc::clone(&authorizer.config.store),
        authorizer.config.limits.sign_in.credential_lock,
    );
    let key = authorizer.key();
    let lock = store.lock(&key).await.expect("it is free");
    let began = Instant::now();
    let error = authorizer.sign_out().await.expect_err("it is locked");
    assert_eq!(
        error.to_string(),
        "the credentials cannot be kept: another process has had them locked for 30s"
    );
    assert_eq!(began.elapsed(), most);
    assert!(authorizer.refresh(&pass).await.is_err());
    assert_eq!(began.elapsed(), most * 2);
    // The tokens of a new sign-in are stored and used even if the lock is not released in time.
    let grant = pass.grant.clone();
    assert!(authorizer.take(grant).await.is_ok());
    assert!(store.load(&key).await.is_ok_and(|kept| kept.is_some()));
    // A timed-out attempt leaves nothing locked.
    drop(lock);
    assert!(authorizer.sign_out().await.is_ok());
    assert!(store.load(&key).await.is_ok_and(|kept| kept.is_none()));
}
