//! Finds out which request an invalid message of a server answers.

use alloc::{borrow::ToOwned, format, vec::Vec};

use serde_json::value::RawValue;

use super::{
    ErrorObject, KEPT_ENDS, MalformedMessage, Message, PARSE_ERROR, Payload, is_short, long,
    read::parse_single,
};
use crate::{json::message_text, limits::WireLimits};

/// Examines an unreadable message again, so that its request does not wait in vain.
///
/// Several messages on one line are parsed one by one, as a batch. For any other text, its ends
/// show whether it is a response, and to which request.
///
/// # Errors
///
/// [`MalformedMessage`] with the facts about the message. A response without an id may belong to
/// any request.
pub(crate) fn recover(
    bytes: &[u8],
    malformed: MalformedMessage,
    limits: &WireLimits,
) -> Result<Payload, MalformedMessage> {
    if malformed.error.code != PARSE_ERROR {
        return Err(malformed);
    }
    if let Some(messages) = several(bytes, limits) {
        return Ok(Payload::Batch(messages));
    }
    if is_length_header(bytes) {
        let why = "the server writes Content-Length headers, as the Language Server Protocol has them; MCP over \
                   stdio has one message a line, without headers";
        return Err(MalformedMessage {
            response: true,
            error: ErrorObject::new(PARSE_ERROR, why.to_owned()),
            ..malformed
        });
    }
    let mut named = long::named(bytes, KEPT_ENDS.min(bytes.len()), malformed.error);
    named.id = named.id.filter(|id| is_short(id, limits));
    // A log line may also have members with these names.
    named.response &= bytes
        .windows(VERSION_MEMBER.len())
        .any(|part| part == VERSION_MEMBER);
    Err(named)
}

const VERSION_MEMBER: &[u8] = b"\"jsonrpc\"";

fn is_length_header(line: &[u8]) -> bool {
    let name = b"content-length:";
    let line = line.trim_ascii();
    line.split_at_checked(name.len())
        .is_some_and(|(start, length)| {
            let length = length.trim_ascii();
            start.eq_ignore_ascii_case(name)
                && !length.is_empty()
                && length.iter().all(u8::is_ascii_digit)
        })
}

/// Parses a line of several JSON values, if at least one of them is a message. The others may be
/// logs.
fn several(bytes: &[u8], limits: &WireLimits) -> Option<Vec<Result<Message, MalformedMessage>>> {
    let text = message_text(bytes).ok()?;
    let mut values = serde_json::Deserializer::from_str(&text).into_iter::<&RawValue>();
    let mut messages: Vec<_> = (&mut values)
        .take(limits.batch_messages)
        .map(|value| match value {
            Ok(value) => parse_single(value.get(), limits),
            Err(error) => Err(MalformedMessage::from_json(&error)),
        })
        .collect();
    if values.next().is_some() {
        let most = limits.batch_messages;
        let why = format!("the line has more than {most} messages; the rest is not read");
        messages.push(Err(MalformedMessage::invalid(why)));
    }
    messages.iter().any(Result::is_ok).then_some(messages)
}
