//! Sign-in on the web pages of a server, with OpenID Connect.
//!
//! Before an account is connected, the pages must check that the user in the browser is the one who called the tool, as
//! named by the call's access token. [`WebSignIn`] sends the browser to the issuer of the access tokens, and
//! [`SignedInPerson::principal`] is the user who signed in. It has the tenant, issuer and subject of the user's access
//! tokens, but no client. So compare the two with [`Holder`](crate::vault::Holder) or
//! [`Principal::owner`](askback_core::ask::Principal::owner).
//!
//! ```no_run
//! use askback_connect::sign_in::{PendingSignIn, WebSignIn};
//! use askback_oauth::{Fetcher, RegisteredClient, Secret};
//!
//! # async fn pages(fetcher: Fetcher, redirected: &str) -> Result<(), Box<dyn std::error::Error>> {
//! let client = RegisteredClient::new("pages").with_secret(Secret::new("hunter2"));
//! let sign_in = WebSignIn::discover(&fetcher, "https://login.example", client).await?;
//! let (url, pending) = sign_in.begin("https://tools.example/signed-in")?;
//! // The browser goes to `url`, with this in a sealed cookie, and comes back to `redirected`.
//! let kept = pending.write()?;
//! let pending = PendingSignIn::read(&kept)?;
//! let person = sign_in.finish(&fetcher, pending, redirected).await?;
//! # let _ = (url, person);
//! # Ok(())
//! # }
//! ```
//!
//! # Pairwise subjects
//!
//! An issuer may give each client a different subject for the same user (pairwise subjects, OpenID Connect Core 1.0,
//! 8). The subjects of access token and sign-in then differ. To avoid that, register the pages in the same sector as
//! the clients that call the server, or as the same client. Or let [`WebSignIn::subject_claim`] name a claim with the
//! subject of the access tokens.
//!
//! # Recent sign-in
//!
//! An attacker may have signed the browser in as another user. So an account is connected only if the user signed in a
//! few minutes ago ([`WebSignIn::max_age`]), as stated by the issuer (`auth_time`), and the pages show who is signed
//! in.

mod begun;
mod web;

pub use begun::PendingSignIn;
pub(crate) use begun::SignInRequest;
pub use web::{SignedInPerson, WebSignIn, WebSignInError};
