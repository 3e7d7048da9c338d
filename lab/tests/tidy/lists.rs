//! Checks lists that are repeated in several places: each place must have the same entries.

use std::collections::BTreeSet;

use crate::{Problem, assert_found, assert_none, code::words, tree::Tree};

/// Where a list is written: the file, the texts before and after the list, and a function that returns the entries.
type Place<'a> = (&'a str, &'a str, &'a str, fn(&str) -> Vec<&str>);

const END: &str = "\0";

/// The help of `--answers`.
const ANSWERS: &str = "crates/askback-cli/src/commands/call.rs";

const RULES: &str = "crates/askback-check/src/rules.rs";

/// The places of each list, the code first.
const LISTS: [&[Place<'_>]; 14] = [
    // The members of a server in `mcp.json`.
    &[
        (
            "crates/askback-cli/src/servers/document.rs",
            "\nconst KNOWN:",
            "];",
            quoted,
        ),
        (
            "docs/guide/command.md",
            "| member | meaning |",
            "\n\n",
            first_cells,
        ),
    ],
    // The formats of form texts.
    &[
        (
            "crates/askback-core/src/forms/format.rs",
            "\nformats! {",
            "\n}",
            |text| between(text, " = \"", "\""),
        ),
        (
            "crates/askback-macros/src/form/attributes.rs",
            "const FORMATS:",
            "];",
            |text| between(text, "(\"", "\""),
        ),
        (
            "crates/askback-macros/src/lib.rs",
            "`format = \"email\"` |",
            "\n",
            in_backticks,
        ),
        (
            "docs/guide/forms.md",
            "`format` makes it",
            "\n",
            in_backticks,
        ),
        (
            "docs/guide/reference.md",
            "`format = \"email\"` |",
            "\n",
            in_backticks,
        ),
    ],
    // The exit codes.
    &[
        (
            "crates/askback-cli/src/error.rs",
            "pub enum Exit {",
            "\n}",
            |text| between(text, " = ", ","),
        ),
        (
            "crates/askback-cli/src/commands/call.rs",
            "const EXIT_CODES:",
            "\";",
            first_numbers,
        ),
        (
            "docs/guide/scripts.md",
            "| code | meaning |",
            "\n\n",
            first_numbers,
        ),
    ],
    // The members of `when` in a rule of an answers file.
    &[
        (
            "crates/askback-host/src/script/when.rs",
            "pub struct When {",
            "\n}",
            |text| between(text, "    pub ", ":"),
        ),
        (
            "docs/guide/answers.md",
            "| member | fits |",
            "\n\n",
            first_cells,
        ),
        (ANSWERS, "Members of when:", ".", outside_parentheses),
    ],
    // The members of a rule of an answers file.
    &[
        (
            "crates/askback-host/src/script/read.rs",
            "\nstruct RuleText<const SAMPLING: bool> {",
            "\n}",
            fields,
        ),
        (
            "docs/guide/answers.md",
            "## How it answers",
            "\nA reply",
            |table| {
                let when = ["when"].into_iter();
                let cells = first_cells(table).into_iter();
                when.chain(cells.filter_map(|cell| cell.split(':').next()))
                    .collect()
            },
        ),
        (ANSWERS, "Members of a rule:", ".", outside_parentheses),
    ],
    // The members of the JSON of `check`.
    &[
        ("crates/askback-check/src/report.rs", "", END, |text| {
            let members = between(text, "\n            \"", "\":").into_iter();
            members
                .filter(|member| member.chars().all(char::is_alphanumeric))
                .collect()
        }),
        (
            "docs/guide/checking-a-server.md",
            "The JSON has",
            "\n\n",
            in_backticks,
        ),
    ],
    // The presets for third parties.
    &[
        (
            "crates/askback-connect/src/providers/presets.toml",
            "",
            END,
            tables,
        ),
        (
            "crates/askback-connect/src/providers/presets.rs",
            "impl ThirdParty {",
            "\n}\n",
            |text| between(text, " party(\"", "\""),
        ),
        (
            "docs/guide/providers.md",
            "| `preset` | text |",
            ":",
            in_backticks,
        ),
    ],
    // The rules of `check` that are not requirements of the specification.
    &[
        (RULES, "\nrules! {", "\n}", own_rules),
        (
            "docs/guide/checking-a-server.md",
            "| our own rule | finds |",
            "\n\n",
            first_cells,
        ),
    ],
    // The counts of a server.
    &[
        ("crates/askback/src/server/trace.rs", "", END, counts),
        (
            "docs/guide/observability.md",
            "| field | counts |",
            "\n\n",
            first_cells,
        ),
    ],
    // The conditions on a value in a suite.
    &[
        (
            "crates/askback-cli/src/suite/expect/condition.rs",
            "\nstruct Tests {",
            "\n}",
            fields,
        ),
        (
            "crates/askback-cli/src/commands/test.rs",
            "text: {",
            "\n",
            |text| {
                let words = text.split(|c: char| !c.is_ascii_alphabetic() && c != '_');
                words
                    .filter(|word| {
                        word.starts_with(|c: char| c.is_ascii_lowercase()) && *word != "or"
                    })
                    .collect()
            },
        ),
        (
            "docs/guide/testing-a-server.md",
            "| member | fits |",
            "\n\n",
            first_cells,
        ),
    ],
    // What a suite may expect of a case.
    &[
        (
            "crates/askback-cli/src/suite/expect/mod.rs",
            "\npub struct Expect {",
            "\n}",
            fields,
        ),
        (
            "docs/guide/testing-a-server.md",
            "| member of `expect` | checks |",
            "\n\n",
            |table| {
                let cells = first_cells(table).into_iter();
                cells.filter_map(|cell| cell.split(':').next()).collect()
            },
        ),
    ],
    // The commands of a conversation.
    &[
        (
            "crates/askback-cli/src/repl/grammar.rs",
            "\npub(super) enum Command {",
            "\n}",
            variants,
        ),
        (
            "docs/guide/conversation.md",
            "| command | does |",
            "\n\n",
            |table| {
                let cells = first_cells(table).into_iter();
                let commands = cells.filter_map(|cell| cell.strip_prefix('/')?.split(' ').next());
                commands.filter(|command| *command != "NAME").collect()
            },
        ),
    ],
    // The reasons why a question ended.
    &[
        (
            "crates/askback-host/src/ending.rs",
            "\npub enum QuestionEnd {",
            "\n}",
            variants,
        ),
        (
            "docs/guide/scripts.md",
            "`{\"id\": …, \"ended\": …}`, with",
            "\n\n",
            |text| {
                let words = in_backticks(text).into_iter();
                words
                    .map(|word| match word {
                        "answered" => "answeredIn",
                        word => word,
                    })
                    .collect()
            },
        ),
    ],
    // The options of `wrap` that the entry of a client may have.
    &[
        (
            "crates/askback-cli/src/commands/wrap/policy.rs",
            "\npub(super) struct Options {",
            "\n}",
            |text| between(text, "    pub ", ":"),
        ),
        (
            "docs/guide/wrap.md",
            "keeps a call for 25 minutes.\n",
            " go into the entry.",
            |text| between(text, "`--", "`"),
        ),
    ],
];

/// Finds entries that are only in the first place, or only in this one.
fn differences(tree: &Tree, list: &[Place<'_>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut first: Option<(&str, BTreeSet<String>)> = None;
    for (path, before, after, read) in list {
        let text = tree.get(path).unwrap_or_default();
        let Some((_, list)) = text.split_once(before) else {
            problems.push(format!("{path}: there is no {before:?}"));
            continue;
        };
        let list = list.split(after).next().unwrap_or_default();
        // A variant is written in JSON, or as a command, without its capital letter.
        let entries = read(list).into_iter().map(str::to_ascii_lowercase);
        let entries: BTreeSet<String> = entries.collect();
        let Some((code, known)) = &first else {
            first = Some((path, entries));
            continue;
        };
        let missing = known.difference(&entries);
        problems.extend(missing.map(|entry| format!("{path} leaves out {entry} of {code}")));
        let unknown = entries.difference(known);
        problems.extend(unknown.map(|entry| format!("{path} has {entry}, unlike {code}")));
    }
    problems
}

fn quoted(text: &str) -> Vec<&str> {
    text.split('"').skip(1).step_by(2).collect()
}

fn in_backticks(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// The entries of a list in prose, without their explanations.
fn outside_parentheses(text: &str) -> Vec<&str> {
    let outside = text.split(['(', ')']).step_by(2);
    let words = outside.flat_map(|text| text.split([',', ' ', '\n', '\\']));
    words.filter(|word| !word.is_empty()).collect()
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Vec<&'a str> {
    let rests = text.split(before).skip(1);
    rests.filter_map(|rest| rest.split(after).next()).collect()
}

fn first_cells(table: &str) -> Vec<&str> {
    let cells = table.lines().filter_map(|row| row.split('|').nth(1));
    cells.flat_map(in_backticks).collect()
}

/// The fields of a struct without docs on the same lines.
fn fields(lines: &str) -> Vec<&str> {
    let lines = lines.lines().map(str::trim_start);
    let lines = lines.filter(|line| !line.starts_with(['#', '/']));
    lines
        .filter_map(|line| Some(line.split_once(": ")?.0))
        .collect()
}

fn variants(lines: &str) -> Vec<&str> {
    let lines = lines.lines().filter_map(|line| line.strip_prefix("    "));
    let lines = lines.filter(|line| line.starts_with(|c: char| c.is_ascii_uppercase()));
    lines
        .filter_map(|line| line.split([' ', ',', '(']).next())
        .collect()
}

/// The fields of events that are counts.
fn counts(code: &str) -> Vec<&str> {
    let is_count = |word: &&str| {
        ["monotonic_counter.", "histogram.", "gauge."]
            .iter()
            .any(|kind| word.starts_with(kind))
    };
    code.split([' ', '\n', '(']).filter(is_count).collect()
}

fn first_numbers(text: &str) -> Vec<&str> {
    let begins = text.lines().filter_map(|line| {
        let line = line.strip_prefix("| ").unwrap_or(line);
        line.split(' ').next()
    });
    begins.filter(|begin| begin.parse::<u8>().is_ok()).collect()
}

fn tables(text: &str) -> Vec<&str> {
    let headings = text.lines().filter_map(|line| line.strip_prefix('['));
    let names = headings.filter_map(|heading| heading.strip_suffix(']'));
    names.filter(|name| !name.contains('.')).collect()
}

fn own_rules(rules: &str) -> Vec<&str> {
    const LEVELS: [&str; 3] = [" Must ", " Should ", " Lint "];
    let texts: Vec<&str> = rules.split('"').collect();
    let followed = texts.windows(2).filter_map(|texts| match texts {
        [text, next] if LEVELS.iter().any(|level| next.starts_with(level)) => Some(*text),
        _ => None,
    });
    followed
        .filter(|id| id.starts_with(|c: char| c.is_ascii_lowercase()))
        .collect()
}

/// Finds rules of `check` that no code evaluates, which would always be reported as not tested.
fn unjudged(tree: &Tree) -> Vec<Problem> {
    const JUDGES: [&str; 3] = ["listed.rs", "trials/", "steps/"];
    let rules = tree.get(RULES).unwrap_or_default();
    let rules = rules.split("\nrules! {").nth(1).unwrap_or_default();
    let names = rules.lines().filter_map(|line| {
        let (name, rest) = line.trim_start().split_once(' ')?;
        let over = ["Any [", "Stdio [", "Http ["];
        over.iter()
            .any(|over| rest.starts_with(over))
            .then_some(name)
    });
    let judges: Vec<String> = tree
        .files()
        .filter(|(path, _)| {
            let path = path.strip_prefix("crates/askback-check/src/");
            path.is_some_and(|path| JUDGES.iter().any(|judge| path.starts_with(judge)))
        })
        .map(|(_, text)| words(text))
        .collect();
    let named: BTreeSet<&str> = judges
        .iter()
        .flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_'))
        .collect();
    names
        .filter(|name| !named.contains(name))
        .map(|name| format!("{RULES}: no code judges {name}"))
        .collect()
}

#[test]
fn every_place_of_a_list_has_the_same() {
    let project = Tree::project();
    let lists = LISTS.iter();
    assert_none(lists.flat_map(|list| differences(&project, list)).collect());

    let bad = Tree::of([
        ("a.rs", "const A: [&str; 2] = [\n    \"a\",\n    \"b\",\n];"),
        ("b.md", "| a |\n|---|\n| `b`, `c` | `d` |\n\n| `e` | |"),
    ]);
    let list: [Place<'_>; 3] = [
        ("a.rs", "const A:", "];", quoted),
        ("b.md", "| a |", "\n\n", first_cells),
        ("c.md", "| a |", "\n\n", first_cells),
    ];
    let wanted = ["b.md leaves out a", "b.md has c", "c.md: there is no"];
    assert_found(&differences(&bad, &list), &wanted);
}

#[test]
fn entries_are_found() {
    assert_eq!(first_numbers("0  a\n   -1 b\n| 130 | 2 |"), ["0", "130"]);
    assert_eq!(tables("[a]\nb = [1]\n[a.c]\n[d]"), ["a", "d"]);
    let enumeration = "    /// C.\n    A { b: u8 },\n    Bb(\n        U,\n    ),\n    C,\n";
    assert_eq!(variants(enumeration), ["A", "Bb", "C"]);
    let rules =
        "A Any [\"BA-1\" Must X, \"a-b\" Should Y] \"c\";\nB Any [\"d\" Lint X] \"e\" => \"f\";";
    assert_eq!(own_rules(rules), ["a-b", "d"]);
}

#[test]
fn every_rule_is_judged() {
    assert_none(unjudged(&Tree::project()));

    let bad = Tree::of([
        (
            RULES,
            "\nrules! {\n    \"why\":\n    A Any [\"x\"] \"says\";\n    B Http [\"y\"]\n        \"says\";\n    AB Any [];\n}",
        ),
        (
            "crates/askback-check/src/trials/http.rs",
            "judge(AB) // B\n",
        ),
        ("crates/askback-check/src/listed.rs", "rules::A"),
        ("crates/askback-check/src/report.rs", "B"),
    ]);
    assert_found(&unjudged(&bad), &["no code judges B"]);
}
