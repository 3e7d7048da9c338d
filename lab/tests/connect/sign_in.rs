//! The authorization server for our server's tokens, used for sign-ins on the pages.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use lab::issuers::{Maker, Registered, Role};
use serde_json::Value;

use crate::{
    Result, browser,
    by_hand::{ByHand, CHALLENGE},
};

const RESOURCE: &str = "http://127.0.0.1:9/mcp";

/// Returns the claims of an ID token or a signed access token, without checking the signature.
fn claims(token: &Value) -> Result<Value> {
    let token = token.as_str().ok_or("there is no token")?;
    let said = token.split('.').nth(1).ok_or("the token is not signed")?;
    Ok(serde_json::from_slice(&URL_SAFE_NO_PAD.decode(said)?)?)
}

async fn protecting(change: fn(Registered) -> Registered) -> Result<Option<ByHand>> {
    let role = Role::protecting(RESOURCE, &["trips:read"]);
    ByHand::start(Maker::OidcProvider, role, change).await
}

#[tokio::test(flavor = "multi_thread")]
async fn persons_sign_in_on_pages() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some(by_hand) = protecting(|client| client).await? else {
        return Ok(());
    };
    for login in ["ada", "grace"] {
        let person = browser.person(login).await?;
        let tokens = by_hand.tokens(&person, login, "openid").await?;
        assert_eq!(claims(&tokens["id_token"])?["sub"], login);
        // The session is reused, and its age is in the token because of `max_age`.
        let wanted = [&[("scope", "openid"), ("max_age", "600")], CHALLENGE].concat();
        by_hand.ask(&person, &wanted).await?;
        let back = by_hand.back(&person).await?;
        let again = by_hand.exchange(&back["code"]).await?.json()?;
        let again = claims(&again["id_token"])?;
        assert_eq!(again["sub"], login);
        assert!(again["auth_time"].is_u64(), "{again}");
        // With `prompt=login` the user is asked again.
        let wanted = [&[("scope", "openid"), ("prompt", "login")], CHALLENGE].concat();
        by_hand.ask(&person, &wanted).await?;
        assert_eq!(person.title().await?, "Sign-in");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_may_have_another_name_for_each_client() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some(by_hand) = protecting(Registered::pairwise).await? else {
        return Ok(());
    };
    let mut names = Vec::new();
    for login in ["ada", "ada", "grace"] {
        let person = browser.person(login).await?;
        let tokens = by_hand.tokens(&person, login, "openid").await?;
        names.push(claims(&tokens["id_token"])?["sub"].clone());
    }
    assert_eq!(names[0], names[1]);
    assert_ne!(names[0], names[2]);
    assert_ne!(names[0], "ada");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_for_the_resource() -> Result<()> {
    let Some(browser) = browser().await? else {
        return Ok(());
    };
    let Some(by_hand) = protecting(|client| client).await? else {
        return Ok(());
    };
    let person = browser.person("ada").await?;
    let wanted = [("scope", "openid trips:read"), ("resource", RESOURCE)];
    by_hand.ask(&person, &[&wanted, CHALLENGE].concat()).await?;
    by_hand.maker.sign_in(&person, "ada").await?;
    by_hand.maker.agree(&person).await?;
    let back = by_hand.back(&person).await?;
    let tokens = by_hand.exchange(&back["code"]).await?.json()?;
    let access = claims(&tokens["access_token"])?;
    assert_eq!(access["aud"], RESOURCE);
    assert_eq!(access["scope"], "trips:read");
    assert_eq!(access["iss"].as_str(), Some(by_hand.issuer.name.as_str()));
    Ok(())
}
