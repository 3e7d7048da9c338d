//! Whose entries a store counts together.

use std::fmt;

use askback_core::ask::Principal;
use sha2::{Digest, Sha256};

/// Whose entries a store counts together, as a digest: a store need not know who that is.
///
/// `Debug` does not print it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub [u8; 16]);

impl Owner {
    /// The owner that a principal is: one and the same whichever client acts for them, so that
    /// another client is no way to more room.
    #[must_use]
    pub fn of(principal: &Principal) -> Self {
        let Principal {
            tenant,
            issuer,
            subject,
            client_id: _,
        } = principal;
        let mut digest = Sha256::new_with_prefix("askback owner v1");
        for text in [tenant.as_deref(), issuer.as_deref(), Some(&**subject)] {
            let bytes = text.unwrap_or_default().as_bytes();
            digest.update([u8::from(text.is_some())]);
            digest.update((bytes.len() as u64).to_be_bytes());
            digest.update(bytes);
        }
        let mut half = [0; 16];
        half.copy_from_slice(&digest.finalize()[..16]);
        Self(half)
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owner(..)")
    }
}
