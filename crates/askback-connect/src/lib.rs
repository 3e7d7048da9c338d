//! Accounts at third parties, for servers of the Model Context Protocol.
//!
//! A tool that works for a user at a third party, such as GitHub, needs that user's credentials. This crate stores them
//! ([`vault`]), obtains them from the third party ([`providers`]), and identifies the user in the browser
//! ([`sign_in`]).

mod brand;
mod connection;
mod connections;
mod ctx;
mod hidden;
mod intents;
mod pages;
mod pending;
pub mod providers;
pub mod sign_in;
pub mod vault;

pub use brand::{BadBrand, Brand};
pub use connection::Connection;
pub use connections::{BadConnections, Connections, ConnectionsBuilder};
pub use ctx::{AskSecret, ConnectAccount, ConnectExt};
pub use pages::{PageClaim, PageRefusal, PageVisit, Pages};
