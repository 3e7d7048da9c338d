//! The checkpoints of a sampling on the screen: what keys do there.

use super::key::Key;
use crate::model::{Part, Permission, Said, Sampling, Step};

/// Where the person is at a checkpoint.
#[derive(Debug, Default)]
pub(super) struct Checkpoint {
    /// The call of the reply, by its number from nought.
    call: usize,
}

impl Checkpoint {
    /// The call of the reply at which the person is, by its number from nought.
    pub(super) fn at(&self, reply: &Sampling) -> usize {
        self.call.min(reply.calls().count().saturating_sub(1))
    }

    /// Does what a key does, if it does anything here.
    pub(super) fn press(&mut self, step: &Step<'_>, key: &Key) -> Option<Vec<Said>> {
        if let Step::Replied(reply) = step {
            let (at, count) = (self.at(reply), reply.calls().count());
            let last = count.saturating_sub(1);
            match key {
                Key::Tab if at == last => self.call = 0,
                Key::Tab => self.call = at.saturating_add(1),
                Key::BackTab => self.call = at.checked_sub(1).unwrap_or(last),
                Key::Char('c') => return Some(vec![Said::Change(at)]),
                Key::Char('x') => return Some(vec![Said::TakeOut(at)]),
                key => return said(step, key),
            }
            return Some(Vec::new());
        }
        said(step, key)
    }
}

fn said(step: &Step<'_>, key: &Key) -> Option<Vec<Said>> {
    let said = match (step, key) {
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
        (Step::Replied(_), Key::Char('t')) => Said::Pick,
        (Step::Replied(_), Key::Char('r')) => Said::Run(Permission::Ask),
        (Step::Replied(_) | Step::Running(_), Key::Char('b')) => Said::Back,
        (_, Key::Char('d')) => Said::Decline(None),
        _ => return None,
    };
    Some(vec![said])
}
