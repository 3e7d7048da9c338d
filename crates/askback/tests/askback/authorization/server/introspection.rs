//! Opaque tokens, which only their issuer can check.

use std::{sync::Arc, time::Duration};

use askback::authorization::server::{
    Access, BadKeys, Introspection, PresentedToken, Protection, TokenError, TokenVerifier,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinSet, time::Instant};

use super::{ISSUER, NOW, RESOURCE, Ran, builder, dpop, issuer::Issuer, token::TestKey};
use crate::http::client::{Client, hello_tool};

/// The introspection response for a valid token.
fn said() -> Value {
    json!({
        "active": true,
        "iss": ISSUER,
        "aud": RESOURCE,
        "sub": "alice",
        "client_id": "app",
        "exp": NOW / 1000 + 300,
        "scope": "notes:read",
        "org": "acme",
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut said = said();
    match value {
        Value::Null => drop(said.as_object_mut().unwrap().remove(name)),
        value => said[name] = value,
    }
    said
}

async fn issuer(status: u16, says: &Value) -> Issuer {
    let says = says.to_string();
    Issuer::start(move |_, _| (status, says.clone())).await
}

fn asking(issuer: &Issuer) -> Introspection {
    let endpoint = format!("{}/introspect", issuer.url);
    Introspection::new(ISSUER, &endpoint, "no:tes", "s cret+").unwrap()
}

async fn at(verifier: &Introspection, token: &str, now: u64) -> Result<Access, TokenError> {
    verifier
        .verify(PresentedToken::new(token, RESOURCE, now))
        .await
}

// Shows AZ-39, AZ-40, AZ-44, AS-04, AS-28.
#[tokio::test]
async fn the_issuer_says_what_a_token_is_worth() {
    let good = issuer(200, &said()).await;
    let verifier = asking(&good).tenant_claim("org");
    let access = at(&verifier, "opaque+/=", NOW).await.unwrap();
    assert_eq!(access.principal.subject, "alice");
    assert_eq!(access.principal.tenant.as_deref(), Some("acme"));
    assert_eq!(access.principal.issuer.as_deref(), Some(ISSUER));
    assert_eq!(access.principal.client_id.as_deref(), Some("app"));
    assert_eq!(access.scopes.to_string(), "notes:read");
    let asked = good.asked().remove(0);
    assert!(asked.starts_with("POST /introspect HTTP/1.1"), "{asked}");
    assert!(
        asked.ends_with("token=opaque%2B%2F%3D&token_type_hint=access_token"),
        "{asked}"
    );
    // no%3Ates:s%20cret%2B
    assert!(
        asked.contains("Basic bm8lM0F0ZXM6cyUyMGNyZXQlMkI="),
        "{asked}"
    );

    for (name, says, why) in [
        ("unknown", json!({"active": false}), "does not know"),
        (
            "nearly active",
            with("active", json!("true")),
            "does not know",
        ),
        ("says nothing", json!({}), "does not know"),
        (
            "for another",
            with("aud", json!("https://other.example")),
            "aud",
        ),
        ("for nobody", with("aud", Value::Null), "aud"),
        (
            "another's",
            with("iss", json!("https://evil.example")),
            "iss",
        ),
        ("over", with("exp", json!(NOW / 1000)), "expired"),
        ("endless", with("exp", Value::Null), "exp"),
        ("not begun", with("nbf", json!(NOW / 1000 + 60)), "nbf"),
        ("about nobody", with("sub", Value::Null), "sub"),
        ("no tenant", with("org", Value::Null), "org"),
        (
            "a refresh token",
            with("token_use", json!("refresh_token")),
            "token_use",
        ),
        (
            "of another type",
            with("token_type", json!("refresh_token")),
            "token_type",
        ),
        ("of no type", with("token_type", json!(1)), "token_type"),
        (
            "bound to a certificate",
            with("cnf", json!({"x5t#S256": "AAAA"})),
            "cnf",
        ),
        (
            "bound to both",
            with("cnf", json!({"jkt": "AAAA", "x5t#S256": "AAAA"})),
            "cnf",
        ),
    ] {
        let issuer = issuer(200, &says).await;
        let verifier = asking(&issuer).tenant_claim("org");
        for (later, asked) in [(0, 1), (4_999, 1), (5_000, 2)] {
            let rejected = at(&verifier, "opaque", NOW + later).await.expect_err(name);
            assert!(rejected.to_string().contains(why), "{name}: {rejected}");
            assert!(!matches!(rejected, TokenError::Unavailable(_)), "{name}");
            assert_eq!(issuer.times(), asked, "{name} after {later} ms");
        }
    }
}

#[tokio::test]
async fn an_issuer_may_say_that_it_is_an_access_token() {
    for (name, kind) in [
        ("token_use", "access_token"),
        ("token_type", "bearer"),
        ("token_type", "Bearer"),
        ("token_type", "DPoP"),
    ] {
        let issuer = issuer(200, &with(name, json!(kind))).await;
        let access = at(&asking(&issuer), "opaque", NOW).await;
        assert!(access.is_ok(), "{name} {kind}: {access:?}");
    }
}

#[tokio::test]
async fn a_token_is_bound_to_the_key_its_issuer_names() {
    let holder = TestKey::es256("holder");
    let bound = with("cnf", json!({"jkt": dpop::thumbprint(&holder)}));
    let issuer = issuer(200, &bound).await;
    // The second time, the response is cached.
    let verifier = asking(&issuer);
    for _ in 0..2 {
        let access = at(&verifier, "opaque", NOW).await.unwrap();
        assert_eq!(access.key, Some(dpop::thumbprint(&holder)));
    }
    let protection = Protection::new(RESOURCE, asking(&issuer)).unwrap();
    let server = builder(&Ran::default()).build().unwrap();
    let client = Client(server.http().protect(protection).service());
    let proof = dpop::proof(&holder, "opaque", "1");
    for (scheme, proofs, status) in [
        ("Bearer", &[][..], 401),
        ("Bearer", &[("dpop", &*proof)], 401),
        ("DPoP", &[], 401),
        ("DPoP", &[("dpop", &*proof)], 200),
    ] {
        let authorization = format!("{scheme} opaque");
        let headers = [&[("authorization", &*authorization)], proofs].concat();
        let answered = dpop::send(&client, &headers, &hello_tool()).await;
        assert_eq!(answered.status, status, "{scheme} {proofs:?}");
    }
}

#[tokio::test]
async fn a_cached_answer_is_not_used_for_another_server() {
    let issuer = issuer(200, &said()).await;
    let verifier = asking(&issuer);
    at(&verifier, "opaque", NOW).await.unwrap();
    let other = PresentedToken::new("opaque", "https://other.example", NOW);
    let rejected = verifier.verify(other).await.unwrap_err();
    assert!(rejected.to_string().contains("aud"), "{rejected}");
    assert_eq!(issuer.times(), 2);
}

#[tokio::test]
async fn a_failing_issuer_does_not_refuse_the_token() {
    for (status, says) in [
        (500, said()),
        (401, said()),
        (302, said()),
        (200, json!([said()])),
        (200, with("padding", json!("x".repeat(256 << 10)))),
    ] {
        let issuer = issuer(status, &says).await;
        let rejected = at(&asking(&issuer), "opaque", NOW).await;
        assert!(
            matches!(rejected, Err(TokenError::Unavailable(_))),
            "{status}: {rejected:?}"
        );
        assert_eq!(issuer.times(), 1, "{status}");
    }
}

#[tokio::test]
async fn an_answer_is_kept_for_a_while_and_no_longer_than_its_token() {
    let ends = NOW + 300_000;
    let says = issuer(200, &said()).await;
    let verifier = asking(&says);
    for (token, now, asked) in [
        ("one", NOW, 1),
        ("one", NOW + 29_999, 1),
        ("two", NOW + 29_999, 2),
        ("one", NOW + 30_000, 3),
        ("one", ends - 1, 4),
    ] {
        at(&verifier, token, now).await.unwrap();
        assert_eq!(says.times(), asked, "{token} {now}");
    }
    let over = at(&verifier, "one", ends).await;
    assert_eq!(over.unwrap_err(), TokenError::Expired);
    let says = issuer(200, &said()).await;
    let verifier = asking(&says).keep(Duration::ZERO);
    for asked in 1..3 {
        at(&verifier, "one", NOW).await.unwrap();
        assert_eq!(says.times(), asked);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_does_not_wait_long_for_its_turn_at_the_issuer() {
    // A server that never answers.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}/introspect", silent.local_addr().unwrap());
    let verifier = Introspection::new(ISSUER, &endpoint, "notes", "secret").unwrap();
    let verifier = Arc::new(verifier);
    let since = Instant::now();
    let mut asking = JoinSet::new();
    for token in 0..33 {
        let verifier = Arc::clone(&verifier);
        asking.spawn(async move { at(&verifier, &token.to_string(), NOW).await });
    }
    let first = asking.join_next().await.unwrap().unwrap().unwrap_err();
    assert!(matches!(first, TokenError::Unavailable(_)), "{first}");
    assert!(first.to_string().contains("too many"), "{first}");
    assert_eq!(since.elapsed().as_secs(), 2);
}

// Shows AS-08, AS-09.
#[test]
fn a_secret_is_sent_to_safe_urls_only() {
    for (issuer, endpoint) in [
        (
            "http://auth.example.com",
            "https://auth.example.com/introspect",
        ),
        (ISSUER, "http://auth.example.com/introspect"),
        (ISSUER, "https://user@auth.example.com/introspect"),
    ] {
        let refused = Introspection::new(issuer, endpoint, "notes", "secret");
        assert!(matches!(refused, Err(BadKeys::Url(_))), "{refused:?}");
    }
}
