use askback_core::{
    auth::{AuthorizationError, Scopes},
    clock::Clock,
    limits::Limits,
};
use askback_oauth::{
    Algorithm, AuthorizationRequest, FetchError, Fetcher, Provider, Reach, RegisteredClient, Route,
    Secret, SigningKey, TokenEndpoint,
};
use http::{HeaderMap, HeaderValue, Method, header::AUTHORIZATION};
use serde_json::json;
use url::Url;

use crate::issuer::Issuer;

const REDIRECT: &str = "http://localhost:4000/connected";
const NOW: u64 = 1_800_000_000;

/// The output of `openssl genpkey -algorithm ed25519`.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ+DYvh6SEqVTm50DFtMDoQikTmiCqirVv9mWG9qfSnF\n\
    -----END PRIVATE KEY-----\n";

struct Stopped;

impl Clock for Stopped {
    fn now(&self) -> u64 {
        NOW * 1000
    }
}

async fn answering(status: u16, body: &'static str) -> Issuer {
    Issuer::start(move |_, _| (status, body.to_owned())).await
}

fn provider(issuer: &Issuer) -> Provider {
    let at = |path| format!("{}{path}", issuer.url);
    let provider = Provider::new(&issuer.url, &at("/authorize"), &at("/token"));
    let provider = provider
        .expect("plain URLs")
        .revocation_endpoint(&at("/revoke"));
    provider.expect("a plain URL")
}

fn fetcher(reach: Reach) -> Fetcher {
    Fetcher::new(reach, &Route::Direct, &Limits::default()).expect("HTTP")
}

fn endpoint(provider: &Provider, client: &RegisteredClient) -> TokenEndpoint {
    let endpoint = TokenEndpoint::new(&fetcher(Reach::anywhere()), provider, client);
    endpoint.expect("its own client").clock(Stopped)
}

const TOKENS: &str = r#"{"access_token":"a-1","token_type":"bearer","expires_in":3600,
    "refresh_token":"r-1","scope":"repo"}"#;

#[tokio::test]
async fn a_code_becomes_tokens() {
    let issuer = answering(200, TOKENS).await;
    let provider = provider(&issuer);
    let request = AuthorizationRequest::new(&provider, "c-1", REDIRECT).expect("a redirect URI");
    let (_, pending) = request.begin().expect("a request");
    let redirected = format!("{REDIRECT}?code=x&state={}", pending.state());
    let code = pending.accept(&redirected).expect("the answer");
    let client = RegisteredClient::new("c-1").with_secret(Secret::new("s/1"));
    let tokens = endpoint(&provider, &client)
        .exchange(code)
        .await
        .expect("tokens");
    assert_eq!(tokens.access_token.expose(), "a-1");
    assert_eq!(tokens.refresh_token, Some(Secret::new("r-1")));
    assert_eq!(tokens.expires_at, Some(NOW + 3600));
    assert_eq!(tokens.scopes, Scopes::parse("repo").ok());
    assert!(!format!("{tokens:?}").contains("a-1"));

    let (head, form) = issuer.form();
    assert!(head.starts_with("POST /token "), "{head}");
    assert!(head.contains("authorization: Basic Yy0xOnMlMkYx"), "{head}");
    let names: Vec<_> = form.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["grant_type", "code", "redirect_uri", "code_verifier"]
    );
}

#[tokio::test]
async fn a_client_shows_who_it_is_as_the_provider_takes_it() {
    let plain = || RegisteredClient::new("c-1");
    let key = SigningKey::from_pem(&Secret::new(KEY), Algorithm::EdDsa).expect("a key");
    for (client, methods, has_header, names) in [
        (plain(), &[][..], false, &["client_id"][..]),
        (plain().with_secret(Secret::new("s")), &[], true, &[]),
        (
            plain().with_secret(Secret::new("s")),
            &["client_secret_post"],
            false,
            &["client_id", "client_secret"],
        ),
        (
            plain().with_secret(Secret::new("s")),
            &["client_secret_post", "client_secret_basic"],
            false,
            &["client_id", "client_secret"],
        ),
        (
            plain().with_secret(Secret::new("s")),
            &["client_secret_basic", "client_secret_post"],
            true,
            &[],
        ),
        (
            plain().with_key(key),
            &["private_key_jwt"],
            false,
            &["client_id", "client_assertion_type", "client_assertion"],
        ),
    ] {
        let issuer = answering(200, TOKENS).await;
        let provider = match methods {
            [] => provider(&issuer),
            names => provider(&issuer).client_methods(names.iter().copied()),
        };
        let refreshed = endpoint(&provider, &client)
            .refresh(&Secret::new("r-0"))
            .await;
        refreshed.expect("tokens");
        let (head, form) = issuer.form();
        assert_eq!(head.contains("authorization: Basic"), has_header, "{head}");
        assert_eq!(form[1], ("refresh_token".to_owned(), "r-0".to_owned()));
        let sent: Vec<_> = form[2..].iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(sent, names);
    }
}

#[tokio::test]
async fn a_refusal_differs_from_an_unreadable_response() {
    for (status, body, expected) in [
        (
            400,
            r#"{"error":"invalid_grant"}"#,
            "refused a token: invalid_grant",
        ),
        (
            401,
            r#"{"error":"invalid_client"}"#,
            "refused a token: invalid_client",
        ),
        (404, "{}", "refused a token: status 404"),
        // Some third parties refuse like this.
        (
            200,
            r#"{"error":"bad_refresh_token"}"#,
            "refused a token: bad_refresh_token",
        ),
        (200, r#"{"token_type":"bearer"}"#, "a token is wrong: "),
        (
            200,
            r#"{"access_token":"a","token_type":"mac"}"#,
            "a token is wrong: ",
        ),
        (503, "{}", "a token cannot be fetched: "),
        (302, "{}", "a token cannot be fetched: "),
    ] {
        let issuer = answering(status, body).await;
        let endpoint = endpoint(&provider(&issuer), &RegisteredClient::new("c-1"));
        let error = endpoint
            .refresh(&Secret::new("r"))
            .await
            .expect_err("no tokens");
        assert!(
            error.to_string().contains(expected),
            "{status} {body}: {error}"
        );
    }
}

#[tokio::test]
async fn a_token_is_revoked_at_the_revocation_endpoint() {
    for (status, is_taken) in [(200, true), (204, true), (400, false), (503, false)] {
        let issuer = answering(status, "").await;
        let endpoint = endpoint(&provider(&issuer), &RegisteredClient::new("c-1"));
        let revoked = endpoint.revoke(&Secret::new("r-1")).await;
        assert_eq!(revoked.is_ok(), is_taken, "{status}: {revoked:?}");
        let (head, form) = issuer.form();
        assert!(head.starts_with("POST /revoke "), "{head}");
        assert_eq!(form[0], ("token".to_owned(), "r-1".to_owned()));
    }
}

#[tokio::test]
async fn a_token_is_sent_only_to_the_requested_server() {
    for (status, is_read) in [(200, true), (401, true), (302, false), (307, false)] {
        let issuer = answering(status, r#"{"login":"ada"}"#).await;
        let url = Url::parse(&format!("{}/user", issuer.url)).expect("a URL");
        let token = HeaderValue::from_static("Bearer a-1");
        let headers = HeaderMap::from_iter([(AUTHORIZATION, token)]);
        let fetcher = fetcher(Reach::anywhere());
        let fetched = fetcher.request(Method::GET, &url, headers, Vec::new());
        match fetched.await {
            Ok(fetched) if is_read => {
                assert_eq!(fetched.status, status);
                assert_eq!(fetched.json(), Some(json!({"login": "ada"})));
            }
            Err(FetchError::Redirected) if !is_read => {}
            fetched => panic!("{status}: {fetched:?}"),
        }
        let asked = issuer.asked();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert!(asked[0].contains("authorization: Bearer a-1"), "{asked:?}");
        assert!(asked[0].contains("accept: application/json"), "{asked:?}");
    }
}

#[tokio::test]
async fn no_request_is_sent_to_a_forbidden_address() {
    let issuer = answering(200, TOKENS).await;
    let provider = provider(&issuer);
    let client = RegisteredClient::new("c-1").with_secret(Secret::new("s"));
    let inside = TokenEndpoint::new(&fetcher(Reach::internet()), &provider, &client);
    let inside = inside.expect("its own client");
    let error = inside
        .refresh(&Secret::new("r"))
        .await
        .expect_err("out of reach");
    assert!(
        matches!(error, AuthorizationError::Fetch { .. }),
        "{error:?}"
    );

    // A client of another issuer is not used here.
    let client = client.with_issuer("https://other.example");
    let other = TokenEndpoint::new(&fetcher(Reach::anywhere()), &provider, &client);
    let is_refused = matches!(other, Err(AuthorizationError::NotRegisteredThere { .. }));
    assert!(is_refused);
    assert!(issuer.asked().is_empty());
}
