//! `docs/messages.md`: the texts that the crates print, read from their sources, so that they can be reviewed as a list.

use std::{env, fmt::Write, fs};

use crate::{
    Problem, assert_found, assert_none,
    tree::{Tree, root},
};

const PAGE: &str = "docs/messages.md";

/// If set, writes the page.
const BLESS: &str = "ASKBACK_BLESS";

const CRATES: [&str; 8] = [
    "askback",
    "askback-check",
    "askback-cli",
    "askback-connect",
    "askback-core",
    "askback-fleet",
    "askback-host",
    "askback-oauth",
];

/// The code before a text that only a programmer reads.
const INTERNAL: [&str; 7] = [
    "assert!(",
    "expect(",
    "expect_err(",
    "panic!(",
    "reason = ",
    "todo!(",
    "unreachable!(",
];

const SQL: [&str; 6] = ["CREATE", "DELETE", "INSERT", "SELECT", "UPDATE", "WITH"];

fn page(tree: &Tree) -> String {
    let mut page = "# Messages\n\nThe errors, warnings, notices and screen texts in the sources of each crate. A test \
                    generates this page.\n"
        .to_owned();
    for name in CRATES {
        let folder = format!("crates/{name}/src/");
        let mut has_heading = false;
        for (path, code) in tree.sources() {
            let Some(file) = path.strip_prefix(&folder) else {
                continue;
            };
            let messages = messages(code);
            if is_test(file) || messages.is_empty() {
                continue;
            }
            if !has_heading {
                let _ = writeln!(page, "\n## {name}");
                has_heading = true;
            }
            let lines = messages.join("\n");
            let _ = write!(page, "\n### `{file}`\n\n```text\n{lines}\n```\n");
        }
    }
    page
}

fn is_test(file: &str) -> bool {
    let is_test_name = |name: &str| matches!(name, "tests" | "tests.rs" | "testing");
    file.split('/').any(is_test_name)
}

/// Returns the texts of at least three words, in the order of the code.
fn messages(code: &str) -> Vec<String> {
    let code = code.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(next) = code[at..].chars().next() {
        let rest = &code[at..];
        at += if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("r\"") || rest.starts_with("r#") {
            raw_len(rest)
        } else if next == '\'' {
            char_len(rest)
        } else if next == '"' {
            let (text, length) = text(rest);
            let before = code[..at].trim_end();
            let is_internal = INTERNAL.iter().any(|end| before.ends_with(end.trim_end()));
            if !is_internal && is_message(&text) {
                found.push(text);
            }
            length
        } else {
            next.len_utf8()
        };
    }
    found
}

fn raw_len(rest: &str) -> usize {
    let hashes = rest[1..].chars().take_while(|c| *c == '#').count();
    let begin = 1 + hashes;
    // `r#type` is an identifier, not a raw string.
    if !rest[begin..].starts_with('"') {
        return begin;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    let length = rest[begin + 1..].find(&end);
    length.map_or(rest.len(), |length| begin + 1 + length + end.len())
}

/// Returns the length of a character literal, or of the mark that begins a lifetime.
fn char_len(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some((escaped, c))) => {
            let after = escaped + c.len_utf8();
            rest[after..].find('\'').map_or(1, |end| after + end + 1)
        }
        (Some(_), Some((end, '\''))) => end + 1,
        _ => 1,
    }
}

/// Returns the content of a string literal on one line, and the length of the literal.
fn text(rest: &str) -> (String, usize) {
    let mut text = String::new();
    let mut chars = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (text, at + 1),
            '\n' => text.push_str("\\n"),
            '\\' => match chars.next() {
                Some((_, '\n')) => while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {},
                Some((_, c @ ('"' | '\\'))) => text.push(c),
                Some((_, c)) => text.extend(['\\', c]),
                None => {}
            },
            c => text.push(c),
        }
    }
    (text, rest.len())
}

fn is_message(text: &str) -> bool {
    let words: Vec<_> = text.split_whitespace().collect();
    let is_word = |word: &&&str| {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
        word.len() > 1 && word.chars().all(|c| c.is_ascii_lowercase())
    };
    let is_sql = text
        .trim_start_matches("\\n")
        .split_whitespace()
        .next()
        .is_some_and(|word| SQL.contains(&word));
    words.len() > 2 && words.iter().filter(is_word).count() > 1 && !is_sql
}

fn stale(tree: &Tree) -> Vec<Problem> {
    let is_stale = tree.get(PAGE) != Some(&page(tree));
    let why = format!("{PAGE} is stale: run this test with {BLESS}=1, and read what changed");
    is_stale.then_some(why).into_iter().collect()
}

#[test]
fn the_list_of_messages_is_fresh() {
    let project = Tree::project();
    if env::var_os(BLESS).is_some() {
        fs::write(root().join(PAGE), page(&project)).expect("the page can be written");
        return;
    }
    assert_none(stale(&project));

    let bad = Tree::of([
        ("crates/askback/src/a.rs", "fail(\"the file is lost\")"),
        (PAGE, "# Messages\n"),
    ]);
    assert_found(&stale(&bad), &["docs/messages.md is stale"]);
}

#[test]
fn messages_are_found_in_code() {
    let code = r##"
// "this is a comment"
#[error("the file {path} \
         cannot be read")]
fn quote<'a>(at: &'a str) -> char { '"' }
let odd = ['\'', '\u{22}'];
words!("no \"name\" is\n given"); r#"this is raw text"#;
open().expect("it is a file here");
query("SELECT a from the table");
"two words"
#[cfg(test)]
mod tests { "this is a test" }
"##;
    let wanted = ["the file {path} cannot be read", "no \"name\" is\\n given"];
    assert_eq!(messages(code), wanted);
}
