//! Prints the size of the project: lines and crates per package, documents, and the sizes of the programs.
//!
//! `cargo run -p lab --bin weight`; with `-- --release` it also builds the programs in release mode and measures the
//! time, which is only meaningful after `cargo clean`.

#![allow(clippy::print_stdout, reason = "it is what the program is for")]

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Instant,
};

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    packages(&root)?;
    papers(&root)?;
    if std::env::args().any(|word| word == "--release") {
        programs(&root)?;
    }
    Ok(())
}

#[derive(Default, Clone, Copy)]
struct Lines {
    all: usize,
    /// Without blank lines and comments.
    code: usize,
}

impl Lines {
    fn within(folder: &Path) -> io::Result<Self> {
        let mut lines = Self::default();
        for file in files(folder, "rs")? {
            for line in fs::read_to_string(file)?.lines().map(str::trim) {
                lines.all += 1;
                lines.code += usize::from(!line.is_empty() && !line.starts_with("//"));
            }
        }
        Ok(lines)
    }
}

fn packages(root: &Path) -> io::Result<()> {
    println!(
        "{:<18} {:>9} {:>9} {:>9} {:>7}",
        "crate", "src", "code", "tests", "crates"
    );
    let mut folders: Vec<_> = fs::read_dir(root.join("crates"))?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    folders.sort();
    let mut sum = [0; 3];
    for folder in folders {
        let name = folder
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let src = Lines::within(&folder.join("src"))?;
        let tests = Lines::within(&folder.join("tests"))?;
        let crates = crates(root, &name)?;
        println!(
            "{name:<18} {:>9} {:>9} {:>9} {crates:>7}",
            src.all, src.code, tests.all
        );
        for (sum, lines) in sum.iter_mut().zip([src.all, src.code, tests.all]) {
            *sum += lines;
        }
    }
    let [src, code, tests] = sum;
    println!("{:<18} {src:>9} {code:>9} {tests:>9}", "all");
    for other in ["examples", "lab"] {
        let Lines { all, code } = Lines::within(&root.join(other))?;
        println!("{other:<18} {all:>9} {code:>9}");
    }
    Ok(())
}

/// Counts the crates that a package adds to a build, with its default features.
fn crates(root: &Path, package: &str) -> io::Result<usize> {
    let tree = Command::new("cargo")
        .args(["tree", "--locked", "--package", package])
        .args([
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
        ])
        .current_dir(root)
        .output()?;
    let tree = String::from_utf8_lossy(&tree.stdout);
    // A crate that was already listed ends with `(*)`.
    let names = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    let all: BTreeSet<_> = names.filter(|line| !line.is_empty()).collect();
    Ok(all.len().saturating_sub(1))
}

fn papers(root: &Path) -> io::Result<()> {
    println!(
        "\n{:<18} {:>9} {:>9} {:>9}",
        "papers", "files", "words", "bytes"
    );
    let top = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
    ];
    let top = top.map(|file| (file, vec![root.join(file)]));
    let guide = files(&root.join("docs/guide"), "md")?;
    let design = files(&root.join("docs/design"), "md")?;
    let docs = files(&root.join("docs"), "md")?;
    let others = docs
        .into_iter()
        .filter(|file| !guide.contains(file) && !design.contains(file));
    let others = others.collect();
    let folders = [
        ("docs/guide", guide),
        ("docs/design", design),
        ("docs, others", others),
    ];
    for (name, files) in top.into_iter().chain(folders) {
        let texts = files.iter().map(fs::read_to_string);
        let texts = texts.collect::<io::Result<Vec<_>>>()?.concat();
        let words = texts.split_whitespace().count();
        println!(
            "{name:<18} {:>9} {words:>9} {:>9}",
            files.len(),
            texts.len()
        );
    }
    Ok(())
}

fn programs(root: &Path) -> io::Result<()> {
    println!("\n{:<18} {:>9} {:>9}", "release build", "bytes", "seconds");
    for (package, program) in [("askback-cli", "askback"), ("askback-delete", "delete")] {
        // Built separately, so that each has only its own features.
        let begin = Instant::now();
        let built = Command::new("cargo")
            .args([
                "build",
                "--release",
                "--locked",
                "--package",
                package,
                "--bin",
                program,
            ])
            .current_dir(root)
            .stderr(Stdio::inherit())
            .status()?;
        if !built.success() {
            return Err(io::Error::other(format!("{package} has not been built")));
        }
        let folder =
            std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
        let bytes = fs::metadata(folder.join("release").join(program))?.len();
        println!("{program:<18} {bytes:>9} {:>9}", begin.elapsed().as_secs());
    }
    Ok(())
}

fn files(folder: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    if !folder.is_dir() {
        return Ok(found);
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.ends_with("target") {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|ending| ending == extension) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
