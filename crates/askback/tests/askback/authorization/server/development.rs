//! Tokens for development.

use askback::{
    Principal,
    authorization::server::{
        BadToken, DevelopmentTokens, PresentedToken, Protection, TokenError, TokenVerifier,
    },
};
use serde_json::json;

use super::{NOW, RESOURCE, Ran, builder, post};
use crate::http::client::{Client, stateless};

#[tokio::test]
async fn each_token_is_its_principals() {
    let tokens = DevelopmentTokens::new()
        .allow(
            Principal::new("alice"),
            "alices-token",
            ["notes:read", "notes:write"],
        )
        .and_then(|tokens| tokens.allow(Principal::new("bob"), "bobs-token", [""; 0]))
        .unwrap();
    for (token, subject, scopes) in [
        ("alices-token", "alice", "notes:read notes:write"),
        ("bobs-token", "bob", ""),
    ] {
        let verified = tokens
            .verify(PresentedToken::new(token, RESOURCE, NOW))
            .await;
        let access = verified.unwrap();
        assert_eq!(access.principal, Principal::new(subject));
        assert_eq!(access.scopes.to_string(), scopes);
        assert_eq!(access.expires, None);
    }
    for token in [
        "alices-toke",
        "alices-token-",
        "ALICES-TOKEN",
        "alices-tokeo",
        "",
    ] {
        let verified = tokens
            .verify(PresentedToken::new(token, RESOURCE, NOW))
            .await;
        assert!(matches!(verified, Err(TokenError::Invalid(_))), "{token}");
    }
}

#[tokio::test]
async fn a_token_that_is_drawn_is_another_each_time() {
    let alice = || Principal::new("alice");
    let (tokens, first) = DevelopmentTokens::new().draw(alice(), ["a"]).unwrap();
    let (tokens, second) = tokens.draw(alice(), ["b"]).unwrap();
    assert_ne!(first, second);
    for (token, scopes) in [(first, "a"), (second, "b")] {
        assert!(token.starts_with("development-"), "{token}");
        let verified = tokens
            .verify(PresentedToken::new(&token, RESOURCE, NOW))
            .await;
        assert_eq!(verified.unwrap().scopes.to_string(), scopes);
    }
}

#[test]
fn a_token_that_could_not_be_sent_is_refused() {
    let alice = || Principal::new("alice");
    for token in [
        "",
        "two words",
        "=",
        "a=b",
        "\u{e4}",
        "a\nb",
        "a,b",
        "\"a\"",
    ] {
        let refused = DevelopmentTokens::new().allow(alice(), token, ["a"]);
        assert_eq!(refused.err(), Some(BadToken::Written), "{token:?}");
    }
    for token in ["a", "A-._~+/0==", "eyJ.eyJ.sig"] {
        assert!(
            DevelopmentTokens::new()
                .allow(alice(), token, ["a"])
                .is_ok(),
            "{token}"
        );
    }
    let one = DevelopmentTokens::new().allow(alice(), "a", ["a"]).unwrap();
    let twice = one.clone().allow(Principal::new("bob"), "a", ["a"]);
    assert_eq!(twice.err(), Some(BadToken::Twice));
    let scopes = one.allow(alice(), "b", ["two words"]);
    assert!(matches!(scopes, Err(BadToken::Scopes(_))));
}

#[tokio::test]
async fn development_tokens_protect_an_endpoint_like_other_tokens() {
    let alice = Principal::new("alice");
    let tokens = DevelopmentTokens::new().allow(alice, "alices-token", ["notes:read"]);
    let protection = Protection::new("http://127.0.0.1:8000/mcp", tokens.unwrap()).unwrap();
    let protection = protection.scopes(["notes:read"]).unwrap();
    let server = builder(&Ran::default()).build().unwrap();
    let client = Client(server.http().protect(protection).service());
    for (token, name, status) in [
        ("Bearer alices-token", "whoami", 200),
        ("Bearer alices-token", "erase", 403),
        ("Bearer bobs-token", "whoami", 401),
    ] {
        let call = stateless("tools/call", json!({"name": name}));
        assert_eq!(
            post(&client, token, &call).await.status,
            status,
            "{token} {name}"
        );
    }
}
