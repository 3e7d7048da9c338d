//! The file in which an operator describes third parties.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use askback_core::json;
use askback_oauth::{Fetcher, RegisteredClient, Secret};
use serde::{Deserialize, de::IntoDeserializer as _};
use toml::{
    Spanned, Table, Value,
    de::{DeTable, DeValue},
};

use super::entry::{Entry, Fault, SecretPlace};
use super::presets::PRESETS;
use super::set::Providers;
use super::third_party::ThirdParty;

const MOST: u64 = 1 << 20;

/// Why a providers file cannot be used. No message quotes a secret, even if the operator wrote one into the file by
/// mistake.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadProvidersFile {
    /// A file cannot be read.
    #[error("{path} cannot be read: {why}")]
    Unreadable {
        /// The path.
        path: String,
        /// The error.
        why: io::Error,
    },
    /// The file does not parse.
    #[error("{path}, line {line}: {why}")]
    Line {
        /// The path.
        path: String,
        /// The line number, from 1.
        line: usize,
        /// The problem, and what is expected.
        why: String,
    },
    /// A table is invalid.
    #[error("{}: {why}", place(.path, *.line, .provider, .key.as_deref()))]
    Provider {
        /// The path.
        path: String,
        /// The line number, from 1.
        line: usize,
        /// The name of the table.
        provider: String,
        /// The key, such as `account.url`, if one key is invalid.
        key: Option<String>,
        /// The problem, and what is expected.
        why: String,
    },
}

fn place(path: &str, line: usize, provider: &str, key: Option<&str>) -> String {
    let key = key.map_or_else(String::new, |key| format!(", `{key}`"));
    format!("{path}, line {line}, provider {provider:?}{key}")
}

const SCOPE_WORDS: &str = "scope_words";

type Variables<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

impl Providers {
    /// Reads a TOML file with one table for each provider.
    ///
    /// ```toml
    /// [github]
    /// preset = "github"
    /// client_id = "Iv1.8a61f9b3a7aba766"
    /// client_secret = "${GITHUB_SECRET}"
    /// scopes = ["repo"]
    ///
    /// [files]
    /// title = "Company files"
    /// issuer = "https://files.example"
    /// client_id = "askback"
    /// client_secret = { file = "files.secret" }
    /// api = ["https://api.files.example"]
    /// scopes = ["files.read"]
    ///
    /// [files.scope_words]
    /// "files.read" = "Read your files"
    ///
    /// [invoices]
    /// title = "Invoices"
    /// api_key = { hint = "A key that may read", page = "https://invoices.example/keys" }
    /// api = ["https://api.invoices.example"]
    /// ```
    ///
    /// A secret is an environment variable (`${NAME}`), or the first line of another file in the same folder. It cannot
    /// be written here. A preset fills in missing keys. Keys of the table replace the preset's, so `scopes` must repeat
    /// the preset's own, such as Google's `openid` and `email`. Only `scope_words` are merged.
    ///
    /// If a table has an issuer and no endpoints, the endpoints are fetched from it. A `revocation_endpoint`
    /// in the table takes precedence. `api` lists the origins that tokens may be sent to
    /// ([`ThirdParty::api`]), and `scope_words` say on the page what a scope allows. Presets have both. All keys and
    /// presets are in the guide, `docs/guide/providers.md` of the repository.
    ///
    /// # Errors
    ///
    /// [`BadProvidersFile`].
    pub async fn from_file(
        fetcher: Fetcher,
        path: impl AsRef<Path>,
    ) -> Result<Self, BadProvidersFile> {
        let path = path.as_ref();
        let text = read(path, false).map_err(|why| BadProvidersFile::Unreadable {
            path: path.display().to_string(),
            why,
        })?;
        let text = Secret::new(text);
        let variables = |name: &str| std::env::var(name).ok();
        Self::from_text(fetcher, text.expose(), path, &variables).await
    }

    async fn from_text(
        fetcher: Fetcher,
        text: &str,
        path: &Path,
        variables: Variables<'_>,
    ) -> Result<Self, BadProvidersFile> {
        let read = ReadFile::new(path, text)?;
        let presets: Table = toml::from_str(PRESETS).map_err(|error| read.unread(&error))?;
        let mut providers = Self::new(fetcher);
        for (name, table) in &read.placed {
            let name = name.get_ref();
            let own: Entry = read.table(name, table)?;
            let entry = match &own.preset {
                Some(preset) => read.filled(name, read.table(name, table)?, preset, &presets)?,
                None => own,
            };
            let party = read
                .party(providers.fetcher(), name, &entry, variables)
                .await?;
            let with = providers.with(party);
            providers = with.map_err(|why| read.fault(name, Fault { key: None, why }))?;
        }
        Ok(providers)
    }
}

struct ReadFile<'a> {
    path: &'a Path,
    text: &'a str,
    placed: DeTable<'a>,
}

impl<'a> ReadFile<'a> {
    fn new(path: &'a Path, text: &'a str) -> Result<Self, BadProvidersFile> {
        let mut read = Self {
            path,
            text,
            placed: DeTable::new(),
        };
        let placed = DeTable::parse(text).map_err(|error| read.unread(&error))?;
        read.placed = placed.into_inner();
        Ok(read)
    }

    fn table<T: Deserialize<'a>>(
        &self,
        name: &str,
        table: &Spanned<DeValue<'a>>,
    ) -> Result<T, BadProvidersFile> {
        let Some(keys) = table.get_ref().as_table() else {
            return Err(BadProvidersFile::Line {
                path: self.path(),
                line: self.line_of(name, None),
                why: format!("`{name}` must be a table, which begins with [{name}]"),
            });
        };
        T::deserialize(table.clone().into_deserializer()).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            BadProvidersFile::Provider {
                path: self.path(),
                line: self.line(at),
                provider: name.to_owned(),
                key: key_at(keys, at),
                why: fault(error.message()),
            }
        })
    }

    fn filled(
        &self,
        name: &str,
        mut own: Table,
        preset: &str,
        presets: &Table,
    ) -> Result<Entry, BadProvidersFile> {
        let wrong = |why: String| self.wrong(name, Some("preset"), why);
        let known = presets.get(preset).and_then(|it| it.as_table()).cloned();
        let mut table = known.ok_or_else(|| {
            let names: Vec<_> = presets.keys().map(String::as_str).collect();
            wrong(format!(
                "unknown preset; the presets are {}",
                names.join(", ")
            ))
        })?;
        // Descriptions of further scopes are added to the preset's.
        if let Some(Value::Table(words)) = own.get_mut(SCOPE_WORDS)
            && let Some(Value::Table(known)) = table.remove(SCOPE_WORDS)
        {
            let own = std::mem::replace(words, known);
            words.extend(own);
        }
        table.extend(own);
        Entry::deserialize(table).map_err(|_| wrong("the table does not fit it".to_owned()))
    }

    async fn party(
        &self,
        fetcher: &Fetcher,
        name: &str,
        entry: &Entry,
        variables: Variables<'_>,
    ) -> Result<ThirdParty, BadProvidersFile> {
        let party = match (&entry.api_key, &entry.client_id) {
            (Some(key), None) => entry.key_party(name, key),
            (Some(_), Some(_)) => {
                let why = "it has a `client_id` and an `api_key`: take one out";
                return Err(self.wrong(name, None, why.to_owned()));
            }
            (None, None) => {
                let why = "it has neither a `client_id` nor an `api_key`: add one";
                return Err(self.wrong(name, None, why.to_owned()));
            }
            (None, Some(id)) => {
                let mut client = RegisteredClient::new(id);
                if let Some(place) = &entry.client_secret {
                    client = client.with_secret(self.secret(name, place, variables)?);
                }
                entry.found(fetcher, name, client).await
            }
        };
        party.map_err(|fault| self.fault(name, fault))
    }

    fn secret(
        &self,
        provider: &str,
        place: &SecretPlace,
        variables: Variables<'_>,
    ) -> Result<Secret, BadProvidersFile> {
        let wrong = |why: String| self.wrong(provider, Some("client_secret"), why);
        let secret = match place {
            SecretPlace::File { file } => {
                let folder = self.path.parent().unwrap_or(Path::new("."));
                let file = folder.join(file);
                let text = read(&file, true);
                let text =
                    text.map_err(|why| wrong(format!("{} cannot be read: {why}", file.display())))?;
                let text = Secret::new(text);
                Secret::new(text.expose().lines().next().unwrap_or_default().trim())
            }
            SecretPlace::Text(text) => {
                let name = text.strip_prefix("${").and_then(|it| it.strip_suffix('}'));
                let is_name = |it: &&str| {
                    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                    !it.is_empty() && it.bytes().all(is_plain)
                };
                let name = name.filter(is_name).ok_or_else(|| {
                    wrong(
                        "the secret is written into the file: write \"${NAME}\" for a variable of \
                         the environment, or { file = \"…\" }"
                            .to_owned(),
                    )
                })?;
                let value = variables(name);
                Secret::new(value.ok_or_else(|| wrong(format!("the variable {name} is not set")))?)
            }
        };
        match secret.expose().is_empty() {
            true => Err(wrong("the secret is empty".to_owned())),
            false => Ok(secret),
        }
    }

    fn wrong(&self, provider: &str, key: Option<&str>, why: String) -> BadProvidersFile {
        BadProvidersFile::Provider {
            path: self.path(),
            line: self.line_of(provider, key),
            provider: provider.to_owned(),
            key: key.map(str::to_owned),
            why,
        }
    }

    fn fault(&self, provider: &str, fault: Fault) -> BadProvidersFile {
        self.wrong(provider, fault.key, fault.why.fault())
    }

    /// The error of a text that is not TOML. The parser's message contains no values.
    fn unread(&self, error: &toml::de::Error) -> BadProvidersFile {
        BadProvidersFile::Line {
            path: self.path(),
            line: self.line(error.span().map_or(0, |span| span.start)),
            why: format!("this is not TOML: {}", error.message()),
        }
    }

    /// The line of a key, or of the table if it lacks the key.
    fn line_of(&self, provider: &str, key: Option<&str>) -> usize {
        let found = self.placed.get_key_value(provider);
        let at = found.map_or(0, |(name, value)| {
            let table = value.get_ref().as_table();
            let key = key.and_then(|key| place_of(table?, key));
            key.unwrap_or(name.span().start)
        });
        self.line(at)
    }

    fn line(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        before.matches('\n').count() + 1
    }

    fn path(&self) -> String {
        self.path.display().to_string()
    }
}

/// Returns the position of a key such as `account.url`, or of its innermost table that exists.
fn place_of(table: &DeTable<'_>, path: &str) -> Option<usize> {
    let (first, rest) = path
        .split_once('.')
        .map_or((path, None), |(a, b)| (a, Some(b)));
    let (key, value) = table.get_key_value(first)?;
    let inner = rest.and_then(|rest| place_of(value.get_ref().as_table()?, rest));
    Some(inner.unwrap_or(key.span().start))
}

/// Returns the innermost key, such as `account.url`, at a position.
fn key_at(table: &DeTable<'_>, at: usize) -> Option<String> {
    table.iter().find_map(|(key, value)| {
        let inner = value.get_ref().as_table().and_then(|it| key_at(it, at));
        let is_here = key.span().contains(&at) || value.span().contains(&at);
        match inner {
            Some(inner) => Some(format!("{}.{inner}", key.get_ref())),
            None => is_here.then(|| key.get_ref().to_string()),
        }
    })
}

/// Rewords a serde error without the value, which may be a secret in the wrong place.
fn fault(message: &str) -> String {
    let is_about_value = |found: &str| {
        let without_value = ["unknown field ", "invalid type: "];
        !without_value.iter().any(|phrase| found.starts_with(phrase))
    };
    match message.rsplit_once(", expected ") {
        Some((found, expected)) if is_about_value(found) => format!("expected {expected}"),
        _ => json::reworded(message),
    }
}

/// Reads a file. A file with a secret must be readable by its owner only.
fn read(path: &Path, is_secret: bool) -> io::Result<String> {
    let unfit = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
    // Opening a pipe would block until another process writes to it.
    if !fs::metadata(path)?.is_file() {
        return Err(unfit(
            "expected a file, got a folder, a pipe or a device".to_owned(),
        ));
    }
    let file = File::open(path)?;
    let found = file.metadata()?;
    if is_secret {
        check_mode(&found, path)?;
    }
    let text = io::read_to_string(file.take(MOST + 1))?;
    match text.len() as u64 > MOST {
        true => Err(unfit(format!("it is larger than {MOST} bytes"))),
        false => Ok(text),
    }
}

#[cfg(unix)]
fn check_mode(found: &std::fs::Metadata, path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    let why = format!(
        "it is open to other users (mode {mode:03o}): run `chmod 600 {}`, and put a new secret in it if somebody may \
         have seen this one",
        path.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, why))
}

/// On systems without file modes, the folder has to protect the file.
#[cfg(not(unix))]
fn check_mode(_: &std::fs::Metadata, _: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests;
