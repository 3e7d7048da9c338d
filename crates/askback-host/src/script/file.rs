//! The answers file: YAML, and so JSON too.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::rule::{Act, Reply, Rule};
use crate::{
    settings_file,
    text::{Words, given},
    words,
};

/// An answers file.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The rules for forms and links; the first that fits answers.
    #[serde(default)]
    pub answers: Vec<Rule<Act>>,
    /// The rules for what a model is asked.
    #[serde(default)]
    pub sampling: Vec<Rule<Reply>>,
    /// The folders to show; where absent, a question for them is not answered.
    #[serde(default)]
    pub roots: Option<Vec<PathBuf>>,
    /// The rules that answer nothing.
    #[serde(default)]
    pub unused: Unused,
}

/// The treatment of rules that answer no question of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unused {
    /// They are told.
    #[default]
    Warn,
    /// They are told, and fail the run.
    Error,
    /// They are passed over.
    Allow,
}

impl Script {
    /// Reads an answers file. Its roots are seen from where it lies.
    ///
    /// # Errors
    ///
    /// Says why it cannot be read, or shows the place where the file is not one of answers.
    pub fn load(file: &Path) -> Result<Self, Words> {
        let shown = given(file.display());
        let text = settings_file::read_at(file)
            .map_err(|error| words!("{} cannot be read: {}", shown.clone(), given(error)))?;
        let mut script = Self::parse(&text).map_err(|why| words!("{}: {}", shown, why))?;
        let folder = file.parent().unwrap_or(Path::new(""));
        for root in script.roots.iter_mut().flatten() {
            *root = folder.join(&*root);
        }
        Ok(script)
    }

    /// Reads the text of an answers file.
    ///
    /// # Errors
    ///
    /// Shows the place where the text is not one of answers.
    pub fn parse(text: &str) -> Result<Self, Words> {
        yaml_serde::from_str(text).map_err(|error| {
            let place = error.location().map(|at| (at.line(), at.column()));
            match place {
                // Where a file begins is the one place that the reader leaves out of what it says.
                Some((1, 1)) => words!("{} at line 1", given(error)),
                _ => words!("{}", given(error)),
            }
        })
    }
}
