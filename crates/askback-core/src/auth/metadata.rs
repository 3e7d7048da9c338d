//! The documents in which a server and its authorization server describe themselves, and where
//! they stand (2026-07-28, basic/authorization/authorization-server-discovery).

use alloc::{
    borrow::ToOwned,
    format,
    string::{String, ToString},
    vec,
    vec::Vec,
};

use serde::{Deserialize, Serialize};

use super::{BadScopes, Scopes};
use crate::json;

/// A server's OAuth 2.0 Protected Resource Metadata (RFC 9728).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ProtectedResource {
    /// The URL that names the server: what tokens are for.
    pub resource: String,
    /// The issuers of tokens for it, by their names.
    #[serde(
        default,
        deserialize_with = "json::texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub authorization_servers: Vec<String>,
    /// The scopes that are enough for what the server usually does. What a single request needs
    /// may differ from them in any way.
    #[serde(
        default,
        deserialize_with = "json::optional_texts",
        skip_serializing_if = "Option::is_none"
    )]
    pub scopes_supported: Option<Vec<String>>,
    /// How a token may be sent; `header` is the only way of this protocol.
    #[serde(
        default,
        deserialize_with = "json::texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub bearer_methods_supported: Vec<String>,
    /// The display name of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_name: Option<String>,
    /// Sets the URL of the documentation for developers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resource_documentation: Option<String>,
    /// With which algorithms a client may prove that it holds the key of a token (RFC 9449).
    #[serde(
        default,
        deserialize_with = "json::texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub dpop_signing_alg_values_supported: Vec<String>,
    /// Whether every token must be bound to a key (RFC 9449).
    #[serde(
        default,
        deserialize_with = "json::flag",
        skip_serializing_if = "core::ops::Not::not"
    )]
    pub dpop_bound_access_tokens_required: bool,
}

/// An authorization server's OAuth 2.0 Authorization Server Metadata (RFC 8414), or the same of
/// OpenID Connect Discovery.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AuthorizationServer {
    /// Its name, a URL. It is compared as text, letter by letter.
    pub issuer: String,
    /// Where a person says yes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authorization_endpoint: Option<String>,
    /// Where tokens are given out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_endpoint: Option<String>,
    /// Where clients make themselves known (RFC 7591).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registration_endpoint: Option<String>,
    /// Where tokens are given back (RFC 7009).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revocation_endpoint: Option<String>,
    /// Where a device asks for the codes by which a person authorizes it (RFC 8628).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_authorization_endpoint: Option<String>,
    /// Where a server asks what a token is worth (RFC 7662).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub introspection_endpoint: Option<String>,
    /// Where its keys stand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jwks_uri: Option<String>,
    /// Scopes it knows.
    #[serde(
        default,
        deserialize_with = "json::optional_texts",
        skip_serializing_if = "Option::is_none"
    )]
    pub scopes_supported: Option<Vec<String>>,
    /// The response types of its authorization endpoint.
    #[serde(
        default,
        deserialize_with = "json::texts",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub response_types_supported: Vec<String>,
    /// How tokens are obtained; where it does not say, by code (RFC 8414, 2).
    #[serde(
        default,
        deserialize_with = "json::optional_texts",
        skip_serializing_if = "Option::is_none"
    )]
    pub grant_types_supported: Option<Vec<String>>,
    /// With which forms of PKCE; where it does not say, it has none.
    #[serde(
        default,
        deserialize_with = "json::optional_texts",
        skip_serializing_if = "Option::is_none"
    )]
    pub code_challenge_methods_supported: Option<Vec<String>>,
    /// How a client shows who it is; where it does not say, by `client_secret_basic`.
    #[serde(
        default,
        deserialize_with = "json::optional_texts",
        skip_serializing_if = "Option::is_none"
    )]
    pub token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// With which algorithms a client may sign for that.
    #[serde(
        default,
        deserialize_with = "json::optional_texts",
        skip_serializing_if = "Option::is_none"
    )]
    pub token_endpoint_auth_signing_alg_values_supported: Option<Vec<String>>,
    /// Whether every answer to an authorization request names its issuer (RFC 9207).
    #[serde(
        default,
        deserialize_with = "json::flag",
        skip_serializing_if = "core::ops::Not::not"
    )]
    pub authorization_response_iss_parameter_supported: bool,
    /// Whether the URL of a document can be a client's id (OAuth Client ID Metadata Document).
    #[serde(
        default,
        deserialize_with = "json::flag",
        skip_serializing_if = "core::ops::Not::not"
    )]
    pub client_id_metadata_document_supported: bool,
    /// With which algorithms a client may prove that it holds the key of a token (RFC 9449).
    #[serde(
        default,
        deserialize_with = "json::optional_texts",
        skip_serializing_if = "Option::is_none"
    )]
    pub dpop_signing_alg_values_supported: Option<Vec<String>>,
}

/// A name of a server or issuer that is no URL to build others from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is no https:// or http:// URL with a host")]
pub struct BadIdentifier;

impl ProtectedResource {
    /// The document of a server whose tokens come from these issuers.
    #[must_use]
    pub fn new(resource: impl Into<String>, issuers: Vec<String>) -> Self {
        Self {
            resource: resource.into(),
            authorization_servers: issuers,
            bearer_methods_supported: vec!["header".to_owned()],
            ..Self::default()
        }
    }

    /// The scopes to ask for where no challenge names others; nothing if the document does not say.
    ///
    /// # Errors
    ///
    /// [`BadScopes`] if what it lists are no scopes.
    pub fn scopes(&self) -> Result<Option<Scopes>, BadScopes> {
        self.scopes_supported.as_ref().map(Scopes::of).transpose()
    }

    /// Where the document of the server at this URL may stand, in the order in which to look: first
    /// at its path, then at the root.
    ///
    /// # Errors
    ///
    /// [`BadIdentifier`].
    pub fn well_known(server: &str) -> Result<Vec<String>, BadIdentifier> {
        const NAME: &str = "/.well-known/oauth-protected-resource";
        let Parts {
            origin,
            path,
            query,
        } = Parts::of(server)?;
        let mut places = Vec::new();
        if path != "/" && !path.is_empty() || !query.is_empty() {
            // Only a slash that directly follows the host is left out (RFC 9728, 3.1).
            let path = if path == "/" { "" } else { path };
            places.push(format!("{origin}{NAME}{path}{query}"));
        }
        places.push(format!("{origin}{NAME}"));
        Ok(places)
    }
}

impl AuthorizationServer {
    /// Where the document of this issuer may stand, in the order in which to look.
    ///
    /// # Errors
    ///
    /// [`BadIdentifier`], also for an issuer with a query or fragment, which none may have
    /// (RFC 8414, 2).
    pub fn well_known(issuer: &str) -> Result<Vec<String>, BadIdentifier> {
        const OAUTH: &str = "/.well-known/oauth-authorization-server";
        const OPENID: &str = "/.well-known/openid-configuration";
        if issuer.contains(['?', '#']) {
            return Err(BadIdentifier);
        }
        let Parts { origin, path, .. } = Parts::of(issuer)?;
        Ok(match path.trim_end_matches('/') {
            "" => vec![format!("{origin}{OAUTH}"), format!("{origin}{OPENID}")],
            path => vec![
                format!("{origin}{OAUTH}{path}"),
                format!("{origin}{OPENID}{path}"),
                format!("{origin}{path}{OPENID}"),
            ],
        })
    }

    /// The issuer of a server that says nothing of one: its own origin, as the earliest form of
    /// authorization had it (2025-03-26, basic/authorization, Authorization Base URL).
    ///
    /// # Errors
    ///
    /// [`BadIdentifier`].
    pub fn at_origin_of(server: &str) -> Result<String, BadIdentifier> {
        Ok(Parts::of(server)?.origin.to_string())
    }

    /// Returns the metadata assumed of such an issuer that has no document either (2025-03-26,
    /// basic/authorization, Fallbacks for Servers without Metadata Discovery). PKCE was required of
    /// every server then, with no way to announce it.
    #[must_use]
    pub fn assumed(origin: &str) -> Self {
        Self {
            issuer: origin.to_owned(),
            authorization_endpoint: Some(format!("{origin}/authorize")),
            token_endpoint: Some(format!("{origin}/token")),
            registration_endpoint: Some(format!("{origin}/register")),
            code_challenge_methods_supported: Some(vec!["S256".to_owned()]),
            ..Self::default()
        }
    }

    /// Whether it announces PKCE with SHA-256, without which no code may be asked for
    /// (2026-07-28, basic/authorization/security-considerations, Authorization Code Protection).
    #[must_use]
    pub fn has_s256(&self) -> bool {
        let methods = self.code_challenge_methods_supported.as_deref();
        methods.is_some_and(|methods| methods.iter().any(|method| method == "S256"))
    }

    /// Whether it lists this scope as one it knows.
    #[must_use]
    pub fn lists_scope(&self, scope: &str) -> bool {
        let scopes = self.scopes_supported.as_deref();
        scopes.is_some_and(|scopes| scopes.iter().any(|known| known == scope))
    }
}

/// The parts of a URL that others are built from.
struct Parts<'a> {
    /// Scheme, host and port, without a slash at the end.
    origin: &'a str,
    path: &'a str,
    /// With its question mark.
    query: &'a str,
}

impl<'a> Parts<'a> {
    /// A fragment is left out: it never reaches a server.
    fn of(url: &'a str) -> Result<Self, BadIdentifier> {
        let is_url = |byte: u8| byte.is_ascii_graphic() && !b"\\\"<>^`{|}".contains(&byte);
        let (scheme, rest) = url.split_once("://").ok_or(BadIdentifier)?;
        let is_web = ["https", "http"]
            .iter()
            .any(|it| scheme.eq_ignore_ascii_case(it));
        if !is_web || !url.bytes().all(is_url) {
            return Err(BadIdentifier);
        }
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let host_end = rest.find(['/', '?']).unwrap_or(rest.len());
        let host = &rest[..host_end];
        if host.is_empty() || host.contains('@') {
            return Err(BadIdentifier);
        }
        let origin_end = scheme.len() + "://".len() + host_end;
        let (path, query) = match rest[host_end..].find('?') {
            Some(at) => rest[host_end..].split_at(at),
            None => (&rest[host_end..], ""),
        };
        Ok(Self {
            origin: &url[..origin_end],
            path,
            query,
        })
    }
}
