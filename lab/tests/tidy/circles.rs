//! Circles: of the modules in a folder, none uses another that leads back to it.
//!
//! What a module uses are the paths in its code that begin with `crate`, `super` or `self`. A name that the
//! folder's own file takes from one of its modules stands for that module. What modules have from the folder's
//! own file, and what that has from them, makes no circle: it is their common ground.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Problem, assert_found, assert_none, code::words, tree::Tree};

/// A module as the names from its crate's root.
type Module<'a> = Vec<&'a str>;

/// The modules of one crate.
#[derive(Default)]
struct Modules<'a> {
    files: BTreeMap<Module<'a>, File<'a>>,
}

struct File<'a> {
    path: &'a str,
    code: &'a str,
    /// The names it has by `use`, with the paths behind them.
    names: BTreeMap<&'a str, Vec<&'a str>>,
}

fn circles(tree: &Tree) -> Vec<Problem> {
    let rust = tree.files().filter(|(path, _)| path.ends_with(".rs"));
    let sources: Vec<_> = rust
        .filter_map(|(path, text)| Some((root(path)?, path, words(text))))
        .collect();
    let mut crates: BTreeMap<&str, Modules<'_>> = BTreeMap::new();
    for (root, path, code) in &sources {
        let modules = crates.entry(root).or_default();
        modules.add(&path[root.len()..], path, code);
    }
    crates.into_values().flat_map(Modules::circles).collect()
}

/// The directory of the crate that a file is a module of.
fn root(path: &str) -> Option<&str> {
    let source = path.find("/src/")? + "/src/".len();
    let (root, inside) = path.split_at(source);
    (!inside.starts_with("bin/") && !path.starts_with("fuzz/")).then_some(root)
}

impl<'a> Modules<'a> {
    fn add(&mut self, inside: &'a str, path: &'a str, code: &'a str) {
        let mut module: Module<'a> = inside.trim_end_matches(".rs").split('/').collect();
        let last = module.last().copied().unwrap_or_default();
        if last == "mod" || module == ["lib"] || module == ["main"] {
            module.pop();
        }
        let names = imports(code);
        self.files.insert(module, File { path, code, names });
    }

    fn circles(self) -> Vec<Problem> {
        // By folder: which of its modules uses which, and where.
        let mut folders: BTreeMap<Module<'a>, BTreeMap<(&str, &str), &str>> = BTreeMap::new();
        for (module, file) in &self.files {
            for used in paths(file.code)
                .iter()
                .filter_map(|path| self.find(module, path, 0))
            {
                let both = module.iter().zip(&used);
                let common = both.take_while(|(a, b)| a == b).count();
                if let (Some(from), Some(to)) = (module.get(common), used.get(common)) {
                    let folder = folders.entry(module[..common].to_vec()).or_default();
                    folder.entry((from, to)).or_insert(file.path);
                }
            }
        }
        let circles = folders.values().flat_map(|uses| {
            uses.iter()
                .filter(|((from, to), _)| leads(uses, to, from))
                .map(|((from, to), path)| {
                    format!("{path}: {from} uses {to}, which leads back to {from}")
                })
        });
        circles.collect()
    }

    /// The module in which a path ends that stands in another module; `None` outside of the crate.
    fn find(&self, within: &[&'a str], path: &[&'a str], depth: usize) -> Option<Module<'a>> {
        let mut module: Module<'a> = within.to_vec();
        let (first, mut rest) = path.split_first()?;
        match *first {
            "crate" => module.clear(),
            "self" => {}
            "super" => drop(module.pop()),
            _ => {
                module.push(first);
                if !self.files.contains_key(&module) {
                    return None;
                }
            }
        }
        while let Some((name, after)) = rest.split_first() {
            if *name == "super" {
                module.pop();
                rest = after;
                continue;
            }
            module.push(name);
            if !self.files.contains_key(&module) {
                module.pop();
                let taken = self.files.get(&module)?.names.get(name);
                // A name may be taken from a module that has it from another; never without end.
                let behind = taken.filter(|_| depth < 8 && module != within);
                let found = behind.and_then(|path| self.find(&module, path, depth + 1));
                return Some(found.unwrap_or(module));
            }
            rest = after;
        }
        Some(module)
    }
}

/// Whether the uses lead from one module to another.
fn leads(uses: &BTreeMap<(&str, &str), &str>, from: &str, to: &str) -> bool {
    let mut seen = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        if module == to {
            return true;
        }
        if seen.insert(module) {
            let next = uses.keys().filter(|(user, _)| *user == module);
            open.extend(next.map(|(_, used)| *used));
        }
    }
    false
}

/// The paths in code that begin in its own crate.
fn paths(code: &str) -> Vec<Vec<&str>> {
    let mut found = Vec::new();
    for head in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(head) {
            // The middle of a path, or of a word.
            let is_inside = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
            if !code[..at].ends_with(is_inside) {
                follow(&code[at..], &[], &mut |path, _| found.push(path));
            }
        }
    }
    found
}

/// The names that code has by `use`, with the paths behind them.
fn imports(code: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut names = BTreeMap::new();
    for (at, word) in code.match_indices("use ") {
        if !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_') {
            let tree = &code[at + word.len()..];
            follow(tree, &[], &mut |path, name| drop(names.insert(name, path)));
        }
    }
    names
}

/// Reads a path, and all that its braces make of it; returns what follows.
fn follow<'a>(
    text: &'a str,
    before: &[&'a str],
    found: &mut impl FnMut(Vec<&'a str>, &'a str),
) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
            if let Some(after) = rest.strip_prefix('}') {
                return after;
            }
            let after = follow(rest, before, found);
            if after.len() == rest.len() {
                return rest;
            }
            rest = after;
        }
    }
    let (name, rest) = word(text);
    if name.is_empty() {
        found(before.to_vec(), "*");
        return text.strip_prefix('*').unwrap_or(text);
    }
    let path = [before, &[name]].concat();
    if let Some(inner) = rest.strip_prefix("::")
        && !inner.starts_with('<')
    {
        return follow(inner, &path, found);
    }
    match rest.trim_start().strip_prefix("as ") {
        Some(renamed) => {
            let (alias, rest) = word(renamed.trim_start());
            found(path, alias);
            rest
        }
        None => {
            found(path, name);
            rest
        }
    }
}

/// The word that text begins with, and what follows.
fn word(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    text.split_at(end.unwrap_or(text.len()))
}

#[test]
fn modules_of_a_folder_form_no_circle() {
    assert_none(circles(&Tree::project()));

    // Two that use each other; three in a ring, one of them by a name of their folder; and what is none: the
    // folder itself, a module further in that uses one further out, tests.
    let bad = Tree::of([
        (
            "crates/a/src/lib.rs",
            "mod one; mod two; pub mod ring; use one::One;",
        ),
        (
            "crates/a/src/one.rs",
            "use crate::{ring::Ring, two::{self, Two as Second}};",
        ),
        ("crates/a/src/two.rs", "fn f() { crate::one::g(); }"),
        (
            "crates/a/src/ring/mod.rs",
            "mod a; mod b; mod c; pub use self::{b::B, c::C as D}; pub struct Ring;",
        ),
        ("crates/a/src/ring/a.rs", "use super::{B, Ring};"),
        ("crates/a/src/ring/b.rs", "use super::D;"),
        ("crates/a/src/ring/c.rs", "use super::super::ring::a::A;"),
        ("crates/b/src/main.rs", "mod one; mod two; mod three;"),
        ("crates/b/src/one.rs", "use crate::two::inner::X;"),
        ("crates/b/src/two/mod.rs", "mod inner; use crate::three::Y;"),
        ("crates/b/src/two/inner.rs", "use super::super::three::Y;"),
        (
            "crates/b/src/three.rs",
            "// use crate::one;\n\n#[cfg(test)]\nmod tests {\n use crate::one::Z; }",
        ),
    ]);
    let wanted = [
        "one.rs: one uses two",
        "two.rs: two uses one",
        "a.rs: a uses b",
        "b.rs: b uses c",
        "c.rs: c uses a",
    ];
    assert_found(&circles(&bad), &wanted);
}
