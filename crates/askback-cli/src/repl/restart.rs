//! A server that is started again in a conversation.

use std::future::pending;

use askback_host::{model::Presence, page::Style, text::given, words};

use super::{
    Repl, attend,
    lists::{self, Wanted},
};
use crate::{
    error::Error,
    files::{Changes, WatchedFiles},
    session::Session,
};

impl Repl<'_> {
    /// Starts the server again, or reaches it again, and says what is another.
    pub(super) async fn restart(&mut self) -> Result<(), Error> {
        self.end_tasks(Some(self.session.server()));
        let name = given(&self.session.host.desk().asker().name).short();
        let page = self.session.host.page();
        page.note(Style::Dim, words!("Starting {} again.", name));
        self.known.changes = None;
        self.known.tools = None;
        let server = self.session.server();
        self.session.host.note_presence(server, Presence::Down);
        // What is being read of it is of before.
        self.reading.remove(&server);
        let hint = match self.files {
            Some(_) => "It is started again when a file changes; /restart does so now.",
            None => "/restart tries again.",
        };
        let restarted = self.session.restart().await;
        if let Some(files) = &mut self.files {
            files.started();
        }
        restarted.map_err(|error| error.hint(hint))?;
        self.session.host.hold_stderr(server, true);
        self.known.changes = self.listen().await?;
        self.known.is_met = true;
        self.subscribe_again().await?;
        let Session { client, host, .. } = &mut *self.session;
        let now = attend(host, lists::read(client, Wanted::All)).await?;
        host.hold_stderr(server, false);
        let before = host.server().catalog().cloned();
        let page = host.page();
        match before {
            Some(before) => lists::compare(&before, &now, page),
            None => page.note(Style::Plain, "It is there again."),
        }
        host.list(server, now);
        self.is_offered = false;
        Ok(())
    }

    /// Starts the server again where files have changed that are a reason for it, and makes the last call again.
    pub(super) async fn rebuilt(&mut self, changes: &Changes) -> Result<(), Error> {
        let Changes { reasons, aside } = changes;
        let page = self.session.host.page();
        page.blank();
        if !aside.is_none() {
            let words = words!(
                "{} changed as the server started or answered, again: watched no more until it changes at another time.",
                aside.words()
            );
            page.note(Style::Dim, words);
        }
        if reasons.is_none() {
            return Ok(());
        }
        page.note(Style::Dim, words!("{} changed.", reasons.words()));
        self.restart().await?;
        match self.known.last {
            Some(_) => self.again().await,
            None => Ok(()),
        }
    }
}

/// Waits until files have changed, where any are watched.
pub(super) async fn changed(files: &mut Option<WatchedFiles>) -> Changes {
    match files {
        Some(files) => files.changed().await,
        None => pending().await,
    }
}
