//! The third party: a code for tokens, miles for a token, and tokens that are renewed, copied and revoked.

use lab::{
    airline::{Airline, SCOPE},
    issuers::{Event, Maker, Role},
    loopback::{self, Answer},
};
use serde_json::{Value, json};

use crate::{
    Result, browser,
    by_hand::{ByHand, CHALLENGE},
};

/// A scope that does not include miles.
const SEATS: &str = "seats.read";

async fn start(maker: Maker) -> Result<Option<(ByHand, Airline)>> {
    let role = Role {
        lasting: 120,
        ..Role::third_party(&[SCOPE, SEATS])
    };
    let Some(by_hand) = ByHand::start(maker, role, |client| client).await? else {
        return Ok(None);
    };
    let airline = Airline::start(by_hand.endpoint("introspection")?).await?;
    airline.credit("ada", 12_300);
    Ok(Some((by_hand, airline)))
}

async fn miles(airline: &Airline, tokens: &Value) -> Result<Answer> {
    let token = tokens["access_token"].as_str().unwrap_or_default();
    let bearer = format!("Bearer {token}");
    loopback::get(&airline.miles, &[("Authorization", &bearer)]).await
}

fn token(grant: &str, error: Option<&str>) -> Event {
    Event::Token {
        grant: Some(grant.to_owned()),
        client: Some("kit".to_owned()),
        error: error.map(str::to_owned),
    }
}

/// Tokens are renewed, and each refresh token is used once. A second use means that it was copied, and revokes all its
/// tokens.
async fn renews(maker: Maker) -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some((by_hand, airline)) = start(maker).await? else {
        return Ok(());
    };
    let person = browser.person("ada").await?;
    let first = by_hand.tokens(&person, "ada", SCOPE).await?;
    assert_eq!(first["expires_in"], 120);
    let told = miles(&airline, &first).await?;
    assert_eq!(told.status, 200, "{told:?}");
    assert_eq!(told.json()?, json!({"person": "ada", "miles": 12_300}));

    let second = by_hand.renew(&first).await?.json()?;
    assert_ne!(first["refresh_token"], second["refresh_token"]);
    assert_eq!(miles(&airline, &second).await?.status, 200);
    assert_eq!(by_hand.issuer.renewals().await?, 1);

    let copied = by_hand.renew(&first).await?;
    assert_eq!(
        (copied.status, copied.json()?["error"].as_str()),
        (400, Some("invalid_grant"))
    );
    assert_eq!(miles(&airline, &second).await?.status, 401);
    assert_eq!(by_hand.renew(&second).await?.status, 400);
    assert_eq!(by_hand.issuer.renewals().await?, 1);
    let wanted = [
        token("authorization_code", None),
        token("refresh_token", None),
        Event::FamilyRevoked,
        token("refresh_token", Some("invalid_grant")),
        token("refresh_token", Some("invalid_grant")),
    ];
    assert_eq!(by_hand.issuer.log().await?, wanted);

    // The airline received exactly these tokens.
    let received = airline.received();
    let tokens = received.iter().filter_map(|it| it.get("authorization"));
    let tokens: Vec<_> = tokens.filter_map(|it| it.to_str().ok()).collect();
    let sent = [&first, &second, &second];
    let sent = sent.map(|it| format!("Bearer {}", it["access_token"].as_str().unwrap_or_default()));
    assert_eq!(tokens, sent);
    Ok(())
}

async fn revokes(maker: Maker) -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some((by_hand, airline)) = start(maker).await? else {
        return Ok(());
    };
    let person = browser.person("ada").await?;
    let tokens = by_hand.tokens(&person, "ada", SCOPE).await?;
    assert_eq!(miles(&airline, &tokens).await?.status, 200);
    assert_eq!(by_hand.revoke(&tokens).await?.status, 200);
    let refused = miles(&airline, &tokens).await?;
    assert_eq!(refused.status, 401);
    assert_eq!(
        refused.header("www-authenticate"),
        Some(r#"Bearer error="invalid_token""#)
    );
    let client = Some("kit".to_owned());
    let wanted = [
        token("authorization_code", None),
        Event::FamilyRevoked,
        Event::Revocation {
            client,
            error: None,
        },
    ];
    assert_eq!(by_hand.issuer.log().await?, wanted);
    Ok(())
}

/// A client that omits a required parameter is refused, and so is a client that the user declines.
async fn refuses(maker: Maker) -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some((by_hand, airline)) = start(maker).await? else {
        return Ok(());
    };
    let person = browser.person("ada").await?;
    by_hand.ask(&person, &[("scope", SCOPE)]).await?;
    let page = format!("{} {}", person.url().await?, person.text().await?);
    assert!(page.contains("invalid_request"), "{page}");
    assert!(!page.contains("code="), "{page}");

    by_hand
        .ask(&person, &[&[("scope", SCOPE)], CHALLENGE].concat())
        .await?;
    by_hand.maker.sign_in(&person, "ada").await?;
    by_hand.maker.refuse(&person).await?;
    let back = by_hand.back(&person).await?;
    assert_eq!(back.get("error").map(String::as_str), Some("access_denied"));

    // Refused without a token, and with one for another scope.
    let none = loopback::get(&airline.miles, &[]).await?;
    assert_eq!(
        (none.status, none.header("www-authenticate")),
        (401, Some("Bearer"))
    );
    let grace = browser.person("grace").await?;
    let tokens = by_hand.tokens(&grace, "grace", SEATS).await?;
    assert_eq!(miles(&airline, &tokens).await?.status, 403);

    // A code can be used once.
    let back = by_hand.back(&grace).await?;
    assert_eq!(by_hand.exchange(&back["code"]).await?.status, 400);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_renews_each_token_once() -> Result<()> {
    renews(Maker::OidcProvider).await
}

#[tokio::test(flavor = "multi_thread")]
async fn authlib_renews_each_token_once() -> Result<()> {
    renews(Maker::Authlib).await
}

#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_revokes_tokens() -> Result<()> {
    revokes(Maker::OidcProvider).await
}

#[tokio::test(flavor = "multi_thread")]
async fn authlib_revokes_tokens() -> Result<()> {
    revokes(Maker::Authlib).await
}

#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_refuses() -> Result<()> {
    refuses(Maker::OidcProvider).await
}

#[tokio::test(flavor = "multi_thread")]
async fn authlib_refuses() -> Result<()> {
    refuses(Maker::Authlib).await
}
