//! Step-up: a server asks for more scopes.

use askback::authorization::Scopes;
use serde_json::json;

use super::{AuthorizationError, Reply, SignInError, World, back, call};
use askback::client::ClientError;

/// A server whose calls need scopes that the last sign-in did not request.
async fn strict(needed: &'static str) -> World {
    let world = World::new().await;
    world.change(|rules| rules.challenge += ", scope=\"files:read\"");
    let browser = world.browser.clone();
    let challenge = world.rules.lock().unwrap().challenge.clone();
    let challenge = challenge.replace("files:read", needed) + ", error=\"insufficient_scope\"";
    world.change(|rules| {
        rules.calls = Some(Box::new(move |_, _| {
            let asked = browser.asked("scope").pop().flatten().unwrap_or_default();
            let asked = Scopes::parse(&asked).unwrap();
            let has = asked.contains_all(&Scopes::parse(needed).unwrap()) && needed != "never";
            (!has).then(|| Reply::empty(403).header("WWW-Authenticate", challenge.clone()))
        }));
    });
    world
}

// Shows AZ-15, AZ-56, BP-77.
#[tokio::test]
async fn what_was_asked_before_is_asked_again() {
    let world = strict("files:write admin").await;
    let client = world.connect().await.unwrap();
    call(&client, "book").await.unwrap();
    let asked = world.browser.asked("scope");
    assert_eq!(
        asked,
        [
            Some("files:read".to_owned()),
            Some("files:read files:write admin".to_owned())
        ]
    );
    let more = world.browser.more.lock().unwrap().clone();
    assert_eq!(more, [None, Some("files:write admin".to_owned())]);
    // The user's consent also covers the next call.
    call(&client, "book").await.unwrap();
    assert_eq!(world.browser.times(), 2);
}

// Shows AZ-57, AZ-58.
#[tokio::test]
async fn a_server_that_is_never_content_is_asked_no_more() {
    let world = strict("never").await;
    let client = world.connect().await.unwrap();
    for _ in 0..3 {
        let refused = call(&client, "book").await.unwrap_err();
        assert!(
            matches!(
                refused,
                ClientError::Authorization(AuthorizationError::NotAccepted(_))
            ),
            "{refused:?}"
        );
    }
    // Once for the connection, once for more scopes.
    assert_eq!(world.browser.times(), 2);
}

#[tokio::test]
async fn declined_scopes_may_be_requested_again_later() {
    let world = World::new().await;
    let challenge = world.rules.lock().unwrap().challenge.clone();
    let challenge = challenge + ", scope=\"files:write\", error=\"insufficient_scope\"";
    world.change(|rules| {
        rules.calls = Some(Box::new(move |asked, _| {
            let is_first = asked.header("authorization") == Some("Bearer access-1");
            is_first.then(|| Reply::empty(403).header("WWW-Authenticate", challenge.clone()))
        }));
    });
    let client = world.connect().await.unwrap();
    world.browser.answers(|_| Err(SignInError::host("not now")));
    let refused = call(&client, "book").await.unwrap_err();
    assert!(refused.to_string().contains("not now"), "{refused}");
    world
        .browser
        .answers(|url| Ok(back(url, &[("code", "code-2")])));
    call(&client, "book").await.unwrap();
    assert_eq!(world.browser.times(), 3);
}

#[tokio::test]
async fn a_refusal_that_names_no_scopes_is_told_as_it_is() {
    let challenges = [
        None,
        Some("Bearer"),
        Some("Bearer error=\"insufficient_scope\""),
        Some("Bearer error=\"insufficient_scope\", scope=\"\u{e4}\""),
        Some("Bearer scope=\"a\""),
    ];
    for challenge in challenges {
        let world = World::new().await;
        world.change(|rules| {
            rules.calls = Some(Box::new(move |_, _| {
                let reply = Reply::empty(403);
                Some(match challenge {
                    Some(challenge) => reply.header("WWW-Authenticate", challenge),
                    None => reply,
                })
            }));
        });
        let client = world.connect().await.unwrap();
        let refused = call(&client, "book").await.unwrap_err();
        let is_told = matches!(
            refused,
            ClientError::Http { status: 403, .. } | ClientError::Unauthorized { status: 403, .. }
        );
        assert!(is_told, "{challenge:?}: {refused:?}");
        assert_eq!(world.browser.times(), 1);
    }
}

#[tokio::test]
async fn scopes_of_the_host_are_asked_for_too() {
    let world = World::new().await;
    world.resource(|it| it["scopes_supported"] = json!(["files:read"]));
    let more = Scopes::parse("profile files:read").unwrap();
    let authorization = world.authorization().scopes(more);
    world
        .connect_with(&authorization)
        .await
        .unwrap()
        .close()
        .await;
    let asked = world.browser.asked("scope");
    assert_eq!(asked, [Some("profile files:read".to_owned())]);
}
