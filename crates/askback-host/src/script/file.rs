//! The answers file, in YAML or JSON.

use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{
    expand::Surroundings,
    rule::{Act, AnswerRule, Rule, SampledPart, SamplingRule},
};
use crate::{
    text::{Words, given},
    text_file, words, yaml,
};

#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// The rules for forms and links. The first match answers.
    #[serde(default)]
    pub answers: Vec<AnswerRule>,
    /// The rules for sampling requests.
    #[serde(default)]
    pub sampling: Vec<SamplingRule>,
    /// If absent, requests for roots are not answered.
    #[serde(default)]
    pub roots: Option<Vec<PathBuf>>,
    #[serde(default)]
    pub unused: UnusedRules,
}

/// What to do with rules that answered no question of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnusedRules {
    #[default]
    Warn,
    /// Report them, and fail the run.
    Error,
    Allow,
}

impl Script {
    /// Reads an answers file and expands its placeholders.
    /// Fails if the file cannot be read or is not valid, or if something that it names does not exist.
    pub fn load(file: &Path) -> Result<Self, Words> {
        let shown = given(file.display());
        let text = text_file::read_at(file)
            .map_err(|error| words!("{} cannot be read: {}", shown.clone(), given(error)))?;
        let at = Surroundings::of_process(file.parent().unwrap_or(Path::new("")));
        let script = Self::parse(&text).and_then(|script| script.settled(&at));
        script.map_err(|why| words!("{}: {}", shown, why))
    }

    /// Expands the variables and files that the answers name, and makes the roots' paths relative
    /// to the file's folder.
    /// The error names the rule with something that does not exist.
    pub fn settled(self, at: &Surroundings<'_>) -> Result<Self, Words> {
        let mut script = self.named("", false);
        for root in script.roots.iter_mut().flatten() {
            *root = at.folder.join(&*root);
        }
        expand(&mut script.answers, at)?;
        expand(&mut script.sampling, at)?;
        Ok(script)
    }

    /// Names the rules by their numbers. `whose` comes first.
    fn named(mut self, whose: &'static str, is_shared: bool) -> Self {
        for (number, rule) in (1_usize..).zip(&mut self.answers) {
            rule.name = words!("{}rule {}", whose, number);
            rule.is_shared = is_shared;
        }
        for (number, rule) in (1_usize..).zip(&mut self.sampling) {
            rule.name = words!("{}sampling rule {}", whose, number);
            rule.is_shared = is_shared;
        }
        self
    }

    /// Combines the script of a test case with the script of its suite. The rules of the case are
    /// first.
    #[must_use]
    pub fn with_shared(self, shared: &Self) -> Self {
        let mut script = self.named("case ", false);
        let mut shared = shared.clone().named("suite ", true);
        script.answers.append(&mut shared.answers);
        script.sampling.append(&mut shared.sampling);
        Self {
            roots: script.roots.or(shared.roots),
            unused: match script.unused {
                UnusedRules::Warn => shared.unused,
                unused => unused,
            },
            ..script
        }
    }

    /// Whether a rule plays a model that calls tools, or is for requests that offer tools. If so,
    /// the client declares support for tools in sampling.
    pub fn calls_tools(&self) -> bool {
        if self.sampling.iter().any(|rule| rule.when.tools.is_some()) {
            return true;
        }
        let steps = self.sampling.iter().flat_map(|rule| &rule.steps);
        let calls = |said: &SampledPart| matches!(said, SampledPart::Call { .. });
        steps
            .into_iter()
            .any(|step| matches!(&step.act, Act::Says(parts) if parts.iter().any(calls)))
    }

    /// Parses an answers file.
    /// Fails if the text is not a valid answers file. The message shows the position.
    pub fn parse(text: &str) -> Result<Self, Words> {
        yaml::parse::<Self>(text).map(|script| script.named("", false))
    }
}

fn expand<const SAMPLING: bool>(
    rules: &mut [Rule<SAMPLING>],
    at: &Surroundings<'_>,
) -> Result<(), Words> {
    for Rule { name, steps, .. } in rules {
        for text in steps.iter_mut().flat_map(|step| step.act.texts()) {
            let expanded = at.expand(text);
            expanded.map_err(|why| words!("{}: {}", name.clone(), why))?;
        }
    }
    Ok(())
}
