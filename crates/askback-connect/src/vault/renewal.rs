//! When tokens are renewed, and who asks the provider for others.

use std::time::Duration;

use askback_core::{ask::Millis, auth::Scopes, future::BoxFuture};
use askback_oauth::Secret;

use super::account::{AccountKey, AccountState};
use super::credential::Grant;
use super::settings::after;
use super::store::VaultRecord;

/// Asks a provider for new tokens.
pub trait Renewer: Send + Sync + 'static {
    /// Sends the refresh token of an account to its provider.
    fn renew<'a>(
        &'a self,
        account: &'a AccountKey,
        refresh: &'a Secret,
    ) -> BoxFuture<'a, Result<Grant, RenewalError>>;

    /// Asks the provider once more whether it takes an access token or a key, at a place that takes each one that is good.
    /// By default there is no such place.
    fn look_again<'a>(
        &'a self,
        _account: &'a AccountKey,
        _secret: &'a Secret,
    ) -> BoxFuture<'a, SecondLook> {
        Box::pin(async { SecondLook::Nowhere })
    }

    /// Returns the scopes of new tokens for which a provider names `answered`, in the words of `before`. By default they are
    /// what it names. The vault keeps none that was not there before.
    fn scopes_left(&self, _provider: &str, _before: &Scopes, answered: &Scopes) -> Scopes {
        answered.clone()
    }
}

/// Why there are no new tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum RenewalError {
    /// The provider takes the refresh token for no longer good (`invalid_grant`).
    Refused,
    /// The provider could not be reached, or cannot do it now.
    Failed {
        /// How long it wants to be left alone, where it says so. It is, but no longer than
        /// [`VaultSettings::longest_cooldown`](super::VaultSettings::longest_cooldown).
        retry_after: Option<Duration>,
    },
}

/// The word of a provider on a secret that one of its addresses refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondLook {
    /// There is no place where it can be asked.
    Nowhere,
    /// It refuses the secret there, too.
    Refused,
    /// It does not, or gives no answer.
    NotRefused,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Use,
    /// Its token is to be renewed, unless somebody else is quicker.
    Renew,
    Wait,
    Reconnect,
    /// Nobody can help before this moment.
    Unavailable(Millis),
}

/// Says what to do about a record, of which a token is renewed so long before its end.
pub(super) fn decide(record: &VaultRecord, now: Millis, margin: Duration) -> Step {
    if record.state == AccountState::NeedsReconnect {
        return Step::Reconnect;
    }
    let Some(expires) = record.expires else {
        return Step::Use;
    };
    // A token that lasts for a minute is not renewed all the time.
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
