use askback_core::auth::Scopes;
use serde_json::{Value, json};
use url::Url;
use zeroize::Zeroizing;

use super::{Action, Demands, Event, Flow, Plan, Way};
use crate::{
    AuthorizationError, Secret, SignInError, SignInRequest,
    code::Random,
    fetch::Answer,
    identity::Introduction,
    reach::Reach,
    records::Grant,
    token::{Form, TokenRequest},
};

const SERVER: &str = "https://mcp.example.com/mcp";
const ISSUER: &str = "https://auth.example.com";
const REDIRECT: &str = "http://127.0.0.1:4000/callback";
const NOW: u64 = 1_800_000_000;

fn plan() -> Plan {
    let server = Url::parse(SERVER).expect("a URL");
    Plan {
        reach: Reach::of(&server, false),
        server,
        wanted: Demands::default(),
        way: Way::Person {
            redirect: REDIRECT.to_owned(),
        },
        clients: Vec::new(),
        document: None,
        introduction: Introduction {
            name: "test".to_owned(),
            uri: None,
        },
        scopes: Scopes::new(),
        bound: false,
        random: Random(Zeroizing::new([7; 64])),
    }
}

fn answer(status: u16, json: Value) -> Event {
    let json = (!json.is_null()).then_some(json);
    Event::Answer(Ok(Answer {
        status,
        json,
        retry_after: None,
    }))
}

fn resource() -> Event {
    answer(
        200,
        json!({"resource": SERVER, "authorization_servers": [ISSUER]}),
    )
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

struct Run {
    flow: Flow,
    action: Action,
}

impl Run {
    fn new(plan: Plan) -> Self {
        let mut flow = Flow::new(plan);
        let action = flow.next(Event::Start, NOW);
        Self { flow, action }
    }

    fn then(mut self, event: Event) -> Self {
        self.action = self.flow.next(event, NOW);
        self
    }

    #[track_caller]
    fn fetches(self, place: &str) -> Self {
        match &self.action {
            Action::Fetch(fetch) => assert_eq!(fetch.url.as_str(), place),
            other => panic!("{other:?}"),
        }
        self
    }

    fn asking() -> (Self, SignInRequest) {
        let run = Self::new(plan())
            .fetches("https://mcp.example.com/.well-known/oauth-protected-resource/mcp")
            .then(resource())
            .fetches("https://auth.example.com/.well-known/oauth-authorization-server")
            .then(answer(200, issuer()));
        assert!(matches!(&run.action, Action::Recall(issuer) if issuer == ISSUER));
        let run = run.then(Event::Recalled(None));
        let Action::Register {
            endpoint, request, ..
        } = &run.action
        else {
            panic!("{:?}", run.action);
        };
        assert_eq!(endpoint.as_str(), "https://auth.example.com/register");
        assert_eq!(request["application_type"], "native");
        let run = run.then(answer(201, json!({"client_id": "c-1"})));
        assert!(matches!(&run.action, Action::Keep(kept) if kept.issuer == ISSUER));
        run.then(Event::Noted).shows()
    }

    #[track_caller]
    fn shows(self) -> (Self, SignInRequest) {
        let Action::Show(request) = &self.action else {
            panic!("{:?}", self.action);
        };
        let request = request.clone();
        (self, request)
    }

    #[track_caller]
    fn asks(self) -> (Self, Form) {
        let Action::Ask(TokenRequest { endpoint, form, .. }) = &self.action else {
            panic!("{:?}", self.action);
        };
        assert_eq!(endpoint.as_str(), "https://auth.example.com/token");
        let form = form.clone();
        (self, form)
    }

    #[track_caller]
    fn done(self) -> Grant {
        match self.action {
            Action::Done(grant) => *grant,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    fn failed(self) -> AuthorizationError {
        match self.action {
            Action::Failed(error) => error,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_server_that_names_no_issuer_is_not_one_to_sign_in_at() {
    let told = "the server's metadata cannot be fetched: no document at its origin names an authorization server";
    let none = || answer(404, Value::Null);
    let guessed = |document: Event| {
        Run::new(plan())
            .then(none())
            .then(none())
            .fetches("https://mcp.example.com/.well-known/oauth-authorization-server")
            .then(document)
            .then(Event::Recalled(None))
    };
    let origin = "https://mcp.example.com";
    let mut found = issuer();
    found["issuer"] = origin.into();
    found["registration_endpoint"] = format!("{origin}/register").into();
    for status in [401, 404, 405] {
        let error = guessed(none()).then(answer(status, Value::Null)).failed();
        assert_eq!(error.to_string(), told, "{status}");
    }
    // An old server without a document may still support registration.
    guessed(none())
        .then(answer(201, json!({"client_id": "c-1"})))
        .then(Event::Noted)
        .shows();
    // If no user is there, the document decides whether one could sign in.
    let unattended = AuthorizationError::SignIn(SignInError::Unattended);
    for (document, expected) in [
        (none(), told),
        (answer(200, found), &*unattended.to_string()),
    ] {
        let run = guessed(document);
        assert!(
            matches!(run.action, Action::Register { .. }),
            "{:?}",
            run.action
        );
        let error = run.flow.not_signed_in(SignInError::Unattended);
        assert_eq!(error.to_string(), expected);
    }
}

fn redirected(request: &SignInRequest, more: &str) -> Event {
    let url = Url::parse(request.url()).expect("a URL");
    let state = url.query_pairs().find(|(name, _)| name == "state");
    let state = state.expect("a state").1.into_owned();
    Event::Redirected(Ok(format!("{REDIRECT}?state={state}&{more}")))
}

#[test]
fn an_unrequested_answer_is_not_accepted() {
    let events: [fn() -> Event; 5] = [
        || Event::Noted,
        || Event::Recalled(None),
        || Event::Redirected(Ok(format!("{REDIRECT}?code=c"))),
        || Event::Asserted(Ok(Secret::new("a"))),
        || Event::Start,
    ];
    for event in events {
        let error = Run::new(plan()).then(event()).failed();
        assert!(matches!(error, AuthorizationError::SignIn(_)), "{error:?}");
    }
    // A failed flow does not continue.
    let run = Run::new(plan()).then(answer(500, json!(null)));
    let error = run.then(resource()).failed();
    assert!(matches!(error, AuthorizationError::SignIn(_)), "{error:?}");
}

#[test]
fn one_answer_is_taken_once() {
    let (run, request) = Run::asking();
    let (run, _) = run.then(redirected(&request, "code=c")).asks();
    let error = run.then(redirected(&request, "code=c")).failed();
    assert!(matches!(error, AuthorizationError::SignIn(_)), "{error:?}");
}

#[test]
fn a_server_elsewhere_cannot_send_the_client_home() {
    for inside in [
        "https://127.0.0.1/",
        "http://localhost:8080",
        "https://[::1]/",
        "https://10.0.0.1",
    ] {
        let document = json!({"resource": SERVER, "authorization_servers": [inside]});
        let error = Run::new(plan()).then(answer(200, document)).failed();
        assert!(matches!(error, AuthorizationError::Url { .. }), "{error:?}");
        for place in [
            "token_endpoint",
            "registration_endpoint",
            "authorization_endpoint",
        ] {
            let mut issuer = issuer();
            issuer[place] = inside.into();
            let run = Run::new(plan()).then(resource()).then(answer(200, issuer));
            let run = match run.action {
                Action::Recall(_) => run.then(Event::Recalled(None)),
                _ => run,
            };
            let run = match run.action {
                Action::Register { .. } => run
                    .then(answer(201, json!({"client_id": "c"})))
                    .then(Event::Noted),
                _ => run,
            };
            let error = run.failed();
            assert!(
                matches!(error, AuthorizationError::Url { .. }),
                "{place}: {error:?}"
            );
        }
    }
}

#[test]
fn nothing_secret_is_printed() {
    let (run, request) = Run::asking();
    let state = redirected(&request, "code=hidden-code");
    let (run, form) = run.then(state).asks();
    let printed = format!("{request:?} {form:?} {:?} {:?}", run.action, run.flow);
    for secret in ["hidden-code", "BwcHBwcHBwcHBwcH"] {
        // `state` is public, but the test makes the verifier from the same bytes.
        let verifier = printed.matches(secret).count();
        assert_eq!(verifier, 0, "{printed}");
    }
    let token = answer(
        200,
        json!({"access_token": "hidden-token", "token_type": "Bearer"}),
    );
    assert!(!format!("{token:?}").contains("hidden"));
    let grant = run.then(token);
    assert!(!format!("{:?}", grant.action).contains("hidden"));
}

// A server on this machine may name URLs on it. Its issuer on the internet may not.
#[test]
fn a_remote_issuer_cannot_name_urls_on_this_machine() {
    const LOCAL: &str = "http://127.0.0.1:8080/mcp";
    let named = json!({"resource": LOCAL, "authorization_servers": [ISSUER]});
    for place in [
        "token_endpoint",
        "authorization_endpoint",
        "registration_endpoint",
        "revocation_endpoint",
    ] {
        let server = Url::parse(LOCAL).expect("a URL");
        let plan = Plan {
            reach: Reach::of(&server, false),
            server,
            ..plan()
        };
        let mut document = issuer();
        document[place] = json!("http://127.0.0.1:2375/x");
        let run = Run::new(plan)
            .then(answer(200, named.clone()))
            .then(answer(200, document));
        let run = match place {
            "token_endpoint" => run,
            "registration_endpoint" => run.then(Event::Recalled(None)),
            _ => run
                .then(Event::Recalled(None))
                .then(answer(201, json!({"client_id": "c-1"})))
                .then(Event::Noted),
        };
        if place == "revocation_endpoint" {
            let Action::Show(request) = &run.action else {
                panic!("{:?}", run.action);
            };
            let came_back = redirected(request, "code=c");
            let token = json!({"access_token": "t", "token_type": "Bearer"});
            let run = run.then(came_back).then(answer(200, token));
            assert_eq!(run.done().revocation_endpoint, None);
            continue;
        }
        let error = run.failed();
        assert!(
            matches!(error, AuthorizationError::Url { .. }),
            "{place}: {error:?}"
        );
    }
}

// The document is where it belongs, but describes another server: `/mc` is not a parent
// path of `/mcp`.
#[test]
fn the_document_of_another_resource_is_not_accepted() {
    for (named, place, is_taken) in [
        ("https://mcp.example.com/mc", "/mc", false),
        ("https://mcp.example.com/mcp/more", "/mcp/more", false),
        ("https://mcp.example.com/mcp?a=b", "/mcp?a=b", false),
        ("https://other.example.com", "", false),
        ("https://mcp.example.com", "", true),
    ] {
        let origin = named.split('/').take(3).collect::<Vec<_>>().join("/");
        let document = format!("{origin}/.well-known/oauth-protected-resource{place}");
        let mut plan = plan();
        plan.wanted.document = Some(document);
        let about = json!({"resource": named, "authorization_servers": [ISSUER]});
        let run = Run::new(plan).then(answer(200, about));
        let fetches =
            matches!(&run.action, Action::Fetch(fetch) if fetch.url.as_str().starts_with(ISSUER));
        assert_eq!(fetches, is_taken, "{named}: {:?}", run.action);
        if !is_taken {
            let error = run.failed();
            let is_other = matches!(error, AuthorizationError::OtherResource { .. });
            assert!(is_other, "{named}: {error:?}");
        }
    }
}

/// Optional members of an issuer's response may be null or empty, and some issuers write numbers
/// and lists in their own ways.
#[test]
fn unexpected_members_of_an_answer_do_not_end_a_sign_in() {
    #[track_caller]
    fn check(registered: &Value, given: &Value) -> Grant {
        let run = Run::new(plan())
            .then(resource())
            .then(answer(200, issuer()))
            .then(Event::Recalled(None))
            .then(answer(201, registered.clone()))
            .then(Event::Noted);
        let Action::Show(request) = &run.action else {
            panic!("{registered}: {:?}", run.action);
        };
        let back = redirected(request, "code=c");
        run.then(back).then(answer(200, given.clone())).done()
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
            check(&with(&client, member, &empty), &token);
        }
    }
    for ends in [json!(0), json!(0.0), json!("0"), json!(1_900_000_000.5)] {
        let secret = with(&client, "client_secret", &json!("s"));
        check(&with(&secret, "client_secret_expires_at", &ends), &token);
    }
    for member in ["refresh_token", "expires_in", "scope", "id_token", "error"] {
        for empty in [json!(null), json!("")] {
            let grant = check(&client, &with(&token, member, &empty));
            assert_eq!(grant.refresh_token, None, "{member}");
            assert_eq!(grant.expires_at, None, "{member}");
        }
    }
    for lasts in [json!(60), json!("60"), json!(60.0), json!(60.9)] {
        let grant = check(&client, &with(&token, "expires_in", &lasts));
        assert_eq!(grant.expires_at, Some(NOW + 60), "{lasts}");
    }
    for scope in [json!("a b"), json!(["a", "b"])] {
        check(&client, &with(&token, "scope", &scope));
    }
}

#[test]
fn a_document_that_cannot_be_read_says_which_member_is_wrong() {
    let wrong = json!({"resource": SERVER, "authorization_servers": 7});
    let error = Run::new(plan()).then(answer(200, wrong)).failed();
    let expected = "authorization_servers: expected a list of texts";
    assert!(error.to_string().contains(expected), "{error}");
}
