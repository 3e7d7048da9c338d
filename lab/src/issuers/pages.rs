//! The pages of authorization servers, as a user operates them.

use std::process::Command;

use super::install;
use crate::{browser::Person, install::Result};

/// The implementation of an authorization server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maker {
    /// Asks for the login first, and for consent on another page.
    OidcProvider,
    /// Asks for both on one page.
    Authlib,
}

impl Maker {
    /// Returns the command that starts the server; `None` if it cannot be installed, with a note on stderr.
    ///
    /// # Errors
    ///
    /// If the installation fails.
    pub fn command(self) -> Result<Option<Command>> {
        let (name, installed) = match self {
            Self::OidcProvider => ("oidc-provider", install::oidc_provider()?),
            Self::Authlib => ("Authlib", install::authlib()?),
        };
        if installed.is_none() {
            crate::install::tell_left_out(name, "it cannot be installed here");
        }
        Ok(installed)
    }

    /// Signs the person in.
    ///
    /// # Errors
    ///
    /// If the page does not ask for it.
    pub async fn sign_in(self, person: &Person, login: &str) -> Result<()> {
        match self {
            Self::OidcProvider => {
                person.fill("Enter any login", login).await?;
                person.fill("and password", "any").await?;
                person.click("button", "Sign-in").await
            }
            Self::Authlib => person.fill("Login", login).await,
        }
    }

    /// Consents.
    ///
    /// # Errors
    ///
    /// If the page does not ask for it.
    pub async fn agree(self, person: &Person) -> Result<()> {
        match self {
            Self::OidcProvider => person.click("button", "Continue").await,
            Self::Authlib => person.click("button", "Allow").await,
        }
    }

    /// Refuses consent.
    ///
    /// # Errors
    ///
    /// If the page does not ask for it.
    pub async fn refuse(self, person: &Person) -> Result<()> {
        match self {
            Self::OidcProvider => person.click("link", "[ Cancel ]").await,
            Self::Authlib => person.click("button", "Deny").await,
        }
    }
}
