//! The issues of an answer or a form, in words.

use alloc::{
    string::{String, ToString},
    vec::Vec,
};
use core::fmt;

use crate::quote::QuotedName;

/// One thing that is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// The name of the field; empty where the form as a whole is meant.
    pub path: String,
    /// The issue and its remedy, for a person: "needs 2 more characters".
    pub message: String,
}

/// Everything that is wrong, in the order of the form.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Issues(pub Vec<Issue>);

impl Issue {
    /// An issue of one field.
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
    /// An error with these issues, or success where there are none.
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
