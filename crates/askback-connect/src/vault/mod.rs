//! The vault stores what a server's users have connected.
//!
//! A credential belongs to one user ([`Holder`]: tenant, issuer and subject), for one account at one provider.
//! [`Vault::get`] returns it only to this user, and renews it before it expires.
//!
//! ```
//! use std::sync::Arc;
//! use askback_connect::vault::{
//!     Grant, LocalKeys, RenewalError, Renewer, SqliteVault, Vault, VaultError, VaultSettings, AccountQuery,
//! };
//! # use askback_connect::vault::AccountKey;
//! # use askback_core::{ask::{Principal, keys::{Key, KeyRing}}, auth::Scopes, future::BoxFuture};
//! # use askback_oauth::Secret;
//! # struct NoProvider;
//! # impl Renewer for NoProvider {
//! #     fn renew<'a>(
//! #         &'a self,
//! #         _: &'a AccountKey,
//! #         _: &'a Secret,
//! #     ) -> BoxFuture<'a, Result<Grant, RenewalError>> {
//! #         Box::pin(async { Err(RenewalError::Refused) })
//! #     }
//! # }
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let renewer: Arc<dyn Renewer> = Arc::new(NoProvider);
//! # let ring = KeyRing::new(Key::new(&[7; 32]));
//! // In a server: SqliteVault::open("vault.db")? or PostgresVault::connect(..).await?, and
//! // LocalKeys::file("vault.keys")?
//! let (store, keys) = (SqliteVault::in_memory()?, LocalKeys::new(ring));
//! let vault = Vault::open(Arc::new(store), Arc::new(keys), VaultSettings::default()).await?;
//!
//! let (ada, bob) = (Principal::new("ada"), Principal::new("bob"));
//! let granted = Grant::tokens(Secret::new("gho_…"), None).scopes(Scopes::parse("repo gist")?);
//! vault.put(&ada, "github", "ada-l", granted).await?;
//!
//! let wanted = AccountQuery::new(&ada, "github").scopes(Scopes::parse("repo")?);
//! let credential = vault.get(&wanted, &renewer).await?;
//! assert_eq!(credential.secret.expose(), "gho_…");
//!
//! let wanted = AccountQuery::new(&bob, "github");
//! assert!(matches!(vault.get(&wanted, &renewer).await, Err(VaultError::NotConnected)));
//! # Ok(())
//! # }
//! ```
//!
//! # Keys
//!
//! Each secret is sealed under its own key, derived from its tenant's data key. The seal is bound to the user, the
//! provider, the account and the column, so a secret copied to another row does not open. The data keys are stored next
//! to the records, wrapped by a key-encryption key that the operator keeps elsewhere: in a file ([`LocalKeys::file`]),
//! in a ring ([`LocalKeys::new`]), or in a key management service ([`KeyWrapper`]). A vault does not open without it, and never
//! stores plain text.
//!
//! Both kinds of keys can be replaced while the vault is in use. [`Vault::rotate`] creates a new data key for a tenant
//! and reseals its records. For a new key-encryption key: give all processes the new key in addition to the old one,
//! make it the active one ([`LocalKeys::replace`]), call [`Vault::rewrap`], and remove the old key.
//!
//! # Renewal
//!
//! Across all machines, one task renews a token that is about to expire: it leases the record, asks the provider, and
//! writes the new tokens before any task gets them. After a failure, the provider is left alone for a while. If it
//! rejects the refresh token, the user has to connect the account again ([`VaultError::NeedsReconnect`]). If a process
//! dies between the provider's response and the write, the new tokens are lost. Most providers then reject the old
//! ones, which also leads to `NeedsReconnect`.
//!
//! # Audit
//!
//! Each grant, use, renewal, refusal and revocation adds an audit record ([`Vault::audit`]) with the time, the account
//! and the client. It is written in the same transaction as the event. If a use cannot be recorded, the credential is
//! not handed out.

mod account;
mod aside;
mod audit;
mod credential;
mod error;
mod handle;
mod keys;
mod query;
mod rejection;
mod renewal;
mod renewing;
mod revocation;
mod rotation;
mod seal;
mod settings;
mod sql;
mod store;

pub use account::{AccountKey, AccountState, Holder};
pub(crate) use aside::BROWSER_KEEPS;
#[cfg(feature = "postgres")]
#[doc(inline)]
pub use askback_sql::PostgresSettings;
pub use audit::{AuditEntry, AuditEvent, AuditRecord};
pub use credential::{Credential, Grant};
pub use error::VaultError;
pub(crate) use error::entropy;
pub use handle::{Account, Vault};
pub use keys::{KeyWrapper, LocalKeys};
pub use query::AccountQuery;
pub use renewal::{RenewalError, Renewer};
pub use revocation::{RevocationFailure, RevocationOutcome, Revoker, TokenKind};
pub use settings::VaultSettings;
#[cfg(feature = "postgres")]
pub use sql::PostgresVault;
#[cfg(feature = "sqlite")]
pub use sql::SqliteVault;
#[doc(hidden)]
pub use sql::{Change, Filter};
#[doc(hidden)]
pub use store::{
    EndedVisit, IntentRoom, IntentRow, Lease, Revocation, SealedSecrets, Settlement, TenantKey,
    VaultRecord, WriteOutcome,
};
pub use store::{VaultStore, WrappedKey};
