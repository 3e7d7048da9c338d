//! Connecting an account by a code that the person types at another screen.

use askback_core::{ask::Millis, auth::Scopes};
use askback_oauth::{DeviceAuthorization, DevicePoll, Fetcher, TokenEndpoint};
use url::Url;

use super::connected::Connected;
use super::error::ConnectError;
use super::third_party::ThirdParty;

/// A device authorization that the person has not answered yet.
#[derive(Debug)]
pub struct PendingDevice {
    device: DeviceAuthorization,
    asked: Scopes,
}

/// The state of a [`PendingDevice`].
#[derive(Debug)]
#[non_exhaustive]
pub enum DeviceAnswer {
    /// The person has not answered yet.
    Pending {
        /// When to ask again; the provider is not asked before.
        next: Millis,
    },
    /// The account is connected.
    Connected(Connected),
}

impl ThirdParty {
    /// Begins to connect an account by the device flow, with these scopes beside the default ones.
    ///
    /// # Errors
    ///
    /// [`ConnectError::OtherWay`] where accounts are connected in another way, and
    /// [`ConnectError::Authorization`] where the provider gives no code.
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

    /// Asks whether the person has answered, unless it is too early for that.
    ///
    /// # Errors
    ///
    /// As for [`ThirdParty::finish`]; the codes that have ended are an [`ConnectError::Authorization`].
    pub async fn poll_device(
        &self,
        fetcher: &Fetcher,
        pending: &mut PendingDevice,
        now: Millis,
    ) -> Result<DeviceAnswer, ConnectError> {
        let oauth = self.as_oauth(true)?;
        let endpoint = TokenEndpoint::new(fetcher, &oauth.provider, &oauth.client)?;
        let polled = endpoint.poll_device(&mut pending.device, now).await;
        match polled.map_err(|error| self.said_no(error))? {
            DevicePoll::Granted(tokens) => {
                let connected = self.connected(fetcher, tokens, &pending.asked).await?;
                Ok(DeviceAnswer::Connected(connected))
            }
            _ => Ok(DeviceAnswer::Pending {
                next: pending.device.next(),
            }),
        }
    }
}

impl PendingDevice {
    /// Returns the code for the person to type.
    #[must_use]
    pub fn user_code(&self) -> &str {
        self.device.user_code()
    }

    /// Returns the page where the person types it.
    #[must_use]
    pub fn page(&self) -> &Url {
        self.device.page()
    }

    /// Returns when the code ends.
    #[must_use]
    pub fn expires(&self) -> Millis {
        self.device.expires()
    }

    /// Returns when the provider may be asked next.
    #[must_use]
    pub fn next(&self) -> Millis {
        self.device.next()
    }
}
