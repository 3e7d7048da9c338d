//! A server for the only user of a machine, which lists their GitHub repositories.
//!
//! Its folder has `providers.toml` and `vault.keys`, and the vault is created there. The guide's chapter on connections
//! explains how to start.

use std::{
    env,
    error::Error,
    future,
    io::{self, Write},
    net::SocketAddr,
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use askback::{Ctx, Error as ToolError, Limits, Result, Server, http::PeerUser, tool};
use askback_connect::{
    Brand, ConnectExt, Connections,
    providers::Providers,
    vault::{LocalKeys, SqliteVault, Vault, VaultSettings},
};
use askback_oauth::{Fetcher, Reach, Route};
use axum::serve::Listener;
use tokio::{
    net::{TcpListener, TcpStream},
    time,
};

const USAGE: &str = "usage: repositories FOLDER [ADDRESS]\n       repositories FOLDER accounts";

/// The default address of the pages. GitHub redirects the browser there.
const ADDRESS: &str = "127.0.0.1:4000";

/// The interval at which GitHub is told about disconnected accounts.
const REVOCATIONS: Duration = Duration::from_secs(60);

/// Lists the repositories of the person at GitHub.
#[tool(read_only, open_world)]
async fn repositories(ctx: Ctx) -> Result<String> {
    let github = ctx.connect("github").await?;
    let answer = github
        .get("https://api.github.com/user/repos?per_page=20")
        .await?;
    if answer.status != 200 {
        let status = answer.status;
        return Err(ToolError::new(format!("GitHub answered {status}")));
    }
    let listed = answer.json().unwrap_or_default();
    let listed = listed.as_array().into_iter().flatten();
    let names = listed.filter_map(|repository| repository["full_name"].as_str());
    Ok(names.collect::<Vec<_>>().join("\n"))
}

async fn accounts(folder: PathBuf, url: String) -> Result<Connections, Box<dyn Error>> {
    let store = SqliteVault::open(folder.join("vault.db"))?;
    let keys = LocalKeys::file(folder.join("vault.keys"))?;
    let vault = Vault::open(Arc::new(store), Arc::new(keys), VaultSettings::default()).await?;
    let fetcher = Fetcher::new(Reach::internet(), &Route::Direct, &Limits::default())?;
    let providers = Providers::from_file(fetcher, folder.join("providers.toml")).await?;
    let connections = Connections::on_this_machine(url, vault, providers);
    Ok(connections.brand(Brand::new("My repositories")).build()?)
}

/// A listener that refuses connections from other users of this machine, if the system reports the user of a
/// connection.
struct OwnListener(TcpListener);

impl Listener for OwnListener {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            let (stream, remote) = Listener::accept(&mut self.0).await;
            match stream.local_addr() {
                Ok(local) if PeerUser::of(local, remote).await == PeerUser::Other => {}
                _ => return (stream, remote),
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

#[tokio::main]
async fn main() -> Result<(), String> {
    // Clients are not told what failed in the server. The operator reads it here.
    let log = tracing_subscriber::fmt().with_ansi(false);
    log.with_writer(io::stderr).init();
    serve().await.map_err(|error| error.to_string())
}

/// Serves the pages and the tool, or shows which accounts are connected.
async fn serve() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args().skip(1);
    let folder = arguments.next().ok_or(USAGE)?;
    let argument = arguments.next();
    let shows_accounts = argument.as_deref() == Some("accounts");
    let address = match argument {
        // The running server may be using its port.
        Some(_) if shows_accounts => "127.0.0.1:0".to_owned(),
        Some(address) => address,
        None => ADDRESS.to_owned(),
    };
    let listener = TcpListener::bind(&address).await;
    let listener = listener.map_err(|error| format!("cannot listen at {address}: {error}"))?;
    let listener = OwnListener(listener);
    let url = format!("http://{}", listener.local_addr()?);
    let connections = accounts(folder.into(), url).await?;
    let pages = axum::Router::new().fallback_service(connections.pages());
    tokio::spawn(axum::serve(listener, pages).into_future());
    let disconnected = connections.clone();
    tokio::spawn(async move {
        let mut turns = time::interval(REVOCATIONS);
        loop {
            turns.tick().await;
            if let Err(error) = disconnected.revoke_due().await {
                tracing::warn!(%error, "GitHub could not be told what was disconnected");
            }
        }
    });
    if shows_accounts {
        if let Some(link) = connections.accounts_link().await? {
            writeln!(
                io::stdout(),
                "Open within two minutes: {link}\nCtrl-C ends this."
            )?;
        }
        return future::pending().await;
    }
    let server = Server::new("repositories", "1.0").state(connections);
    Ok(server.tool(repositories).run_stdio().await?)
}
