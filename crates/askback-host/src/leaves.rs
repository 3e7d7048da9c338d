//! Several front ends that show the same questions. The first action wins.

use std::task::{Context, Poll};

use askback::witness::Renderer;

use crate::{
    leaf::{Did, Leaf},
    model::{Conversation, Desk, EventOutcome, WorstEnd},
    page::{Page, Rows, out::Unwritten},
    remarks::Remark,
    text::Words,
};

/// Several front ends as one. Commands and results belong to the first.
pub struct Leaves {
    first: Box<dyn Leaf>,
    others: Vec<Box<dyn Leaf>>,
    /// The index of the last active front end in `others`; `None` for the first.
    last: Option<usize>,
}

impl Leaves {
    /// Joins front ends. If one of them is a terminal, it is `first`.
    pub fn new(first: Box<dyn Leaf>, others: Vec<Box<dyn Leaf>>) -> Self {
        Self {
            first,
            others,
            last: None,
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Box<dyn Leaf>> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    fn known(&self) -> impl Iterator<Item = &dyn Leaf> {
        let others = self.others.iter().map(|leaf| &**leaf);
        std::iter::once(&*self.first).chain(others)
    }
}

impl Leaf for Leaves {
    fn poll_did(&mut self, talk: &Conversation, context: &mut Context<'_>) -> Poll<Did> {
        for (at, leaf) in self.others.iter_mut().enumerate() {
            if let Poll::Ready(did) = leaf.poll_did(talk, context) {
                self.last = Some(at);
                return Poll::Ready(did);
            }
        }
        let did = self.first.poll_did(talk, context);
        if did.is_ready() {
            self.last = None;
        }
        did
    }

    fn happened(&mut self, desk: &Desk, happened: &EventOutcome) {
        self.all().for_each(|leaf| leaf.happened(desk, happened));
    }

    fn remark(&mut self, desk: &Desk, remark: Remark) -> Option<Remark> {
        for leaf in &mut self.others {
            // Only the first reports remarks that it drops.
            let _ = leaf.remark(desk, remark.clone());
        }
        self.first.remark(desk, remark)
    }

    fn tell(&mut self, words: Words) {
        self.all().for_each(|leaf| leaf.tell(words.clone()));
    }

    /// Opens the link at the front end where the user agreed.
    fn open(&mut self, url: &str) -> bool {
        let last = self.last.and_then(|at| self.others.get_mut(at));
        last.unwrap_or(&mut self.first).open(url)
    }

    fn show(&mut self, talk: &Conversation, prompt: Option<&Words>) {
        self.all().for_each(|leaf| leaf.show(talk, prompt));
    }

    fn page(&mut self) -> &mut Page {
        self.first.page()
    }

    fn print(&mut self, rows: Rows) -> Result<(), Unwritten> {
        self.first.print(rows)
    }

    fn view(&mut self, put: &dyn Fn(&mut Page)) -> bool {
        self.first.view(put)
    }

    fn shows_offers(&self) -> bool {
        self.first.shows_offers()
    }

    fn shows_waiting(&self) -> bool {
        self.first.shows_waiting()
    }

    fn renderer(&self) -> Renderer {
        let last = self.last.and_then(|at| self.others.get(at));
        last.unwrap_or(&self.first).renderer()
    }

    fn is_person(&self) -> bool {
        self.known().any(Leaf::is_person)
    }

    fn ended(&self) -> WorstEnd {
        let ended = self.known().map(Leaf::ended);
        ended.max().unwrap_or(WorstEnd::Answered)
    }

    fn end(&mut self) {
        self.all().for_each(|leaf| leaf.end());
    }
}
