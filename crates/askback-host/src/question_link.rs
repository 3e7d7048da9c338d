//! The link between a question and the program that holds it: the typed text, and why the question ended.

use std::sync::{Arc, OnceLock};

use tokio::sync::watch;

use crate::{ending::QuestionEnd, model::Typed};

/// Connects a question of this front end with the program that holds it.
#[derive(Debug, Clone, Default)]
pub struct QuestionLink {
    pub(crate) typed: watch::Sender<TypedState>,
    /// Why the question ended, if it ended without a reply of this front end.
    pub(crate) end: Arc<OnceLock<QuestionEnd>>,
}

/// The typed content of a question, here and at the program that holds it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct TypedState {
    /// The number of the question in this front end, once it has the question.
    pub(crate) question: Option<u64>,
    /// The content that the program has. A value of another front end is written as this one shows it, so that it is
    /// not sent back.
    pub(crate) there: Typed,
    pub(crate) here: Typed,
}

impl TypedState {
    /// The fields whose content the program does not have.
    pub(crate) fn unsent(&self) -> Typed {
        let fields = self.here.iter();
        let unsent = fields.filter(|(name, value)| self.there.get(*name) != Some(*value));
        unsent
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}
