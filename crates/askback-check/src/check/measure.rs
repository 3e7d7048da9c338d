//! The findings of a check that count.

use std::collections::BTreeSet;

use super::rules::{self, Level, Rule};

/// The measure that a server is held to.
#[derive(Debug, Clone, Default)]
pub struct Measure {
    /// Whether what should be counts, too.
    pub is_strict: bool,
    /// The ids of the requirements that may be broken.
    pub allowed: BTreeSet<&'static str>,
}

impl Measure {
    /// Whether a requirement may be broken, since the person said so.
    pub fn allows(&self, rule: &Rule) -> bool {
        self.allowed.contains(rule.id)
    }

    /// Whether a server that breaks this requirement is at fault.
    pub fn counts(&self, rule: &Rule) -> bool {
        !self.allows(rule) && (self.is_strict || rule.level == Level::Must)
    }
}

/// The requirement of this id.
///
/// # Errors
///
/// Where none of this id is tried.
pub fn known(id: &str) -> Result<&'static str, &'static str> {
    let rule = rules::ALL.iter().find(|rule| rule.id == id);
    rule.map(|rule| rule.id)
        .ok_or("no requirement of this id is tried; askback check --all lists those that are")
}
