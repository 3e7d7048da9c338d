//! Accounts of the customers at an airline, for an agency that runs on the machine of its one user.
//!
//! [`Accounts`] serves the pages on which an account is connected, and an airline that is made up. Tools of an agency
//! that has them use the airline in the person's name; no token of it passes through the client.

mod airline;
mod deposit;
mod ports;
mod tools;
mod web;

use std::{io, path::PathBuf, time::Duration};

use askback::ServerBuilder;
use askback_connect::{
    Brand, Connections,
    providers::{AccountSource, Providers, ThirdParty},
    vault::Vault,
};
use askback_core::{auth::Scopes, limits::Limits};
use askback_oauth::{Fetcher, Provider, Reach, RegisteredClient, Route};
use http::Request;
use hyper::body::Incoming;
use tokio::{net::TcpListener, time};

use self::{
    airline::{Airline, Desk},
    tools::{connect_airline, my_miles, pay_deposit},
};
use crate::Result;

/// The name of the airline among the third parties.
const AIRLINE: &str = "airline";

/// How often the airline is told of accounts that were disconnected.
const REVOCATIONS: Duration = Duration::from_secs(60);

/// What the agency needs for accounts at the airline. A clone is the same.
#[derive(Debug, Clone)]
pub struct Accounts {
    connections: Connections,
    airline: Airline,
    pages: String,
}

impl Accounts {
    /// Serves the pages and the airline, each at a port of this machine, until the runtime ends.
    ///
    /// Over HTTP, the endpoint of the agency is to be protected: it is used by
    /// [`Connections::user_of_this_machine`] alone.
    ///
    /// Accounts are kept in the vault, and what the airline gave out in the file `airline`, so that agencies that
    /// run one after the other know it; without one, it lasts as long as the process. The file holds no token, only
    /// digests. The ports are kept beside it, as `airline.ports`.
    ///
    /// # Errors
    ///
    /// Fails where no port is to be had.
    pub async fn on_this_machine(vault: Vault, airline: Option<PathBuf>) -> Result<Self> {
        let ports = airline.as_ref().map(|file| file.with_extension("ports"));
        let [pages, counter] = ports::listeners(ports.as_deref()).await?;
        let (url, airline_url) = (url_of(&pages)?, url_of(&counter)?);
        let redirect = format!("{url}/cb/{AIRLINE}");
        let desk = Desk::new(&airline_url, &redirect, airline);
        let airline = Airline::at(airline_url);
        let fetcher = Fetcher::new(Reach::anywhere(), &Route::Direct, &Limits::default())?;
        let providers = Providers::new(fetcher).with(third_party(&airline)?)?;
        let connections = Connections::on_this_machine(&url, vault, providers)
            .user(Connections::user_of_this_machine())
            .brand(Brand::new("Travel agency"))
            .build()?;
        tokio::spawn(serve_airline(counter, desk));
        tokio::spawn(serve_pages(pages, connections.clone()));
        tokio::spawn(revoke(connections.clone()));
        Ok(Self {
            connections,
            airline,
            pages: url,
        })
    }

    /// Returns the address of the pages. Each link into them is made for one person and one call.
    #[must_use]
    pub fn pages_url(&self) -> &str {
        &self.pages
    }

    /// Returns the address of the airline.
    #[must_use]
    pub fn airline_url(&self) -> &str {
        self.airline.url()
    }

    /// Gives an agency the tools that use them.
    pub fn offered_by(&self, agency: ServerBuilder) -> ServerBuilder {
        agency
            .tool(connect_airline)
            .tool(my_miles)
            .tool(pay_deposit)
            .state(self.connections.clone())
            .state(self.airline.clone())
    }
}

/// The airline, as the agency knows it.
fn third_party(airline: &Airline) -> Result<ThirdParty> {
    let at = |path: &str| format!("{}{path}", airline.url());
    let provider = Provider::new(airline.url(), &at("/authorize"), &at("/token"))?
        .revocation_endpoint(&at("/revoke"))?
        .require_issuer();
    let client = RegisteredClient::new(airline::CLIENT);
    Ok(ThirdParty::oauth(AIRLINE, airline::NAME, provider, client)?
        .scopes(Scopes::parse(airline::SCOPE)?)
        .scope_words(airline::SCOPE, "Read how many miles you have")
        .account(AccountSource::document(&airline.miles_url(), "/account")?)
        .api([airline.url()])?)
}

async fn serve_airline(listener: TcpListener, desk: Desk) {
    let respond = move |request| {
        let desk = desk.clone();
        async move { desk.respond(request).await }
    };
    web::serve(listener, respond).await;
}

async fn serve_pages(listener: TcpListener, connections: Connections) {
    let pages = connections.pages();
    let respond = move |request: Request<Incoming>| {
        let (connections, pages) = (connections.clone(), pages.clone());
        async move {
            match request.uri().path() {
                deposit::PATH => deposit::respond(&connections, request).await,
                _ => pages.respond(request).await,
            }
        }
    };
    web::serve(listener, respond).await;
}

/// Tells the airline of accounts that were disconnected, also by another process.
async fn revoke(connections: Connections) {
    let mut turns = time::interval(REVOCATIONS);
    loop {
        turns.tick().await;
        if let Err(error) = connections.revoke_due().await {
            tracing::warn!(%error, "the airline could not be told which accounts were disconnected");
        }
    }
}

fn url_of(listener: &TcpListener) -> io::Result<String> {
    Ok(format!("http://{}", listener.local_addr()?))
}
