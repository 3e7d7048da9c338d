//! Requests as they are written, of which nothing changes but what has to.

use std::collections::BTreeMap;

use serde_json::{Value, value::RawValue};

/// The members of an object of JSON, each the text that it is.
pub(super) struct Members<'a>(BTreeMap<String, &'a RawValue>);

impl<'a> Members<'a> {
    pub(super) fn read(text: &'a str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text).map(Self)
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Whether they are those of a request with the state of a round before.
    pub(super) fn has_state(&self) -> bool {
        let params = self.0.get("params").map(|params| Self::read(params.get()));
        params.is_some_and(|params| params.is_ok_and(|params| params.has("requestState")))
    }

    /// Whether they are those of the request that opens a session.
    pub(super) fn opens(&self) -> bool {
        let method = self.0.get("method");
        let method = method.and_then(|method| serde_json::from_str::<String>(method.get()).ok());
        method.is_some_and(|method| method == "initialize")
    }
}

/// Returns a message with this method and these parameters.
pub(super) fn message(method: &str, params: Option<&str>) -> String {
    let method = Value::from(method);
    match params {
        Some(params) => format!(r#"{{"jsonrpc":"2.0","method":{method},"params":{params}}}"#),
        None => format!(r#"{{"jsonrpc":"2.0","method":{method}}}"#),
    }
}

/// Returns a request with this id. Everything else stays as it is written: the order of members, and
/// numbers that no type holds.
pub(super) fn with_id(request: &str, id: &Value) -> Result<String, serde_json::Error> {
    let request = request.trim();
    Ok(match Members::read(request)?.0.get("id") {
        Some(old) => replaced(request, old, &id.to_string()),
        None => with_member(request, "id", id)?,
    })
}

/// Returns parameters with the members of this `_meta` that theirs lacks. Everything else stays as it is written.
pub(super) fn with_meta(params: &str, meta: &Value) -> Result<String, serde_json::Error> {
    let params = params.trim();
    let members = Members::read(params)?;
    let Some(old) = members.0.get("_meta") else {
        return with_member(params, "_meta", meta);
    };
    // What is no object is to be sent as that.
    let Ok(there) = Members::read(old.get()) else {
        return Ok(params.to_owned());
    };
    let mut whole = old.get().to_owned();
    for (name, value) in meta.as_object().into_iter().flatten() {
        if !there.has(name) {
            whole = with_member(&whole, name, value)?;
        }
    }
    Ok(replaced(params, old, &whole))
}

/// Returns an object with another member behind those that are written.
fn with_member(object: &str, name: &str, value: &Value) -> Result<String, serde_json::Error> {
    let name = Value::from(name);
    let rest = object.strip_suffix('}').unwrap_or(object);
    Ok(match Members::read(object)?.0.is_empty() {
        true => format!("{{{name}:{value}}}"),
        false => format!("{rest},{name}:{value}}}"),
    })
}

/// Returns a text with another in place of a part that was read from it.
fn replaced(text: &str, part: &RawValue, other: &str) -> String {
    let start = part.get().as_ptr().addr();
    let (before, rest) = text.split_at(start.saturating_sub(text.as_ptr().addr()));
    let after = rest.get(part.get().len()..).unwrap_or_default();
    format!("{before}{other}{after}")
}

#[cfg(test)]
mod tests {
    use askback_host::wire::indented;
    use serde_json::json;

    use super::*;

    #[test]
    fn of_parameters_the_meta_alone_changes() {
        #[track_caller]
        fn check(params: &str, expected: &str) {
            let meta = json!({"a": 1, "b": {}});
            let params = with_meta(params, &meta).expect("it is an object of JSON");
            assert_eq!(params, expected);
        }
        check("{}", r#"{"_meta":{"a":1,"b":{}}}"#);
        check(
            r#" { "z": 1e400, "c": [1.50] } "#,
            r#"{ "z": 1e400, "c": [1.50] ,"_meta":{"a":1,"b":{}}}"#,
        );
        check(
            r#"{"_meta":{"b":7},"z":1e400}"#,
            r#"{"_meta":{"b":7,"a":1},"z":1e400}"#,
        );
        check(r#"{"_meta":{}}"#, r#"{"_meta":{"a":1,"b":{}}}"#);
        check(r#"{"_meta":null}"#, r#"{"_meta":null}"#);
    }

    #[test]
    fn of_a_request_the_id_alone_changes() {
        #[track_caller]
        fn check(request: &str, expected: &str) {
            let sent = with_id(request, &json!(7)).expect("it is an object of JSON");
            assert_eq!(sent, expected);
        }
        check(r#"{"id":3,"method":"a"}"#, r#"{"id":7,"method":"a"}"#);
        check(
            r#"{"method":"a","id":"long","jsonrpc":"2.0"}"#,
            r#"{"method":"a","id":7,"jsonrpc":"2.0"}"#,
        );
        check(
            r#"{"params":{"id":3},"id":3}"#,
            r#"{"params":{"id":3},"id":7}"#,
        );
        // One that was taken out.
        check(r#"{"params":{"id":3}}"#, r#"{"params":{"id":3},"id":7}"#);
        check("{}", r#"{"id":7}"#);
        // What a number or an object of a program would lose.
        for written in [
            "123456789012345678901234567890",
            "0.10000000000000000001",
            "1e400",
            "1.50",
            r#"{"z":1,"a":2,"z":3}"#,
            r#""\u0041 \\\" \t  é""#,
        ] {
            let line = |id: &str| format!(r#"{{"z":{written},"id":{id},"a":[{written}]}}"#);
            check(&line("3"), &line("7"));
            // What is shown of it is the same.
            check(&indented(&line("3")), &indented(&line("7")));
        }
    }
}
