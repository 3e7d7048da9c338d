//! Discovery of the issuer (2026-07-28, basic/authorization/authorization-server-discovery).

use askback_core::auth::{AuthorizationServer, ProtectedResource, Scopes};
use url::Url;

use super::{Flow, Resource, Site};
use crate::{
    AuthorizationError,
    fetch::{Redirects, fetch_failed, first_document, no_document},
    shown::shown,
};

const SERVER: &str = "the server's metadata";
const ISSUER: &str = "the authorization server's metadata";

impl Flow<'_> {
    /// Finds the server's document at the URL that the server names, or else at the well-known
    /// ones.
    pub(super) async fn find_resource(&self) -> Result<Resource, AuthorizationError> {
        let server = &self.authorizer.server;
        let (places, redirects) = match &self.wanted.document {
            Some(place) => (vec![place.clone()], Redirects::Any),
            None => {
                let places = ProtectedResource::well_known(server.as_str());
                let places = places.map_err(|bad| wrong(SERVER, bad))?;
                (places, Redirects::SameOrigin)
            }
        };
        let may_be = |place: &str| self.url(SERVER, place);
        let fetcher = &self.authorizer.fetcher;
        let found = first_document(fetcher, SERVER, places, redirects, may_be).await?;
        let Some((document, place)) = found else {
            return match &self.wanted.document {
                Some(named) => Err(fetch_failed(SERVER)(format!(
                    "no JSON document is at the place that the server names: {}",
                    shown(named)
                ))),
                None => self.guess(),
            };
        };
        if !self.describes(&document, &place) {
            return Err(AuthorizationError::OtherResource {
                wanted: server.to_string(),
                found: shown(&document.resource),
            });
        }
        let issuer = self
            .choose(&document.authorization_servers)
            .ok_or_else(|| wrong(SERVER, "it names no authorization server"))?;
        let scopes = match &self.wanted.scopes {
            // The scopes of the challenge take precedence over the document.
            Some(scopes) => Some(scopes.clone()),
            None => document.scopes().map_err(|bad| wrong(SERVER, bad))?,
        };
        let mut algorithms = document.dpop_signing_alg_values_supported.iter();
        Ok(Resource {
            title: document.resource_name,
            issuer,
            scopes,
            is_guessed: false,
            wants_bound: self.wanted.bound || document.dpop_bound_access_tokens_required,
            takes_bound: algorithms.any(|name| name == "ES256"),
            name: document.resource,
        })
    }

    /// A server without a document is its own issuer (2025-03-26, basic/authorization,
    /// Authorization Base URL).
    fn guess(&self) -> Result<Resource, AuthorizationError> {
        let server = &self.authorizer.server;
        let issuer = AuthorizationServer::at_origin_of(server.as_str());
        Ok(Resource {
            name: canonical(server),
            title: None,
            issuer: issuer.map_err(|bad| wrong(SERVER, bad))?,
            scopes: self.wanted.scopes.clone(),
            is_guessed: true,
            wants_bound: self.wanted.bound,
            takes_bound: false,
        })
    }

    /// Finds the issuer's document, and checks that the issuer supports what is needed.
    pub(super) async fn find_issuer(&self, resource: Resource) -> Result<Site, AuthorizationError> {
        // An issuer's name is as untrusted as any other URL of a server.
        self.url("the authorization server", &resource.issuer)?;
        let mut places =
            AuthorizationServer::well_known(&resource.issuer).map_err(|bad| wrong(ISSUER, bad))?;
        if resource.is_guessed {
            // The early revision had no OpenID Connect discovery.
            places.truncate(1);
        }
        let (redirects, may_be) = (Redirects::SameOrigin, |place: &str| self.url(ISSUER, place));
        let fetcher = &self.authorizer.fetcher;
        let found = first_document(fetcher, ISSUER, places, redirects, may_be).await?;
        let is_assumed = found.is_none();
        let issuer = match found {
            Some((issuer, _)) => issuer,
            None if resource.is_guessed => AuthorizationServer::assumed(&resource.issuer),
            None => return Err(no_document(ISSUER)),
        };
        // The guessed name may lack the trailing slash.
        let is_same = issuer.issuer == resource.issuer
            || resource.is_guessed && issuer.issuer.strip_suffix('/') == Some(&resource.issuer);
        if !is_same {
            return Err(AuthorizationError::OtherIssuer {
                wanted: resource.issuer,
                found: shown(&issuer.issuer),
            });
        }
        let lacks = |lacks: &str| AuthorizationError::Unsupported {
            issuer: issuer.issuer.clone(),
            lacks: lacks.to_owned(),
        };
        let token_endpoint = match &issuer.token_endpoint {
            Some(endpoint) => self.endpoint(&issuer.issuer, "the token endpoint", endpoint)?,
            None => return Err(lacks("has no token endpoint")),
        };
        if self.redirect.is_some() && !issuer.has_s256() {
            return Err(lacks(
                "does not announce PKCE with S256, without which a code may be stolen",
            ));
        }
        let known = issuer.dpop_signing_alg_values_supported.as_deref();
        let can_bind = known.is_some_and(|known| known.iter().any(|name| name == "ES256"));
        if resource.wants_bound && known.is_some() && !can_bind {
            return Err(lacks(
                "binds no tokens to keys of P-256, which the server wants",
            ));
        }
        let is_preferred = resource.takes_bound || self.authorizer.config.bound;
        Ok(Site {
            bound: resource.wants_bound || can_bind && is_preferred,
            scopes: self.scopes(&resource, &issuer)?,
            resource,
            issuer,
            token_endpoint,
            is_assumed,
        })
    }

    /// The scopes to request (2026-07-28, basic/authorization, Scope Selection Strategy, Step-Up
    /// Authorization Flow, Refresh Tokens).
    fn scopes(
        &self,
        resource: &Resource,
        issuer: &AuthorizationServer,
    ) -> Result<Option<Scopes>, AuthorizationError> {
        const OFFLINE: &str = "offline_access";
        let mut scopes = resource.scopes.clone().unwrap_or_default();
        let before = self.asked_before(&issuer.issuer);
        for more in before.into_iter().chain([&self.authorizer.config.scopes]) {
            scopes = more.union(&scopes).map_err(|bad| wrong(SERVER, bad))?;
        }
        if self.redirect.is_some() && issuer.lists_scope(OFFLINE) {
            scopes.insert(OFFLINE).map_err(|bad| wrong(SERVER, bad))?;
        }
        Ok((!scopes.is_empty()).then_some(scopes))
    }

    /// The scopes that were requested from this issuer before. Other issuers do not see them:
    /// scopes have no meaning there and would reveal the first issuer.
    pub(super) fn asked_before(&self, issuer: &str) -> Option<&Scopes> {
        let before = self.wanted.before.as_ref();
        let before = before.filter(|(asked, _)| asked == issuer);
        before.map(|(_, scopes)| scopes)
    }

    /// Chooses an issuer with which the client is registered by hand, or else the first.
    fn choose(&self, named: &[String]) -> Option<String> {
        let is_known = |issuer: &&String| {
            let mut clients = self.clients.iter();
            clients.any(|client| client.issuer.as_ref() == Some(issuer))
        };
        named.iter().find(is_known).or(named.first()).cloned()
    }

    /// Whether a document describes this server: it names the server's URL or a parent path of it,
    /// and was found at the well-known URL of that name (RFC 9728, 3.3).
    fn describes(&self, document: &ProtectedResource, place: &str) -> bool {
        let server = &self.authorizer.server;
        let Some(named) = Url::parse(&document.resource)
            .ok()
            .filter(|named| named.fragment().is_none())
        else {
            return false;
        };
        if named == *server {
            return true;
        }
        let stands_there = ProtectedResource::well_known(&document.resource)
            .is_ok_and(|places| places.first().is_some_and(|first| first == place));
        let path = named.path().strip_suffix('/').unwrap_or(named.path());
        let is_within = server
            .path()
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        stands_there && is_within && named.origin() == server.origin() && named.query().is_none()
    }
}

/// The error if a server requires a sign-in but names no authorization server.
pub(super) fn no_issuer() -> AuthorizationError {
    fetch_failed(SERVER)("no document at its origin names an authorization server")
}

/// The name of a server without a document: its URL, without the slash after a bare host
/// (2026-07-28, basic/authorization, Canonical Server URI).
fn canonical(server: &Url) -> String {
    let name = server.as_str();
    match name.strip_suffix('/') {
        Some(name) if server.path() == "/" && server.query().is_none() => name.to_owned(),
        _ => name.to_owned(),
    }
}

fn wrong(what: &'static str, why: impl ToString) -> AuthorizationError {
    AuthorizationError::Document {
        what,
        why: why.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use url::Url;

    // Shows AZ-30, AZ-32, AZ-33.
    #[test]
    fn a_server_is_named_by_its_url() {
        for (server, name) in [
            ("https://mcp.example.com", "https://mcp.example.com"),
            ("https://mcp.example.com/", "https://mcp.example.com"),
            ("HTTPS://MCP.example.com/mcp", "https://mcp.example.com/mcp"),
            (
                "https://mcp.example.com:8443/mcp/",
                "https://mcp.example.com:8443/mcp/",
            ),
            (
                "https://mcp.example.com/?a=b",
                "https://mcp.example.com/?a=b",
            ),
        ] {
            let server = Url::parse(server).expect("a URL");
            assert_eq!(super::canonical(&server), name);
        }
    }
}
