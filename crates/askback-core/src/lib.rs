//! The Model Context Protocol as pure functions: messages, the five revisions, forms, asking,
//! the rules of HTTP, and the engines of both sides.
//!
//! Nothing in this crate opens a socket, reads a clock, a file, the environment or a random
//! source. Time and entropy come in as arguments; bytes and decisions go out as values. The crate
//! is `no_std` (it needs `alloc`), which keeps it that way.
#![no_std]

extern crate alloc;

pub mod address;
pub mod ask;
pub mod auth;
pub mod canonical;
pub mod clock;
pub mod engine;
pub mod forms;
pub mod future;
pub mod http;
pub mod json;
pub mod jsonrpc;
pub mod limits;
pub mod protocol;
pub mod quote;
pub mod revision;
pub mod rfc3339;
pub mod uri_template;
pub mod wire;

/// Paths for the code that askback's macros write. Not public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::forms;
}
