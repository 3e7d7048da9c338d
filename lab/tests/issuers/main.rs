//! askback's client and server with third-party authorization servers: oidc-provider from npm, and one made with
//! Authlib from PyPI. Both are installed into the user's cache; without npm or Python, their tests are skipped with a
//! note.
//!
//! There is no user: a minimal browser fills in the pages.

mod pages;
mod person;
mod stage;

use std::{error::Error, time::Duration};

use askback::authorization::{
    Secret,
    client::{RegisteredClient, SignOut},
};
use lab::issuers::install;

use self::stage::{BY_HAND, Plan, Stage, User, call};

/// The error if a test cannot run.
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// Tokens that outlast a test.
const LONG: Plan = Plan {
    seconds: 600,
    bound: false,
};

/// Tokens that expire so soon that each request renews them.
const SHORT: Plan = Plan {
    seconds: 5,
    bound: false,
};

async fn oidc_provider(plan: Plan) -> Result<Option<Stage>> {
    Stage::set("oidc-provider", install::oidc_provider(), plan).await
}

async fn authlib(plan: Plan) -> Result<Option<Stage>> {
    Stage::set("Authlib", install::authlib(), plan).await
}

/// Returns a client that is preregistered at oidc-provider, with pairwise subjects.
fn by_hand() -> RegisteredClient {
    let secret = Secret::new(BY_HAND);
    RegisteredClient::new("by-hand").with_secret(secret)
}

/// A user signs in once, and every tool gets this user as the caller.
async fn signs_in(stage: Option<Stage>) -> Result<()> {
    let Some(stage) = stage else { return Ok(()) };
    let user = stage.user("alice");
    let client = user.connect().await?;
    let who = call(&client, "whoami").await?;
    assert_eq!(who.issuer, stage.issuer.name);
    assert_eq!(who.subject, "alice");
    assert!(!who.client.is_empty());
    let asked = user.person.asked();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert!(
        asked[0].split(' ').any(|scope| scope == "trips:read"),
        "{asked:?}"
    );
    assert!(!asked[0].contains("trips:write"), "{asked:?}");
    // Another program of the same user finds the stored tokens.
    client.close().await;
    assert_eq!(call(&user.connect().await?, "whoami").await?, who);
    assert_eq!(user.person.asked().len(), 1);
    // Another user has another subject.
    let other = call(&stage.user("bob").connect().await?, "whoami").await?;
    assert_eq!(other.subject, "bob");
    Ok(())
}

/// Tokens are renewed without the user, and each refresh token is used once.
async fn refreshes(stage: Option<Stage>) -> Result<()> {
    let Some(stage) = stage else { return Ok(()) };
    let user = stage.user("alice");
    let client = user.connect().await?;
    let mut seen: Vec<Secret> = Vec::new();
    let mut moments = tokio::time::interval(Duration::from_millis(200));
    for _ in 0..150 {
        moments.tick().await;
        assert_eq!(call(&client, "whoami").await?.subject, "alice");
        let tokens = user.store.tokens().ok_or("nothing is kept")?;
        if seen.last() != Some(&tokens) {
            assert!(!seen.contains(&tokens), "the tokens are some of before");
            seen.push(tokens);
        }
        if seen.len() == 3 {
            break;
        }
    }
    assert_eq!(seen.len(), 3, "the tokens are never renewed");
    assert_eq!(user.person.asked().len(), 1);
    // A used refresh token is invalid.
    is_worth_nothing(&stage, &user, &seen[0]).await
}

/// After the access token has expired, the user is asked again, because these tokens cannot be renewed.
async fn is_worth_nothing(stage: &Stage, user: &User, tokens: &Secret) -> Result<()> {
    let before = user.person.asked().len();
    let mut moments = tokio::time::interval(Duration::from_millis(200));
    for _ in 0..150 {
        moments.tick().await;
        user.store.put_back(&stage.url, tokens).await?;
        let who = call(&user.connect().await?, "whoami").await?;
        assert_eq!(who.subject, "alice");
        if user.person.asked().len() > before {
            return Ok(());
        }
    }
    Err("the tokens are still good".into())
}

/// A tool that needs more scopes causes one request, which includes the granted ones.
async fn steps_up(stage: Option<Stage>) -> Result<()> {
    let Some(stage) = stage else { return Ok(()) };
    let user = stage.user("alice");
    let client = user.connect().await?;
    let who = call(&client, "whoami").await?;
    // The client may have to register again, because some issuers only grant registered scopes.
    let more = call(&client, "book").await?;
    assert_eq!((&more.issuer, &more.subject), (&who.issuer, &who.subject));
    let asked = user.person.asked();
    assert_eq!(asked.len(), 2, "{asked:?}");
    for scope in ["trips:read", "trips:write"] {
        assert!(
            asked[1].split(' ').any(|it| it == scope),
            "{scope} in {asked:?}"
        );
    }
    for tool in ["whoami", "book"] {
        assert_eq!(call(&client, tool).await?, more);
    }
    assert_eq!(user.person.asked().len(), 2);
    Ok(())
}

/// After a sign-out, tokens are invalid, even copies of them.
async fn signs_out(stage: Option<Stage>) -> Result<()> {
    let Some(stage) = stage else { return Ok(()) };
    let user = stage.user("alice");
    let client = user.connect().await?;
    call(&client, "whoami").await?;
    client.close().await;
    let copied = user.store.tokens().ok_or("nothing is kept")?;
    assert_eq!(user.sign_out().await?, SignOut::Revoked);
    assert_eq!(user.sign_out().await?, SignOut::WasNot);
    is_worth_nothing(&stage, &user, &copied).await
}

// Shows AZ-01, AZ-06, AZ-27, AZ-28, AZ-39, AZ-40, AD-05.
#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_signs_a_person_in() -> Result<()> {
    signs_in(oidc_provider(LONG).await?).await
}

// Shows AS-07.
#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_renews_tokens() -> Result<()> {
    refreshes(oidc_provider(SHORT).await?).await
}

// Shows AZ-15, AZ-56, AZ-57, BP-77.
#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_grants_more() -> Result<()> {
    steps_up(oidc_provider(LONG).await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_takes_tokens_back() -> Result<()> {
    signs_out(oidc_provider(SHORT).await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_binds_tokens_to_keys() -> Result<()> {
    for seconds in [LONG.seconds, SHORT.seconds] {
        let plan = Plan {
            seconds,
            bound: true,
        };
        let Some(stage) = oidc_provider(plan).await? else {
            return Ok(());
        };
        let user = stage.user("alice");
        let client = user.connect().await?;
        for tool in ["whoami", "whoami", "book"] {
            assert_eq!(call(&client, tool).await?.subject, "alice");
        }
        assert_eq!(user.person.asked().len(), 2);
        client.close().await;
        // The key is stored with the tokens.
        assert_eq!(call(&user.connect().await?, "book").await?.subject, "alice");
        assert_eq!(user.person.asked().len(), 2);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_binds_tokens_if_a_client_asks_for_it() -> Result<()> {
    let Some(stage) = oidc_provider(LONG).await? else {
        return Ok(());
    };
    let user = stage.user("alice").with_bound_tokens();
    let client = user.connect().await?;
    assert_eq!(call(&client, "whoami").await?.subject, "alice");
    let kept = user.store.tokens().ok_or("nothing is kept")?;
    assert!(kept.expose().contains("\"key\""), "the tokens have no key");
    Ok(())
}

/// With pairwise subjects, the same user has another name for each client.
// Shows AR-01, AR-18, AZ25-03.
#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_knows_a_person_by_several_names() -> Result<()> {
    let Some(stage) = oidc_provider(LONG).await? else {
        return Ok(());
    };
    let client = by_hand();
    let mut subjects = Vec::new();
    for login in ["alice", "alice", "bob"] {
        let user = stage.user(login).with_client(client.clone());
        let who = call(&user.connect().await?, "whoami").await?;
        assert_eq!(who.client, "by-hand");
        subjects.push(who.subject);
    }
    assert_eq!(subjects[0], subjects[1]);
    assert_ne!(subjects[0], subjects[2]);
    let public = call(&stage.user("alice").connect().await?, "whoami").await?;
    assert_eq!(public.subject, "alice");
    assert_ne!(public.subject, subjects[0]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_signs_a_person_in_at_pages() -> Result<()> {
    pages::signs_in(oidc_provider(LONG).await?, by_hand()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn oidc_provider_has_accounts_that_are_connected() -> Result<()> {
    pages::connects(oidc_provider(LONG).await?, by_hand()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn authlib_signs_a_person_in() -> Result<()> {
    signs_in(authlib(LONG).await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn authlib_renews_tokens() -> Result<()> {
    refreshes(authlib(SHORT).await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn authlib_grants_more() -> Result<()> {
    steps_up(authlib(LONG).await?).await
}

#[tokio::test(flavor = "multi_thread")]
async fn authlib_takes_tokens_back() -> Result<()> {
    signs_out(authlib(SHORT).await?).await
}
