//! Connecting an account: the way to the third party and back.

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

/// The word of an authorization server for a person who said no (RFC 6749, 4.1.2.1).
const DENIED: &str = "access_denied";

/// A request at a third party whose answer has not come yet: what is needed to check the answer.
///
/// It is secret. Where the answer may come to another process, it is written and read; and it is kept where only the
/// browser that it was begun for can use it, such as in a sealed cookie.
#[derive(Debug)]
pub struct PendingConnection(pub(crate) ConnectionRequest);

/// The same as it is written. It is not public, so that nothing else writes it.
#[derive(Serialize, Deserialize)]
pub(crate) struct ConnectionRequest {
    #[serde(with = "crate::pending")]
    pub(crate) pending: PendingAuthorization,
    provider: String,
    asked: Scopes,
    kept: Scopes,
}

/// An account that a person has connected: its id, and what goes into the vault.
pub struct AccountGrant {
    /// The id of the account, which never changes. It is the name where the third party is not known to tell an id.
    pub account: String,
    /// The tokens or the key, with the scopes that were granted and the name of the account for persons.
    pub granted: Grant,
}

impl AccountGrant {
    /// Returns the name of the account for persons.
    #[must_use]
    pub fn name(&self) -> &str {
        self.granted.name.as_deref().unwrap_or(&self.account)
    }
}

impl ThirdParty {
    /// Begins to connect an account, with these scopes beside the default ones. Returns the URL to send the person's
    /// browser to, and what to keep until it comes back to the redirect URI.
    ///
    /// # Errors
    ///
    /// [`ConnectError::OtherWay`] where accounts are connected in another way, and
    /// [`ConnectError::Authorization`] where the redirect URI may not be used.
    pub fn begin(
        &self,
        scopes: &Scopes,
        redirect_uri: &str,
    ) -> Result<(Url, PendingConnection), ConnectError> {
        self.begin_keeping(scopes, &Scopes::new(), redirect_uri)
    }

    /// Begins to connect an account that is connected already, for more scopes. Those that it has are asked for again, so
    /// that the new grant, which takes the place of the one before, has them too. It is no error where they are not granted.
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
        let oauth = self.as_oauth(false)?;
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

    /// Finishes with the whole URL that the browser came back to: checks the answer, exchanges the code, and asks
    /// whose account it is. Each request to the provider ends in the time that the fetcher has for one.
    ///
    /// # Errors
    ///
    /// [`ConnectError::Declined`] where the person said no, [`ConnectError::FewerScopes`] where they allowed less,
    /// [`ConnectError::Incomplete`] where tokens came and their account cannot be named, and others where the answer is not accepted or the provider fails. The code is used up then.
    pub async fn finish(
        &self,
        fetcher: &Fetcher,
        pending: PendingConnection,
        redirected: &str,
    ) -> Result<AccountGrant, ConnectError> {
        let oauth = self.as_oauth(false)?;
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

    /// Takes a key that the person entered, if the third party does.
    ///
    /// # Errors
    ///
    /// [`ConnectError::KeyRefused`] where it does not, or the text is no key.
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

    /// The account of new tokens, if they are good for all that was asked for. Beside that, scopes were asked for that the
    /// account had before.
    pub(super) async fn connected(
        &self,
        fetcher: &Fetcher,
        tokens: Tokens,
        asked: &Scopes,
        kept: &Scopes,
    ) -> Result<AccountGrant, ConnectError> {
        let described = self.described(fetcher, &tokens, asked, kept).await;
        let (account, granted, missing) = match described {
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

    /// The account of new tokens, the scopes that they have, and those that they lack.
    async fn described(
        &self,
        fetcher: &Fetcher,
        tokens: &Tokens,
        asked: &Scopes,
        kept: &Scopes,
    ) -> Result<(AccountIdentity, Scopes, Scopes), ConnectError> {
        let inner = &self.inner;
        let all = asked.union(kept)?;
        let granted = inner.rules.granted(&all, tokens.scopes.as_ref())?;
        let missing = ScopeRules::missing(asked, &granted)?;
        let account = inner.account.of_tokens(fetcher, tokens).await;
        let account = account.map_err(|why| self.unnamed(why))?;
        Ok((account, granted, missing))
    }

    pub(super) fn said_no(&self, error: AuthorizationError) -> ConnectError {
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
    /// Returns the state of the request: the parameter `state` of the URL that the browser comes back to.
    #[must_use]
    pub fn state(&self) -> &str {
        self.0.pending.state()
    }

    /// Returns the name of the third party.
    #[must_use]
    pub fn provider(&self) -> &str {
        &self.0.provider
    }

    /// Returns the scopes that were asked for and have to be granted.
    #[must_use]
    pub fn asked(&self) -> &Scopes {
        &self.0.asked
    }

    /// Writes it as one line of text, to be kept where secrets are.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`].
    pub fn write(&self) -> Result<Secret, AuthorizationError> {
        pending::write(&self.0)
    }

    /// Reads what [`PendingConnection::write`] wrote.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Store`] if it is not that.
    pub fn read(kept: &Secret) -> Result<Self, AuthorizationError> {
        pending::read(kept).map(Self)
    }
}

debug_only! {
    ConnectionRequest { provider, asked }
    AccountGrant { granted }
}
