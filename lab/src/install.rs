//! Installs third-party programs for the tests into the user's cache: from npm with a recent Node, and from PyPI into
//! virtual environments.

use std::{
    error::Error,
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

/// The result of an installation.
pub type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// The path of Node in a directory of [`npm`], which installs its own.
pub const NODE: &str = "node_modules/node/bin/node";

/// Installs npm packages from a lock file into a named folder of the cache, unless they are there. Returns the folder,
/// or `None` without npm.
///
/// # Errors
///
/// If npm fails, or the cache is not writable.
pub fn npm(name: &str, package: &str, lock: &str) -> Result<Option<PathBuf>> {
    let directory = cache()?.join("askback").join(name);
    let is_there = |directory: &Path| {
        let installed = fs::read_to_string(directory.join("package-lock.json")).ok();
        installed.as_deref() == Some(lock) && directory.join(NODE).exists()
    };
    let make = |new: &Path| {
        fs::write(new.join("package.json"), package)?;
        fs::write(new.join("package-lock.json"), lock)?;
        let mut npm = Command::new("npm");
        npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
        succeeds(npm.current_dir(new))
    };
    let installed = is_there(&directory) || replace(&directory, is_there, make)?;
    Ok(installed.then_some(directory))
}

/// Creates a Python virtual environment in a named folder of the cache with the packages of a pip list, unless it is
/// there. Returns the folder, or `None` without Python 3.10 or newer that can create one.
///
/// # Errors
///
/// If pip fails, or the cache is not writable.
pub fn python(name: &str, list: &str) -> Result<Option<PathBuf>> {
    let directory = cache()?.join("askback").join(name);
    let installed = fs::read_to_string(directory.join("requirements.txt")).ok();
    if installed.as_deref() == Some(list) && directory.join("bin/python").exists() {
        return Ok(Some(directory));
    }
    let enough = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
    let has_enough = succeeds(Command::new("python3").args(["-c", enough]));
    if !has_enough.unwrap_or(false) {
        return Ok(None);
    }
    // An environment contains its own path, so it is created in its final place.
    let _ = fs::remove_dir_all(&directory);
    succeeds(Command::new("python3").args(["-m", "venv"]).arg(&directory))?;
    let wanted = directory.join("wanted.txt");
    fs::write(&wanted, list)?;
    let mut pip = Command::new(directory.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet"]);
    pip.args(["--disable-pip-version-check", "--requirement"]);
    succeeds(pip.arg(&wanted))?;
    // Renamed when the environment is complete.
    fs::rename(wanted, directory.join("requirements.txt"))?;
    Ok(Some(directory))
}

/// Builds rmcp's programs in this folder, and returns the program of the interop suite.
///
/// # Errors
///
/// If cargo fails.
pub fn rmcp(target: &Path) -> Result<PathBuf> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/interop/rust/Cargo.toml");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--quiet", "--manifest-path", manifest]);
    match succeeds(cargo.arg("--target-dir").arg(target))? {
        true => Ok(target.join("debug/interop-rmcp")),
        false => Err("cargo is not there any more".into()),
    }
}

/// Runs a command to its end. Returns false if the program does not exist.
///
/// # Errors
///
/// If the command fails, with its output.
pub fn succeeds(command: &mut Command) -> Result<bool> {
    match command.stdin(Stdio::null()).output() {
        Ok(output) if output.status.success() => Ok(true),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{command:?} failed: {}", said.trim()).into())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(format!("{command:?} cannot be started: {error}").into()),
    }
}

/// Writes a program for [`node`] into a directory of [`npm`], because Node looks for modules next to a program. Returns
/// its path. The name depends on the content, because other checkouts write programs there, too.
///
/// # Errors
///
/// If it cannot be written.
pub fn program(directory: &Path, name: &str, content: &str) -> Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    content.hash(&mut hasher);
    let file = directory.join(format!("{name}-{:016x}.mjs", hasher.finish()));
    if !file.exists() {
        // Atomically, because another process may be about to read it.
        let new = file.with_extension(std::process::id().to_string());
        fs::write(&new, content)?;
        fs::rename(new, &file)?;
    }
    Ok(file)
}

/// Returns the command that runs a [`program`].
#[must_use]
pub fn node(program: &Path) -> Command {
    let mut command = Command::new(program.with_file_name(NODE));
    command.arg(program);
    command
}

/// Reports a skipped test on the real stderr, which the test harness does not capture.
pub fn tell_left_out(name: &str, reason: &str) {
    let _ = writeln!(io::stderr(), "{name} is left out: {reason}");
}

/// Creates a directory next to its place and moves it there, so that it is always complete.
fn replace(
    directory: &Path,
    is_there: impl Fn(&Path) -> bool,
    make: impl FnOnce(&Path) -> Result<bool>,
) -> Result<bool> {
    let new = directory.with_extension(std::process::id().to_string());
    fs::create_dir_all(&new)?;
    let made = make(&new);
    if let Ok(true) = made {
        let _ = fs::remove_dir_all(directory);
        match fs::rename(&new, directory) {
            // Another process was faster.
            Err(_) if is_there(directory) => {}
            renamed => renamed?,
        }
    }
    let _ = fs::remove_dir_all(&new);
    made
}

fn cache() -> Result<PathBuf> {
    let path = |name| {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    path("XDG_CACHE_HOME")
        .or_else(|| Some(path("HOME")?.join(".cache")))
        .ok_or_else(|| "neither XDG_CACHE_HOME nor HOME names a directory".into())
}
