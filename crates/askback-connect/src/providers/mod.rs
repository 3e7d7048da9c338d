//! Third parties at which persons have accounts, and the ways in which those are connected.
//!
//! A [`ThirdParty`] is a value: an authorization server at which this server is a client, or a page for an API key.
//! [`ThirdParty::begin`] returns the URL that the person's browser is sent to, and [`ThirdParty::finish`] makes of
//! what it comes back with an account and tokens for the [vault](crate::vault). [`Providers`] are all third parties
//! of a server; the vault renews and revokes tokens by them.
//!
//! Who the person is, is not known here: it must be the same one who began, at this server, before `finish` is
//! called and before its result is kept.

mod account;
mod api_key;
mod connected;
mod connecting;
mod device;
mod entry;
mod error;
mod file;
mod headers;
mod presets;
mod revocation;
mod scopes;
mod set;
mod third_party;

pub use account::AccountSource;
pub use api_key::ApiKey;
pub use connected::Connected;
pub use connecting::PendingConnection;
pub use device::{DeviceAnswer, PendingDevice};
pub use error::ConnectError;
pub use file::BadProvidersFile;
pub use revocation::Revocation;
pub use set::Providers;
pub use third_party::{ThirdParty, Way};
