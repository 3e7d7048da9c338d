//! Secret strings.

use alloc::string::String;
use core::fmt;

use zeroize::Zeroizing;

/// A token, code, key or password. It is never printed, and is wiped from memory when dropped.
///
/// ```
/// # use askback_core::secret::Secret;
/// let secret = Secret::new("hunter2");
/// assert_eq!(format!("{secret:?}"), "Secret(…)");
/// assert_eq!(secret.expose(), "hunter2");
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a secret.
    pub fn new(secret: impl Into<String>) -> Self {
        Self(Zeroizing::new(secret.into()))
    }

    /// Returns the secret, to send or store it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
