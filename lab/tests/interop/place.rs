//! Where a run works, and leaves what was said for whoever looks into a failure.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Result, plan::Run, program::Ended};

const PLACES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/interop");

/// A directory of a run's own.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
}

impl Place {
    /// An empty one, with a folder to show to servers.
    pub(crate) fn of(run: &Run) -> Result<Self> {
        Self::named(&run.to_string().replace(' ', "-"))
    }

    /// The same, by a name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let path = Path::new(PLACES).join(name);
        if path.exists() {
            fs::remove_dir_all(&path)?;
        }
        fs::create_dir_all(path.join("roots"))?;
        Ok(Self { path })
    }

    /// Keeps what a program said.
    pub(crate) fn keep(&self, name: &str, ended: &Ended) -> Result<()> {
        let Ended {
            code,
            stdout,
            stderr,
        } = ended;
        let text = format!("exit {code:?}\n\n{stdout}\n\n{stderr}");
        Ok(fs::write(self.path.join(format!("{name}.txt")), text)?)
    }
}
