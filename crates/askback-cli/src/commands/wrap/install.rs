//! `askback wrap --in CLIENT NAME`: makes a server's entry in a client's file start this command, or undoes that.

use std::{env, fs, path::PathBuf};

use askback_check::find_program;
use askback_host::{
    page::{Page, out},
    text::{given, line},
    words,
};
use serde_json::Value;

use super::Show;
use crate::{
    error::Error,
    known_clients::KnownClient,
    locate::folders,
    private_file,
    servers::{
        EntryShape, Folders, Format, NotWrapped, Source, Unreadable, at, conceal_args, conceal_url,
        read_at, write,
    },
    target::Target,
};

pub struct ClientFile {
    pub source: Source,
    text: String,
    pub whole: Value,
    format: Format,
}

struct FoundEntry {
    file: ClientFile,
    path: Vec<String>,
    entry: Value,
}

impl ClientFile {
    pub fn read(source: Source) -> Result<Self, Error> {
        let format = Format::of(&source.path);
        let text = read_at(&source.path).map_err(|error| Error::unread(&source.path, error))?;
        let whole = format.read(&text).map_err(|Unreadable(why)| {
            let file = given(source.path.display());
            Error::usage(words!("{}: {}", file, given(why))).hint("The file was not changed.")
        })?;
        Ok(Self {
            source,
            text,
            whole,
            format,
        })
    }

    /// Returns the servers: the path, the name and the entry of each.
    pub fn entries(&self, folders: &Folders) -> Vec<(Vec<String>, String, &Value)> {
        let shape = &self.source.client.entry;
        let mut entries: Vec<(Vec<String>, String, &Value)> = Vec::new();
        for section in shape.sections(&folders.here) {
            let listed = at(&self.whole, &section).and_then(Value::as_object);
            for (name, entry) in listed.into_iter().flatten() {
                if entries.iter().any(|(_, known, _)| known == name) {
                    continue;
                }
                let mut path = section.clone();
                path.push(name.clone());
                entries.push((path, name.clone(), entry));
            }
        }
        entries
    }

    /// Writes a new text, unless the client wrote the file in the meantime.
    fn replace(&self, text: &str) -> Result<(), Error> {
        let path = &self.source.path;
        let now = read_at(path).map_err(|error| Error::unread(path, error))?;
        if now != self.text {
            let file = given(path.display());
            let error = words!(
                "{} has changed in the meantime, and was left as it is",
                file
            );
            return Err(Error::usage(error).hint("Run the command again."));
        }
        write(path, text).map_err(|error| Error::unwritten(path, &error))
    }
}

impl FoundEntry {
    fn find(client: &'static KnownClient, name: &str, folders: &Folders) -> Result<Self, Error> {
        let mut known = Vec::new();
        let sources = client.sources(folders);
        if sources.is_empty() {
            let title = client.title();
            return Err(
                Error::usage(words!("{} has no file of servers here", title)).hint(words!(
                    "Add the server in {} first, or run this in the folder of the project.",
                    title
                )),
            );
        }
        for source in sources {
            let file = ClientFile::read(source)?;
            let entries = file.entries(folders);
            let found = entries.iter().find(|(_, known, _)| known == name);
            if let Some((path, _, entry)) = found {
                let (path, entry) = (path.clone(), (*entry).clone());
                return Ok(Self { file, path, entry });
            }
            known.extend(entries.into_iter().map(|(_, name, _)| line(&name)));
        }
        let title = client.title();
        let missing = words!("{} has no server called `{}`", title, given(name));
        Err(match known.is_empty() {
            true => Error::usage(missing).hint("It has no servers."),
            false => Error::usage(words!("{}. It has:", missing)).quoting(known.join(", ")),
        })
    }

    fn shape(&self) -> &'static EntryShape {
        &self.file.source.client.entry
    }

    /// In the folder of the file.
    fn backup(&self, name: &str) -> PathBuf {
        // A symbolic link is followed.
        let path = &self.file.source.path;
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let mut backup = path.file_name().unwrap_or_default().to_owned();
        backup.push(".before-wrap.");
        for byte in name.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => {
                    backup.push(char::from(byte).to_string());
                }
                _ => backup.push(format!("%{byte:02X}")),
            }
        }
        path.with_file_name(backup)
    }

    fn put_head(&self, page: &mut Page) {
        let Source { client, path, .. } = &self.file.source;
        page.line(words!("{}: {}", client.title(), given(path.display())));
    }

    fn put_change(&self, page: &mut Page, before: &Value, after: &Value) {
        let [before, after] = [before, after].map(|entry| lines(self.shape(), entry));
        for line in before.iter().filter(|line| !after.contains(line)) {
            page.quote_line("  - ", line.clone());
        }
        for line in after.iter().filter(|line| !before.contains(line)) {
            page.quote_line("  + ", line.clone());
        }
    }
}

/// Makes the entry start this command with these options. They include `show`.
pub(super) fn install(
    client: &'static KnownClient,
    name: &str,
    options: &[String],
    show: Show,
) -> Result<(), Error> {
    let folders = folders()?;
    let found = FoundEntry::find(client, name, &folders)?;
    let shape = found.shape();
    let mut page = out::stdout_page();
    found.put_head(&mut page);
    if shape.wraps(&found.entry).0 > 0 {
        page.line(words!(
            "{} is started by askback wrap already; nothing was changed.",
            given(name)
        ));
        return Ok(out::print(&page.take())?);
    }
    let program = program(found.file.source.project.is_some())?;
    let wrapped = shape.wrap(name, &found.entry, &program, options);
    let wrapped = wrapped.map_err(|why| {
        let name = given(name);
        Error::usage(match why {
            NotWrapped::NoServer => words!("`{}` has neither a command nor a URL", name),
            NotWrapped::Malformed(member) => {
                words!("`{}` of `{}` has a value that it cannot have", member, name)
            }
        })
        .hint("The file was not changed.")
    })?;
    let text = found
        .file
        .format
        .change(&found.file.text, &found.path, &wrapped);
    let text = text.map_err(|Unreadable(why)| {
        let file = given(found.file.source.path.display());
        let words = words!("`{}` cannot be changed in {}:", given(name), file);
        let error = Error::usage(words).quoting(why);
        error.hint("Write askback wrap -- before the command of the server by hand.")
    })?;
    let backup = found.backup(name);
    private_file::write(&backup, &found.file.text)
        .map_err(|error| Error::unwritten(&backup, &error))?;
    found.file.replace(&text)?;
    found.put_change(&mut page, &found.entry, &wrapped);
    page.line(words!("Backup: {}", given(backup.display())));
    if let Some(url) = shape.url(&found.entry) {
        // An address with a secret is not printed.
        let url = match conceal_url(url) == url {
            true => shell_word(url),
            false => "URL".into(),
        };
        page.line(words!(
            "If the server wants a sign-in, sign in once: askback list --url {}",
            given(url)
        ));
    }
    if EntryShape::is_disabled(&wrapped) {
        page.line(words!(
            "The entry is disabled: {} does not start it.",
            client.title()
        ));
    }
    page.line(words!("Start {} again. {}", client.title(), asked(show)));
    page.line(words!(
        "This puts back what was there: askback wrap --in {} --undo {}",
        client.name,
        given(shell_word(name))
    ));
    Ok(out::print(&page.take())?)
}

pub fn undo(client: &'static KnownClient, name: &str) -> Result<(), Error> {
    let folders = folders()?;
    let found = FoundEntry::find(client, name, &folders)?;
    let shape = found.shape();
    let mut page = out::stdout_page();
    found.put_head(&mut page);
    if shape.wraps(&found.entry).0 == 0 {
        page.line(words!(
            "{} is not started by askback wrap; nothing was changed.",
            given(name)
        ));
        return Ok(out::print(&page.take())?);
    }
    let backup = found.backup(name);
    let before = read_at(&backup).map_err(|error| {
        let error = Error::unread(&backup, error);
        error.hint("Without it, remove askback wrap and its options from the entry by hand.")
    })?;
    let text = found
        .file
        .format
        .restore(&found.file.text, &found.path, &before);
    let text = text.map_err(|Unreadable(why)| {
        let backup = given(backup.display());
        let words = words!("`{}` cannot be put back from {}:", given(name), backup);
        Error::usage(words)
            .quoting(why)
            .hint("The file was not changed.")
    })?;
    found.file.replace(&text)?;
    fs::remove_file(&backup).map_err(|error| Error::unwritten(&backup, &error))?;
    let whole = found.file.format.read(&text).unwrap_or_default();
    let entry = at(&whole, &found.path).cloned().unwrap_or_default();
    found.put_change(&mut page, &found.entry, &entry);
    page.line(words!("Start {} again.", client.title()));
    Ok(out::print(&page.take())?)
}

/// How the user learns of a question.
fn asked(show: Show) -> &'static str {
    match show {
        Show::Browser => {
            "A question opens a page in your browser, and `askback answer` in a terminal shows it."
        }
        Show::Notice => {
            "A notice on the desktop says that a question waits, and `askback answer` in a terminal shows it."
        }
        Show::None => "Questions wait until `askback answer` in a terminal shows them.",
    }
}

/// The members of an entry, one per line, without values that may be secrets.
fn lines(shape: &EntryShape, entry: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(words) = shape.words(entry)
        && let Some((program, args)) = words.split_first()
    {
        let args = conceal_args(args);
        lines.push(Target::child(program, &args).reach.shown());
    } else if let Some(url) = shape.url(entry) {
        lines.push(conceal_url(url).to_owned());
    }
    for (member, value) in entry.as_object().into_iter().flatten() {
        if shape.names_server(member) {
            continue;
        }
        lines.push(match value {
            Value::Object(members) => {
                let names: Vec<_> = members.keys().map(String::as_str).collect();
                format!("{member}: {}", names.join(", "))
            }
            value => format!("{member}: {value}"),
        });
    }
    lines
}

fn shell_word(name: &str) -> String {
    Target::child(name, &[]).reach.shown()
}

/// Returns the name of this command for a file. A project's file is shared with users on whose machines the path
/// differs.
fn program(is_of_project: bool) -> Result<String, Error> {
    let own = env::current_exe().map_err(|error| {
        Error::usage(words!(
            "the path of askback cannot be found: {}",
            given(error)
        ))
    })?;
    let is_own = |path: &PathBuf| fs::canonicalize(path).ok() == fs::canonicalize(&own).ok();
    let path = find_program("askback").filter(is_own);
    if path.is_some() && is_of_project {
        return Ok("askback".to_owned());
    }
    let path = path.unwrap_or(own);
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        Error::usage("the path of askback is not valid UTF-8, so it cannot be written to the file")
    })
}
