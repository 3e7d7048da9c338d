//! Tracks what the user agreed to and wrote at a desk. The desk may open, share and keep nothing
//! else.

use std::collections::BTreeMap;

use askback::{forms::Content, limits::Limits, protocol::Root};
use askback_host::{
    model::{Action, Ask, Draft, Effect, Event, Front, Question, Reply, Step},
    text::Clock,
};
use proptest::prelude::*;

#[derive(Default)]
pub(crate) struct Agreed {
    links: BTreeMap<u64, String>,
    folders: Option<Vec<Root>>,
    /// Whether a folder that the user named is being checked.
    is_looking: bool,
}

impl Agreed {
    /// Records an agreement, before the event is applied. Returns whether the event is possible.
    pub(crate) fn hear(&mut self, front: Option<Front<'_>>, event: &Event) -> bool {
        let was_looking = self.is_looking;
        let is_look = matches!(event, Event::Folder(_));
        self.is_looking &= !is_look;
        let Some(front) = front else {
            return was_looking || !is_look;
        };
        match (front.step, event) {
            (Step::Consent(link), Event::Action(Action::Yes)) if link.warnings.is_empty() => {
                self.links.insert(front.id, link.url.clone());
            }
            (Step::Sure(link), Event::Action(Action::Yes)) => {
                self.links.insert(front.id, link.url.clone());
            }
            (Step::Folders(Some(root)), Event::Action(Action::Yes)) => {
                self.folders = Some(vec![root.clone()]);
            }
            (Step::Folders(_), Event::Folder(Ok(root))) if was_looking => {
                self.folders = Some(vec![root.clone()]);
            }
            _ => {}
        }
        was_looking || !is_look
    }

    /// Checks that the user agreed to what is opened and shared. `front` is the question that was
    /// in front.
    pub(crate) fn check(
        &mut self,
        front: Option<u64>,
        effects: &[Effect],
    ) -> Result<(), TestCaseError> {
        for effect in effects {
            match effect {
                Effect::Open(url) => {
                    let agreed = front.and_then(|id| self.links.get(&id));
                    prop_assert_eq!(agreed, Some(url), "a link is opened");
                }
                Effect::Answer(id, Reply::Link) => {
                    prop_assert!(self.links.contains_key(id), "{id} is agreed to");
                }
                Effect::Answer(_, Reply::Roots(roots)) => {
                    prop_assert_eq!(self.folders.as_ref(), Some(roots), "folders are shared");
                }
                Effect::CheckFolder(_) => self.is_looking = true,
                _ => {}
            }
        }
        Ok(())
    }
}

#[derive(Default)]
pub(crate) struct Written {
    drafts: BTreeMap<u64, Draft>,
    /// The last withdrawn form that had content.
    kept: Option<(Question, Draft)>,
}

impl Written {
    pub(crate) fn hear(&mut self, front: Option<Front<'_>>, event: &Event) {
        let Some(front) =
            front.filter(|front| matches!(event, Event::Ended(id, _) if *id == front.id))
        else {
            return;
        };
        let draft = self.drafts.remove(&front.id);
        match (&front.question.ask, draft) {
            (Ask::Form { schema, .. }, Some(draft)) if !front.question.ask.asks_for_secrets() => {
                let (none, limits) = (Content::new(), Limits::default());
                let empty = Draft::new(schema.clone(), &none, limits, Clock::default());
                if draft != empty {
                    self.kept = Some((front.question.clone(), draft));
                }
            }
            // An unfinished model reply replaces a kept form.
            (Ask::Sample(_), _) => self.kept = None,
            _ => {}
        }
    }

    /// Checks that the form in front is unchanged, unless the user changed it.
    pub(crate) fn check(
        &mut self,
        front: Option<Front<'_>>,
        event: &Event,
        effects: &[Effect],
    ) -> Result<(), TestCaseError> {
        if let Event::Asked(id, question) = event {
            let is_refused = |effect: &Effect| matches!(effect, Effect::Answer(of, _) if of == id);
            let is_kept = self.kept.take_if(|(before, _)| before == question);
            if let Some((question, draft)) = is_kept {
                match effects.iter().any(is_refused) {
                    true => self.kept = Some((question, draft)),
                    false => drop(self.drafts.insert(*id, draft)),
                }
            }
        }
        let Some(front) = front.filter(|front| matches!(front.question.ask, Ask::Form { .. }))
        else {
            return Ok(());
        };
        let (Step::Filling(draft) | Step::Review(draft)) = front.step else {
            return Ok(());
        };
        if let Some(before) = self.drafts.insert(front.id, draft.clone()) {
            match event {
                Event::Action(Action::Write { .. } | Action::Choose { .. } | Action::Clear(_)) => {}
                _ => prop_assert_eq!(&before, draft, "after {:?}", event),
            }
        }
        Ok(())
    }
}
