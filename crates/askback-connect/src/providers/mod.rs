//! Third parties at which users have accounts, and how accounts are connected.
//!
//! A [`ThirdParty`] is a value: an authorization server at which this server is a client, or a page for an API key.
//! [`ThirdParty::begin`] returns the URL for the user's browser, and [`ThirdParty::finish`] turns the URL that the
//! browser returns to into an account and tokens for the [vault](crate::vault). [`Providers`] holds all third parties
//! of a server. The vault renews and revokes tokens through it.
//!
//! ```
//! use askback_connect::providers::{AccountSource, ApiKey, PendingConnection, Providers, ThirdParty};
//! use askback_core::{auth::Scopes, limits::Limits};
//! use askback_oauth::{Fetcher, Provider, Reach, RegisteredClient, Route, Secret};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let client = RegisteredClient::new("Iv1.8a61f9b3").with_secret(Secret::new("hunter2"));
//! let github = ThirdParty::github(client)?.scopes(Scopes::parse("read:user")?);
//!
//! // One that is not known here. `ThirdParty::discover` is for those that describe themselves.
//! let provider = Provider::new(
//!     "https://files.example",
//!     "https://files.example/authorize",
//!     "https://files.example/token",
//! )?;
//! let files = ThirdParty::oauth("files", "Files", provider, RegisteredClient::new("askback"))?
//!     .account(AccountSource::document("https://files.example/me", "/email")?)
//!     .api(["https://files.example"])?;
//!
//! let key = ApiKey::new().hint("A key that may read").page("https://invoices.example/keys")?;
//! let invoices = ThirdParty::api_key("invoices", "Invoices", key)?.api(["https://invoices.example"])?;
//!
//! let fetcher = Fetcher::new(Reach::internet(), &Route::Direct, &Limits::default())?;
//! let providers = Providers::new(fetcher).with(github)?.with(files)?.with(invoices)?;
//!
//! let github = providers.get("github").ok_or("no such provider")?;
//! let scopes = Scopes::parse("repo")?;
//! let (url, pending) = github.begin(&scopes, "https://tools.example/connected/github")?;
//! assert!(url.as_str().starts_with("https://github.com/login/oauth/authorize?"));
//!
//! // The answer may come to another process, which calls `github.finish`.
//! let kept = pending.write()?;
//! let pending = PendingConnection::read(&kept)?;
//! # let _ = pending;
//! # Ok(())
//! # }
//! ```
//!
//! This module does not identify the user. Before you call `finish` or store its result, check that the user in the
//! browser is the one who called `begin`.

mod account;
mod api_key;
mod connecting;
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
pub(crate) use connecting::ConnectionRequest;
pub use connecting::{AccountGrant, PendingConnection};
pub use error::ConnectError;
pub use file::BadProvidersFile;
pub use set::Providers;
pub use third_party::ThirdParty;
