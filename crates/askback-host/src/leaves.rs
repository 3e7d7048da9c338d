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
    first: Box<dyn Leaf>,
    others: Vec<Box<dyn Leaf>>,
    /// The index of the last active front end in `others`; `None` for the first.
    last: Option<usize>,
}

impl Leaves {
    /// Joins front ends. If one of them is a terminal, it is `first`.
    pub fn new(mut first: Box<dyn Leaf>, others: Vec<Box<dyn Leaf>>) -> Self {
        Self {
            page: first.page().another(),
            first,
            others,
            last: None,
        }
    }

    /// Passes the text to all front ends before any later text.
    fn pass_on(&mut self) {
        if self.page.is_empty() {
            return;
        }
        let empty = self.first.page().another();
        let page = std::mem::replace(&mut self.page, empty);
        self.all().for_each(|leaf| leaf.page().append(&page));
    }

    /// The last active front end.
    fn last(&self) -> &dyn Leaf {
        let last = self.last.and_then(|at| self.others.get(at));
        &**last.unwrap_or(&self.first)
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Box<dyn Leaf>> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    fn known(&self) -> impl Iterator<Item = &dyn Leaf> {
        let others = self.others.iter().map(|leaf| &**leaf);
        std::iter::once(&*self.first).chain(others)
    }
}

/// Whether nothing was done, so that a front end is not the one that the user used last.
fn is_redraw(did: &Did) -> bool {
    matches!(did, Did::Action(actions) if actions.is_empty())
}

impl Leaf for Leaves {
    fn poll_did(&mut self, talk: &Conversation, context: &mut Context<'_>) -> Poll<Did> {
        for (at, leaf) in self.others.iter_mut().enumerate() {
            if let Poll::Ready(did) = leaf.poll_did(talk, context) {
                if !is_redraw(&did) {
                    self.last = Some(at);
                }
                return Poll::Ready(did);
            }
        }
        let did = self.first.poll_did(talk, context);
        if matches!(&did, Poll::Ready(did) if !is_redraw(did)) {
            self.last = None;
        }
        did
    }

    fn happened(&mut self, desk: &Desk, happened: &EventOutcome) {
        self.pass_on();
        self.all().for_each(|leaf| leaf.happened(desk, happened));
    }

    fn remark(&mut self, desk: &Desk, remark: Remark) -> Option<Remark> {
        self.pass_on();
        for leaf in &mut self.others {
            // Only the first reports remarks that it drops.
            let _ = leaf.remark(desk, remark.clone());
        }
        self.first.remark(desk, remark)
    }

    fn tell(&mut self, words: Words) {
        self.pass_on();
        self.all().for_each(|leaf| leaf.tell(words.clone()));
    }

    /// Opens the link at the front end where the user agreed.
    fn open(&mut self, url: &str) -> LinkOpening {
        self.pass_on();
        let last = self.last.and_then(|at| self.others.get_mut(at));
        last.unwrap_or(&mut self.first).open(url)
    }

    fn show(&mut self, talk: &Conversation, prompt: Option<&Words>) {
        self.pass_on();
        self.all().for_each(|leaf| leaf.show(talk, prompt));
    }

    fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    fn print(&mut self, rows: Rows) -> Result<(), Unwritten> {
        self.pass_on();
        for leaf in &mut self.others {
            leaf.print(rows.unstyled())?;
        }
        self.first.print(rows)
    }

    fn result(&mut self, desk: &Desk, call: &Call, outcome: &CallOutcome) {
        self.pass_on();
        self.all().for_each(|leaf| leaf.result(desk, call, outcome));
    }

    fn wire(&mut self, server: ServerId, wire: &SharedWire) {
        self.all().for_each(|leaf| leaf.wire(server, wire));
    }

    fn tasks(&mut self, tasks: &Tasks) {
        self.all().for_each(|leaf| leaf.tasks(tasks));
    }

    fn shows_offers(&self) -> bool {
        self.known().any(Leaf::shows_offers)
    }

    fn shows_waiting(&self) -> bool {
        self.first.shows_waiting()
    }

    fn renderer(&self) -> Renderer {
        self.last().renderer()
    }

    fn drawn(&self) -> Option<SystemTime> {
        self.last().drawn()
    }

    fn is_person(&self) -> bool {
        self.known().any(Leaf::is_person)
    }

    fn ended(&self) -> WorstEnd {
        let ended = self.known().map(Leaf::ended);
        ended.max().unwrap_or(WorstEnd::Answered)
    }

    fn end(&mut self) {
        self.pass_on();
        self.all().for_each(|leaf| leaf.end());
    }
}
