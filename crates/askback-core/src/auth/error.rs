//! Why authorization failed.

use alloc::{
    format,
    string::{String, ToString as _},
};
use core::{fmt, time::Duration};

/// Why there is no token. Each kind names the party to blame.
///
/// A server's text is shortened and stripped of control characters. No error contains a token, a
/// code or a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorizationError {
    /// A URL from a server must not be used: it is not `https`, programs may parse it differently,
    /// or it leads into a private network (2026-07-28,
    /// basic/authorization/security-considerations).
    #[error("the URL of {what} may not be used: {url:?}")]
    Url {
        /// The purpose of the URL.
        what: &'static str,
        /// The URL.
        url: String,
    },
    /// A document or response cannot be fetched. The reason is not told in full, because it could
    /// tell the server about the client's network.
    #[error("{what} cannot be fetched: {why}")]
    Fetch {
        /// The document or response that was requested.
        what: &'static str,
        /// The failure.
        why: String,
    },
    /// The authorization server is reachable but cannot answer now.
    #[error("{what} cannot be fetched: it answers with status {status}")]
    Busy {
        /// The response that was requested.
        what: &'static str,
        /// The status that it returned.
        status: u16,
        /// The time to wait, if the server gives it in seconds; at most a day.
        retry_after: Option<Duration>,
    },
    /// A document cannot be read, or lacks a required member.
    #[error("{what} is wrong: {why}")]
    Document {
        /// The document.
        what: &'static str,
        /// The fault.
        why: String,
    },
    /// The metadata document is about a different server.
    #[error("the server's metadata is for {found:?}, expected {wanted:?}")]
    OtherResource {
        /// The URL of the server.
        wanted: String,
        /// The value in the document.
        found: String,
    },
    /// The metadata document is about a different authorization server. An impostor would do this.
    #[error("the metadata of the authorization server {wanted:?} is for {found:?}")]
    OtherIssuer {
        /// The issuer the server named.
        wanted: String,
        /// The value in the document.
        found: String,
    },
    /// The server now requires tokens of a different issuer than the one this client was registered
    /// with by hand.
    #[error(
        "this client is registered with {registered:?}, but the server now wants tokens of {wanted:?}: register it there"
    )]
    NotRegisteredThere {
        /// The issuer this client is registered with.
        registered: String,
        /// The issuer that the server named.
        wanted: String,
    },
    /// The client cannot register with the authorization server.
    #[error(
        "the authorization server {0:?} takes neither a metadata document nor a registration: register a client by hand and give its id"
    )]
    NoRegistration(String),
    /// The authorization server lacks a feature that this client requires.
    #[error("the authorization server {issuer:?} {lacks}")]
    Unsupported {
        /// The authorization server.
        issuer: String,
        /// The missing feature, as a sentence without its subject.
        lacks: String,
    },
    /// The authorization server refused the request.
    #[error("the authorization server refused {what}: {code}{}", described(.description))]
    Refused {
        /// The refused request.
        what: &'static str,
        /// The error code, such as `access_denied`.
        code: String,
        /// The server's description; may be empty.
        description: String,
    },
    /// The browser returned a response of another sign-in or another authorization server. The rest
    /// of the response is not read.
    #[error("the answer of the sign-in was not accepted: {0}")]
    Answer(String),
    /// The server wants more than a token can give, or rejected a token that it should accept.
    #[error("the server does not accept what it asked for: {0}")]
    NotAccepted(String),
    /// The user did not sign in.
    #[error("sign-in was required but not completed: {0}")]
    SignIn(SignInError),
    /// The credential store failed.
    #[error("the credentials cannot be kept: {0}")]
    Store(String),
    /// A key or an identity from the host cannot be used.
    #[error("the credentials of this client cannot be used: {0}")]
    Credentials(String),
}

/// Why the user did not sign in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SignInError {
    /// No terminal and no browser is available.
    #[error("found no terminal or browser to sign in at")]
    Unattended,
    /// The user declined, with a reason if they gave one.
    #[error("the person declined{}", described(.0.as_deref().unwrap_or_default()))]
    Declined(Option<String>),
    /// The user did not finish within
    /// [`limits.sign_in.person`](crate::limits::SignInLimits::person).
    #[error("the person did not finish in time")]
    TimedOut,
    /// The request that needed the sign-in is gone, or the server no longer asks for it.
    #[error("it is no longer needed")]
    Abandoned,
    /// The browser returned from another sign-in.
    #[error("the address belongs to another sign-in")]
    OtherSignIn,
    /// The host's redirect URI is not allowed: it leads neither to this machine nor to an `https`
    /// URL.
    #[error("the redirect URI is neither on this machine nor https")]
    RedirectUri,
    /// The host could not ask, for this reason.
    #[error("{0}")]
    Host(String),
}

impl SignInError {
    /// Makes a [`SignInError::Host`].
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
