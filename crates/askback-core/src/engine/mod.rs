//! The engines of both sides: messages in, decisions out.
//!
//! An engine is fed by its `handle_*` methods and drained by `poll` until that returns `None`; it
//! reads no clock and touches no transport. The era is chosen once, at the door: per session for
//! the handshake revisions, per request for the stateless one. Below the door nobody compares
//! revisions.

#[cfg(feature = "client")]
pub mod client;
pub mod server;
