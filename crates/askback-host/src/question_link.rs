//! The link between a question and the program that holds it: the typed text, and why the question ended.

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
    /// The content that all front ends have when this one gets the question.
    pub(crate) shared: Typed,
    /// The content in this front end.
    pub(crate) now: Typed,
    /// The changes of other front ends, as they are shown here. A field may write a value in another
    /// way, which is not a change by the user.
    pub(crate) applied: Typed,
}
