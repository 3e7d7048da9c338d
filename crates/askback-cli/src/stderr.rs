//! The destination of a server's stderr (`--stderr`).

use std::{
    convert::Infallible,
    fs::File,
    io::Write,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use askback_host::remarks::StderrMode;

use crate::{error::Error, own_files};

/// The value of `--stderr`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StderrTo {
    Show,
    Hide,
    File(PathBuf),
}

/// A file to which lines are appended.
pub type StderrFile = Arc<Mutex<File>>;

impl StderrTo {
    /// Parses the value of `--stderr`.
    pub fn read(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            "show" => Self::Show,
            "hide" => Self::Hide,
            file => Self::File(file.into()),
        })
    }

    /// How much of it is shown.
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

/// Appends a line. A full disk does not end the conversation.
pub fn add(file: &StderrFile, line: &str) {
    let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
    let _ = writeln!(file, "{line}");
}
