use askback_core::auth::{AuthorizationError, AuthorizationServer};
use url::Url;

use crate::{
    fetch::{Fetcher, Redirects, first_document, no_document},
    reach::{Reach, is_plain},
    shape::AnswerShape,
    shown::shown,
};

/// The authorization server of a third party: its name and its endpoints. Use
/// [`Provider::discover`] or [`Provider::new`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provider {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<Url>,
    pub(crate) token_endpoint: Url,
    pub(crate) revocation_endpoint: Option<Url>,
    pub(crate) names_issuer: bool,
    pub(crate) methods: Option<Vec<String>>,
    pub(crate) shape: AnswerShape,
}

impl Provider {
    /// Creates a provider that the operator configured. `issuer` is its name: the `iss` value of
    /// its answers, if any, and the audience of client assertions.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Url`] if a URL is neither `https` nor on this machine, or is not in
    /// the normal form that browsers write.
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
            names_issuer: false,
            methods: None,
            shape: AnswerShape::default(),
        })
    }

    /// Fetches the metadata of the issuer with this name (RFC 8414, or OpenID Connect Discovery)
    /// and checks that it describes this issuer. `fetcher` must be allowed to reach the URLs in it.
    ///
    /// PKCE is used even if the metadata does not list it.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError`] if there is no usable metadata.
    pub async fn discover(fetcher: &Fetcher, issuer: &str) -> Result<Self, AuthorizationError> {
        let places = AuthorizationServer::well_known(issuer);
        let places = places.map_err(|bad| AuthorizationError::Document {
            what: ISSUER,
            why: bad.to_string(),
        })?;
        let url = |place: &str| endpoint(fetcher.reach(), ISSUER, place);
        let redirects = Redirects::SameOrigin;
        let found = first_document(fetcher, ISSUER, places, redirects, url).await?;
        let (document, _): (AuthorizationServer, _) = found.ok_or_else(|| no_document(ISSUER))?;
        if document.issuer != issuer {
            return Err(AuthorizationError::OtherIssuer {
                wanted: issuer.to_owned(),
                found: shown(&document.issuer),
            });
        }
        Self::of(fetcher.reach(), document)
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
            names_issuer: document.authorization_response_iss_parameter_supported,
            methods: document.token_endpoint_auth_methods_supported,
            shape: AnswerShape::default(),
            issuer: document.issuer,
        })
    }

    /// Sets the revocation endpoint (RFC 7009).
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Url`] as for [`Provider::new`].
    pub fn revocation_endpoint(mut self, url: &str) -> Result<Self, AuthorizationError> {
        self.revocation_endpoint = Some(endpoint(&Reach::anywhere(), REVOCATION_ENDPOINT, url)?);
        Ok(self)
    }

    /// Sets how responses of its token endpoint differ from RFC 6749.
    #[must_use]
    pub fn answers(mut self, shape: AnswerShape) -> Self {
        self.shape = shape;
        self
    }

    /// Sets the supported methods of client authentication, by their names in RFC 8414
    /// (`token_endpoint_auth_methods_supported`). A secret is sent by `client_secret_basic` or
    /// `client_secret_post`, whichever is listed first.
    #[must_use]
    pub fn client_methods<T: Into<String>>(mut self, names: impl IntoIterator<Item = T>) -> Self {
        self.methods = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Requires each answer to name this issuer (RFC 9207). An answer that names another is always
    /// rejected.
    #[must_use]
    pub fn require_issuer(mut self) -> Self {
        self.names_issuer = true;
        self
    }

    /// Returns whether it can revoke tokens (RFC 7009).
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

fn endpoint(reach: &Reach, what: &'static str, url: &str) -> Result<Url, AuthorizationError> {
    let bad = || AuthorizationError::Url {
        what,
        url: shown(url),
    };
    reach.url(url).ok_or_else(bad)
}

/// Like [`endpoint`], for the authorization endpoint, which a browser opens.
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
