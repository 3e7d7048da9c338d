//! Grants without a user, and tokens that are bound to a key.

use askback::authorization::{
    Secret,
    client::{Algorithm, Authorization, IdentityProvider, RegisteredClient, SigningKey},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{AuthorizationError, Reply, Server, World, attacks::KEY, call, form, value};

/// The decoded header and claims of a token.
fn parts(token: &str) -> (Value, Value) {
    let mut parts = token.split('.').map(|part| {
        let bytes = URL_SAFE_NO_PAD.decode(part).unwrap();
        serde_json::from_slice(&bytes).unwrap_or_default()
    });
    (parts.next().unwrap(), parts.next().unwrap())
}

#[tokio::test]
async fn a_client_acts_for_itself() {
    let world = World::new().await;
    world.resource(|it| it["scopes_supported"] = json!(["jobs"]));
    world.issuer(|it| {
        // No user is involved, so the metadata needs no authorization endpoint.
        it["authorization_endpoint"] = json!(null);
        it["code_challenge_methods_supported"] = json!(null);
        it["token_endpoint_auth_methods_supported"] = json!(["client_secret_basic"]);
        it["scopes_supported"] = json!(["offline_access"]);
    });
    let client = RegisteredClient::new("job").with_secret(Secret::new("s3cret"));
    let authorization = Authorization::client_credentials(client);
    let connected = world.connect_with(&authorization).await.unwrap();
    call(&connected, "book").await.unwrap();
    let asked = world.server.asked();
    let request = asked.iter().find(|asked| asked.path == "/token").unwrap();
    assert_eq!(
        request.header("authorization"),
        Some("Basic am9iOnMzY3JldA==")
    );
    let mut sent = form(request);
    sent.sort();
    let expected = [
        ("grant_type", "client_credentials"),
        ("resource", world.server.url.as_str()),
        ("scope", "jobs"),
    ];
    assert_eq!(
        sent,
        expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
}

#[tokio::test]
async fn a_client_signs_for_itself() {
    let world = World::new().await;
    let key = SigningKey::from_pem(&Secret::new(KEY), Algorithm::Es256).unwrap();
    let client = RegisteredClient::new("job").with_key(key.with_id("key-1"));
    let authorization = Authorization::client_credentials(client);
    world
        .connect_with(&authorization)
        .await
        .unwrap()
        .close()
        .await;
    let sent = &world.posted("/token")[0];
    assert_eq!(
        value(sent, "client_assertion_type"),
        Some("urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
    );
    let (header, claims) = parts(value(sent, "client_assertion").unwrap());
    assert_eq!(
        header,
        json!({"typ": "JWT", "alg": "ES256", "kid": "key-1"})
    );
    assert_eq!(claims["iss"], "job");
    assert_eq!(claims["sub"], "job");
    assert_eq!(claims["aud"], json!(world.base()));
    let lasts = claims["exp"].as_u64().unwrap() - claims["iat"].as_u64().unwrap();
    assert!(lasts <= 60 && claims["jti"].is_string());
}

#[tokio::test]
async fn a_company_permits_the_use_of_a_server() {
    let provider = Server::start(|_, _| {
        let permission = json!({
            "access_token": "permission",
            "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
            "token_type": "N_A",
        });
        Reply::json(200, permission.to_string())
    })
    .await;
    let world = World::new().await;
    let company = || {
        IdentityProvider::new(
            "https://idp.example.com",
            provider.url.clone(),
            RegisteredClient::new("at-provider"),
        )
    };
    let client = || RegisteredClient::new("at-issuer").with_issuer(world.base());
    let authorization = Authorization::company(company(), Secret::new("identity"), client());
    world
        .connect_with(&authorization)
        .await
        .unwrap()
        .close()
        .await;
    assert_eq!(world.browser.times(), 0);

    let exchange = form(&provider.asked()[0]);
    for (name, expected) in [
        (
            "grant_type",
            "urn:ietf:params:oauth:grant-type:token-exchange",
        ),
        (
            "requested_token_type",
            "urn:ietf:params:oauth:token-type:id-jag",
        ),
        (
            "subject_token_type",
            "urn:ietf:params:oauth:token-type:id_token",
        ),
        ("subject_token", "identity"),
        ("audience", &world.base()),
        ("resource", &world.server.url),
        ("client_id", "at-provider"),
    ] {
        assert_eq!(value(&exchange, name), Some(expected), "{name}");
    }
    let sent = &world.posted("/token")[0];
    assert_eq!(
        value(sent, "grant_type"),
        Some("urn:ietf:params:oauth:grant-type:jwt-bearer")
    );
    assert_eq!(value(sent, "assertion"), Some("permission"));
    assert_eq!(value(sent, "client_id"), Some("at-issuer"));
    // Only the company sees the identity assertion.
    assert!(
        world
            .server
            .asked()
            .iter()
            .all(|asked| !asked.text.contains("identity"))
    );

    // If the company refuses, or returns something else, there is no token.
    let answers = [
        (400, json!({"error": "access_denied"})),
        (200, json!({"access_token": "a", "token_type": "Bearer"})),
    ];
    for (status, answer) in answers {
        let provider = Server::start(move |_, _| Reply::json(status, answer.to_string())).await;
        let world = World::new().await;
        let company = IdentityProvider::new(
            "https://idp.example.com",
            provider.url.clone(),
            RegisteredClient::new("at-provider"),
        );
        let client = RegisteredClient::new("at-issuer");
        let authorization = Authorization::company(company, Secret::new("identity"), client);
        super::why(world.connect_with(&authorization).await);
        assert!(world.posted("/token").is_empty());
    }
}

#[tokio::test]
async fn a_platform_vouches_for_a_program() {
    let world = World::new().await;
    let client = || RegisteredClient::new("workload");
    let source = |audience: &str| Ok(Secret::new(format!("for {audience}")));
    let authorization = Authorization::vouched(source, client());
    world
        .connect_with(&authorization)
        .await
        .unwrap()
        .close()
        .await;
    let sent = &world.posted("/token")[0];
    assert_eq!(
        value(sent, "assertion"),
        Some(format!("for {}", world.base()).as_str())
    );
    assert_eq!(value(sent, "client_id"), Some("workload"));

    // A refused grant is not retried, and no other grant is tried instead.
    let world = World::new().await;
    world.change(|rules| {
        rules.tokens = Some(Box::new(|_, _| {
            Some(Reply::json(
                400,
                json!({"error": "invalid_grant"}).to_string(),
            ))
        }));
    });
    let authorization = Authorization::vouched(Secret::new("expired"), client());
    let error = super::why(world.connect_with(&authorization).await);
    assert!(
        matches!(error, AuthorizationError::Refused { .. }),
        "{error:?}"
    );
    assert_eq!(world.posted("/token").len(), 1);

    let nobody = |_: &str| Err("the file is gone".to_owned());
    let authorization = Authorization::vouched(nobody, client());
    let error = super::why(world.connect_with(&authorization).await);
    assert_eq!(
        error,
        AuthorizationError::Credentials("the file is gone".to_owned())
    );
}

/// A world in which tokens are bound to keys, and both servers require nonces.
async fn bound() -> World {
    let world = World::new().await;
    let challenge = world
        .rules
        .lock()
        .unwrap()
        .challenge
        .replace("Bearer", "DPoP");
    world.issuer(|it| it["dpop_signing_alg_values_supported"] = json!(["ES256"]));
    world.change(|rules| {
        rules.challenge = challenge;
        rules.tokens = Some(Box::new(|asked, _| {
            let proof = asked.header("dpop").map(parts);
            let nonce = proof.as_ref().map(|(_, claims)| claims["nonce"].clone());
            Some(match nonce {
                Some(nonce) if nonce == "issuer-nonce" => {
                    let token = json!({
                        "access_token": "bound-1",
                        "token_type": "DPoP",
                        "refresh_token": "refresh-bound",
                    });
                    Reply::json(200, token.to_string())
                }
                _ => Reply::json(400, json!({"error": "use_dpop_nonce"}).to_string())
                    .header("DPoP-Nonce", "issuer-nonce"),
            })
        }));
        rules.good = Some("bound-1".to_owned());
        rules.calls = Some(Box::new(|asked, _| {
            let (_, claims) = parts(asked.header("dpop").unwrap());
            (claims["nonce"] != "server-nonce").then(|| {
                Reply::empty(401)
                    .header("WWW-Authenticate", "DPoP error=\"use_dpop_nonce\"")
                    .header("DPoP-Nonce", "server-nonce")
            })
        }));
    });
    world
}

#[tokio::test]
async fn a_bound_token_comes_with_a_proof_for_each_request() {
    let world = bound().await;
    let client = world.connect().await.unwrap();
    call(&client, "book").await.unwrap();
    assert_eq!(world.browser.times(), 1);

    let asked = world.server.asked();
    let proofs: Vec<_> = asked
        .iter()
        .filter_map(|asked| Some((asked, parts(asked.header("dpop")?))))
        .collect();
    let mut names: Vec<_> = proofs
        .iter()
        .map(|(_, (_, claims))| claims["jti"].clone())
        .collect();
    names.sort_by_key(Value::to_string);
    names.dedup();
    assert_eq!(names.len(), proofs.len());
    let key = &proofs[0].1.0["jwk"];
    assert!(key["d"].is_null() && key["crv"] == "P-256");
    let digest = URL_SAFE_NO_PAD.encode(Sha256::digest("bound-1"));
    for (asked, (header, claims)) in &proofs {
        assert_eq!(header["typ"], "dpop+jwt");
        assert_eq!(header["alg"], "ES256");
        assert_eq!(&header["jwk"], key);
        assert_eq!(claims["htm"], json!(asked.method));
        assert_eq!(
            claims["htu"],
            json!(format!("{}{}", world.base(), asked.path))
        );
        if asked.path == "/mcp" {
            assert_eq!(asked.header("authorization"), Some("DPoP bound-1"));
            assert_eq!(claims["ath"], json!(digest));
        } else {
            assert!(claims["ath"].is_null());
        }
    }
    // The key survives the process, because the refresh token is bound to it as well.
    let before = world.server.asked().len();
    let client = world.connect().await.unwrap();
    call(&client, "book").await.unwrap();
    let first = &world.server.asked()[before];
    assert_eq!(&parts(first.header("dpop").unwrap()).0["jwk"], key);
}

#[tokio::test]
async fn a_token_that_should_be_bound_and_is_not_is_refused() {
    let world = bound().await;
    world.change(|rules| {
        rules.tokens = Some(Box::new(|_, _| {
            let token = json!({"access_token": "bound-1", "token_type": "Bearer"});
            Some(Reply::json(200, token.to_string()))
        }));
    });
    let error = world.refused().await;
    assert!(
        matches!(error, AuthorizationError::Document { .. }),
        "{error:?}"
    );

    let world = bound().await;
    world.issuer(|it| it["dpop_signing_alg_values_supported"] = json!(["RS256"]));
    let error = world.refused().await;
    assert!(
        matches!(error, AuthorizationError::Unsupported { .. }),
        "{error:?}"
    );
}

#[tokio::test]
async fn tokens_are_bound_if_both_sides_support_it() {
    for (issuer, server, wish, expected) in [
        (true, true, false, true),
        (true, false, false, false),
        (true, false, true, true),
        (false, true, true, false),
    ] {
        let world = World::new().await;
        let algorithms = json!(["ES256"]);
        if issuer {
            world.issuer(|it| it["dpop_signing_alg_values_supported"] = algorithms.clone());
        }
        if server {
            world.resource(|it| it["dpop_signing_alg_values_supported"] = algorithms);
        }
        world.change(|rules| {
            rules.good = Some("token".to_owned());
            rules.tokens = Some(Box::new(|asked, _| {
                let kind = if asked.header("dpop").is_some() {
                    "DPoP"
                } else {
                    "Bearer"
                };
                let token = json!({"access_token": "token", "token_type": kind});
                Some(Reply::json(200, token.to_string()))
            }));
        });
        let mut authorization = world.authorization();
        if wish {
            authorization = authorization.bound_tokens();
        }
        world
            .connect_with(&authorization)
            .await
            .unwrap()
            .close()
            .await;
        let asked = world.server.asked();
        let exchange = asked.iter().find(|asked| asked.path == "/token").unwrap();
        assert_eq!(exchange.header("dpop").is_some(), expected);
    }
}
