use std::time::Duration;

use askback_core::limits::Limits;
use askback_oauth::{FetchError, FetchedAnswer, Fetcher, Reach, Redirects, Route};
use tokio::net::TcpListener;
use url::Url;

use crate::issuer::Issuer;

async fn get(
    limits: &Limits,
    route: &Route,
    url: &str,
    redirects: Redirects,
) -> Result<FetchedAnswer, FetchError> {
    let fetcher = Fetcher::new(Reach::anywhere(), route, limits).expect("HTTP");
    let url = Url::parse(url).expect("a URL");
    fetcher.get(&url, redirects).await
}

#[tokio::test]
async fn an_answer_is_as_long_as_the_bound_allows() {
    let mut limits = Limits::default();
    limits.sign_in.document_bytes = 100;
    for (length, is_taken) in [(0, true), (100, true), (101, false), (100_000, false)] {
        let issuer = Issuer::start(move |_, _| (200, "x".repeat(length))).await;
        let got = get(&limits, &Route::Direct, &issuer.url, Redirects::None).await;
        match got {
            Ok(fetched) if is_taken => assert_eq!(fetched.body.len(), length),
            Err(FetchError::TooLarge) if !is_taken => {}
            got => panic!("{length}: {got:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_is_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let mut limits = Limits::default();
    // Time advances while the system connects.
    limits.http.connect = Duration::from_secs(3600);
    let got = get(&limits, &Route::Direct, &url, Redirects::Any).await;
    assert!(matches!(got, Err(FetchError::TooSlow)), "{got:?}");
}

#[tokio::test]
async fn redirections_are_followed_within_the_origin_and_not_for_ever() {
    // The number of redirects before the document, and whether it is reached.
    for (times, redirects, is_reached) in [
        (0, Redirects::None, true),
        (1, Redirects::None, false),
        (1, Redirects::SameOrigin, true),
        (3, Redirects::SameOrigin, true),
        (4, Redirects::Any, false),
    ] {
        let left = std::sync::atomic::AtomicUsize::new(times);
        let issuer = Issuer::start(move |_, _| {
            use std::sync::atomic::Ordering::Relaxed;
            let redirect = left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
            (if redirect.is_ok() { 302 } else { 200 }, "{}".to_owned())
        })
        .await;
        let got = get(&Limits::default(), &Route::Direct, &issuer.url, redirects).await;
        match got {
            Ok(fetched) if is_reached => assert_eq!(fetched.status, 200),
            Err(FetchError::Redirected) if !is_reached => {}
            got => panic!("{times} {redirects:?}: {got:?}"),
        }
    }
}

#[tokio::test]
async fn a_proxy_is_asked_for_what_is_fetched() {
    let proxy = Issuer::start(|_, _| (200, "{}".to_owned())).await;
    let mut route = Url::parse(&proxy.url).expect("a URL");
    route.set_username("me").expect("it can have a name");
    route.set_password(Some("secret")).expect("and a password");
    let route = Route::Proxy(route);
    let url = "http://localhost:1/keys?of=a";
    let got = get(&Limits::default(), &route, url, Redirects::None).await;
    assert_eq!(got.expect("an answer").status, 200);
    let asked = proxy.asked().concat().to_lowercase();
    for line in [
        "get http://localhost:1/keys?of=a http/1.1\r\n",
        "\r\nproxy-authorization: basic bwu6c2vjcmv0\r\n",
        "\r\nuser-agent: askback/",
    ] {
        assert!(asked.contains(line), "{line:?} is not in {asked}");
    }
}

#[tokio::test]
async fn a_url_with_a_password_is_not_fetched() {
    let issuer = Issuer::start(|_, _| (200, "{}".to_owned())).await;
    let url = issuer.url.replace("://", "://me:secret@");
    let got = get(&Limits::default(), &Route::Direct, &url, Redirects::None).await;
    assert!(
        matches!(got, Err(FetchError::Unreachable { .. })),
        "{got:?}"
    );
    assert!(issuer.asked().is_empty());
}
