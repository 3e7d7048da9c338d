//! The customer's account at an airline, for an agency on the machine of its only user.
//!
//! [`Accounts`] serves the pages on which the account is connected, and a fictional airline. Tools use the airline on
//! the customer's behalf. No token or API key passes through the client.

mod airline;
mod deposit;
mod tools;
mod web;

use std::{io, net::Ipv4Addr, time::Duration};

use askback::ServerBuilder;
use askback_connect::{
    Brand, Connections,
    providers::{AccountSource, ApiKey, Providers, ThirdParty},
    vault::Vault,
};
use askback_core::{auth::Scopes, limits::Limits};
use askback_oauth::{Fetcher, Provider, Reach, RegisteredClient, Route};
use http::Request;
use hyper::body::Incoming;
use tokio::{net::TcpListener, time};

use self::{
    airline::{Airline, Desk},
    tools::{connect_airline, flight_times, my_miles, pay_deposit},
};
use crate::Result;

/// The airline's name among the third parties.
const AIRLINE: &str = "airline";

/// The name of its flight times among the third parties. They use an API key.
const FLIGHTS: &str = "flights";

/// The interval at which the airline is told about disconnected accounts.
const REVOCATIONS: Duration = Duration::from_secs(60);

/// The agency's access to accounts at the airline. Clones share it.
#[derive(Debug, Clone)]
pub struct Accounts {
    connections: Connections,
    airline: Airline,
    pages: String,
}

impl Accounts {
    /// Serves the pages and the airline on free ports of this machine, until the runtime ends.
    ///
    /// Serve the agency over stdio. If you serve it over HTTP, protect its endpoint, so that only
    /// [`Connections::user_of_this_machine`] can use it.
    ///
    /// # Errors
    ///
    /// If no port is available.
    pub async fn on_this_machine(vault: Vault) -> Result<Self> {
        let (pages, url) = listen().await?;
        let (counter, airline_url) = listen().await?;
        let redirect = format!("{url}/cb/{AIRLINE}");
        let desk = Desk::new(&airline_url, &redirect);
        let airline = Airline::at(airline_url);
        let fetcher = Fetcher::new(Reach::anywhere(), &Route::Direct, &Limits::default())?;
        let providers = Providers::new(fetcher)
            .with(third_party(&airline)?)?
            .with(flights(&airline)?)?;
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

    /// Returns the URL of the pages. Each link to them is for one user and one call.
    #[must_use]
    pub fn pages_url(&self) -> &str {
        &self.pages
    }

    /// Returns the URL of the airline.
    #[must_use]
    pub fn airline_url(&self) -> &str {
        self.airline.url()
    }

    /// Adds the tools that use the accounts to an agency.
    pub fn offered_by(&self, agency: ServerBuilder) -> ServerBuilder {
        agency
            .tool(connect_airline)
            .tool(my_miles)
            .tool(flight_times)
            .tool(pay_deposit)
            .state(self.connections.clone())
            .state(self.airline.clone())
    }
}

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

fn flights(airline: &Airline) -> Result<ThirdParty> {
    let key = ApiKey::new()
        .hint("Fake Airline shows the key to its customers.")
        .page(&airline.key_url())?
        .check(&airline.flights_url(), airline::KEY_HEADER, "")?;
    let party = ThirdParty::api_key(FLIGHTS, "Fake Airline flight times", key)?;
    Ok(party.api([airline.url()])?)
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

/// Tells the airline about disconnected accounts, including those that another process disconnected.
async fn revoke(connections: Connections) {
    let mut turns = time::interval(REVOCATIONS);
    loop {
        turns.tick().await;
        if let Err(error) = connections.revoke_due().await {
            tracing::warn!(%error, "the airline could not be told which accounts were disconnected");
        }
    }
}

/// Listens on a free port of this machine. Returns the URL, too.
async fn listen() -> io::Result<(TcpListener, String)> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let url = format!("http://{}", listener.local_addr()?);
    Ok((listener, url))
}
