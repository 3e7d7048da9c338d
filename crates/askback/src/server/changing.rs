//! The lists of a server that may change.

/// Which lists of a server may change while it runs.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Changing {
    pub(super) tools: bool,
    pub(super) prompts: bool,
    pub(super) resources: bool,
}

impl Changing {
    /// Returns the lists that may change where both are one server.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            tools: self.tools || other.tools,
            prompts: self.prompts || other.prompts,
            resources: self.resources || other.resources,
        }
    }
}
