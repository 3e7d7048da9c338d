//! Questions during a call, in a session.

use super::{findings, kept};
use crate::run::{Ran, Run};

/// A server whose tool asks with a form, even if the client does not support forms.
const ASKS: &str = r#"
say() { printf '{"jsonrpc":"2.0",%s}\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -nE 's/^\{("jsonrpc":"2.0",)?"id":([^,]*),.*/\2/p')
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

#[test]
fn forms_and_links_of_a_session_are_looked_at() {
    #[track_caller]
    fn is(name: &str, server: &str, id: &str, is_right: bool) {
        let ran = check(name, server);
        let report = ran.json();
        let seen = (kept(&report).contains(&id), findings(&ran).contains(id));
        assert_eq!(seen, (is_right, !is_right), "{}", ran.stdout);
    }
    is("form", ASKS, "EL-12", true);
    let bare = ASKS.replace("requestedSchema", "schema");
    is("bare", &bare, "EL-12", false);
    let link = ASKS.replace(
        r#""requestedSchema":{"#,
        r#""mode":"url","url":"https://a.test","a":{"#,
    );
    is("link", &link, "EL-14", true);
    let untold = link.replace(r#""message":"Sure?","#, "");
    is("untold", &untold, "EL-14", false);
    let asks = ASKS.find("call=$id").expect("it asks");
    let end = ASKS[asks..].find(";;").expect("it is a case") + asks;
    let required = format!(
        r#"{}say '"id":'"$id"',"error":{{"code":-32042,"message":"first","data":{{"elicitations":[{{"mode":"url"}}]}}}}' {}"#,
        &ASKS[..asks],
        &ASKS[end..]
    );
    is("required", &required, "EL-14", false);
    let report = check("no-form", &link).json();
    let untried = report["notTried"].to_string();
    let why = "no tool that was called did this: name one with --tool";
    assert!(untried.contains(why), "{report:#}");
    // The tool asks a model first, and then repeats the model's reply in a form.
    let form = r#""method":"elicitation/create","params":{"message":"Sure?","requestedSchema":{"type":"object","properties":{}}}"#;
    let model = r#""method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}"#;
    let answered = r#"*'"id":"q"'*"#;
    let then = format!(r#"*'A word.'*) say '"id":"r",{form}' ;; {answered}|*'"id":"r"'*"#);
    let models = ASKS.replace(form, model).replace(answered, &then);
    is("model", &models, "EL-12", true);
}

#[test]
fn a_named_tool_may_be_listed_to_a_client_that_can_be_asked_alone() {
    let begins = r#"*'"initialize"'*)"#;
    let notes = format!(r#"{begins} case "$line" in *'"elicitation"'*) can=1 ;; esac; "#);
    let lists = "*tools/list*)";
    let hides = format!(
        r#"{lists} [ "$can" ] || {{ say '"id":'"$id"',"result":{{"tools":[]}}'; continue; }}; "#
    );
    let server = ASKS.replace(begins, &notes).replace(lists, &hides);
    let words = ["check", "--timeout", "5", "--protocol", "2025-11-25"];
    let check = |tool: &str| {
        let run = Run::new(&format!("check-listed-{tool}"), &words);
        run.and(&["--tool", tool, "--", "sh", "-c", &server]).run()
    };
    check("t").prints("The server speaks 2025-11-25.");
    check("u").expect(2).says("there is no tool `u`");
}
