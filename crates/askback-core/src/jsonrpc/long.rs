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

#[cfg(test)]
mod tests {
    use alloc::{format, string::String, vec::Vec};

    use super::{KEPT_ENDS as ENDS, malformed};
    use crate::jsonrpc::RequestId;

    /// Replaces `…` by long text, and checks the message whole and with its middle cut out.
    #[track_caller]
    fn check(message: &str, id: Option<RequestId>, response: bool, notification: bool) {
        let long = message.replace('…', &"\\\"id\\\":9}é".repeat(ENDS));
        let cut = [
            &long.as_bytes()[..ENDS],
            &long.as_bytes()[long.len() - ENDS..],
        ]
        .concat();
        for bytes in [long.into_bytes(), cut] {
            let found = malformed(&bytes, 0);
            let known = (found.id, found.response, found.notification);
            let shown = String::from_utf8_lossy(&bytes[..ENDS.min(80)]);
            assert_eq!(known, (id.clone(), response, notification), "{shown}");
        }
    }

    #[test]
    fn the_id_of_a_long_message_is_found_at_either_end() {
        let seven = || Some(RequestId::Number(7));
        check(
            r#"{"jsonrpc":"2.0","id":7,"result":{"a":"…"}}"#,
            seven(),
            true,
            false,
        );
        check(
            r#"{"result":{"a":"…"},"jsonrpc":"2.0","id":7}"#,
            seven(),
            true,
            false,
        );
        check(
            r#" { "error" : {"a":"…"}, "id" : 7 , "jsonrpc" : "2.0" } "#,
            seven(),
            true,
            false,
        );
        check(
            r#"{"id":7,"error":{"message":"…"},"jsonrpc":"2.0"}"#,
            seven(),
            true,
            false,
        );
        let request = r#"{"jsonrpc":"2.0","id":"a","method":"x","params":{"a":"…"}}"#;
        check(request, Some(RequestId::from("a")), false, false);
        let request = r#"{"method":"x","params":{"a":"…"},"jsonrpc":"2.0","id":7}"#;
        check(request, seven(), false, false);
        let notification = r#"{"jsonrpc":"2.0","method":"x","params":{"a":"…"}}"#;
        check(notification, None, false, true);
    }

    #[test]
    fn an_id_in_another_place_is_not_its_own() {
        check(
            r#"{"jsonrpc":"2.0","result":{"a":"…","id":7}}"#,
            None,
            true,
            false,
        );
        // A line without a version or an id at its beginning may be a log line.
        check(
            r#"{"result":["…",{"b":1,"id":7}],"jsonrpc":"2.0"}"#,
            None,
            false,
            false,
        );
        check(r#"{"result":"…,\"id\":7}"}"#, None, false, false);
        check(
            r#"[{"jsonrpc":"2.0","id":7,"result":{"a":"…"}}]"#,
            None,
            false,
            false,
        );
        check("…", None, false, false);
        let nobody: Vec<u8> = Vec::new();
        assert_eq!(malformed(&nobody, 0).id, None);
        let long = format!(r#"{{"id":"{}","result":{{"a":"…"}}}}"#, "i".repeat(ENDS));
        check(&long, None, false, false);
    }

    #[test]
    fn a_truncated_id_is_not_an_id() {
        #[track_caller]
        fn check(bytes: &[u8]) {
            assert_eq!(
                malformed(bytes, 0).id,
                None,
                "{:?}",
                String::from_utf8_lossy(bytes)
            );
        }
        // The id continues beyond the examined part.
        let before = ENDS - r#"{"id":123"#.len();
        let long = format!(
            r#"{}{{"id":12345,"result":{{"a":"{}"}}}}"#,
            " ".repeat(before),
            "b".repeat(2 * ENDS)
        );
        check(long.as_bytes());
        for id in ["7.5", "7e3", "-7", "7 7"] {
            let result = "b".repeat(2 * ENDS);
            check(format!(r#"{{"id":{id},"result":{{"a":"{result}"}}}}"#).as_bytes());
            check(format!(r#"{{"result":{{"a":"{result}"}},"id":{id}}}"#).as_bytes());
        }
        // The digits are on both sides of the cut.
        check(br#"{"id":1 cut 2,"result":{}}"#);
        check(br#"{"id":12,"result":{}}"#);
        let mut ended =
            format!(r#"{{"result":["{}",{{"b":1,"id":7}}"#, "b".repeat(2 * ENDS)).into_bytes();
        ended.push(0xff);
        check(&ended);
    }
}
