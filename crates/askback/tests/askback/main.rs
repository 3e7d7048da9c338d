//! The tests of `askback`, in one binary.

mod keys;
mod store;
