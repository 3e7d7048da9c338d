use askback_core::ask::Millis;

use super::account::{AccountKey, Holder};
use askback_core::debug_only;

/// An audit record: what happened to which account, and when. It contains no secret.
///
/// `Debug` does not print the user.
#[derive(Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// When it happened.
    pub at: Millis,
    /// The account. `None` for an event of the whole tenant.
    pub account: Option<AccountKey>,
    /// The tenant.
    pub tenant: Option<String>,
    /// The client that acted for the user, if any.
    pub client: Option<String>,
    /// The event.
    pub event: AuditEvent,
}

/// An audit record with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The number. Later records have larger numbers.
    pub number: u64,
    /// The record.
    pub record: AuditRecord,
}

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $name:literal,)*) => {
        /// An audited event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum AuditEvent {
            $($(#[$doc])* $event,)*
        }

        impl AuditEvent {
            /// Returns its name in databases, which is the same in every version.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$event => $name,)*
                }
            }

            /// Returns the event with this name.
            #[must_use]
            pub fn named(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$event),)*
                    _ => None,
                }
            }
        }
    };
}

events! {
    /// A credential was put into the vault.
    Granted = "granted",
    /// A credential was handed out.
    Used = "used",
    /// The provider issued new tokens.
    Renewed = "renewed",
    /// A renewal failed and may be retried later.
    RenewalFailed = "renewal failed",
    /// The provider rejected a refresh token as invalid.
    RenewalRefused = "renewal refused",
    /// The third party rejected a token that should be valid. The user has to connect the account again.
    TokenRejected = "token rejected",
    /// A credential was not handed out, because the user has to connect the account again.
    RefusedStale = "refused: stale",
    /// A credential was not handed out, because it cannot be renewed now.
    RefusedUnavailable = "refused: unavailable",
    /// A credential was not handed out, because its seal is invalid: it was altered, or belongs to another account.
    RefusedNotAuthentic = "refused: not authentic",
    /// Secrets were not sealed under a new key, because their seal is invalid: they were altered, or belong to another
    /// account.
    NotResealed = "not resealed",
    /// A user disconnected an account.
    Disconnected = "disconnected",
    /// The provider revoked tokens.
    Revoked = "revoked",
    /// There was nothing to revoke: the tokens had expired or were revoked before, or the provider has no revocation.
    NothingToRevoke = "nothing to revoke",
    /// A revocation failed and will be retried.
    RevocationFailed = "revocation failed",
    /// A revocation was postponed: the account is connected, and the provider would also revoke its current tokens.
    RevocationSpared = "revocation spared",
    /// A revocation was abandoned: too many are pending, or the provider was unreachable for a month.
    RevocationGivenUp = "revocation given up",
    /// A tenant was deleted with all its data.
    TenantDeleted = "tenant deleted",
    /// A user was given a link to a page.
    Asked = "asked",
    /// The user agreed on the page.
    Consented = "consented",
    /// The provider's answer arrived in the browser that was sent there.
    Answered = "answered",
    /// The provider granted what the user agreed to, and it was stored.
    Connected = "connected",
    /// The user declined on the page.
    Declined = "declined",
    /// A link on one machine was opened, and is now bound to that browser.
    Opened = "opened",
    /// The page was opened by another user than the one who was asked.
    WrongPerson = "wrong person",
    /// The page was opened in another browser than the one that has its link.
    WrongBrowser = "wrong browser",
    /// Other users opened the page so often that its link ended.
    Burned = "link burned",
    /// An answer of a provider was rejected: it matches no consent of this browser, or is from another provider.
    CallbackRefused = "callback refused",
    /// The provider granted nothing, or not what the user agreed to.
    NotGranted = "not granted",
}

impl AuditRecord {
    /// Creates a record about an account.
    #[must_use]
    pub fn of(account: &AccountKey, event: AuditEvent, at: Millis) -> Self {
        Self {
            at,
            account: Some(account.clone()),
            tenant: account.holder.tenant.clone(),
            client: None,
            event,
        }
    }

    /// Returns the user, if the record is about an account.
    #[must_use]
    pub fn holder(&self) -> Option<&Holder> {
        self.account.as_ref().map(|account| &account.holder)
    }
}

debug_only! {
    AuditRecord { at, account, event }
}
