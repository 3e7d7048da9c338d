//! Authorization servers of third parties.

use askback_core::auth::{AuthorizationError, AuthorizationServer};
use url::Url;

use crate::{
    fetch::{Answer, Fetcher, Redirects, document},
    reach::{Reach, is_plain},
    shape::AnswerShape,
    shown::shown,
};

/// The authorization server of a third party: its name and its endpoints, found by
/// [`Provider::discover`] or given by hand to [`Provider::new`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<Url>,
    pub(crate) token_endpoint: Url,
    pub(crate) revocation_endpoint: Option<Url>,
    pub(crate) device_endpoint: Option<Url>,
    pub(crate) names_issuer: bool,
    /// How it lets a client show who it is, where it says so.
    pub(crate) methods: Option<Vec<String>>,
    /// How its answers differ from those of the standard.
    pub(crate) shape: AnswerShape,
}

impl Provider {
    /// Creates a provider from what the operator knows of it. `issuer` is its name: what it calls
    /// itself in its answers, where it does (`iss`), and whom a client that signs for itself
    /// addresses.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Url`] where a URL is neither `https` nor on this machine, or is written
    /// otherwise than a browser would write it.
    pub fn new(
        issuer: impl Into<String>,
        authorization_endpoint: &str,
        token_endpoint: &str,
    ) -> Result<Self, AuthorizationError> {
        Ok(Self {
            issuer: issuer.into(),
            authorization_endpoint: Some(browsed(&Reach::anywhere(), authorization_endpoint)?),
            token_endpoint: endpoint(&Reach::anywhere(), TOKEN_ENDPOINT, token_endpoint)?,
            revocation_endpoint: None,
            device_endpoint: None,
            names_issuer: false,
            methods: None,
            shape: AnswerShape::default(),
        })
    }

    /// Fetches the document in which the issuer of this name describes itself (RFC 8414, or OpenID
    /// Connect Discovery), and takes it only if it is about this very issuer. What it names must be
    /// within reach of `fetcher`.
    ///
    /// PKCE is used whether or not the document announces it.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError`] where there is no document, or it cannot be used.
    pub async fn discover(fetcher: &Fetcher, issuer: &str) -> Result<Self, AuthorizationError> {
        let places = AuthorizationServer::well_known(issuer);
        let places = places.map_err(|bad| AuthorizationError::Document {
            what: ISSUER,
            why: bad.to_string(),
        })?;
        for place in places {
            let url = endpoint(fetcher.reach(), ISSUER, &place)?;
            let fetched = fetcher.get(&url, Redirects::SameOrigin).await;
            let read = document::<AuthorizationServer>(ISSUER, fetched.map(Answer::from));
            let Some(document) = read? else {
                // It stands elsewhere, if anywhere.
                continue;
            };
            if document.issuer != issuer {
                return Err(AuthorizationError::OtherIssuer {
                    wanted: issuer.to_owned(),
                    found: shown(&document.issuer),
                });
            }
            return Self::of(fetcher.reach(), document);
        }
        Err(AuthorizationError::Fetch {
            what: ISSUER,
            why: "no JSON document is at any of the well-known places".to_owned(),
        })
    }

    fn of(reach: &Reach, document: AuthorizationServer) -> Result<Self, AuthorizationError> {
        let at = |what, url: Option<&String>| url.map(|url| endpoint(reach, what, url)).transpose();
        let lacks = AuthorizationError::Unsupported {
            issuer: document.issuer.clone(),
            lacks: "has no token endpoint".to_owned(),
        };
        let browsed = document.authorization_endpoint.as_deref();
        Ok(Self {
            authorization_endpoint: browsed.map(|url| self::browsed(reach, url)).transpose()?,
            token_endpoint: at(TOKEN_ENDPOINT, document.token_endpoint.as_ref())?.ok_or(lacks)?,
            revocation_endpoint: at(REVOCATION_ENDPOINT, document.revocation_endpoint.as_ref())?,
            device_endpoint: at(
                DEVICE_ENDPOINT,
                document.device_authorization_endpoint.as_ref(),
            )?,
            names_issuer: document.authorization_response_iss_parameter_supported,
            methods: document.token_endpoint_auth_methods_supported,
            shape: AnswerShape::default(),
            issuer: document.issuer,
        })
    }

    /// Sets where tokens are given back (RFC 7009).
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Url`] as for [`Provider::new`].
    pub fn revocation_endpoint(mut self, url: &str) -> Result<Self, AuthorizationError> {
        self.revocation_endpoint = Some(endpoint(&Reach::anywhere(), REVOCATION_ENDPOINT, url)?);
        Ok(self)
    }

    /// Sets where a device asks for its codes (RFC 8628).
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Url`] as for [`Provider::new`].
    pub fn device_endpoint(mut self, url: &str) -> Result<Self, AuthorizationError> {
        self.device_endpoint = Some(endpoint(&Reach::anywhere(), DEVICE_ENDPOINT, url)?);
        Ok(self)
    }

    /// Reads the scopes in its answers with commas between them, as some providers write them.
    #[must_use]
    pub fn comma_scopes(mut self) -> Self {
        self.shape.has_commas = true;
        self
    }

    /// Takes tokens of this type for tokens that are sent as `Bearer`, for providers that name them
    /// otherwise.
    #[must_use]
    pub fn token_type(mut self, name: impl Into<String>) -> Self {
        self.shape.types.push(name.into());
        self
    }

    /// Sets where in the answer to a code the tokens are (RFC 6901), for providers that give several
    /// at once. There are none where the answer holds nothing there. The answer to a renewal holds
    /// them at its top.
    #[must_use]
    pub fn code_tokens_at(mut self, pointer: impl Into<String>) -> Self {
        self.shape.code_tokens_at = Some(pointer.into());
        self
    }

    /// Sets how the token endpoint lets a client show who it is, by the names of RFC 8414
    /// (`token_endpoint_auth_methods_supported`). A secret is sent by `client_secret_basic` or
    /// `client_secret_post`, whichever is listed first.
    #[must_use]
    pub fn client_methods<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.methods = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Requires each answer to name this issuer (RFC 9207). One that names another is never taken.
    #[must_use]
    pub fn require_issuer(mut self) -> Self {
        self.names_issuer = true;
        self
    }

    /// Whether it takes tokens back (RFC 7009).
    #[must_use]
    pub fn takes_tokens_back(&self) -> bool {
        self.revocation_endpoint.is_some()
    }

    /// Returns the name of the issuer.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }
}

const ISSUER: &str = "the authorization server's metadata";
const AUTHORIZATION_ENDPOINT: &str = "the authorization endpoint";
const TOKEN_ENDPOINT: &str = "the token endpoint";
const REVOCATION_ENDPOINT: &str = "the revocation endpoint";
const DEVICE_ENDPOINT: &str = "the device authorization endpoint";

fn endpoint(reach: &Reach, what: &'static str, url: &str) -> Result<Url, AuthorizationError> {
    let bad = || AuthorizationError::Url {
        what,
        url: shown(url),
    };
    reach.url(url).ok_or_else(bad)
}

/// The same for one that a browser opens.
fn browsed(reach: &Reach, url: &str) -> Result<Url, AuthorizationError> {
    let read = endpoint(reach, AUTHORIZATION_ENDPOINT, url)?;
    match is_plain(url) {
        true => Ok(read),
        false => Err(AuthorizationError::Url {
            what: AUTHORIZATION_ENDPOINT,
            url: shown(url),
        }),
    }
}
