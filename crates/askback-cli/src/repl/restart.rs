//! A server that is started again in a conversation.

use std::future::pending;

use askback_host::{model::Presence, page::Style, text::given, words};

use super::{
    Repl, attend,
    lists::{self, Wanted},
};
use crate::{
    error::Error,
    files::{Changed, WatchedFiles},
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

    /// Starts the server again after files have changed, and makes the last call again.
    pub(super) async fn rebuilt(&mut self, changed: &Changed) -> Result<(), Error> {
        let page = self.session.host.page();
        page.blank();
        if changed.is_aside {
            let words = words!(
                "{} changed at each of the last starts, so it starts the server no more. If the server writes it, leave it \
                 out with --ignore GLOB; /restart watches it again.",
                changed.words()
            );
            page.note(Style::Dim, words);
            return Ok(());
        }
        page.note(Style::Dim, words!("{} changed.", changed.words()));
        let mut restarted = self.restart().await;
        let has_called = self.known.last.is_some() && restarted.is_ok();
        if has_called
            && self
                .files
                .as_mut()
                .is_some_and(WatchedFiles::may_call_again)
        {
            restarted = self.again().await;
        } else if has_called {
            let words = "The last call was made again several times by itself, so it waits for you: /again makes it.";
            self.session.host.page().note(Style::Plain, words);
        }
        if let Some(files) = &mut self.files {
            files.started();
        }
        restarted
    }
}

/// Waits until files have changed, where any are watched.
pub(super) async fn changed(files: &mut Option<WatchedFiles>) -> Changed {
    match files {
        Some(files) => files.changed().await,
        None => pending().await,
    }
}
