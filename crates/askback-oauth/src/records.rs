//! The records of a sign-in, as they are stored.

use askback_core::auth::Scopes;
use serde::{Deserialize, Serialize};

use super::{
    AuthorizationError,
    identity::{Client, Method, Origin, Proof},
};
use crate::Secret;

/// The tokens for one server, with all that is needed to get the next ones.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Grant {
    /// The URL of the server, by which the tokens are found.
    pub(super) server: String,
    /// The resource that the tokens are for, as the server names itself.
    pub(super) resource: String,
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    pub(super) client: StoredClient,
    /// Whether the client was registered by hand, so that its secret is the host's to give.
    #[serde(default)]
    pub(super) by_hand: bool,
    #[serde(with = "exposed")]
    pub(super) access_token: Secret,
    #[serde(
        default,
        with = "maybe_exposed",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) refresh_token: Option<Secret>,
    /// When the access token ends, in seconds since the Unix epoch, if the issuer said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<u64>,
    /// The requested scopes; none where none were named.
    #[serde(default)]
    pub(super) asked: Scopes,
    /// The granted scopes, where the issuer named them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) granted: Option<Scopes>,
    /// The key the tokens are bound to, if they are.
    #[serde(
        default,
        with = "maybe_exposed",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) key: Option<Secret>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct StoredClient {
    pub(super) id: String,
    pub(super) method: Method,
    #[serde(
        default,
        with = "maybe_exposed",
        skip_serializing_if = "Option::is_none"
    )]
    pub(super) secret: Option<Secret>,
}

/// The registration that an issuer gave a client.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Registration {
    pub(super) issuer: String,
    pub(super) client: StoredClient,
    /// The redirect URI that was registered; none for a client that needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) redirect: Option<String>,
    /// Whether the person named it, so that whoever registered it knows where it may come back to.
    #[serde(default)]
    pub(super) is_named: bool,
    /// The scopes that were registered: many issuers let the client ask for no others. None where
    /// none were named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scopes: Option<Scopes>,
    /// When its secret ends, in seconds since the Unix epoch; never where it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret_ends: Option<u64>,
}

/// A stored sign-in without its secrets: for a list of the servers a person is signed in to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSignIn {
    /// The URL of the server.
    pub server: String,
    /// The issuer of the tokens.
    pub issuer: String,
    /// The id of the client at the issuer.
    pub client_id: String,
    /// The granted scopes, where the issuer named them; else the requested ones.
    pub scopes: Scopes,
    /// When the access token ends, in seconds since the Unix epoch, if that is known.
    pub expires_at: Option<u64>,
    /// Whether it can be renewed without a person.
    pub renewable: bool,
}

impl StoredSignIn {
    /// Reads what a [`CredentialStore`](super::CredentialStore) keeps under
    /// [`CredentialKey::Tokens`](super::CredentialKey::Tokens).
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`] if it is not that.
    pub fn read(kept: &Secret) -> Result<Self, AuthorizationError> {
        let grant: Grant = read(kept)?;
        Ok(Self {
            server: grant.server,
            issuer: grant.issuer,
            client_id: grant.client.id,
            scopes: grant.granted.unwrap_or(grant.asked),
            expires_at: grant.expires_at,
            renewable: grant.refresh_token.is_some(),
        })
    }
}

impl StoredClient {
    pub(super) fn of(client: &Client) -> Self {
        Self {
            id: client.id.clone(),
            method: client.method,
            secret: match &client.proof {
                // What the host gave, the host keeps.
                Proof::Secret(secret) if !client.is_by_hand() => Some(secret.clone()),
                _ => None,
            },
        }
    }

    pub(super) fn client(&self, origin: Origin) -> Client {
        Client {
            id: self.id.clone(),
            method: self.method,
            proof: self.secret.clone().map_or(Proof::None, Proof::Secret),
            origin,
        }
    }
}

pub(super) fn write<T: Serialize>(record: &T) -> Result<Secret, AuthorizationError> {
    serde_json::to_string(record)
        .map(Secret::new)
        .map_err(|error| AuthorizationError::Store(error.to_string()))
}

pub(super) fn read<T: for<'de> Deserialize<'de>>(kept: &Secret) -> Result<T, AuthorizationError> {
    // An error of the parser may quote what is secret.
    serde_json::from_str(kept.expose())
        .map_err(|_| AuthorizationError::Store("they are not as they were written".to_owned()))
}

/// The one way in which a secret is written.
pub(crate) mod exposed {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::Secret;

    pub(crate) fn serialize<S: Serializer>(secret: &Secret, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(secret.expose())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
        String::deserialize(from).map(Secret::new)
    }
}

/// The same for one that may be absent.
mod maybe_exposed {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::Secret;

    pub(super) fn serialize<S: Serializer>(
        secret: &Option<Secret>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        match secret {
            Some(secret) => to.serialize_some(secret.expose()),
            None => to.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(Secret::new))
    }
}
