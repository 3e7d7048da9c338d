//! The authorization servers, installed into the user's cache: one from npm with a Node that is new
//! enough, one from PyPI into a virtual environment.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::install::{self, Result};

/// The packages from npm, pinned to the last byte.
const PACKAGE: &str = include_str!("../../issuers/package.json");
const LOCK: &str = include_str!("../../issuers/package-lock.json");
const OIDC_PROVIDER: &str = include_str!("../../issuers/oidc-provider.mjs");

/// The packages from PyPI, and the program that uses them.
const REQUIREMENTS: &str = include_str!("../../issuers/requirements.txt");
const AUTHLIB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/issuers/authlib_server.py");

/// The program or directory of an installation, or nothing where there can be none.
type Installed = OnceLock<Result<Option<PathBuf>, String>>;

/// The command that starts oidc-provider; nothing where there is no npm.
///
/// # Errors
///
/// If npm fails, or the cache cannot be written to.
pub fn oidc_provider() -> Result<Option<Command>> {
    static INSTALLED: Installed = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| in_npm().map_err(|error| error.to_string()));
    Ok(installed.clone()?.as_deref().map(install::node))
}

/// The command that starts the server made with Authlib; nothing where there is no Python with
/// virtual environments.
///
/// # Errors
///
/// If pip fails, or the cache cannot be written to.
pub fn authlib() -> Result<Option<Command>> {
    static INSTALLED: Installed = OnceLock::new();
    let command = |directory: &Path| {
        let mut command = Command::new(directory.join("bin/python"));
        // The sources are no place for what Python makes of them.
        command.arg(AUTHLIB).env("PYTHONDONTWRITEBYTECODE", "1");
        command
    };
    let installed = INSTALLED.get_or_init(|| {
        let environment = install::python("issuers/python", REQUIREMENTS);
        environment.map_err(|error| error.to_string())
    });
    Ok(installed.clone()?.as_deref().map(command))
}

fn in_npm() -> Result<Option<PathBuf>> {
    let Some(directory) = install::npm("issuers/npm", PACKAGE, LOCK)? else {
        return Ok(None);
    };
    let program = install::program(&directory, "oidc-provider", OIDC_PROVIDER)?;
    Ok(Some(program))
}
