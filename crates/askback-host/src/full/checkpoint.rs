//! Keys at the checkpoints of a sampling request.

use super::key::Key;
use crate::model::{Action, Part, Permission, Step};

pub(super) fn said(step: &Step<'_>, key: &Key) -> Option<Action> {
    Some(match (step, key) {
        (Step::Request(_), Key::Enter) => Action::Run(Permission::Ask),
        (Step::Request(_), Key::Char('s')) => Action::Run(Permission::Session),
        // A permanent permission takes Shift.
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
