//! Installs the authorization servers into the user's cache: one from npm with a recent Node, one from PyPI into a
//! virtual environment.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::install::{self, Result};

/// The npm packages, pinned by a lock file.
const PACKAGE: &str = include_str!("../../issuers/package.json");
const LOCK: &str = include_str!("../../issuers/package-lock.json");
const OIDC_PROVIDER: &str = include_str!("../../issuers/oidc-provider.mjs");

/// The PyPI packages, and the program that uses them.
const REQUIREMENTS: &str = include_str!("../../issuers/requirements.txt");
const AUTHLIB: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/issuers/authlib_server.py");

/// The path of an installation, or `None` if it is not possible.
type Installed = OnceLock<Result<Option<PathBuf>, String>>;

/// Returns the command that starts oidc-provider; `None` without npm.
///
/// # Errors
///
/// If npm fails, or the cache is not writable.
pub fn oidc_provider() -> Result<Option<Command>> {
    static INSTALLED: Installed = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| in_npm().map_err(|error| error.to_string()));
    Ok(installed.clone()?.as_deref().map(install::node))
}

/// Returns the command that starts the server with Authlib; `None` without a Python that has virtual environments.
///
/// # Errors
///
/// If pip fails, or the cache is not writable.
pub fn authlib() -> Result<Option<Command>> {
    static INSTALLED: Installed = OnceLock::new();
    let command = |directory: &Path| {
        let mut command = Command::new(directory.join("bin/python"));
        // Python must not write its cache into the sources.
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
