use askback::{forms::Content, limits::Limits};

use super::{Ask, Call, Draft, Question, stage::Stage};
use crate::text::Clock;

/// The last unfinished form or model reply whose question was withdrawn. It is restored if the same
/// question is asked again, for example because a call is repeated after a lost connection. A form
/// that asks for secrets is not kept.
#[derive(Debug, Default)]
pub(super) struct Leftover(Option<(Question, Stage)>);

impl Leftover {
    pub(super) fn keep(&mut self, question: Question, stage: Stage, limits: &Limits) {
        if let Some(stage) = written(&question.ask, stage, limits) {
            self.0 = Some((question, stage));
        }
    }

    pub(super) fn is_of(&self, call: &Call) -> bool {
        let kept = self.0.as_ref();
        kept.is_some_and(|(question, _)| question.call.as_ref() == Some(call))
    }

    pub(super) fn take(&mut self, question: &Question) -> Option<Stage> {
        let (_, stage) = self.0.take_if(|(before, _)| before == question)?;
        Some(stage)
    }
}

/// Returns the stage at which the user can continue, if anything was written.
fn written(ask: &Ask, stage: Stage, limits: &Limits) -> Option<Stage> {
    match (ask, stage) {
        (_, Stage::Reason(before)) => written(ask, *before, limits),
        (Ask::Form { schema, .. }, Stage::Filling(draft) | Stage::Review(draft)) => {
            let (none, clock) = (Content::new(), Clock::default());
            let empty = || Draft::new(schema.clone(), &none, limits.clone(), clock);
            (!ask.asks_for_secrets() && draft != empty()).then_some(Stage::Filling(draft))
        }
        (Ask::Sample(asked), Stage::Request(sampling) | Stage::Running(sampling)) => {
            (sampling.request != **asked || sampling.has_kept()).then_some(Stage::Request(sampling))
        }
        (Ask::Sample(_), Stage::Write(sampling)) => {
            (!sampling.so_far.is_empty()).then_some(Stage::Write(sampling))
        }
        (
            Ask::Sample(_),
            stage @ (Stage::Replied(_) | Stage::Rewriting(..) | Stage::Reread(..)),
        ) => Some(stage),
        _ => None,
    }
}
