//! Servers that can ask in an older revision only.
//!
//! The SDKs of Python answer in 2026-07-28, in which a server asks by its answer, and their tools ask by a
//! request, which fails there.

use std::collections::BTreeSet;

use askback::keys::state_dir;
use askback_core::revision::Revision;
use askback_host::{text::Words, words};

use crate::{error::Error, private_file, target::Target};

/// The newest revision in which a server asks by a request.
pub const REVISION: Revision = Revision::LATEST_LEGACY;

/// The requests of servers that want something in the middle of a call.
const ASKS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// The most servers that are remembered.
const MAX_SERVERS: usize = 1_000;

/// Whether these words of a failed tool say that its server cannot ask in the revision that is spoken: those of
/// FastMCP 4 and of the Python SDK 2.
pub fn is_meant(said: &str) -> bool {
    said.contains("server-initiated request")
}

/// The same of an error of the protocol, which names the request.
pub fn is_meant_by_error(message: &str) -> bool {
    is_meant(message) || ASKS.iter().any(|method| message.contains(method))
}

/// What to do about it.
pub fn hint() -> Words {
    words!(
        "This server can ask in {} only: add --protocol {}.",
        REVISION.as_str(),
        REVISION.as_str()
    )
}

/// Adds what to do to an error in which a server says that.
pub fn hinted(error: Error, message: &str) -> Error {
    match is_meant_by_error(message) {
        true => error.hint(hint()),
        false => error,
    }
}

/// What is remembered of a server.
#[derive(Debug, Clone)]
pub struct AskingRevision {
    server: String,
}

impl AskingRevision {
    /// What is remembered of this server.
    pub fn of(target: &Target) -> Self {
        Self {
            server: target.digest(),
        }
    }

    /// Whether the server is known to ask in [`REVISION`] only.
    pub fn is_older(&self) -> bool {
        read().is_some_and(|all| all.contains(&self.server))
    }

    /// Remembers it. If that cannot be written, the next conversation finds it out again.
    pub fn keep(&self) {
        let Some(path) = path() else { return };
        let Ok(_turn) = private_file::lock(&path) else {
            return;
        };
        let mut all = read().unwrap_or_default();
        if all.insert(self.server.clone()) {
            while all.len() > MAX_SERVERS {
                all.pop_first();
            }
            if let Ok(text) = serde_json::to_string_pretty(&all) {
                let _ = private_file::write(&path, &text);
            }
        }
    }
}

fn path() -> Option<std::path::PathBuf> {
    state_dir().map(|state| state.join("askback").join("asks-in-handshakes.json"))
}

fn read() -> Option<BTreeSet<String>> {
    let path = path()?;
    let text = private_file::read(&path).ok()??;
    private_file::parse(&path, &text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_ask_is_recognised() {
        let fastmcp =
            "elicitation via server-initiated requests is unavailable on 2026-07-28 connections.";
        let sdk = "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests.";
        assert!(is_meant(fastmcp) && is_meant_by_error(fastmcp));
        assert!(is_meant(sdk) && is_meant_by_error(sdk));
        assert!(is_meant_by_error("roots/list is not supported"));
        for other in ["no pizza left", "the server is overloaded"] {
            assert!(!is_meant(other) && !is_meant_by_error(other), "{other}");
        }
    }
}
