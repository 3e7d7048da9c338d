//! askback.

mod entropy;
pub mod keys;
mod private_file;
pub mod store;
pub mod transport;
