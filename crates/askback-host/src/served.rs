//! The doings of each server beside its questions: what it says, and what is kept and shown for it.

use askback_core::limits::Limits;

use crate::{
    model::Permission, page::Page, relay::ServerId, remarks::Remarks, text::Words, wire::Shown,
};

/// Puts what is wanted of the messages that travelled on a page, or says why not.
pub(crate) type ShowWire = dyn Fn(&mut Page, Shown) -> Result<(), Words>;

/// Keeps a permission beyond the session, or says why it does not.
pub(crate) type Keep = dyn Fn(Permission) -> Result<(), Words>;

/// The doings of one server.
pub(crate) struct Served {
    pub(crate) remarks: Remarks,
    /// Keeps what the person said of models and this server.
    pub(crate) keep: Option<Box<Keep>>,
    /// Shows the messages that travelled.
    pub(crate) wire: Option<Box<ShowWire>>,
}

/// The doings of every server, by its number.
pub(crate) struct AllServed {
    first: Served,
    others: Vec<Served>,
}

impl Served {
    fn new(limits: &Limits) -> Self {
        Self {
            remarks: Remarks::new(limits),
            keep: None,
            wire: None,
        }
    }
}

impl AllServed {
    /// Those of one server.
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            first: Served::new(limits),
            others: Vec::new(),
        }
    }

    /// Makes room for those of another server.
    pub(crate) fn add(&mut self, limits: &Limits) {
        self.others.push(Served::new(limits));
    }

    /// Those of the server of this number.
    pub(crate) fn of(&mut self, server: ServerId) -> &mut Served {
        let others = server.0.checked_sub(1);
        match others.and_then(|at| self.others.get_mut(at)) {
            Some(served) => served,
            None => &mut self.first,
        }
    }

    /// Those of every server, with its number.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = (ServerId, &mut Served)> {
        let all = std::iter::once(&mut self.first).chain(&mut self.others);
        all.enumerate().map(|(at, served)| (ServerId(at), served))
    }
}
