//! The names of what clients ask for.

use std::fmt;

use askback_core::quote::excerpt;

/// The name or URI that a request asks for, as its client wrote it. It may be as long as a message and hold
/// anything; what is written of it, into a log, is an excerpt.
#[derive(Clone)]
pub(crate) struct Target(String);

impl Target {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Target {
    fn from(name: String) -> Self {
        Self(name)
    }
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\"", excerpt(&self.0))
    }
}
