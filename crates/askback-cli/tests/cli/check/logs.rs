//! Log messages, and whether the server declares them.

use super::{findings, kept};
use crate::run::{Ran, Run};

/// A server of both eras whose tool writes a log message: in 2026-07-28 only if the request asks for logs.
const LOGS: &str = r#"
old=
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -nE 's/^\{("jsonrpc":"2.0",)?"id":([^,]*),.*/\2/p')
    result() { say '"id":'"$id"',"result":{"resultType":"complete",'"$1"'}'; }
    case "$line" in
    *server/discover*) result '"supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"logging":{}}' ;;
    *'"initialize"'*)
        old=old
        result '"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"l","version":"1"}' ;;
    *tools/list*) result '"tools":[{"name":"t","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]' ;;
    *tools/call*)
        case "$old$line" in old*|*logLevel*)
            say '"method":"notifications/message","params":{"level":"info","data":"a"}' ;;
        esac
        result '"content":[]' ;;
    *'"id"'*) say '"id":'"$id"',"error":{"code":-32601,"message":"no"}' ;;
    esac
done
"#;

fn check(name: &str, revision: &str, server: &str) -> Ran {
    let words = ["check", "--json", "--timeout", "5", "--protocol", revision];
    let run = Run::new(&format!("check-logs-{name}-{revision}"), &words);
    run.and(&["--", "sh", "-c", server]).run()
}

#[test]
fn log_messages_of_a_server_that_declares_none_are_found() {
    let undeclared = LOGS.replace(r#","logging":{}"#, "");
    let silent = undeclared.replace("notifications/message", "notifications/none");
    for revision in ["2025-11-25", "2026-07-28"] {
        let ran = check("declared", revision, LOGS);
        assert!(kept(&ran.json()).contains(&"LO-02"), "{}", ran.stdout);
        let ran = check("undeclared", revision, &undeclared);
        let found = findings(&ran);
        assert!(found.contains("LO-02"), "{}", ran.stdout);
        assert!(!found.contains("LO-03"), "{}", ran.stdout);
        let report = check("silent", revision, &silent).json();
        let untried = report["notTried"].to_string();
        assert!(
            untried.contains("the server sent no log messages"),
            "{untried}"
        );
    }
}
