//! The tests of `askback-connect`, in one binary.

mod accounts;
mod asking;
mod author;
#[cfg(all(unix, feature = "postgres"))]
mod cluster;
mod connecting;
mod contract;
mod cookies;
mod handlers;
mod issuer;
mod keys;
mod machine;
mod names;
mod owed;
mod pages;
#[cfg(all(unix, feature = "postgres"))]
mod place;
#[cfg(all(unix, feature = "postgres"))]
mod postgres;
mod presets;
mod providers_file;
mod renewal;
mod requests;
mod secrecy;
mod sign_in;
mod stage;
mod tending;
mod visitor;
