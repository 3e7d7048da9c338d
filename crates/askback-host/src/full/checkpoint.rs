//! The checkpoints of a sampling on the screen: what keys do there.

use super::key::Key;
use crate::model::{Part, Permission, Said, Step};

/// The answer of the person by a key, if it does anything here.
pub(super) fn said(step: &Step<'_>, key: &Key) -> Option<Said> {
    Some(match (step, key) {
        (Step::Request(_), Key::Enter) => Said::Run(Permission::Ask),
        (Step::Request(_), Key::Char('s')) => Said::Run(Permission::Session),
        // What is kept for later sessions takes two keys.
        (Step::Request(_), Key::Char('A')) => Said::Run(Permission::Always),
        (Step::Request(_), Key::Char('N')) => Said::Never,
        (Step::Request(_), Key::Char('e')) => Said::Rewrite(Part::Message),
        (Step::Request(_), Key::Char('y')) => Said::Rewrite(Part::System),
        (Step::Request(_), Key::Char('w')) => Said::WriteMyself,
        (Step::Replied(_), Key::Enter) => Said::Send,
        (Step::Replied(_), Key::Char('e')) => Said::Rewrite(Part::Reply),
        (Step::Replied(_), Key::Char('r')) => Said::Run(Permission::Ask),
        (Step::Replied(_) | Step::Running(_), Key::Char('b')) => Said::Back,
        (_, Key::Char('d')) => Said::Decline(None),
        _ => return None,
    })
}
