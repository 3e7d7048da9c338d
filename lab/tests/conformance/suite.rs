//! The official suite: an npm package, and a Node that is new enough for it.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

use crate::Result;

/// What is installed, pinned to the last byte.
const PACKAGE: &str = include_str!("../../conformance/package.json");
const LOCK: &str = include_str!("../../conformance/package-lock.json");

/// The suite, installed.
pub(crate) struct Suite {
    directory: PathBuf,
}

impl Suite {
    /// Installs the suite into the user's cache, unless it is there; nothing where there is no npm.
    pub(crate) fn install() -> Result<Option<Self>> {
        let directory = cache()?.join("askback/conformance");
        let suite = Self { directory };
        if suite.is_installed() {
            return Ok(Some(suite));
        }
        // Made beside it and moved, so that what is there is always whole.
        let new = suite
            .directory
            .with_extension(std::process::id().to_string());
        fs::create_dir_all(&new)?;
        let installed = install(&new);
        if let Ok(true) = installed {
            let _ = fs::remove_dir_all(&suite.directory);
            match fs::rename(&new, &suite.directory) {
                // Somebody else was faster.
                Err(_) if suite.is_installed() => {}
                renamed => renamed?,
            }
        }
        let _ = fs::remove_dir_all(&new);
        Ok(installed?.then_some(suite))
    }

    /// The suite's command.
    pub(crate) fn command(&self) -> Command {
        let modules = self.directory.join("node_modules");
        let mut command = Command::new(modules.join("node/bin/node"));
        command.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
        command
    }

    /// Whether what is there is what is pinned.
    fn is_installed(&self) -> bool {
        let file = |name: &str| fs::read_to_string(self.directory.join(name)).ok();
        file("package-lock.json").as_deref() == Some(LOCK)
            && self.directory.join("node_modules/node/bin/node").exists()
    }
}

/// False where there is no npm.
fn install(directory: &Path) -> Result<bool> {
    fs::write(directory.join("package.json"), PACKAGE)?;
    fs::write(directory.join("package-lock.json"), LOCK)?;
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(directory);
    match npm.output() {
        Ok(output) if output.status.success() => Ok(true),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("npm cannot install it: {}", said.trim()).into())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(format!("npm cannot be started: {error}").into()),
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
