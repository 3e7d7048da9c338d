//! Verification of signed tokens.

use std::time::Duration;

use askback::authorization::server::{
    Access, BadKeys, JwtVerifier, PresentedToken, SigningAlgorithm, TokenError, TokenVerifier,
};
use serde_json::{Value, json};

use super::{
    ISSUER, NOW, RESOURCE, claims, key,
    token::{TestKey, encode, jwks, unsigned, with_secret},
    verifier, with,
};

async fn verify(verifier: &JwtVerifier, token: &str) -> Result<Access, TokenError> {
    verifier
        .verify(PresentedToken::new(token, RESOURCE, NOW))
        .await
}

async fn refused(verifier: &JwtVerifier, name: &str, token: &str, why: &str) {
    let rejected = verify(verifier, token).await;
    let rejected = rejected.expect_err(name).to_string();
    assert!(rejected.contains(why), "{name}: {rejected}");
}

// Shows AZ-39, AZ-40, AZ-44, AZ-45, AS-04, AS-26, AS-27, AS-28, BP-24.
#[tokio::test]
async fn a_token_says_that_it_is_for_this_server_from_its_issuer_and_good_now() {
    let verifier = verifier();
    let seconds = NOW / 1000;
    for (name, claims) in [
        ("as usual", claims()),
        (
            "for several",
            with("aud", json!(["https://other.example", RESOURCE])),
        ),
        ("just now over", with("exp", json!(seconds - 29))),
        ("with a fraction", with("exp", json!(seconds as f64 + 0.5))),
        ("begins in a moment", with("nbf", json!(seconds + 29))),
        ("without a client", with("client_id", Value::Null)),
        ("without scopes", with("scope", Value::Null)),
    ] {
        let verified = verify(&verifier, &key().token(&claims)).await;
        assert!(verified.is_ok(), "{name}: {verified:?}");
    }
    for (name, claims, why) in [
        ("no audience", with("aud", Value::Null), "aud"),
        (
            "for another",
            with("aud", json!("https://other.example")),
            "aud",
        ),
        (
            "for the origin",
            with("aud", json!("https://mcp.example.com")),
            "aud",
        ),
        (
            "with a slash",
            with("aud", json!(format!("{RESOURCE}/"))),
            "aud",
        ),
        (
            "for one like it",
            with("aud", json!("https://mcp.example.com/mcp2")),
            "aud",
        ),
        ("for several others", with("aud", json!(["a", "b"])), "aud"),
        ("for nobody", with("aud", json!([])), "aud"),
        (
            "a strange audience",
            with("aud", json!({"0": RESOURCE})),
            "aud",
        ),
        ("nobody's", with("iss", Value::Null), "iss"),
        (
            "another's",
            with("iss", json!("https://evil.example")),
            "iss",
        ),
        (
            "with a slash",
            with("iss", json!(format!("{ISSUER}/"))),
            "iss",
        ),
        (
            "in capitals",
            with("iss", json!("https://AUTH.example.com")),
            "iss",
        ),
        ("two issuers", with("iss", json!([ISSUER])), "iss"),
        ("endless", with("exp", Value::Null), "exp"),
        ("an end in words", with("exp", json!("tomorrow")), "exp"),
        ("an end before time", with("exp", json!(-1)), "exp"),
        ("over", with("exp", json!(seconds - 30)), "expired"),
        ("long over", with("exp", json!(0)), "expired"),
        ("not begun", with("nbf", json!(seconds + 31)), "nbf"),
        ("a beginning in words", with("nbf", json!("soon")), "nbf"),
        ("about nobody", with("sub", Value::Null), "sub"),
        ("about nothing", with("sub", json!("")), "sub"),
        ("about a number", with("sub", json!(7)), "sub"),
        (
            "a strange client",
            with("client_id", json!(["app"])),
            "client_id",
        ),
        ("strange scopes", with("scope", json!(7)), "scope"),
        (
            "scopes that are none",
            with("scope", json!("a\"b")),
            "scope",
        ),
    ] {
        refused(&verifier, name, &key().token(&claims), why).await;
    }
}

// Shows AZ-39, AZ-45.
#[tokio::test]
async fn a_signature_is_one_of_the_issuer_by_a_pinned_algorithm() {
    let rsa = TestKey::rs256("two");
    let mallory = TestKey::es256("one");
    let set = jwks([key(), &rsa]);
    let verifier = JwtVerifier::with_jwks(ISSUER, &set).unwrap();
    let pinned = verifier.clone().algorithms([SigningAlgorithm::RS256]);
    for key in [key(), &rsa] {
        verify(&verifier, &key.token(&claims())).await.unwrap();
    }
    verify(&pinned, &rsa.token(&claims())).await.unwrap();

    let header = |change: Value| {
        let mut header = rsa.header();
        let members = change.as_object().unwrap().clone();
        header.as_object_mut().unwrap().extend(members);
        header
    };
    let public = rsa.jwk();
    let (modulus, whole) = (public["n"].as_str().unwrap(), public.to_string());
    let none = unsigned(&header(json!({"alg": "none"})), &claims());
    let good = rsa.token(&claims());
    let (message, signature) = good.rsplit_once('.').unwrap();
    let other = encode(with("sub", json!("mallory")).to_string());
    let head = message.split('.').next().unwrap();
    let hs256 = header(json!({"alg": "HS256"}));
    let nameless = json!({"typ": "at+jwt", "alg": "ES256"});
    let own = json!({"typ": "at+jwt", "alg": "ES256", "kid": "evil", "jwk": mallory.jwk(),
                     "jku": "https://evil.example/keys", "x5u": "https://evil.example/chain"});
    for (name, token) in [
        (
            "somebody else's key of the same name",
            mallory.token(&claims()),
        ),
        ("a key it brings along", mallory.sign(&own, &claims())),
        ("no key", key().sign(&nameless, &claims())),
        (
            "an unknown key",
            key().sign(&header(json!({"alg": "ES256", "kid": "three"})), &claims()),
        ),
        (
            "a key of another kind",
            key().sign(&header(json!({"alg": "ES256"})), &claims()),
        ),
        (
            "an algorithm of another kind",
            rsa.sign(&header(json!({"kid": "one"})), &claims()),
        ),
        (
            "another algorithm of its kind",
            rsa.sign(&header(json!({"alg": "PS256"})), &claims()),
        ),
        ("no signature", format!("{none}.")),
        (
            "no signature, in other letters",
            format!("{}.", unsigned(&header(json!({"alg": "NoNe"})), &claims())),
        ),
        (
            "none, with the signature of another",
            format!("{none}.{signature}"),
        ),
        (
            "a public key as a secret",
            with_secret(&hs256, &claims(), modulus.as_bytes()),
        ),
        (
            "the whole key as a secret",
            with_secret(&hs256, &claims(), whole.as_bytes()),
        ),
        ("an empty secret", with_secret(&hs256, &claims(), b"")),
        ("other claims", format!("{head}.{other}.{signature}")),
        ("half of it", message.to_owned()),
        ("too much of it", format!("{good}.{signature}")),
        ("nothing of it", "..".to_owned()),
        ("a word", "opaque".to_owned()),
        (
            "extensions to understand",
            rsa.sign(&header(json!({"crit": ["b64"], "b64": false})), &claims()),
        ),
        (
            "none to understand",
            rsa.sign(&header(json!({"crit": []})), &claims()),
        ),
        (
            "nothing to understand",
            rsa.sign(&header(json!({"crit": null})), &claims()),
        ),
    ] {
        refused(&verifier, name, &token, "not valid here").await;
    }
    refused(&pinned, "not pinned", &key().token(&claims()), "algorithm").await;
    let nothing = verifier.algorithms([]);
    refused(&nothing, "nothing is pinned", &good, "algorithm").await;
}

// Shows AZ-39.
#[tokio::test]
async fn a_token_is_an_access_token() {
    let strict = verifier();
    let lax = verifier().accept_plain_type();
    for (typ, by_strict, by_lax) in [
        (json!("at+jwt"), true, true),
        (json!("AT+JWT"), true, true),
        (json!("application/at+jwt"), true, true),
        (json!("JWT"), false, true),
        (Value::Null, false, true),
        (json!("id+jwt"), false, false),
        (json!("logout+jwt"), false, false),
        (json!("dpop+jwt"), false, false),
        (json!(""), false, false),
    ] {
        let mut header = key().header();
        match &typ {
            Value::Null => drop(header.as_object_mut().unwrap().remove("typ")),
            typ => header["typ"] = typ.clone(),
        }
        let token = key().sign(&header, &claims());
        let accepted = [&strict, &lax].map(|verifier| verify(verifier, &token));
        let [first, second] = accepted;
        assert_eq!(
            (first.await.is_ok(), second.await.is_ok()),
            (by_strict, by_lax),
            "{typ}"
        );
    }
}

// Shows EL-19.
#[tokio::test]
async fn the_principal_is_what_the_issuer_says() {
    let tenants = verifier().tenant_claim("org").scope_claim("scp");
    let mut said = with("org", json!("acme"));
    said["scp"] = json!(["a", "b"]);
    said["client_id"].take();
    said.as_object_mut().unwrap().remove("client_id");
    said["azp"] = json!("desk");
    let access = verify(&tenants, &key().token(&said)).await.unwrap();
    let principal = &access.principal;
    assert_eq!(principal.tenant.as_deref(), Some("acme"));
    assert_eq!(principal.issuer.as_deref(), Some(ISSUER));
    assert_eq!(principal.subject, "alice");
    assert_eq!(principal.client_id.as_deref(), Some("desk"));
    assert_eq!(access.scopes.to_string(), "a b");
    assert_eq!(access.expires, Some(NOW + 300_000 + 30_000));
    refused(&tenants, "no tenant", &key().token(&claims()), "org").await;
    refused(
        &tenants,
        "an empty tenant",
        &key().token(&with("org", json!(""))),
        "org",
    )
    .await;
    let named = verifier().audience("notes").leeway(Duration::ZERO);
    verify(&named, &key().token(&with("aud", json!("notes"))))
        .await
        .unwrap();
    let over = with("exp", json!(NOW / 1000));
    refused(&named, "over", &key().token(&over), "expired").await;
}

/// OpenSSL signed the tokens in the file, so that two implementations agree on signatures.
#[tokio::test]
async fn tokens_that_another_implementation_signed_are_good() {
    let signed: Value = serde_json::from_str(include_str!("signed.json")).unwrap();
    let keys = json!({"keys": signed["keys"]}).to_string();
    let verifier = JwtVerifier::with_jwks(ISSUER, &keys).unwrap();
    let tokens = signed["tokens"].as_array().unwrap();
    assert_eq!(tokens.len(), 9);
    for token in tokens {
        let token = token.as_str().unwrap();
        verify(&verifier, token).await.expect(token);
    }
}

#[tokio::test]
async fn each_key_is_used_for_what_it_is_meant() {
    let keys = [
        TestKey::rs256("r"),
        TestKey::es256("e"),
        TestKey::ed25519("d"),
    ];
    let verifier = JwtVerifier::with_jwks(ISSUER, &jwks(&keys)).unwrap();
    for key in &keys {
        verify(&verifier, &key.token(&claims())).await.unwrap();
    }
    let changed = |name: &str, value: Value| {
        let mut jwk = keys[1].jwk();
        jwk[name] = value;
        jwk
    };
    let strange = [
        json!("no object"),
        json!({"kty": "XYZ", "kid": "e"}),
        json!({"kty": "oct", "kid": "e", "k": encode("secret")}),
        json!({"kty": "RSA", "kid": "e", "n": "?", "e": "AQAB"}),
        changed("use", json!("enc")),
        changed("key_ops", json!(["encrypt"])),
        changed("alg", json!("ES384")),
        changed("alg", json!("RSA-OAEP")),
        changed("alg", json!("HS256")),
        changed("crv", json!("P-521")),
    ];
    for jwk in &strange {
        let set = json!({"keys": [jwk, keys[0].jwk()]}).to_string();
        let verifier = JwtVerifier::with_jwks(ISSUER, &set).unwrap();
        verify(&verifier, &keys[0].token(&claims())).await.unwrap();
        refused(
            &verifier,
            &jwk.to_string(),
            &keys[1].token(&claims()),
            "not valid here",
        )
        .await;
    }
    let mut other = keys[0].jwk();
    other["alg"] = json!("PS256");
    let set = json!({"keys": [other]}).to_string();
    let pss = JwtVerifier::with_jwks(ISSUER, &set).unwrap();
    let token = keys[0].token(&claims());
    refused(&pss, "a key for another algorithm", &token, "no key").await;
    let all = json!({"keys": strange}).to_string();
    let none = JwtVerifier::with_jwks(ISSUER, &all);
    assert!(matches!(none, Err(BadKeys::None)), "{none:?}");
    let none = JwtVerifier::with_jwks(ISSUER, "[]");
    assert!(matches!(none, Err(BadKeys::Unreadable(_))), "{none:?}");
}

#[tokio::test]
async fn a_token_without_a_key_id_is_for_the_only_key() {
    let alone = verifier();
    let other = TestKey::es256("other");
    let two = JwtVerifier::with_jwks(ISSUER, &jwks([key(), &other])).unwrap();
    let token = key().sign(&json!({"typ": "at+jwt", "alg": "ES256"}), &claims());
    verify(&alone, &token).await.unwrap();
    refused(&two, "one of two", &token, "no key").await;
}
