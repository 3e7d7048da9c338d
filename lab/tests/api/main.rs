//! The public API of the published crates, which only changes on purpose.
//!
//! rustdoc lists what is public, including what macros generate and features add, and `docs/api/` has one item per
//! line. If the two differ, the test prints the lines; `ASKBACK_BLESS=1` updates the files. The JSON format depends on
//! the version of rustdoc, so a pinned Rust creates the listings.

mod listing;
mod rustdoc;

use std::{collections::BTreeSet, env, fs, path::Path};

use self::listing::{Listing, Paths};

/// The crates with a listing, each after those it depends on.
const CRATES: &[&str] = &[
    "askback-core",
    "askback-macros",
    "askback-requests",
    "askback-oauth",
    "askback",
    "askback-connect",
];

const BLESS: &str = "ASKBACK_BLESS";

/// Returns the missing and the surplus lines of a listing, in any order; `None` if there is no difference.
fn difference(crate_name: &str, listed: &str, kept: &str) -> Option<String> {
    let (new, old): (BTreeSet<&str>, BTreeSet<&str>) =
        (listed.lines().collect(), kept.lines().collect());
    let added = new.difference(&old).map(|line| format!("+ {line}\n"));
    let gone = old.difference(&new).map(|line| format!("- {line}\n"));
    let lines: String = gone.chain(added).collect();
    (!lines.is_empty()).then(|| format!("{crate_name}:\n{lines}"))
}

#[test]
fn the_public_interface_changes_only_on_purpose() {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let documented =
        rustdoc::documented(&project, CRATES).unwrap_or_else(|error| panic!("{error}"));
    let mut paths = Paths::default();
    let mut differences = String::new();
    for (crate_name, json) in CRATES.iter().zip(&documented) {
        let listing = Listing::of(json, &paths).unwrap_or_else(|error| panic!("{error}"));
        paths.extend(&listing);
        let file = project.join(format!("docs/api/{crate_name}.txt"));
        let listed = listing.to_string();
        if env::var_os(BLESS).is_some() {
            fs::write(&file, &listed).expect("docs/api is there");
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        differences.extend(difference(crate_name, &listed, &kept));
    }
    assert!(
        differences.is_empty(),
        "\nthe public interface is not the one in docs/api. Lines with + are new, lines with - are gone:\n\n\
         {differences}\nWhere that is meant, `{BLESS}=1 cargo test -p lab --all-features --test api` writes it \
         down; CHANGELOG.md should name it.\n"
    );
}

#[test]
fn differences_are_named_by_the_line() {
    #[track_caller]
    fn check(listed: &str, kept: &str, wanted: Option<&str>) {
        assert_eq!(difference("a", listed, kept).as_deref(), wanted);
    }
    check("fn x()\nfn y()\n", "fn x()\nfn y()\n", None);
    check("fn x()\nfn y()\n", "fn y()\nfn x()\n", None);
    check(
        "fn x()\nfn y(u8)\n",
        "fn x()\nfn y()\n",
        Some("a:\n- fn y()\n+ fn y(u8)\n"),
    );
    check("fn x()\n", "fn x()\nfn y()\n", Some("a:\n- fn y()\n"));
    check("fn x()\n", "", Some("a:\n+ fn x()\n"));
}
