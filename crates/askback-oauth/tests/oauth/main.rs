//! The tests of `askback-oauth`, in one binary.

mod answers;
mod discovery;
mod fetching;
mod issuer;
mod reach;
mod tokens;
