//! Malicious servers and issuers.

use std::{sync::Arc, time::Duration};

use askback::{
    BoxFuture, Limits,
    authorization::{
        Secret,
        client::{
            Algorithm, Authorization, CredentialKey, CredentialStore as _, Redirect,
            RegisteredClient, SignIn, SignInRequest, SigningKey,
        },
    },
    client::ClientError,
    transport::Http,
};
use serde_json::json;
use tokio::{net::TcpListener, sync::Notify};

use super::{AuthorizationError, Reply, Server, SignInError, World, builder, call};
use crate::{client::http::server::Piece, log::Log};

/// URLs that no server may make a client fetch, not even a server on the same machine.
const FORBIDDEN: [&str; 16] = [
    "http://auth.example.com/x",
    "https://10.0.0.1/x",
    "https://192.168.0.1/x",
    "https://[fd00::1]/x",
    "https://[fe80::1]/x",
    "http://169.254.169.254/latest/meta-data",
    "https://0.0.0.0/x",
    "https://user:password@auth.example.com/x",
    "https://good.com\\@evil.com/x",
    "https:evil.com/x",
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "gopher://127.0.0.1/x",
    "--help",
    "",
];

// Shows AS-09, BP-68.
#[tokio::test]
async fn no_document_leads_where_it_should_not() {
    type Place = fn(&World, &str);
    let places: [Place; 5] = [
        |world, url| {
            world.change(|rules| rules.challenge = format!("Bearer resource_metadata=\"{url}\""));
        },
        |world, url| world.resource(|it| it["authorization_servers"] = json!([url])),
        |world, url| world.issuer(|it| it["authorization_endpoint"] = json!(url)),
        |world, url| world.issuer(|it| it["token_endpoint"] = json!(url)),
        |world, url| world.issuer(|it| it["registration_endpoint"] = json!(url)),
    ];
    for (number, place) in places.into_iter().enumerate() {
        // One function reads all of them, so a few cases per place are enough.
        let few = if number == 1 { 1 } else { 4 };
        for url in FORBIDDEN.into_iter().step_by(few) {
            let world = World::new().await;
            place(&world, url);
            let log = Log::default();
            let logging = log.listen();
            let error = world.refused().await;
            drop(logging);
            let is_refused = matches!(
                error,
                AuthorizationError::Url { .. } | AuthorizationError::Document { .. }
            );
            assert!(is_refused, "{number} {url}: {error:?}");
            if matches!(error, AuthorizationError::Url { .. }) {
                // A challenge escapes with backslashes.
                let [log, url] = [&*log.text(), url].map(|text| text.replace('\\', ""));
                let is_told = log.contains("was refused") && log.contains(&url);
                assert!(is_told, "{number} {url}: {log}");
            }
            assert_eq!(world.browser.times(), 0, "{number} {url}");
            assert!(world.posted("/token").is_empty(), "{number} {url}");
        }
    }
}

// Stored records are checked as strictly as a server's messages.
#[tokio::test]
async fn stored_urls_lead_to_no_forbidden_address() {
    for place in ["token", "revoke"] {
        let world = World::new().await;
        // Another spelling of a loopback address.
        let inside = world.base().replace("127.0.0.1", "0x7f.1");
        // An endpoint that was refused is not saved.
        if place == "revoke" {
            world.issuer(|it| it["revocation_endpoint"] = json!(format!("{inside}/revoke")));
        }
        let authorization = world.authorization();
        world
            .connect_with(&authorization)
            .await
            .unwrap()
            .close()
            .await;
        let key = CredentialKey::Tokens(world.server.url.clone());
        let kept = world.store.load(&key).await.unwrap().unwrap();
        assert!(!kept.expose().contains("0x7f"), "{place}");
        let written = |base: &str| format!("\"{base}/{place}\"");
        let changed = kept
            .expose()
            .replace(&written(&world.base()), &written(&inside));
        // The "revoke" endpoint was never saved, so the test adds it.
        let changed = match changed.contains("0x7f") {
            true => changed,
            false => changed.replacen(
                '{',
                &format!("{{\"revocation_endpoint\":{},", written(&inside)),
                1,
            ),
        };
        world.store.save(&key, &Secret::new(changed)).await.unwrap();
        let before = world.posted("/token").len();
        let authorization = world.authorization();
        if place == "token" {
            world.change(|rules| rules.good = None);
            let client = world.connect_with(&authorization).await.unwrap();
            client.close().await;
            let forms = world.posted("/token");
            let grant = super::value(&forms[before], "grant_type");
            assert_eq!(grant, Some("authorization_code"));
        } else {
            authorization.sign_out(&world.server.url).await.unwrap();
            assert!(world.posted("/revoke").is_empty());
        }
    }
}

// Characters that have a meaning in a shell are refused, whatever program opens the URL.
// Shows BP-66.
#[tokio::test]
async fn an_authorization_endpoint_holds_nothing_for_a_shell() {
    for part in [
        "$(calc)", "`calc`", ";calc", "|calc", "'calc'", "\"calc\"", "calc^", "{calc}", "(calc)",
        "*", "!calc", "<calc>",
    ] {
        let world = World::new().await;
        let endpoint = format!("{}/authorize?a={part}", world.base());
        world.issuer(|it| it["authorization_endpoint"] = json!(endpoint));
        let error = world.refused().await;
        assert!(
            matches!(error, AuthorizationError::Url { .. }),
            "{part}: {error:?}"
        );
        assert_eq!(world.browser.times(), 0);
    }
    // The endpoint's own parameters stay, and the result is one valid URL.
    let world = World::new().await;
    let endpoint = format!("{}/authorize?tenant=a&b=%20", world.base());
    world.issuer(|it| it["authorization_endpoint"] = json!(endpoint));
    world.connect().await.unwrap().close().await;
    assert_eq!(world.browser.asked("tenant"), [Some("a".to_owned())]);
    let opened = world.browser.asked.lock().unwrap()[0].to_string();
    assert!(!opened.contains([' ', '"', '\'', '`', '$']), "{opened}");
}

async fn listener() -> (String, Arc<Notify>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let heard = Arc::new(Notify::new());
    let tell = Arc::clone(&heard);
    tokio::spawn(async move {
        while listener.accept().await.is_ok() {
            tell.notify_one();
        }
    });
    (url, heard)
}

// Shows BP-33, BP-34, BP-35.
#[tokio::test]
async fn redirections_are_followed_for_documents_alone_and_not_far() {
    // A document that moved within reach is found.
    let moved = Server::start(|asked, _| match asked.path.as_str() {
        "/end" => Reply::json(200, "{}"),
        path => {
            let steps: usize = path.trim_start_matches("/steps/").parse().unwrap();
            let next = steps.checked_sub(1).filter(|next| *next > 0);
            let next = next.map_or("/end".to_owned(), |next| format!("/steps/{next}"));
            Reply::empty(302).header("Location", next)
        }
    })
    .await;
    let base = moved.url.trim_end_matches("/mcp").to_owned();
    for (steps, found) in [(1, true), (3, true), (4, false)] {
        let world = World::new().await;
        let challenge = format!("Bearer resource_metadata=\"{base}/steps/{steps}\"");
        world.change(|rules| rules.challenge = challenge);
        match world.refused().await {
            // The page that was found is not the server's document.
            AuthorizationError::Document { .. } => assert!(found, "{steps}"),
            AuthorizationError::Fetch { .. } => assert!(!found, "{steps}"),
            error => panic!("{error:?}"),
        }
    }
    // A document that redirects to a forbidden place is not found.
    for (status, target) in [
        (301, "http://169.254.169.254/x"),
        (302, "http://10.0.0.1/"),
        (302, "https://10.0.0.1/"),
        (302, "https://[fe80::1]/"),
        (303, "file:///x"),
        (307, "gopher://a/"),
        (308, "http://auth.example.com/"),
    ] {
        let server =
            Server::start(move |_, _| Reply::empty(status).header("Location", target)).await;
        let world = World::new().await;
        let challenge = format!("Bearer resource_metadata=\"{}\"", server.url);
        world.change(|rules| rules.challenge = challenge);
        let error = world.refused().await;
        // The target is rejected before any request is sent to it.
        let is_judged =
            matches!(&error, AuthorizationError::Fetch { why, .. } if why.contains("redirects"));
        assert!(is_judged, "{target}: {error:?}");
        assert!(!error.to_string().contains("169.254"), "{error}");
    }
    // An issuer's identity comes from the issuer itself: an open redirect is not enough.
    let evil = World::new().await;
    let elsewhere = format!("{}/.well-known/oauth-authorization-server", evil.base());
    let honest =
        Server::start(move |_, _| Reply::empty(302).header("Location", elsewhere.clone())).await;
    let issuer = honest.url.trim_end_matches("/mcp").to_owned();
    evil.issuer(|it| it["issuer"] = json!(issuer));
    let world = World::new().await;
    world.resource(|it| it["authorization_servers"] = json!([issuer]));
    let error = world.refused().await;
    assert!(
        matches!(error, AuthorizationError::Fetch { .. }),
        "{error:?}"
    );
    assert!(evil.server.asked().is_empty());
    // With two hops, each is checked, not only the first.
    let (outside, heard) = listener().await;
    let outside = outside.replace("http://127.0.0.1", "http://auth.example.com");
    let hops = Server::start(move |asked, _| {
        let next = if asked.path == "/mcp" {
            "/next"
        } else {
            &*outside
        };
        Reply::empty(302).header("Location", next)
    })
    .await;
    let world = World::new().await;
    let challenge = format!("Bearer resource_metadata=\"{}\"", hops.url);
    world.change(|rules| rules.challenge = challenge);
    let error = world.refused().await;
    let is_judged =
        matches!(&error, AuthorizationError::Fetch { why, .. } if why.contains("redirects"));
    assert!(is_judged, "{error:?}");
    assert_eq!(hops.asked().len(), 2);
    assert!(futures_are_pending(heard.notified()).await);
    // A posted body is never redirected, not even within reach.
    for place in ["token_endpoint", "registration_endpoint"] {
        let (elsewhere, heard) = listener().await;
        let server =
            Server::start(move |_, _| Reply::empty(307).header("Location", elsewhere.clone()))
                .await;
        let world = World::new().await;
        let url = server.url.clone();
        world.issuer(|it| it[place] = json!(url));
        let error = world.refused().await;
        assert!(
            matches!(error, AuthorizationError::Fetch { .. }),
            "{error:?}"
        );
        assert!(futures_are_pending(heard.notified()).await);
    }
}

async fn futures_are_pending(future: impl Future<Output = ()>) -> bool {
    tokio::select! {
        biased;
        () = future => false,
        () = std::future::ready(()) => true,
    }
}

#[tokio::test]
async fn documents_are_bounded_in_size_and_time() {
    let limits = |change: fn(&mut Limits)| {
        let mut limits = Limits::default();
        change(&mut limits);
        limits
    };
    let small = limits(|limits| limits.sign_in.document_bytes = 1000);
    let short = limits(|limits| limits.sign_in.document_fetch = Duration::from_millis(100));
    type Body = fn() -> Reply;
    let cases: [(&Limits, Body); 3] = [
        (&small, || {
            Reply::json(200, format!("{{\"resource\": \"{}\"}}", "x".repeat(1000)))
        }),
        (&short, || Reply::json(200, "{").then(Piece::Hang)),
        (&short, || Reply::empty(200).then(Piece::Hang)),
    ];
    for (limits, body) in cases {
        let server = Server::start(move |_, _| body()).await;
        let world = World::new().await;
        let challenge = format!("Bearer resource_metadata=\"{}\"", server.url);
        world.change(|rules| rules.challenge = challenge);
        let authorization = world.authorization().limits(limits);
        let error = super::why(world.connect_with(&authorization).await);
        assert!(
            matches!(error, AuthorizationError::Fetch { .. }),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_person_has_a_time_to_sign_in() {
    struct Never;
    impl SignIn for Never {
        fn ready(&self) -> BoxFuture<'_, Result<Box<dyn Redirect>, SignInError>> {
            Box::pin(async { Ok(Box::new(Never) as Box<_>) })
        }
    }
    impl Redirect for Never {
        fn uri(&self) -> &str {
            "http://127.0.0.1:1/"
        }
        fn show(
            self: Box<Self>,
            _: SignInRequest,
        ) -> BoxFuture<'static, Result<String, SignInError>> {
            Box::pin(std::future::pending())
        }
    }
    let world = World::new().await;
    let mut limits = Limits::default();
    limits.sign_in.person = Duration::from_millis(1);
    let authorization = Authorization::person(Never).limits(&limits);
    let error = super::why(world.connect_with(&authorization).await);
    assert_eq!(error, AuthorizationError::SignIn(SignInError::TimedOut));
}

// Shows AZ-38, AZ-43.
#[tokio::test]
async fn a_token_goes_to_its_server_alone() {
    let world = World::new().await;
    let (elsewhere, heard) = listener().await;
    let client = world.connect().await.unwrap();
    world.change(|rules| {
        rules.calls = Some(Box::new(move |_, _| {
            Some(Reply::empty(307).header("Location", elsewhere.clone()))
        }));
    });
    let refused = call(&client, "book").await.unwrap_err();
    assert!(
        matches!(refused, ClientError::Http { status: 307, .. }),
        "{refused:?}"
    );
    assert!(futures_are_pending(heard.notified()).await);

    // One server's token is not sent to another, even if both share an issuer and a store.
    let other = World::new().await;
    let issuer = world.base();
    other.resource(|it| it["authorization_servers"] = json!([issuer]));
    let authorization = world.authorization();
    let http = Http::new(&other.server.url)
        .unwrap()
        .authorize(&authorization);
    let _ = builder(None).connect(http).await;
    let first = &other.server.asked()[0];
    assert_eq!(first.header("authorization"), None);
}

// Shows AZ-46, AS-05.
#[tokio::test]
async fn what_is_secret_is_printed_nowhere() {
    let world = World::new().await;
    world.change(|rules| {
        rules.registration = (
            201,
            json!({"client_id": "registered", "client_secret": "top-secret"}),
        );
    });
    let authorization = world.authorization();
    let http = Http::new(&world.server.url)
        .unwrap()
        .authorize(&authorization);
    let client = builder(None).connect(http.clone()).await.unwrap();
    let printed = format!(
        "{authorization:?} {http:?} {:?} {:?}",
        world.store,
        client.greeting()
    );
    let pem = Secret::new(KEY);
    let key = SigningKey::from_pem(&pem, Algorithm::Es256).unwrap();
    let printed = printed
        + &format!(
            "{pem:?} {key:?} {:?}",
            RegisteredClient::new("a").with_secret(Secret::new("top-secret"))
        );
    for secret in ["access-1", "refresh-1", "top-secret", "code-1", "MIGH"] {
        assert!(!printed.contains(secret), "{secret} in {printed}");
    }

    // Errors do not contain what the client sent, either.
    let world = World::new().await;
    world.change(|rules| {
        rules.tokens = Some(Box::new(|asked, _| {
            let words =
                json!({"error": "invalid_grant\u{1b}[31m", "error_description": "x".repeat(5000)});
            assert!(!asked.text.is_empty());
            Some(Reply::json(400, words.to_string()))
        }));
    });
    let error = world.refused().await;
    let printed = format!("{error} {error:?}");
    assert!(
        printed.len() < 1500 && !printed.contains('\u{1b}'),
        "{printed}"
    );
    assert!(
        !printed.contains("code-1") && !printed.contains("verifier"),
        "{printed}"
    );
}

#[test]
fn a_key_is_read_for_its_own_algorithm() {
    assert!(SigningKey::from_pem(&Secret::new(KEY), Algorithm::Es256).is_ok());
    for (pem, algorithm) in [
        (KEY, Algorithm::Es384),
        (KEY, Algorithm::Rs256),
        (KEY, Algorithm::EdDsa),
        ("", Algorithm::Es256),
        (
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
            Algorithm::Es256,
        ),
    ] {
        let read = SigningKey::from_pem(&Secret::new(pem), algorithm);
        let error = read.map(drop).unwrap_err();
        assert!(
            matches!(error, AuthorizationError::Credentials(_)),
            "{error:?}"
        );
        assert!(!format!("{error:?}").contains("AAAA"));
    }
}

pub(super) const KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgx7V6Fy3U5hQscHF7
HpSCcyOmt2lRmLvxZ9GkJ9GQGhqhRANCAASzIbebsiHm1JwQPdEo17HNjpdQMng9
Agf5+/WIZLlSSVthTx6INrsIuS3BppvqSheTg31tgy3x0W6GQaUdb3rd
-----END PRIVATE KEY-----
";
