//! The server's side: every request must carry an access token that was issued for this server,
//! and what the token says is who asks.
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
//! A [`TokenVerifier`] tells the rights of a token: [`JwtVerifier`] for signed tokens (RFC 9068),
//! [`Introspection`] for those only their issuer can read (RFC 7662), [`DevelopmentTokens`] while
//! there is no authorization server yet, or one of your own; [`Protection::verify_with`] takes a function. A [`Protection`] puts it in front of
//! an [`Endpoint`](crate::http::Endpoint), tells clients where tokens come from, and which scopes
//! they need.
//!
//! An [`IdTokenVerifier`] is for pages beside the endpoint, at which a person signs in with OpenID
//! Connect: it tells that they are the same person as the one whom access tokens name.
//!
//! Handlers see the [`Principal`](crate::Principal) and never the token: it is taken out of the
//! request before anybody else sees it, so that it cannot be passed on to another server.

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
