//! Handles arrivals from the clients.

use std::mem;

use askback::client;
use tokio::time::Instant;

use super::Host;
use crate::{
    model::{Change, Event, Far, Question, Typed, TypedChange},
    page::Style,
    question_link::QuestionLink,
    relay::{self, Arrival, ServerId},
    remarks::{Remark, Remarks, StderrMode},
    text::{PeerText, given},
};

impl Host {
    /// When the next held lines of standard error are due.
    pub(super) fn held_until(&mut self) -> Option<Instant> {
        let servers = self.served.all_mut();
        let first = servers.filter_map(|(_, served)| served.remarks.held_until());
        self.began.checked_add(first.min()?)
    }

    /// Holds back a server's standard error, as during its start, until called with `false`. Some
    /// servers log each request, and the user did not cause these requests.
    pub fn hold_stderr(&mut self, server: ServerId, is_held: bool) {
        if is_held {
            return self.served.get_mut(server).remarks.hold(true);
        }
        self.catch_up();
        self.served.get_mut(server).remarks.hold(false);
        self.sum_up();
        self.flush();
    }

    /// Whether lines of standard error are held back until a server answers.
    pub fn holds_stderr(&mut self) -> bool {
        self.held_until().is_some()
    }

    /// Shows held lines of standard error, because a server fails to start or takes long.
    pub fn release_stderr(&mut self) {
        self.remark_all(|remarks| {
            remarks.held_until()?;
            let released = remarks.release();
            remarks.open(false);
            Some(released)
        });
        self.flush();
    }

    /// Puts the server's last lines of standard error on the page, shown before or not.
    pub fn put_stderr(&mut self) {
        let remarks = &self.served.get_mut(self.talk.chosen_id()).remarks;
        let lines: Vec<_> = remarks.stderr_log().cloned().collect();
        let page = self.leaf.page();
        if lines.is_empty() {
            page.note(
                Style::Dim,
                "The server wrote nothing to its standard error.",
            );
        }
        for line in lines {
            page.quote_line("", line);
        }
    }

    pub fn show_stderr(&mut self, mode: StderrMode) {
        self.served.get_mut(self.talk.chosen_id()).remarks.stderr = mode;
    }

    /// Reports how much was left out, once per window.
    pub(super) fn sum_up(&mut self) {
        self.left_out(Remarks::started);
        self.left_out(Remarks::sum_up);
    }

    pub(super) fn left_out(&mut self, left_out: impl Fn(&mut Remarks) -> Option<Remark>) {
        self.remark_all(|remarks| Some(vec![left_out(remarks)?]));
    }

    /// Shows remarks of each server.
    fn remark_all(&mut self, take: impl Fn(&mut Remarks) -> Option<Vec<Remark>>) {
        let servers = self.served.all_mut();
        let taken: Vec<_> = servers
            .filter_map(|(server, served)| Some((server, take(&mut served.remarks)?)))
            .collect();
        for (server, remarks) in taken {
            for remark in remarks {
                self.remark(server, remark);
            }
        }
    }

    pub(super) fn catch_up(&mut self) {
        while let Ok((server, arrival)) = self.arrivals.try_recv() {
            self.arrive(server, arrival);
        }
        self.sum_up();
        self.flush();
    }

    pub(super) fn arrive(&mut self, server: ServerId, arrival: Arrival) {
        if matches!(arrival, Arrival::Asked { .. } | Arrival::Heard(_)) {
            let is_end = matches!(arrival, Arrival::Heard(client::Event::Disconnected(_)));
            self.change(match is_end {
                true => Change::Left(server),
                false => Change::Heard(server),
            });
        }
        match arrival {
            Arrival::Asked {
                id,
                claims,
                question,
                reply,
                link,
            } => {
                self.change(Change::Met(server, claims));
                self.replies.insert(id, reply);
                if self.witness.is_some() {
                    self.asked.insert(id, Question::clone(&question));
                }
                self.happen(server, Event::Asked(id, *question));
                if let Some(link) = link {
                    self.connect(server, id, link);
                }
            }
            Arrival::Ended(id, end) => {
                self.forget(id);
                self.happen(server, Event::Ended(id, end));
            }
            Arrival::Typed(id, fields) => self.retype(server, id, fields, false),
            Arrival::Settled(id) => {
                self.forget(id);
                self.happen(server, Event::Settled(id));
            }
            Arrival::Heard(client::Event::QuestionsLost) => self.happen(server, Event::Lost),
            Arrival::Heard(client::Event::UrlCompleted { elicitation_id }) => {
                self.happen(server, Event::LinkDone(elicitation_id));
            }
            Arrival::Heard(client::Event::Refused(refused)) => {
                self.happen(server, Event::Refused(relay::refused(*refused)));
            }
            Arrival::Told(words) => self.leaf.tell(words),
            Arrival::LeftOut(surplus) => {
                for change in surplus.changes {
                    self.arrive(server, Arrival::Heard(change));
                }
                self.served
                    .get_mut(server)
                    .remarks
                    .leave_out_all(surplus.count);
            }
            Arrival::Travelled(row) => self.remark(server, row.into()),
            Arrival::Heard(event) => {
                self.changed.hear(server, &event);
                if let Some(far) = far(&event) {
                    self.change(Change::Far(server, far));
                    let is_seen =
                        server == self.talk.chosen_id() && self.talk.under_way().is_some();
                    if is_seen && self.leaf.shows_waiting() {
                        return;
                    }
                }
                let remarks = &mut self.served.get_mut(server).remarks;
                for remark in remarks.hear(event, self.began.elapsed()) {
                    self.remark(server, remark);
                }
            }
        }
    }

    /// Connects a new question with the program that holds it, and restores what was typed there.
    fn connect(&mut self, server: ServerId, id: u64, link: QuestionLink) {
        let desk = self.talk.server(server).desk();
        // The desk may have answered the question already.
        let Some(first) = desk.first_typed(id).cloned() else {
            return;
        };
        let mut given = Typed::new();
        link.typed.send_modify(|state| {
            state.question = Some(id);
            given = mem::replace(&mut state.there, first);
        });
        self.typed.insert(id, link.typed);
        self.retype(server, id, given, true);
    }

    /// Applies what was typed elsewhere. A field stays if the user has typed something in it that was not sent yet.
    fn retype(&mut self, server: ServerId, id: u64, mut fields: Typed, is_restored: bool) {
        let Some(link) = self.typed.remove(&id) else {
            return;
        };
        let typed = |host: &Self| {
            let typed = host.talk.server(server).desk().typed(id);
            typed.unwrap_or_default()
        };
        let (before, there) = (typed(self), link.borrow().there.clone());
        fields.retain(|name, _| there.contains_key(name));
        let changes = fields.iter().map(|(name, now)| TypedChange {
            name: name.clone(),
            over: there.get(name).filter(|_| !is_restored).cloned(),
            now: now.clone(),
        });
        let changes = changes.collect();
        self.happen(
            server,
            Event::Typed {
                id,
                changes,
                is_restored,
            },
        );
        let here = typed(self);
        link.send_modify(|state| {
            for (name, now) in fields {
                let is_applied = is_restored || before.get(&name) == there.get(&name);
                let shown = here.get(&name).filter(|_| is_applied);
                let now = shown.cloned().unwrap_or(now);
                state.there.insert(name, now);
            }
            state.here = here;
        });
        self.typed.insert(id, link);
    }

    /// Sends the typed content of a question to the program that holds it.
    pub(super) fn note_typed(&mut self, server: ServerId, id: u64) {
        let Some(sent) = self.typed.get(&id) else {
            return;
        };
        let Some(now) = self.talk.server(server).desk().typed(id) else {
            return;
        };
        sent.send_if_modified(|state| {
            let is_other = state.here != now;
            state.here = now;
            is_other
        });
    }

    fn forget(&mut self, id: u64) {
        self.replies.remove(&id);
        self.typed.remove(&id);
        self.asked.remove(&id);
    }

    fn remark(&mut self, server: ServerId, remark: Remark) {
        let desk = self.talk.server(server).desk();
        // With several servers, each remark names its server.
        let remark = match self.talk.servers().count() {
            1 => remark,
            _ => remark.named(&given(&desk.asker().name).short()),
        };
        if self.leaf.remark(desk, remark).is_some() {
            self.served.get_mut(server).remarks.leave_out();
        }
    }
}

fn far(event: &client::Event) -> Option<Far> {
    match event {
        client::Event::Progress {
            progress,
            total,
            message,
            ..
        } => Some(Far {
            progress: *progress,
            total: *total,
            message: message.as_ref().map(PeerText::from),
        }),
        _ => None,
    }
}
