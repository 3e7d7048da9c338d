//! `askback new` creates a server project.

use std::{
    fs,
    io::{self, Write},
    path::{Path, PathBuf},
};

use askback_host::{
    page::{Style, out},
    text::given,
    words,
};
use serde_json::Value;

use crate::{error::Error, own_files};

/// The template's files. `{{name}}` is replaced with the project's name.
const FILES: [(&str, &str); 8] = [
    ("Cargo.toml", include_str!("../../template/manifest.toml")),
    ("src/main.rs", include_str!("../../template/src/main.rs")),
    ("suite.yaml", include_str!("../../template/suite.yaml")),
    ("answers.yaml", include_str!("../../template/answers.yaml")),
    ("mcp.json", include_str!("../../template/mcp.json")),
    ("README.md", include_str!("../../template/README.md")),
    (".gitignore", include_str!("../../template/gitignore")),
    (
        ".github/workflows/ci.yaml",
        include_str!("../../template/ci.yaml"),
    ),
];

/// The longest name, in characters.
const LONGEST: usize = 64;

/// Create a server project to start from
///
/// It is a Cargo project in a new folder: a tool that asks, its tests, a suite, an answers file and a CI
/// file. With --path, it builds and its tests pass. Without, it builds once askback is published.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = "Example: askback new my-server --path ../askback")]
pub struct NewArgs {
    /// The name of the project and of its folder: small letters, digits and dashes
    #[arg(value_parser = name)]
    name: String,
    /// Build with the library in this checkout of askback, because it is not published yet
    #[arg(long, value_name = "DIR")]
    path: Option<PathBuf>,
}

pub fn run(args: &NewArgs) -> Result<(), Error> {
    let name = &args.name;
    let library = args.path.as_deref().map(library).transpose()?;
    let folder = Path::new(name);
    let unwritten = |error: io::Error| Error::unwritten(folder, &error);
    fs::create_dir(folder).map_err(unwritten)?;
    for (file, text) in FILES {
        let mut text = text.replace("{{name}}", name);
        if let (Some(path), "Cargo.toml") = (&library, file) {
            text = with_library(&text, path);
        }
        write(&folder.join(file), &text).map_err(unwritten)?;
    }
    let mut page = out::stderr_page();
    if library.is_none() {
        page.say(Style::Plain, words!("Created {}.", given(name)));
        let words = "It does not build yet: the library askback is not published. Clone it, and in Cargo.toml replace both versions of askback with its path: askback = { path = \"…/crates/askback\" }. `askback new NAME --path CHECKOUT` does this.";
        page.say(Style::Warning, words);
        out::tell(&mut page);
        return Ok(());
    }
    page.say(Style::Plain, words!("Created {}. Next:", given(name)));
    for line in [
        words!("cd {}", given(name)),
        "cargo test".into(),
        "askback -- cargo run --quiet".into(),
        "askback test suite.yaml".into(),
    ] {
        page.note(Style::Strong, line);
    }
    out::tell(&mut page);
    Ok(())
}

fn library(checkout: &Path) -> Result<String, Error> {
    let library = checkout.join("crates").join("askback");
    let found = fs::canonicalize(&library).ok();
    match found.filter(|library| library.join("Cargo.toml").is_file()) {
        Some(library) => Ok(library.display().to_string()),
        None => Err(Error::usage(words!(
            "{} is not a checkout of askback",
            given(checkout.display())
        ))
        .hint("A checkout has the folder crates/askback.")),
    }
}

fn with_library(manifest: &str, path: &str) -> String {
    // A JSON string is a valid TOML string.
    let path = Value::from(path).to_string();
    manifest
        .replace(
            "askback = \"0.1\"",
            &format!("askback = {{ path = {path} }}"),
        )
        .replace(
            "askback = { version = \"0.1\"",
            &format!("askback = {{ path = {path}"),
        )
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    own_files::create_new(path)?.write_all(text.as_bytes())
}

fn name(text: &str) -> Result<String, &'static str> {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = text.starts_with(|c: char| c.is_ascii_lowercase());
    if !begins || !text.chars().all(is_word) {
        return Err("a name has small letters, digits and dashes, and begins with a letter");
    }
    if text.len() > LONGEST {
        return Err("a name has at most 64 characters");
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_name_must_be_a_valid_package_name() {
        for good in ["server", "my-server-2", "a", &"a".repeat(LONGEST)] {
            assert_eq!(name(good), Ok(good.to_owned()));
        }
        let long = "a".repeat(LONGEST + 1);
        for bad in ["", "My", "2a", "-a", "a_b", "a b", "a/b", "..", "ä", &long] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_library_may_come_from_a_checkout() {
        let manifest = with_library(FILES[0].1, "C:\\a\\\"b");
        let path = r#"askback = { path = "C:\\a\\\"b""#;
        assert_eq!(manifest.matches(path).count(), 2, "{manifest}");
        assert!(!manifest.contains("0.1\""), "{manifest}");
    }
}
