//! Macros of askback.
