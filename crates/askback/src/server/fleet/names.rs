//! The names of calls, requests and questions that clients see. Each has a MAC, so that only names
//! of this fleet are accepted.

use std::sync::Arc;

use askback_core::{ask::keys::Key, jsonrpc::RequestId};
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use crate::{
    error::Result,
    journal::{CallId, SessionId},
    server::Shared,
    store::owner::half,
};

/// The name of a question for the client: `<call>.<number>.<mac>`.
pub(crate) struct AskName {
    pub(super) call: CallId,
    pub(super) number: u32,
}

pub(super) const MAC: usize = 8;

/// The MAC of a name with this purpose, over a call of a session and the rest of the name.
pub(super) fn mac(
    key: &Key,
    purpose: &str,
    (session, call): (SessionId, CallId),
    rest: &[u8],
) -> [u8; MAC] {
    let label = [purpose.as_bytes(), &call.0, rest].concat();
    let derived = key.derive(&label, &session.0);
    let mut mac = [0; MAC];
    mac.copy_from_slice(&derived[..MAC]);
    mac
}

pub(super) fn is_given(
    shared: &Shared,
    purpose: &str,
    whose: (SessionId, CallId),
    rest: &[u8],
    given: [u8; MAC],
) -> bool {
    // Compares in constant time.
    let is_of = |key: &Key| {
        let known = mac(key, purpose, whose, rest);
        known
            .iter()
            .zip(&given)
            .fold(0, |all, (a, b)| all | (a ^ b))
            == 0
    };
    shared.keys().is_ok_and(|keys| keys.all().any(is_of))
}

const REQUEST_NAME: &str = "askback request name v1";

/// The longest request id that is repeated in event ids, in bytes.
const REQUEST_BYTES: usize = 64;

/// The name of the request that a call answers, for the event ids of its stream; `None` if its id
/// is too long.
pub(crate) fn request_name(
    shared: &Shared,
    whose: (SessionId, CallId),
    request: &RequestId,
) -> Option<Arc<str>> {
    let json = serde_json::to_vec(request).ok()?;
    let json = (json.len() <= REQUEST_BYTES).then_some(json)?;
    let mac = mac(shared.keys().ok()?.active(), REQUEST_NAME, whose, &json);
    Some(URL_SAFE_NO_PAD.encode([&mac[..], &json].concat()).into())
}

/// Reads a request name, if this fleet has issued it for this call of this session.
pub(crate) fn read_request_name(
    shared: &Shared,
    whose: (SessionId, CallId),
    name: &str,
) -> Option<RequestId> {
    let bytes = URL_SAFE_NO_PAD.decode(name).ok()?;
    let (given, json) = bytes.split_first_chunk::<MAC>()?;
    is_given(shared, REQUEST_NAME, whose, json, *given)
        .then(|| serde_json::from_slice(json).ok())
        .flatten()
}

const ASK_NAME: &str = "askback ask v1";

impl AskName {
    pub(super) fn write(&self, shared: &Shared, session: SessionId) -> Result<RequestId> {
        let whose = (session, self.call);
        let number = self.number.to_be_bytes();
        let mac = mac(shared.keys()?.active(), ASK_NAME, whose, &number);
        Ok(RequestId::String(format!(
            "{}.{}.{}",
            call_text(self.call),
            self.number,
            URL_SAFE_NO_PAD.encode(mac)
        )))
    }

    pub(crate) fn read(shared: &Shared, session: SessionId, text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (call, number, mac) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() {
            return None;
        }
        let name = Self {
            call: read_call(call)?,
            number: number.parse().ok()?,
        };
        let mac: [u8; MAC] = URL_SAFE_NO_PAD.decode(mac).ok()?.try_into().ok()?;
        let whose = (session, name.call);
        is_given(shared, ASK_NAME, whose, &name.number.to_be_bytes(), mac).then_some(name)
    }
}

pub(crate) fn call_text(call: CallId) -> String {
    URL_SAFE_NO_PAD.encode(call.0)
}

pub(crate) fn read_call(text: &str) -> Option<CallId> {
    Some(CallId(URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()?))
}

pub(crate) fn request_digest(session: SessionId, id: &RequestId) -> [u8; 16] {
    let mut digest = Sha256::new_with_prefix("askback request v1");
    digest.update(session.0);
    // As JSON, because the id 7 differs from "7".
    digest.update(serde_json::to_string(id).unwrap_or_default());
    half(digest)
}
