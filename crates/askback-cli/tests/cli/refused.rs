//! Questions that are refused without asking: they are told, and the exit code knows of them.

use crate::run::Run;

/// A server whose one tool sends its first argument as a request, and then has a result.
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
fn check(name: &str, question: &str, exit: i32, says: &[&str]) {
    let run = Run::new(
        &format!("refused-{name}"),
        &["call", "t", "--protocol", "2025-11-25"],
    );
    let run = run.answers("answers: [{accept: {}}]\nsampling: [{reply: sunny}]\n");
    let mut ran = run.and(&["--", "sh", "-c", ASKING, "sh", question]).run();
    ran = ran.expect(exit).prints("done");
    for words in says {
        ran = ran.says(words);
    }
}

#[test]
fn a_question_that_cannot_be_put_is_told_and_counts_as_unanswered() {
    let form = |properties: &str| {
        format!(
            r#""method":"elicitation/create","params":{{"message":"Where to?","requestedSchema":{{"type":"object","properties":{{{properties}}}}}}}"#
        )
    };
    check("drawn", &form(r#""to":{"type":"string"}"#), 0, &[]);
    let told = [
        "sh asked something that cannot be shown here",
        "for the tool | t",
        "| Where to?",
    ];
    let because = |why: &'static str| [&told[..], &[why]].concat();
    check(
        "nested",
        &form(r#""home":{"type":"object","properties":{}}"#),
        3,
        &because("field `home`: an object cannot be asked in a form"),
    );
    let many: Vec<_> = (0..257).map(|option| format!(r#""{option}""#)).collect();
    let many = format!(r#""one":{{"type":"string","enum":[{}]}}"#, many.join(","));
    check(
        "options",
        &form(&many),
        3,
        &because("has more than 256 options"),
    );
    check(
        "context",
        r#""method":"sampling/createMessage","params":{"messages":"none","maxTokens":5}"#,
        3,
        &["sh asked for a text of a model in a way that is not possible here"],
    );
}
