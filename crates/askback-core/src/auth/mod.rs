//! Authorization without sockets: challenges, scopes, and metadata documents, as both sides read
//! and write them (2026-07-28, basic/authorization).

mod challenge;
mod context;
mod error;
mod metadata;
mod scopes;

pub use challenge::{BadChallenge, Challenge};
pub use context::AuthorizationContext;
pub use error::{AuthorizationError, SignInError};
pub use metadata::{AuthorizationServer, BadIdentifier, ProtectedResource};
pub use scopes::{BadScopes, Scopes};
