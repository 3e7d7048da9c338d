use askback_host::script::Script;

#[test]
fn a_wrong_file_is_refused_at_its_line() {
    #[track_caller]
    fn check(file: &str, line: &str, says: &str) {
        let error = Script::parse(file)
            .expect_err("the file is wrong")
            .to_string();
        assert!(error.contains(line) && error.contains(says), "{error}");
    }
    check("answers: [", "line 2", "while parsing a flow");
    check(
        "anwsers: []",
        "line 1",
        "`anwsers` is not known here: did you mean `answers`?",
    );
    check(
        "answers:\n  - when: {tol: x}\n    cancel: true",
        "line 2",
        "`tol` is not known here: did you mean `tool`?",
    );
    check(
        "answers:\n  - cancel: true\n    colour: red",
        "line 3",
        "`colour` is not known here; known: ",
    );
    check(
        "answers:\n  - when: {mode: phone}\n    cancel: true",
        "line 2",
        "`phone` is not known here; known: ",
    );
    check(
        "answers:\n  - when: {key: a}",
        "line 2",
        "a rule needs exactly one of",
    );
    check(
        "answers:\n  - cancel: true\n  - {accept: {}, decline: true}",
        "in the list or map at line 2",
        "answers[1]: a rule needs exactly one of",
    );
    check(
        "answers:\n  - decline: false",
        "line 2",
        "a rule needs exactly one of",
    );
    check("answers:\n  - accept: false", "line 2", "instead");
    check(
        "answers:\n  - accept: yes please",
        "line 2",
        "true for a link",
    );
    check(
        "answers:\n  - cancel: true\n    reason: x",
        "line 2",
        "`reason` goes with",
    );
    check(
        "answers:\n  - accept: {}\n    expected: true",
        "line 2",
        "`expected` goes with",
    );
    check(
        "sampling:\n  - {reply: x, expected: true}",
        "line 2",
        "`expected` goes with",
    );
    check(
        "answers:\n  - accept: {a: 1, a: 2}",
        "line 2",
        "`a` is given twice",
    );
    check(
        "answers:\n  - {when: {key: a}, when: {key: b}, cancel: true}",
        "line 2",
        "answers[0]: `when` is given twice",
    );
    check(
        "sampling:\n  - reply: {tool: a, input: {n: 1, n: 2}}",
        "line 2",
        "sampling[0].reply.input: `n` is given twice",
    );
    check(
        "answers:\n  - cancel: true\n\n  - accept:\n      a: {date: soon}",
        "in the list or map at line 5",
        "answers[1].accept.a: a date counts",
    );
    check(
        "answers:\n  - {cancel: true, then: [{cancel: true}, {cancel: true, after: 1}]}",
        "line 2",
        "answers[0].then[1].after: expected a time such as",
    );
    check(
        "sampling:\n  - when: {key: a}",
        "line 2",
        "a sampling rule needs exactly one of",
    );
    check(
        "sampling:\n  - {when: {mode: url}, reply: x}",
        "line 2",
        "has none",
    );
    check(
        "answers:\n  - when: {mode: url}\n    accept: true",
        "line 2",
        "names the `host`",
    );
    check(
        "answers:\n  - {when: {mode: form, host: a.com}, cancel: true}",
        "line 2",
        "a form has none",
    );
    check(
        "sampling:\n  - {when: {host: a.com}, reply: x}",
        "line 2",
        "has none",
    );
    check(
        "answers:\n  - {cancel: true, times: 0}",
        "line 2",
        "expected a nonzero u64",
    );
    check(
        "answers:\n  - cancel: true\n    then:\n      - when: {key: a}\n        cancel: true",
        "line 4",
        "belong to the rule",
    );
    check(
        "answers:\n  - cancel: true\n    then:\n      - times: 2",
        "line 4",
        "a rule needs exactly one of",
    );
    check(
        "answers:\n  - when: {mode: url}\n    cancel: true\n    then: [{accept: true}]",
        "line 2",
        "names the `host`",
    );
    check(
        "answers:\n  - when: {message: {regex: '('}}\n    cancel: true",
        "line 2",
        "the regex cannot be read: unclosed group",
    );
    check(
        "answers:\n  - when: {message: {pattern: a}}\n    cancel: true",
        "line 2",
        "`pattern` is not known here; known: ",
    );
    check(
        "answers:\n  - when: {message: 7}\n    cancel: true",
        "line 2",
        "or `{regex: pattern}`",
    );
    check(
        "answers:\n  - {when: {mode: url, fields: [a]}, cancel: true}",
        "line 2",
        "a link has none",
    );
    check(
        "sampling:\n  - {when: {fields: [a]}, decline: true}",
        "line 2",
        "a sampling request has none",
    );
    for rule in [
        "answers:\n  - {when: {only: true}, cancel: true}",
        "answers:\n  - {when: {key: a, only: false}, cancel: true}",
        "sampling:\n  - {when: {only: true}, reply: x}",
    ] {
        check(rule, "line 2", "`only` goes with `fields`");
    }
    for date in [
        "tomorrow",
        "today14d",
        "today+",
        "today+-1d",
        "today+14",
        "now+1q",
        "",
    ] {
        let file = format!("answers:\n  - accept: {{a: {{date: '{date}'}}}}");
        check(&file, "line 2", "a date counts from `today` or `now`");
    }
    check(
        "sampling:\n  - reply: []",
        "line 2",
        "a `reply` must not be empty",
    );
    check("sampling:\n  - reply: 7", "line 2", "a text, `{tool: name");
    check(
        "sampling:\n  - reply: [[a]]",
        "line 2",
        "expected a text, `{tool: name",
    );
    check(
        "sampling:\n  - reply: {tool: a, output: {}}",
        "line 2",
        "`output` is not known here; known: ",
    );
    check(
        "answers:\n  - {when: {tools: [a]}, cancel: true}",
        "line 2",
        "forms and links have none",
    );
    let large = "9".repeat(30);
    check(
        &format!("sampling:\n  - reply: {large}"),
        "line 2 column 12",
        "sampling[0].reply: expected a value that JSON has, got a number",
    );
    for (after, says) in [
        ("2", "a time such as"),
        ("soon", "a time such as"),
        ("-2s", "a time such as"),
        ("11m", "answers[0].after: expected at most `10m`"),
        ("2 days", "a time such as"),
    ] {
        let file = format!("answers:\n  - {{cancel: true, after: {after}}}");
        check(&file, "line 2", says);
    }
    check(
        "unused: maybe",
        "line 1",
        "`maybe` is not known here; known: ",
    );
    check("roots: here", "line 1", "");
    check("- cancel: true", "line 1", "");
}
