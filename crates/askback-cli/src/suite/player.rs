//! The front end of a suite, which plays the script of each case.

use std::{
    cell::RefCell,
    io,
    rc::Rc,
    task::{Context, Poll},
};

use askback::{Limits, witness::Renderer};
use askback_host::{
    leaf::{Did, Leaf, LinkOpening},
    model::{Conversation, Desk, EventOutcome},
    page::{Look, Page, Rows},
    remarks::Remark,
    script::Report,
    text::Words,
    unattended::UnattendedRun,
};

use super::file::Case;

/// How many pages of a case are kept for its report.
const PAGES: usize = 256;

/// The look of a report: a page minus the indentation of a case, and no styles because a report may be written to a
/// file.
const LOOK: Look = Look {
    columns: 92,
    styled: false,
};

/// A front end whose script changes between cases.
pub(super) struct Player {
    playing: PlayerHandle,
    /// For text outside questions.
    page: Page,
}

#[derive(Clone)]
pub(super) struct PlayerHandle(Rc<RefCell<Playing>>);

struct Playing {
    leaf: UnattendedRun,
    limits: Limits,
    pages: Vec<Rows>,
}

impl Player {
    /// Returns a player of this case and its handle. Must be called within the runtime.
    pub(super) fn new(case: &Case, limits: Limits) -> (Self, PlayerHandle) {
        let playing = PlayerHandle(Rc::new(RefCell::new(Playing {
            leaf: leaf(case, &limits),
            limits,
            pages: Vec::new(),
        })));
        let player = Self {
            playing: playing.clone(),
            page: Page::new(LOOK),
        };
        (player, playing)
    }
}

impl PlayerHandle {
    pub(super) fn play(&self, case: &Case) {
        let mut playing = self.0.borrow_mut();
        playing.leaf = leaf(case, &playing.limits);
    }

    pub(super) fn report(&self) -> Report {
        self.0.borrow().leaf.report()
    }

    /// Returns what a user would have seen since the last call.
    pub(super) fn shown(&self) -> Vec<Rows> {
        std::mem::take(&mut self.0.borrow_mut().pages)
    }
}

fn leaf(case: &Case, limits: &Limits) -> UnattendedRun {
    let script = Some(case.script.clone());
    let leaf = UnattendedRun::new(script, limits.clone(), Box::new(io::sink()));
    let mut leaf = leaf.of_suite();
    *leaf.page() = Page::new(LOOK);
    leaf
}

impl Playing {
    fn keep(&mut self, rows: Rows) {
        if self.pages.len() < PAGES && rows != Rows::default() {
            self.pages.push(rows);
        }
    }
}

impl Leaf for Player {
    fn poll_did(&mut self, talk: &Conversation, context: &mut Context<'_>) -> Poll<Did> {
        self.playing.0.borrow_mut().leaf.poll_did(talk, context)
    }

    fn happened(&mut self, desk: &Desk, happened: &EventOutcome) {
        self.playing.0.borrow_mut().leaf.happened(desk, happened);
    }

    fn remark(&mut self, desk: &Desk, remark: Remark) -> Option<Remark> {
        self.playing.0.borrow_mut().leaf.remark(desk, remark)
    }

    fn tell(&mut self, words: Words) {
        self.playing.0.borrow_mut().leaf.tell(words);
    }

    /// Opens nothing, because there is no user.
    fn open(&mut self, _: &str) -> LinkOpening {
        LinkOpening::Started
    }

    fn show(&mut self, _: &Conversation, _: Option<&Words>) {
        let mut playing = self.playing.0.borrow_mut();
        let rows = playing.leaf.page().take();
        playing.keep(rows);
        playing.keep(self.page.take());
    }

    fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    fn renderer(&self) -> Renderer {
        Renderer::Script
    }

    fn is_person(&self) -> bool {
        false
    }
}
