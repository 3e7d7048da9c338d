//! The tests of `askback`, in one binary.

mod asking;
mod client;
mod keys;
mod macros;
mod store;
mod testing;
