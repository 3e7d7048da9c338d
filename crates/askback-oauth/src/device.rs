//! The device authorization grant: the user authorizes a program on another screen (RFC 8628).

use std::time::Duration;

use askback_core::{
    ask::Millis,
    auth::{AuthorizationError, Scopes},
    json,
};
use serde::Deserialize;
use url::Url;

use crate::{
    Secret, TokenEndpoint, Tokens,
    fetch::Answer,
    reach::is_plain,
    token::{Form, refused},
};

const WHAT: &str = "the device authorization";

/// The time between two polls if the provider sets none (RFC 8628, 3.2).
const INTERVAL: Duration = Duration::from_secs(5);

/// Added to the interval for each `slow_down` (RFC 8628, 3.5).
const SLOWER: Duration = Duration::from_secs(5);

const LEAST_INTERVAL: Duration = Duration::from_secs(1);

const MOST_INTERVAL: Duration = Duration::from_secs(300);

/// The maximum length of a user code, in bytes.
const MOST_CODE: usize = 64;

/// The codes of a device: one that the user types, and one that the program polls with.
///
/// The user code is not bound to a person: anyone who types it authorizes this program. So show it
/// only to the user whose tokens you want.
#[derive(Clone)]
pub struct DeviceAuthorization {
    device_code: Secret,
    user_code: String,
    page: Url,
    page_with_code: Option<Url>,
    expires: Millis,
    interval: Duration,
    next: Millis,
}

/// The state of a device authorization.
#[derive(Debug)]
#[non_exhaustive]
pub enum DevicePoll {
    /// The user has not answered yet.
    Pending {
        /// The earliest time of the next poll. The provider is not asked before.
        next: Millis,
    },
    /// The user agreed.
    Granted(Tokens),
}

/// The response of a device authorization endpoint (RFC 8628, 3.2).
#[derive(Deserialize)]
struct DeviceAnswer {
    device_code: String,
    user_code: String,
    verification_uri: String,
    verification_uri_complete: Option<String>,
    #[serde(default, deserialize_with = "json::seconds")]
    expires_in: Option<u64>,
    #[serde(default, deserialize_with = "json::seconds")]
    interval: Option<u64>,
}

impl TokenEndpoint {
    /// Requests the codes of a device (RFC 8628, 3.1).
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Unsupported`] if the provider has no device endpoint,
    /// [`AuthorizationError::Refused`] if it refuses, and [`AuthorizationError::Document`] if its
    /// response cannot be shown to a user.
    pub async fn begin_device(
        &self,
        scopes: Option<&Scopes>,
        now: Millis,
    ) -> Result<DeviceAuthorization, AuthorizationError> {
        let endpoint = self.provider.device_endpoint.clone();
        let endpoint = endpoint.ok_or_else(|| AuthorizationError::Unsupported {
            issuer: self.provider.issuer.clone(),
            lacks: "has no device authorization endpoint".to_owned(),
        })?;
        let form = Form::default().with_scopes(scopes);
        let answer = self.post(endpoint, form, WHAT).await?;
        let says_no = answer
            .json
            .as_ref()
            .is_some_and(|it| it["error"].is_string());
        if !answer.is_success() || says_no {
            return Err(refused(WHAT, &answer));
        }
        self.read(answer, now)
    }

    /// Polls for the user's answer (RFC 8628, 3.4), unless it is too early. If the provider is
    /// unreachable, the next poll is delayed.
    ///
    /// # Errors
    ///
    /// [`AuthorizationError::Refused`] if the user refused (`access_denied`) or the codes have
    /// expired (`expired_token`).
    pub async fn poll_device(
        &self,
        device: &mut DeviceAuthorization,
        now: Millis,
    ) -> Result<DevicePoll, AuthorizationError> {
        if now >= device.expires {
            return Err(AuthorizationError::Refused {
                what: WHAT,
                code: "expired_token".to_owned(),
                description: String::new(),
            });
        }
        if now < device.next {
            return Ok(DevicePoll::Pending { next: device.next });
        }
        let form = Form::default()
            .with("grant_type", "urn:ietf:params:oauth:grant-type:device_code")
            .with_secret("device_code", device.device_code.clone());
        match self.tokens(form, None).await {
            Ok(tokens) => return Ok(DevicePoll::Granted(tokens)),
            Err(AuthorizationError::Refused { code, .. }) if code == "authorization_pending" => {}
            Err(AuthorizationError::Refused { code, .. }) if code == "slow_down" => {
                device.interval += SLOWER;
            }
            Err(AuthorizationError::Fetch { .. } | AuthorizationError::Busy { .. }) => {
                device.interval *= 2;
            }
            Err(error) => return Err(error),
        }
        device.interval = device.interval.min(MOST_INTERVAL);
        device.next = after(now, device.interval);
        Ok(DevicePoll::Pending { next: device.next })
    }

    fn read(&self, answer: Answer, now: Millis) -> Result<DeviceAuthorization, AuthorizationError> {
        let wrong = || AuthorizationError::Document {
            what: WHAT,
            why: "the answer holds no codes that can be shown".to_owned(),
        };
        let given: DeviceAnswer =
            json::document(answer.json.unwrap_or_default()).map_err(|_| wrong())?;
        let expires_in = given.expires_in.ok_or_else(wrong)?;
        let may_be_shown = |code: &str| {
            let is_ascii = code
                .bytes()
                .all(|byte| byte == b' ' || byte.is_ascii_graphic());
            !code.trim().is_empty() && code.len() <= MOST_CODE && is_ascii
        };
        let page = |raw: &str| {
            let url = self.fetcher.reach().url(raw);
            url.filter(|_| is_plain(raw))
        };
        if !may_be_shown(&given.user_code) || given.device_code.is_empty() {
            return Err(wrong());
        }
        let interval = given.interval.map_or(INTERVAL, Duration::from_secs);
        let interval = interval.clamp(LEAST_INTERVAL, MOST_INTERVAL);
        Ok(DeviceAuthorization {
            device_code: Secret::new(given.device_code),
            user_code: given.user_code,
            page: page(&given.verification_uri).ok_or_else(wrong)?,
            page_with_code: given.verification_uri_complete.as_deref().and_then(page),
            expires: now.saturating_add(expires_in.saturating_mul(1000)),
            interval,
            next: after(now, interval),
        })
    }
}

impl DeviceAuthorization {
    /// Returns the code for the user to type.
    #[must_use]
    pub fn user_code(&self) -> &str {
        &self.user_code
    }

    /// Returns the page on which the user types it.
    #[must_use]
    pub fn page(&self) -> &Url {
        &self.page
    }

    /// Returns the page with the code in its URL, if the provider has one. Show it as a QR code.
    #[must_use]
    pub fn page_with_code(&self) -> Option<&Url> {
        self.page_with_code.as_ref()
    }

    /// Returns when the codes expire.
    #[must_use]
    pub fn expires(&self) -> Millis {
        self.expires
    }

    /// Returns the earliest time of the next poll.
    #[must_use]
    pub fn next(&self) -> Millis {
        self.next
    }
}

askback_core::debug_only!(DeviceAuthorization { expires, next });

fn after(now: Millis, duration: Duration) -> Millis {
    let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    now.saturating_add(milliseconds)
}
