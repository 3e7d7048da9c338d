use askback_core::auth::Scopes;
use serde::{Deserialize, Serialize};

use super::{
    AuthorizationError,
    identity::{Client, Method, Origin, Proof},
};
use crate::Secret;

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Grant {
    /// The server's URL, which is the key of the record.
    pub(super) server: String,
    /// The resource that the tokens are for, by the server's own name.
    pub(super) resource: String,
    pub(super) issuer: String,
    pub(super) token_endpoint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) revocation_endpoint: Option<String>,
    pub(super) client: StoredClient,
    /// Whether the client was registered by hand. Then the host passes its secret.
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
    /// In seconds since the Unix epoch, if the issuer said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<u64>,
    /// The requested scopes. Empty if the request named no scopes.
    #[serde(default)]
    pub(super) asked: Scopes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) granted: Option<Scopes>,
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

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Registration {
    pub(super) issuer: String,
    pub(super) client: StoredClient,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) redirect: Option<String>,
    /// Whether the user named the client, and so knows its redirect URIs.
    #[serde(default)]
    pub(super) is_named: bool,
    /// The registered scopes. Many issuers allow no others. `None` if the registration named none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) scopes: Option<Scopes>,
    /// When its secret expires, in seconds since the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) secret_ends: Option<u64>,
}

/// A stored sign-in without its secrets, to list the servers a user is signed in to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredSignIn {
    /// The URL of the server.
    pub server: String,
    /// The issuer of the tokens.
    pub issuer: String,
    /// The id of the client at the issuer.
    pub client_id: String,
    /// The granted scopes if the issuer named them, else the requested ones.
    pub scopes: Scopes,
    /// When the access token expires, in seconds since the Unix epoch, if known.
    pub expires_at: Option<u64>,
    /// Whether it can be renewed without the user.
    pub renewable: bool,
}

impl StoredSignIn {
    /// Reads a record that a [`CredentialStore`](super::CredentialStore) holds under
    /// [`CredentialKey::Tokens`](super::CredentialKey::Tokens).
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`] if it is not such a record.
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
                // The host passes its own secret again.
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
    // The parser's error may quote a secret.
    serde_json::from_str(kept.expose()).map_err(|_| {
        AuthorizationError::Store("they were changed after they were written".to_owned())
    })
}

/// Serializes a secret in plain text. Nothing else does.
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
