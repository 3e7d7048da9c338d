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

/// Returns a request with this id. Everything else stays as it is written: the order of members, and
/// numbers that no type holds.
pub(super) fn with_id(request: &str, id: &Value) -> Result<String, serde_json::Error> {
    let request = request.trim();
    let members = Members::read(request)?;
    let (before, after) = match members.0.get("id") {
        Some(old) => {
            // What was read is a part of the text.
            let start = old.get().as_ptr().addr();
            let start = start.saturating_sub(request.as_ptr().addr());
            let (before, rest) = request.split_at(start);
            (before.to_owned(), rest.get(old.get().len()..))
        }
        None if members.0.is_empty() => (r#"{"id":"#.to_owned(), Some("}")),
        None => {
            let rest = request.strip_suffix('}').unwrap_or(request);
            (format!(r#"{rest},"id":"#), Some("}"))
        }
    };
    Ok(format!("{before}{id}{}", after.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use askback_host::wire::indented;
    use serde_json::json;

    use super::*;

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
