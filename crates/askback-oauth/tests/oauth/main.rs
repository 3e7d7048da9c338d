//! Third parties, as whoever connects a server to them uses this crate.

mod answers;
mod discovery;
mod fetching;
mod issuer;
mod tokens;
