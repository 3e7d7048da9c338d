//! askback.
