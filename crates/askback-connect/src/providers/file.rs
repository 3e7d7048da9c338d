//! The file in which an operator describes third parties.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, Read as _},
    path::Path,
};

use askback_core::json;
use askback_oauth::{Fetcher, RegisteredClient, Secret};
use serde::Deserialize as _;
use toml::{Table, Value};

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
    #[error("{path}, provider {provider:?}{why}")]
    Provider {
        /// The path.
        path: String,
        /// The name of the table.
        provider: String,
        /// The key, such as `account.url`, if one key is invalid, the problem, and what is expected.
        why: String,
    },
}

const SCOPE_WORDS: &str = "scope_words";

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
        let text = text.expose();
        let unread = |error: toml::de::Error, why: String| {
            let before = text.get(..error.span().map_or(0, |span| span.start));
            BadProvidersFile::Line {
                path: path.display().to_string(),
                line: before.unwrap_or_default().matches('\n').count() + 1,
                why,
            }
        };
        // The parser's message about a text that is not TOML contains no values.
        let tables: Result<BTreeMap<String, Value>, _> = toml::from_str(text);
        let mut tables = tables.map_err(|error| {
            let why = format!("this is not TOML: {}", error.message());
            unread(error, why)
        })?;
        if let Some((name, _)) = tables.iter().find(|(_, value)| !value.is_table()) {
            return Err(BadProvidersFile::Provider {
                path: path.display().to_string(),
                provider: name.clone(),
                why: format!(": it must be a table, which begins with [{name}]"),
            });
        }
        let entries: Result<BTreeMap<String, Entry>, _> = toml::from_str(text);
        let entries = entries.map_err(|error| {
            let why = fault(error.message());
            unread(error, why)
        })?;
        let mut providers = Self::new(fetcher);
        for (name, entry) in entries {
            let own = tables.remove(&name);
            let read = async {
                let entry = filled(&name, entry, own)?;
                let party = party(providers.fetcher(), &name, &entry, path).await?;
                let with = providers.clone().with(party);
                with.map_err(|why| Fault { key: None, why })
            };
            providers = read.await.map_err(|fault| BadProvidersFile::Provider {
                path: path.display().to_string(),
                provider: name.clone(),
                why: fault.to_string(),
            })?;
        }
        Ok(providers)
    }
}

/// Adds the keys of its preset to a table, if it names one.
fn filled(name: &str, entry: Entry, own: Option<Value>) -> Result<Entry, Fault> {
    let (Some(preset), Some(Value::Table(mut own))) = (&entry.preset, own) else {
        return Ok(entry);
    };
    let wrong = |why: String| Fault::of(name, Some("preset"), &why);
    let presets: Table = toml::from_str(PRESETS).map_err(|error| wrong(error.to_string()))?;
    let known = presets.get(preset).and_then(|it| it.as_table()).cloned();
    let mut table = known.ok_or_else(|| {
        let names: Vec<_> = presets.keys().map(String::as_str).collect();
        let names = names.join(", ");
        wrong(format!("unknown preset; the presets are {names}"))
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
    fetcher: &Fetcher,
    name: &str,
    entry: &Entry,
    path: &Path,
) -> Result<ThirdParty, Fault> {
    let why = match (&entry.api_key, &entry.client_id) {
        (Some(key), None) => return entry.key_party(name, key),
        (None, Some(id)) => {
            let mut client = RegisteredClient::new(id);
            if let Some(place) = &entry.client_secret {
                let secret = secret(place, path);
                let wrong = |why: String| Fault::of(name, Some("client_secret"), &why);
                client = client.with_secret(secret.map_err(wrong)?);
            }
            return entry.found(fetcher, name, client).await;
        }
        (Some(_), Some(_)) => "it has a `client_id` and an `api_key`: take one out",
        (None, None) => "it has neither a `client_id` nor an `api_key`: add one",
    };
    Err(Fault::of(name, None, why))
}

fn secret(place: &SecretPlace, path: &Path) -> Result<Secret, String> {
    let secret = match place {
        SecretPlace::File { file } => {
            let folder = path.parent().unwrap_or(Path::new("."));
            let file = folder.join(file);
            let text = read(&file, true);
            let text = text.map_err(|why| format!("{} cannot be read: {why}", file.display()))?;
            let text = Secret::new(text);
            Secret::new(text.expose().lines().next().unwrap_or_default().trim())
        }
        SecretPlace::Text(text) => {
            let name = text.strip_prefix("${").and_then(|it| it.strip_suffix('}'));
            let is_name = |it: &&str| {
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
                !it.is_empty() && it.bytes().all(is_plain)
            };
            let name = name.filter(is_name).ok_or(
                "the secret is written into the file: write \"${NAME}\" for a variable of the environment, or \
                 { file = \"…\" }",
            )?;
            let value = std::env::var(name);
            Secret::new(value.map_err(|_| format!("the variable {name} is not set"))?)
        }
    };
    match secret.expose().is_empty() {
        true => Err("the secret is empty".to_owned()),
        false => Ok(secret),
    }
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
