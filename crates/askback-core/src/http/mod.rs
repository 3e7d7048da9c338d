//! The rules of the HTTP transports, without a socket: what headers must say, which requests a
//! server may be sent by, and how events are written and read.

pub mod body;
pub mod guard;
pub mod headers;
pub mod media;
pub mod params;
pub mod sse;

mod mismatch;

pub use mismatch::Mismatch;
