//! The answers file: YAML, and so JSON too.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{
    expand::Surroundings,
    report::{Place, RulesOf},
    rule::{Act, Action, Reply, Rule, SampledPart},
};
use crate::{
    text::{Words, given},
    text_file, words, yaml,
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
    pub unused: UnusedRules,
    /// The seed of values that are made up: another seed, other values.
    #[serde(default)]
    pub seed: u64,
}

/// The treatment of rules that answer no question of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnusedRules {
    /// They are told.
    #[default]
    Warn,
    /// They are told, and fail the run.
    Error,
    /// They are passed over.
    Allow,
}

impl Script {
    /// Reads an answers file, and puts in place what it leaves to its surroundings.
    ///
    /// # Errors
    ///
    /// Says why it cannot be read, shows the place where the file is not one of answers, or names what
    /// is not there of its surroundings.
    pub fn load(file: &Path) -> Result<Self, Words> {
        let shown = given(file.display());
        let text = text_file::read_at(file)
            .map_err(|error| words!("{} cannot be read: {}", shown.clone(), given(error)))?;
        let at = Surroundings::of_process(file.parent().unwrap_or(Path::new("")));
        let script = Self::parse(&text).and_then(|script| script.settled(&at));
        script.map_err(|why| words!("{}: {}", shown, why))
    }

    /// Puts in place what the file leaves to its surroundings: the variables and files that its
    /// answers name, and where the paths of its roots start.
    ///
    /// # Errors
    ///
    /// Says which rule names something that is not there.
    pub fn settled(mut self, at: &Surroundings<'_>) -> Result<Self, Words> {
        for root in self.roots.iter_mut().flatten() {
            *root = at.folder.join(&*root);
        }
        expand(&mut self.answers, Place::Answers, at)?;
        expand(&mut self.sampling, Place::Sampling, at)?;
        Ok(self)
    }

    /// The script of a case, with what its suite has for all cases: the rules of the case come first.
    #[must_use]
    pub fn with_shared(mut self, shared: &Self) -> Self {
        self.answers.extend(shared.answers.iter().cloned());
        self.sampling.extend(shared.sampling.iter().cloned());
        Self {
            roots: self.roots.or_else(|| shared.roots.clone()),
            unused: match self.unused {
                UnusedRules::Warn => shared.unused,
                unused => unused,
            },
            seed: match self.seed {
                0 => shared.seed,
                seed => seed,
            },
            ..self
        }
    }

    /// Whether a rule calls tools in place of a model, or is for requests that offer them: then the client declares that
    /// it can.
    pub fn calls_tools(&self) -> bool {
        if self.sampling.iter().any(|rule| rule.when.tools.is_some()) {
            return true;
        }
        let steps = self.sampling.iter().flat_map(|rule| &rule.steps);
        let calls = |said: &SampledPart| matches!(said, SampledPart::Call { .. });
        steps
            .into_iter()
            .any(|step| matches!(&step.act, Reply::Says(parts) if parts.iter().any(calls)))
    }

    /// Reads the text of an answers file.
    ///
    /// # Errors
    ///
    /// Shows the place where the text is not one of answers.
    pub fn parse(text: &str) -> Result<Self, Words> {
        yaml::parse(text)
    }
}

fn expand<A: Action>(
    rules: &mut [Rule<A>],
    place: fn(usize) -> Place,
    at: &Surroundings<'_>,
) -> Result<(), Words> {
    for (number, rule) in (1..).zip(rules) {
        for text in rule.steps.iter_mut().flat_map(|step| step.act.texts()) {
            let expanded = at.expand(text);
            let rule = || place(number).words(RulesOf::default());
            expanded.map_err(|why| words!("{}: {}", rule(), why))?;
        }
    }
    Ok(())
}
