//! Access control for a demo server over HTTP.

use askback::{
    Principal,
    authorization::server::{DevelopmentTokens, Protection},
};
use askback_host::{text::given, words};

use crate::error::Error;

/// The scope that every request to the travel agency needs.
const READ: &str = "travel:read";

/// The clients that are let in: every client on this machine, unless an option says otherwise
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Protecting {
    /// Accept only requests with a token; this one is the token of the user NAME. For development
    #[arg(long, value_name = "NAME=TOKEN", requires = "http")]
    development_token: Vec<String>,
    /// The scopes of those tokens
    #[arg(
        long,
        value_name = "SCOPES",
        requires = "development_token",
        default_value = "travel:read travel:book"
    )]
    development_scopes: String,
}

impl Protecting {
    /// Returns the access control of the server at this URL, if it has any.
    pub(super) fn protection(&self, resource: &str) -> Result<Option<Protection>, Error> {
        if self.development_token.is_empty() {
            return Ok(None);
        }
        let mut tokens = DevelopmentTokens::new();
        for written in &self.development_token {
            let (name, token) = written.split_once('=').ok_or_else(|| {
                Error::usage("--development-token takes the name of a user and a token")
                    .hint("Write --development-token NAME=TOKEN.")
            })?;
            let scopes = self.development_scopes.split_whitespace();
            let added = tokens.allow(Principal::new(name), token, scopes);
            tokens = added.map_err(|bad| wrong("--development-token", &bad))?;
        }
        let protection = Protection::new(resource, tokens)
            .and_then(|protection| protection.scopes([READ]))
            .and_then(|protection| protection.implies("travel:book", [READ]))
            .and_then(|protection| protection.implies("travel:save", [READ]));
        let protection = protection.map_err(|bad| wrong("--http", &bad))?;
        Ok(Some(protection.name("Travel agency")))
    }
}

fn wrong(option: &'static str, why: &dyn std::fmt::Display) -> Error {
    Error::usage(words!("{}: {}", option, given(why)))
}
