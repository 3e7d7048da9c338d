//! Finds the server that the command line names.

use std::{
    ffi::OsStr,
    path::{Component, Path, PathBuf},
};

use askback_host::{page::out, text::given, text_file, words};

use crate::{
    args,
    error::Error,
    known_clients::KnownClient,
    listed::ListedServer,
    misplaced,
    servers::{Document, EntryShape, Folders, Source, Unreadable, heading, read_at},
    target::Target,
    trust::Found,
    typed::{self, TypedText},
};

/// Searched for from the working directory upward.
const FILES: [&str; 2] = ["mcp.json", ".mcp.json"];

/// The options of the command line that say which server is meant.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct TargetArgs {
    /// Call the server by this name in questions and answers files
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// The address of a server
    #[arg(long, value_name = "URL", conflicts_with_all = ["server", "command"])]
    pub url: Option<String>,
    /// Send this header; may be given again. Others can read a command line: write a secret as '${VAR}'
    #[arg(long = "header", value_name = "NAME: VALUE", value_parser = TypedText::read)]
    pub headers: Vec<TypedText>,
    /// Set this variable of a server that is started here; may be given again. NAME alone keeps its value
    #[arg(long = "env", value_name = "NAME=VALUE", value_parser = TypedText::read)]
    pub env: Vec<TypedText>,
    /// A server of mcp.json; a conversation takes several
    #[arg(long, value_name = "NAME", conflicts_with = "command")]
    pub server: Vec<String>,
    /// The file of servers [default: mcp.json here or in a folder above]
    #[arg(long, value_name = "FILE", conflicts_with_all = ["url", "command"])]
    pub config: Option<PathBuf>,
    /// Take the server from the files of this client
    #[arg(
        long, value_enum, value_name = "CLIENT",
        conflicts_with_all = ["config", "url", "command"]
    )]
    pub from: Option<&'static KnownClient>,
    /// The command that starts the server
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<String>,
}

impl TargetArgs {
    pub fn is_named(&self) -> bool {
        self.url.is_some() || !self.server.is_empty() || !self.command.is_empty()
    }

    /// Names the server by the first of these words, if nothing else names it: a URL, a server of the file, or a file
    /// that is a program.
    pub fn name_by(&mut self, words: &mut Vec<String>) -> Result<(), Error> {
        if self.is_named() || words.is_empty() {
            return Ok(());
        }
        let word = words.remove(0);
        match self.meaning(&word) {
            Some(meaning) => self.name(meaning),
            // This error explains what is wrong with the file.
            None if is_listed(&word).is_none() => self.name(Meaning::Listed(word)),
            None => return Err(meaningless(&word)),
        }
        Ok(())
    }

    fn meaning(&self, word: &str) -> Option<Meaning> {
        let is_url = word.starts_with("http://") || word.starts_with("https://");
        if is_url {
            Some(Meaning::Url(word.to_owned()))
        } else if self.config.is_some() || self.from.is_some() || is_listed(word) == Some(true) {
            Some(Meaning::Listed(word.to_owned()))
        } else {
            let url = || misplaced::address(word).map(Meaning::Url);
            program(word).map(Meaning::Command).or_else(url)
        }
    }

    fn name(&mut self, meaning: Meaning) {
        match meaning {
            Meaning::Url(url) => self.url = Some(url),
            Meaning::Listed(name) => self.server = vec![name],
            Meaning::Command(command) => self.command = command,
        }
    }

    /// Takes the server from words such as `server.py tool key=value`, or with the server at the end: `tool key=value
    /// server.py`.
    pub fn take_server(
        &mut self,
        first: &mut String,
        others: &mut Vec<String>,
    ) -> Result<(), Error> {
        if self.is_named() {
            return Ok(());
        }
        let is_plain = |word: &String| !args::names_one(word);
        let meaning = self.meaning(first);
        let Some(next) = others.iter().position(is_plain) else {
            return match meaning {
                Some(_) if self.config.is_none() && self.from.is_none() => {
                    Err(nothing_behind(first))
                }
                _ => Ok(()),
            };
        };
        let last = others.iter().rposition(is_plain).unwrap_or(next);
        let behind = match meaning {
            Some(_) => None,
            None => self.meaning(&others[last]),
        };
        match behind {
            Some(server) => {
                others.remove(last);
                self.name(server);
                Ok(())
            }
            None => {
                let server = std::mem::replace(first, others.remove(next));
                self.name_by_all(vec![server])
            }
        }
    }

    /// Takes the server from these words, as [`TargetArgs::name_by`] does, and from nothing else.
    pub fn name_by_all(&mut self, mut words: Vec<String>) -> Result<(), Error> {
        self.name_by(&mut words)?;
        nothing_more(&words)
    }

    pub fn target(&self) -> Result<Target, Error> {
        let mut target = if let Some(url) = &self.url {
            Target::address(url)?
        } else if let [name, others @ ..] = &self.server[..] {
            if !others.is_empty() {
                let error = "several servers are named, and this command takes one";
                return Err(Error::usage(error).hint(
                    "Several can be open in one conversation: askback --server A --server B",
                ));
            }
            self.listed(name)?
        } else if let Some((program, args)) = self.command.split_first() {
            Target::child(program, args)
        } else {
            return Err(self.unnamed());
        };
        if let Some(name) = &self.name {
            target.name.clone_from(name);
        }
        self.add_to(&mut target)?;
        Ok(target)
    }

    pub fn add_to(&self, target: &mut Target) -> Result<(), Error> {
        typed::add(&self.headers, &self.env, target)
    }

    /// The named servers, or with `all` the servers of the file that are enabled and usable. Asks the user for
    /// agreements.
    pub fn targets(&self, all: bool) -> Result<Vec<Target>, Error> {
        let is_of_file = self.url.is_none() && self.command.is_empty();
        let is_unnamed = is_of_file && self.server.is_empty();
        if is_of_file && self.server.len() != 1 {
            if !self.headers.is_empty() {
                let error = "--header is for one server: name it with --url or --server";
                return Err(Error::usage(error));
            }
            if !self.env.is_empty() {
                let error =
                    "--env is for one server: name it with --server, or write its command after --";
                return Err(Error::usage(error));
            }
        }
        if is_unnamed && (all || out::is_attended()) {
            return self.all();
        }
        if self.server.len() < 2 {
            return Ok(vec![self.target()?]);
        }
        if self.name.is_some() {
            return Err(Error::usage(
                "--name is for one server, and several are named",
            ));
        }
        let mut targets: Vec<Target> = Vec::new();
        for name in &self.server {
            if !targets.iter().any(|known| known.name == *name) {
                targets.push(self.listed(name)?);
            }
        }
        Ok(targets)
    }

    /// Reports the servers that cannot be used.
    fn all(&self) -> Result<Vec<Target>, Error> {
        let mut targets = Vec::new();
        let mut first = None;
        for name in self.names()? {
            match self.listed(&name) {
                Ok(target) => targets.push(target),
                Err(why) => {
                    let mut page = out::stderr_page();
                    why.clone().about(heading(&name)).put_below(&mut page);
                    out::tell(&mut page);
                    first.get_or_insert(why);
                }
            }
        }
        match targets.is_empty() {
            true => Err(first.unwrap_or_else(|| self.unnamed())),
            false => Ok(targets),
        }
    }

    fn files(&self, folders: &Folders) -> Result<Vec<ServerFile>, Error> {
        let here = &folders.here;
        match (&self.config, self.from) {
            (Some(path), _) => {
                let file = ServerFile::read(path.clone(), None, here);
                Ok(vec![file.map_err(|error| error.hint(NAMED))?])
            }
            (None, Some(client)) => {
                let sources = client.sources(folders).into_iter();
                sources.map(|it| ServerFile::of_client(it, here)).collect()
            }
            (None, None) => {
                let found = find_upward(here).into_iter();
                found.map(|path| ServerFile::found(path, here)).collect()
            }
        }
    }

    /// The names of the enabled servers.
    fn names(&self) -> Result<Vec<String>, Error> {
        let mut names: Vec<String> = Vec::new();
        for ServerFile { document, .. } in self.files(&folders()?)? {
            for name in document.names() {
                let server = document.server(name);
                let is_disabled = server.is_some_and(|server| server["disabled"] == true);
                if !is_disabled && !names.iter().any(|known| known == name) {
                    names.push(name.to_owned());
                }
            }
        }
        Ok(names)
    }

    fn unnamed(&self) -> Error {
        match (&self.config, self.from) {
            (None, None) => unnamed(),
            _ => Error::usage("no server is named")
                .hint("Write --server NAME, with a name in the file."),
        }
    }

    fn listed(&self, name: &str) -> Result<Target, Error> {
        let folders = folders()?;
        let mut known = Vec::new();
        for file in self.files(&folders)? {
            if self.from.is_none() || file.document.server(name).is_some() {
                return file.target(name, &folders);
            }
            known.extend(file.document.names().map(str::to_owned));
        }
        let Some(client) = self.from else {
            let error = "found no mcp.json here or in a folder above";
            return Err(Error::usage(error).hint("Name one with --config FILE."));
        };
        let error = words!("{} has no server called `{}`", client.name, given(name));
        let error = Error::usage(error).hint("askback servers lists those of all clients.");
        Err(match known.is_empty() {
            true => error,
            false => error.quoting(known.join(", ")),
        })
    }
}

/// A file of servers. Errors quote the file as peer text, because the user may not have agreed to the file yet.
pub struct ServerFile {
    path: PathBuf,
    /// `None` if the user named the file.
    found: Option<Found>,
    /// `None` unless it is a file of a client.
    source: Option<Source>,
    pub document: Document,
}

impl ServerFile {
    /// Reads a file without asking whether the user agrees to it.
    pub fn read(path: PathBuf, source: Option<Source>, here: &Path) -> Result<Self, Error> {
        let shape = match &source {
            Some(source) => Some(&source.client.entry),
            None => KnownClient::entry_of(&path),
        };
        let text = match shape {
            None => text_file::read_at(&path),
            Some(_) => read_at(&path),
        };
        let text = text.map_err(|error| Error::unread(&path, error))?;
        Ok(Self {
            document: read(&path, shape, &text, here)?,
            path,
            found: None,
            source,
        })
    }

    fn found(path: PathBuf, here: &Path) -> Result<Self, Error> {
        let found = Found::open(path.clone())?;
        Ok(Self {
            document: read(&path, None, found.text(), here)?,
            path,
            found: Some(found),
            source: None,
        })
    }

    fn of_client(source: Source, here: &Path) -> Result<Self, Error> {
        let path = source.path.clone();
        let found = Found::of_client(path.clone())?;
        let document = read(&path, Some(&source.client.entry), found.text(), here)?;
        Ok(Self {
            path,
            // The rest of the file changes frequently.
            found: Some(found.saying(document.to_value().to_string())),
            source: Some(source),
            document,
        })
    }

    /// The folder in which a server is started, and the project folder.
    fn folders(&self, name: &str, folders: &Folders) -> (PathBuf, Option<PathBuf>) {
        if let Some(source) = &self.source {
            let folder = source.folder(folders, self.document.is_of_project(name));
            return (folder, source.project.clone());
        }
        // A program is resolved relative to the folder in which it starts.
        let whole = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let folder = whole.parent().unwrap_or(Path::new(""));
        // `..` has no name, and may lead out of a symbolic link.
        let resolved = folder.components().any(|it| it == Component::ParentDir);
        let resolved = resolved.then(|| folder.canonicalize().ok()).flatten();
        let folder = resolved.as_deref().unwrap_or(folder);
        // Clients start a server in the project folder, not in their own folder inside it.
        let is_of_client = folder
            .file_name()
            .is_some_and(|name| OF_CLIENTS.map(OsStr::new).contains(&name));
        let folder = folder.parent().filter(|_| is_of_client).unwrap_or(folder);
        let project = Some(folder).filter(|folder| !folder.as_os_str().is_empty());
        (folder.to_owned(), project.map(Path::to_owned))
    }

    /// Finds a server without asking whether the user agrees to it.
    pub fn find(&self, name: &str, folders: &Folders) -> Result<ListedServer, Error> {
        let (folder, project) = self.folders(name, folders);
        ListedServer::find(
            &self.document,
            name,
            &self.path,
            &folder,
            project.as_deref(),
        )
    }

    /// Returns a server that the user uses now. Asks whether the user agrees to a file that was found.
    fn target(self, name: &str, folders: &Folders) -> Result<Target, Error> {
        let in_file = |error: Error| error.about(given(self.path.display()));
        let listed = self.find(name, folders).map_err(in_file)?;
        let is_told = match &self.found {
            Some(found) => found.agree(&listed.written().map_err(in_file)?, listed.names())?,
            None => false,
        };
        listed.remark();
        let target = listed.target().map_err(in_file)?;
        Ok(Target { is_told, ..target })
    }
}

fn read(
    path: &Path,
    shape: Option<&EntryShape>,
    text: &str,
    here: &Path,
) -> Result<Document, Error> {
    let read = Document::read(text, path, shape, Some(here));
    read.map_err(|Unreadable(why)| {
        let error = Error::usage("it is not a file of servers:").quoting(why);
        error.about(given(path.display()))
    })
}

enum Meaning {
    Url(String),
    Listed(String),
    Command(Vec<String>),
}

fn meaningless(word: &str) -> Error {
    let path = Path::new(word);
    if is_executable(path) && path.is_file() {
        let error = Error::usage(words!("{} is not a server in mcp.json", given(word)));
        return error.hint(words!(
            "To start the program in this folder, write ./{}",
            given(word)
        ));
    }
    let is_path = word.contains(std::path::MAIN_SEPARATOR) || path.extension().is_some();
    let error = match path.try_exists() {
        _ if word.contains("://") => {
            words!(
                "{} is not a URL of a server: expected http:// or https://",
                given(word)
            )
        }
        Ok(false) if is_path => words!(
            "found no file {}, and no server with this name",
            given(word)
        ),
        _ => words!("{} is not a server", given(word)),
    };
    Error::usage(error)
        .hint(
            "A server is a URL, a name in mcp.json, or a file: server.py, server.js, or a program.",
        )
        .hint(words!(
            "A command goes after --, such as -- {}.",
            given(word)
        ))
}

fn nothing_behind(server: &str) -> Error {
    let error = words!(
        "{} is a server, and the command does not say what to do there",
        given(server)
    );
    Error::usage(error).hint(words!(
        "Write a name after it; `askback list {}` lists what the server has.",
        given(server)
    ))
}

fn nothing_more(words: &[String]) -> Result<(), Error> {
    match words.first() {
        None => Ok(()),
        Some(word) => {
            let error = Error::usage(words!("unexpected word after the server: {}", given(word)));
            Err(error.hint("A command with arguments goes after --."))
        }
    }
}

/// Whether the default file of servers has a server with this name. `None` if the file cannot be read.
fn is_listed(name: &str) -> Option<bool> {
    match default_file() {
        None => Some(false),
        Some((_, names)) => Some(names?.iter().any(|known| known == name)),
    }
}

/// The default file of servers, and the names in it. The names are `None` if the file cannot be read.
fn default_file() -> Option<(PathBuf, Option<Vec<String>>)> {
    let file = find_upward(&folders().ok()?.here)?;
    let text = text_file::read_at(&file).ok();
    let document = text.and_then(|text| Document::read(&text, &file, None, None).ok());
    let names = document.map(|document| document.names().map(str::to_owned).collect());
    Some((file, names))
}

/// The command that runs this file, if it is a program. A word that may be a name or a host runs no program: the
/// folder may hold any file.
fn program(word: &str) -> Option<Vec<String>> {
    let path = Path::new(word);
    if !path.is_file() {
        return None;
    }
    let interpreter = match path.extension().and_then(OsStr::to_str) {
        Some("py") => "python3",
        Some("js" | "mjs" | "cjs") => "node",
        _ => {
            let program = Path::new(".").join(path);
            let is_path = word.contains(std::path::MAIN_SEPARATOR);
            return (is_path && is_executable(path))
                .then(|| vec![program.to_string_lossy().into_owned()]);
        }
    };
    Some(vec![interpreter.to_owned(), word.to_owned()])
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}

/// The error if no server is named. It lists the servers of the default file.
fn unnamed() -> Error {
    let error = match default_file() {
        Some((file, Some(names))) if !names.is_empty() => {
            let words = words!("no server is named; {} has these:", given(file.display()));
            Error::usage(words).quoting(names.join(", "))
        }
        _ => Error::usage("no server is named"),
    };
    error
        .hint("Name a URL, a server of mcp.json, or a file such as server.py; or write -- and the")
        .hint("command that starts it: -- my-server --its-option")
}

pub fn folders() -> Result<Folders, Error> {
    Folders::of_user().map_err(|error| {
        Error::usage(words!(
            "the working directory cannot be read: {}",
            given(error)
        ))
    })
}

pub fn find_upward(folder: &Path) -> Option<PathBuf> {
    folder
        .ancestors()
        .flat_map(|folder| FILES.map(|name| folder.join(name)))
        .find(|file| file.is_file())
}

const NAMED: &str =
    "--config takes a file such as mcp.json; `askback servers` lists those found here.";

/// Client folders within a project folder.
const OF_CLIENTS: [&str; 5] = [".codex", ".cursor", ".gemini", ".qwen", ".vscode"];
