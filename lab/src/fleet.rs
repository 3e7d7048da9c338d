//! The account shared by the processes of a fleet (`lab/src/bin/fleet-member.rs`), for the processes and their test.

use askback_connect::vault::AccountQuery;
use askback_core::ask::{Millis, Principal};

/// The name of the third party.
pub const PROVIDER: &str = "airline";

/// The client id of all processes there.
pub const CLIENT: &str = "kit";

/// The secret of that client.
pub const CLIENT_SECRET: &str = "a secret of the kit";

/// The key of the vault.
pub const KEY: [u8; 32] = *b"canary: the key of the fleet....";

/// The lifetime of a token in milliseconds, by the processes' clocks.
pub const LASTS: Millis = 3_600_000;

/// Returns the owner of the account.
#[must_use]
pub fn person() -> Principal {
    Principal::new("ada")
}

/// Returns the query for the credential that all calls need.
#[must_use]
pub fn wanted() -> AccountQuery {
    AccountQuery::new(&person(), PROVIDER)
}
