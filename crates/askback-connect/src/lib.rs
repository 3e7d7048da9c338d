//! Accounts at third parties, for servers of the Model Context Protocol.
//!
//! A tool that works for a person at a third party, such as GitHub, needs a credential of that very person. This crate
//! keeps them: [`vault`].

#[cfg(feature = "testing")]
pub mod testing;
pub mod vault;
