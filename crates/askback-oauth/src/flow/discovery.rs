//! Discovery of the issuer (2026-07-28, basic/authorization/authorization-server-discovery).

use std::vec::IntoIter;

use askback_core::auth::{AuthorizationServer, ProtectedResource, Scopes};
use url::Url;

use super::{Action, Fetch, Flow, Next, Resource, Site, State, Way};
use crate::{
    AuthorizationError,
    fetch::{Answer, FetchError, document},
};

const SERVER: &str = "the server's metadata";
const ISSUER: &str = "the authorization server's metadata";

/// The possible URLs of a document: the current one, and those to try next.
#[derive(Debug)]
pub(super) struct Places {
    at: String,
    rest: IntoIter<String>,
}

impl Places {
    fn first(places: Vec<String>) -> Option<Self> {
        Self::take(places.into_iter())
    }

    fn next(self) -> Option<Self> {
        Self::take(self.rest)
    }

    fn take(mut rest: IntoIter<String>) -> Option<Self> {
        let at = rest.next()?;
        Some(Self { at, rest })
    }
}

impl Flow {
    /// Starts with the URL the server names, or else with the well-known ones.
    pub(super) fn find_resource(&self) -> Next {
        let places = match &self.plan.wanted.document {
            Some(place) => vec![place.clone()],
            None => ProtectedResource::well_known(self.plan.server.as_str())
                .map_err(|bad| wrong(SERVER, bad))?,
        };
        match Places::first(places) {
            Some(places) => self.fetch(
                SERVER,
                self.plan.wanted.document.is_none(),
                places,
                State::Resource,
            ),
            None => self.guess(),
        }
    }

    pub(super) fn resource(&self, places: Places, answer: Result<Answer, FetchError>) -> Next {
        let Some(document) = document::<ProtectedResource>(SERVER, answer)? else {
            return match places.next() {
                Some(places) => self.fetch(
                    SERVER,
                    self.plan.wanted.document.is_none(),
                    places,
                    State::Resource,
                ),
                None => match &self.plan.wanted.document {
                    Some(named) => Err(AuthorizationError::Fetch {
                        what: SERVER,
                        why: format!(
                            "no JSON document is at the place that the server names: {}",
                            crate::shown::shown(named)
                        ),
                    }),
                    None => self.guess(),
                },
            };
        };
        if !self.describes(&document, &places.at) {
            return Err(AuthorizationError::OtherResource {
                wanted: self.plan.server.to_string(),
                found: crate::shown::shown(&document.resource),
            });
        }
        let issuer = self
            .choose(&document.authorization_servers)
            .ok_or_else(|| wrong(SERVER, "it names no authorization server"))?;
        let scopes = match &self.plan.wanted.scopes {
            // The scopes of the challenge take precedence over the document.
            Some(scopes) => Some(scopes.clone()),
            None => document.scopes().map_err(|bad| wrong(SERVER, bad))?,
        };
        let takes_bound = document
            .dpop_signing_alg_values_supported
            .iter()
            .any(|name| name == "ES256");
        self.find_issuer(Resource {
            title: document.resource_name,
            issuer,
            scopes,
            is_guessed: false,
            wants_bound: self.plan.wanted.bound || document.dpop_bound_access_tokens_required,
            takes_bound,
            name: document.resource,
        })
    }

    /// A server without a document is its own issuer (2025-03-26, basic/authorization,
    /// Authorization Base URL).
    fn guess(&self) -> Next {
        let server = self.plan.server.as_str();
        let issuer = AuthorizationServer::at_origin_of(server).map_err(|bad| wrong(SERVER, bad))?;
        self.find_issuer(Resource {
            name: canonical(&self.plan.server),
            title: None,
            issuer,
            scopes: self.plan.wanted.scopes.clone(),
            is_guessed: true,
            wants_bound: self.plan.wanted.bound,
            takes_bound: false,
        })
    }

    fn find_issuer(&self, resource: Resource) -> Next {
        // An issuer's name is as untrusted as any other URL of a server.
        self.url("the authorization server", &resource.issuer)?;
        let mut places =
            AuthorizationServer::well_known(&resource.issuer).map_err(|bad| wrong(ISSUER, bad))?;
        if resource.is_guessed {
            // The early revision had no OpenID Connect discovery.
            places.truncate(1);
        }
        let places = Places::first(places).ok_or_else(|| wrong(ISSUER, "it is missing"))?;
        self.fetch(ISSUER, true, places, |places| {
            State::Issuer(resource, places)
        })
    }

    pub(super) fn issuer(
        &self,
        resource: Resource,
        places: Places,
        answer: Result<Answer, FetchError>,
    ) -> Next {
        let mut is_assumed = false;
        let issuer = match document::<AuthorizationServer>(ISSUER, answer)? {
            Some(issuer) => issuer,
            None => match places.next() {
                Some(places) => {
                    return self.fetch(ISSUER, true, places, |places| {
                        State::Issuer(resource, places)
                    });
                }
                None if resource.is_guessed => {
                    is_assumed = true;
                    AuthorizationServer::assumed(&resource.issuer)
                }
                None => {
                    return Err(AuthorizationError::Fetch {
                        what: ISSUER,
                        why: "no JSON document is at any of the well-known places".to_owned(),
                    });
                }
            },
        };
        // The guessed name may lack the trailing slash.
        let is_same = issuer.issuer == resource.issuer
            || resource.is_guessed && issuer.issuer.strip_suffix('/') == Some(&resource.issuer);
        if !is_same {
            return Err(AuthorizationError::OtherIssuer {
                wanted: resource.issuer,
                found: crate::shown::shown(&issuer.issuer),
            });
        }
        self.settle(resource, issuer, is_assumed)
    }

    /// Checks that the issuer supports what is needed, then identifies the client.
    fn settle(&self, resource: Resource, issuer: AuthorizationServer, is_assumed: bool) -> Next {
        let lacks = |lacks: &str| AuthorizationError::Unsupported {
            issuer: issuer.issuer.clone(),
            lacks: lacks.to_owned(),
        };
        let token_endpoint = match &issuer.token_endpoint {
            Some(endpoint) => self.endpoint(&issuer.issuer, "the token endpoint", endpoint)?,
            None => return Err(lacks("has no token endpoint")),
        };
        let is_person = matches!(self.plan.way, Way::Person { .. });
        if is_person && !issuer.has_s256() {
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
        let bound = resource.wants_bound || can_bind && (resource.takes_bound || self.plan.bound);
        let scopes = self.scopes(&resource, &issuer)?;
        let site = Site {
            resource,
            issuer,
            token_endpoint,
            is_assumed,
            scopes,
            bound,
        };
        self.identify(site)
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
        for more in before.into_iter().chain([&self.plan.scopes]) {
            scopes = more.union(&scopes).map_err(|bad| wrong(SERVER, bad))?;
        }
        let is_person = matches!(self.plan.way, Way::Person { .. });
        if is_person && issuer.lists_scope(OFFLINE) {
            scopes.insert(OFFLINE).map_err(|bad| wrong(SERVER, bad))?;
        }
        Ok((!scopes.is_empty()).then_some(scopes))
    }

    /// The scopes that were requested from this issuer before. Other issuers do not see them:
    /// scopes have no meaning there and would reveal the first issuer.
    pub(super) fn asked_before(&self, issuer: &str) -> Option<&Scopes> {
        let before = self.plan.wanted.before.as_ref();
        let before = before.filter(|(asked, _)| asked == issuer);
        before.map(|(_, scopes)| scopes)
    }

    /// Chooses an issuer with which the client is registered by hand, or else the first.
    fn choose(&self, named: &[String]) -> Option<String> {
        let is_known = |issuer: &&String| {
            let mut clients = self.plan.clients.iter();
            clients.any(|client| client.issuer.as_ref() == Some(issuer))
        };
        named.iter().find(is_known).or(named.first()).cloned()
    }

    /// Whether a document describes this server: it names the server's URL or a parent path of it,
    /// and was found at the well-known URL of that name (RFC 9728, 3.3).
    fn describes(&self, document: &ProtectedResource, place: &str) -> bool {
        let server = &self.plan.server;
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

    /// Fetches a document. Only a URL that the server named itself may redirect to another origin.
    fn fetch(
        &self,
        what: &'static str,
        near: bool,
        places: Places,
        then: impl FnOnce(Places) -> State,
    ) -> Next {
        let url = self.url(what, &places.at)?;
        Ok((then(places), Action::Fetch(Fetch { what, url, near })))
    }
}

/// The error if a server requires a sign-in but names no authorization server.
pub(super) fn no_issuer() -> AuthorizationError {
    AuthorizationError::Fetch {
        what: SERVER,
        why: "no document at its origin names an authorization server".to_owned(),
    }
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
