//! Authorization without I/O: challenges, scopes and metadata documents, as both sides read and
//! write them (2026-07-28, basic/authorization).

#[cfg(feature = "auth")]
mod challenge;
#[cfg(feature = "auth")]
mod context;
#[cfg(feature = "auth")]
mod error;
#[cfg(feature = "auth")]
mod metadata;
mod scopes;

#[cfg(feature = "auth")]
pub use challenge::{BadChallenge, Challenge};
#[cfg(feature = "auth")]
pub use context::AuthorizationContext;
#[cfg(feature = "auth")]
pub use error::{AuthorizationError, SignInError};
#[cfg(feature = "auth")]
pub use metadata::{AuthorizationServer, BadIdentifier, ProtectedResource};
pub use scopes::{BadScopes, Scopes};
