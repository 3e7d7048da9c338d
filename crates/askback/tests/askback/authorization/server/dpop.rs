//! Tokens that are bound to a key (DPoP).

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use askback::{
    authorization::server::{Access, PresentedToken, Protection, TokenError, TokenVerifier},
    store::SqliteStore,
};
use http::{Request, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::{
    Hand, METADATA, NOW, RESOURCE, Ran, builder, claims, key, protection,
    token::{TestKey, encode, unsigned},
    verifier, with,
};
use crate::{
    errors::Broken,
    http::client::{Client, MESSAGE, Response, hello_tool, mirrored, stateless},
};

/// RFC 7638.
pub(super) fn thumbprint(key: &TestKey) -> String {
    let jwk = key.jwk();
    let names: &[&str] = match jwk["kty"].as_str().unwrap() {
        "EC" => &["crv", "kty", "x", "y"],
        "OKP" => &["crv", "kty", "x"],
        _ => &["e", "kty", "n"],
    };
    let members = names.iter().map(|name| format!("\"{name}\":{}", jwk[name]));
    let text = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
    encode(Sha256::digest(text))
}

fn bound_to(holder: &TestKey) -> String {
    key().token(&with("cnf", json!({"jkt": thumbprint(holder)})))
}

fn header(holder: &TestKey) -> Value {
    json!({"typ": "dpop+jwt", "alg": holder.algorithm(), "jwk": holder.jwk()})
}

fn proof_of(token: &str, id: &str) -> Value {
    let digest = encode(Sha256::digest(token));
    json!({"htm": "POST", "htu": RESOURCE, "iat": NOW / 1000, "jti": id, "ath": digest})
}

pub(super) fn proof(holder: &TestKey, token: &str, id: &str) -> String {
    holder.sign(&header(holder), &proof_of(token, id))
}

fn client(bound_only: bool) -> Client {
    let protection = if bound_only {
        protection().require_dpop()
    } else {
        protection()
    };
    let server = builder(&Ran::default()).build().unwrap();
    Client(server.http().protect(protection).service())
}

pub(super) async fn send(client: &Client, headers: &[(&str, &str)], message: &Value) -> Response {
    let headers = [&MESSAGE[..], &mirrored(message), headers].concat();
    client
        .send("POST", "/mcp", &headers, message.to_string())
        .await
}

#[tokio::test]
async fn a_proof_is_for_one_request_by_the_key_of_its_token() {
    let (holder, mallory) = (TestKey::es256("holder"), TestKey::es256("mallory"));
    let token = bound_to(&holder);
    let authorization = format!("DPoP {token}");
    let client = client(false);
    let changed = |name: &str, value: Value| {
        let mut claims = proof_of(&token, &format!("{name} {value}"));
        match value {
            Value::Null => drop(claims.as_object_mut().unwrap().remove(name)),
            value => claims[name] = value,
        }
        holder.sign(&header(&holder), &claims)
    };
    let headed = |name: &str, value: Value| {
        let mut head = header(&holder);
        head[name] = value;
        holder.sign(&head, &proof_of(&token, "headed"))
    };
    let seconds = NOW / 1000;
    let own = mallory.sign(&header(&mallory), &proof_of(&token, "1"));
    let posed = mallory.sign(&header(&holder), &proof_of(&token, "1"));
    let mut private = holder.jwk();
    private["d"] = json!("AAAA");
    let none = json!({"typ": "dpop+jwt", "alg": "none", "jwk": holder.jwk()});
    let none = format!("{}.", unsigned(&none, &proof_of(&token, "1")));
    for (name, proof) in [
        ("by another key", own),
        ("as if by the key", posed),
        ("another method", changed("htm", json!("GET"))),
        ("no method", changed("htm", Value::Null)),
        (
            "another URL",
            changed("htu", json!("https://other.example/mcp")),
        ),
        (
            "another path",
            changed("htu", json!("https://mcp.example.com/mcp2")),
        ),
        ("no URL", changed("htu", Value::Null)),
        ("no URL at all", changed("htu", json!("mcp"))),
        (
            "another token",
            changed("ath", json!(encode(Sha256::digest("other")))),
        ),
        ("no token", changed("ath", Value::Null)),
        ("of long ago", changed("iat", json!(seconds - 61))),
        ("of later", changed("iat", json!(seconds + 61))),
        ("of no time", changed("iat", Value::Null)),
        ("without a name", changed("jti", Value::Null)),
        ("an access token", headed("typ", json!("at+jwt"))),
        ("of no type", headed("typ", json!("JWT"))),
        ("extensions", headed("crit", json!(["a"]))),
        ("a private key", headed("jwk", private)),
        ("no key", headed("jwk", Value::Null)),
        ("a key in words", headed("jwk", json!("key"))),
        ("a secret", headed("alg", json!("HS256"))),
        ("another algorithm", headed("alg", json!("ES384"))),
        ("no signature", none),
        ("no proof", "proof".to_owned()),
        ("nothing", String::new()),
        ("too much", changed("padding", json!("a".repeat(9 << 10)))),
    ] {
        let headers = [("authorization", &*authorization), ("dpop", &*proof)];
        let refused = send(&client, &headers, &hello_tool()).await;
        assert_eq!(refused.status, 401, "{name}");
        let told = refused.header("www-authenticate").unwrap();
        assert!(told.starts_with("DPoP algs=\"RS256 "), "{name}: {told}");
        assert!(
            told.contains(r#"error="invalid_dpop_proof""#),
            "{name}: {told}"
        );
        assert!(told.contains(METADATA), "{name}: {told}");
    }
    for (name, proof) in [
        ("as usual", changed("jti", json!("a"))),
        (
            "with a query",
            changed("htu", json!(format!("{RESOURCE}?a=b#c"))),
        ),
        (
            "in other letters",
            changed("htu", json!("HTTPS://MCP.example.com:443/mcp")),
        ),
        ("a little late", changed("iat", json!(seconds - 60))),
    ] {
        let headers = [("authorization", &*authorization), ("dpop", &*proof)];
        let answered = send(&client, &headers, &hello_tool()).await;
        assert_eq!(answered.status, 200, "{name}");
        let again = send(&client, &headers, &hello_tool()).await;
        assert_eq!(again.status, 401, "{name}: it comes once");
    }
    let proof = changed("jti", json!("b"));
    let twice = [
        ("authorization", &*authorization),
        ("dpop", &*proof),
        ("dpop", &*proof),
    ];
    assert_eq!(send(&client, &twice, &hello_tool()).await.status, 401);
}

#[tokio::test]
async fn two_holders_may_give_their_proofs_one_name() {
    let client = client(false);
    for holder in [TestKey::es256("one"), TestKey::es256("two")] {
        let token = bound_to(&holder);
        let authorization = format!("DPoP {token}");
        let proof = proof(&holder, &token, "1");
        for status in [200, 401] {
            let headers = [("authorization", &*authorization), ("dpop", &*proof)];
            let answered = send(&client, &headers, &hello_tool()).await;
            assert_eq!(answered.status, status);
        }
    }
}

#[tokio::test]
async fn a_bound_token_is_no_bearer_token() {
    let holder = TestKey::ed25519("holder");
    let bound = bound_to(&holder);
    let free = key().token(&claims());
    let other = key().token(&with("cnf", json!({"x5t#S256": "AAAA"})));
    let both = json!({"jkt": thumbprint(&holder), "x5t#S256": "AAAA"});
    let both = key().token(&with("cnf", both));
    for (bound_only, token, scheme, status) in [
        (false, &bound, "DPoP", 200),
        (false, &bound, "dpop", 200),
        (false, &bound, "Bearer", 401),
        (false, &free, "Bearer", 200),
        (false, &free, "DPoP", 401),
        (false, &other, "Bearer", 401),
        (false, &other, "DPoP", 401),
        (false, &both, "DPoP", 401),
        (true, &bound, "DPoP", 200),
        (true, &bound, "Bearer", 401),
        (true, &free, "Bearer", 401),
        (true, &free, "DPoP", 401),
    ] {
        let proof = proof(&holder, token, "1");
        let authorization = format!("{scheme} {token}");
        let headers = [("authorization", &*authorization), ("dpop", &*proof)];
        let client = client(bound_only);
        let answered = send(&client, &headers, &hello_tool()).await;
        assert_eq!(answered.status, status, "{bound_only} {scheme}");
    }
}

#[tokio::test]
async fn a_server_says_that_it_wants_proofs() {
    let optional = client(false);
    let required = client(true);
    let place = "/.well-known/oauth-protected-resource/mcp";
    for (client, wanted) in [(&optional, json!(null)), (&required, json!(true))] {
        let document = client
            .send("GET", place, &[("host", "localhost")], "")
            .await;
        let document = document.json().await;
        assert_eq!(document["dpop_bound_access_tokens_required"], wanted);
        let algorithms = document["dpop_signing_alg_values_supported"]
            .as_array()
            .unwrap();
        assert!(algorithms.contains(&json!("ES256")), "{document}");
        assert!(!document.to_string().contains("HS256"), "{document}");
    }
    for (client, scheme) in [(&optional, "Bearer "), (&required, "DPoP ")] {
        let refused = send(client, &[], &hello_tool()).await;
        assert_eq!(refused.status, 401);
        let told = refused.header("www-authenticate").unwrap();
        assert!(told.starts_with(scheme), "{told}");
        assert!(!told.contains("error="), "{told}");
    }
    // A client that lacks a scope gets the challenge in the scheme that it used.
    let holder = TestKey::rs256("holder");
    let token = bound_to(&holder);
    let proof = proof(&holder, &token, "1");
    let authorization = format!("DPoP {token}");
    let headers = [("authorization", &*authorization), ("dpop", &*proof)];
    let erase = stateless("tools/call", json!({"name": "erase"}));
    let refused = send(&optional, &headers, &erase).await;
    assert_eq!(refused.status, 403);
    let told = refused.header("www-authenticate").unwrap();
    assert!(
        told.starts_with("DPoP ") && told.contains("insufficient_scope"),
        "{told}"
    );
}

#[tokio::test]
async fn the_key_of_a_token_is_what_its_issuer_says() {
    let holder = TestKey::es256("holder");
    let token = bound_to(&holder);
    let presented = PresentedToken::new(&token, RESOURCE, NOW);
    let access: Result<Access, TokenError> = verifier().verify(presented).await;
    assert_eq!(access.unwrap().key, Some(thumbprint(&holder)));
}

/// A custom verifier need not know about keys.
#[tokio::test]
async fn requests_without_proofs_are_what_they_were() {
    let request = Request::post("/mcp").header("dpop", "whatever");
    let call = hello_tool();
    let token = format!("Bearer {}", key().token(&claims()));
    let headers = [
        &MESSAGE[..],
        &mirrored(&call),
        &[("authorization", &*token)],
    ]
    .concat();
    let request = headers.iter().fold(request, |request, (name, value)| {
        request.header(*name, *value)
    });
    let request = request.body(call.to_string()).unwrap();
    let response = client(false).0.respond(request).await;
    assert_eq!(response.status(), StatusCode::OK);
}

#[tokio::test]
async fn a_proof_is_used_once_at_all_processes_that_share_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let process = |protection: Protection| {
        let server = builder(&Ran::default()).build().unwrap();
        Client(server.http().protect(protection).service())
    };
    let store = || SqliteStore::open(folder.path().join("proofs.db")).unwrap();
    let shared = [(); 2].map(|()| process(protection().share_dpop_proofs(store())));
    let alone = [(); 2].map(|()| process(protection()));
    let broken = process(protection().share_dpop_proofs(Broken));
    let holder = TestKey::es256("holder");
    let token = bound_to(&holder);
    let authorization = format!("DPoP {token}");
    let cases = [
        ("one process", [&shared[0], &shared[0]], [200, 401]),
        ("two processes", [&shared[0], &shared[1]], [200, 401]),
        ("two without a store", [&alone[0], &alone[1]], [200, 200]),
        ("a store that fails", [&broken, &shared[1]], [503, 200]),
    ];
    for (name, clients, expected) in cases {
        let proof = proof(&holder, &token, name);
        let headers = [("authorization", &*authorization), ("dpop", &*proof)];
        for (at, (client, status)) in clients.iter().zip(expected).enumerate() {
            let answered = send(client, &headers, &hello_tool()).await;
            assert_eq!(answered.status, status, "{name}, request {at}");
        }
    }
}

#[tokio::test]
async fn a_proof_needs_a_nonce_if_the_server_requires_one() {
    const MINUTES: u64 = 60_000;
    let time = Arc::new(AtomicU64::new(NOW));
    let protection = protection().require_dpop_nonce().unwrap();
    let server = builder(&Ran::default())
        .clock(Hand(Arc::clone(&time)))
        .build()
        .unwrap();
    let client = Client(server.http().protect(protection).service());
    let holder = TestKey::es256("holder");
    let mut said = with("cnf", json!({"jkt": thumbprint(&holder)}));
    said["exp"] = json!(NOW / 1000 + 3600);
    let token = key().token(&said);
    let authorization = format!("DPoP {token}");
    let ask = |id: String, nonce: Option<String>| {
        let mut proof = proof_of(&token, &id);
        proof["iat"] = json!(time.load(Ordering::SeqCst) / 1000);
        if let Some(nonce) = nonce {
            proof["nonce"] = json!(nonce);
        }
        let proof = holder.sign(&header(&holder), &proof);
        let (client, authorization) = (client.clone(), authorization.clone());
        async move {
            let headers = [("authorization", &*authorization), ("dpop", &*proof)];
            send(&client, &headers, &hello_tool()).await
        }
    };
    let refused = ask("1".into(), None).await;
    assert_eq!(refused.status, 401);
    let told = refused.header("www-authenticate").unwrap();
    assert!(told.contains(r#"error="use_dpop_nonce""#), "{told}");
    let first = refused.header("dpop-nonce").unwrap().to_owned();
    for (minutes, good) in [(0, true), (5, true), (10, false)] {
        time.store(NOW + minutes * MINUTES, Ordering::SeqCst);
        let answered = ask(format!("at {minutes}"), Some(first.clone())).await;
        assert_eq!(answered.status == 200, good, "{minutes}");
        let next = answered.header("dpop-nonce").map(str::to_owned);
        assert_eq!(next.is_none(), good, "{minutes}");
        if let Some(next) = next {
            assert_ne!(next, first);
            assert_eq!(ask("again".into(), Some(next)).await.status, 200);
        }
    }
    time.store(NOW, Ordering::SeqCst);
    for nonce in ["", "made up"] {
        assert_eq!(
            ask(format!("{nonce}?"), Some(nonce.to_owned()))
                .await
                .status,
            401
        );
    }
    // A client whose token is not bound needs no proof.
    let free = format!("Bearer {}", key().token(&claims()));
    let headers = [("authorization", &*free)];
    assert_eq!(send(&client, &headers, &hello_tool()).await.status, 200);
}
