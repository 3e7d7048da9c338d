//! The audit: a line for each thing that happens to a credential.

use askback_core::ask::Millis;

use super::account::{AccountKey, Holder};
use askback_core::debug_only;

/// A line of the audit: what happened to which account, and when. It holds no secret.
///
/// `Debug` does not print whose account it is.
#[derive(Clone, PartialEq, Eq)]
pub struct AuditRecord {
    /// When it happened.
    pub at: Millis,
    /// The account; none where it happened to a tenant.
    pub account: Option<AccountKey>,
    /// The tenant.
    pub tenant: Option<String>,
    /// The client that acted for the person, where one did.
    pub client: Option<String>,
    /// The event.
    pub event: AuditEvent,
}

/// A line of the audit, with its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// Its number. Later lines have larger ones.
    pub number: u64,
    /// The line.
    pub record: AuditRecord,
}

macro_rules! events {
    ($($(#[$doc:meta])* $event:ident = $name:literal,)*) => {
        /// The event that a line is about.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum AuditEvent {
            $($(#[$doc])* $event,)*
        }

        impl AuditEvent {
            /// Returns its name in databases: the same in every version.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$event => $name,)*
                }
            }

            /// Returns the event of this name.
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
    /// The provider gave new tokens.
    Renewed = "renewed",
    /// A renewal failed, and may go better later.
    RenewalFailed = "renewal failed",
    /// The provider took a refresh token for no longer good.
    RenewalRefused = "renewal refused",
    /// The third party refused a token that should be good, and the person has to connect the account again.
    TokenRejected = "token rejected",
    /// A credential was not handed out, as the person has to connect the account again.
    RefusedStale = "refused: stale",
    /// A credential was not handed out, as it cannot be renewed at the moment.
    RefusedUnavailable = "refused: unavailable",
    /// A credential was not handed out, as it does not open: it was altered, or belongs to another account.
    RefusedNotAuthentic = "refused: not authentic",
    /// Secrets were not sealed under a new key, as they do not open: they were altered, or belong to another account.
    NotResealed = "not resealed",
    /// A person disconnected an account.
    Disconnected = "disconnected",
    /// The provider was told to revoke tokens.
    Revoked = "revoked",
    /// There was nothing to revoke: the tokens had ended, the provider had taken them back before, or it takes none back.
    NothingToRevoke = "nothing to revoke",
    /// The provider could not be told, and is told again later.
    RevocationFailed = "revocation failed",
    /// Tokens are revoked later: the account is connected, and the provider takes no tokens back without ending those that are
    /// in use, too.
    RevocationSpared = "revocation spared",
    /// The provider is told no more: more revocations wait than are kept, or it has not been there for a month.
    RevocationGivenUp = "revocation given up",
    /// A tenant was deleted with all that it had.
    TenantDeleted = "tenant deleted",
    /// A person was given a link to a page.
    Asked = "asked",
    /// The person agreed on the page.
    Consented = "consented",
    /// The provider's answer came to the browser that was sent there.
    Answered = "answered",
    /// The provider gave what was agreed to, and it is kept.
    Connected = "connected",
    /// The person declined on the page.
    Declined = "declined",
    /// A link on one machine was opened, and is for that browser from now on.
    Opened = "opened",
    /// The page was opened by another person than the one who was asked.
    WrongPerson = "wrong person",
    /// The page was opened in another browser than the one that its link is for.
    WrongBrowser = "wrong browser",
    /// The page was opened by other persons so often that its link ended.
    Burned = "link burned",
    /// The answer of a provider was refused: it fits no consent of this browser, or the provider is another one.
    CallbackRefused = "callback refused",
    /// The provider gave nothing, or not what was agreed to.
    NotGranted = "not granted",
}

impl AuditRecord {
    /// Creates a line about an account.
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

    /// Returns the person, where it is about an account.
    #[must_use]
    pub fn holder(&self) -> Option<&Holder> {
        self.account.as_ref().map(|account| &account.holder)
    }
}

debug_only! {
    AuditRecord { at, account, event }
}
