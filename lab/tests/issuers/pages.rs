//! The pages next to a server, where a user signs in and connects an account.

use askback_connect::{
    providers::{AccountSource, Providers, ThirdParty},
    sign_in::WebSignIn,
    vault::{Grant, Holder, RenewalError, Renewer as _, Revoker as _, TokenKind},
};
use askback_core::{auth::Scopes, limits::Limits};
use askback_oauth::{Fetcher, Reach, RegisteredClient, Route, Secret};

use crate::{
    Result,
    person::{ENDS_AT, browse},
    stage::{Stage, call},
};

fn fetcher() -> Result<Fetcher> {
    let fetcher = Fetcher::new(Reach::anywhere(), &Route::Direct, &Limits::default());
    Ok(fetcher?)
}

fn tokens(granted: &Grant) -> Result<(&Secret, &Secret)> {
    let refresh = granted.refresh.as_ref();
    Ok((&granted.secret, refresh.ok_or("there is no refresh token")?))
}

/// A user who signs in at the pages is the one whom access tokens of the same client name.
pub(crate) async fn signs_in(stage: Option<Stage>, client: RegisteredClient) -> Result<()> {
    let Some(stage) = stage else { return Ok(()) };
    let fetcher = fetcher()?;
    let sign_in = WebSignIn::discover(&fetcher, &stage.issuer.name, client.clone()).await?;
    for login in ["alice", "bob"] {
        let (url, pending) = sign_in.begin(ENDS_AT)?;
        let redirected = browse(url.as_str(), login).await?;
        let person = sign_in.finish(&fetcher, pending, &redirected).await?;
        let user = stage.user(login).with_client(client.clone());
        let who = call(&user.connect().await?, "whoami").await?;
        assert_eq!(person.principal.issuer.as_deref(), Some(&*who.issuer));
        assert_eq!(person.principal.subject, who.subject);
        // A client with another sector gets another name for the same user.
        let public = call(&stage.user(login).connect().await?, "whoami").await?;
        assert_ne!(person.principal.subject, public.subject);
    }
    // A response only signs in the user for whom it was requested.
    let (url, _) = sign_in.begin(ENDS_AT)?;
    let (_, other) = sign_in.begin(ENDS_AT)?;
    let redirected = browse(url.as_str(), "alice").await?;
    let came = sign_in.finish(&fetcher, other, &redirected).await;
    assert!(came.is_err(), "{came:?}");
    Ok(())
}

/// An account is connected, its tokens are renewed with each refresh token used once, and then revoked.
pub(crate) async fn connects(stage: Option<Stage>, client: RegisteredClient) -> Result<()> {
    let Some(stage) = stage else { return Ok(()) };
    let fetcher = fetcher()?;
    let party = ThirdParty::discover(&fetcher, "other", &stage.issuer.name, client).await?;
    let party = party
        .scopes(Scopes::of(["openid"])?)
        .account(AccountSource::claim("sub"));
    let providers = Providers::new(fetcher.clone()).with(party.clone())?;
    let mut accounts = Vec::new();
    for login in ["alice", "alice", "bob"] {
        let (url, pending) = party.begin(&Scopes::new(), ENDS_AT)?;
        let redirected = browse(url.as_str(), login).await?;
        let connected = party.finish(&fetcher, pending, &redirected).await?;
        assert_eq!(connected.granted.scopes, Some(Scopes::of(["openid"])?));
        assert!(connected.granted.expires.is_some());
        accounts.push(connected);
    }
    assert_eq!(accounts[0].account, accounts[1].account);
    assert_ne!(accounts[0].account, accounts[2].account);

    let holder = Holder {
        tenant: None,
        issuer: None,
        subject: "alice".to_owned(),
    };
    let account = holder.account("other", &*accounts[0].account);
    let (access, first) = tokens(&accounts[0].granted)?;
    let renewed = providers.renew(&account, first).await;
    let renewed = renewed.map_err(|error| format!("it is not renewed: {error:?}"))?;
    let (other_access, second) = tokens(&renewed)?;
    assert!(first != second && access != other_access);
    // Each token is revoked, and revoking it again is not an error.
    for _ in 0..2 {
        let revoked = providers.revoke(&account, second, TokenKind::Refresh).await;
        assert!(revoked.is_ok(), "{revoked:?}");
    }
    for token in [first, second] {
        let renewed = providers.renew(&account, token).await;
        assert_eq!(renewed.err(), Some(RenewalError::Refused));
    }
    Ok(())
}
