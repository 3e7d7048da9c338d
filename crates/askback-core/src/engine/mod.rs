//! The engines of both sides: messages in, decisions out.
//!
//! Feed an engine through its `handle_*` methods and drain it with `poll` until that returns
//! `None`. It reads no clock and does no I/O. The era is chosen once, at the entrance: per session
//! in the handshake revisions, per request in the stateless one. No code behind the entrance
//! compares revisions.

mod batches;
#[cfg(feature = "client")]
pub mod client;
pub mod server;
