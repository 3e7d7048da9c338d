use std::collections::BTreeMap;

use askback_core::{engine::client::ClientError, protocol::Tool};
use tokio::task::JoinSet;

use super::{Client, ClientBuilder, List, ServersFile};

/// The clients of several servers, by server name. If one server cannot be reached or fails later, the others continue.
///
/// ```no_run
/// use askback::client::{Client, Clients, ServersFile};
/// use serde_json::json;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let file = ServersFile::read("mcp.json")?;
/// let clients = Clients::connect(&file, |_| Client::builder("my-host", "1.0.0")).await;
/// for (server, tools) in clients.tools().await {
///     match tools {
///         Ok(tools) => println!("{server}: {} tools", tools.len()),
///         Err(error) => eprintln!("{server}: {error}"),
///     }
/// }
/// let found = clients.server("travel")?.call_tool("find", json!({"to": "Oslo"})).await?;
/// println!("{}", found.text()?);
/// clients.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Default)]
pub struct Clients {
    servers: BTreeMap<String, Result<Client, ClientError>>,
}

impl Clients {
    /// Connects to all servers in a file at once, with a builder for each server name. Returns when each server is
    /// connected or has failed (see [`Clients::failed`]). **This runs the programs that the file names**: see
    /// [`ServersFile`]. Must be called within a tokio runtime.
    pub async fn connect(file: &ServersFile, client: impl Fn(&str) -> ClientBuilder) -> Self {
        let mut connecting = JoinSet::new();
        let mut clients = Self::default();
        for name in file.names() {
            match file.server(name) {
                Ok(entry) => {
                    let (name, client) = (name.to_owned(), client(name));
                    connecting.spawn(async move { (name, entry.connect(client).await) });
                }
                Err(error) => {
                    let error = ClientError::Unreachable(error.to_string());
                    clients.servers.insert(name.to_owned(), Err(error));
                }
            }
        }
        clients.servers.extend(connecting.join_all().await);
        clients
    }

    /// Adds a connected client, and replaces the one with the same name.
    pub fn add(&mut self, name: impl Into<String>, client: Client) {
        self.servers.insert(name.into(), Ok(client));
    }

    /// Returns the client of a server.
    ///
    /// # Errors
    ///
    /// The error from connecting to the server, or [`ClientError::NoServer`] if the name is unknown.
    pub fn server(&self, name: &str) -> Result<&Client, ClientError> {
        match self.servers.get(name) {
            Some(Ok(client)) => Ok(client),
            Some(Err(error)) => Err(error.clone()),
            None => Err(ClientError::NoServer(name.to_owned())),
        }
    }

    /// Returns the connected clients, with the names of their servers, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Client)> {
        let servers = self.servers.iter();
        servers.filter_map(|(name, client)| Some((name.as_str(), client.as_ref().ok()?)))
    }

    /// Returns the servers that could not be connected, with their errors.
    pub fn failed(&self) -> impl Iterator<Item = (&str, &ClientError)> {
        let servers = self.servers.iter();
        servers.filter_map(|(name, client)| Some((name.as_str(), client.as_ref().err()?)))
    }

    /// Lists the tools of all servers at once. For a server that is not connected or fails, the entry is an error. Tool
    /// names are not unique across servers: select the server first with [`Clients::server`].
    pub async fn tools(&self) -> BTreeMap<String, Result<List<Tool>, ClientError>> {
        let mut listing = JoinSet::new();
        let mut tools = BTreeMap::new();
        for (name, client) in &self.servers {
            match client {
                Ok(client) => {
                    let (name, client) = (name.clone(), client.clone());
                    listing.spawn(async move { (name, client.tools().await) });
                }
                Err(error) => {
                    tools.insert(name.clone(), Err(error.clone()));
                }
            }
        }
        tools.extend(listing.join_all().await);
        tools
    }

    /// Closes all connections at once, and returns when all child processes have exited.
    pub async fn close(self) {
        let clients = self.servers.into_values().filter_map(Result::ok);
        let closing: JoinSet<()> = clients.map(Client::close).collect();
        closing.join_all().await;
    }
}
