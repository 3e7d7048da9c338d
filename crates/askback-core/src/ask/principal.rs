//! The principal.

use alloc::string::String;
use core::fmt;

/// The caller, as the server's own authentication identified it.
///
/// What a client says about itself never counts. Sessions, sealed states and tasks belong to the
/// principal that created them.
///
/// `Debug` does not print the identity.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Principal {
    /// The tenant of the principal, if the server has several.
    pub tenant: Option<String>,
    /// The issuer of the principal (`iss`).
    pub issuer: Option<String>,
    /// The principal (`sub`).
    pub subject: String,
    /// The client that acts for the principal (`client_id`).
    pub client_id: Option<String>,
}

impl Principal {
    /// Makes a principal from a subject, without a tenant, issuer or client.
    #[must_use]
    pub fn new(subject: impl Into<String>) -> Self {
        Self {
            tenant: None,
            issuer: None,
            subject: subject.into(),
            client_id: None,
        }
    }

    /// Returns the tenant, the issuer and the subject: the identity without the client.
    #[must_use]
    pub fn owner(&self) -> (Option<&str>, Option<&str>, &str) {
        (
            self.tenant.as_deref(),
            self.issuer.as_deref(),
            &self.subject,
        )
    }
}

impl fmt::Debug for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Principal").finish_non_exhaustive()
    }
}
