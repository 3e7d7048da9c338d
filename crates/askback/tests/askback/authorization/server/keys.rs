//! Where an issuer's keys come from, and how often they are fetched.

use std::{
    pin::pin,
    sync::{Arc, Mutex},
    task::{Context, Waker},
    time::Duration,
};

use askback::authorization::server::{
    Access, BadKeys, JwtVerifier, PresentedToken, Protection, TokenError, TokenVerifier,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, runtime::Handle, time::timeout};

use super::{
    ISSUER, NOW, RESOURCE, Ran, builder,
    issuer::{Issuer, Reply},
    key,
    token::{TestKey, jwks},
    with,
};

const SECOND: u64 = 1000;

type Answer = Arc<Mutex<Reply>>;

async fn issuer(first: Reply) -> (Issuer, Answer) {
    let answer = Arc::new(Mutex::new(first));
    let told = Arc::clone(&answer);
    let issuer = Issuer::start(move |_, _| told.lock().unwrap().clone()).await;
    (issuer, answer)
}

fn verifier(issuer: &Issuer) -> JwtVerifier {
    JwtVerifier::with_jwks_url(ISSUER, &format!("{}/keys", issuer.url)).unwrap()
}

fn token(key: &TestKey) -> String {
    key.token(&with("exp", json!(NOW / 1000 + 7200)))
}

async fn at(verifier: &JwtVerifier, key: &TestKey, now: u64) -> Result<Access, TokenError> {
    let token = token(key);
    verifier
        .verify(PresentedToken::new(&token, RESOURCE, now))
        .await
}

// Shows AZ-39.
#[tokio::test]
async fn keys_are_fetched_once_and_again_for_one_that_is_new() {
    let next = TestKey::es256("two");
    let (issuer, answer) = issuer((200, jwks([key()]))).await;
    let verifier = verifier(&issuer);
    verifier.prepare(NOW).await;
    verifier.prepare(NOW).await;
    assert_eq!(issuer.times(), 1);
    for _ in 0..3 {
        at(&verifier, key(), NOW).await.unwrap();
    }
    assert_eq!(issuer.times(), 1, "a key that is known is not fetched");

    *answer.lock().unwrap() = (200, jwks([&next]));
    let soon = at(&verifier, &next, NOW + 29 * SECOND).await;
    assert!(matches!(soon, Err(TokenError::Invalid(_))), "{soon:?}");
    assert_eq!(issuer.times(), 1, "not so soon");
    at(&verifier, &next, NOW + 30 * SECOND).await.unwrap();
    assert_eq!(issuer.times(), 2);
    let gone = at(&verifier, key(), NOW + 31 * SECOND).await;
    assert!(matches!(gone, Err(TokenError::Invalid(_))), "{gone:?}");
}

// Shows AZ-39.
#[tokio::test]
async fn nobody_can_have_keys_fetched_at_will() {
    let (issuer, _) = issuer((200, jwks([key()]))).await;
    let verifier = verifier(&issuer);
    verifier.prepare(NOW).await;
    let unknown = TestKey::es256("unknown");
    let later = NOW + 30 * SECOND;
    let many: Vec<_> = (0..20).map(|_| at(&verifier, &unknown, later)).collect();
    for one in many {
        let refused = one.await;
        assert!(
            matches!(refused, Err(TokenError::Invalid(_))),
            "{refused:?}"
        );
    }
    assert_eq!(issuer.times(), 2, "one fetch for all of them");

    let many = (0..20).map(|_| {
        let verifier = verifier.clone();
        let unknown = TestKey::es256("unknown");
        tokio::spawn(async move { at(&verifier, &unknown, later + 30 * SECOND).await.is_err() })
    });
    for one in many.collect::<Vec<_>>() {
        assert!(one.await.unwrap());
    }
    assert_eq!(issuer.times(), 3, "one fetch for all at once");
}

#[tokio::test]
async fn a_dropped_request_leaves_nothing_behind() {
    // A server that never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/keys", silent.local_addr().unwrap());
    let verifier = JwtVerifier::with_jwks_url(ISSUER, &url).unwrap();
    let token = token(key());
    let asked = |now| {
        let asking = verifier.verify(PresentedToken::new(&token, RESOURCE, now));
        let mut asking = pin!(asking);
        let asked = asking
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        assert!(asked.is_pending());
    };
    asked(NOW);
    let tasks = Handle::current().metrics().num_alive_tasks();
    assert_eq!(tasks, 1, "one fetch");
    for later in 0..100 {
        asked(NOW + later * SECOND);
    }
    assert_eq!(Handle::current().metrics().num_alive_tasks(), tasks);
}

#[tokio::test]
async fn a_service_has_its_keys_before_the_first_request() {
    let (issuer, _) = issuer((200, jwks([key()]))).await;
    let protection = Protection::new(RESOURCE, verifier(&issuer)).unwrap();
    let server = builder(&Ran::default()).build().unwrap();
    let _service = server.http().protect(protection).service();
    let asked = async {
        while issuer.times() == 0 {
            tokio::task::yield_now().await;
        }
    };
    let asked = timeout(Duration::from_secs(60), asked).await;
    asked.expect("the keys are fetched");
}

#[test]
fn a_service_can_be_created_outside_of_a_runtime() {
    let tokens = JwtVerifier::discover(ISSUER).unwrap();
    let protection = Protection::new(RESOURCE, tokens).unwrap();
    let server = builder(&Ran::default()).build().unwrap();
    let _service = server.http().protect(protection).service();
}

#[tokio::test]
async fn no_more_keys_are_kept_than_a_bound() {
    let other = TestKey::es256("other").jwk();
    for (others, is_kept) in [(63, true), (64, false)] {
        let mut keys = vec![other.clone(); others];
        keys.push(key().jwk());
        let keys = json!({"keys": keys}).to_string();
        let verifier = JwtVerifier::with_jwks(ISSUER, &keys).unwrap();
        let access = at(&verifier, key(), NOW).await;
        assert_eq!(access.is_ok(), is_kept, "{access:?}");
    }
}

#[tokio::test]
async fn keys_are_good_for_a_day() {
    const DAY: u64 = 24 * 60 * 60 * SECOND;
    let lasting = key().token(&with("exp", json!(NOW / 1000 + 7 * 24 * 60 * 60)));
    let next = TestKey::es256("two");
    let (issuer, answer) = issuer((200, jwks([key()]))).await;
    let verifier = verifier(&issuer);
    let at = async |now| {
        let token = PresentedToken::new(&lasting, RESOURCE, now);
        verifier.verify(token).await
    };
    at(NOW).await.unwrap();
    *answer.lock().unwrap() = (500, String::new());
    at(NOW + DAY).await.unwrap();
    let unknown = at(NOW + DAY + 30 * SECOND).await;
    assert!(
        matches!(unknown, Err(TokenError::Unavailable(_))),
        "{unknown:?}"
    );
    *answer.lock().unwrap() = (200, jwks([&next]));
    let withdrawn = at(NOW + DAY + 60 * SECOND).await;
    assert!(
        matches!(withdrawn, Err(TokenError::Invalid(_))),
        "{withdrawn:?}"
    );
}

#[tokio::test]
async fn keys_are_kept_when_they_cannot_be_fetched() {
    let next = TestKey::es256("two");
    for broken in [
        (500, String::new()),
        (200, "{}".to_owned()),
        (200, json!({"keys": []}).to_string()),
        (200, " ".repeat(256 << 10) + &jwks([&next])),
        (302, jwks([&next])),
    ] {
        let (issuer, answer) = issuer((200, jwks([key()]))).await;
        let verifier = verifier(&issuer);
        verifier.prepare(NOW).await;
        answer.lock().unwrap().clone_from(&broken);
        let refused = at(&verifier, &next, NOW + 30 * SECOND).await;
        assert!(
            matches!(refused, Err(TokenError::Invalid(_))),
            "{refused:?}"
        );
        assert_eq!(
            issuer.times(),
            2,
            "it followed a redirection, or did not try: {}",
            broken.0
        );
        at(&verifier, key(), NOW + 31 * SECOND).await.unwrap();
    }
}

#[tokio::test]
async fn a_token_is_not_called_invalid_without_keys() {
    let (issuer, answer) = issuer((503, String::new())).await;
    let verifier = verifier(&issuer);
    verifier.prepare(NOW).await;
    for now in [NOW, NOW + 4 * SECOND] {
        let refused = at(&verifier, key(), now).await;
        assert!(
            matches!(refused, Err(TokenError::Unavailable(_))),
            "{refused:?}"
        );
    }
    assert_eq!(issuer.times(), 1);
    *answer.lock().unwrap() = (200, jwks([key()]));
    at(&verifier, key(), NOW + 5 * SECOND).await.unwrap();
}

#[tokio::test]
async fn old_keys_are_refetched_in_the_background() {
    let (issuer, answer) = issuer((200, jwks([key()]))).await;
    let verifier = verifier(&issuer);
    verifier.prepare(NOW).await;
    let next = TestKey::es256("two");
    *answer.lock().unwrap() = (200, jwks([&next]));
    let later = NOW + 3601 * SECOND;
    at(&verifier, key(), later).await.unwrap();
    while at(&verifier, key(), later).await.is_ok() {
        // The fetch continues meanwhile.
        tokio::task::yield_now().await;
    }
    assert_eq!(issuer.times(), 2);
    at(&verifier, &next, later).await.unwrap();
}

#[tokio::test]
async fn an_issuer_says_where_its_keys_are() {
    /// The documents at the possible paths of an issuer's metadata. The first one that exists
    /// counts.
    struct Case {
        name: &'static str,
        document: fn(&str, &str) -> Option<Value>,
        asked: &'static [&'static str],
        good: bool,
    }
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    const OPENID: &str = "/.well-known/openid-configuration";
    let cases = [
        Case {
            name: "RFC 8414",
            document: |url, path| (path == OAUTH).then(|| document(url, url)),
            asked: &[OAUTH, "/keys"],
            good: true,
        },
        Case {
            name: "OpenID Connect",
            document: |url, path| (path == OPENID).then(|| document(url, url)),
            asked: &[OAUTH, OPENID, "/keys"],
            good: true,
        },
        Case {
            name: "of another issuer",
            document: |url, _| Some(document("https://evil.example", url)),
            asked: &[OAUTH],
            good: false,
        },
        Case {
            name: "with a slash",
            document: |url, _| Some(document(&format!("{url}/"), url)),
            asked: &[OAUTH],
            good: false,
        },
        Case {
            name: "keys in the clear",
            document: |url, _| Some(document(url, "http://keys.example")),
            asked: &[OAUTH],
            good: false,
        },
        Case {
            name: "nothing",
            document: |_, _| None,
            asked: &[OAUTH, OPENID],
            good: false,
        },
    ];
    for Case {
        name,
        document,
        asked,
        good,
    } in cases
    {
        let issuer = Issuer::start(move |url, path| {
            if path == "/keys" {
                return (200, jwks([key()]));
            }
            let document = document(url, path);
            document.map_or((404, String::new()), |json| (200, json.to_string()))
        })
        .await;
        let verifier = JwtVerifier::discover(&*issuer.url).unwrap();
        let mut claims = with("exp", json!(NOW / 1000 + 60));
        claims["iss"] = json!(issuer.url);
        let token = key().token(&claims);
        let verified = verifier
            .verify(PresentedToken::new(&token, RESOURCE, NOW))
            .await;
        assert_eq!(verified.is_ok(), good, "{name}: {verified:?}");
        let requests = issuer.asked();
        let paths: Vec<_> = requests
            .iter()
            .filter_map(|it| it.split(' ').nth(1))
            .collect();
        assert_eq!(paths, asked, "{name}");
    }
}

fn document(issuer: &str, keys: &str) -> Value {
    json!({"issuer": issuer, "jwks_uri": format!("{keys}/keys")})
}

// Shows AS-08, AS-09.
#[test]
fn urls_are_safe_or_refused() {
    for (url, good) in [
        ("https://auth.example.com", true),
        ("https://auth.example.com/tenant", true),
        ("https://auth.example.com:8443/tenant", true),
        ("http://localhost:9000", true),
        ("http://127.0.0.1:9000", true),
        ("http://[::1]:9000", true),
        ("http://auth.localhost:9000", true),
        ("http://localhost.", true),
        ("http://auth.example.com", false),
        ("http://127.0.0.1.evil.example", false),
        ("http://localhost.example.com", false),
        ("http://10.0.0.1", false),
        ("https://AUTH.example.com", false),
        ("https://auth.example.com:443", false),
        ("https://auth.example.com/a/../b", false),
        ("https://auth.example.com#keys", false),
        ("https://user@auth.example.com", false),
        ("https://user:secret@auth.example.com", false),
        ("https:auth.example.com", false),
        ("https:///auth.example.com", false),
        ("https://auth.example.com\\@evil.example", false),
        (" https://auth.example.com", false),
        ("https://auth.exam\tple.com", false),
        ("file:///etc/passwd", false),
        ("javascript:alert(1)", false),
        ("auth.example.com", false),
        ("", false),
    ] {
        let keys = JwtVerifier::with_jwks_url(ISSUER, url);
        assert_eq!(keys.is_ok(), good, "{url}");
        let issuer = JwtVerifier::discover(url);
        assert_eq!(issuer.is_ok(), good, "{url}");
        assert!(good || matches!(issuer, Err(BadKeys::Url(_))), "{url}");
    }
}
