//! The `pattern` of a text field where nothing reads it: a form that has one is refused when it is
//! checked, so that no answer to it is taken unread.

use alloc::string::String;

use crate::limits::FormLimits;

/// A pattern that can be checked: there is none.
pub(super) enum Pattern {}

impl Pattern {
    /// Says why the pattern cannot be checked here.
    pub(super) fn new(_: &str, _: &FormLimits) -> Result<Self, String> {
        Err("the feature `pattern` of askback is off".into())
    }

    /// Whether the pattern matches.
    pub(super) fn matches(&self, _: &str) -> bool {
        match *self {}
    }
}
