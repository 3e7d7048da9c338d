use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::authorization::server::{
    IdTokenVerifier, JwtVerifier, PresentedToken, TokenVerifier as _,
};
use askback_connect::{
    sign_in::{PendingSignIn, SignedInPerson, WebSignIn, WebSignInError},
    vault::Holder,
};
use askback_core::{ask::Millis, clock::Clock};
use askback_oauth::{Provider, RegisteredClient, Secret};
use serde_json::{Value, json};

use crate::issuer::{Issuer, Reply, Request, fetcher, impatient, jwks, signed};

const REDIRECT: &str = "http://localhost:4000/signed-in";
const SEED: u8 = 7;
/// In seconds.
const NOW: u64 = 1_800_000_000;
const HEADER: &str = r#"{"alg":"EdDSA","kid":"one","typ":"JWT"}"#;

struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> Millis {
        NOW * 1000
    }
}

/// The response of the token endpoint, made from the claims of a valid identity token.
type Tokens = Box<dyn Fn(Value) -> Reply + Send>;

struct Oidc {
    issuer: Issuer,
    nonce: Arc<Mutex<String>>,
}

impl Oidc {
    async fn start(tokens: Tokens) -> Self {
        let nonce = Arc::<Mutex<String>>::default();
        let sent = Arc::clone(&nonce);
        let issuer = Issuer::start(move |own: &str, request: &Request| match &*request.line {
            "GET /.well-known/oauth-authorization-server" => Reply::Json(404, Value::Null),
            "GET /.well-known/openid-configuration" => Reply::Json(
                200,
                json!({
                    "issuer": own,
                    "authorization_endpoint": format!("{own}/authorize"),
                    "token_endpoint": format!("{own}/token"),
                    "jwks_uri": format!("{own}/jwks"),
                    "authorization_response_iss_parameter_supported": true,
                }),
            ),
            "GET /jwks" => Reply::Json(200, jwks(SEED)),
            "POST /token" => tokens(claims(own, &sent.lock().unwrap())),
            other => panic!("{other}"),
        });
        let issuer = issuer.await;
        Self { issuer, nonce }
    }

    async fn sign_in(&self) -> WebSignIn {
        let client = RegisteredClient::new("pages").with_secret(Secret::new("s"));
        let sign_in = WebSignIn::discover(&fetcher(), &self.issuer.url, client).await;
        sign_in.expect("an issuer").clock(Stopped)
    }

    /// Starts a sign-in, and lets the browser return with these parameters and the state.
    async fn come_back(
        &self,
        sign_in: &WebSignIn,
        answer: &str,
    ) -> Result<SignedInPerson, WebSignInError> {
        let (url, pending) = sign_in.begin(REDIRECT).expect("a sign-in");
        let nonce = url.query_pairs().find(|(name, _)| name == "nonce");
        *self.nonce.lock().unwrap() = nonce.expect("a nonce").1.into_owned();
        let answer = answer.replace("ISSUER", &self.issuer.url);
        let redirected = format!("{REDIRECT}?state={}&{answer}", pending.state());
        sign_in.finish(&fetcher(), pending, &redirected).await
    }
}

fn claims(issuer: &str, nonce: &str) -> Value {
    json!({
        "iss": issuer, "aud": "pages", "sub": "ada", "uid": "u-1", "tid": "acme", "name": "Ada\u{202e} L.",
        "nonce": nonce, "iat": NOW, "exp": NOW + 60, "auth_time": NOW - 30,
    })
}

/// An attacker may have registered with another person's address, or use it as a name.
#[tokio::test]
async fn a_name_looks_like_an_address_only_if_it_is_verified() {
    async fn check(claims: Value, name: Option<&str>) {
        let said = claims.to_string();
        let oidc = changed(move |all| {
            let all = all.as_object_mut().expect("an object");
            all.remove("name");
            all.extend(claims.as_object().expect("an object").clone());
        });
        let oidc = oidc.await;
        let sign_in = oidc.sign_in().await;
        let person = oidc.come_back(&sign_in, CODE).await.expect("a person");
        assert_eq!(person.name.as_deref(), name, "{said}");
    }
    let email = "ada@example.com";
    check(
        json!({"email": email, "email_verified": true, "name": "Eve"}),
        Some(email),
    )
    .await;
    check(
        json!({"email": email, "email_verified": "true"}),
        Some(email),
    )
    .await;
    for not in [
        json!(false),
        json!("false"),
        json!(null),
        json!(1),
        json!([true]),
    ] {
        let claims = json!({"email": email, "email_verified": not, "name": "Eve"});
        check(claims, Some("Eve")).await;
    }
    check(
        json!({"email": email, "preferred_username": "eve"}),
        Some("eve"),
    )
    .await;
    check(json!({"email": email}), None).await;
    check(
        json!({"preferred_username": email, "name": "Eve"}),
        Some("Eve"),
    )
    .await;
    check(json!({"preferred_username": email, "name": email}), None).await;
    check(json!({"name": "ada\u{200b}\u{ff20}example.com"}), None).await;
}

fn answer_with(token: &str) -> Reply {
    Reply::Json(
        200,
        json!({"access_token": "a", "token_type": "Bearer", "id_token": token}),
    )
}

/// An issuer whose identity tokens are changed by the function.
async fn changed(change: impl Fn(&mut Value) + Send + 'static) -> Oidc {
    let header: Value = serde_json::from_str(HEADER).expect("JSON");
    Oidc::start(Box::new(move |mut claims| {
        change(&mut claims);
        answer_with(&signed(SEED, &header, &claims))
    }))
    .await
}

const CODE: &str = "code=x&iss=ISSUER";

#[tokio::test]
async fn a_person_is_the_one_whom_access_tokens_name() {
    let oidc = changed(|_| {}).await;
    let sign_in = oidc.sign_in().await.tenant_claim("tid");
    let person = oidc.come_back(&sign_in, CODE).await.expect("a person");
    assert_eq!(person.name.as_deref(), Some("Ada L."));
    assert_eq!(person.signed_in, (NOW - 30) * 1000);
    assert!(!format!("{person:?}").contains("ada"));

    let resource = "https://tools.example/mcp";
    let verifier = JwtVerifier::with_jwks(&oidc.issuer.url, &jwks(SEED).to_string());
    let verifier = verifier.expect("keys").tenant_claim("tid");
    let token = json!({
        "iss": oidc.issuer.url, "aud": resource, "sub": "ada", "tid": "acme", "exp": NOW + 60,
        "client_id": "editor",
    });
    let header = json!({"alg": "EdDSA", "kid": "one", "typ": "at+jwt"});
    let token = signed(SEED, &header, &token);
    let presented = PresentedToken::new(&token, resource, NOW * 1000);
    let caller = verifier
        .verify(presented)
        .await
        .expect("a good token")
        .principal;
    assert_eq!(caller.owner(), person.principal.owner());
    assert_eq!(Holder::from(&caller), Holder::from(&person.principal));
}

#[tokio::test]
async fn the_request_asks_for_a_fresh_sign_in() {
    let oidc = changed(|_| {}).await;
    let sign_in = oidc.sign_in().await;
    let (url, pending) = sign_in.begin(REDIRECT).expect("a sign-in");
    let parameter = |wanted: &str| {
        let found = url.query_pairs().find(|(name, _)| name == wanted);
        found
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    };
    assert_eq!(parameter("scope"), "openid profile");
    assert_eq!(parameter("max_age"), "600");
    assert_eq!(parameter("code_challenge_method"), "S256");
    assert_eq!(parameter("state"), pending.state());
    assert_eq!(parameter("nonce").len(), 43);
    let (other, _) = sign_in.begin(REDIRECT).expect("a sign-in");
    assert!(!other.as_str().contains(&parameter("nonce")));

    // Another process finishes.
    *oidc.nonce.lock().unwrap() = parameter("nonce");
    let kept = pending.write().expect("it is written");
    let read = PendingSignIn::read(&kept).expect("it is read");
    assert!(!format!("{read:?}").contains(&parameter("nonce")));
    let redirected = format!(
        "{REDIRECT}?state={}&code=x&iss={}",
        read.state(),
        oidc.issuer.url
    );
    let person = sign_in.finish(&fetcher(), read, &redirected).await;
    assert_eq!(person.expect("a person").principal.subject, "ada");
    assert!(PendingSignIn::read(&Secret::new("{}")).is_err());
}

#[tokio::test]
async fn an_identity_token_is_checked_in_everything() {
    type Change = fn(&mut Value);
    let cases: [(&str, Change); 22] = [
        ("", |_| {}),
        ("", |it| it["aud"] = json!(["pages"])),
        ("", |it| it["azp"] = json!("pages")),
        ("", |it| {
            it["aud"] = json!(["pages", "other"]);
            it["azp"] = json!("pages");
        }),
        // Ten minutes, and the allowed clock skew.
        ("", |it| it["auth_time"] = json!(NOW - 629)),
        ("`auth_time`", |it| it["auth_time"] = json!(NOW - 631)),
        ("`auth_time`", |it| it["auth_time"] = json!(NOW + 31)),
        ("`auth_time`", |it| it["auth_time"] = Value::Null),
        ("`auth_time`", |it| {
            it.as_object_mut().expect("an object").remove("auth_time");
        }),
        ("`nonce`", |it| it["nonce"] = json!("another")),
        ("`nonce`", |it| {
            it.as_object_mut().expect("an object").remove("nonce");
        }),
        ("`aud`", |it| it["aud"] = json!("other")),
        ("`aud`", |it| it["aud"] = json!([])),
        ("`azp`", |it| it["aud"] = json!(["pages", "other"])),
        ("`azp`", |it| it["azp"] = json!("other")),
        ("`azp`", |it| it["azp"] = json!(["pages"])),
        ("`iss`", |it| it["iss"] = json!("https://other.example")),
        ("`iss`", |it| {
            it["iss"] = json!(format!("{}/", it["iss"].as_str().unwrap()))
        }),
        ("expired", |it| it["exp"] = json!(NOW - 31)),
        ("`exp`", |it| {
            it.as_object_mut().expect("an object").remove("exp");
        }),
        ("`sub`", |it| it["sub"] = json!("")),
        ("`nbf`", |it| it["nbf"] = json!(NOW + 31)),
    ];
    for (at, (fault, change)) in cases.into_iter().enumerate() {
        let oidc = changed(change).await;
        let sign_in = oidc.sign_in().await;
        let came = oidc.come_back(&sign_in, CODE).await;
        match (fault, came) {
            ("", Ok(_)) => {}
            ("", Err(error)) => panic!("case {at}: {error}"),
            (fault, Err(WebSignInError::IdToken(why))) => {
                assert!(why.to_string().contains(fault), "case {at}: {why}");
            }
            (fault, came) => panic!("case {at}: {fault}: {came:?}"),
        }
    }
}

#[tokio::test]
async fn a_token_must_be_signed_by_the_issuer() {
    let good: Value = serde_json::from_str(HEADER).expect("JSON");
    let with = |name: &str, value: Value| {
        let mut header = good.clone();
        header[name] = value;
        header
    };
    let cases = [
        (SEED, good.clone(), ""),
        (SEED, with("typ", Value::Null), ""),
        (SEED + 1, good.clone(), "its signature does not fit"),
        (
            SEED,
            with("alg", json!("none")),
            "an algorithm that is not accepted",
        ),
        (
            SEED,
            with("alg", json!("HS256")),
            "an algorithm that is not accepted",
        ),
        (
            SEED,
            with("alg", json!("RS256")),
            "no key of the issuer fits it",
        ),
        (
            SEED,
            with("kid", json!("two")),
            "no key of the issuer fits it",
        ),
        (SEED, with("crit", json!(["b64"])), "`crit`"),
        // An access token is not an identity token, whatever its claims.
        (SEED, with("typ", json!("at+jwt")), "`typ`"),
    ];
    for (seed, header, fault) in cases {
        let shown = header.to_string();
        let oidc = Oidc::start(Box::new(move |claims| {
            answer_with(&signed(seed, &header, &claims))
        }));
        let oidc = oidc.await;
        let came = oidc.come_back(&oidc.sign_in().await, CODE).await;
        let told = came
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert_eq!(told.is_empty(), fault.is_empty(), "{shown}: {told}");
        assert!(told.contains(fault), "{shown}: {told}");
    }
    // Without a signature.
    let oidc = Oidc::start(Box::new(|claims| {
        let token = signed(SEED, &json!({"alg": "none"}), &claims);
        let (signed, _) = token.rsplit_once('.').expect("three parts");
        answer_with(&format!("{signed}."))
    }));
    let oidc = oidc.await;
    let came = oidc.come_back(&oidc.sign_in().await, CODE).await;
    assert!(matches!(came, Err(WebSignInError::IdToken(_))), "{came:?}");
}

#[tokio::test]
async fn an_answer_of_the_browser_is_checked_before_the_code_is_sent() {
    for (answer, fault) in [
        (
            "code=x&iss=https://other.example",
            "another authorization server",
        ),
        ("code=x", "does not say which authorization server"),
        ("code=x&iss=ISSUER/", "another authorization server"),
        ("iss=ISSUER", "it holds no code"),
        ("code=x&code=y&iss=ISSUER", "not the URL of an answer"),
        ("code=x&state=other&iss=ISSUER", "not the URL of an answer"),
        (
            "error=access_denied&iss=ISSUER",
            "the person did not sign in",
        ),
        (
            "error=login_required&iss=ISSUER",
            "the person did not sign in",
        ),
        ("error=server_error&iss=ISSUER", "server_error"),
        // An answer in another issuer's name is rejected too.
        (
            "error=access_denied&iss=https://other.example",
            "another authorization server",
        ),
    ] {
        let oidc = changed(|_| {}).await;
        let came = oidc.come_back(&oidc.sign_in().await, answer).await;
        let told = came.expect_err(answer).to_string();
        assert!(told.contains(fault), "{answer}: {told}");
        let sent = oidc.issuer.asked();
        assert!(
            sent.iter().all(|it| it.line != "POST /token"),
            "{answer}: {sent:?}"
        );
    }
}

#[tokio::test]
async fn a_failing_token_endpoint_signs_no_user_in() {
    let no_id_token = json!({"access_token": "a", "token_type": "Bearer"});
    for (reply, fault) in [
        (
            Reply::Json(400, json!({"error": "invalid_grant"})),
            "invalid_grant",
        ),
        (Reply::Json(200, no_id_token), "no identity token"),
        (Reply::Json(503, Value::Null), "status 503"),
        (Reply::Silence, "takes too long"),
    ] {
        let given = reply.clone();
        let oidc = Oidc::start(Box::new(move |_| given.clone())).await;
        let sign_in = oidc.sign_in().await;
        let (_, pending) = sign_in.begin(REDIRECT).expect("a sign-in");
        let issuer = &oidc.issuer.url;
        let redirected = format!("{REDIRECT}?state={}&code=x&iss={issuer}", pending.state());
        let fetcher = match reply {
            Reply::Silence => impatient(),
            Reply::Json(..) | Reply::Text(_) | Reply::Later(..) => fetcher(),
        };
        let came = sign_in.finish(&fetcher, pending, &redirected).await;
        let told = came.expect_err(fault).to_string();
        assert!(told.contains(fault), "{told}");
    }
}

#[tokio::test]
async fn the_subject_and_the_tenant_are_in_the_claims_that_are_named() {
    for (subject, tenant, expected) in [
        ("sub", None, Some((None, "ada"))),
        ("uid", Some("tid"), Some((Some("acme"), "u-1"))),
        ("missing", None, None),
        ("sub", Some("missing"), None),
        // `exp` is a number, not a text.
        ("exp", None, None),
    ] {
        let oidc = changed(|_| {}).await;
        let mut sign_in = oidc.sign_in().await.subject_claim(subject);
        if let Some(tenant) = tenant {
            sign_in = sign_in.tenant_claim(tenant);
        }
        let person = oidc.come_back(&sign_in, CODE).await.ok();
        let found = person.as_ref().map(|it| {
            let principal = &it.principal;
            assert_eq!(principal.issuer.as_deref(), Some(&*oidc.issuer.url));
            assert_eq!(principal.client_id, None);
            (principal.tenant.as_deref(), &*principal.subject)
        });
        assert_eq!(found, expected, "{subject} {tenant:?}");
    }
}

#[tokio::test]
async fn an_issuer_is_given_by_hand_with_its_own_keys_alone() {
    let oidc = changed(|_| {}).await;
    let at = |path| oidc.issuer.at(path);
    let provider = Provider::new(&oidc.issuer.url, &at("/authorize"), &at("/token"));
    let provider = provider.expect("plain URLs");
    let client = RegisteredClient::new("pages");
    let keys = |issuer: &str| {
        let keys = IdTokenVerifier::with_jwks(issuer, "pages", &jwks(SEED).to_string());
        keys.expect("keys")
    };
    let other = WebSignIn::new(
        provider.clone(),
        client.clone(),
        keys("https://other.example"),
    );
    assert!(
        matches!(other, Err(WebSignInError::Authorization(_))),
        "{other:?}"
    );
    let sign_in = WebSignIn::new(provider, client, keys(&oidc.issuer.url)).expect("its own keys");
    let sign_in = sign_in.clock(Stopped).max_age(Duration::from_secs(1));
    // Only the token is fetched, and the user must have just signed in.
    let came = oidc.come_back(&sign_in, "code=x").await;
    assert!(came.is_ok(), "{came:?}");
    let sent: Vec<_> = oidc.issuer.asked().into_iter().map(|it| it.line).collect();
    assert_eq!(sent, ["POST /token"]);
}
