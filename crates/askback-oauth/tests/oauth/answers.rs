use askback_core::auth::{AuthorizationError, Scopes};
use askback_oauth::{AuthorizationRequest, PendingAuthorization, Provider};
use url::Url;

const ISSUER: &str = "https://git.example";
const REDIRECT: &str = "https://tools.example/connected";

fn provider() -> Provider {
    let authorize = "https://git.example/authorize?tenant=a";
    Provider::new(ISSUER, authorize, "https://git.example/token").expect("plain URLs")
}

fn begin(provider: &Provider) -> (Url, PendingAuthorization) {
    let request = AuthorizationRequest::new(provider, "c-1", REDIRECT).expect("a redirect URI");
    request.begin().expect("a request")
}

#[test]
fn a_request_holds_what_it_must_and_what_the_provider_wants() {
    let scopes = Scopes::parse("repo user").expect("scopes");
    let request = AuthorizationRequest::new(&provider(), "c-1", REDIRECT)
        .expect("a redirect URI")
        .scopes(&scopes)
        .parameter("access_type", "offline");
    let (url, pending) = request.begin().expect("a request");
    let names: Vec<_> = url
        .query_pairs()
        .map(|(name, _)| name.into_owned())
        .collect();
    assert_eq!(
        names,
        [
            "tenant",
            "response_type",
            "client_id",
            "redirect_uri",
            "state",
            "code_challenge",
            "code_challenge_method",
            "scope",
            "access_type"
        ]
    );
    assert!(
        url.as_str()
            .contains("&code_challenge_method=S256&scope=repo+user&")
    );
    assert!(url.as_str().contains(pending.state()));

    // Each request is different, and its secrets are never printed.
    let (_, other) = request.begin().expect("a request");
    assert_ne!(other.state(), pending.state());
    let written = pending.write().expect("it can be written");
    let printed = format!("{pending:?} {request:?}");
    let verifier = written.expose().split('"').nth(3).expect("a verifier");
    assert!(
        verifier.len() == 43 && !printed.contains(verifier),
        "{printed}"
    );
}

#[test]
fn a_caller_cannot_set_the_parameters_that_a_request_sets_itself() {
    for name in ["state", "redirect_uri", "code_challenge", "client_id"] {
        let request = AuthorizationRequest::new(&provider(), "c-1", REDIRECT);
        let begun = request
            .expect("a redirect URI")
            .parameter(name, "x")
            .begin();
        let is_refused = matches!(begun, Err(AuthorizationError::Credentials(_)));
        assert!(is_refused, "{name}");
    }
    for redirect in [
        "http://tools.example/",
        "https://tools.example/#x",
        "app:x",
        "",
    ] {
        let request = AuthorizationRequest::new(&provider(), "c-1", redirect);
        assert!(
            matches!(request, Err(AuthorizationError::SignIn(_))),
            "{redirect}"
        );
    }
}

#[test]
fn an_answer_is_accepted_only_if_it_is_for_this_request_and_from_this_issuer() {
    let iss = "&iss=https%3A%2F%2Fgit.example";
    let other = "&iss=https%3A%2F%2Fgit.example%2F";
    // STATE is replaced by the request's state. The last column says whether the issuer is
    // required.
    for (answer, expected, must_name) in [
        ("?code=x&state=STATE", None, false),
        (&*format!("?code=x&state=STATE{iss}"), None, true),
        ("?code=x&state=STATE", Some("does not say which"), true),
        (
            &format!("?code=x&state=STATE{other}"),
            Some("another authorization server"),
            false,
        ),
        (
            "?code=x&state=other",
            Some("answers another sign-in"),
            false,
        ),
        ("?code=x", Some("answers another sign-in"), false),
        (
            "?code=x&state=STATE&state=STATE",
            Some("not the URL"),
            false,
        ),
        ("?code=x&code=y&state=STATE", Some("not the URL"), false),
        ("?state=STATE", Some("holds no code"), false),
        (
            "?error=access_denied&state=STATE",
            Some("access_denied"),
            false,
        ),
        (
            "?error=access_denied&state=other",
            Some("answers another sign-in"),
            false,
        ),
        ("/else?code=x&state=STATE", Some("not the URL"), false),
    ] {
        let provider = match must_name {
            true => provider().require_issuer(),
            false => provider(),
        };
        let (_, pending) = begin(&provider);
        let redirected = format!("{REDIRECT}{}", answer.replace("STATE", pending.state()));
        // Another process may receive the answer.
        let kept = pending.write().expect("it can be written");
        let pending = PendingAuthorization::read(&kept).expect("it can be read");
        let accepted = pending.accept(&redirected).map(drop);
        match (accepted, expected) {
            (Ok(()), None) => {}
            (Err(error), Some(why)) if error.to_string().contains(why) => {}
            (accepted, _) => panic!("{answer}: {accepted:?}"),
        }
    }
}
