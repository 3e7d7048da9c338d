//! The rules of the HTTP transports, without I/O: headers, the check of hosts and origins, and
//! event streams.

pub mod body;
pub mod guard;
pub mod headers;
pub mod media;
pub mod params;
pub mod sse;

mod mismatch;

pub use mismatch::Mismatch;
