//! A server that is started as a process.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use askback::transport::Child;

/// A server that is started as a process.
#[derive(Clone)]
pub struct Program {
    /// The program.
    pub program: String,
    /// The folder in which it runs, if it is not the current one.
    pub folder: Option<PathBuf>,
    /// `PATH` of its environment, if it is not ours.
    pub path: Option<String>,
    /// How it is named in reports, if its program or its folder has the value of a variable, which may be a secret.
    pub shown: Option<ShownProgram>,
    /// Makes a process that is not started yet.
    pub child: Arc<dyn Fn() -> Child + Send + Sync>,
}

/// How a program is named in reports.
#[derive(Debug, Clone)]
pub struct ShownProgram {
    /// The program.
    pub program: String,
    /// The folder in which it runs.
    pub folder: Option<PathBuf>,
}

impl Program {
    /// The program, as reports name it.
    pub(crate) fn name(&self) -> &str {
        match &self.shown {
            Some(shown) => &shown.program,
            None => &self.program,
        }
    }

    /// The folder in which it is to run, as reports name it, if there is no such folder.
    pub(crate) fn missing_folder(&self) -> Option<&Path> {
        let folder = self.folder.as_deref().filter(|folder| !folder.is_dir())?;
        let shown = self
            .shown
            .as_ref()
            .and_then(|shown| shown.folder.as_deref());
        Some(shown.unwrap_or(folder))
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program")
            .field("program", &self.name())
            .finish_non_exhaustive()
    }
}
