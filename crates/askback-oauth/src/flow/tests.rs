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
    authorizer::Authorizer, records::Grant,
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

/// Signs in at a server whose requests get these answers.
async fn run(
    user: TestUser,
    server: &str,
    wanted: Demands,
    answers: impl IntoIterator<Item = Reply>,
) -> Result<Grant, AuthorizationError> {
    let config = Authorization::person(user).clock(TestClock).config;
    let server = Url::parse(server).expect("a URL");
    let mut authorizer = Authorizer::new(config, server).expect("a client");
    authorizer.fetcher.script = Some(Arc::new(Mutex::new(VecDeque::from_iter(answers))));
    let (mut waiting, _caller) = oneshot::channel();
    let granted = authorize(&authorizer, &wanted, &mut waiting).await;
    granted.map(|granted| granted.expect("the client is known"))
}

async fn sign_in<const N: usize>(answers: [Reply; N]) -> Result<Grant, AuthorizationError> {
    let user = TestUser { is_there: true };
    run(user, SERVER, Demands::default(), answers).await
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
        let granted = run(user, SERVER, Demands::default(), answers).await;
        assert_eq!(granted.expect_err("no user").to_string(), expected);
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
        let granted = run(user, LOCAL, Demands::default(), answers).await;
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
        let granted = run(TestUser { is_there: true }, SERVER, wanted, answers).await;
        let is_other = matches!(granted, Err(AuthorizationError::OtherResource { .. }));
        assert_eq!(
            (granted.is_ok(), is_other),
            (is_taken, !is_taken),
            "{named}: {granted:?}"
        );
    }
}
