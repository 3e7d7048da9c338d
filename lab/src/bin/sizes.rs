//! Compares the sizes of the binaries with those in `lab/sizes.txt`: `cargo run -p lab --bin sizes`, which builds
//! them as a release. It fails where one differs by more than 2 %; with `ASKBACK_BLESS=1` it writes them there.

#![allow(clippy::print_stdout, reason = "it is what the program is for")]

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use lab::kept;

/// The binaries by their packages: the command, and the shortest server.
const BINARIES: [(&str, &str); 2] = [("askback-cli", "askback"), ("askback-delete", "delete")];

fn main() -> ExitCode {
    let checked = sizes()
        .map_err(|error| error.to_string())
        .and_then(|sizes| kept::check(&lab().join("sizes.txt"), &sizes));
    match checked {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn lab() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The sizes, in bytes.
fn sizes() -> io::Result<BTreeMap<&'static str, u64>> {
    let mut sizes = BTreeMap::new();
    for (package, binary) in BINARIES {
        // One by one, so that each has its own features.
        let built = Command::new("cargo")
            .args(["build", "--release", "--locked", "--package", package])
            .args(["--message-format", "json-render-diagnostics"])
            .current_dir(lab())
            .stderr(std::process::Stdio::inherit())
            .output()?;
        let program = programs(&built.stdout)
            .into_iter()
            .find(|path| path.file_stem().is_some_and(|name| name == binary))
            .ok_or_else(|| io::Error::other(format!("{package} has not been built")))?;
        sizes.insert(binary, fs::metadata(program)?.len());
    }
    Ok(sizes)
}

/// The programs in what cargo says of a build.
fn programs(said: &[u8]) -> Vec<PathBuf> {
    let messages = said.split(|byte| *byte == b'\n');
    let program = |line| {
        let message: serde_json::Value = serde_json::from_slice(line).ok()?;
        Some(PathBuf::from(message["executable"].as_str()?))
    };
    messages.filter_map(program).collect()
}
