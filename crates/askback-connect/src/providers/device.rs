use askback_core::{
    ask::{Millis, Principal},
    auth::Scopes,
};
use askback_oauth::{DeviceAuthorization, DevicePoll, Fetcher, TokenEndpoint};
use url::Url;

use super::connecting::AccountGrant;
use super::error::ConnectError;
use super::third_party::ThirdParty;
use crate::vault::{Vault, VaultError};

/// A device authorization that was not answered yet.
#[derive(Debug)]
pub struct PendingDevice {
    device: DeviceAuthorization,
    asked: Scopes,
}

/// The state of a [`PendingDevice`].
#[derive(Debug)]
#[non_exhaustive]
pub enum DeviceAnswer {
    /// The user has not answered yet.
    Pending {
        /// The earliest time of the next poll. The provider is not asked before.
        next: Millis,
    },
    /// The account is connected.
    Connected(AccountGrant),
}

impl ThirdParty {
    /// Starts to connect an account by the device flow, with these scopes in addition to the default ones.
    ///
    /// # Errors
    ///
    /// [`ConnectError::OtherWay`] if the third party does not use the device flow, and [`ConnectError::Authorization`]
    /// if the provider returns no code.
    pub async fn begin_device(
        &self,
        fetcher: &Fetcher,
        scopes: &Scopes,
        now: Millis,
    ) -> Result<PendingDevice, ConnectError> {
        let oauth = self.as_oauth(true)?;
        let asked = self.inner.scopes.union(scopes)?;
        let endpoint = TokenEndpoint::new(fetcher, &oauth.provider, &oauth.client)?;
        let scopes = Some(&asked).filter(|it| !it.is_empty());
        let device = endpoint.begin_device(scopes, now).await?;
        Ok(PendingDevice { device, asked })
    }

    /// Polls for the user's answer, unless it is too early. Tokens that cannot be kept are queued for revocation as
    /// tokens of the caller ([`Vault::discard`]).
    ///
    /// # Errors
    ///
    /// As for [`ThirdParty::finish`], but [`ConnectError::GivenBack`] if there are tokens that cannot be kept, and
    /// [`ConnectError::Authorization`] if the codes have expired.
    pub async fn poll_device(
        &self,
        fetcher: &Fetcher,
        vault: &Vault,
        caller: &Principal,
        pending: &mut PendingDevice,
        now: Millis,
    ) -> Result<DeviceAnswer, ConnectError> {
        let oauth = self.as_oauth(true)?;
        let endpoint = TokenEndpoint::new(fetcher, &oauth.provider, &oauth.client)?;
        let polled = endpoint.poll_device(&mut pending.device, now).await;
        match polled.map_err(|error| self.said_no(error))? {
            DevicePoll::Granted(tokens) => {
                let error = match self
                    .connected(fetcher, tokens, &pending.asked, &Scopes::new())
                    .await
                {
                    Ok(connected) => return Ok(DeviceAnswer::Connected(connected)),
                    Err(error) => error,
                };
                Err(self.given_back(error, vault, caller).await?)
            }
            _ => Ok(DeviceAnswer::Pending {
                next: pending.device.next(),
            }),
        }
    }

    /// Queues an error's tokens for revocation, and returns the error without them.
    async fn given_back(
        &self,
        error: ConnectError,
        vault: &Vault,
        caller: &Principal,
    ) -> Result<ConnectError, VaultError> {
        let why = error.to_string();
        match error {
            ConnectError::FewerScopes { connected, .. } => {
                let AccountGrant { account, granted } = *connected;
                vault
                    .discard(caller, self.name(), &account, granted)
                    .await?;
            }
            ConnectError::Incomplete { granted, .. } => {
                vault.discard_unnamed(caller, self.name(), *granted).await?;
            }
            error => return Ok(error),
        }
        Ok(ConnectError::GivenBack(why))
    }
}

impl PendingDevice {
    /// Returns the code for the user to type.
    #[must_use]
    pub fn user_code(&self) -> &str {
        self.device.user_code()
    }

    /// Returns the page on which the user types it.
    #[must_use]
    pub fn page(&self) -> &Url {
        self.device.page()
    }

    /// Returns when the code expires.
    #[must_use]
    pub fn expires(&self) -> Millis {
        self.device.expires()
    }

    /// Returns the earliest time of the next poll.
    #[must_use]
    pub fn next(&self) -> Millis {
        self.device.next()
    }
}
