use std::{
    collections::BTreeMap,
    fmt,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use askback_core::{engine::client::ClientError, json};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Number, value::RawValue};

use super::{Client, ClientBuilder};

const MOST: u64 = 1 << 20;

/// A server file in the format that most hosts read, often called `mcp.json`:
///
/// ```json
/// {
///   "mcpServers": {
///     "travel": {"command": "askback", "args": ["serve", "travel"], "env": {"LANG": "C"}, "cwd": "."},
///     "weather": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer …"}}
///   }
/// }
/// ```
///
/// **Such a file runs programs** with the rights and the environment of this process. Only read a file that the user
/// has written or approved, and never one that just happens to be in a folder that others can write to.
///
/// Unknown members of the file and of a server are ignored, and available with [`ServersFile::read_entry`].
#[derive(Clone)]
pub struct ServersFile {
    folder: PathBuf,
    servers: BTreeMap<String, Box<RawValue>>,
}

/// One server of a [`ServersFile`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEntry {
    /// A server that is started as a process.
    Command(ServerCommand),
    /// A server that is reached over HTTP.
    Url(ServerUrl),
}

/// A command that starts a server.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ServerCommand {
    /// The program. A path is relative to the file's folder, and a plain name is looked up in `PATH`.
    pub program: String,
    /// The arguments.
    pub args: Vec<String>,
    /// Variables to add to the environment. A variable that is `null` in the file is not changed.
    pub env: BTreeMap<String, String>,
    /// The working directory; by default the file's folder.
    pub cwd: Option<PathBuf>,
}

/// The URL of a server.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ServerUrl {
    /// The URL.
    pub url: String,
    /// The headers to send with every request.
    pub headers: BTreeMap<String, String>,
}

/// Why a server file, or an entry in it, cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServersFileError {
    /// The file cannot be read.
    #[error("{} cannot be read: {why}", path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The I/O error.
        why: io::Error,
    },
    /// The file is not valid.
    #[error("it is not a file of servers: {0}")]
    Malformed(String),
    /// The file has no server with this name.
    #[error("no server is called `{name}`; the file names {}", names(known))]
    Unknown {
        /// The requested name.
        name: String,
        /// The names in the file.
        known: Vec<String>,
    },
    /// The entry of a server is not valid.
    #[error("server `{name}` cannot be read: {why}")]
    Entry {
        /// The name of the server.
        name: String,
        /// The location and what is expected there. The value is not included, because it may be a secret.
        why: String,
    },
    /// The entry has neither a command nor a URL.
    #[error("server `{0}` has no `command` and no `url`")]
    Unreachable(String),
}

#[derive(Deserialize)]
struct Members {
    #[serde(rename = "mcpServers")]
    servers: BTreeMap<String, Box<RawValue>>,
}

#[derive(Deserialize)]
struct EntryMembers {
    command: Option<String>,
    #[serde(default, deserialize_with = "json::or_default")]
    args: Vec<Text>,
    #[serde(default, deserialize_with = "texts_by_name")]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(default, deserialize_with = "texts_by_name")]
    headers: BTreeMap<String, String>,
}

/// A string, or a number or boolean that stands for one, as in `"PORT": 8080`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a text")]
enum Text {
    Written(String),
    Number(Number),
    Flag(bool),
}

impl From<Text> for String {
    fn from(text: Text) -> Self {
        match text {
            Text::Written(text) => text,
            Text::Number(number) => number.to_string(),
            Text::Flag(flag) => flag.to_string(),
        }
    }
}

fn texts_by_name<'de, D: Deserializer<'de>>(json: D) -> Result<BTreeMap<String, String>, D::Error> {
    let texts: BTreeMap<String, Option<Text>> = json::or_default(json)?;
    let texts = texts.into_iter();
    Ok(texts
        .filter_map(|(name, text)| Some((name, text?.into())))
        .collect())
}

fn names(known: &[String]) -> String {
    match known {
        [] => "none".to_owned(),
        known => known.join(", "),
    }
}

impl ServersFile {
    /// Reads a file that the caller trusts: see [`ServersFile`].
    ///
    /// # Errors
    ///
    /// If the file cannot be read, is larger than 1 MiB, or is not a server file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, ServersFileError> {
        let path = path.as_ref();
        let unreadable = |why| ServersFileError::Io {
            path: path.to_owned(),
            why,
        };
        let mut json = String::new();
        let file = File::open(path).map_err(unreadable)?;
        let mut bounded = file.take(MOST.saturating_add(1));
        bounded.read_to_string(&mut json).map_err(unreadable)?;
        if u64::try_from(json.len()).is_ok_and(|length| length > MOST) {
            let why = "it is larger than 1 MiB";
            return Err(unreadable(io::Error::new(io::ErrorKind::FileTooLarge, why)));
        }
        let whole = std::path::absolute(path).map_err(unreadable)?;
        Self::parse(&json, whole.parent().unwrap_or(Path::new("")))
    }

    /// Parses the text of a file in `folder`, which relative paths start from.
    ///
    /// # Errors
    ///
    /// If the text is not a server file. An invalid entry is an error only for that server.
    pub fn parse(json: &str, folder: impl Into<PathBuf>) -> Result<Self, ServersFileError> {
        let Members { servers } = read(json).map_err(ServersFileError::Malformed)?;
        Ok(Self {
            folder: folder.into(),
            servers,
        })
    }

    /// Returns the names of the servers in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// Returns how to reach a server.
    ///
    /// # Errors
    ///
    /// If the name is unknown or its entry is not valid.
    pub fn server(&self, name: &str) -> Result<ServerEntry, ServersFileError> {
        match self.read_entry(name)? {
            EntryMembers {
                command: Some(program),
                args,
                env,
                cwd,
                ..
            } => Ok(ServerEntry::Command(ServerCommand {
                program: in_folder(&self.folder, program),
                args: args.into_iter().map(String::from).collect(),
                env,
                cwd: Some(self.folder.join(cwd.unwrap_or_default()))
                    .filter(|cwd| !cwd.as_os_str().is_empty()),
            })),
            EntryMembers {
                url: Some(url),
                headers,
                ..
            } => Ok(ServerEntry::Url(ServerUrl { url, headers })),
            _ => Err(ServersFileError::Unreachable(name.to_owned())),
        }
    }

    /// Deserializes the entry of a server to your own type, for members that this crate does not know.
    ///
    /// # Errors
    ///
    /// If the name is unknown or its entry does not fit the type.
    pub fn read_entry<T: DeserializeOwned>(&self, name: &str) -> Result<T, ServersFileError> {
        let Some(json) = self.servers.get(name) else {
            return Err(ServersFileError::Unknown {
                name: name.to_owned(),
                known: self.servers.keys().cloned().collect(),
            });
        };
        read(json.get()).map_err(|why| ServersFileError::Entry {
            name: name.to_owned(),
            why,
        })
    }
}

impl ServerEntry {
    /// Connects a client to the server, and starts the server if it is a command.
    ///
    /// # Errors
    ///
    /// The errors of [`ClientBuilder::connect`]; [`ClientError::Unreachable`] if the URL or a header is not valid;
    /// [`ClientError::Unsupported`] if this crate was built without the transport (features `stdio` and `http-client`).
    pub async fn connect(self, client: ClientBuilder) -> Result<Client, ClientError> {
        match self {
            Self::Command(command) => command.connect(client).await,
            Self::Url(url) => url.connect(client).await,
        }
    }
}

impl ServerCommand {
    #[cfg(feature = "stdio")]
    async fn connect(self, client: ClientBuilder) -> Result<Client, ClientError> {
        let child = crate::transport::Child::command(self.program);
        let child = child.args(self.args).envs(self.env);
        let child = match self.cwd {
            Some(cwd) => child.current_dir(cwd),
            None => child,
        };
        client.connect(child).await
    }

    #[cfg(not(feature = "stdio"))]
    async fn connect(self, _: ClientBuilder) -> Result<Client, ClientError> {
        Err(without("stdio"))
    }
}

impl ServerUrl {
    #[cfg(feature = "http-client")]
    async fn connect(self, client: ClientBuilder) -> Result<Client, ClientError> {
        fn unusable(why: impl ToString) -> ClientError {
            ClientError::Unreachable(why.to_string())
        }
        let mut http = crate::transport::Http::new(&self.url).map_err(unusable)?;
        for (name, value) in &self.headers {
            http = http.header(name, value).map_err(unusable)?;
        }
        client.connect(http).await
    }

    #[cfg(not(feature = "http-client"))]
    async fn connect(self, _: ClientBuilder) -> Result<Client, ClientError> {
        Err(without("http-client"))
    }
}

#[cfg(not(all(feature = "stdio", feature = "http-client")))]
fn without(feature: &str) -> ClientError {
    ClientError::Unsupported(format!(
        "askback was built without the feature `{feature}`, by which this server is reached"
    ))
}

/// Resolves a program against the file's folder if it is a path, so that an approved file cannot run a different
/// program in another folder.
fn in_folder(folder: &Path, program: String) -> String {
    let is_path = program.contains(std::path::is_separator);
    let joined = is_path.then(|| folder.join(&program).into_os_string().into_string());
    joined.and_then(Result::ok).unwrap_or(program)
}

// `Debug` hides headers, variables and arguments, because they often contain tokens.

/// Deserializes a part of a file. Errors have the location and what is expected there, but not the value, which may be
/// a secret.
fn read<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    let mut json = serde_json::Deserializer::from_str(json);
    let read = json::read(&mut json)?;
    json.end().map_err(|error| json::explain(&error))?;
    Ok(read)
}

impl fmt::Debug for ServersFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServersFile")
            .field("folder", &self.folder)
            .field("servers", &self.servers.keys())
            .finish()
    }
}

impl fmt::Debug for ServerCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerCommand")
            .field("program", &self.program)
            .field("env", &self.env.keys())
            .field("cwd", &self.cwd)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.split(['?', '#']).next().unwrap_or_default();
        // Removes a user and password before the host.
        let shown = match url.split_once("://") {
            Some((scheme, rest)) => {
                format!("{scheme}://{}", rest.rsplit('@').next().unwrap_or(rest))
            }
            None => url.to_owned(),
        };
        f.debug_struct("ServerUrl")
            .field("url", &shown)
            .field("headers", &self.headers.keys())
            .finish()
    }
}
