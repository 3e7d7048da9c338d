//! The audit: a line for each thing that happens to a credential.

use askback_core::ask::Millis;

use super::account::{AccountKey, Holder};
use crate::debug::debug_only;

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

/// The event that a line is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum AuditEvent {
    /// A credential was put into the vault.
    Granted,
    /// A credential was handed out.
    Used,
    /// The provider gave new tokens.
    Renewed,
    /// A renewal failed, and may go better later.
    RenewalFailed,
    /// The provider took a refresh token for no longer good.
    RenewalRefused,
    /// The third party refused a token that should be good, and the person has to connect the account again.
    TokenRejected,
    /// A credential was not handed out, as the person has to connect the account again.
    RefusedStale,
    /// A credential was not handed out, as it cannot be renewed at the moment.
    RefusedUnavailable,
    /// A credential was not handed out, as it does not open: it was altered, or belongs to another account.
    RefusedNotAuthentic,
    /// Secrets were not sealed under a new key, as they do not open: they were altered, or belong to another account.
    NotResealed,
    /// A person disconnected an account.
    Disconnected,
    /// The provider was told to revoke tokens.
    Revoked,
    /// There was nothing to revoke: the tokens had ended, the provider had taken them back before, or it takes none back.
    NothingToRevoke,
    /// The provider could not be told, and is told again later.
    RevocationFailed,
    /// Tokens are revoked later: the account is connected, and the provider takes no tokens back without ending those that are
    /// in use, too.
    RevocationSpared,
    /// The provider is told no more: more revocations wait than are kept, or it has not been there for a month.
    RevocationGivenUp,
    /// A tenant was deleted with all that it had.
    TenantDeleted,
    /// A person was given a link to a page.
    Asked,
    /// The person agreed on the page.
    Consented,
    /// The provider's answer came to the browser that was sent there.
    Answered,
    /// The provider gave what was agreed to, and it is kept.
    Connected,
    /// The person declined on the page.
    Declined,
    /// A link on one machine was opened, and is for that browser from now on.
    Opened,
    /// The page was opened by another person than the one who was asked.
    WrongPerson,
    /// The page was opened in another browser than the one that its link is for.
    WrongBrowser,
    /// The page was opened by other persons so often that its link ended.
    Burned,
    /// The answer of a provider was refused: it fits no consent of this browser, or the provider is another one.
    CallbackRefused,
    /// The provider gave nothing, or not what was agreed to.
    NotGranted,
}

impl AuditEvent {
    /// All events, with their names in databases.
    const NAMES: [(Self, &'static str); 28] = [
        (Self::Granted, "granted"),
        (Self::Used, "used"),
        (Self::Renewed, "renewed"),
        (Self::RenewalFailed, "renewal failed"),
        (Self::RenewalRefused, "renewal refused"),
        (Self::TokenRejected, "token rejected"),
        (Self::RefusedStale, "refused: stale"),
        (Self::RefusedUnavailable, "refused: unavailable"),
        (Self::RefusedNotAuthentic, "refused: not authentic"),
        (Self::NotResealed, "not resealed"),
        (Self::Disconnected, "disconnected"),
        (Self::Revoked, "revoked"),
        (Self::NothingToRevoke, "nothing to revoke"),
        (Self::RevocationFailed, "revocation failed"),
        (Self::RevocationSpared, "revocation spared"),
        (Self::RevocationGivenUp, "revocation given up"),
        (Self::TenantDeleted, "tenant deleted"),
        (Self::Asked, "asked"),
        (Self::Consented, "consented"),
        (Self::Answered, "answered"),
        (Self::Connected, "connected"),
        (Self::Declined, "declined"),
        (Self::Opened, "opened"),
        (Self::WrongPerson, "wrong person"),
        (Self::WrongBrowser, "wrong browser"),
        (Self::Burned, "link burned"),
        (Self::CallbackRefused, "callback refused"),
        (Self::NotGranted, "not granted"),
    ];

    /// Returns its name: the same in every version.
    #[must_use]
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(event, _)| *event == self);
        found.map_or("", |(_, name)| name)
    }

    /// Returns the event of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(_, known)| *known == name);
        found.map(|(event, _)| *event)
    }
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
