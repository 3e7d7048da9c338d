//! Every kind of message in every revision, and how it is lowered.

mod cases;
mod coverage;
mod hostile;
mod members;

use std::{collections::BTreeMap, fs, path::Path};

use askback_core::revision::Revision;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

/// A message as it is sent, with its revisions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    kind: Kind,
    /// The method that a result or an answer belongs to.
    method: Option<String>,
    since: Option<String>,
    until: Option<String>,
    /// As text, because the order of members matters in forms.
    message: Box<RawValue>,
    /// How it is written in a revision, if it is not written unchanged.
    #[serde(default)]
    written: BTreeMap<String, Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    ClientRequest,
    ServerRequest,
    /// A question in a result, and an answer in a request.
    InputRequest,
    InputResponse,
    ClientNotification,
    ServerNotification,
    /// The response of a server, and of a client.
    Result,
    Answer,
    Error,
    Batch,
}

impl Case {
    fn revisions(&self) -> impl Iterator<Item = Revision> {
        let revision = |text: &Option<String>| text.as_ref().map(|text| text.parse().unwrap());
        let since = revision(&self.since).unwrap_or(Revision::V2024_11_05);
        let until = revision(&self.until).unwrap_or(Revision::LATEST);
        Revision::ALL
            .into_iter()
            .filter(move |revision| (since..=until).contains(revision))
    }

    fn value(&self) -> Value {
        serde_json::from_str(self.message.get()).unwrap()
    }

    /// The method of the message or the case.
    fn method(&self) -> Option<String> {
        let said = || Some(self.value().get("method")?.as_str()?.to_owned());
        self.method.clone().or_else(said)
    }
}

/// Reads all JSON files of a directory next to this file; each is a list.
fn read<T: DeserializeOwned>(directory: &str) -> Vec<T> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/core/wire")
        .join(directory);
    let mut files: Vec<_> = fs::read_dir(&directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        let list: Vec<T> = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        all.extend(list);
    }
    assert!(!all.is_empty(), "no cases in {}", directory.display());
    all
}
