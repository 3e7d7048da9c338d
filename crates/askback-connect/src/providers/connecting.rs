use askback_core::auth::Scopes;
use askback_oauth::{
    AuthorizationError, AuthorizationRequest, Fetcher, PendingAuthorization, Secret, TokenEndpoint,
    Tokens,
};
use serde::{Deserialize, Serialize};
use url::Url;

use super::account::{AccountIdentity, IdentityError};
use super::error::ConnectError;
use super::scopes::ScopeRules;
use super::third_party::{Means, ThirdParty};
use crate::pending;
use crate::vault::Grant;
use askback_core::debug_only;

/// The error code if the user refuses (RFC 6749, 4.1.2.1).
const DENIED: &str = "access_denied";

/// A request at a third party that was not answered yet: what is needed to check the answer.
///
/// It is secret. If another process may receive the answer, use [`write`](Self::write) and [`read`](Self::read). Keep
/// it where only the browser that started it can use it, such as in a sealed cookie.
#[derive(Debug)]
pub struct PendingConnection(pub(crate) ConnectionRequest);

/// The serialized form. Private, so that only `write` can serialize a request.
#[derive(Serialize, Deserialize)]
pub(crate) struct ConnectionRequest {
    pub(crate) pending: PendingAuthorization,
    provider: String,
    asked: Scopes,
    kept: Scopes,
}

/// A connected account: its id, and the credentials for the vault.
pub struct AccountGrant {
    /// The id of the account, which never changes. If no id is configured for the third party, this is the name.
    pub account: String,
    /// The tokens or the key, the granted scopes and the account's name.
    pub granted: Grant,
}

impl AccountGrant {
    /// Returns the account's name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.granted.name.as_deref().unwrap_or(&self.account)
    }
}

impl ThirdParty {
    /// Starts to connect an account, with these scopes in addition to the default ones. Returns the URL to open in the
    /// user's browser, and the state to keep until it returns to the redirect URI.
    ///
    /// # Errors
    ///
    /// [`ConnectError::OtherWay`] if the third party does not connect accounts by redirect, and
    /// [`ConnectError::Authorization`] if the redirect URI is not allowed.
    pub fn begin(
        &self,
        scopes: &Scopes,
        redirect_uri: &str,
    ) -> Result<(Url, PendingConnection), ConnectError> {
        self.begin_keeping(scopes, &Scopes::new(), redirect_uri)
    }

    /// Starts to extend the scopes of a connected account. Its current scopes are requested too, because the new grant
    /// replaces the old one. It is no error if the provider does not grant them again.
    ///
    /// # Errors
    ///
    /// As [`ThirdParty::begin`].
    pub fn begin_keeping(
        &self,
        scopes: &Scopes,
        kept: &Scopes,
        redirect_uri: &str,
    ) -> Result<(Url, PendingConnection), ConnectError> {
        let oauth = self.as_oauth()?;
        let inner = &self.inner;
        let asked = inner.scopes.union(scopes)?;
        let all = asked.union(kept)?;
        let mut request =
            AuthorizationRequest::new(&oauth.provider, oauth.client.id(), redirect_uri)?;
        if !all.is_empty() {
            request = request.parameter(&inner.rules.parameter, inner.rules.written(&all));
        }
        for (name, value) in &inner.parameters {
            request = request.parameter(name, value);
        }
        let (url, pending) = request.begin()?;
        let pending = ConnectionRequest {
            pending,
            provider: inner.name.clone(),
            asked,
            kept: kept.clone(),
        };
        Ok((url, PendingConnection(pending)))
    }

    /// Finishes with the whole URL that the browser returned to: checks the answer, exchanges the code, and reads the
    /// account's identity. Each request to the provider has the fetcher's timeout.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Declined`] if the user refused, [`ConnectError::FewerScopes`] if they granted less,
    /// [`ConnectError::Incomplete`] if there are tokens but the account's identity is unknown, and others if the answer
    /// is not accepted or the provider fails. The code is used up then.
    pub async fn finish(
        &self,
        fetcher: &Fetcher,
        pending: PendingConnection,
        redirected: &str,
    ) -> Result<AccountGrant, ConnectError> {
        let oauth = self.as_oauth()?;
        let PendingConnection(pending) = pending;
        if pending.provider != self.inner.name {
            return Err(ConnectError::OtherProvider {
                provider: self.inner.name.clone(),
            });
        }
        let endpoint = TokenEndpoint::new(fetcher, &oauth.provider, &oauth.client)?;
        let code = pending.pending.accept(redirected);
        let code = code.map_err(|error| self.said_no(error))?;
        let tokens = endpoint.exchange(code).await?;
        let (asked, kept) = (&pending.asked, &pending.kept);
        self.connected(fetcher, tokens, asked, kept).await
    }

    /// Accepts a key that the user entered, if the third party does.
    ///
    /// # Errors
    ///
    /// [`ConnectError::KeyRefused`] if the third party rejects it, or if the text is not a key.
    pub async fn accept_key(
        &self,
        fetcher: &Fetcher,
        entered: &Secret,
    ) -> Result<AccountGrant, ConnectError> {
        let inner = &self.inner;
        let Means::ApiKey(key) = &inner.means else {
            return Err(self.other_way());
        };
        let (key, headers) = key.checked(fetcher, &inner.name, entered).await?;
        let account = inner.account.with_headers(fetcher, headers).await;
        let AccountIdentity { id, name } = account.map_err(|why| self.unnamed(why))?;
        Ok(AccountGrant {
            account: id,
            granted: Grant::api_key(key).name(name),
        })
    }

    /// Returns the account of new tokens if all required scopes were granted. The account's earlier scopes were
    /// requested too, but are not required.
    async fn connected(
        &self,
        fetcher: &Fetcher,
        tokens: Tokens,
        asked: &Scopes,
        kept: &Scopes,
    ) -> Result<AccountGrant, ConnectError> {
        let inner = &self.inner;
        let described = async {
            let granted = inner
                .rules
                .granted(&asked.union(kept)?, tokens.scopes.as_ref())?;
            let missing = ScopeRules::missing(asked, &granted)?;
            let account = inner.account.of_tokens(fetcher, &tokens).await;
            let account = account.map_err(|why| self.unnamed(why))?;
            Ok::<_, ConnectError>((account, granted, missing))
        };
        let (account, granted, missing) = match described.await {
            Ok(described) => described,
            Err(why) => {
                return Err(ConnectError::Incomplete {
                    granted: Box::new(tokens.into()),
                    why: Box::new(why),
                });
            }
        };
        let connected = AccountGrant {
            account: account.id,
            granted: Grant::from(tokens).scopes(granted).name(account.name),
        };
        match missing.is_empty() {
            true => Ok(connected),
            false => Err(ConnectError::FewerScopes {
                missing,
                connected: Box::new(connected),
            }),
        }
    }

    fn said_no(&self, error: AuthorizationError) -> ConnectError {
        match error {
            AuthorizationError::Refused { code, .. } if code == DENIED => ConnectError::Declined {
                provider: self.inner.name.clone(),
            },
            error => error.into(),
        }
    }

    fn unnamed(&self, why: IdentityError) -> ConnectError {
        let provider = self.inner.name.clone();
        match why {
            IdentityError::Fetch(why) => ConnectError::Fetch { provider, why },
            IdentityError::Setting(_) | IdentityError::NoIdToken => ConnectError::AccountSetting {
                provider,
                why: why.to_string(),
            },
            why => ConnectError::Account {
                provider,
                why: why.to_string(),
            },
        }
    }
}

impl PendingConnection {
    /// Returns the `state` parameter of the URL that the browser returns to.
    #[must_use]
    pub fn state(&self) -> &str {
        self.0.pending.state()
    }

    /// Returns the name of the third party.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.0.provider
    }

    /// Returns the scopes that must be granted.
    #[must_use]
    pub fn asked(&self) -> &Scopes {
        &self.0.asked
    }

    /// Serializes the request as one line of text. Store it as a secret.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`] if it cannot be serialized.
    pub fn write(&self) -> Result<Secret, AuthorizationError> {
        pending::write(&self.0)
    }

    /// Reads the output of [`PendingConnection::write`].
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`] if the text is not such an output.
    pub fn read(kept: &Secret) -> Result<Self, AuthorizationError> {
        pending::read(kept).map(Self)
    }
}

debug_only! {
    ConnectionRequest { provider, asked }
    AccountGrant { granted }
}
