//! The servers before a front end: the desk of each, and the one whose question is in front.

use askback_core::limits::Limits;

use crate::{
    model::{Desk, Permission},
    page::Page,
    relay::ServerId,
    remarks::Remarks,
    text::Words,
    wire::Shown,
};

/// Puts what is wanted of the messages that travelled on a page, or says why not.
pub(crate) type ShowWire = dyn Fn(&mut Page, Shown) -> Result<(), Words>;

/// Keeps a permission beyond the session, or says why it does not.
pub(crate) type Keep = dyn Fn(Permission) -> Result<(), Words>;

/// A server, as far as a front end has to do with it.
pub(crate) struct Served {
    pub(crate) desk: Desk,
    pub(crate) remarks: Remarks,
    /// Keeps what the person said of models and this server.
    pub(crate) keep: Option<Box<Keep>>,
    /// Shows the messages that travelled.
    pub(crate) wire: Option<Box<ShowWire>>,
    /// The server went away, and was not heard of since.
    pub(crate) is_gone: bool,
}

/// The servers before a front end: one at least.
pub(crate) struct Servers {
    first: Served,
    others: Vec<Served>,
    /// The server that the person talks to.
    chosen: ServerId,
    /// The server whose question is in front of the person, and the number of that.
    front: Option<(ServerId, u64)>,
}

impl Served {
    pub(crate) fn new(desk: Desk, limits: &Limits) -> Self {
        Self {
            desk,
            remarks: Remarks::new(limits),
            keep: None,
            wire: None,
            is_gone: false,
        }
    }

    /// How many questions are open on its desk, and on those that it knows of.
    fn open(&self) -> usize {
        let open = self.desk.front();
        open.map_or(0, |front| {
            let answered = front.position.saturating_sub(1);
            front.total.saturating_sub(answered)
        })
    }

    /// The question in front of its desk.
    fn front(&self) -> Option<u64> {
        self.desk.front().map(|front| front.id)
    }
}

impl Servers {
    pub(crate) fn new(first: Served) -> Self {
        Self {
            first,
            others: Vec::new(),
            chosen: ServerId::default(),
            front: None,
        }
    }

    /// Adds a server. Returns its number.
    pub(crate) fn add(&mut self, served: Served) -> ServerId {
        self.others.push(served);
        ServerId(self.others.len())
    }

    /// The server of this number. Numbers come from [`Servers::add`] alone.
    pub(crate) fn of(&mut self, server: ServerId) -> &mut Served {
        let others = server.0.checked_sub(1);
        match others.and_then(|at| self.others.get_mut(at)) {
            Some(served) => served,
            None => &mut self.first,
        }
    }

    pub(crate) fn get(&self, server: ServerId) -> &Served {
        let others = server.0.checked_sub(1);
        others
            .and_then(|at| self.others.get(at))
            .unwrap_or(&self.first)
    }

    /// Every server.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Served> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Every server, with its number.
    pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = (ServerId, &mut Served)> {
        let all = std::iter::once(&mut self.first).chain(&mut self.others);
        all.enumerate().map(|(at, served)| (ServerId(at), served))
    }

    /// Has the person talk to this server from now on.
    pub(crate) fn choose(&mut self, server: ServerId) {
        self.chosen = server;
    }

    /// The server that the person talks to.
    pub(crate) fn chosen(&self) -> &Served {
        self.get(self.chosen)
    }

    /// The number of the server that the person talks to.
    pub(crate) fn chosen_id(&self) -> ServerId {
        self.chosen
    }

    /// The number of the server that the person sees: that whose question is in front, else the one
    /// they talk to.
    pub(crate) fn seen_id(&self) -> ServerId {
        self.front.map_or(self.chosen, |(server, _)| server)
    }

    /// The desk that the person sees.
    pub(crate) fn seen(&self) -> &Desk {
        &self.get(self.seen_id()).desk
    }

    /// Decides which question is in front, for a desk has changed. One that is there already stays;
    /// else the oldest comes. Each desk is told how many there are on the others.
    pub(crate) fn settle(&mut self) {
        for (_, served) in self.all_mut() {
            served.desk.elsewhere = 0;
        }
        let open = self.all().map(Served::open).fold(0, usize::saturating_add);
        for (_, served) in self.all_mut() {
            served.desk.elsewhere = open.saturating_sub(served.open());
        }
        let stays = |(server, id)| self.get(server).front() == Some(id);
        if self.front.is_some_and(stays) {
            return;
        }
        let fronts = self.all().enumerate();
        let fronts = fronts.filter_map(|(at, served)| Some((served.front()?, ServerId(at))));
        self.front = fronts.min().map(|(id, server)| (server, id));
    }
}
