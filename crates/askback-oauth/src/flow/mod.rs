//! One authorization, from the server's refusal to a token, as a machine without I/O.
//!
//! [`Flow::next`] takes what happened and says what to do. Each state holds only what may be used
//! in it: no code is exchanged before its answer was checked, since only that state has one.
//!
//! ```text
//! the server's document → the issuer's document → who the client is
//!     → a person, or an assertion → a token
//! ```

mod consent;
mod discovery;
mod registration;
mod token;

#[cfg(test)]
mod tests;

use askback_core::auth::{AuthorizationServer, Challenge, Scopes};
use serde_json::Value;
use url::Url;

use self::discovery::Places;
use super::{
    AuthorizationError, SignInError, SignInRequest,
    assertion::IdentityProvider,
    code::{PendingAuthorization, Random},
    fetch::{Answer, FetchError},
    identity::{Client, Introduction, RegisteredClient},
    reach::{Reach, is_loopback},
    records::{Grant, Registration},
    token::TokenRequest,
};
use crate::Secret;

/// The input of an authorization.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) server: Url,
    pub(super) reach: Reach,
    pub(super) wanted: Demands,
    pub(super) way: Way,
    pub(super) clients: Vec<RegisteredClient>,
    /// The URL of the document that describes this client.
    pub(super) document: Option<String>,
    pub(super) introduction: Introduction,
    /// The scopes the host wants in any case.
    pub(super) scopes: Scopes,
    /// Whether a refresh token is wanted.
    pub(super) offline: bool,
    /// Whether tokens are to be bound to a key wherever that can be.
    pub(super) bound: bool,
    pub(super) random: Random,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Demands {
    /// Where it describes itself.
    pub(super) document: Option<String>,
    pub(super) scopes: Option<Scopes>,
    /// Whether it takes only tokens that are bound to a key.
    pub(super) bound: bool,
    /// The scopes that were requested of this issuer before; the next request repeats them.
    pub(super) before: Option<(String, Scopes)>,
}

/// How a token is obtained.
#[derive(Debug, Clone)]
pub(super) enum Way {
    /// A person signs in, and comes back to this URI.
    Person {
        redirect: String,
    },
    Client,
    Company(IdentityProvider),
    Vouched,
}

#[derive(Debug)]
pub(super) enum Action {
    Fetch(Fetch),
    /// Look up who the client is to this issuer.
    Recall(String),
    /// Make the client known, once the person agrees where there is one.
    Register {
        issuer: String,
        endpoint: Url,
        request: Value,
    },
    /// Ask the person for the client they registered with this issuer.
    AskClient(String),
    Keep(Registration),
    /// The issuer no longer knows what was kept.
    Forget(String),
    /// Begin anew: what is to come needs another sign-in.
    Again,
    /// Ask the person.
    Show(SignInRequest),
    Assert(String),
    Ask(TokenRequest),
    Done(Box<Grant>),
    Failed(AuthorizationError),
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fetch {
    pub(super) what: &'static str,
    pub(super) url: Url,
    /// Whether it may come from the origin of that URL alone, since where it stands says whose it
    /// is.
    pub(super) near: bool,
}

/// The result of an action.
#[derive(Debug)]
pub(super) enum Event {
    Start,
    Answer(Result<Answer, FetchError>),
    Recalled(Option<Registration>),
    /// The client that the person registered, if there is one.
    Named(Option<RegisteredClient>),
    /// The record was stored or removed.
    Noted,
    Redirected(Result<String, SignInError>),
    Asserted(Result<Secret, String>),
}

/// An authorization under way.
#[derive(Debug)]
pub(super) struct Flow {
    plan: Plan,
    state: State,
}

#[derive(Debug)]
enum State {
    Start,
    /// Waits for the server's document.
    Resource(Places),
    /// Waits for the issuer's document.
    Issuer(Resource, Places),
    /// Waits for what is known of the client.
    Recalling(Site),
    Registering(Site),
    /// Waits for the client that the person registered.
    Naming(Site),
    /// Waits until a registration is kept.
    Keeping(Site, Client),
    /// Waits until one is forgotten.
    Forgetting,
    /// Waits for the person.
    Asking(Site, Client, PendingAuthorization),
    /// Waits for the identity a company or platform vouches for.
    Asserting(Site, Client),
    /// Waits for the company's permission.
    Permitting(Site, Client),
    /// Waits for the token.
    Exchanging(Site, Client),
    /// Waits until the client that a person named is kept.
    Granted(Box<Grant>),
    Over,
}

/// A server, as far as it is known.
#[derive(Debug, Clone)]
struct Resource {
    name: String,
    /// The server's own name.
    title: Option<String>,
    issuer: String,
    /// The requested scopes; none where none are named.
    scopes: Option<Scopes>,
    /// Whether it has no document: then it may be one of the earliest.
    is_guessed: bool,
    /// Whether it takes only tokens that are bound to a key, and whether it takes them at all.
    wants_bound: bool,
    takes_bound: bool,
}

/// A server and its issuer.
#[derive(Debug, Clone)]
struct Site {
    resource: Resource,
    issuer: AuthorizationServer,
    token_endpoint: Url,
    /// Whether neither the server nor a document at its origin names the issuer: there may be none.
    is_assumed: bool,
    /// The requested scopes; none where none are named.
    scopes: Option<Scopes>,
    bound: bool,
}

impl Flow {
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            plan,
            state: State::Start,
        }
    }

    /// Takes what happened at `now`, in seconds since the Unix epoch, and says what to do.
    pub(super) fn next(&mut self, event: Event, now: u64) -> Action {
        let state = std::mem::replace(&mut self.state, State::Over);
        match self.step(state, event, now) {
            Ok((state, action)) => {
                self.state = state;
                action
            }
            Err(error) => Action::Failed(error),
        }
    }

    fn step(&self, state: State, event: Event, now: u64) -> Next {
        match (state, event) {
            (State::Start, Event::Start) => self.find_resource(),
            (State::Resource(places), Event::Answer(answer)) => self.resource(places, answer),
            (State::Issuer(resource, places), Event::Answer(answer)) => {
                self.issuer(resource, places, answer)
            }
            (State::Recalling(site), Event::Recalled(kept)) => self.recalled(site, kept, now),
            (State::Registering(site), Event::Answer(answer)) => self.registered(site, answer),
            (State::Naming(site), Event::Named(client)) => self.named(site, client),
            (State::Keeping(site, client), Event::Noted) => self.identified(site, client),
            (State::Forgetting, Event::Noted) => Ok((State::Over, Action::Again)),
            (State::Asking(site, client, pending), Event::Redirected(redirected)) => {
                self.redirected(site, client, pending, redirected)
            }
            (State::Asserting(site, client), Event::Asserted(assertion)) => {
                self.asserted(site, client, assertion)
            }
            (State::Permitting(site, client), Event::Answer(answer)) => {
                self.permitted(site, client, answer)
            }
            (State::Exchanging(site, client), Event::Answer(answer)) => {
                self.exchanged(site, client, answer, now)
            }
            (State::Granted(grant), Event::Noted) => Ok((State::Over, Action::Done(grant))),
            // Whoever drives the machine gave it what it did not ask for.
            (_, _) => Err(AuthorizationError::SignIn(SignInError::Abandoned)),
        }
    }

    /// Goes on once it is known who the client is.
    fn identified(&self, site: Site, client: Client) -> Next {
        match &self.plan.way {
            Way::Person { redirect } => self.ask(site, client, redirect),
            Way::Client => self.exchange_nothing(site, client),
            Way::Company(provider) => {
                let audience = provider.issuer.clone();
                Ok((State::Asserting(site, client), Action::Assert(audience)))
            }
            Way::Vouched => {
                let audience = site.issuer.issuer.clone();
                Ok((State::Asserting(site, client), Action::Assert(audience)))
            }
        }
    }

    /// A URL a server gave, if it may be used.
    fn url(&self, what: &'static str, url: &str) -> Result<Url, AuthorizationError> {
        let read = self.plan.reach.url(url);
        read.ok_or_else(|| refused_url(what, url))
    }

    /// A URL an issuer gave, if it may be used. One on this machine may name what is on it; one
    /// elsewhere may not, though the server is here.
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

/// The error for a refused URL of a server. It is logged too, so that operators see attempts
/// (2026-07-28, security best practices, OAuth URL validation).
fn refused_url(what: &'static str, url: &str) -> AuthorizationError {
    let url = crate::shown::shown(url);
    tracing::warn!(what, %url, "a URL of a server was refused");
    AuthorizationError::Url { what, url }
}

type Next = Result<(State, Action), AuthorizationError>;

impl Demands {
    /// Reads the demands from the challenges of a refusal. An unreadable challenge demands nothing.
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
