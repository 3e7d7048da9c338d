//! The whole flow: a tool needs an account, its user connects it in a browser, and no secret leaks on the way.

use std::sync::Arc;

use askback::Revision::{self, V2025_11_25, V2026_07_28};
use askback_connect::vault::AuditEvent;
use lab::issuers::Maker;
use serde_json::{Value, json};

use crate::{
    Result, browser,
    canary::{Canary, Log},
    scene::{BREAKS, MILES, Plan, Scene, held},
};

/// Calls a tool as Ada, who gets a link, signs in, agrees, and consents at the airline. Then all places are searched
/// for secrets that do not belong there.
///
/// The makers are for the sign-in issuer and the airline's server.
async fn check(
    name: &'static str,
    [signs_in, maker]: [Maker; 2],
    revision: Revision,
    by_error: bool,
) -> Result<()> {
    let log = Log::begin();
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let plan = Plan {
        signs_in,
        by_error,
        ..Plan::new(name, maker)
    };
    let Some(scene) = Scene::set(plan).await? else {
        return Ok(());
    };
    scene.airline.credit("ada", MILES);
    let mut call = scene
        .call(browser, "ada", revision, by_error, "my_miles")
        .await?;
    let link = call.link().await?;
    assert!(link.starts_with(&format!("{}/c/", scene.pages)), "{link}");
    let ada = browser.person("ada").await?;
    scene.connect(&ada, &link, "ada").await?;
    let (wire, inbound) = (Arc::clone(&call.wire), call.token.clone());
    let completed = call.completed.clone();
    let said: Value = call.json().await?;
    assert_eq!(said, json!({"person": "ada", "miles": MILES}));
    assert_eq!(scene.accounts("ada").await?, ["ada"]);
    let told = completed
        .borrow()
        .iter()
        .filter(|id| link.ends_with(*id))
        .count();
    assert_eq!(told, usize::from(revision == V2025_11_25));
    let events = scene.events("ada").await?;
    let path = [
        AuditEvent::Asked,
        AuditEvent::Consented,
        AuditEvent::Answered,
        AuditEvent::Granted,
        AuditEvent::Connected,
        AuditEvent::Used,
    ];
    let mut left = events.iter();
    assert!(
        path.iter().all(|it| left.any(|event| event == it)),
        "{events:?}"
    );

    // The next call already has the account.
    let again = scene
        .call(browser, "ada", revision, by_error, "my_miles")
        .await?;
    let again: Value = again.json().await?;
    assert_eq!(again, said);

    // A handler that panics while it holds the account.
    let broken = scene
        .call(browser, "ada", revision, by_error, "breaks")
        .await?;
    let to_broken = Arc::clone(&broken.wire);
    assert!(broken.said.await?.is_err());

    let mut canary = Canary::of(&scene).await?;
    let own = ["access_token", "code", "code_verifier"];
    canary.add_issued(&scene.issuer, "editor", &own).await?;
    assert!(canary.knows(&inbound));
    canary.hold_none("the client", &held(&wire), &link);
    canary.hold_none(
        "the client of what breaks",
        &held(&to_broken),
        "the server failed",
    );
    let logged = log.bytes();
    canary.hold_none("the log", &logged, "TRACE");
    canary.hold_none("panics", &logged, BREAKS);
    canary.hold_none("what is printed", scene.had.printed().as_bytes(), "airline");
    canary.hold_none_below(&scene.directory, "SQLite format")?;
    canary.hold_none_in(&ada, &scene.pages).await?;

    // The airline only received its own tokens.
    let (received, tokens) = (scene.airline.received(), scene.had.tokens());
    assert!(received.len() >= 3);
    for headers in received {
        let shown = headers.get("authorization").and_then(|it| it.to_str().ok());
        let shown = shown.and_then(|it| it.strip_prefix("Bearer "));
        assert!(tokens.iter().any(|token| Some(token.expose()) == shown));
        assert!(!format!("{headers:?}").contains(&inbound));
    }
    assert_eq!(ada.violations().await?, []);
    Ok(())
}

macro_rules! flows {
    ($($name:ident: $signs_in:ident, $maker:ident, $revision:ident, $by_error:literal;)*) => {
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() -> Result<()> {
                let makers = [Maker::$signs_in, Maker::$maker];
                check(stringify!($name), makers, $revision, $by_error).await
            }
        )*
    };
}

flows! {
    oidc_provider_by_question: OidcProvider, OidcProvider, V2025_11_25, false;
    oidc_provider_by_error: OidcProvider, OidcProvider, V2025_11_25, true;
    oidc_provider_in_rounds: OidcProvider, OidcProvider, V2026_07_28, false;
    authlib_by_question: OidcProvider, Authlib, V2025_11_25, false;
    authlib_by_error: OidcProvider, Authlib, V2025_11_25, true;
    authlib_in_rounds: OidcProvider, Authlib, V2026_07_28, false;
    authlib_signs_in_by_question: Authlib, OidcProvider, V2025_11_25, false;
    authlib_signs_in_in_rounds: Authlib, Authlib, V2026_07_28, false;
}
