//! `askback servers` lists the servers in this folder's file and in other clients' files, and manages sign-ins.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use askback_host::{
    page::{Page, Style, out},
    text::{given, line},
    words,
};
use clap::ValueEnum as _;
use serde::Serialize;

use super::{print_as_json, sign_ins};
use crate::{
    error::Error,
    known_clients::KnownClient,
    locate::{ServerFile, find_upward, folders},
    servers::{Document, Folders, conceal_args, conceal_url},
    sign_in::SignInArgs,
    target::Reach,
};

/// List the servers of this folder and of other clients, and sign out
///
/// Reads mcp.json and the files of Claude Code, Claude Desktop, Cline, Codex, Copilot CLI, Cursor, fast-agent,
/// Gemini CLI, Goose, opencode, Qwen Code and VS Code. Starts no server: `askback --server NAME --from CLIENT`
/// opens one.
#[derive(Debug, Clone, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Example:\n  askback servers sign-out https://example.com/mcp"
)]
pub struct ServersArgs {
    /// Print them as JSON
    #[arg(long)]
    json: bool,
    #[command(subcommand)]
    command: Option<ServersCommand>,
}

#[derive(Debug, Clone, clap::Subcommand)]
enum ServersCommand {
    /// List the servers you are signed in to
    SignIns {
        #[command(flatten)]
        sign_in: SignInArgs,
    },
    /// Sign out: give tokens back if the authorization server takes them, and forget them
    SignOut {
        /// The address of the server
        #[arg(value_name = "URL", required_unless_present = "all")]
        url: Option<String>,
        /// Sign out of every server
        #[arg(long, conflicts_with = "url")]
        all: bool,
        #[command(flatten)]
        sign_in: SignInArgs,
    },
}

struct FoundFile {
    /// The client that owns the file. `None` for an `mcp.json`.
    client: Option<&'static str>,
    path: PathBuf,
    read: Result<ServerFile, Error>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    client: Option<&'static str>,
    file: &'a Path,
    reach: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    disabled: bool,
}

pub async fn run(args: ServersArgs) -> Result<(), Error> {
    let folders = folders()?;
    match args.command {
        None => list(&folders, args.json),
        Some(ServersCommand::SignIns { sign_in }) => sign_ins::list(&sign_in),
        Some(ServersCommand::SignOut { url, sign_in, .. }) => {
            sign_ins::sign_out(url, &sign_in).await
        }
    }
}

impl FoundFile {
    fn all(folders: &Folders) -> Vec<Self> {
        let own = find_upward(&folders.here).map(|path| (path, None));
        let clients = <&KnownClient>::value_variants().iter();
        let sources = clients.flat_map(|client| client.sources(folders));
        let sources = sources.map(|source| (source.path.clone(), Some(source)));
        let mut all: Vec<Self> = Vec::new();
        for (path, source) in own.into_iter().chain(sources) {
            if all.iter().all(|file| file.path != path) {
                all.push(Self {
                    client: source.as_ref().map(|source| source.client.name),
                    read: ServerFile::read(path.clone(), source, &folders.here),
                    path,
                });
            }
        }
        all
    }
}

/// How a server is reached, as the file says it, or why it cannot be used.
fn reach(file: &ServerFile, name: &str, folders: &Folders) -> Result<String, String> {
    let target = file
        .find(name, folders)
        .and_then(|listed| listed.written())
        .map_err(|error| error.reason())?;
    Ok(match target.reach {
        Reach::Start(mut command) => {
            command.args = conceal_args(&command.args);
            command.shown()
        }
        Reach::Address(address) => line(conceal_url(&address.url)),
    })
}

fn list(folders: &Folders, json: bool) -> Result<(), Error> {
    let files = FoundFile::all(folders);
    if json {
        let mut rows = Vec::new();
        for file in &files {
            let Ok(read) = &file.read else { continue };
            rows.extend(read.document.names().map(|name| {
                let reach = reach(read, name, folders);
                Row {
                    name,
                    client: file.client,
                    file: &file.path,
                    error: reach.as_ref().err().cloned(),
                    reach: reach.ok(),
                    disabled: is_disabled(&read.document, name),
                }
            }));
        }
        return print_as_json(&BTreeMap::from([("servers", rows)]));
    }
    let mut page = out::stdout_page();
    for file in &files {
        put(&mut page, file, folders);
    }
    if files.is_empty() {
        page.say(
            Style::Plain,
            "Found no mcp.json here or in a folder above, and no file of another client.",
        );
    }
    Ok(out::print(&page.take().alone())?)
}

fn put(page: &mut Page, file: &FoundFile, folders: &Folders) {
    page.blank();
    let client = file.client.unwrap_or("askback");
    page.line(words!("{}: {}", client, given(file.path.display())));
    let read = match &file.read {
        Ok(read) => read,
        Err(error) => {
            page.quote_line("  ! ", error.reason());
            return;
        }
    };
    let mut any = false;
    for name in read.document.names() {
        any = true;
        let reach = reach(read, name, folders);
        let reach = reach.unwrap_or_else(|why| format!("cannot be used: {}", line(&why)));
        let disabled = if is_disabled(&read.document, name) {
            " (disabled)"
        } else {
            ""
        };
        page.quote_line("  ", format!("{}: {reach}{disabled}", line(name)));
    }
    if !any {
        page.note(Style::Dim, "It names no server.");
    }
}

fn is_disabled(document: &Document, name: &str) -> bool {
    document
        .server(name)
        .is_some_and(|server| server["disabled"] == true)
}
