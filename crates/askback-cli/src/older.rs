//! Servers that can ask only in an older revision. Most SDKs speak 2026-07-28, in which a server asks with a result, but
//! their tools ask with a request, which fails there.

use std::{collections::BTreeMap, path::PathBuf, time::SystemTime};

use askback::{Revision, internal::quote::clipped, keys::state_dir, protocol::Implementation};
use askback_host::{text::Words, words};
use serde::{Deserialize, Serialize};

use crate::{error::Error, private_file, target::Target};

/// The newest revision in which a server asks with a request.
pub const REVISION: Revision = Revision::LATEST_LEGACY;

/// Requests that a server makes during a call.
const ASKS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

const MAX_SERVERS: usize = 1_000;

/// Whether a failed tool's message says that its server cannot ask in the current revision. Recognizes the messages
/// of FastMCP 4, the SDKs 2 for Python and TypeScript, and rmcp 3.
pub fn is_meant(said: &str) -> bool {
    let said = said.to_ascii_lowercase();
    ["server-initiated request", "server-to-client request"]
        .iter()
        .any(|words| said.contains(words))
}

/// The maximum length of such a message, in bytes. The longest known one has about 160.
const MAX_MESSAGE: usize = 500;

/// Like [`is_meant`], for a decision without a person. A tool may print text about the protocol, so the text must be
/// short and say why the request is not possible.
pub fn is_surely_meant(said: &str) -> bool {
    let names_why = [Revision::LATEST.as_str(), "back-channel"]
        .iter()
        .any(|words| said.contains(words));
    said.len() <= MAX_MESSAGE && names_why && is_meant(said)
}

/// Like [`is_meant`], for a protocol error that names the request.
pub fn is_meant_by_error(message: &str) -> bool {
    is_meant(message) || ASKS.iter().any(|method| message.contains(method))
}

pub fn hint() -> Words {
    words!(
        "This server can ask up to {} only: add --protocol {}.",
        REVISION.as_str(),
        REVISION.as_str()
    )
}

/// Adds the hint to an error if [`is_meant_by_error`] recognizes its message.
pub fn hinted(error: Error, message: &str) -> Error {
    match is_meant_by_error(message) {
        true => error.hint(hint()),
        false => error,
    }
}

/// How long a server is remembered, in seconds: a week. After that, its library may be newer.
const REMEMBERED: u64 = 7 * 86_400;

/// In seconds since 1970.
pub fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}

/// The servers that are known to ask in [`REVISION`] only, by the digests of their targets.
type Servers = BTreeMap<String, OlderServer>;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct OlderServer {
    /// The name and version in its greeting, if it gave one.
    claims: Option<String>,
    /// When this was found, in seconds since 1970.
    since: u64,
}

/// The maximum length of the stored name and version, in bytes.
const CLAIMS_BYTES: usize = 256;

/// The name and version in the greeting of a server.
pub fn claims(server: &Implementation) -> String {
    let claims = format!("{} {}", server.name, server.version);
    clipped(&claims, CLAIMS_BYTES)
}

#[derive(Debug, Clone)]
pub struct AskingRevision {
    server: String,
    path: Option<PathBuf>,
}

impl AskingRevision {
    pub fn of(target: &Target) -> Self {
        let state = state_dir();
        Self {
            server: target.digest(),
            path: state.map(|state| state.join("askback").join("asks-in-handshakes.json")),
        }
    }

    /// Empty if the file cannot be read.
    fn known(&self) -> Servers {
        let known = self.path.as_deref().map(private_file::load);
        known.and_then(Result::ok).unwrap_or_default()
    }

    pub fn is_older(&self, now: u64) -> bool {
        let known = self.known();
        known
            .get(&self.server)
            .is_some_and(|known| now < known.since.saturating_add(REMEMBERED))
    }

    /// Forgets the server if the name and version in its greeting have changed: it may ask in the newest revision now.
    pub fn greeted(&self, claims: Option<String>) {
        let known = self.known();
        let (Some(claims), Some(known)) = (claims, known.get(&self.server)) else {
            return;
        };
        let claims = clipped(&claims, CLAIMS_BYTES);
        match &known.claims {
            // In 2026-07-28, the greeting need not have a name and version.
            None => self.keep(Some(claims), known.since),
            Some(known) if *known != claims => self.forget(),
            Some(_) => {}
        }
    }

    pub fn forget(&self) {
        if self.known().contains_key(&self.server) {
            self.change(|all| _ = all.remove(&self.server));
        }
    }

    pub fn keep(&self, claims: Option<String>, since: u64) {
        self.change(|all| {
            all.retain(|_, known| since < known.since.saturating_add(REMEMBERED));
            all.insert(self.server.clone(), OlderServer { claims, since });
            while all.len() > MAX_SERVERS {
                all.pop_first();
            }
        });
    }

    /// Changes the remembered servers. If the write fails, the next conversation detects the server again.
    fn change(&self, change: impl FnOnce(&mut Servers)) {
        let Some(path) = &self.path else { return };
        // Treat an unreadable file as empty.
        if private_file::load::<Servers>(path).is_err() {
            let _ = private_file::write(path, "{}");
        }
        let _ = private_file::change(path, change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_cannot_ask_is_recognised() {
        let fastmcp =
            "elicitation via server-initiated requests is unavailable on 2026-07-28 connections.";
        let sdk = "Cannot send 'elicitation/create': this transport context has no back-channel for server-initiated requests.";
        let typescript = "Server-to-client requests are not available on protocol revision 2026-07-28: 'elicitation/create' cannot be sent while serving a request on that revision.";
        let rmcp = "server-to-client requests are not allowed on protocol 2026-07-28 or later; return InputRequiredResult instead";
        for said in [fastmcp, sdk, typescript, rmcp] {
            assert!(is_surely_meant(said) && is_meant_by_error(said), "{said}");
        }
        assert!(is_meant_by_error("roots/list is not supported"));
        for printed in [
            &format!("{fastmcp}\n{}", "12 files were deleted\n".repeat(40)),
            "spec.md: a server-initiated request is sent on the session",
        ] {
            assert!(!is_surely_meant(printed), "{printed}");
        }
        for other in ["no pizza left", "the server is overloaded"] {
            assert!(!is_meant(other) && !is_meant_by_error(other), "{other}");
        }
    }

    #[test]
    fn a_server_is_forgotten_once_it_may_be_another_one() {
        let folder = tempfile::tempdir().expect("there is room");
        let path = folder.path().join("asks.json");
        let older = |server: &str| AskingRevision {
            server: server.to_owned(),
            path: Some(path.clone()),
        };
        let (pizza, other) = (older("pizza"), older("other"));
        let claims = |claims: &str| Some(claims.to_owned());
        // A file written by an earlier version of askback is ignored.
        private_file::write(&path, r#"["pizza"]"#).expect("it is ours");
        assert!(!pizza.is_older(0));
        pizza.keep(None, 0);
        pizza.greeted(claims("pizza 1"));
        pizza.greeted(claims("pizza 1"));
        pizza.greeted(None);
        assert!(pizza.is_older(REMEMBERED - 1) && !pizza.is_older(REMEMBERED));
        other.keep(claims("other 1"), 9);
        other.greeted(claims("other 2"));
        assert!(pizza.is_older(9) && !other.is_older(9));
        other.keep(None, 9);
        other.forget();
        assert!(!other.is_older(9));
        pizza.greeted(claims("pizza 2"));
        assert!(!pizza.is_older(9));
    }
}
