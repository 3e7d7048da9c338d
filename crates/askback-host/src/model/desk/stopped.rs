//! The questions of a call that the person stopped, in the revisions whose questions do not name their call.

use super::Desk;
use crate::model::{
    Ask, Question, Reply, Why,
    step::{Effect, Notice},
};

/// Whether the last call was stopped, and nothing was begun since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Stopped {
    #[default]
    No,
    /// It was, and no question came since.
    Silent,
    /// It was, and the person was told that the server asks on.
    Told,
}

impl Stopped {
    /// Whether a question can only be one for the call that was stopped. A server asks for folders at any time.
    pub(super) fn is_for(self, question: &Question) -> bool {
        let asks = matches!(
            question.ask,
            Ask::Form { .. } | Ask::Link { .. } | Ask::Sample(_)
        );
        self != Self::No && asks && question.call.is_none()
    }
}

impl Desk {
    /// Takes note that the person stopped the call, while nothing else of the server was under way.
    pub fn stop_call(&mut self) {
        self.stopped = Stopped::Silent;
    }

    /// Takes note that the person does something else: what is asked from now on may belong to that.
    pub fn go_on(&mut self) {
        self.stopped = Stopped::No;
    }

    /// Cancels a question of the call that was stopped, and says so once.
    pub(super) fn asks_on(&mut self, id: u64) -> Vec<Effect> {
        let is_told = self.stopped == Stopped::Told;
        self.stopped = Stopped::Told;
        let tell = (!is_told).then_some(Effect::Tell(Notice::AsksOn));
        let cancel = Effect::Answer(id, Reply::Cancelled(Why::Stopped));
        tell.into_iter().chain([cancel]).collect()
    }
}
