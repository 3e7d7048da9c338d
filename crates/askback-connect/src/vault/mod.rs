//! The vault: where a server keeps what its users have connected.
//!
//! A credential belongs to one person ([`Holder`]: tenant, issuer and subject), at one provider, for one of their
//! accounts there. [`Vault::get`] gives it to the very person alone, and has it renewed before it ends.
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
//! Each secret is sealed under a key of its own, which is derived from the data key of its tenant. The seal is bound to
//! the person, the provider, the account and the column: in another row it does not open. The data keys are kept beside
//! the records, wrapped by a key-encryption key, which the operator keeps elsewhere: a file ([`LocalKeys::file`]), the
//! environment, or a key management service ([`KeyWrapper`]). Without it no vault opens, and nothing is ever kept as it
//! is.
//!
//! Both are replaced while the vault is in use. [`Vault::rotate`] gives a tenant a new data key and seals its records
//! anew. For a new key-encryption key, give all processes the new key beside the old one, make it the active one
//! ([`LocalKeys::replace`]), call [`Vault::rewrap`], and take the old one away.
//!
//! # Renewal
//!
//! A token that ends soon is renewed by one of all who need it, on all machines: it leases the record, asks the
//! provider, and writes the new tokens before anybody is given one. A provider that fails is left alone for a while;
//! where it refuses a refresh token, the person has to connect the account again ([`VaultError::NeedsReconnect`]).
//! Where a process dies between the provider's answer and the write, the new tokens are lost, and most providers then
//! refuse the old ones: this, too, ends in `NeedsReconnect`.
//!
//! # Audit
//!
//! Each grant, use, renewal, refusal and revocation is a line of the audit ([`Vault::audit`]): when, whose account, for
//! which client. A line is written in the transaction of what it tells of; a credential whose use cannot be written
//! down is not handed out.

mod account;
mod aside;
mod audit;
mod credential;
mod error;
mod handle;
mod keys;
#[cfg(all(test, feature = "sqlite"))]
mod pause;
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
pub use renewal::{RenewalError, Renewer, SecondLook};
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
