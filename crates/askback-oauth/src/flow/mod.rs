//! One authorization, from the server's refusal to a token.
//!
//! Each step takes what the steps before have checked: for example, only
//! [`PendingAuthorization::accept`](crate::PendingAuthorization::accept) returns a code.
//!
//! ```text
//! the server's document → the issuer's document → who the client is
//!     → a person, or an assertion → a token
//! ```

mod discovery;
mod registration;
mod token;

#[cfg(test)]
mod tests;

use std::time::Duration;

use askback_core::{
    auth::{AuthorizationServer, Challenge, Scopes},
    future::BoxFuture,
};
use tokio::time::timeout;
use url::Url;

use super::{
    AuthorizationError, Redirect, SignInError, SignInMethod,
    authorizer::{Authorizer, Waiter},
    identity::RegisteredClient,
    reach::is_loopback,
    records::Grant,
    shown::shown,
    token::Form,
};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Demands {
    pub(super) document: Option<String>,
    pub(super) scopes: Option<Scopes>,
    /// Whether it accepts only tokens that are bound to a key.
    pub(super) bound: bool,
    /// The issuer and the scopes of earlier requests. The next request repeats them.
    pub(super) before: Option<(String, Scopes)>,
}

struct Flow<'a> {
    authorizer: &'a Authorizer,
    wanted: &'a Demands,
    /// The clients that were registered by hand, with the issuers they belong to.
    clients: Vec<RegisteredClient>,
    /// Where the user is redirected to, if one signs in.
    redirect: Option<String>,
}

struct User<'a> {
    redirect: Box<dyn Redirect>,
    patience: Duration,
    waiting: &'a mut Waiter,
}

struct Resource {
    name: String,
    title: Option<String>,
    issuer: String,
    /// The scopes to request. `None` leaves the choice to the issuer.
    scopes: Option<Scopes>,
    /// Whether it has no document, so that it may implement an early revision.
    is_guessed: bool,
    /// Whether it requires tokens that are bound to a key, and whether it supports them.
    wants_bound: bool,
    takes_bound: bool,
}

struct Site {
    resource: Resource,
    issuer: AuthorizationServer,
    token_endpoint: Url,
    /// Whether the issuer was guessed, because neither the server nor a document at its origin
    /// names one. It may not exist.
    is_assumed: bool,
    /// The scopes to request. `None` leaves the choice to the issuer.
    scopes: Option<Scopes>,
    bound: bool,
}

/// Runs an authorization. Returns `None` if it has to start again, because the issuer has forgotten
/// the client. The user's prompt ends if no caller waits any more.
pub(super) async fn authorize(
    authorizer: &Authorizer,
    wanted: &Demands,
    waiting: &mut Waiter,
) -> Result<Option<Grant>, AuthorizationError> {
    let config = &authorizer.config;
    let mut user = match &config.how {
        SignInMethod::Person(sign_in) => Some(User {
            redirect: sign_in.ready().await.map_err(AuthorizationError::SignIn)?,
            patience: config.limits.sign_in.person,
            waiting,
        }),
        _ => None,
    };
    let redirect = user.as_ref().map(|user| user.redirect.uri().to_owned());
    let flow = Flow {
        authorizer,
        wanted,
        clients: authorizer.registered_clients().await?,
        redirect,
    };
    let resource = flow.find_resource().await?;
    let site = flow.find_issuer(resource).await?;
    let client = flow.identify(&site, user.as_mut()).await?;
    let form = match (&config.how, user) {
        (SignInMethod::Person(_), user) => {
            let user = user.ok_or(AuthorizationError::SignIn(SignInError::Abandoned))?;
            flow.consent(&site, &client, user).await?
        }
        (SignInMethod::Company(provider, identity), _) => {
            let identity = token::assertion(&**identity, &provider.issuer).await?;
            let permission = flow.permission(&site, provider, identity).await?;
            token::jwt_bearer(&site, permission)
        }
        (SignInMethod::Vouched(source), _) => {
            let assertion = token::assertion(&**source, &site.issuer.issuer).await?;
            token::jwt_bearer(&site, assertion)
        }
        (SignInMethod::Client, _) => Form::default()
            .with("grant_type", "client_credentials")
            .with_scopes(site.scopes.as_ref()),
    };
    flow.exchange(site, client, form).await
}

impl Flow<'_> {
    fn url(&self, what: &'static str, url: &str) -> Result<Url, AuthorizationError> {
        let read = self.authorizer.fetcher.url(url);
        read.ok_or_else(|| refused_url(what, url))
    }

    /// Checks a URL that the issuer chose. Only an issuer on this machine may name URLs on this
    /// machine, even if the server runs here.
    fn endpoint(
        &self,
        issuer: &str,
        what: &'static str,
        url: &str,
    ) -> Result<Url, AuthorizationError> {
        let endpoint = self.url(what, url)?;
        let is_here = Url::parse(issuer).is_ok_and(|issuer| is_loopback(&issuer));
        if is_here || !is_loopback(&endpoint) {
            return Ok(endpoint);
        }
        Err(refused_url(what, url))
    }
}

impl Site {
    fn not_signed_in(&self, why: SignInError) -> AuthorizationError {
        AuthorizationError::SignIn(match why {
            // A user could not sign in either.
            SignInError::Unattended if self.is_assumed => return discovery::no_issuer(),
            // The texts may quote a web page.
            SignInError::Declined(Some(reason)) => SignInError::Declined(Some(shown(&reason))),
            SignInError::Host(why) => SignInError::Host(shown(&why)),
            why => why,
        })
    }
}

/// Waits for the user, or until no caller waits any more.
async fn ask_user<A>(
    asking: BoxFuture<'_, Result<A, SignInError>>,
    patience: Duration,
    waiting: &mut Waiter,
) -> Result<A, SignInError> {
    tokio::select! {
        answer = timeout(patience, asking) => answer.unwrap_or(Err(SignInError::TimedOut)),
        () = waiting.closed() => Err(SignInError::Abandoned),
    }
}

/// The error for a rejected URL of a server. It is also logged, so that operators see attempts
/// (2026-07-28, security best practices, OAuth URL validation).
fn refused_url(what: &'static str, url: &str) -> AuthorizationError {
    let url = shown(url);
    tracing::warn!(what, %url, "a URL of a server was refused");
    AuthorizationError::Url { what, url }
}

impl Demands {
    /// Reads the requirements from the challenges of a refusal. Ignores challenges that do not
    /// parse.
    pub(super) fn of(challenges: &[Challenge]) -> Self {
        let bearer = challenges.iter().find(|it| it.is(Challenge::BEARER));
        let bound = challenges.iter().find(|it| it.is(Challenge::DPOP));
        let Some(challenge) = bearer.or(bound) else {
            return Self::default();
        };
        Self {
            document: challenge.resource_metadata().map(str::to_owned),
            scopes: challenge.scopes().ok().flatten(),
            bound: bearer.is_none(),
            before: None,
        }
    }
}
