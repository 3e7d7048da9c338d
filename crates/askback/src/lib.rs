//! askback.

pub mod transport;
