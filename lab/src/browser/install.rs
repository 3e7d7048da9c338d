//! Finds Chromium on the machine, and installs its driver from npm into the user's cache.

use std::{path::PathBuf, process::Command, sync::OnceLock};

use crate::install::{self, Result};

/// The npm packages, pinned by a lock file, and the program that uses them.
const PACKAGE: &str = include_str!("../../connect/package.json");
const LOCK: &str = include_str!("../../connect/package-lock.json");
const DRIVER: &str = include_str!("../../connect/browser.mjs");

const CHROMIUM: [&str; 3] = ["chromium", "google-chrome", "google-chrome-stable"];

/// The environment variable that says whether tests may be skipped without a browser.
const REQUIRED: &str = "ASKBACK_BROWSER";

/// Returns the command that starts a browser; `None` if there is no browser, with the reason on stderr.
pub(super) fn command() -> Result<Option<Command>> {
    let Some(chromium) = chromium() else {
        return missing("Chromium");
    };
    let Some(driver) = driver()? else {
        return missing("npm");
    };
    let mut command = install::node(&driver);
    command.arg(chromium);
    Ok(Some(command))
}

fn missing(what: &str) -> Result<Option<Command>> {
    let required = std::env::var_os(REQUIRED).is_some_and(|it| it == "required");
    if required {
        return Err(format!(
            "pages cannot be tried: there is no {what}, and {REQUIRED}=required does not let them be left out. \
             Install it, or unset the variable."
        )
        .into());
    }
    install::tell_left_out("a browser", &format!("there is no {what}"));
    Ok(None)
}

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut places = std::env::split_paths(&path).flat_map(|directory| {
        let in_it = |name: &&str| directory.join(name);
        CHROMIUM.iter().map(in_it).collect::<Vec<_>>()
    });
    places.find(|place| place.is_file())
}

/// Installs the driver; `None` without npm.
fn driver() -> Result<Option<PathBuf>> {
    static INSTALLED: OnceLock<Result<Option<PathBuf>, String>> = OnceLock::new();
    let installed = INSTALLED.get_or_init(|| in_npm().map_err(|error| error.to_string()));
    Ok(installed.clone()?)
}

fn in_npm() -> Result<Option<PathBuf>> {
    let Some(directory) = install::npm("connect/npm", PACKAGE, LOCK)? else {
        return Ok(None);
    };
    let program = install::program(&directory, "browser", DRIVER)?;
    Ok(Some(program))
}
