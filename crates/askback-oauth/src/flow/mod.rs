//! One authorization, from the server's refusal to a token, as a state machine without I/O.
//!
//! [`Flow::next`] takes an event and returns the next action. Each state holds only what may be
//! used in it: for example, only the state after the check of the answer has a code to exchange.
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

#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) server: Url,
    pub(super) reach: Reach,
    pub(super) wanted: Demands,
    pub(super) way: Way,
    pub(super) clients: Vec<RegisteredClient>,
    pub(super) document: Option<String>,
    pub(super) introduction: Introduction,
    /// Scopes that the host always requests.
    pub(super) scopes: Scopes,
    /// Whether to bind tokens to a key whenever the issuer supports it.
    pub(super) bound: bool,
    pub(super) random: Random,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Demands {
    pub(super) document: Option<String>,
    pub(super) scopes: Option<Scopes>,
    /// Whether it accepts only tokens that are bound to a key.
    pub(super) bound: bool,
    /// The issuer and the scopes of earlier requests. The next request repeats them.
    pub(super) before: Option<(String, Scopes)>,
}

#[derive(Debug, Clone)]
pub(super) enum Way {
    /// A user signs in and is redirected to this URI.
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
    Recall(String),
    /// Register the client. If there is a user, they agree first.
    Register {
        issuer: String,
        endpoint: Url,
        request: Value,
    },
    /// Ask the user for the client they registered with this issuer.
    AskClient(String),
    Keep(Registration),
    /// Delete the registration, which the issuer no longer knows.
    Forget(String),
    /// Start again: the next step needs another sign-in.
    Again,
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
    /// Whether only the origin of the URL may serve it. If so, the document's location says whose
    /// document it is.
    pub(super) near: bool,
}

#[derive(Debug)]
pub(super) enum Event {
    Start,
    Answer(Result<Answer, FetchError>),
    Recalled(Option<Registration>),
    Named(Option<RegisteredClient>),
    Noted,
    Redirected(Result<String, SignInError>),
    Asserted(Result<Secret, String>),
}

#[derive(Debug)]
pub(super) struct Flow {
    plan: Plan,
    state: State,
}

#[derive(Debug)]
enum State {
    Start,
    Resource(Places),
    Issuer(Resource, Places),
    Recalling(Site),
    Registering(Site),
    Naming(Site),
    Keeping(Site, Client),
    Forgetting,
    Asking(Site, Client, PendingAuthorization),
    Asserting(Site, Client),
    /// Waits for the company's permission.
    Permitting(Site, Client),
    Exchanging(Site, Client),
    /// Waits until the client that the user named is stored.
    Granted(Box<Grant>),
    Over,
}

#[derive(Debug, Clone)]
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

#[derive(Debug, Clone)]
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

impl Flow {
    pub(super) fn new(plan: Plan) -> Self {
        Self {
            plan,
            state: State::Start,
        }
    }

    /// Takes an event that happened at `now`, in seconds since the Unix epoch, and returns the next
    /// action.
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
            // The driver passed an event that this state does not expect.
            (_, _) => Err(AuthorizationError::SignIn(SignInError::Abandoned)),
        }
    }

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

    fn url(&self, what: &'static str, url: &str) -> Result<Url, AuthorizationError> {
        let read = self.plan.reach.url(url);
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

/// The error for a rejected URL of a server. It is also logged, so that operators see attempts
/// (2026-07-28, security best practices, OAuth URL validation).
fn refused_url(what: &'static str, url: &str) -> AuthorizationError {
    let url = crate::shown::shown(url);
    tracing::warn!(what, %url, "a URL of a server was refused");
    AuthorizationError::Url { what, url }
}

type Next = Result<(State, Action), AuthorizationError>;

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
