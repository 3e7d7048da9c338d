//! Questions that are refused without asking the user: they are reported, and affect the exit code.

use crate::run::Run;

/// A server whose tool sends its first argument as a request, and then returns a result.
const ASKING: &str = r#"
say() { printf '%s\n' "$1"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case "$line" in
    *'"initialize"'*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"e","version":"1"}}}' ;;
    *tools/list*)
        say '{"jsonrpc":"2.0","id":'$id',"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}}' ;;
    *tools/call*)
        say '{"jsonrpc":"2.0","id":"q",'"$1"'}'
        read -r answer
        say '{"jsonrpc":"2.0","id":'$id',"result":{"content":[{"type":"text","text":"done"}]}}' ;;
    esac
done
"#;

#[track_caller]
fn check(name: &str, question: &str, rule: &str, exit: i32, says: &[&str]) {
    let words = ["call", "t", "--protocol", "2025-11-25"];
    let run = Run::new(&format!("refused-{name}"), &words);
    let run = run.answers(&format!("answers: [{{accept: {rule}}}]"));
    let mut ran = run.and(&["--", "sh", "-c", ASKING, "sh", question]).run();
    ran = ran.expect(exit).prints("done");
    for words in says {
        ran = ran.says(words);
    }
}

fn form(properties: &str) -> String {
    format!(
        r#""method":"elicitation/create","params":{{"message":"Where to?","requestedSchema":{{"type":"object","properties":{{{properties}}},"required":["to"]}}}}"#
    )
}

#[test]
fn a_question_that_cannot_be_put_is_told_and_counts_as_unanswered() {
    let fields: Vec<_> = (0..64)
        .map(|at| format!(r#""{at}":{{"type":"string"}}"#))
        .collect();
    let many = format!(r#""to":{{"type":"string"}},{}"#, fields.join(","));
    let told = [
        "sh asked something that cannot be shown here",
        "for the tool | t",
        "| Where to?",
        "the form has more than 64 fields",
    ];
    check("fields", &form(&many), "{to: Rome}", 6, &told);
    check(
        "sampling",
        r#""method":"sampling/createMessage","params":{"messages":"none","maxTokens":5}"#,
        "{to: Rome}",
        6,
        &["sh asked for the reply of a model in a way that askback does not support"],
    );
}

#[test]
fn what_cannot_be_drawn_of_a_form_is_answered_as_json() {
    let nested = form(r#""to":{"type":"object","properties":{"city":{"type":"string"}}}"#);
    check(
        "nested",
        &nested,
        "{to: {city: Rome}}",
        0,
        &["answered by rule 1"],
    );
    let unfit = ["to: an object, as JSON", "`to`: must be an object"];
    check("unfit", &nested, "{to: Rome}", 6, &unfit);
    let many: Vec<_> = (0..1025).map(|option| format!(r#""{option}""#)).collect();
    let many = form(&format!(
        r#""to":{{"type":"string","enum":[{}]}}"#,
        many.join(",")
    ));
    check(
        "option",
        &many,
        "{to: \"1024\"}",
        0,
        &["answered by rule 1"],
    );
    let unfit = ["`to`: must be one of the values in its schema"];
    check("no-option", &many, "{to: \"1025\"}", 6, &unfit);
}
