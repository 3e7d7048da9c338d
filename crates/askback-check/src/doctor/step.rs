//! The steps of a diagnosis, and what it warns of.

use std::time::Duration;

use askback_host::text::{PeerText, Words};

/// The findings about a server.
#[derive(Debug, Default)]
pub struct Diagnosis {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The faults that stop no client.
    pub warnings: Vec<Warning>,
    /// Whether it could be looked at no further without a sign-in.
    pub wants_sign_in: bool,
    /// The name and version in the greeting of the server.
    pub claims: Option<String>,
}

/// A step that a client takes, too.
#[derive(Debug, Clone)]
pub struct Step {
    /// The step.
    pub name: &'static str,
    /// Its outcome.
    pub state: State,
    /// The time it took.
    pub took: Option<Duration>,
    /// The observation.
    pub says: Words,
    /// The words of the server or the system.
    pub quoted: Option<PeerText>,
    /// The next thing to do.
    pub advice: Option<Words>,
}

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It went well.
    Ok,
    /// It failed.
    Failed,
    /// It was not tried.
    NotTried,
}

/// Something that is wrong, but stops no client.
#[derive(Debug, Clone, PartialEq)]
pub struct Warning {
    /// The fault.
    pub says: Words,
    /// Where: names of the server's, or lines it wrote.
    pub places: Vec<PeerText>,
    /// The consequence, or the next thing to do.
    pub advice: Words,
}

impl Diagnosis {
    /// Whether a step failed.
    pub fn has_failed(&self) -> bool {
        self.steps.iter().any(|step| step.state == State::Failed)
    }

    /// Whether there are warnings.
    pub fn has_warnings(&self) -> bool {
        !self.warnings.is_empty()
    }

    /// Adds a step that went well.
    pub(super) fn ok(
        &mut self,
        name: &'static str,
        took: Option<Duration>,
        says: impl Into<Words>,
    ) {
        self.add(Step {
            name,
            state: State::Ok,
            took,
            says: says.into(),
            quoted: None,
            advice: None,
        });
    }

    /// Adds a step that failed.
    pub(super) fn fail(
        &mut self,
        name: &'static str,
        says: impl Into<Words>,
        quoted: Option<String>,
        advice: impl Into<Words>,
    ) {
        self.add(Step {
            name,
            state: State::Failed,
            took: None,
            says: says.into(),
            quoted: quoted.filter(|text| !text.is_empty()).map(PeerText::from),
            advice: Some(advice.into()),
        });
    }

    /// Adds a step that there was no need to take.
    pub(super) fn skip(&mut self, name: &'static str, why: impl Into<Words>) {
        self.add(Step {
            name,
            state: State::NotTried,
            took: None,
            says: why.into(),
            quoted: None,
            advice: None,
        });
    }

    /// Puts the steps into this order, with those that were not reached.
    pub(super) fn complete(&mut self, names: &[&'static str]) {
        for name in names {
            if !self.steps.iter().any(|step| step.name == *name) {
                self.skip(name, "");
            }
        }
        let place = |step: &Step| names.iter().position(|name| *name == step.name);
        self.steps.sort_by_key(place);
    }

    /// Sets what was seen in a step that went well.
    pub(super) fn say(&mut self, name: &'static str, says: Words) {
        let mut steps = self.steps.iter_mut();
        if let Some(step) = steps.find(|step| step.name == name && step.state == State::Ok) {
            step.says = says;
        }
    }

    /// Quotes something beside the last step.
    pub(super) fn quote(&mut self, text: impl Into<PeerText>) {
        if let Some(step) = self.steps.last_mut() {
            step.quoted = Some(text.into());
        }
    }

    /// Adds a warning.
    pub(super) fn warn(
        &mut self,
        says: impl Into<Words>,
        places: impl IntoIterator<Item = String>,
        advice: impl Into<Words>,
    ) {
        self.warnings.push(Warning {
            says: says.into(),
            places: places.into_iter().map(PeerText::from).collect(),
            advice: advice.into(),
        });
    }

    fn add(&mut self, step: Step) {
        self.steps.push(step);
    }
}
