//! The comparison of a message with the one that was recorded.

use askback_host::{
    text::{Words, given, head},
    words,
};
use serde_json::Value;

use super::recording::{Kind, Message};

/// The most characters of a value that are told.
const SHOWN: usize = 200;

/// A place where the client's side is not what was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The recorded value, and its place.
    pub recorded: Words,
    /// The value that was sent.
    pub came: Words,
}

/// The members that differ from run to run: what a client says of itself and of its connection.
const FREE: [&str; 3] = [
    "/params/_meta",
    "/params/clientInfo",
    "/params/capabilities",
];

/// The member in which a client offers a revision.
const OFFERED: &str = "/params/protocolVersion";

/// The words of an error, which are those of one version of a client.
const WORDS: [&str; 2] = ["/error/message", "/error/data"];

impl Message {
    /// Finds where a message of the client differs from this one.
    pub(super) fn differences(&self, came: &Value) -> Vec<Difference> {
        let parts: &[&str] = match self.kind {
            Kind::Response => &["result", "error"],
            Kind::Request | Kind::Notification => &["params"],
        };
        let mut found = Vec::new();
        for part in parts {
            let mut path = format!("/{part}");
            self.compare(&mut path, self.json.get(part), came.get(part), &mut found);
        }
        found
    }

    /// Whether a message of the client is the same.
    pub(super) fn is_met_by(&self, came: &Value) -> bool {
        self.differences(came).is_empty()
    }

    /// Whether the server answered with the revision that a message of the client offers.
    pub(super) fn agrees_with(&self, came: &Value) -> bool {
        self.agreed.is_some() && came.pointer(OFFERED) == self.agreed.as_ref()
    }

    /// Adds the places at and below `path` at which two values differ.
    fn compare(
        &self,
        path: &mut String,
        recorded: Option<&Value>,
        came: Option<&Value>,
        found: &mut Vec<Difference>,
    ) {
        let is_left_out = self.left_out.contains(path);
        // A server that answered with this revision has it, and answers so to who offers it.
        let is_agreed = path == OFFERED && came.is_some() && came == self.agreed.as_ref();
        if is_left_out
            || is_agreed
            || FREE.contains(&path.as_str())
            || WORDS.contains(&path.as_str())
        {
            return;
        }
        let length = path.len();
        if let (Some(one), Some(other)) = (recorded, came)
            && is_reply(path)
            && let (Some(one), Some(mut other)) = (without_own(one), without_own(other))
        {
            let content = other.get_mut("content");
            // A block may stand by itself or in a list of one.
            if let (true, Some(content @ Value::Object(_))) = (one["content"].is_array(), content) {
                *content = Value::Array(vec![content.take()]);
            }
            return self.compare(path, Some(&one), Some(&other), found);
        }
        match (recorded, came) {
            (Some(Value::Object(one)), Some(Value::Object(other))) => {
                let more = other.keys().filter(|name| !one.contains_key(*name));
                for name in one.keys().chain(more) {
                    path.push('/');
                    path.push_str(&name.replace('~', "~0").replace('/', "~1"));
                    self.compare(path, one.get(name), other.get(name), found);
                    path.truncate(length);
                }
            }
            (Some(Value::Array(one)), Some(Value::Array(other))) => {
                for index in 0..one.len().max(other.len()) {
                    path.push('/');
                    path.push_str(&index.to_string());
                    self.compare(path, one.get(index), other.get(index), found);
                    path.truncate(length);
                }
            }
            (recorded, came) if is_same(recorded, came) => {}
            (recorded, came) => found.push(Difference {
                recorded: words!(
                    "{} at {} (message {})",
                    in_words(recorded),
                    given(&*path),
                    self.number
                ),
                came: in_words(came),
            }),
        }
    }
}

/// Whether a reply to a question stands at this place.
fn is_reply(path: &str) -> bool {
    let key = path.strip_prefix("/params/inputResponses/");
    path == "/result" || key.is_some_and(|key| !key.contains('/'))
}

/// The reply of a model without what is its own, so that another or a rule has it otherwise: its name, why it
/// stopped, and the ids of its calls. None for anything else.
fn without_own(reply: &Value) -> Option<Value> {
    let mut reply = reply.clone();
    let members = reply.as_object_mut()?;
    members.get("role")?;
    members.remove("model")?;
    members.remove("stopReason");
    let blocks = match members.get_mut("content")? {
        Value::Array(blocks) => blocks.as_mut_slice(),
        block => std::slice::from_mut(block),
    };
    let calls = blocks
        .iter_mut()
        .filter(|block| block["type"] == "tool_use");
    for call in calls.filter_map(Value::as_object_mut) {
        call.remove("id");
    }
    Some(reply)
}

/// Whether two values are equal, numbers by what they are worth.
fn is_same(one: Option<&Value>, other: Option<&Value>) -> bool {
    match (one, other) {
        (Some(Value::Number(one)), Some(Value::Number(other))) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (one, other) => one == other,
    }
}

/// A value in a line. Both sides of a comparison are our client's.
fn in_words(value: Option<&Value>) -> Words {
    let Some(value) = value else {
        return "nothing".into();
    };
    let text = value.to_string();
    match head(&text, SHOWN) {
        (_, 0) => given(text).into(),
        (head, _) => words!("{}…", given(head)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_difference_is_told_with_its_place() {
        #[track_caller]
        fn check(recorded: Value, left_out: &[&str], came: Value, told: &[(&str, &str)]) {
            let message = Message {
                number: 4,
                is_sent: true,
                kind: Kind::of(&recorded),
                json: recorded,
                left_out: left_out.iter().map(|&one| one.to_owned()).collect(),
                agreed: Some("2025-03-26".into()),
                status: None,
                followers: Vec::new(),
            };
            let found = message.differences(&came).into_iter();
            let found = found.map(|found| (found.recorded.to_string(), found.came.to_string()));
            let told = told.iter().map(|(recorded, came)| {
                let recorded = format!("{recorded} (message 4)");
                (recorded, (*came).to_owned())
            });
            assert_eq!(found.collect::<Vec<_>>(), told.collect::<Vec<_>>());
        }
        let call = |arguments: Value| json!({"id": 1, "method": "tools/call", "params": {"name": "x", "arguments": arguments}});
        check(call(json!({"a": 1})), &[], call(json!({"a": 1.0})), &[]);
        check(
            call(json!({"a": [1, {"b/c": "x"}]})),
            &[],
            call(json!({"a": [1, {"b/c": "y"}]})),
            &[("\"x\" at /params/arguments/a/1/b~1c", "\"y\"")],
        );
        check(
            call(json!({"a": [{"b": 3}]})),
            &[],
            call(json!({"a": [{"b": "3"}]})),
            &[("3 at /params/arguments/a/0/b", "\"3\"")],
        );
        check(
            call(json!({"a": 1})),
            &[],
            call(json!({})),
            &[("1 at /params/arguments/a", "nothing")],
        );
        check(
            call(json!({})),
            &[],
            call(json!({"a": null})),
            &[("nothing at /params/arguments/a", "null")],
        );
        check(
            call(json!({"a": 1, "pin": null})),
            &["/params/arguments/pin"],
            call(json!({"a": 1, "pin": "0000"})),
            &[],
        );
        check(
            json!({"id": 1, "method": "x", "params": {"_meta": {"progressToken": 1}}}),
            &[],
            json!({"id": 2, "method": "x", "params": {"_meta": {"progressToken": 2}}}),
            &[],
        );
        let open = |offered| json!({"id": 1, "method": "initialize", "params": {"protocolVersion": offered}});
        check(open("2025-11-25"), &[], open("2025-03-26"), &[]);
        check(
            open("2025-11-25"),
            &[],
            open("2025-06-18"),
            &[(
                "\"2025-11-25\" at /params/protocolVersion",
                "\"2025-06-18\"",
            )],
        );
        check(
            json!({"id": 1, "result": {"action": "accept"}}),
            &[],
            json!({"id": 1, "error": {"code": -1, "message": "x"}}),
            &[
                ("{\"action\":\"accept\"} at /result", "nothing"),
                ("nothing at /error", "{\"code\":-1,\"message\":\"x\"}"),
            ],
        );
        check(
            json!({"id": 1, "error": {"code": -1, "message": "x"}}),
            &[],
            json!({"id": 1, "error": {"code": -1, "message": "y", "data": 1}}),
            &[],
        );
    }
}
