//! `askback servers` lists the servers in this folder's file and in other clients' files, and manages sign-ins.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use askback_host::{
    page::{Page, Style, out},
    text::{given, line},
    text_file, words,
};
use clap::ValueEnum as _;
use serde::Serialize;
use serde_json::{Value, json};

use super::{print_as_json, sign_ins};
use crate::{
    error::Error,
    known_clients::KnownClient,
    listed::ListedServer,
    locate::{find_upward, folders},
    servers::{
        Document, Folders, Layout, Source, Unreadable, add_to_json, anchor, conceal, conceal_args,
        read_at, unseen, without_inputs, write,
    },
    sign_in::SignInArgs,
    target::Reach,
};

/// List the servers of this folder and of other clients, import them, and sign out
///
/// Reads mcp.json and the files of Claude Code, Claude Desktop, Cline, Codex, Copilot CLI, Cursor, fast-agent,
/// Gemini CLI, Goose, opencode, Qwen Code and VS Code. Starts no server: `askback --server NAME --from CLIENT`
/// opens one.
#[derive(Debug, Clone, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  askback servers import --from claude-code\n  askback servers sign-out https://example.com/mcp"
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
    /// Write servers of other clients into mcp.json of this folder
    ///
    /// A server that it has already stays as it is. Variables take the place of what may be a secret.
    /// A file that is new can be read by you alone.
    Import {
        /// The servers; without any, all
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Only those of this client
        #[arg(long, value_enum, value_name = "CLIENT")]
        from: Option<&'static KnownClient>,
        /// Write secrets, too
        #[arg(long)]
        with_secrets: bool,
    },
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
    /// The client that owns the file, or `None` for an `mcp.json`.
    client: Option<&'static KnownClient>,
    path: PathBuf,
    /// The folder in which its servers start, except servers of a single project.
    folder: PathBuf,
    project: Option<PathBuf>,
    read: Result<Document, Unreadable>,
}

#[derive(Serialize)]
struct Row<'a> {
    name: &'a str,
    client: Option<&'static str>,
    file: &'a Path,
    reach: Option<String>,
    /// Why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    disabled: bool,
}

pub async fn run(args: ServersArgs) -> Result<(), Error> {
    let folders = folders()?;
    match args.command {
        None => list(&folders, args.json),
        Some(ServersCommand::Import {
            names,
            from,
            with_secrets,
        }) => import(&folders, &names, from, with_secrets),
        Some(ServersCommand::SignIns { sign_in }) => sign_ins::list(&sign_in),
        Some(ServersCommand::SignOut { url, sign_in, .. }) => {
            sign_ins::sign_out(url, &sign_in).await
        }
    }
}

impl FoundFile {
    fn all(folders: &Folders) -> Vec<Self> {
        let own = find_upward(&folders.here).map(|path| {
            let folder = path.parent().unwrap_or(Path::new("")).to_owned();
            Self {
                client: None,
                read: read(&path, Layout::Plain, folders),
                folder: folder.clone(),
                project: Some(folder),
                path,
            }
        });
        let mut all: Vec<_> = own.into_iter().collect();
        for client in <&KnownClient>::value_variants() {
            for source in client.sources(folders) {
                if all.iter().any(|file| file.path == source.path) {
                    continue;
                }
                let folder = source.folder(folders, false);
                let Source {
                    client,
                    path,
                    layout,
                    project,
                } = source;
                all.push(Self {
                    client: Some(client),
                    read: read(&path, layout, folders),
                    folder,
                    project,
                    path,
                });
            }
        }
        all
    }

    fn client(&self) -> &'static str {
        self.client.map_or("askback", |client| client.name)
    }

    /// How a server is reached, as the file says it, or why it cannot be used.
    fn reach(&self, document: &Document, name: &str) -> Result<String, String> {
        let project = self.project.as_deref();
        let listed = ListedServer::find(document.clone(), name, &self.path, &self.folder, project);
        let target = listed.and_then(|listed| listed.written());
        let target = target.map_err(|error| error.reason())?;
        Ok(match target.reach {
            Reach::Start(mut command) => {
                command.args = conceal_args(name, &command.args);
                command.shown()
            }
            Reach::Address(address) => {
                // A query may hold a secret.
                let url = address.url.split(['?', '#']).next().unwrap_or_default();
                let mut server = json!({"url": url});
                conceal(name, &mut server);
                line(server["url"].as_str().unwrap_or_default())
            }
        })
    }
}

fn read(path: &Path, layout: Layout, folders: &Folders) -> Result<Document, Unreadable> {
    let text = match layout {
        Layout::Plain => text_file::read_at(path),
        _ => read_at(path),
    };
    let text = text.map_err(|error| Unreadable(error.to_string()))?;
    Document::read(&text, layout, Some(&folders.here))
}

fn list(folders: &Folders, json: bool) -> Result<(), Error> {
    let files = FoundFile::all(folders);
    if json {
        let mut rows = Vec::new();
        for file in &files {
            let Ok(document) = &file.read else { continue };
            rows.extend(document.names().map(|name| {
                let reach = file.reach(document, name);
                Row {
                    name,
                    client: file.client.map(|client| client.name),
                    file: &file.path,
                    error: reach.as_ref().err().cloned(),
                    reach: reach.ok(),
                    disabled: is_disabled(document, name),
                }
            }));
        }
        return print_as_json(&BTreeMap::from([("servers", rows)]));
    }
    let mut page = out::stdout_page();
    for file in &files {
        put(&mut page, file);
    }
    if files.is_empty() {
        page.say(
            Style::Plain,
            "Found no mcp.json here or in a folder above, and no file of another client.",
        );
    }
    Ok(out::print(&page.take().alone())?)
}

fn put(page: &mut Page, file: &FoundFile) {
    page.blank();
    page.line(words!("{}: {}", file.client(), given(file.path.display())));
    let document = match &file.read {
        Ok(document) => document,
        Err(Unreadable(why)) => {
            page.quote_line("  ! ", &**why);
            return;
        }
    };
    let mut any = false;
    for name in document.names() {
        any = true;
        let reach = file.reach(document, name);
        let reach = reach.unwrap_or_else(|why| format!("cannot be used: {}", line(&why)));
        let disabled = if is_disabled(document, name) {
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

fn import(
    folders: &Folders,
    names: &[String],
    from: Option<&'static KnownClient>,
    with_secrets: bool,
) -> Result<(), Error> {
    let path = folders.here.join("mcp.json");
    let before = match path.exists() {
        true => text_file::read_at(&path).map_err(|error| Error::unread(&path, error))?,
        false => String::new(),
    };
    let there = match before.is_empty() {
        true => Document::default(),
        false => {
            Document::read(&before, Layout::Plain, None).map_err(|error| malformed(&path, error))?
        }
    };
    let mut page = out::stdout_page();
    let mut added: BTreeMap<String, Value> = BTreeMap::new();
    let mut seen: Vec<String> = Vec::new();
    let mut passed_over: Vec<PathBuf> = Vec::new();
    let files = FoundFile::all(folders).into_iter();
    for file in
        files.filter(|file| file.client.is_some() && (from.is_none() || file.client == from))
    {
        let document = match &file.read {
            Ok(document) => document,
            Err(Unreadable(why)) => {
                page.line(words!("{} is skipped:", given(file.path.display())));
                page.quote(&**why);
                passed_over.push(file.path);
                continue;
            }
        };
        for name in document
            .names()
            .filter(|name| names.is_empty() || names.iter().any(|it| it == name))
        {
            seen.push(name.to_owned());
            let Some(server) = document.server(name) else {
                continue;
            };
            let is_there = there.server(name).is_some() || added.contains_key(name);
            let is_there = is_there.then(|| "a server has this name already".into());
            if let Some(why) = is_there.or_else(|| unseen(name)) {
                page.line(words!(
                    "Not imported from {}, because {}:",
                    file.client(),
                    why
                ));
                page.quote_line("  ", line(name));
                continue;
            }
            let mut server = server.clone();
            // A project's server starts in the project's folder already.
            let moves = !document.is_of_project(name) && file.folder != folders.here;
            if moves && server.is_object() {
                anchor(&mut server, &file.folder);
            }
            let inputs = without_inputs(&mut server);
            let secrets = match with_secrets {
                true => Vec::new(),
                false => conceal(name, &mut server),
            };
            if let Err(error) = check(name, &server, &path) {
                page.line(words!(
                    "Not imported from {}, because it cannot be used:",
                    file.client()
                ));
                page.quote_line("  ", format!("{}: {}", line(name), line(&error.reason())));
                continue;
            }
            page.line(words!("From {}:", file.client()));
            page.quote_line("  ", line(name));
            for variable in inputs {
                page.line("  A variable replaces an input:");
                page.quote_line("    ", variable);
            }
            for secret in secrets {
                page.line(words!(
                    "  A variable replaces what may be a secret in its {}:",
                    secret.member
                ));
                page.quote_line("    ", secret.variable);
            }
            added.insert(name.to_owned(), server);
        }
    }
    if let Some(missing) = names.iter().find(|name| !seen.contains(name)) {
        let error = Error::usage(words!("no client has a server called `{}`", given(missing)));
        return Err(match passed_over.first() {
            Some(path) => {
                let path = given(path.display());
                error.hint(words!("It may be in {}, which cannot be read.", path))
            }
            None => error.hint("askback servers lists the servers."),
        });
    }
    let is_missing =
        |name: &String| there.server(name).is_none() && !added.contains_key(name.as_str());
    let are_left = match names.is_empty() {
        true => !passed_over.is_empty(),
        false => names.iter().any(is_missing),
    };
    let servers: Vec<_> = added.into_iter().collect();
    match servers.is_empty() {
        true => page.say(Style::Plain, "There is nothing to write."),
        false => {
            let text = add_to_json(&before, &servers).map_err(|error| malformed(&path, error))?;
            tell_written(&mut page, &path, &text)?;
        }
    }
    out::print(&page.take())?;
    match are_left {
        true => Err(Error::usage("not all servers are imported").hint("The reasons are above.")),
        false => Ok(()),
    }
}

fn check(name: &str, server: &Value, path: &Path) -> Result<(), Error> {
    let text = json!({"mcpServers": {name: server}}).to_string();
    let document =
        Document::read(&text, Layout::Plain, None).map_err(|error| malformed(path, error))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let listed = ListedServer::find(document, name, path, folder, None);
    listed.and_then(|listed| listed.written()).map(drop)
}

fn tell_written(page: &mut Page, path: &Path, text: &str) -> Result<(), Error> {
    let is_new = write(path, text).map_err(|error| Error::unwritten(path, &error))?;
    page.line(words!("Wrote {}.", given(path.display())));
    if is_new && cfg!(unix) {
        page.line("The file is new, and only you can read it.");
    }
    Ok(())
}

fn malformed(path: &Path, Unreadable(why): Unreadable) -> Error {
    let path = given(path.display());
    Error::usage(words!("{} is not a file of servers:", path)).quoting(why)
}
