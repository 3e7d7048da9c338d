//! The authorization servers, installed into the user's cache: one from npm with a Node that is new
//! enough, one from PyPI into a virtual environment.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use crate::Result;

/// What is installed from npm, pinned to the last byte.
const PACKAGE: &str = include_str!("../../issuers/package.json");
const LOCK: &str = include_str!("../../issuers/package-lock.json");
const OIDC_PROVIDER: &str = include_str!("../../issuers/oidc-provider.mjs");

/// What is installed from PyPI, and the program that uses it.
const REQUIREMENTS: &str = include_str!("../../issuers/requirements.txt");
const AUTHLIB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/issuers/authlib_server.py");

/// What came of an installation: where it is, or nothing where it cannot be.
type Installed = OnceLock<Result<Option<PathBuf>, String>>;

/// The command that starts oidc-provider; nothing where there is no npm.
pub(crate) fn oidc_provider() -> Result<Option<Command>> {
    static INSTALLED: Installed = OnceLock::new();
    let command = |directory: &Path| {
        let mut command = Command::new(directory.join("node_modules/node/bin/node"));
        // Modules are looked for from where a program lies.
        command.arg(directory.join("oidc-provider.mjs"));
        command
    };
    let installed = INSTALLED.get_or_init(|| in_npm().map_err(|error| error.to_string()));
    Ok(installed.clone()?.as_deref().map(command))
}

/// The command that starts the server made with Authlib; nothing where there is no Python with
/// virtual environments.
pub(crate) fn authlib() -> Result<Option<Command>> {
    static INSTALLED: Installed = OnceLock::new();
    let command = |directory: &Path| {
        let mut command = Command::new(directory.join("bin/python"));
        // The sources are no place for what Python makes of them.
        command.arg(AUTHLIB).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    let installed = INSTALLED.get_or_init(|| in_python().map_err(|error| error.to_string()));
    Ok(installed.clone()?.as_deref().map(command))
}

fn in_npm() -> Result<Option<PathBuf>> {
    let directory = cache()?.join("askback/issuers/npm");
    if !replace(&directory, npm_is_there, npm)? {
        return Ok(None);
    }
    write(&directory.join("oidc-provider.mjs"), OIDC_PROVIDER)?;
    Ok(Some(directory))
}

fn in_python() -> Result<Option<PathBuf>> {
    let directory = cache()?.join("askback/issuers/python");
    // An environment knows where it lies, so it is made in its place.
    let is_there = python_is_there(&directory) || python(&directory)?;
    Ok(is_there.then_some(directory))
}

fn npm_is_there(directory: &Path) -> bool {
    let lock = fs::read_to_string(directory.join("package-lock.json")).ok();
    lock.as_deref() == Some(LOCK) && directory.join("node_modules/node/bin/node").exists()
}

fn npm(directory: &Path) -> Result<bool> {
    fs::write(directory.join("package.json"), PACKAGE)?;
    fs::write(directory.join("package-lock.json"), LOCK)?;
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
    succeeds(npm.current_dir(directory))
}

fn python_is_there(directory: &Path) -> bool {
    let installed = fs::read_to_string(directory.join("requirements.txt")).ok();
    installed.as_deref() == Some(REQUIREMENTS) && directory.join("bin/python").exists()
}

fn python(directory: &Path) -> Result<bool> {
    let enough = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
    let has_enough = succeeds(Command::new("python3").args(["-c", enough]));
    if !has_enough.unwrap_or(false) {
        return Ok(false);
    }
    let _ = fs::remove_dir_all(directory);
    succeeds(Command::new("python3").args(["-m", "venv"]).arg(directory))?;
    let wanted = directory.join("wanted.txt");
    fs::write(&wanted, REQUIREMENTS)?;
    let mut pip = Command::new(directory.join("bin/python"));
    pip.args(["-m", "pip", "install", "--quiet"]);
    pip.args(["--disable-pip-version-check", "--requirement"]);
    succeeds(pip.arg(&wanted))?;
    // Named so once it is whole.
    fs::rename(wanted, directory.join("requirements.txt"))?;
    Ok(true)
}

/// Makes a directory, unless it is there, beside its place and moves it there, so that what is there
/// is always whole.
fn replace(
    directory: &Path,
    is_there: impl Fn(&Path) -> bool,
    make: impl FnOnce(&Path) -> Result<bool>,
) -> Result<bool> {
    if is_there(directory) {
        return Ok(true);
    }
    let new = directory.with_extension(std::process::id().to_string());
    fs::create_dir_all(&new)?;
    let made = make(&new);
    if let Ok(true) = made {
        let _ = fs::remove_dir_all(directory);
        match fs::rename(&new, directory) {
            // Somebody else was faster.
            Err(_) if is_there(directory) => {}
            renamed => renamed?,
        }
    }
    let _ = fs::remove_dir_all(&new);
    made
}

/// Writes a file in one step, for others may be reading it, and only if it is another.
fn write(file: &Path, content: &str) -> Result<()> {
    if fs::read_to_string(file).is_ok_and(|there| there == content) {
        return Ok(());
    }
    let new = file.with_extension(std::process::id().to_string());
    fs::write(&new, content)?;
    Ok(fs::rename(new, file)?)
}

/// False where the program is not there.
fn succeeds(command: &mut Command) -> Result<bool> {
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

/// Where the user's programs keep what they can get again.
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
