//! A response for one set of credentials is not reused for another (2026-07-28,
//! server/utilities/caching, Cache Scope Field).

use serde_json::json;

use super::{Reply, World, call};

#[derive(Debug, Clone, Copy)]
enum Between {
    Renewal,
    /// The server rejects the token, and the user signs in again.
    SignIn,
    /// The user signs in again through another client.
    SignInElsewhere,
    SignOut,
}

/// Checks the tools that a client sees before and after the event, and the number of list requests.
/// Each token has its own tool, and the list may be cached for an hour.
async fn check(scope: &'static str, between: Between, named: [&str; 2], asked: usize) {
    let world = World::new().await;
    world.change(|rules| {
        rules.lists = Some(Box::new(move |asked, _| {
            let token = asked.header("authorization")?.split(' ').next_back()?;
            let result = json!({
                "resultType": "complete",
                "tools": [{"name": token, "inputSchema": {"type": "object"}}],
                "ttlMs": 3_600_000,
                "cacheScope": scope,
            });
            Some(Reply::json(200, asked.response(result)))
        }));
    });
    let authorization = world.authorization();
    let client = world.connect_with(&authorization).await.unwrap();
    let listed = async || client.tools().await.unwrap()[0].name.clone();
    let count = || {
        let asked = world.server.whats();
        asked.iter().filter(|what| *what == "tools/list").count()
    };
    assert_eq!([listed().await, listed().await], [named[0], named[0]]);
    assert_eq!(count(), 1, "{scope} {between:?}: it was not kept");

    let refuse = || world.change(|rules| rules.good = None);
    let forget = || world.change(|rules| rules.refresh = None);
    match between {
        Between::Renewal => {
            refuse();
            call(&client, "book").await.unwrap();
        }
        Between::SignIn => {
            refuse();
            forget();
            call(&client, "book").await.unwrap();
        }
        Between::SignInElsewhere => {
            let other = world.connect_with(&authorization).await.unwrap();
            refuse();
            forget();
            call(&other, "book").await.unwrap();
        }
        Between::SignOut => {
            authorization.sign_out(&world.server.url).await.unwrap();
        }
    }
    assert_eq!(listed().await, named[1], "{scope} {between:?}");
    assert_eq!(count(), asked, "{scope} {between:?}");
}

// Shows CC-17.
#[tokio::test]
async fn a_private_list_is_kept_for_the_credentials_it_was_asked_with() {
    let other = ["access-1", "access-2"];
    let same = ["access-1", "access-1"];
    check("private", Between::Renewal, same, 1).await;
    check("public", Between::SignIn, same, 1).await;
    check("private", Between::SignIn, other, 2).await;
    check("private", Between::SignInElsewhere, other, 2).await;
    // The first attempt is refused because it has no token.
    check("private", Between::SignOut, other, 3).await;
}
