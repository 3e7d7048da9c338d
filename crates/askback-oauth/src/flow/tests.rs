use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use askback_core::{ask::Millis, clock::Clock};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use url::Url;

use super::{Demands, authorize};
use crate::{
    Authorization, AuthorizationError, BoxFuture, Redirect, SignIn, SignInError, SignInRequest,
    authorizer::Authorizer, fetch::Script, records::Grant,
};

const SERVER: &str = "https://mcp.example.com/mcp";
const ISSUER: &str = "https://auth.example.com";
const REDIRECT: &str = "http://127.0.0.1:4000/callback";
const NOW: u64 = 1_800_000_000;

struct TestClock;

impl Clock for TestClock {
    fn now(&self) -> Millis {
        NOW * 1000
    }
}

/// A user who agrees to everything, or is not there.
#[derive(Clone, Copy)]
struct TestUser {
    is_there: bool,
}

impl SignIn for TestUser {
    fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>> {
        let redirect: Box<dyn Redirect> = Box::new(*self);
        Box::pin(async { Ok(redirect) })
    }
}

impl Redirect for TestUser {
    fn uri(&self) -> &str {
        REDIRECT
    }

    fn agree<'a>(&'a mut self, _: &'a str) -> BoxFuture<'a, Result<(), SignInError>> {
        let agreed = self.is_there.then_some(()).ok_or(SignInError::Unattended);
        Box::pin(async { agreed })
    }

    fn show(
        self: Box<Self>,
        request: SignInRequest,
    ) -> BoxFuture<'static, Result<String, SignInError>> {
        let printed = format!("{request:?}");
        assert!(!printed.contains(&request.state), "{printed}");
        Box::pin(async move { Ok(format!("{REDIRECT}?state={}&code=c", request.state)) })
    }
}

type Reply = (u16, Value);

/// Signs in at a server whose requests get these answers. Also returns the requested URLs.
async fn run(
    user: TestUser,
    server: &str,
    wanted: Demands,
    answers: impl IntoIterator<Item = Reply>,
) -> (Result<Grant, AuthorizationError>, Vec<String>) {
    let config = Authorization::person(user).clock(TestClock).config;
    let server = Url::parse(server).expect("a URL");
    let mut authorizer = Authorizer::new(config, server).expect("a client");
    let script = Arc::new(Mutex::new(Script {
        answers: VecDeque::from_iter(answers),
        asked: Vec::new(),
    }));
    authorizer.fetcher.script = Some(Arc::clone(&script));
    let (mut waiting, _caller) = oneshot::channel();
    let granted = authorize(&authorizer, &wanted, &mut waiting).await;
    let granted = granted.map(|granted| granted.expect("the client is known"));
    let asked = std::mem::take(&mut script.lock().expect("a script").asked);
    (granted, asked)
}

async fn sign_in<const N: usize>(answers: [Reply; N]) -> Result<Grant, AuthorizationError> {
    let user = TestUser { is_there: true };
    run(user, SERVER, Demands::default(), answers).await.0
}

fn resource() -> Reply {
    let document = json!({"resource": SERVER, "authorization_servers": [ISSUER]});
    (200, document)
}

fn registered() -> Reply {
    (201, json!({"client_id": "c-1"}))
}

fn token() -> Reply {
    let token = json!({"access_token": "hidden-token", "token_type": "Bearer"});
    (200, token)
}

fn none() -> Reply {
    (404, Value::Null)
}

fn issuer() -> Value {
    json!({
        "issuer": ISSUER,
        "authorization_endpoint": format!("{ISSUER}/authorize"),
        "token_endpoint": format!("{ISSUER}/token"),
        "registration_endpoint": format!("{ISSUER}/register"),
        "code_challenge_methods_supported": ["S256"],
    })
}

#[tokio::test]
async fn a_sign_in_makes_these_requests_and_prints_no_token() {
    let user = TestUser { is_there: true };
    let answers = [resource(), (200, issuer()), registered(), token()];
    let (granted, asked) = run(user, SERVER, Demands::default(), answers).await;
    let grant = granted.expect("a token");
    assert!(!format!("{grant:?}").contains("hidden"), "{grant:?}");
    assert_eq!(
        asked,
        [
            "https://mcp.example.com/.well-known/oauth-protected-resource/mcp",
            "https://auth.example.com/.well-known/oauth-authorization-server",
            "https://auth.example.com/register",
            "https://auth.example.com/token",
        ]
    );
}

#[tokio::test]
async fn a_server_that_names_no_issuer_is_not_one_to_sign_in_at() {
    let told = "the server's metadata cannot be fetched: no document at its origin names an authorization server";
    for status in [401, 404, 405] {
        let refused = (status, Value::Null);
        let error = sign_in([none(), none(), none(), refused]).await;
        assert_eq!(error.expect_err("no issuer").to_string(), told, "{status}");
    }
    // An old server without a document may still support registration.
    let granted = sign_in([none(), none(), none(), registered(), token()]).await;
    assert!(granted.is_ok(), "{granted:?}");
    // If no user is there, the document decides whether one could sign in.
    let origin = "https://mcp.example.com";
    let mut found = issuer();
    found["issuer"] = origin.into();
    found["registration_endpoint"] = format!("{origin}/register").into();
    let unattended = AuthorizationError::SignIn(SignInError::Unattended);
    for (document, expected) in [(none(), told), ((200, found), &*unattended.to_string())] {
        let user = TestUser { is_there: false };
        let answers = [none(), none(), document];
        let (granted, _) = run(user, SERVER, Demands::default(), answers).await;
        assert_eq!(granted.expect_err("no user").to_string(), expected);
    }
}

#[tokio::test]
async fn a_server_elsewhere_cannot_send_the_client_home() {
    for inside in [
        "https://127.0.0.1/",
        "http://localhost:8080",
        "https://[::1]/",
        "https://10.0.0.1",
    ] {
        let document = json!({"resource": SERVER, "authorization_servers": [inside]});
        let error = sign_in([(200, document)]).await.expect_err("it is inside");
        assert!(matches!(error, AuthorizationError::Url { .. }), "{error:?}");
        for place in [
            "token_endpoint",
            "registration_endpoint",
            "authorization_endpoint",
        ] {
            let mut issuer = issuer();
            issuer[place] = inside.into();
            let error = sign_in([resource(), (200, issuer), registered()]).await;
            let is_refused = matches!(error, Err(AuthorizationError::Url { .. }));
            assert!(is_refused, "{place}: {error:?}");
        }
    }
}

// A server on this machine may name URLs on it. Its issuer on the internet may not.
#[tokio::test]
async fn a_remote_issuer_cannot_name_urls_on_this_machine() {
    const LOCAL: &str = "http://127.0.0.1:8080/mcp";
    let named = json!({"resource": LOCAL, "authorization_servers": [ISSUER]});
    for place in [
        "token_endpoint",
        "authorization_endpoint",
        "registration_endpoint",
        "revocation_endpoint",
    ] {
        let mut document = issuer();
        document[place] = json!("http://127.0.0.1:2375/x");
        let user = TestUser { is_there: true };
        let answers = [(200, named.clone()), (200, document), registered(), token()];
        let (granted, _) = run(user, LOCAL, Demands::default(), answers).await;
        match place {
            "revocation_endpoint" => {
                let grant = granted.expect("a token");
                assert_eq!(grant.revocation_endpoint, None);
            }
            _ => {
                let is_refused = matches!(granted, Err(AuthorizationError::Url { .. }));
                assert!(is_refused, "{place}: {granted:?}");
            }
        }
    }
}

// The document is where it belongs, but describes another server: `/mc` is not a parent
// path of `/mcp`.
#[tokio::test]
async fn the_document_of_another_resource_is_not_accepted() {
    for (named, place, is_taken) in [
        ("https://mcp.example.com/mc", "/mc", false),
        ("https://mcp.example.com/mcp/more", "/mcp/more", false),
        ("https://mcp.example.com/mcp?a=b", "/mcp?a=b", false),
        ("https://other.example.com", "", false),
        ("https://mcp.example.com", "", true),
    ] {
        let origin = named.split('/').take(3).collect::<Vec<_>>().join("/");
        let wanted = Demands {
            document: Some(format!(
                "{origin}/.well-known/oauth-protected-resource{place}"
            )),
            ..Demands::default()
        };
        let about = json!({"resource": named, "authorization_servers": [ISSUER]});
        let answers = [(200, about), (200, issuer()), registered(), token()];
        let (granted, _) = run(TestUser { is_there: true }, SERVER, wanted, answers).await;
        let is_other = matches!(granted, Err(AuthorizationError::OtherResource { .. }));
        assert_eq!(
            (granted.is_ok(), is_other),
            (is_taken, !is_taken),
            "{named}: {granted:?}"
        );
    }
}

/// Optional members of an issuer's response may be null or empty, and some issuers write numbers
/// and lists in their own ways.
#[tokio::test]
async fn unexpected_members_of_an_answer_do_not_end_a_sign_in() {
    async fn check(registered: &Value, given: &Value) -> Grant {
        let (registered, given) = ((201, registered.clone()), (200, given.clone()));
        let granted = sign_in([
            resource(),
            (200, issuer()),
            registered.clone(),
            given.clone(),
        ]);
        let granted = granted.await;
        granted.unwrap_or_else(|error| panic!("{registered:?} {given:?}: {error}"))
    }
    let client = json!({"client_id": "c-1"});
    let token = json!({"access_token": "t", "token_type": "Bearer"});
    let with = |whole: &Value, member: &str, value: &Value| {
        let mut whole = whole.clone();
        whole[member] = value.clone();
        whole
    };
    let optional = [
        "client_secret",
        "client_secret_expires_at",
        "client_id_issued_at",
        "token_endpoint_auth_method",
        "client_uri",
        "scope",
    ];
    for member in optional {
        for empty in [json!(null), json!("")] {
            check(&with(&client, member, &empty), &token).await;
        }
    }
    for ends in [json!(0), json!(0.0), json!("0"), json!(1_900_000_000.5)] {
        let secret = with(&client, "client_secret", &json!("s"));
        check(&with(&secret, "client_secret_expires_at", &ends), &token).await;
    }
    for member in ["refresh_token", "expires_in", "scope", "id_token", "error"] {
        for empty in [json!(null), json!("")] {
            let grant = check(&client, &with(&token, member, &empty)).await;
            assert_eq!(grant.refresh_token, None, "{member}");
            assert_eq!(grant.expires_at, None, "{member}");
        }
    }
    for lasts in [json!(60), json!("60"), json!(60.0), json!(60.9)] {
        let grant = check(&client, &with(&token, "expires_in", &lasts)).await;
        assert_eq!(grant.expires_at, Some(NOW + 60), "{lasts}");
    }
    for scope in [json!("a b"), json!(["a", "b"])] {
        check(&client, &with(&token, "scope", &scope)).await;
    }
}

#[tokio::test]
async fn a_document_that_cannot_be_read_says_which_member_is_wrong() {
    let wrong = json!({"resource": SERVER, "authorization_servers": 7});
    let error = sign_in([(200, wrong)]).await.expect_err("a document");
    let expected = "authorization_servers: expected a list of texts";
    assert!(error.to_string().contains(expected), "{error}");
}
