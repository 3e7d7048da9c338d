//! What connects a question with the program that holds it: the typed text, and why it ended.

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use crate::{ending::QuestionEnd, model::Typed};

/// Connects a question of this front end with the program that holds it.
#[derive(Debug, Clone, Default)]
pub struct QuestionLink {
    /// The content that was typed before this front end had the question.
    pub(crate) given: Typed,
    /// The content that is typed here. `None` until the front end has the question.
    pub(crate) typed: watch::Sender<Option<TypedState>>,
    /// Why the question ended, if it ended without a reply of this front end.
    pub(crate) end: Arc<OnceLock<QuestionEnd>>,
}

/// The typed content of a question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TypedState {
    /// The number of the question in this front end.
    pub(crate) question: u64,
    /// The content that all front ends have at the start.
    pub(crate) shared: Typed,
    /// The content in this front end.
    pub(crate) now: Typed,
    /// The fields that last changed elsewhere, as they are here. A field may hold another form of a
    /// value, which is no change of the user.
    pub(crate) applied: Typed,
}
