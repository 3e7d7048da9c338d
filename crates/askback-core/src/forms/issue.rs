//! The issues of an answer or a form, as text.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use crate::quote::QuotedName;

/// A problem with one field or with the whole form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The name of the field; empty if the issue is about the whole form.
    pub path: String,
    /// What is wrong and how to fix it, for a person: "needs 2 more characters".
    pub message: String,
}

/// All issues, in the order of the form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Issues(pub Vec<Issue>);

impl Issue {
    /// Makes an issue of one field.
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            message: message.into(),
        }
    }
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", QuotedName(&self.path), self.message)
        }
    }
}

impl core::error::Error for Issue {}

impl Issues {
    /// Returns an error if there are any issues.
    ///
    /// # Errors
    ///
    /// The issues themselves.
    pub fn into_result(self) -> Result<(), Self> {
        if self.0.is_empty() { Ok(()) } else { Err(self) }
    }

    pub(super) fn push(&mut self, path: &str, message: impl Into<String>) {
        self.0.push(Issue::new(path.to_string(), message));
    }
}

impl fmt::Display for Issues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, issue) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            issue.fmt(f)?;
        }
        Ok(())
    }
}

impl core::error::Error for Issues {}

impl From<Issue> for Issues {
    fn from(issue: Issue) -> Self {
        Self([issue].into())
    }
}
