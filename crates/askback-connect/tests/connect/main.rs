//! The vault, over each store.

mod accounts;
mod contract;
mod keys;
mod renewal;
mod secrecy;
mod stage;
