//! Several servers at once.

use std::collections::BTreeMap;

use askback_core::{engine::client::ClientError, protocol::Tool};
use tokio::task::JoinSet;

use super::{Client, ClientBuilder, List, ServersFile};

/// The clients of several servers, by the name of the server. One that cannot be reached, or fails
/// later, does not end the others.
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
    /// Connects to all servers of a file at once, with a builder made for each by its name, and
    /// returns when each is connected or has failed ([`Clients::failed`]). **This starts the programs
    /// that the file names**: see [`ServersFile`]. It must be called within a tokio runtime.
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

    /// Adds a client that is connected, in place of the one that had the name.
    pub fn add(&mut self, name: impl Into<String>, client: Client) {
        self.servers.insert(name.into(), Ok(client));
    }

    /// Returns the client of a server.
    ///
    /// # Errors
    ///
    /// The reason why it could not be connected; [`ClientError::NoServer`] where there is none of
    /// that name.
    pub fn server(&self, name: &str) -> Result<&Client, ClientError> {
        match self.servers.get(name) {
            Some(Ok(client)) => Ok(client),
            Some(Err(error)) => Err(error.clone()),
            None => Err(ClientError::NoServer(name.to_owned())),
        }
    }

    /// Returns the clients that are connected, with the names of their servers in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Client)> {
        let servers = self.servers.iter();
        servers.filter_map(|(name, client)| Some((name.as_str(), client.as_ref().ok()?)))
    }

    /// Returns the servers that could not be connected, and why.
    pub fn failed(&self) -> impl Iterator<Item = (&str, &ClientError)> {
        let servers = self.servers.iter();
        servers.filter_map(|(name, client)| Some((name.as_str(), client.as_ref().err()?)))
    }

    /// Lists the tools of all servers at once. A server that could not be connected, or fails, has an
    /// error in place of its tools. A tool is called by both names: that of its server
    /// ([`Clients::server`]) and its own, which another server may use, too.
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

    /// Ends all connections at once, and returns when the servers that are child processes have
    /// ended.
    pub async fn close(self) {
        let clients = self.servers.into_values().filter_map(Result::ok);
        let closing: JoinSet<()> = clients.map(Client::close).collect();
        closing.join_all().await;
    }
}
