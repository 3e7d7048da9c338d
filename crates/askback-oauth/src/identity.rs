//! The identity of a client at an authorization server (2026-07-28,
//! basic/authorization/client-registration).

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::key::SigningKey;
use crate::Secret;

/// A client that was registered with an authorization server by hand.
#[derive(Debug, Clone)]
pub struct RegisteredClient {
    pub(super) issuer: Option<String>,
    pub(super) id: String,
    pub(super) proof: Proof,
}

/// How a client shows that it is the one it says.
#[derive(Debug, Clone)]
pub(super) enum Proof {
    /// Not at all: a public client.
    None,
    Secret(Secret),
    Key(Arc<SigningKey>),
}

impl RegisteredClient {
    /// A client that has an id and nothing to prove it with.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            issuer: None,
            id: id.into(),
            proof: Proof::None,
        }
    }

    /// Sets the issuer it is registered with, letter by letter as its metadata names it. It is used
    /// with no other. Where none is given, it belongs to the first issuer it is used with, which a
    /// server chooses: name it wherever no person sees to whom the client shows itself. Which was
    /// the first is kept in the [`CredentialStore`](super::CredentialStore), and forgotten with it.
    #[must_use]
    pub fn with_issuer(mut self, issuer: impl Into<String>) -> Self {
        self.issuer = Some(issuer.into());
        self
    }

    /// Returns its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns its secret, where it has one: for third parties that take it in ways of their own.
    #[must_use]
    pub fn secret(&self) -> Option<&Secret> {
        match &self.proof {
            Proof::Secret(secret) => Some(secret),
            Proof::None | Proof::Key(_) => None,
        }
    }

    /// Sets its secret, which is sent as the issuer wants: by `client_secret_basic` or `client_secret_post`,
    /// whichever its metadata lists first, and by the former where it lists neither.
    #[must_use]
    pub fn with_secret(mut self, secret: Secret) -> Self {
        self.proof = Proof::Secret(secret);
        self
    }

    /// Sets the key with which it signs for itself: `private_key_jwt` (RFC 7523). The key never
    /// leaves.
    #[must_use]
    pub fn with_key(mut self, key: SigningKey) -> Self {
        self.proof = Proof::Key(Arc::new(key));
        self
    }
}

/// The client's description of itself in its registration (RFC 7591).
#[derive(Debug, Clone)]
pub(super) struct Introduction {
    pub(super) name: String,
    pub(super) uri: Option<String>,
}

/// How a request to a token endpoint says who sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Method {
    #[serde(rename = "none")]
    None,
    #[serde(rename = "client_secret_basic")]
    Basic,
    #[serde(rename = "client_secret_post")]
    Post,
    #[serde(rename = "private_key_jwt")]
    Key,
}

impl Method {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
            Self::Key => "private_key_jwt",
        }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        let all = [Self::None, Self::Basic, Self::Post, Self::Key];
        all.into_iter().find(|method| method.name() == name)
    }

    /// How to send a secret to an issuer that takes these: by the first that we can. The one it lists first is the one
    /// it was tried with: the issuer of the Python SDK lists both, and fails to find the client in a header. Where it
    /// does not say, it takes basic (RFC 8414, 2).
    pub(super) fn for_secret(taken: Option<&[String]>) -> Self {
        let mut known = taken
            .into_iter()
            .flatten()
            .filter_map(|name| Self::named(name));
        let known = known.find(|method| matches!(method, Self::Basic | Self::Post));
        known.unwrap_or(Self::Basic)
    }
}

/// The client in a request to one issuer.
#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) method: Method,
    pub(super) proof: Proof,
    pub(super) origin: Origin,
}

/// Where an identity comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The host gave it.
    ByHand {
        /// Whether the host also said that it belongs to this issuer.
        is_told: bool,
    },
    Document,
    /// The issuer gave it just now.
    New,
    /// The person who signs in named it just now.
    Named,
    /// The issuer gave it earlier, and may have forgotten it.
    Kept,
}

impl Client {
    pub(super) fn is_by_hand(&self) -> bool {
        matches!(self.origin, Origin::ByHand { .. })
    }

    pub(super) fn by_hand(client: &RegisteredClient, taken: Option<&[String]>) -> Self {
        let method = match &client.proof {
            Proof::None => Method::None,
            Proof::Secret(_) => Method::for_secret(taken),
            Proof::Key(_) => Method::Key,
        };
        Self {
            id: client.id.clone(),
            method,
            proof: client.proof.clone(),
            origin: Origin::ByHand {
                is_told: client.issuer.is_some(),
            },
        }
    }
}
