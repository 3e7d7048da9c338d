//! Checks the guide's reference: each attribute of the macros, and each method of the listed types, must have a row.

use std::collections::BTreeSet;

use crate::{Problem, assert_found, assert_none, tree::Tree};

const PAGE: &str = "docs/guide/reference.md";
/// The pages that have the sections together.
const PAGES: [&str; 2] = [PAGE, "docs/guide/reference-server-client.md"];
const MACROS: &str = "crates/askback-macros/src/";

/// The files that parse attributes, one list after the other, and the sections that describe them.
const ATTRIBUTES: [(&str, &[&str]); 4] = [
    ("attribute/tool.rs", &["## `#[tool]`"]),
    ("attribute/prompt.rs", &["## `#[prompt]`"]),
    ("attribute/resource.rs", &["## `#[resource]`"]),
    (
        "form/attributes.rs",
        &[
            "### On the struct or enum",
            "### On a field, and in `#[arg]`",
            "### On a variant",
        ],
    ),
];

const TYPES: [&str; 3] = ["Ctx", "ServerBuilder", "Client"];

/// The macro that generates the description methods.
const DESCRIBED: &str = "crates/askback/src/server/described.rs";

/// The attributes in the docs of the macros: the file that parses them, and the column of the table. In the order of the
/// tables.
const DOCUMENTED: [(&str, usize); 4] = [
    ("form/attributes.rs", 2),
    ("attribute/tool.rs", 1),
    ("attribute/prompt.rs", 1),
    ("attribute/resource.rs", 1),
];

/// The lists of attributes that a file parses. The error for an unknown attribute has all of them.
fn parsed<'a>(tree: &'a Tree, file: &str) -> Vec<BTreeSet<&'a str>> {
    let code = tree.get(&format!("{MACROS}{file}")).unwrap_or_default();
    let lists = code.split("Err(unknown(").skip(1);
    let lists = lists.map(|list| names(list.split("))").next().unwrap_or_default()));
    lists.collect()
}

/// Finds attributes that the docs of the macros omit or invent.
fn documented(tree: &Tree) -> Vec<Problem> {
    let docs = tree.get(&format!("{MACROS}lib.rs")).unwrap_or_default();
    let tables = docs.split("\n/// |---|").skip(1);
    let mut problems = Vec::new();
    for ((file, column), table) in DOCUMENTED.into_iter().zip(tables) {
        let rows = table
            .lines()
            .skip(1)
            .take_while(|line| line.starts_with("/// |"));
        let cells = rows.filter_map(|row| row.split(" | ").nth(column));
        let shown = cells.flat_map(names).collect();
        let there = parsed(tree, file).into_iter().flatten().collect();
        problems.extend(compare(
            &there,
            &shown,
            &format!("{MACROS}lib.rs: the table of {file}"),
        ));
    }
    problems
}

fn attributes(tree: &Tree) -> Vec<Problem> {
    let mut problems = documented(tree);
    for (file, sections) in ATTRIBUTES {
        let lists = parsed(tree, file);
        if lists.len() != sections.len() {
            problems.push(format!("{file} has {} lists of attributes", lists.len()));
        }
        for (list, section) in lists.iter().zip(sections) {
            let shown = rows(tree, section);
            problems.extend(compare(list, &shown, &format!("{PAGE}: {section}")));
        }
    }
    problems
}

/// Finds public methods of a type that its table omits or invents.
fn methods(tree: &Tree, of: &str) -> Vec<Problem> {
    let mut methods = BTreeSet::new();
    for (_, text) in tree.sources() {
        for body in text.split(&format!("\nimpl {of} {{\n")).skip(1) {
            methods.extend(public(body.split("\n}\n").next().unwrap_or_default()));
        }
        if text.contains(&format!("\ndescribed!({of}.")) {
            methods.extend(public(tree.get(DESCRIBED).unwrap_or_default()));
        }
    }
    let section = format!("## `{of}`");
    let shown = rows(tree, &section);
    compare(&methods, &shown, &format!("{PAGE}: {section}"))
}

fn public(code: &str) -> impl Iterator<Item = &str> {
    code.lines().filter_map(|line| {
        let item = line.trim_start().strip_prefix("pub ")?;
        let item = item.strip_prefix("async ").unwrap_or(item);
        item.strip_prefix("fn ").map(name)
    })
}

fn compare(there: &BTreeSet<&str>, shown: &BTreeSet<&str>, section: &str) -> Vec<Problem> {
    let missing = there.difference(shown);
    let made_up = shown.difference(there);
    missing
        .map(|name| format!("{section} leaves out {name}"))
        .chain(made_up.map(|name| format!("{section} has {name}, which there is not")))
        .collect()
}

fn rows<'a>(tree: &'a Tree, heading: &str) -> BTreeSet<&'a str> {
    let lines = PAGES
        .iter()
        .filter_map(|page| tree.get(page))
        .flat_map(str::lines);
    let below = lines.skip_while(|line| *line != heading).skip(1);
    let section = below.take_while(|line| !line.starts_with('#'));
    let cells = section.filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    cells.flat_map(names).collect()
}

fn names(text: &str) -> BTreeSet<&str> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.map(name).filter(|name| !name.is_empty()).collect()
}

fn name(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

#[test]
fn the_reference_has_every_attribute() {
    assert_none(attributes(&Tree::project()));

    let error = |names: &str| format!("_ => Err(unknown(&meta, \"{names}\")),");
    let code = error("`name`, \\\n `title` and `uri`");
    let page = "## `#[tool]`\n\n| attribute | |\n| `name = \"a\"`, `title` | `x` |\n| `uri` | |\n\
                ## `#[prompt]`\n| `name` | |\n## `#[resource]`\n| `name`, `title`, `size` | |\n";
    let docs = "\n/// | on | attribute |\n/// |---|---|\n/// | field | `min = 1` |\n///\n/// `name`\n\
                \n/// |---|---|\n/// | `name`, `title` | `x` |\n";
    let bad = Tree::of([
        ("crates/askback-macros/src/lib.rs", docs),
        ("crates/askback-macros/src/attribute/tool.rs", &*code),
        ("crates/askback-macros/src/attribute/prompt.rs", &*code),
        ("crates/askback-macros/src/attribute/resource.rs", &*code),
        (PAGE, page),
    ]);
    let wanted = [
        "the table of form/attributes.rs has min",
        "the table of attribute/tool.rs leaves out uri",
        "`#[prompt]` leaves out title",
        "`#[prompt]` leaves out uri",
        "`#[resource]` leaves out uri",
        "`#[resource]` has size",
        "form/attributes.rs has 0 lists",
    ];
    assert_found(&attributes(&bad), &wanted);
}

#[test]
fn the_reference_has_every_method() {
    let project = Tree::project();
    assert_none(TYPES.iter().flat_map(|of| methods(&project, of)).collect());

    let bad = Tree::of([
        (
            "crates/askback/src/ctx/mod.rs",
            "\nimpl Ctx {\n    pub fn ask(&self) {}\n    pub(crate) fn cell(&self) {}\n}\n",
        ),
        (
            "crates/askback/src/ctx/more.rs",
            "\nimpl Ctx {\n    pub async fn wait(&self) {}\n    fn own(&self) {}\n}\n\ndescribed!(Ctx.info: \"\");\n",
        ),
        (
            "crates/askback/src/client.rs",
            "\nimpl Client {\n    pub fn call(&self) {}\n}\n",
        ),
        (
            DESCRIBED,
            "macro_rules! described {\n        impl $type {\n            pub fn title(self) {}\n",
        ),
        (
            PAGE,
            "## `Ctx`\n| to ask | |\n| `tell()` | `x` |\n| `wait()` | |\n## More\n| `ask` | |\n",
        ),
    ]);
    let wanted = [
        "`Ctx` leaves out ask",
        "`Ctx` leaves out title",
        "`Ctx` has tell",
    ];
    assert_found(&methods(&bad, "Ctx"), &wanted);
    assert_found(&methods(&bad, "Client"), &["`Client` leaves out call"]);
}
