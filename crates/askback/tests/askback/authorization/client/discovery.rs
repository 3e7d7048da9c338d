//! Discovery of the issuer.

use serde_json::{Value, json};

use super::{AuthorizationError, World};

fn well_known(paths: &[String]) -> Vec<&str> {
    let known = paths.iter().filter(|path| path.contains("/.well-known/"));
    known.map(String::as_str).collect()
}

// Shows AD-05, AD-06, AZ-06, AZ-10.
#[tokio::test]
async fn the_servers_document_is_looked_for_where_it_should_be() {
    // If the server names its document's URL, the client looks only there.
    let world = World::new().await;
    let base = world.base();
    world.change(|rules| {
        rules.challenge = format!("Bearer resource_metadata=\"{base}/somewhere/else.json\"");
        rules.documents[0].0 = "/somewhere/else.json".to_owned();
    });
    world.connect().await.unwrap().close().await;
    assert!(world.paths().contains(&"/somewhere/else.json".to_owned()));
    assert_eq!(
        well_known(&world.paths()),
        ["/.well-known/oauth-authorization-server"]
    );

    // If the challenge names no document, it is looked for at the server's path, then at the root.
    let world = World::new().await;
    world.change(|rules| {
        rules.challenge = "Bearer".to_owned();
        rules.documents[0].0 = "/.well-known/oauth-protected-resource".to_owned();
        rules.documents[0].2["resource"] = json!(base_of(&rules.documents[0].2["resource"]));
    });
    world.connect().await.unwrap().close().await;
    assert_eq!(
        well_known(&world.paths()),
        [
            "/.well-known/oauth-protected-resource/mcp",
            "/.well-known/oauth-protected-resource",
            "/.well-known/oauth-authorization-server",
        ]
    );
    // The token request names the resource as the document does.
    assert_eq!(world.browser.asked("resource"), [Some(world.base())]);
}

fn base_of(resource: &Value) -> String {
    resource
        .as_str()
        .unwrap()
        .trim_end_matches("/mcp")
        .to_owned()
}

// Shows AD-07, AD-08, AD-09, AD-10, AD-11, AD-12, AZ-09, AZ-10, AZ25-14.
#[tokio::test]
async fn the_issuers_document_is_looked_for_in_order() {
    let oauth = "/.well-known/oauth-authorization-server";
    let openid = "/.well-known/openid-configuration";
    let cases: [(&str, Vec<String>); 2] = [
        ("", vec![oauth.to_owned(), openid.to_owned()]),
        (
            "/tenant1",
            vec![
                format!("{oauth}/tenant1"),
                format!("{openid}/tenant1"),
                format!("/tenant1{openid}"),
            ],
        ),
    ];
    for (path, places) in cases {
        for (at, place) in places.iter().enumerate() {
            let world = World::new().await;
            let issuer = format!("{}{path}", world.base());
            world.resource(|it| it["authorization_servers"] = json!([issuer]));
            world.issuer(|it| it["issuer"] = json!(issuer));
            world.change(|rules| rules.documents[1].0 = place.clone());
            world.connect().await.unwrap().close().await;
            let paths = world.paths();
            assert_eq!(well_known(&paths)[1..], places[..=at]);
        }
    }
}

// Shows AZ25-20, AZ25-23, AZ25-24, AZ25-25, AZ25-26.
#[tokio::test]
async fn the_earliest_servers_are_their_own_issuers() {
    // With issuer metadata at the root. Its endpoints take precedence over the default paths.
    let world = World::new().await;
    let named = format!("{}/named", world.base());
    world.issuer(|it| it["authorization_endpoint"] = json!(named));
    world.change(|rules| {
        rules.challenge = "Bearer".to_owned();
        rules.documents.remove(0);
    });
    world.connect().await.unwrap().close().await;
    assert_eq!(
        world.browser.asked("resource"),
        [Some(world.server.url.clone())]
    );
    let opened = world.browser.asked.lock().unwrap()[0].clone();
    assert!(
        opened.as_str().starts_with(&format!("{named}?")),
        "{opened}"
    );

    // Without metadata, at the default paths.
    let world = World::new().await;
    world.change(|rules| {
        rules.challenge = "Bearer".to_owned();
        rules.documents.clear();
    });
    world.connect().await.unwrap().close().await;
    let opened = world.browser.asked.lock().unwrap()[0].clone();
    assert!(
        opened
            .as_str()
            .starts_with(&format!("{}/authorize?", world.base()))
    );
    assert_eq!(world.posted("/register").len(), 1);
    assert_eq!(world.posted("/token").len(), 1);
}

#[tokio::test]
async fn a_document_that_is_not_fit_is_not_used() {
    type Change = fn(&World);
    type Expected = fn(&AuthorizationError) -> bool;
    let cases: [(Change, Expected); 10] = [
        // Another server's document.
        (
            |world| world.resource(|it| it["resource"] = json!("https://evil.example.com/mcp")),
            |error| matches!(error, AuthorizationError::OtherResource { .. }),
        ),
        // A document of the same host, but for another path.
        (
            |world| {
                let base = world.base();
                world.resource(|it| it["resource"] = json!(base));
            },
            |error| matches!(error, AuthorizationError::OtherResource { .. }),
        ),
        (
            |world| {
                let other = format!("{}/mcp/other", world.base());
                world.resource(|it| it["resource"] = json!(other));
            },
            |error| matches!(error, AuthorizationError::OtherResource { .. }),
        ),
        (
            |world| world.resource(|it| it["authorization_servers"] = json!([])),
            |error| matches!(error, AuthorizationError::Document { .. }),
        ),
        (
            |world| world.resource(|it| it["resource"] = json!(7)),
            |error| matches!(error, AuthorizationError::Document { .. }),
        ),
        // Another issuer's document. A trailing slash makes another issuer.
        (
            |world| world.issuer(|it| it["issuer"] = json!("https://honest.example")),
            |error| matches!(error, AuthorizationError::OtherIssuer { .. }),
        ),
        (
            |world| {
                let slashed = format!("{}/", world.base());
                world.issuer(|it| it["issuer"] = json!(slashed));
            },
            |error| matches!(error, AuthorizationError::OtherIssuer { .. }),
        ),
        // A server that fails is not a server without a document.
        (
            |world| world.change(|rules| rules.documents[0].1 = 503),
            |error| matches!(error, AuthorizationError::Fetch { .. }),
        ),
        (
            |world| world.change(|rules| drop(rules.documents.remove(0))),
            |error| matches!(error, AuthorizationError::Fetch { .. }),
        ),
        (
            |world| world.change(|rules| drop(rules.documents.remove(1))),
            |error| matches!(error, AuthorizationError::Fetch { .. }),
        ),
    ];
    for (place, (change, expected)) in cases.into_iter().enumerate() {
        let world = World::new().await;
        change(&world);
        let error = world.refused().await;
        assert!(expected(&error), "{place}: {error:?}");
        assert_eq!(world.browser.times(), 0, "{place}");
        assert!(world.posted("/register").is_empty(), "{place}");
    }
}

// Shows AD-13, AD-14, AD-15, AZ25-16.
#[tokio::test]
async fn metadata_of_another_issuer_is_refused() {
    let world = World::new().await;
    world.issuer(|it| it["issuer"] = json!("https://honest.example"));
    let expected = AuthorizationError::OtherIssuer {
        wanted: world.base(),
        found: "https://honest.example".to_owned(),
    };
    assert_eq!(world.refused().await, expected);
    assert_eq!(world.browser.times(), 0);
}

// Shows AS-13, AS-14.
#[tokio::test]
async fn no_code_is_asked_of_an_issuer_without_s256() {
    for methods in [json!(null), json!([]), json!(["plain"])] {
        let world = World::new().await;
        world.issuer(|it| it["code_challenge_methods_supported"] = methods);
        let error = world.refused().await;
        assert!(
            matches!(error, AuthorizationError::Unsupported { .. }),
            "{error:?}"
        );
        assert_eq!(world.browser.times(), 0);
    }
}

// Shows AZ-13, AZ-14, AZ-17, AZ-18, AZ-19, AZ25-01, AZ25-02.
#[tokio::test]
async fn scopes_are_chosen_as_the_server_says() {
    let cases = [
        (None, json!(null), None),
        (None, json!(["a", "b"]), Some("a b")),
        (Some("c"), json!(["a", "b"]), Some("c")),
        (Some("c a"), json!(null), Some("c a")),
        (Some(""), json!(["a"]), None),
    ];
    for (challenged, listed, expected) in cases {
        let world = World::new().await;
        if let Some(scopes) = challenged {
            world.change(|rules| rules.challenge += &format!(", scope=\"{scopes}\""));
        }
        world.resource(|it| it["scopes_supported"] = listed);
        world.connect().await.unwrap().close().await;
        assert_eq!(world.browser.asked("scope"), [expected.map(str::to_owned)]);
    }
}

// Shows AZ-47.
#[tokio::test]
async fn a_refresh_token_is_asked_for_where_it_can_be_had() {
    let cases = [
        (json!(["a", "offline_access"]), Some("a offline_access")),
        (json!(["a"]), Some("a")),
        (json!(null), Some("a")),
    ];
    for (listed, expected) in cases {
        let world = World::new().await;
        world.resource(|it| it["scopes_supported"] = json!(["a"]));
        world.issuer(|it| it["scopes_supported"] = listed);
        world.connect().await.unwrap().close().await;
        assert_eq!(world.browser.asked("scope"), [expected.map(str::to_owned)]);
        let registered = world.server.asked();
        let registered = registered.iter().find(|it| it.path == "/register").unwrap();
        let grants = registered.body["grant_types"].as_array().unwrap();
        assert!(grants.contains(&json!("refresh_token")));
    }
}
