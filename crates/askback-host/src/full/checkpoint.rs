//! The checkpoints of a sampling on the screen: what keys do there.

use super::key::Key;
use crate::model::{Action, Part, Permission, Step};

/// The answer of the person by a key, if it does anything here.
pub(super) fn said(step: &Step<'_>, key: &Key) -> Option<Action> {
    Some(match (step, key) {
        (Step::Request(_), Key::Enter) => Action::Run(Permission::Ask),
        (Step::Request(_), Key::Char('s')) => Action::Run(Permission::Session),
        // What is kept for later sessions takes two keys.
        (Step::Request(_), Key::Char('A')) => Action::Run(Permission::Always),
        (Step::Request(_), Key::Char('N')) => Action::Never,
        (Step::Request(_), Key::Char('e')) => Action::Rewrite(Part::Message),
        (Step::Request(_), Key::Char('y')) => Action::Rewrite(Part::System),
        (Step::Request(_), Key::Char('w')) => Action::WriteMyself,
        (Step::Replied(_), Key::Enter) => Action::Send,
        (Step::Replied(_), Key::Char('e')) => Action::Rewrite(Part::Reply),
        (Step::Replied(_), Key::Char('r')) => Action::Run(Permission::Ask),
        (Step::Replied(_) | Step::Running(_), Key::Char('b')) => Action::Back,
        (_, Key::Char('d')) => Action::Decline(None),
        _ => return None,
    })
}
