//! A form that was being filled in when its question went away.

use askback_core::{forms::Content, limits::Limits};

use super::{Ask, Draft, Question, stage::Stage};

/// The form that went away last, as far as it was filled in: it is there again where the same question
/// is asked again, as it is when a call is repeated after a lost connection. A form that asks for
/// secrets is not kept.
#[derive(Debug, Default)]
pub(super) struct Kept(Option<(Question, Draft)>);

impl Kept {
    /// Keeps what the person wrote, if it was a form.
    pub(super) fn keep(&mut self, question: Question, stage: Stage, limits: &Limits) {
        let Ask::Form { message, schema } = &question.ask else {
            return;
        };
        if schema.secret_fields(message).next().is_none()
            && let Some(draft) = draft(stage)
            && draft != Draft::new(schema.clone(), &Content::new(), limits.clone())
        {
            self.0 = Some((question, draft));
        }
    }

    /// Takes the form of a question, if it is the one that went away.
    pub(super) fn take(&mut self, question: &Question) -> Option<Draft> {
        let (_, draft) = self.0.take_if(|(before, _)| before == question)?;
        Some(draft)
    }
}

fn draft(stage: Stage) -> Option<Draft> {
    match stage {
        Stage::Filling(draft) | Stage::Review(draft) => Some(draft),
        Stage::Reason(before) => draft(*before),
        _ => None,
    }
}
