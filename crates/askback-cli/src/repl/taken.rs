//! Tasks that outlive a conversation: those of one before are taken up, and those that are at work at
//! its end are left.

use askback::client::Client;
use askback_host::{page::Style, relay::ServerId, words};

use super::{
    Repl,
    servers::Other,
    tasks::{Background, Begun},
};
use crate::{kept_tasks::KeptTasks, session::State};

impl Repl<'_> {
    /// Takes up the tasks of before of the server that the person talks to.
    pub(super) fn take_up_here(&mut self) {
        if let Some(kept) = self.session.kept_tasks().cloned() {
            let (server, client) = (self.session.server(), self.session.client.clone());
            self.take_up(server, &client, &kept);
        }
    }

    /// Takes up those of another server, if it is there.
    pub(super) fn take_up_at(&mut self, at: usize) {
        let Some(Other { connection, .. }) = self.others.get(at) else {
            return;
        };
        if let (State::Open(client), Some(kept)) = (&connection.state, connection.kept_tasks()) {
            let (client, kept) = (client.clone(), kept.clone());
            self.take_up(connection.server, &client, &kept);
        }
    }

    fn take_up(&mut self, server: ServerId, client: &Client, kept: &KeptTasks) {
        let revision = client.revision();
        for task in kept.take(revision) {
            let calling = client.resume_task(&task.id, &task.tool);
            let (id, tool) = (calling.id(), task.tool.clone());
            let number = self.session.tasks().begin(server, id, &tool);
            let words = words!("Task {} was begun earlier and goes on: ", number);
            let page = self.session.host.page();
            page.quote_line(words, &tool);
            page.note(Style::Dim, "/tasks shows how it stands.");
            let begun = Begun {
                call: None,
                tool,
                calling: Some(calling),
                following: Some(kept.follow_taken(id, revision, task)),
                end: None,
            };
            self.enlist(number, begun);
        }
    }

    /// Leaves the tasks that a later conversation takes up, and cancels the others, for the conversation
    /// ends; and says so.
    pub(super) fn leave_tasks(&mut self) {
        let count = self.background.leave();
        if count > 0 {
            let words = words!(
                "Tasks at work: {}. They go on, and are there again when you open the server again.",
                count
            );
            self.session.host.page().say(Style::Plain, words);
        }
        self.end_tasks(None);
    }
}

impl Background {
    /// Leaves the tasks that a later conversation finds. Returns how many they are.
    fn leave(&mut self) -> usize {
        let mut count: usize = 0;
        for begun in self.0.values_mut().filter(|begun| begun.outlives_us()) {
            if let (Some(calling), Some(following)) = (begun.calling.take(), begun.following.take())
            {
                calling.leave();
                following.leave();
                count = count.saturating_add(1);
            }
        }
        count
    }
}
