//! The records of calls in a journal, sealed.

use std::{collections::BTreeMap, fmt};

use askback_core::{
    ask::{Millis, Principal, seal},
    jsonrpc::RequestId,
    protocol::{
        ClientCapabilities, Implementation, JsonObject, ProgressParams, ProgressToken, RawJson,
        ServerNotification,
    },
};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use zeroize::Zeroizing;

use super::{names::call_text, tasks::TaskFacts};
use crate::{
    clock::millis,
    entropy::entropy,
    error::{Error, Result},
    flow::ProgressState,
    journal::{CallId, Event, SessionId},
    server::Shared,
};

/// The maximum length of a record, answer or message, in bytes.
const MAX_BYTES: usize = 48 << 20;

#[derive(Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) id: RequestId,
    pub(super) method: String,
    pub(super) target: String,
    pub(super) arguments: RawJson,
    #[serde(default)]
    pub(super) meta: JsonObject,
    pub(super) token: Option<ProgressToken>,
    pub(super) revision: String,
    pub(super) client: Option<Implementation>,
    pub(super) capabilities: ClientCapabilities,
    pub(super) principal: Option<PrincipalRecord>,
    pub(super) state: Option<String>,
    pub(super) asked: BTreeMap<u32, AskedQuestion>,
    pub(super) next_ask: u32,
    pub(super) answer_by: Millis,
    #[serde(default)]
    pub(super) task: Option<TaskFacts>,
    /// When it was recorded, and its progress at that time.
    pub(super) asked_at: Millis,
    pub(super) progress: ProgressState,
}

/// The line before a message in a log.
#[derive(Serialize, Deserialize)]
struct MessageHeader {
    waiting: Option<WaitingNote>,
    is_last: bool,
}

/// The notes about a waiting question, for a client that asked for progress notifications. They are
/// not part of the log: the process with the client's stream makes them, and any process makes the
/// same.
#[derive(Serialize, Deserialize, Clone)]
pub(crate) struct WaitingNote {
    pub(super) token: ProgressToken,
    pub(super) about: String,
    pub(super) asked_at: Millis,
    pub(super) progress: ProgressState,
}

impl WaitingNote {
    pub(crate) fn due(&self, shared: &Shared) -> u64 {
        notes_since(shared, self.asked_at)
    }

    pub(crate) fn notification(&self, notes: u64) -> ServerNotification {
        let ((progress, total), _) = self.progress.wait(notes);
        ServerNotification::Progress(ProgressParams {
            progress_token: self.token.clone(),
            progress,
            total,
            message: Some(self.about.clone()),
            meta: None,
        })
    }
}

pub(super) fn notes_since(shared: &Shared, asked_at: Millis) -> u64 {
    let every = millis(shared.limits().asking.progress_interval);
    let since = shared.clock().now().saturating_sub(asked_at);
    since.checked_div(every).unwrap_or(0)
}

#[derive(Serialize, Deserialize, Clone)]
pub(super) struct AskedQuestion {
    pub(super) key: String,
    pub(super) request: RawJson,
}

#[derive(Serialize, Deserialize)]
pub(super) struct PrincipalRecord {
    subject: String,
    issuer: Option<String>,
    tenant: Option<String>,
    client_id: Option<String>,
}

impl PrincipalRecord {
    pub(super) fn of(principal: &Principal) -> Self {
        let Principal {
            tenant,
            issuer,
            subject,
            client_id,
        } = principal.clone();
        Self {
            subject,
            issuer,
            tenant,
            client_id,
        }
    }

    pub(super) fn into_principal(self) -> Principal {
        Principal {
            tenant: self.tenant,
            issuer: self.issuer,
            client_id: self.client_id,
            ..Principal::new(self.subject)
        }
    }
}

/// The binding of a recorded value. It opens only at its own place.
fn binding<'a>(shared: &'a Shared, what: &'a str, place: &'a str) -> seal::Binding<'a> {
    seal::Binding {
        target: place,
        ..shared.binding(None, what)
    }
}

pub(crate) fn sealed<T: Serialize>(
    shared: &Shared,
    what: &str,
    place: &str,
    value: &T,
) -> Result<Vec<u8>> {
    sealed_bytes(shared, what, place, &serde_json::to_vec(value)?)
}

fn sealed_bytes(shared: &Shared, what: &str, place: &str, bytes: &[u8]) -> Result<Vec<u8>> {
    let random = seal::Entropy(entropy()?);
    let (keys, binding) = (shared.keys()?, binding(shared, what, place));
    let sealed = (bytes.len() <= MAX_BYTES)
        .then(|| seal::seal_bytes(keys, &binding, bytes, random))
        .flatten();
    sealed.ok_or_else(|| Error::new("the call is too large to be written down"))
}

pub(crate) fn opened<T: DeserializeOwned>(
    shared: &Shared,
    what: &str,
    place: &str,
    bytes: &[u8],
) -> Option<T> {
    serde_json::from_slice(&opened_bytes(shared, what, place, bytes)?).ok()
}

fn opened_bytes(
    shared: &Shared,
    what: &str,
    place: &str,
    bytes: &[u8],
) -> Option<Zeroizing<Vec<u8>>> {
    let keys = shared.keys().ok()?;
    seal::open_bytes(keys, &binding(shared, what, place), bytes.to_vec()).ok()
}

pub(super) const RECORD: &str = "journal record";
pub(super) const ANSWER: &str = "journal answer";
const MESSAGE: &str = "journal message";

pub(super) fn place_in((session, call): (SessionId, CallId), part: impl fmt::Display) -> String {
    let session = URL_SAFE_NO_PAD.encode(session.0);
    format!("{session}.{}.{part}", call_text(call))
}

/// A message in the log of a call.
#[derive(Clone)]
pub(crate) struct LogMessage {
    pub(crate) number: u64,
    /// Empty for a question that is answered.
    pub(crate) message: Vec<u8>,
    /// For a question: the notes that say that it waits.
    pub(crate) waiting: Option<WaitingNote>,
    /// Whether it is the last message of the log.
    pub(crate) is_last: bool,
}

impl LogMessage {
    pub(crate) fn new(number: u64, message: Vec<u8>) -> Self {
        Self {
            number,
            message,
            waiting: None,
            is_last: false,
        }
    }

    pub(crate) fn open(
        shared: &Shared,
        whose: (SessionId, CallId),
        number: u64,
        sealed: &[u8],
    ) -> Option<Self> {
        let bytes = opened_bytes(shared, MESSAGE, &place_in(whose, number), sealed)?;
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let (header, message) = bytes.split_at_checked(end + 1)?;
        let MessageHeader { waiting, is_last } = serde_json::from_slice(header).ok()?;
        Some(Self {
            number,
            message: message.to_vec(),
            waiting,
            is_last,
        })
    }

    /// Returns the message for the journal. `ask` is the number of its question.
    pub(super) fn seal(
        &self,
        shared: &Shared,
        whose: (SessionId, CallId),
        ask: Option<u32>,
    ) -> Result<Event> {
        let mut bytes = serde_json::to_vec(&MessageHeader {
            waiting: self.waiting.clone(),
            is_last: self.is_last,
        })?;
        bytes.push(b'\n');
        bytes.extend_from_slice(&self.message);
        let place = place_in(whose, self.number);
        Ok(Event {
            ask,
            message: sealed_bytes(shared, MESSAGE, &place, &bytes)?,
        })
    }
}
