//! The state of a call that a client carries from one round to the next.

use std::hash::{DefaultHasher, Hash, Hasher};

/// A `requestState`, as far as it is needed to recognize it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    chars: usize,
    digest: u64,
}

impl State {
    pub(super) fn read(state: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        Self {
            chars: state.chars().count(),
            digest: hasher.finish(),
        }
    }

    pub(super) fn chars(&self) -> usize {
        self.chars
    }
}
