//! The vault, over each store; and third parties and issuers, over real connections.

mod accounts;
mod connecting;
mod contract;
mod devices;
mod issuer;
mod keys;
mod renewal;
mod secrecy;
mod sign_in;
mod stage;
mod tending;
