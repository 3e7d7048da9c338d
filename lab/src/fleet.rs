//! The account that the processes of a fleet share (`lab/src/bin/fleet-member.rs`), as they and their test know it.

use askback_connect::vault::AccountQuery;
use askback_core::ask::{Millis, Principal};

/// The third party, by its name.
pub const PROVIDER: &str = "airline";

/// The client that all of the processes are there.
pub const CLIENT: &str = "kit";

/// The secret of that client.
pub const CLIENT_SECRET: &str = "a secret of the kit";

/// The key of the vault.
pub const KEY: [u8; 32] = *b"canary: the key of the fleet....";

/// How long a token lasts, by the clocks of the processes.
pub const LASTS: Millis = 3_600_000;

/// The person whose account it is.
#[must_use]
pub fn person() -> Principal {
    Principal::new("ada")
}

/// The credential that all calls need.
#[must_use]
pub fn wanted() -> AccountQuery {
    AccountQuery::new(&person(), PROVIDER)
}
