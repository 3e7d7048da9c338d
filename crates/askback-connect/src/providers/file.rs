//! The file in which an operator describes third parties.

use std::{collections::BTreeMap, fs, io, path::Path};

use askback_oauth::{Fetcher, RegisteredClient, Secret};
use serde::Deserialize as _;
use toml::{Table, Value};

use super::entry::{Entry, FileKey, SecretPlace};
use super::error::ConnectError;
use super::presets::PRESETS;
use super::set::Providers;
use super::third_party::ThirdParty;

/// The largest file that is read, in bytes.
const MOST: u64 = 1 << 20;

/// A file of providers that cannot be used; whoever wrote it is to blame. No message quotes a value of the file, since
/// a secret may have been written there by mistake.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadProvidersFile {
    /// A file cannot be read.
    #[error("{path} cannot be read: {why}")]
    Unreadable {
        /// The path.
        path: String,
        /// The failure.
        why: io::Error,
    },
    /// It is no such file.
    #[error("line {line} of the file of providers is wrong: {why}")]
    Line {
        /// The number of the line, from 1.
        line: usize,
        /// The fault.
        why: String,
    },
    /// A table of it cannot be used.
    #[error("the provider {provider:?} of the file cannot be used: {why}")]
    Provider {
        /// The name of the table.
        provider: String,
        /// The fault, and what to do.
        why: String,
    },
    /// The third party that a table describes cannot be used.
    #[error("the provider {provider:?} of the file cannot be used: {why}")]
    ThirdParty {
        /// The name of the table.
        provider: String,
        /// The fault.
        #[source]
        why: ConnectError,
    },
}

/// The key of a table that holds words for scopes.
const SCOPE_WORDS: &str = "scope_words";

/// Where variables of the environment are found.
type Variables<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

impl Providers {
    /// Reads a file of providers, in TOML: a table each, by its name.
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
    /// ```
    ///
    /// A secret is a variable of the environment (`${NAME}`), or the first line of a file beside this one; it cannot
    /// be written here. A preset (`github`, `google`, `linear`, `microsoft` with a `tenant`, `slack`) fills in what the
    /// table does not have. Where a table has an issuer and no endpoints, they are fetched from it. `api` has the origins
    /// that tokens are sent to ([`ThirdParty::api`]), and `scope_words` say on the page what a scope allows; presets have
    /// both. All keys are in the guide, `docs/guide/connections.md` of the repository, under "Keys of the file".
    ///
    /// # Errors
    ///
    /// [`BadProvidersFile`].
    pub async fn from_file(
        fetcher: Fetcher,
        path: impl AsRef<Path>,
    ) -> Result<Self, BadProvidersFile> {
        let path = path.as_ref();
        let text = Secret::new(read(path)?);
        let folder = path.parent().unwrap_or(Path::new("."));
        let variables = |name: &str| std::env::var(name).ok();
        Self::from_text(fetcher, text.expose(), folder, &variables).await
    }

    async fn from_text(
        fetcher: Fetcher,
        text: &str,
        folder: &Path,
        variables: Variables<'_>,
    ) -> Result<Self, BadProvidersFile> {
        // Read as what it must be first: then a fault has a line.
        let own: BTreeMap<String, Entry> =
            toml::from_str(text).map_err(|error| at_line(text, &error))?;
        let tables: Table = toml::from_str(text).map_err(|error| at_line(text, &error))?;
        let presets: Table = toml::from_str(PRESETS).map_err(|error| at_line(PRESETS, &error))?;
        let mut providers = Self::new(fetcher);
        for (name, own) in &own {
            let entry = match &own.preset {
                Some(preset) => filled(name, preset, &presets, &tables)?,
                None => own.clone(),
            };
            let party = party(providers.fetcher(), name, &entry, folder, variables).await?;
            let with = providers.with(party);
            providers = with.map_err(|why| BadProvidersFile::ThirdParty {
                provider: name.clone(),
                why,
            })?;
        }
        Ok(providers)
    }
}

/// Returns a table with what its preset fills in.
fn filled(
    name: &str,
    preset: &str,
    presets: &Table,
    tables: &Table,
) -> Result<Entry, BadProvidersFile> {
    let wrong = |why: String| BadProvidersFile::Provider {
        provider: name.to_owned(),
        why,
    };
    let known = presets.get(preset).and_then(|it| it.as_table()).cloned();
    let mut table = known.ok_or_else(|| {
        let names: Vec<_> = presets.keys().map(String::as_str).collect();
        wrong(format!(
            "there is no such preset; there are {}",
            names.join(", ")
        ))
    })?;
    let own = tables.get(name).and_then(|it| it.as_table()).cloned();
    let mut own = own.unwrap_or_default();
    // Words for more scopes are beside those of the preset.
    if let Some(Value::Table(words)) = own.get_mut(SCOPE_WORDS)
        && let Some(Value::Table(known)) = table.remove(SCOPE_WORDS)
    {
        let own = std::mem::replace(words, known);
        words.extend(own);
    }
    table.extend(own);
    Entry::deserialize(table).map_err(|_| wrong("it does not fit its preset".to_owned()))
}

async fn party(
    fetcher: &Fetcher,
    name: &str,
    entry: &Entry,
    folder: &Path,
    variables: Variables<'_>,
) -> Result<ThirdParty, BadProvidersFile> {
    let wrong = |why: &str| BadProvidersFile::Provider {
        provider: name.to_owned(),
        why: why.to_owned(),
    };
    let party = match (&entry.api_key, &entry.client_id) {
        (Some(key), None) => entry.key_party(name, key),
        (Some(_), Some(_)) => {
            return Err(wrong("it has a `client_id` and an `api_key`: take one out"));
        }
        (None, None) => return Err(wrong("it has neither a `client_id` nor an `api_key`")),
        (None, Some(id)) => {
            let mut client = RegisteredClient::new(id);
            if let Some(place) = &entry.client_secret {
                client = client.with_secret(secret(name, place, folder, variables)?);
            }
            entry.found(fetcher, name, client).await
        }
    };
    party.map_err(|why| BadProvidersFile::ThirdParty {
        provider: name.to_owned(),
        why,
    })
}

/// Returns the secret that is at a place.
fn secret(
    provider: &str,
    place: &SecretPlace,
    folder: &Path,
    variables: Variables<'_>,
) -> Result<Secret, BadProvidersFile> {
    let wrong = |why: String| BadProvidersFile::Provider {
        provider: provider.to_owned(),
        why,
    };
    let secret = match place {
        SecretPlace::File(place) => {
            let file = place.get(&FileKey::File);
            let file = file.ok_or_else(|| wrong("its `client_secret` names no file".to_owned()))?;
            let text = Secret::new(read(&folder.join(file))?);
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
                    "its `client_secret` is written into the file: write \"${NAME}\" for a \
                     variable of the environment, or { file = \"…\" }"
                        .to_owned(),
                )
            })?;
            let value = variables(name);
            Secret::new(value.ok_or_else(|| wrong(format!("the variable {name} is not set")))?)
        }
    };
    match secret.expose().is_empty() {
        true => Err(wrong("its `client_secret` is empty".to_owned())),
        false => Ok(secret),
    }
}

fn read(path: &Path) -> Result<String, BadProvidersFile> {
    let text = || {
        let size = fs::metadata(path)?.len();
        if size > MOST {
            let why = format!("it is larger than {MOST} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        fs::read_to_string(path)
    };
    text().map_err(|why| BadProvidersFile::Unreadable {
        path: path.display().to_string(),
        why,
    })
}

/// The line of a fault, and what it is where that can be told without a value.
fn at_line(text: &str, error: &toml::de::Error) -> BadProvidersFile {
    const OF_KEYS: [&str; 3] = ["unknown field", "missing field", "duplicate key"];
    let before = error.span().map_or(0, |span| span.start);
    let before = text.get(..before).unwrap_or_default();
    let message = error.message();
    let is_of_keys = OF_KEYS.iter().any(|it| message.starts_with(it));
    BadProvidersFile::Line {
        line: before.matches('\n').count() + 1,
        why: match is_of_keys {
            true => message.to_owned(),
            false => "it is no table of a provider, or a value is of another type".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests;
