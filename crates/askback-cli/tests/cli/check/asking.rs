//! Questions in the middle of a call, in a session.

use super::findings;
use crate::run::{Ran, Run};

/// A server whose tool asks a form, whether or not the client can be asked.
const ASKS: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/^{"id":\([^,]*\),.*/\1/p')
    case "$line" in
    *'"initialize"'*) say '"id":'"$id"',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"a","version":"1"}}' ;;
    *tools/list*) say '"id":'"$id"',"result":{"tools":[{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}' ;;
    *tools/call*'"name":"t"'*)
        call=$id
        say '"id":"q","method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}' ;;
    *'"id":"q"'*) say '"id":'"$call"',"result":{"content":[]}' ;;
    *'"id"'*) say '"id":'"$id"',"error":{"code":-32601,"message":"no"}' ;;
    esac
done
"#;

fn check(name: &str, server: &str) -> Ran {
    let words = [
        "check",
        "--json",
        "--timeout",
        "5",
        "--protocol",
        "2025-11-25",
    ];
    let run = Run::new(&format!("check-asks-{name}"), &words);
    run.and(&["--", "sh", "-c", server]).run()
}

#[test]
fn the_call_that_asks_a_client_which_cannot_be_asked_is_shown() {
    let ran = check("undeclared", ASKS);
    assert!(findings(&ran).contains("LI25-16"), "{}", ran.stdout);
    let report = ran.json();
    let mut found = report["findings"].as_array().expect("a list").iter();
    let found = found.find(|it| it["id"] == "LI25-16").expect("it is found");
    let sent = found["sent"].as_str().expect("a text");
    assert!(sent.contains(r#""method":"tools/call""#), "{sent}");
    assert!(sent.contains(r#""name":"t""#), "{sent}");
}
