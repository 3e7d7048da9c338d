//! How a server went away.

use alloc::{borrow::ToOwned, string::String};
use core::fmt;

/// How a server went away.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerEnd {
    /// The exit code, where the server was a process and has ended with one.
    pub code: Option<i32>,
    /// The circumstances, in words.
    pub why: String,
}

impl ServerEnd {
    /// Returns the end of a process with this exit code.
    #[must_use]
    pub fn exited(code: i32) -> Self {
        Self {
            code: Some(code),
            why: alloc::format!("it exited (code {code})"),
        }
    }
}

impl From<String> for ServerEnd {
    fn from(why: String) -> Self {
        Self { code: None, why }
    }
}

impl From<&str> for ServerEnd {
    fn from(why: &str) -> Self {
        why.to_owned().into()
    }
}

impl fmt::Display for ServerEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}
