use std::{fmt, sync::Arc};

use askback_core::{auth::AuthorizationError, clock::Clock};
use url::Url;

use crate::{
    Secret,
    clock::SystemClock,
    code::AuthorizationCode,
    fetch::{Answer, Fetcher, fetch_failed},
    identity::{Client, RegisteredClient},
    provider::Provider,
    token::{self, Form, TokenRequest, Tokens},
};

/// The token endpoint of a [`Provider`], used by one client. The client authenticates with a secret
/// (`client_secret_basic` or `client_secret_post`, as the provider supports), with a key
/// (`private_key_jwt`), or not at all.
#[derive(Clone)]
pub struct TokenEndpoint {
    pub(crate) fetcher: Fetcher,
    pub(crate) provider: Provider,
    client: Client,
    clock: Arc<dyn Clock>,
}

impl TokenEndpoint {
    /// Creates the endpoint for a client that is registered with the provider.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::NotRegisteredThere`] if the client belongs to another issuer.
    pub fn new(
        fetcher: &Fetcher,
        provider: &Provider,
        client: &RegisteredClient,
    ) -> Result<Self, AuthorizationError> {
        if let Some(registered) = client.issuer.as_ref().filter(|it| **it != provider.issuer) {
            return Err(AuthorizationError::NotRegisteredThere {
                registered: registered.clone(),
                wanted: provider.issuer.clone(),
            });
        }
        Ok(Self {
            fetcher: fetcher.clone(),
            client: Client::by_hand(client, provider.methods.as_deref()),
            provider: provider.clone(),
            clock: Arc::new(SystemClock),
        })
    }

    /// Sets the clock. The default is the system clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Clock) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Exchanges a code for tokens (RFC 6749, 4.1.3).
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Refused`] if the provider refuses, [`AuthorizationError::Fetch`] if it
    /// is unreachable, and [`AuthorizationError::Busy`] if it cannot answer now: the code
    /// may be used up then.
    pub async fn exchange(&self, code: AuthorizationCode) -> Result<Tokens, AuthorizationError> {
        let pointer = self.provider.shape.code_tokens_at.as_deref();
        self.tokens(code.form(), pointer).await
    }

    /// Renews tokens with a refresh token (RFC 6749, 6). Providers may allow each refresh token
    /// only once, so two tasks or processes must never renew with the same one at the same time.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Refused`] if the provider refuses, so that the user has to consent
    /// again, [`AuthorizationError::Fetch`] if it is unreachable, and [`AuthorizationError::Busy`]
    /// if it cannot answer now.
    pub async fn refresh(&self, refresh_token: &Secret) -> Result<Tokens, AuthorizationError> {
        let form = Form::default()
            .with("grant_type", "refresh_token")
            .with_secret("refresh_token", refresh_token.clone());
        self.tokens(form, None).await
    }

    /// Revokes a token (RFC 7009). Revoking a refresh token also revokes the access tokens made
    /// from it.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Unsupported`] if the provider has no revocation endpoint,
    /// [`AuthorizationError::Refused`] if it refuses, and [`AuthorizationError::Fetch`] if it is
    /// unreachable.
    pub async fn revoke(&self, token: &Secret) -> Result<(), AuthorizationError> {
        const WHAT: &str = "the revocation";
        let endpoint = self.provider.revocation_endpoint.clone();
        let endpoint = endpoint.ok_or_else(|| AuthorizationError::Unsupported {
            issuer: self.provider.issuer.clone(),
            lacks: "takes no tokens back".to_owned(),
        })?;
        let form = Form::default().with_secret("token", token.clone());
        let answer = self.post(endpoint, form, WHAT).await?;
        match answer.is_success() {
            true => Ok(()),
            false => Err(token::refused(WHAT, &answer)),
        }
    }

    pub(crate) async fn tokens(
        &self,
        form: Form,
        at: Option<&str>,
    ) -> Result<Tokens, AuthorizationError> {
        let endpoint = self.provider.token_endpoint.clone();
        let mut answer = self.post(endpoint, form, token::WHAT).await?;
        answer.json = answer
            .json
            .map(|json| self.provider.shape.straightened(json, at));
        token::granted(answer, false, self.now())
    }

    pub(crate) async fn post(
        &self,
        endpoint: Url,
        form: Form,
        what: &'static str,
    ) -> Result<Answer, AuthorizationError> {
        let request = TokenRequest {
            endpoint,
            issuer: self.provider.issuer.clone(),
            client: self.client.clone(),
            form,
        };
        let (headers, form) = token::dress(&request, self.now())?;
        let posted = self.fetcher.post_form(&request.endpoint, headers, form);
        let fetched = posted.await.map_err(fetch_failed(what))?;
        Ok(fetched.into())
    }

    fn now(&self) -> u64 {
        self.clock.now() / 1000
    }
}

impl fmt::Debug for TokenEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenEndpoint")
            .field("issuer", &self.provider.issuer)
            .field("client", &self.client.id)
            .finish_non_exhaustive()
    }
}
