//! Lists a public API as lines, so that a diff shows exactly the changed items.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    path::Path,
};

use public_api::{Builder, PublicItem, tokens::Token};

/// The items of a crate, one per line, grouped.
pub(crate) struct Listing {
    lines: Vec<String>,
    paths: BTreeSet<String>,
}

/// Groups of items: a single line, or an `impl` with its items.
///
/// The inherent `impl`s of a type are merged into one.
#[derive(Default)]
struct Blocks {
    blocks: Vec<(String, BTreeMap<String, String>)>,
    at: HashMap<String, usize>,
}

/// The public paths of crates, by their last segment.
///
/// If a signature names a type of another crate, rustdoc uses the module that defines it, which may be private. That
/// path does not matter to users, and changes when a file is moved.
#[derive(Default)]
pub(crate) struct Paths(BTreeMap<String, BTreeSet<String>>);

impl Listing {
    /// Lists the crate in a rustdoc JSON file.
    pub(crate) fn of(json: &Path, others: &Paths) -> Result<Self, String> {
        let api = Builder::from_rustdoc_json(json)
            .omit_blanket_impls(true)
            .build()
            .map_err(|error| format!("{}: {error}", json.display()))?;
        let parents: HashMap<_, _> = api
            .items()
            .map(|item| (item.id(), item.to_string()))
            .filter(|(_, text)| text.starts_with("impl"))
            .collect();
        let mut blocks = Blocks::default();
        for item in api.items() {
            let text = item.to_string();
            let parent = item.parent_id().and_then(|id| parents.get(&id));
            if !is_implied(&text, parent.is_some_and(|parent| of_trait(parent))) {
                blocks.add(others.public(&text), parent.map(|it| others.public(it)));
            }
        }
        let lines = blocks.lines();
        let paths = api.items().filter_map(path).collect();
        Ok(Self { lines, paths })
    }
}

impl Blocks {
    fn add(&mut self, line: String, parent: Option<String>) {
        match parent.and_then(|parent| self.at.get(&parent)) {
            Some(at) => {
                // The items share a path, so sort them by name.
                let name = line.split_once("::").map_or(&*line, |(_, name)| name);
                self.blocks[*at].1.insert(name.to_owned(), line);
            }
            None if self.at.contains_key(&line) => {}
            None => {
                self.at.insert(line.clone(), self.blocks.len());
                self.blocks.push((line, BTreeMap::new()));
            }
        }
    }

    fn lines(self) -> Vec<String> {
        let blocks = self.blocks.into_iter();
        blocks
            .flat_map(|(line, items)| [line].into_iter().chain(items.into_values()))
            .collect()
    }
}

impl fmt::Display for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}

impl Paths {
    pub(crate) fn extend(&mut self, listing: &Listing) {
        for path in &listing.paths {
            let name = path.rsplit("::").next().unwrap_or_default();
            let paths = self.0.entry(name.to_owned()).or_default();
            paths.insert(path.clone());
        }
    }

    /// Replaces private module paths in the line with public ones.
    fn public(&self, line: &str) -> String {
        let is_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
        let mut out = String::with_capacity(line.len());
        let mut rest = line;
        while let Some(start) = rest.find(is_path) {
            let (before, after) = rest.split_at(start);
            let end = after.find(|c| !is_path(c)).unwrap_or(after.len());
            let (path, after) = after.split_at(end);
            out.push_str(before);
            out.push_str(self.nearest(path));
            rest = after;
        }
        out + rest
    }

    fn nearest<'a>(&'a self, path: &'a str) -> &'a str {
        let Some((modules, name)) = path.rsplit_once("::") else {
            return path;
        };
        let modules: Vec<&str> = modules.split("::").collect();
        let in_common = |other: &str| {
            let both = other.split("::").zip(&modules);
            both.take_while(|(a, b)| a == *b).count()
        };
        let same_name = self.0.get(name).into_iter().flatten();
        let same_crate = same_name.filter(|other| in_common(other) > 0);
        same_crate
            .max_by_key(|other| (in_common(other), usize::MAX - other.len()))
            .map_or(path, String::as_str)
    }
}

/// Whether an item follows from another one, or is usable by every type.
fn is_implied(item: &str, is_of_trait: bool) -> bool {
    let Some((of, _)) = item.strip_prefix("impl").and_then(split_impl) else {
        // A trait's methods are listed with the trait, including provided ones.
        return is_of_trait && !item.starts_with("pub type ");
    };
    let (not, of) = of.strip_prefix('!').map_or((false, of), |of| (true, of));
    match of {
        // Nearly all types are `Send` and `Sync`. Only exceptions are listed.
        "core::marker::Send" | "core::marker::Sync" => !not,
        "core::marker::Freeze"
        | "core::marker::StructuralPartialEq"
        | "core::marker::Unpin"
        | "core::marker::UnsafeUnpin"
        | "core::panic::unwind_safe::RefUnwindSafe"
        | "core::panic::unwind_safe::UnwindSafe" => true,
        _ => false,
    }
}

fn of_trait(item: &str) -> bool {
    item.strip_prefix("impl").and_then(split_impl).is_some()
}

/// Returns the trait and the type of an `impl`, from the text after `impl`.
fn split_impl(rest: &str) -> Option<(&str, &str)> {
    let mut depth = 0;
    let mut start = 0;
    let mut before = ' ';
    for (at, c) in rest.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if before != '-' => {
                depth -= 1;
                // The generic parameters of the `impl`.
                if depth == 0 && start == 0 && rest.starts_with('<') {
                    start = at + 1;
                }
            }
            ' ' if depth == 0 && rest[at..].starts_with(" for ") => {
                return Some((rest[start..at].trim(), &rest[at + " for ".len()..]));
            }
            _ => {}
        }
        before = c;
    }
    None
}

fn path(item: &PublicItem) -> Option<String> {
    let mut tokens = item.tokens();
    tokens.find(|token| {
        let kind = matches!(token.text(), "struct" | "enum" | "trait" | "union");
        kind && matches!(token, Token::Kind(_))
    })?;
    let is_path = |token: &&Token| {
        let is_name = matches!(token, Token::Identifier(_) | Token::Type(_));
        is_name || token.text() == "::"
    };
    let path = tokens.skip(1).take_while(is_path).map(Token::text);
    Some(path.collect())
}

#[test]
fn what_is_known_from_another_line_is_left_out() {
    #[track_caller]
    fn check(item: &str, is_of_trait: bool, wanted: bool) {
        assert_eq!(is_implied(item, is_of_trait), wanted, "{item}");
    }
    check("pub fn a::A::new() -> Self", false, false);
    check("pub fn a::A::clone(&self) -> Self", true, true);
    check("pub type a::A::Error = a::E", true, false);
    check("impl a::A", false, false);
    check("impl core::clone::Clone for a::A", false, false);
    check("impl core::marker::Send for a::A", false, true);
    check(
        "impl<T> core::marker::Sync for a::A<T> where T: Sync",
        false,
        true,
    );
    check("impl<'a> !core::marker::Sync for a::A<'a>", false, false);
    check("impl core::marker::Freeze for a::A", false, true);
    check(
        "impl<F: for<'a> core::ops::Fn(&'a u8) -> u8> core::marker::Unpin for a::A<F>",
        false,
        true,
    );
}

#[test]
fn a_type_has_one_implementation_of_its_own() {
    let mut blocks = Blocks::default();
    for (line, parent) in [
        ("pub struct a::A", None),
        ("impl a::A", None),
        ("pub async fn a::A::x()", Some("impl a::A")),
        ("impl a::A", None),
        ("pub fn a::A::b()", Some("impl a::A")),
        ("impl core::fmt::Debug for a::A", None),
    ] {
        blocks.add(line.to_owned(), parent.map(str::to_owned));
    }
    let wanted = [
        "pub struct a::A",
        "impl a::A",
        "pub fn a::A::b()",
        "pub async fn a::A::x()",
        "impl core::fmt::Debug for a::A",
    ];
    assert_eq!(blocks.lines(), wanted);
}

#[test]
fn types_of_other_crates_have_the_path_by_which_they_are_used() {
    let paths = [
        "b::ask::Principal",
        "b::jsonrpc::Error",
        "b::protocol::Error",
    ];
    let listing = Listing {
        lines: Vec::new(),
        paths: paths.map(str::to_owned).into(),
    };
    let mut paths = Paths::default();
    paths.extend(&listing);
    for (line, wanted) in [
        (
            "pub fn a::f(b::ask::principal::Principal, &b::jsonrpc::error::Error)",
            "pub fn a::f(b::ask::Principal, &b::jsonrpc::Error)",
        ),
        ("pub struct a::Principal", "pub struct a::Principal"),
        (
            "pub fn a::g() -> std::io::error::Error",
            "pub fn a::g() -> std::io::error::Error",
        ),
    ] {
        assert_eq!(paths.public(line), wanted);
    }
}
