//! `askback serve` runs a built-in server.

use std::{io, net::SocketAddr, path::PathBuf};

use askback::{
    Principal, Revision, Server,
    authorization::server::{DevelopmentTokens, Protection},
    keys::state_dir,
};
use askback_host::{
    page::out,
    signals::Held,
    text::{Words, given},
    words,
};
use askback_travel::{Itineraries, Options};
use tokio::net::TcpListener;
use tracing_subscriber::filter::LevelFilter;

use super::note;
use crate::{
    error::{Error, Kind},
    private_file,
    session::revision,
};

/// The largest `--page-size`.
const MOST_ITEMS: i64 = 1000;

/// Serve a demo server that is part of askback
#[derive(Debug, Clone, clap::Args)]
pub struct ServeArgs {
    #[command(subcommand)]
    server: DemoServer,
}

/// The servers there are.
#[derive(Debug, Clone, clap::Subcommand)]
enum DemoServer {
    /// The travel agency, on the standard input and output or over HTTP
    Travel {
        /// Serve over HTTP at this address of this machine itself, path /mcp, until interrupted
        #[arg(long, value_name = "ADDRESS", value_parser = socket_address)]
        http: Option<SocketAddr>,
        /// How many items a page of a list has
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_ITEMS))]
        page_size: Option<u32>,
        /// The only revision to speak; all five if absent
        #[arg(long, value_name = "REVISION", value_parser = revision)]
        protocol: Option<Revision>,
        /// Where to keep the bookings; a folder of this user's if absent
        #[arg(long, value_name = "DIR")]
        directory: Option<PathBuf>,
        /// Where to save itineraries; if absent, in the folders that a client shares, and over HTTP
        /// not at all
        #[arg(long, value_name = "DIR")]
        itineraries: Option<PathBuf>,
        /// Also serve clients that know only the transport of 2024-11-05 (HTTP+SSE), at the same path
        #[arg(long, requires = "http")]
        sse: bool,
        #[command(flatten)]
        protecting: Protecting,
    },
}

/// Runs the command: serves until stdin ends or, over HTTP, until interrupted.
pub async fn run(args: ServeArgs) -> Result<(), Error> {
    let DemoServer::Travel {
        http,
        page_size,
        protocol,
        directory,
        itineraries,
        sse,
        protecting,
    } = args.server;
    log_to_stderr();
    let itineraries = match (itineraries, http) {
        (Some(folder), _) => Itineraries::Folder(made(folder)?),
        (None, None) => Itineraries::SharedFolders,
        // The folders that a client shares are on its own machine.
        (None, Some(_)) => Itineraries::Nowhere,
    };
    // Bind before the address is printed.
    let listener = match http {
        Some(address) => Some(bound(address).await?),
        None => None,
    };
    let directory = kept_in(directory)?;
    let kept: Words = match &directory {
        Some(folder) => words!("bookings are kept in {}", given(folder.display())),
        None => "bookings are kept until this server ends".into(),
    };
    let options = Options {
        page_size: page_size.map(|size| size as usize),
        revisions: protocol.map(|revision| vec![revision]),
        itineraries,
        directory,
    };
    // Building the server reads from disk.
    let server = tokio::task::spawn_blocking(|| askback_travel::server(options)).await;
    let server = match server {
        Ok(Ok(server)) => server,
        Ok(Err(error)) => return Err(failed(error)),
        Err(error) => return Err(failed(error)),
    };
    match listener {
        Some(listener) => serve_http(&server, listener, sse, &protecting, kept).await,
        None => server.serve_stdio().await.map_err(failed),
    }
}

/// Logs warnings and errors to stderr for the operator, because clients are not told about internal failures.
fn log_to_stderr() {
    let log = tracing_subscriber::fmt()
        .with_max_level(LevelFilter::WARN)
        .with_writer(out::stderr)
        // A broken stderr must not end the server.
        .log_internal_errors(false);
    // A program that embeds this one may have installed its own log.
    let _ = log.try_init();
}

fn socket_address(text: &str) -> Result<SocketAddr, String> {
    let expected = "expected an IP address and a port, such as 127.0.0.1:8080";
    text.parse().map_err(|_| expected.to_owned())
}

async fn bound(address: SocketAddr) -> Result<TcpListener, Error> {
    // Write an IPv4-mapped address as IPv4, also in the URL for clients.
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    if !address.ip().is_loopback() {
        let port = address.port();
        return Err(Error::usage(words!(
            "--http {}: anybody who reaches this machine could connect, without encryption; serve at 127.0.0.1:{}, and let others in through a proxy with TLS and authentication, or through a tunnel such as `ssh -L {}:127.0.0.1:{}`",
            given(address),
            port,
            port,
            port
        )));
    }
    TcpListener::bind(address).await.map_err(|error| {
        let failed = Error::new(
            Kind::Connection,
            words!("cannot listen at {}: {}", given(address), given(&error)),
        );
        match error.kind() {
            io::ErrorKind::AddrInUse => {
                failed.hint("Another program uses it: choose another port, or 0 for a free one.")
            }
            _ => failed,
        }
    })
}

/// Serves until interrupted. Writes the address to stderr.
async fn serve_http(
    server: &Server,
    listener: TcpListener,
    sse: bool,
    protecting: &Protecting,
    kept: Words,
) -> Result<(), Error> {
    let address = listener.local_addr().map_err(failed)?;
    let url = format!("http://{address}/mcp");
    let protection = protecting.protection(&url)?;
    let has_tokens = protection.is_some();
    let mut endpoint = server.http();
    if sse {
        endpoint = endpoint.allow_http_sse();
    }
    if let Some(protection) = protection {
        endpoint = endpoint.protect(protection);
    }
    note(words!("the travel agency is at {}", given(&url)));
    if has_tokens {
        note("development tokens never expire: do not use them for anything else");
    }
    note(kept);
    let held = Held::terminations();
    let interrupted = async {
        let _held = held;
        tokio::select! {
            () = interrupt() => {}
            () = termination() => {}
        }
        note("stopping; open calls may finish first");
    };
    endpoint
        .serve_until(listener, interrupted)
        .await
        .map_err(failed)
}

/// Waits for Ctrl-C. If it cannot be observed here, it ends the process as usual.
pub(super) async fn interrupt() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

pub(super) async fn termination() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut told) = signal(SignalKind::terminate()) {
            told.recv().await;
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// The folder for bookings, created if missing. Without one, bookings last as long as the server.
fn kept_in(chosen: Option<PathBuf>) -> Result<Option<PathBuf>, Error> {
    if let Some(chosen) = chosen {
        return made(chosen).map(Some);
    }
    let folder = state_dir().map(|state| state.join("askback").join("travel"));
    Ok(folder.filter(|folder| private_file::make_folder(folder).is_ok()))
}

/// Creates the operator's folder if it is missing, accessible only to this user.
fn made(folder: PathBuf) -> Result<PathBuf, Error> {
    match private_file::make_folder(&folder) {
        Ok(()) => Ok(folder),
        Err(error) => Err(Error::usage(words!(
            "{} cannot be used: {}",
            given(folder.display()),
            given(error)
        ))),
    }
}

fn failed(why: impl std::fmt::Display) -> Error {
    Error::new(
        Kind::Connection,
        words!("the travel agency cannot be served: {}", given(why)),
    )
}

/// The scope that every request to the travel agency needs.
const READ: &str = "travel:read";

/// The clients that are let in: every client on this machine, unless an option says otherwise
#[derive(Debug, Clone, Default, clap::Args)]
struct Protecting {
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
    fn protection(&self, resource: &str) -> Result<Option<Protection>, Error> {
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
