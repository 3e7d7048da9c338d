use std::fmt;

use askback_core::ask::Principal;
use sha2::{Digest, Sha256};

/// The owner that a store counts an entry for, as a digest: a store need not know the principal.
///
/// `Debug` does not print it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner(pub [u8; 16]);

impl Owner {
    /// Returns the owner for a principal. It does not depend on the client, so a second client gives the same user no
    /// extra room.
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
        Self(half(digest))
    }
}

/// Returns the first half of a digest, which is enough for an id.
pub(crate) fn half(digest: Sha256) -> [u8; 16] {
    let digest = digest.finalize();
    std::array::from_fn(|at| digest[at])
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Owner(..)")
    }
}
