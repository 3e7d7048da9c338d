//! Where the standard error of a server goes (`--stderr`).

use std::{
    convert::Infallible,
    fs::File,
    io::Write,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use askback_host::remarks::StderrMode;

use crate::{error::Error, own_files};

/// What `--stderr` is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StderrTo {
    Show,
    Hide,
    File(PathBuf),
}

/// A file to which lines are added.
pub type StderrFile = Arc<Mutex<File>>;

impl StderrTo {
    /// Reads what `--stderr` is given.
    pub fn read(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "show" => Self::Show,
            "hide" => Self::Hide,
            file => Self::File(file.into()),
        })
    }

    /// How much is shown.
    pub fn mode(&self) -> StderrMode {
        match self {
            Self::Show => StderrMode::Always,
            Self::Hide | Self::File(_) => StderrMode::Never,
        }
    }

    pub fn file(&self) -> Result<Option<StderrFile>, Error> {
        let Self::File(path) = self else {
            return Ok(None);
        };
        let file = own_files::append(path).map_err(|error| Error::unwritten(path, &error))?;
        Ok(Some(Arc::new(Mutex::new(file))))
    }
}

/// Adds a line. A disk that is full does not end the conversation.
pub fn add(file: &StderrFile, line: &str) {
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = writeln!(file, "{line}");
}
