//! Access control for a demo server over HTTP.

use askback::{
    Principal,
    authorization::server::{DevelopmentTokens, JwtVerifier, Protection},
};
use askback_host::{text::given, words};

use crate::error::Error;

/// The scope that every request to the travel agency needs.
const READ: &str = "travel:read";

/// The clients that are let in: every client on this machine, unless an option says otherwise
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct Protecting {
    /// Accept only requests with a token; this one is the token of the user NAME. Without TOKEN, a random
    /// one is made and shown. For development
    #[arg(long, value_name = "NAME[=TOKEN]", requires = "http")]
    development_token: Vec<String>,
    /// The scopes of those tokens
    #[arg(
        long,
        value_name = "SCOPES",
        requires = "development_token",
        default_value = "travel:read travel:book"
    )]
    development_scopes: String,
    /// Accept only requests with a token of this authorization server for the address served at
    #[arg(
        long,
        value_name = "URL",
        requires = "http",
        conflicts_with = "development_token"
    )]
    authorization_server: Option<String>,
}

/// Generated tokens, each with the name of its caller.
pub(super) type DrawnTokens = Vec<(String, String)>;

impl Protecting {
    /// Returns the access control of the server at this URL, if it has any.
    pub(super) fn protection(
        &self,
        resource: &str,
    ) -> Result<(Option<Protection>, DrawnTokens), Error> {
        let mut drawn = DrawnTokens::new();
        let protection = if let Some(issuer) = &self.authorization_server {
            let tokens = JwtVerifier::discover(issuer.as_str());
            let tokens = tokens.map_err(|bad| wrong("--authorization-server", &bad))?;
            Protection::new(resource, tokens)
        } else if self.development_token.is_empty() {
            return Ok((None, drawn));
        } else {
            Protection::new(resource, self.development_tokens(&mut drawn)?)
        };
        let protection = protection
            .and_then(|protection| protection.scopes([READ]))
            .and_then(|protection| protection.implies("travel:book", [READ]))
            .and_then(|protection| protection.implies("travel:save", [READ]));
        let protection = protection.map_err(|bad| wrong("--http", &bad))?;
        Ok((Some(protection.name("Travel agency")), drawn))
    }

    /// Whether callers use development tokens.
    pub(super) fn is_for_development(&self) -> bool {
        !self.development_token.is_empty()
    }

    fn development_tokens(&self, drawn: &mut DrawnTokens) -> Result<DevelopmentTokens, Error> {
        let scopes = || self.development_scopes.split_whitespace();
        let mut tokens = DevelopmentTokens::new();
        for given in &self.development_token {
            let added = match given.split_once('=') {
                Some((name, token)) => tokens.allow(Principal::new(name), token, scopes()),
                None => {
                    let added = tokens.draw(Principal::new(given), scopes());
                    added.map(|(tokens, token)| {
                        drawn.push((given.clone(), token));
                        tokens
                    })
                }
            };
            tokens = added.map_err(|bad| wrong("--development-token", &bad))?;
        }
        Ok(tokens)
    }
}

fn wrong(option: &'static str, why: &dyn std::fmt::Display) -> Error {
    Error::usage(words!("{}: {}", option, given(why)))
}
