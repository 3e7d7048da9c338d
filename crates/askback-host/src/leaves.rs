//! Several front ends that show the same questions. The first action wins.

use std::{
    task::{Context, Poll},
    time::SystemTime,
};

use askback::witness::Renderer;

use crate::{
    content::CallOutcome,
    leaf::{Did, Leaf, LinkOpening},
    model::{Call, Conversation, Desk, EventOutcome, WorstEnd},
    page::{Page, Rows, out::Unwritten},
    remarks::Remark,
    server_id::ServerId,
    tasks::Tasks,
    text::Words,
    wire::SharedWire,
};

/// Several front ends as one. All of them show what the commands write.
pub struct Leaves {
    /// The text outside of questions that no front end has yet.
    page: Page,
    /// At least one. If one of them is a terminal, it is the first.
    all: Vec<Box<dyn Leaf>>,
    /// The index of the last active front end.
    last: usize,
}

impl Leaves {
    pub fn new(mut first: Box<dyn Leaf>, others: Vec<Box<dyn Leaf>>) -> Self {
        Self {
            page: first.page().another(),
            all: [first].into_iter().chain(others).collect(),
            last: 0,
        }
    }

    /// Passes the text to all front ends before any later text.
    fn pass_on(&mut self) {
        if self.page.is_empty() {
            return;
        }
        let empty = self.page.another();
        let page = std::mem::replace(&mut self.page, empty);
        self.each(|leaf| leaf.page().append(&page));
    }

    fn each(&mut self, does: impl FnMut(&mut Box<dyn Leaf>)) {
        self.all.iter_mut().for_each(does);
    }
}

impl Leaf for Leaves {
    fn poll_did(&mut self, talk: &Conversation, context: &mut Context<'_>) -> Poll<Did> {
        for (at, leaf) in self.all.iter_mut().enumerate().rev() {
            if let Poll::Ready(did) = leaf.poll_did(talk, context) {
                // A redraw is not an action of the user.
                if did != Did::Action(Vec::new()) {
                    self.last = at;
                }
                return Poll::Ready(did);
            }
        }
        Poll::Pending
    }

    fn happened(&mut self, desk: &Desk, happened: &EventOutcome) {
        self.pass_on();
        self.each(|leaf| leaf.happened(desk, happened));
    }

    fn remark(&mut self, desk: &Desk, remark: Remark) -> Option<Remark> {
        self.pass_on();
        for leaf in &mut self.all[1..] {
            // Only the first reports remarks that it drops.
            let _ = leaf.remark(desk, remark.clone());
        }
        self.all[0].remark(desk, remark)
    }

    fn tell(&mut self, words: Words) {
        self.pass_on();
        self.each(|leaf| leaf.tell(words.clone()));
    }

    /// Opens the link at the front end where the user agreed.
    fn open(&mut self, url: &str) -> LinkOpening {
        self.pass_on();
        self.all[self.last].open(url)
    }

    fn show(&mut self, talk: &Conversation, prompt: Option<&Words>) {
        self.pass_on();
        self.each(|leaf| leaf.show(talk, prompt));
    }

    fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    fn print(&mut self, rows: Rows) -> Result<(), Unwritten> {
        self.pass_on();
        for leaf in &mut self.all[1..] {
            leaf.print(rows.unstyled())?;
        }
        self.all[0].print(rows)
    }

    fn result(&mut self, desk: &Desk, call: &Call, outcome: &CallOutcome) {
        self.pass_on();
        self.each(|leaf| leaf.result(desk, call, outcome));
    }

    fn wire(&mut self, server: ServerId, wire: &SharedWire) {
        self.each(|leaf| leaf.wire(server, wire));
    }

    fn tasks(&mut self, tasks: &Tasks) {
        self.each(|leaf| leaf.tasks(tasks));
    }

    fn shows_offers(&self) -> bool {
        self.all.iter().any(|leaf| leaf.shows_offers())
    }

    fn shows_waiting(&self) -> bool {
        self.all[0].shows_waiting()
    }

    fn renderer(&self) -> Renderer {
        self.all[self.last].renderer()
    }

    fn drawn(&self) -> Option<SystemTime> {
        self.all[self.last].drawn()
    }

    fn is_person(&self) -> bool {
        self.all.iter().any(|leaf| leaf.is_person())
    }

    fn ended(&self) -> WorstEnd {
        let ended = self.all.iter().map(|leaf| leaf.ended());
        ended.max().unwrap_or(WorstEnd::Answered)
    }

    fn end(&mut self) {
        self.pass_on();
        self.each(|leaf| leaf.end());
    }
}
