//! Server-side authorization: every request needs an access token that was issued for this server and identifies the
//! caller.
//!
//! ```no_run
//! use askback::{
//!     Server, Tool,
//!     authorization::server::{JwtVerifier, Protection},
//! };
//!
//! # async fn serve() -> Result<(), Box<dyn std::error::Error>> {
//! let erase = Tool::new("erase", async || Ok("It is gone."));
//! let server = Server::new("notes", "1.0.0")
//!     .tool(erase.scopes(["notes:write"]))
//!     .build()?;
//! let tokens = JwtVerifier::discover("https://auth.example.com")?;
//! let protection = Protection::new("https://mcp.example.com/mcp", tokens)?
//!     .scopes(["notes:read"])?
//!     .implies("notes:write", ["notes:read"])?;
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8000").await?;
//! server.http().protect(protection).serve(listener).await?;
//! # Ok(())
//! # }
//! ```
//!
//! A [`TokenVerifier`] returns the rights of a token. Use [`JwtVerifier`] for signed tokens (RFC 9068),
//! [`Introspection`] for opaque tokens (RFC 7662), [`DevelopmentTokens`] as long as there is no authorization server,
//! your own implementation, or a function with [`Protection::verify_with`]. A [`Protection`] applies the verifier to an
//! [`Endpoint`](crate::http::Endpoint), and tells clients where to get tokens and which scopes they need.
//!
//! An [`IdTokenVerifier`] is for web pages next to the endpoint, where a user signs in with OpenID Connect. It shows
//! that this user is the one whom the access tokens name.
//!
//! Handlers get the [`Principal`](crate::Principal) but not the token. The token is removed from the request first, so
//! that it cannot be passed on to another server.

mod access;
mod admission;
mod development;
mod dpop;
mod fetch;
mod hierarchy;
mod introspection;
mod jwt;
mod protection;

pub use access::{Access, PresentedToken, TokenError, TokenVerifier};
pub use development::{BadToken, DevelopmentTokens};
pub use fetch::UnusableUrl;
pub use introspection::Introspection;
pub use jwt::{BadKeys, IdToken, IdTokenVerifier, JwtVerifier, SignInCheck, SigningAlgorithm};
pub use protection::{BadProtection, Protection};

pub(crate) use admission::{Refusal, RequestRights};
