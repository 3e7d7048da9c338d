//! The sign-in of a person at the web pages of a server, by OpenID Connect.
//!
//! Before an account is connected, the pages must know who sits at the browser: it has to be the person for whom the
//! tool was called, as the access token of the call named them. [`WebSignIn`] sends the browser to the same issuer
//! that gives the access tokens, and [`SignedInPerson::principal`] is who came back. It has the tenant, the issuer and the
//! subject that the endpoint's own protection finds in an access token of that person, and no client; so compare the
//! two by [`Holder`](crate::vault::Holder) or [`Principal::owner`](askback_core::ask::Principal::owner).
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
//! # Subjects that differ from client to client
//!
//! An issuer may give each client another subject for the same person (pairwise subjects, OpenID Connect Core 1.0,
//! 8). Access tokens and the sign-in then name nobody alike. So register the pages as a client of the same sector as
//! the clients that call the server, or as the very same client; or have [`WebSignIn::subject_claim`] name a claim
//! that holds what access tokens have as their subject.
//!
//! # Freshness
//!
//! A browser may be signed in as somebody else than the person in front of it: somebody can have lured it there. So
//! an account is connected only after a sign-in of the last minutes ([`WebSignIn::max_age`]), which the issuer must
//! state (`auth_time`), and the pages show who is signed in.

mod begun;
mod web;

pub use begun::PendingSignIn;
pub(crate) use begun::SignInRequest;
pub use web::{SignedInPerson, WebSignIn, WebSignInError};
