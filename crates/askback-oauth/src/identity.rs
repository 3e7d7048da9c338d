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

#[derive(Debug, Clone)]
pub(super) enum Proof {
    /// A public client does not authenticate.
    None,
    Secret(Secret),
    Key(Arc<SigningKey>),
}

impl RegisteredClient {
    /// Creates a public client, which has an id but no credentials.
    pub fn new(id: impl Into<String>) -> Self {
        Self {
            issuer: None,
            id: id.into(),
            proof: Proof::None,
        }
    }

    /// Sets the issuer it is registered with, exactly as the issuer's metadata writes it. The
    /// client is used with no other issuer.
    ///
    /// Without this setting, the client belongs to the first issuer it is used with, which the
    /// server chooses. So set the issuer if no user checks where the client's credentials go. The
    /// first issuer is recorded in the [`CredentialStore`](super::CredentialStore).
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

    /// Returns its secret, if it has one, for third parties with their own ways of authentication.
    #[must_use]
    pub fn secret(&self) -> Option<&Secret> {
        match &self.proof {
            Proof::Secret(secret) => Some(secret),
            Proof::None | Proof::Key(_) => None,
        }
    }

    /// Sets its secret, sent as `client_secret_basic` or `client_secret_post`: whichever the
    /// issuer's metadata lists first, or else `client_secret_basic`.
    #[must_use]
    pub fn with_secret(mut self, secret: Secret) -> Self {
        self.proof = Proof::Secret(secret);
        self
    }

    /// Sets the key that signs its assertions: `private_key_jwt` (RFC 7523). The key itself is
    /// never sent.
    #[must_use]
    pub fn with_key(mut self, key: SigningKey) -> Self {
        self.proof = Proof::Key(Arc::new(key));
        self
    }
}

/// The client's metadata in its registration (RFC 7591).
#[derive(Debug, Clone)]
pub(super) struct Introduction {
    pub(super) name: String,
    pub(super) uri: Option<String>,
}

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

    /// Chooses how to send a secret: the first supported method in the issuer's list. Issuers test
    /// the first one best: the Python SDK's issuer lists both, but does not find the client in a
    /// header. Without a list, the method is basic (RFC 8414, 2).
    pub(super) fn for_secret(taken: Option<&[String]>) -> Self {
        let mut known = taken
            .into_iter()
            .flatten()
            .filter_map(|name| Self::named(name));
        let known = known.find(|method| matches!(method, Self::Basic | Self::Post));
        known.unwrap_or(Self::Basic)
    }
}

#[derive(Debug, Clone)]
pub(super) struct Client {
    pub(super) id: String,
    pub(super) method: Method,
    pub(super) proof: Proof,
    pub(super) origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    ByHand {
        /// Whether the host also named this issuer.
        is_told: bool,
    },
    Document,
    New,
    Named,
    /// The issuer registered it earlier, and may have forgotten it.
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
