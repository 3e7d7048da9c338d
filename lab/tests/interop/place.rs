use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{Result, plan::Run, program::Ended};

const PLACES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/interop");

pub(crate) struct Place {
    pub(crate) path: PathBuf,
}

impl Place {
    /// Creates an empty directory, with a folder to share with servers.
    pub(crate) fn of(run: &Run) -> Result<Self> {
        Self::named(&run.to_string().replace(' ', "-"))
    }

    pub(crate) fn named(name: &str) -> Result<Self> {
        let path = Path::new(PLACES).join(name);
        if path.exists() {
            fs::remove_dir_all(&path)?;
        }
        fs::create_dir_all(path.join("roots"))?;
        Ok(Self { path })
    }

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
