//! Doc comments: they begin with the field's noun, or with the verb of what a method does. And the guide,
//! which uses plain words.

use crate::{Problem, assert_found, assert_none, tree::Tree};

/// Clauses that stand where the field has a noun.
const CLAUSES: [&str; 3] = ["What", "Who", "Whoever"];

/// Words of the guide that have a plainer one: again, the caller, is notified of, finishes, is in.
const FOREIGN: [&str; 5] = [
    "anew",
    "whoever",
    "hears of",
    "comes to its end",
    "stands in",
];

/// The most doc comments that may begin with a clause; a question of the specification's own may.
const HANDFUL: usize = 5;

/// The first lines of the doc comments in a file, with their numbers and the line of code below.
fn comments(text: &str) -> Vec<(usize, &str, String)> {
    let lines: Vec<_> = text.lines().map(str::trim_start).collect();
    let doc = |line: &str| {
        ["///", "//!", "#[doc"]
            .iter()
            .any(|doc| line.starts_with(doc))
    };
    let mut comments = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if !doc(line) || index > 0 && doc(lines[index - 1]) {
            continue;
        }
        let below = lines[index..]
            .iter()
            .skip_while(|line| doc(line) || line.starts_with("#["));
        // A signature may take several lines.
        let mut item = String::new();
        for line in below {
            item.push_str(line);
            item.push(' ');
            if line.ends_with(['{', ';', ',']) && !item.contains('(') || line.ends_with(['{', ';'])
            {
                break;
            }
        }
        // Where a macro writes the comment, its first words are in a literal, or come from elsewhere.
        let words = match line.strip_prefix("#[doc") {
            Some(written) => written.split('"').nth(1),
            None => Some(&line[3..]),
        };
        comments.extend(words.map(|words| (index + 1, words.trim(), item)));
    }
    comments
}

fn first_word(comment: &str) -> &str {
    comment.split(' ').next().unwrap_or_default()
}

fn clauses(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree
        .sources()
        .filter(|(path, _)| path.starts_with("crates/"))
    {
        for (line, comment, _) in comments(text) {
            if CLAUSES.contains(&first_word(comment)) {
                problems.push(format!("{path}:{line}: {comment}"));
            }
        }
    }
    problems
}

/// Lines of the guide and the README with such a word.
fn foreign(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree
        .files()
        .filter(|(path, _)| path.starts_with("docs/guide/") || *path == "README.md")
    {
        for (number, line) in (1..).zip(text.lines()) {
            let words = format!(
                " {} ",
                line.to_lowercase().replace([',', '.', ':', ';'], " ")
            );
            let mut found = FOREIGN.iter();
            if let Some(word) = found.find(|word| words.contains(&format!(" {word} "))) {
                problems.push(format!("{path}:{number}: {word}"));
            }
        }
    }
    problems
}

/// Whether a method takes what it is called on and returns it changed.
fn builds(item: &str) -> bool {
    let is_public = item.starts_with("pub fn ") || item.starts_with("pub const fn ");
    let takes = item.contains("(mut self") || item.contains("(self") || item.contains("( mut self");
    let returns = item.contains("-> Self") || item.contains("-> Result<Self");
    is_public && takes && returns
}

/// Whether a comment begins with a verb, as far as the ending of a word tells.
fn begins_with_verb(comment: &str) -> bool {
    let word = first_word(comment);
    let is_verb = word.ends_with('s') && word.starts_with(char::is_uppercase);
    is_verb && !["This", "Its", "Is", "Always", "As"].contains(&word)
}

fn builders(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (path, text) in tree
        .sources()
        .filter(|(path, _)| path.starts_with("crates/"))
    {
        for (line, comment, item) in comments(text) {
            if builds(&item) && !begins_with_verb(comment) {
                problems.push(format!("{path}:{line}: {comment}"));
            }
        }
    }
    problems
}

#[test]
fn doc_comments_begin_with_a_noun() {
    let found = clauses(&Tree::project());
    assert!(found.len() <= HANDFUL, "\n{}\n", found.join("\n"));

    let bad = Tree::of([
        (
            "crates/askback/src/a.rs",
            "//! What a file holds.\n\n/// The limits.\n/// What is left.\npub struct A;\n",
        ),
        (
            "crates/askback/src/b.rs",
            "pub struct B {\n    /// Whoever asks.\n    pub who: String,\n}\n",
        ),
        (
            "crates/askback/tests/c.rs",
            "/// What is checked.\nfn c() {}\n",
        ),
    ]);
    assert_found(&clauses(&bad), &["a.rs:1", "b.rs:2"]);
}

#[test]
fn the_guide_uses_plain_words() {
    assert_none(foreign(&Tree::project()));

    let bad = Tree::of([
        ("README.md", "Whoever asks,\nasks again.\n"),
        ("docs/guide/a.md", "It stands in the file, read\nanew."),
        ("docs/performance.md", "anew"),
    ]);
    let wanted = ["README.md:1: whoever", "a.md:1: stands in", "a.md:2: anew"];
    assert_found(&foreign(&bad), &wanted);
}

#[test]
fn builder_methods_begin_with_a_verb() {
    assert_none(builders(&Tree::project()));

    let bad = Tree::of([(
        "crates/askback/src/a.rs",
        "/// Sets the title.\npub fn title(mut self) -> Self {\n}\n\
         /// The title.\n#[must_use]\npub fn name(\n    mut self,\n    name: &str,\n) -> Self {\n}\n\
         /// The title.\npub fn get(&self) -> &str {\n}\n\
         /// Another path.\npub fn path(self) -> Result<Self, Error> {\n}\n",
    )]);
    assert_found(&builders(&bad), &["a.rs:4", "a.rs:14"]);
}
