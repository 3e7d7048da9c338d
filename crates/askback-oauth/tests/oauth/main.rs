//! Tests of this crate as a user of third parties.

mod answers;
mod discovery;
mod fetching;
mod issuer;
mod tokens;
