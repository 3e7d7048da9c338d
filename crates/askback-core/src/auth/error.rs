//! Why a client did not become authorized.

use alloc::{
    format,
    string::{String, ToString as _},
};
use core::{fmt, time::Duration};

/// Why there is no token. Each kind names who is to blame.
///
/// A server's text is shortened and freed of control characters. No error holds a token, a code or
/// a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorizationError {
    /// A URL that a server gave may not be used: it is not `https`, is written in a way that
    /// programs read differently, or leads into a network that is nobody's business
    /// (2026-07-28, basic/authorization/security-considerations).
    #[error("the URL of {what} may not be used: {url:?}")]
    Url {
        /// The purpose of the URL.
        what: &'static str,
        /// The URL.
        url: String,
    },
    /// Something that authorization needs cannot be fetched. The reason is not told in full: it
    /// could say what stands in a network that the server must not learn of.
    #[error("{what} cannot be fetched: {why}")]
    Fetch {
        /// The document or answer that was requested.
        what: &'static str,
        /// The failure.
        why: String,
    },
    /// The authorization server is reached, and cannot answer at the moment.
    #[error("{what} cannot be fetched: it answers with status {status}")]
    Busy {
        /// The answer that was requested.
        what: &'static str,
        /// The status that came instead.
        status: u16,
        /// How long it wants to be left alone, where it says so in seconds; a day at most.
        retry_after: Option<Duration>,
    },
    /// A document cannot be read, or lacks what it must have.
    #[error("{what} is wrong: {why}")]
    Document {
        /// Which.
        what: &'static str,
        /// The fault.
        why: String,
    },
    /// The document that should describe the server describes another.
    #[error("the server's metadata is that of another server, {found:?}, not of {wanted:?}")]
    OtherResource {
        /// The URL of the server.
        wanted: String,
        /// The value in the document.
        found: String,
    },
    /// The document that should describe an authorization server describes another, which is how
    /// one would pass itself off as somebody else.
    #[error("the metadata of the authorization server {wanted:?} is that of another, {found:?}")]
    OtherIssuer {
        /// The issuer the server named.
        wanted: String,
        /// The value in the document.
        found: String,
    },
    /// The server now wants tokens of another issuer than the one this client was registered with
    /// by hand.
    #[error(
        "this client is registered with {registered:?}, but the server now wants tokens of {wanted:?}: register it there"
    )]
    NotRegisteredThere {
        /// Where it is registered.
        registered: String,
        /// The issuer that the server named.
        wanted: String,
    },
    /// There is no way to become known to the authorization server.
    #[error(
        "the authorization server {0:?} takes neither a metadata document nor a registration: register a client by hand and give its id"
    )]
    NoRegistration(String),
    /// The authorization server cannot do what this client must insist on.
    #[error("the authorization server {issuer:?} {lacks}")]
    Unsupported {
        /// Which.
        issuer: String,
        /// The missing feature, as a sentence without its subject.
        lacks: String,
    },
    /// The authorization server said no.
    #[error("the authorization server refused {what}: {code}{}", described(.description))]
    Refused {
        /// The refused request.
        what: &'static str,
        /// Its word for the reason, such as `access_denied`.
        code: String,
        /// Its own words, or none.
        description: String,
    },
    /// The browser came back with an answer to another sign-in, or from another authorization
    /// server. The rest of the answer is not read.
    #[error("the answer of the sign-in was not accepted: {0}")]
    Answer(String),
    /// The server wants more than a token can give, or did not take one it should.
    #[error("the server does not accept what it asked for: {0}")]
    NotAccepted(String),
    /// The person did not sign in.
    #[error("sign-in was required but not completed: {0}")]
    SignIn(SignInError),
    /// The credential store cannot be read or written.
    #[error("the credentials cannot be kept: {0}")]
    Store(String),
    /// A key or an identity that the host gave cannot be used.
    #[error("the credentials of this client cannot be used: {0}")]
    Credentials(String),
}

/// Why a person did not sign in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// There is nobody to ask: no terminal and no browser.
    #[error("there is no terminal or browser to sign in at")]
    Unattended,
    /// The person declined, in their own words if they gave any.
    #[error("the person declined{}", described(.0.as_deref().unwrap_or_default()))]
    Declined(Option<String>),
    /// The person did not finish within
    /// [`limits.sign_in.person`](crate::limits::SignInLimits::person).
    #[error("the person did not finish in time")]
    TimedOut,
    /// The request that needed the sign-in is gone, or the server changed its mind.
    #[error("it is no longer needed")]
    Abandoned,
    /// The browser came back from another sign-in.
    #[error("the address is that of another sign-in")]
    OtherSignIn,
    /// The host's redirect URI may not be used: it leads neither to this machine nor to an `https`
    /// URL.
    #[error("the redirect URI is neither on this machine nor https")]
    RedirectUri,
    /// The host could not ask, and says why.
    #[error("{0}")]
    Host(String),
}

impl SignInError {
    /// The host could not ask, for this reason.
    pub fn host(why: impl fmt::Display) -> Self {
        Self::Host(why.to_string())
    }
}

fn described(words: &str) -> String {
    if words.is_empty() {
        String::new()
    } else {
        format!(" ({words})")
    }
}
