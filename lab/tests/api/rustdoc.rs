use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::Value;

/// The Rust version whose JSON the `public-api` crate can read.
const RUST: &str = "1.95";

/// The full version, for rustup.
const TOOLCHAIN: &str = "1.95.0";

/// Documents these crates, and returns the JSON file of each.
///
/// All packages are passed to cargo, as in the test command, so that it reuses the crates that are already built.
pub(crate) fn documented(project: &Path, crates: &[&str]) -> Result<Vec<PathBuf>, String> {
    let names: Vec<String> = crates.iter().map(|name| name.replace('-', "_")).collect();
    let arguments = [
        "doc",
        "--locked",
        "--workspace",
        "--all-features",
        "--no-deps",
    ];
    let output = cargo(project)?
        .args(arguments)
        .env("RUSTDOC", env!("CARGO_BIN_EXE_rustdoc-json"))
        .env("DOCUMENTED", names.join(" "))
        .env("RUSTDOCFLAGS", "-Z unstable-options --output-format json")
        .output()
        .map_err(|error| format!("cargo does not start: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("the crates cannot be documented:\n{said}"));
    }
    let directory = target(project)?.join("doc");
    let files = names
        .iter()
        .map(|name| directory.join(format!("{name}.json")));
    Ok(files.collect())
}

/// Returns cargo of that Rust version: the default one, or one from rustup.
fn cargo(project: &Path) -> Result<Command, String> {
    let at_hand = said(Command::new("rustc").arg("--version").current_dir(project));
    if at_hand.is_ok_and(|version| version.starts_with(&format!("rustc {RUST}."))) {
        return Ok(in_project("cargo", project));
    }
    let mut cargo = in_project("rustup", project);
    cargo.args(["run", TOOLCHAIN, "cargo"]);
    if said(Command::new("rustup").args(["run", TOOLCHAIN, "cargo", "--version"])).is_err() {
        return Err(format!(
            "the public interface is listed by Rust {TOOLCHAIN}, which is not there: \
             `rustup toolchain install {TOOLCHAIN} --profile minimal` brings it"
        ));
    }
    Ok(cargo)
}

fn in_project(program: &str, project: &Path) -> Command {
    let mut command = Command::new(program);
    command.current_dir(project);
    command
}

fn target(project: &Path) -> Result<PathBuf, String> {
    let mut cargo = in_project("cargo", project);
    cargo.args(["metadata", "--locked", "--no-deps", "--format-version", "1"]);
    let metadata = said(&mut cargo).map_err(|error| format!("cargo metadata: {error}"))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| error.to_string())?;
    let directory = metadata["target_directory"].as_str();
    directory
        .map(PathBuf::from)
        .ok_or_else(|| "cargo does not say where it builds".to_owned())
}

fn said(command: &mut Command) -> io::Result<String> {
    let output = command.output()?;
    if !output.status.success() {
        return Err(io::Error::other(
            String::from_utf8_lossy(&output.stderr).into_owned(),
        ));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_test_command_brings_the_rust_that_lists_the_interface() {
    assert!(TOOLCHAIN.starts_with(RUST));
    assert!(include_str!("../../../test").contains(&format!(" listed={TOOLCHAIN}\n")));
}
