use std::{path::PathBuf, process::Command};

use lab::install;

use crate::Result;

/// The npm package of the suite, pinned by a lock file.
const PACKAGE: &str = include_str!("../../conformance/package.json");
const LOCK: &str = include_str!("../../conformance/package-lock.json");

pub(crate) struct Suite {
    directory: PathBuf,
}

impl Suite {
    pub(crate) fn install() -> Result<Option<Self>> {
        let installed = install::npm("conformance", PACKAGE, LOCK)?;
        Ok(installed.map(|directory| Self { directory }))
    }

    pub(crate) fn command(&self) -> Command {
        let modules = self.directory.join("node_modules");
        let mut command = Command::new(self.directory.join(install::NODE));
        command.arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"));
        command
    }
}
