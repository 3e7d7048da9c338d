use askback_core::{auth::AuthorizationError, limits::Limits};
use askback_oauth::{Fetcher, Provider, Reach, Route};
use serde_json::{Value, json};
use url::Url;

use crate::issuer::Issuer;

const OAUTH: &str = "/.well-known/oauth-authorization-server";
const OPENID: &str = "/.well-known/openid-configuration";

fn document(url: &str) -> Value {
    json!({
        "issuer": url,
        "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
    })
}

#[tokio::test]
async fn a_document_is_accepted_only_if_it_is_about_this_issuer() {
    /// Returns the status and the document for an issuer's URL and a path.
    type Stands = fn(&str, &str) -> (u16, Value);
    let cases: [(&str, Stands, Option<&str>); 8] = [
        ("as it should be", |url, _| (200, document(url)), None),
        (
            "at the second place",
            |url, path| match path == OPENID {
                true => (200, document(url)),
                false => (404, json!({})),
            },
            None,
        ),
        (
            "of another issuer",
            |url, _| (200, document(&format!("{url}/"))),
            Some("is for "),
        ),
        (
            "nowhere",
            |_, _| (404, json!({})),
            Some("any of the well-known places"),
        ),
        ("out of order", |_, _| (503, json!({})), Some("status 503")),
        (
            "no document",
            |_, _| (200, json!([])),
            Some("not a JSON object"),
        ),
        (
            "without a token endpoint",
            |url, _| (200, json!({"issuer": url})),
            Some("no token endpoint"),
        ),
        (
            "with an endpoint inside a network",
            |url, _| {
                let mut document = document(url);
                document["token_endpoint"] = json!("https://169.254.169.254/token");
                (200, document)
            },
            Some("the URL of the token endpoint"),
        ),
    ];
    for (name, stands, expected) in cases {
        let issuer = Issuer::start(move |url, path| {
            let (status, body) = stands(url, path);
            (status, body.to_string())
        })
        .await;
        let own = Url::parse(&issuer.url).expect("a URL");
        let reach = Reach::of(&own, false);
        let fetcher = Fetcher::new(reach, &Route::Direct, &Limits::default()).expect("HTTP");
        let found = Provider::discover(&fetcher, &issuer.url).await;
        match (found, expected) {
            (Ok(provider), None) => assert_eq!(provider.issuer(), issuer.url, "{name}"),
            (Err(error), Some(why)) if error.to_string().contains(why) => {}
            (found, _) => panic!("{name}: {found:?}"),
        }
        let first = issuer.asked().into_iter().next().unwrap_or_default();
        assert!(
            first.starts_with(&format!("GET {OAUTH} ")),
            "{name}: {first}"
        );
    }
}

#[test]
fn endpoints_given_by_hand_are_safe_or_refused() {
    for (url, is_good) in [
        ("https://git.example/authorize", true),
        ("http://localhost:8080/authorize", true),
        ("http://git.example/authorize", false),
        ("https://git.example/$(x)", false),
        ("https://user@git.example/", false),
        ("javascript:alert(1)", false),
        ("", false),
    ] {
        let provider = Provider::new("https://git.example", url, "https://git.example/token");
        let is_refused = matches!(provider, Err(AuthorizationError::Url { .. }));
        assert_eq!(is_refused, !is_good, "{url}");
    }
}
