//! When to renew tokens, and the interface to the provider.

use std::time::Duration;

use askback_core::{ask::Millis, auth::Scopes, future::BoxFuture};
use askback_oauth::Secret;

use super::account::{AccountKey, AccountState};
use super::credential::Grant;
use super::settings::after;
use super::store::VaultRecord;

/// Requests new tokens from a provider.
pub trait Renewer: Send + Sync + 'static {
    /// Sends the refresh token of an account to its provider.
    fn renew<'a>(
        &'a self,
        account: &'a AccountKey,
        refresh: &'a Secret,
    ) -> BoxFuture<'a, Result<Grant, RenewalError>>;

    /// Translates the scopes of new tokens from the provider's `answered` to the form of `before`. By default they are
    /// the same. The vault never stores a scope that is not in `before`.
    fn scopes_left(&self, _provider: &str, _before: &Scopes, answered: &Scopes) -> Scopes {
        answered.clone()
    }
}

/// Why there are no new tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenewalError {
    /// The provider rejected the refresh token as invalid (`invalid_grant`).
    Refused,
    /// The provider is unreachable or temporarily unable.
    Failed {
        /// The pause that the provider asks for, if any. It is observed up to
        /// [`VaultSettings::longest_cooldown`](super::VaultSettings::longest_cooldown).
        retry_after: Option<Duration>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Use,
    /// Renew the token, unless another task does it first.
    Renew,
    Wait,
    Reconnect,
    Unavailable(Millis),
}

/// Decides what to do with a record. Its token is renewed `margin` before it expires.
pub(super) fn decide(record: &VaultRecord, now: Millis, margin: Duration) -> Step {
    if record.state == AccountState::NeedsReconnect {
        return Step::Reconnect;
    }
    let Some(expires) = record.expires else {
        return Step::Use;
    };
    // Do not renew short-lived tokens all the time.
    let lasts = Duration::from_millis(expires.saturating_sub(record.obtained));
    let margin = margin.min(lasts / 4);
    if after(now, margin) < expires {
        return Step::Use;
    }
    let or_use = |step| if now < expires { Step::Use } else { step };
    if record.sealed.refresh.is_none() {
        return or_use(Step::Reconnect);
    }
    match (record.state, record.lease) {
        (AccountState::CoolingDown { until, .. }, _) if now < until => {
            or_use(Step::Unavailable(until))
        }
        (_, Some(lease)) if now < lease.until => or_use(Step::Wait),
        _ => Step::Renew,
    }
}
