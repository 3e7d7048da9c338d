use askback_connect::{
    providers::{AccountSource, ConnectError, DeviceAnswer, PendingDevice, ThirdParty},
    vault::{Filter, Holder, Revocation},
};
use askback_core::{ask::Millis, auth::Scopes};
use askback_oauth::{Provider, RegisteredClient};
use serde_json::{Value, json};

use crate::issuer::{Issuer, Reply, fetcher, impatient};
use crate::stage::{NOW, Stage, ada};

fn codes() -> Value {
    json!({
        "device_code": "canary-device", "user_code": "WDJB-MJHT", "expires_in": 900, "interval": 5,
        "verification_uri": "https://git.example/device",
    })
}

fn no(code: &str) -> Reply {
    Reply::Json(400, json!({"error": code}))
}

async fn answering(codes: Reply, mut polls: Vec<Reply>) -> (Issuer, ThirdParty) {
    polls.reverse();
    let issuer = Issuer::start(move |_, request| match &*request.line {
        "POST /device" => codes.clone(),
        "POST /token" => polls.pop().expect("it is asked no more"),
        "GET /user" => Reply::Json(503, Value::Null),
        other => panic!("{other}"),
    });
    let issuer = issuer.await;
    let provider = Provider::new(&issuer.url, &issuer.at("/authorize"), &issuer.at("/token"));
    let provider = provider
        .expect("plain URLs")
        .device_endpoint(&issuer.at("/device"));
    let client = RegisteredClient::new("c-1");
    let party = ThirdParty::oauth("git", "Git", provider.expect("a plain URL"), client);
    (issuer, party.expect("a name").single_user_device_flow())
}

async fn begin(party: &ThirdParty) -> Result<PendingDevice, ConnectError> {
    let scopes = Scopes::parse("repo").expect("scopes");
    party.begin_device(&fetcher(), &scopes, NOW).await
}

#[tokio::test]
async fn the_provider_is_asked_as_seldom_as_it_says() {
    let granted = Reply::Json(
        200,
        json!({"access_token": "a", "token_type": "bearer", "scope": "repo"}),
    );
    let polls = vec![
        no("authorization_pending"),
        no("slow_down"),
        Reply::Json(503, Value::Null),
        granted,
    ];
    let (issuer, party) = answering(Reply::Json(200, codes()), polls).await;
    let mut pending = begin(&party).await.expect("codes");
    assert_eq!(pending.user_code(), "WDJB-MJHT");
    assert_eq!(pending.page().as_str(), "https://git.example/device");
    assert_eq!(pending.expires(), NOW + 900_000);
    assert!(!format!("{pending:?}").contains("canary"));

    let vault = Stage::in_memory().vault().await;
    let (vault, caller) = (&vault, &ada());
    // The time step, the number of requests so far, and when the next one is allowed.
    let steps: [(Millis, usize, Millis); 8] = [
        (0, 0, 5_000),
        (4_999, 0, 5_000),
        (5_000, 1, 10_000),
        (9_999, 1, 10_000),
        // Slower by 5 s.
        (10_000, 2, 20_000),
        (19_999, 2, 20_000),
        // Unreachable: poll half as often.
        (20_000, 3, 40_000),
        (39_999, 3, 40_000),
    ];
    for (at, times, next) in steps {
        let answer = party
            .poll_device(&fetcher(), vault, caller, &mut pending, NOW + at)
            .await;
        let Ok(DeviceAnswer::Pending { next: found }) = answer else {
            panic!("{at}: {answer:?}");
        };
        assert_eq!(
            (issuer.asked().len() - 1, found),
            (times, NOW + next),
            "{at}"
        );
    }
    let answer = party
        .poll_device(&fetcher(), vault, caller, &mut pending, NOW + 40_000)
        .await;
    let Ok(DeviceAnswer::Connected(connected)) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(connected.granted.scopes, Scopes::parse("repo").ok());

    let asked = issuer.asked();
    assert_eq!(asked[0].field("scope").as_deref(), Some("repo"));
    assert_eq!(asked[0].field("client_id").as_deref(), Some("c-1"));
    let grant = "urn:ietf:params:oauth:grant-type:device_code";
    assert_eq!(asked[1].field("grant_type").as_deref(), Some(grant));
    assert_eq!(
        asked[1].field("device_code").as_deref(),
        Some("canary-device")
    );
}

#[tokio::test]
async fn it_ends_with_a_no_or_with_its_codes() {
    let fewer = json!({"access_token": "a", "token_type": "bearer", "scope": ""});
    for (at, reply, expected) in [
        (
            5_000,
            Some(no("access_denied")),
            "the person did not allow it at git",
        ),
        (5_000, Some(no("expired_token")), "expired_token"),
        (5_000, Some(no("invalid_client")), "invalid_client"),
        (5_000, Some(Reply::Json(200, fewer)), "repo is missing"),
        (899_999, Some(no("expired_token")), "expired_token"),
        // The provider is not asked.
        (900_000, None, "expired_token"),
    ] {
        let replies = reply.into_iter().collect::<Vec<_>>();
        let times = replies.len();
        let (issuer, party) = answering(Reply::Json(200, codes()), replies).await;
        let mut pending = begin(&party).await.expect("codes");
        let stage = Stage::in_memory();
        let vault = stage.vault().await;
        let answer = party
            .poll_device(&fetcher(), &vault, &ada(), &mut pending, NOW + at)
            .await;
        let error = answer.expect_err(expected);
        let told = error.to_string();
        assert!(told.contains(expected), "{told}");
        // The tokens are queued for revocation.
        let owed = stage
            .store
            .list::<Revocation>(Filter::of(&Holder::from(&ada())))
            .await;
        let is_given_back = matches!(error, ConnectError::GivenBack(_));
        assert_eq!(owed.expect("a store").len(), usize::from(is_given_back));
        assert_eq!(is_given_back, expected == "repo is missing");
        assert_eq!(issuer.asked().len() - 1, times, "{expected}");
    }
}

#[tokio::test]
async fn tokens_whose_account_cannot_be_named_are_given_back() {
    let granted = json!({"access_token": "a", "token_type": "bearer", "scope": "repo"});
    let (issuer, party) =
        answering(Reply::Json(200, codes()), vec![Reply::Json(200, granted)]).await;
    let account = AccountSource::document(&issuer.at("/user"), "/login");
    let party = party.account(account.expect("a plain URL"));
    let mut pending = begin(&party).await.expect("codes");
    let stage = Stage::in_memory();
    let vault = stage.vault().await;
    let answer = party
        .poll_device(&fetcher(), &vault, &ada(), &mut pending, NOW + 5_000)
        .await;
    let error = answer.expect_err("nobody says whose they are");
    assert!(matches!(error, ConnectError::GivenBack(_)), "{error:?}");
    let owed = stage
        .store
        .list::<Revocation>(Filter::of(&Holder::from(&ada())))
        .await;
    assert_eq!(owed.expect("a store").len(), 1);
}

#[tokio::test]
async fn a_silent_provider_is_asked_half_as_often() {
    let (_issuer, party) = answering(Reply::Json(200, codes()), vec![Reply::Silence]).await;
    let mut pending = begin(&party).await.expect("codes");
    let vault = Stage::in_memory().vault().await;
    let answer = party
        .poll_device(&impatient(), &vault, &ada(), &mut pending, NOW + 5_000)
        .await;
    let is_later = matches!(answer, Ok(DeviceAnswer::Pending { next }) if next == NOW + 15_000);
    assert!(is_later, "{answer:?}");
}

#[tokio::test]
async fn codes_that_cannot_be_shown_are_not_taken() {
    let with = |name: &str, value: Value| {
        let mut codes = codes();
        codes[name] = value;
        Reply::Json(200, codes)
    };
    for (codes, expected) in [
        (with("interval", Value::Null), None),
        (with("interval", json!(0)), None),
        (with("user_code", json!("12 34")), None),
        (
            with("user_code", json!("a\u{1b}[31m")),
            Some("no codes that can be shown"),
        ),
        (
            with("user_code", json!("")),
            Some("no codes that can be shown"),
        ),
        (
            with("user_code", json!("x".repeat(65))),
            Some("no codes that can be shown"),
        ),
        (
            with("device_code", json!("")),
            Some("no codes that can be shown"),
        ),
        (
            with("verification_uri", json!("javascript:alert(1)")),
            Some("no codes that can be shown"),
        ),
        (
            with("verification_uri", json!("http://git.example/")),
            Some("no codes that can be shown"),
        ),
        (
            with("verification_uri", json!("https://git.example/;x")),
            Some("no codes that can be shown"),
        ),
        (
            with("expires_in", Value::Null),
            Some("no codes that can be shown"),
        ),
        (
            Reply::Json(200, json!({"error": "device_flow_disabled"})),
            Some("device_flow_disabled"),
        ),
        (no("invalid_scope"), Some("invalid_scope")),
    ] {
        let shown = format!("{codes:?}");
        let (_issuer, party) = answering(codes, Vec::new()).await;
        let told = begin(&party).await.err().map(|error| error.to_string());
        match (told, expected) {
            (None, None) => {}
            (Some(told), Some(why)) => assert!(told.contains(why), "{shown}: {told}"),
            (told, _) => panic!("{shown}: {told:?}"),
        }
    }
}
