//! Serializes messages directly into their envelope.

use alloc::vec::Vec;

use memchr::memchr2;
use serde::Serialize;

use super::{ErrorObject, RequestId, VERSION, written_response::START};

const RESULT: &[u8] = br#","result":"#;

/// Room for the constants around a result and any numeric id.
const AROUND: usize = 64;

/// Serializes a request. Absent `params` are left out.
///
/// # Panics
///
/// Panics if `params` cannot be written as JSON. The types of [`protocol`](crate::protocol) always
/// can.
pub fn write_request<T: Serialize + ?Sized>(
    id: &RequestId,
    method: &str,
    params: Option<&T>,
) -> Vec<u8> {
    encode(&Call {
        jsonrpc: VERSION,
        id: Some(id),
        method,
        params,
    })
}

/// Serializes a request in parts. `meta` has the members of its `_meta` as JSON without braces.
/// They are written behind the members of `params`, which must be an object without `_meta`.
///
/// # Panics
///
/// As [`write_request`].
#[cfg(feature = "client")]
pub(crate) fn write_request_of<T: Serialize>(
    id: &RequestId,
    method: &str,
    params: Option<&T>,
    meta: &str,
) -> Vec<u8> {
    let (id, method, params) = (id.to_json(), encode(&method), params.map(encode));
    // Without the surrounding braces.
    let members = params.as_ref().map_or(&[][..], |it| &it[1..it.len() - 1]);
    // Room for the constants and any numeric id.
    let around = 96;
    let mut message = Vec::with_capacity(around + method.len() + members.len() + meta.len());
    let beginning = [
        START.as_bytes(),
        id.as_bytes(),
        br#","method":"#,
        &method,
        br#","params":{"#,
    ];
    for part in beginning {
        message.extend_from_slice(part);
    }
    if !members.is_empty() {
        message.extend_from_slice(members);
        message.push(b',');
    }
    for part in [r#""_meta":{"#, meta, "}}}"] {
        message.extend_from_slice(part.as_bytes());
    }
    message
}

/// Serializes a notification. Absent `params` are left out.
///
/// # Panics
///
/// As [`write_request`].
pub fn write_notification<T: Serialize + ?Sized>(method: &str, params: Option<&T>) -> Vec<u8> {
    encode(&Call {
        jsonrpc: VERSION,
        id: None,
        method,
        params,
    })
}

/// Serializes the response to a request that succeeded.
///
/// # Panics
///
/// Panics if `result` cannot be written as JSON. The types of [`protocol`](crate::protocol) always
/// can.
pub fn write_result<T: Serialize + ?Sized>(id: &RequestId, result: &T) -> Vec<u8> {
    let result = encode(&result);
    let mut message = begin_result(id, result.len());
    message.extend_from_slice(&result);
    message.push(b'}');
    message
}

/// Serializes the response to a request that succeeded, in parts. `first` and `last` are members of
/// the result as JSON without surrounding commas. They are written before and after the members of
/// `members`, which must be an object.
///
/// # Panics
///
/// As [`write_result`].
pub(crate) fn write_result_of<T: Serialize>(
    id: &RequestId,
    first: &str,
    members: &T,
    last: Option<&str>,
) -> Vec<u8> {
    let members = encode(members);
    // Without the surrounding braces.
    let members = &members[1..members.len() - 1];
    let last = last.unwrap_or_default();
    let mut message = begin_result(id, first.len() + members.len() + last.len());
    message.push(b'{');
    message.extend_from_slice(first.as_bytes());
    for part in [members, last.as_bytes()] {
        if !part.is_empty() {
            message.push(b',');
            message.extend_from_slice(part);
        }
    }
    message.extend_from_slice(b"}}");
    message
}

/// Serializes the response to a request that failed. An unknown id is left out.
pub fn write_error(id: Option<&RequestId>, error: &ErrorObject) -> Vec<u8> {
    encode(&Failure {
        jsonrpc: VERSION,
        id,
        error,
    })
}

/// Joins serialized messages into a batch (2025-03-26, Basic, Batching).
pub fn write_batch<M: AsRef<[u8]>>(messages: &[M]) -> Vec<u8> {
    let length: usize = messages.iter().map(|m| m.as_ref().len() + 1).sum();
    let mut batch = Vec::with_capacity(length + 1);
    for (index, message) in messages.iter().enumerate() {
        batch.push(if index == 0 { b'[' } else { b',' });
        batch.extend_from_slice(message.as_ref());
    }
    if batch.is_empty() {
        batch.push(b'[');
    }
    batch.push(b']');
    batch
}

/// Begins the response to a request that succeeded, with room for a result of `bytes` and for the
/// end of a message on streams.
fn begin_result(id: &RequestId, bytes: usize) -> Vec<u8> {
    let mut message = Vec::with_capacity(AROUND + bytes);
    message.extend_from_slice(START.as_bytes());
    id.append_to(&mut message);
    message.extend_from_slice(RESULT);
    message
}

#[derive(Serialize)]
struct Call<'a, T: ?Sized> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    method: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<&'a T>,
}

#[derive(Serialize)]
struct Failure<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a RequestId>,
    error: &'a ErrorObject,
}

fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    // Writing to memory cannot fail. A value fails only if a map has keys that are not strings or a
    // `Serialize` fails; callers must rule out both.
    let mut bytes =
        serde_json::to_vec(message).expect("a message is made of string-keyed maps only");
    // Raw JSON may span several lines. A line break inside a string is escaped, so any other line
    // break is white space, and would end the message on line-based transports.
    if memchr2(b'\n', b'\r', &bytes).is_some() {
        bytes.retain(|byte| !matches!(byte, b'\n' | b'\r'));
    }
    bytes
}
