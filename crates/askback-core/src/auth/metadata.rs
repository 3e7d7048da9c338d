//! The metadata documents of a server and its authorization server, and their URLs (2026-07-28,
//! basic/authorization/authorization-server-discovery).

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

/// Defines documents. An optional member (`?`) has two functions: the first reads it, and the second says whether to leave
/// it out when the document is written.
macro_rules! documents {
    ($($(#[$attr:meta])* struct $name:ident {
        $(#[$first_attr:meta])* $first:ident: $first_type:ty;
        $($(#[$doc:meta])* $field:ident?: $type:ty = $read:literal, $skip:literal;)*
    })*) => {$(
        $(#[$attr])*
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[non_exhaustive]
        pub struct $name {
            $(#[$first_attr])*
            pub $first: $first_type,
            $(
                $(#[$doc])*
                #[serde(default, deserialize_with = $read, skip_serializing_if = $skip)]
                pub $field: $type,
            )*
        }
    )*};
}

documents! {
    struct ProtectedResource {
        /// The URL that identifies the server: the audience of its tokens.
        resource: String;
        authorization_servers?: Vec<String> = "json::texts", "Vec::is_empty";
        /// The scopes for the server's usual operations. A single request may need entirely different
        /// ones.
        scopes_supported?: Option<Vec<String>> = "json::optional_texts", "Option::is_none";
        /// How a token may be sent. MCP uses only `header`.
        bearer_methods_supported?: Vec<String> = "json::texts", "Vec::is_empty";
        resource_name?: Option<String> = "Option::deserialize", "Option::is_none";
        resource_documentation?: Option<String> = "Option::deserialize", "Option::is_none";
        /// The algorithms with which a client may prove that it holds the key of a token (RFC 9449).
        dpop_signing_alg_values_supported?: Vec<String> = "json::texts", "Vec::is_empty";
        /// Whether every token must be bound to a key (RFC 9449).
        dpop_bound_access_tokens_required?: bool = "json::flag", "core::ops::Not::not";
    }

    /// OAuth 2.0 Authorization Server Metadata (RFC 8414), or the same members in OpenID Connect
    /// Discovery.
    struct AuthorizationServer {
        /// The issuer, a URL that is compared as text.
        issuer: String;
        authorization_endpoint?: Option<String> = "Option::deserialize", "Option::is_none";
        token_endpoint?: Option<String> = "Option::deserialize", "Option::is_none";
        /// Where clients register (RFC 7591).
        registration_endpoint?: Option<String> = "Option::deserialize", "Option::is_none";
        /// Where tokens are revoked (RFC 7009).
        revocation_endpoint?: Option<String> = "Option::deserialize", "Option::is_none";
        /// Where a server checks a token (RFC 7662).
        introspection_endpoint?: Option<String> = "Option::deserialize", "Option::is_none";
        /// Where its public keys are.
        jwks_uri?: Option<String> = "Option::deserialize", "Option::is_none";
        scopes_supported?: Option<Vec<String>> = "json::optional_texts", "Option::is_none";
        response_types_supported?: Vec<String> = "json::texts", "Vec::is_empty";
        /// The supported grants. If absent, the authorization code grant (RFC 8414, 2).
        grant_types_supported?: Option<Vec<String>> = "json::optional_texts", "Option::is_none";
        /// The supported PKCE methods. If absent, PKCE is not supported.
        code_challenge_methods_supported?: Option<Vec<String>> = "json::optional_texts", "Option::is_none";
        /// How a client authenticates. If absent, `client_secret_basic`.
        token_endpoint_auth_methods_supported?: Option<Vec<String>> = "json::optional_texts", "Option::is_none";
        /// The signature algorithms for that authentication.
        token_endpoint_auth_signing_alg_values_supported?: Option<Vec<String>> = "json::optional_texts", "Option::is_none";
        /// Whether every authorization response names its issuer (RFC 9207).
        authorization_response_iss_parameter_supported?: bool = "json::flag", "core::ops::Not::not";
        /// Whether a document's URL can be a client id (OAuth Client ID Metadata Document).
        client_id_metadata_document_supported?: bool = "json::flag", "core::ops::Not::not";
        /// The algorithms with which a client may prove that it holds the key of a token (RFC 9449).
        dpop_signing_alg_values_supported?: Option<Vec<String>> = "json::optional_texts", "Option::is_none";
    }
}

/// The name of a server or issuer is not a usable URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it is not an https:// or http:// URL with a host")]
pub struct BadIdentifier;

impl ProtectedResource {
    #[must_use]
    pub fn new(resource: impl Into<String>, issuers: Vec<String>) -> Self {
        Self {
            resource: resource.into(),
            authorization_servers: issuers,
            bearer_methods_supported: vec!["header".to_owned()],
            ..Self::default()
        }
    }

    /// Returns the scopes to request if no challenge names others, or `None` if the document lists
    /// none.
    ///
    /// # Errors
    ///
    /// [`BadScopes`] if the list contains an invalid scope.
    pub fn scopes(&self) -> Result<Option<Scopes>, BadScopes> {
        self.scopes_supported.as_ref().map(Scopes::of).transpose()
    }

    /// Returns the URLs where the document of a server may be, in search order: first at its path,
    /// then at the root.
    ///
    /// # Errors
    ///
    /// [`BadIdentifier`] if `server` is not a usable URL.
    pub fn well_known(server: &str) -> Result<Vec<String>, BadIdentifier> {
        const NAME: &str = "/.well-known/oauth-protected-resource";
        let Parts {
            origin,
            path,
            query,
        } = Parts::of(server)?;
        let mut places = Vec::new();
        if path != "/" && !path.is_empty() || !query.is_empty() {
            // Only a slash directly behind the host is left out (RFC 9728, 3.1).
            let path = if path == "/" { "" } else { path };
            places.push(format!("{origin}{NAME}{path}{query}"));
        }
        places.push(format!("{origin}{NAME}"));
        Ok(places)
    }
}

impl AuthorizationServer {
    /// Returns the URLs where the document of an issuer may be, in search order.
    ///
    /// # Errors
    ///
    /// [`BadIdentifier`] if `issuer` is not a usable URL, or has a query or fragment, which is
    /// forbidden (RFC 8414, 2).
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

    /// Returns the issuer of a server that names none: its own origin, as in the first version of
    /// authorization (2025-03-26, basic/authorization, Authorization Base URL).
    ///
    /// # Errors
    ///
    /// [`BadIdentifier`] if `server` is not a usable URL.
    pub fn at_origin_of(server: &str) -> Result<String, BadIdentifier> {
        Ok(Parts::of(server)?.origin.to_string())
    }

    /// Returns the default metadata of such an issuer if it has no document either (2025-03-26,
    /// basic/authorization, Fallbacks for Servers without Metadata Discovery). PKCE was required
    /// then, and could not be announced.
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

    /// Whether it announces PKCE with SHA-256, without which a client must not request a code
    /// (2026-07-28, basic/authorization/security-considerations, Authorization Code Protection).
    #[must_use]
    pub fn has_s256(&self) -> bool {
        let methods = self.code_challenge_methods_supported.as_deref();
        methods.is_some_and(|methods| methods.iter().any(|method| method == "S256"))
    }

    #[must_use]
    pub fn lists_scope(&self, scope: &str) -> bool {
        let scopes = self.scopes_supported.as_deref();
        scopes.is_some_and(|scopes| scopes.iter().any(|known| known == scope))
    }
}

struct Parts<'a> {
    /// Scheme, host and port, without a trailing slash.
    origin: &'a str,
    path: &'a str,
    /// Includes the question mark.
    query: &'a str,
}

impl<'a> Parts<'a> {
    /// Drops the fragment, which never reaches a server.
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
