//! What both sides of authorization read and write, without a socket: challenges, scopes, and the
//! documents in which servers describe themselves
//! (2026-07-28, basic/authorization).

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
