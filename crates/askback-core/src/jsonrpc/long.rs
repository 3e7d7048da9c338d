//! Finds the id of a message that is too long to be parsed.

use alloc::format;

use super::{ErrorObject, INVALID_REQUEST, MalformedMessage, RequestId, Walk};

/// The number of bytes examined at either end of a message that is too long. In nearly all messages
/// the id is in one of them. A transport that drops the middle of such a message keeps this much of
/// each end.
pub const KEPT_ENDS: usize = 512;

/// The members at the beginning of a message, up to the one that may be long.
#[derive(Default)]
struct MessageHead {
    id: Option<RequestId>,
    has_version: bool,
    has_method: bool,
    has_outcome: bool,
}

/// Makes the error for a message longer than `most`. Its middle may be missing.
pub(super) fn malformed(bytes: &[u8], most: usize) -> MalformedMessage {
    let reason = format!("the message has more than the {most} bytes accepted here");
    // Half of the message at most, so that the two ends do not overlap.
    let end = KEPT_ENDS.min(bytes.len() / 2);
    named(bytes, end, ErrorObject::new(INVALID_REQUEST, reason))
}

pub(super) fn named(bytes: &[u8], end: usize, error: ErrorObject) -> MalformedMessage {
    let beginning = MessageHead::of(&bytes[..end]);
    let id = beginning
        .id
        .or_else(|| last_id(&bytes[bytes.len() - end..]));
    // A log line may also have a member `error`.
    let is_named = beginning.has_version || id.is_some();
    MalformedMessage {
        response: beginning.has_outcome && !beginning.has_method && is_named,
        notification: beginning.has_method && id.is_none(),
        id,
        error,
    }
}

impl MessageHead {
    fn of(bytes: &[u8]) -> Self {
        let mut beginning = Self::default();
        let mut walk = Walk::new(text(bytes));
        let mut id = None;
        // The text is cut off inside a member. An id is complete if another member follows.
        let _ = walk.object(|walk, name| {
            beginning.id = beginning.id.take().or(id.take());
            match name {
                "jsonrpc" => {
                    beginning.has_version = true;
                    walk.string().map(drop)
                }
                "id" => {
                    id = Some(walk.request_id()?);
                    Some(())
                }
                "method" => {
                    beginning.has_method = true;
                    walk.string().map(drop)
                }
                "result" | "error" => {
                    beginning.has_outcome = true;
                    None
                }
                _ => None,
            }
        });
        beginning
    }
}

/// Finds the id behind the long member. It is the message's own id if only the closing brace of the
/// message follows its members.
fn last_id(bytes: &[u8]) -> Option<RequestId> {
    let last = bytes.utf8_chunks().last()?;
    let end = last.valid();
    last.invalid().is_empty().then_some(())?;
    let at = end.rfind(r#""id""#)?;
    let (before, members) = end.split_at(at);
    before.trim_end().ends_with(',').then_some(())?;
    let members = format!("{{{members}");
    let (mut id, mut walk) = (None, Walk::new(&members));
    walk.object(|walk, name| match name {
        "id" => {
            id = Some(walk.request_id()?);
            Some(())
        }
        "jsonrpc" | "method" => walk.string().map(drop),
        _ => None,
    })?;
    walk.end()?;
    id
}

fn text(bytes: &[u8]) -> &str {
    bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}
