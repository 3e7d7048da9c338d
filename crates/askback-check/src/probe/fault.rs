//! Departures of a server's messages from JSON-RPC 2.0, for which clients refuse them.

use serde_json::Value;

const VERSION: &str = "2.0";

/// A departure of a message from JSON-RPC 2.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It does not say its version, or another one.
    Version,
    /// A response with a result and an error.
    Both,
    Neither,
    /// A response with an id that is not the one of the request.
    OtherId,
}

impl Fault {
    /// The fault in words, and what to do about it.
    pub(crate) fn says(self) -> (&'static str, &'static str) {
        match self {
            Self::Version => (
                "its messages do not say \"jsonrpc\": \"2.0\":",
                "Clients refuse such messages: add the member to each of them.",
            ),
            Self::Both => (
                "it answers with a result and an error at once:",
                "Clients refuse such answers: each has one of `result` and `error`.",
            ),
            Self::Neither => (
                "it answers with neither a result nor an error:",
                "Clients refuse such answers: each has one of `result` and `error`.",
            ),
            Self::OtherId => (
                "it answers with another id than that of the request:",
                "Clients wait in vain then: send each id back as it came, a number as a number.",
            ),
        }
    }

    /// The faults of a message that came while the answer to the request of this id was waited for.
    pub(crate) fn of(message: &Value, awaited: Option<&Value>) -> Vec<Self> {
        let mut faults = Vec::new();
        if message["jsonrpc"] != VERSION {
            faults.push(Self::Version);
        }
        let has = |member: &str| message.get(member).is_some();
        if has("method") {
            return faults;
        }
        match (has("result"), has("error")) {
            (true, true) => faults.push(Self::Both),
            (false, false) => faults.push(Self::Neither),
            _ => {}
        }
        // An error need not name a request that could not be read.
        let is_nameless = has("error") && message["id"].is_null();
        if let Some(id) = awaited
            && !is_nameless
            && message["id"] != *id
            && is_same_text(&message["id"], id)
        {
            faults.push(Self::OtherId);
        }
        faults
    }
}

/// Whether two ids read the same, though their types may differ.
pub(super) fn is_same_text(id: &Value, other: &Value) -> bool {
    let text = |id: &Value| match id {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => match number.as_f64() {
            // `7.0` is read as 7, too.
            Some(whole) if whole.fract() == 0.0 && whole.abs() < 1e15 => Some(format!("{whole}")),
            _ => Some(number.to_string()),
        },
        _ => None,
    };
    text(id).is_some_and(|id| text(other) == Some(id))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_fault_of_a_message_is_found() {
        for (message, expected) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, &[][..]),
            (r#"{"jsonrpc":"2.0","id":null,"error":{}}"#, &[]),
            (r#"{"jsonrpc":"2.0","method":"a"}"#, &[]),
            (r#"{"jsonrpc":"2.0","id":8,"result":{}}"#, &[]),
            (r#"{"id":7,"result":{}}"#, &[Fault::Version]),
            (r#"{"jsonrpc":2.0,"method":"a"}"#, &[Fault::Version]),
            (r#"{"jsonrpc":"1.0","id":7,"result":{}}"#, &[Fault::Version]),
            (
                r#"{"jsonrpc":"2.0","id":7,"result":{},"error":{}}"#,
                &[Fault::Both],
            ),
            (r#"{"jsonrpc":"2.0","id":7}"#, &[Fault::Neither]),
            (
                r#"{"jsonrpc":"2.0","id":"7","result":{}}"#,
                &[Fault::OtherId],
            ),
            (
                r#"{"jsonrpc":"2.0","id":7.0,"result":{}}"#,
                &[Fault::OtherId],
            ),
        ] {
            let read: Value = serde_json::from_str(message).expect("it is JSON");
            assert_eq!(Fault::of(&read, Some(&json!(7))), expected, "{message}");
        }
    }
}
