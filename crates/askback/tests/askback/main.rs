//! The tests of `askback`, in one binary.

mod asking;
mod client;
mod keys;
#[cfg(feature = "macros")]
mod macros;
mod proof;
mod store;
mod testing;
