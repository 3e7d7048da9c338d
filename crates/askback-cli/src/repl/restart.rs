//! A server that is started again in a conversation.

use std::future::pending;

use askback_host::{page::Style, text::given, words};

use super::{
    Repl, attend,
    lists::{Lists, Wanted},
};
use crate::{
    error::Error,
    files::{Changed, Seen, WatchedFiles},
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
        self.known.is_down = true;
        // What is being read of it is of before.
        self.reading.remove(&self.session.server());
        let hint = match self.files {
            Some(_) => "It is started again when a file changes; /restart does so now.",
            None => "/restart tries again.",
        };
        let restarted = self.session.restart().await;
        restarted.map_err(|error| error.hint(hint))?;
        self.known.is_down = false;
        self.known.changes = self.listen().await?;
        self.known.is_met = true;
        self.take_up_here();
        self.subscribe_again().await?;
        let Session { client, host, .. } = &mut *self.session;
        let now = attend(host, Lists::read(client, Wanted::All)).await?;
        let page = self.session.host.page();
        match &self.known.lists {
            Some(before) => before.compare(&now, page),
            None => page.note(Style::Plain, "It is there again."),
        }
        self.known.lists = Some(now);
        self.is_offered = false;
        Ok(())
    }

    /// Starts the server again, for files have changed, and makes the last call again.
    pub(super) async fn rebuilt(&mut self, changed: &Changed) -> Result<(), Error> {
        let page = self.session.host.page();
        page.blank();
        page.note(Style::Dim, words!("{} changed.", changed.words()));
        let before = match &self.files {
            Some(files) => files.look().await,
            None => Seen::default(),
        };
        let mut ran = self.restart().await;
        if ran.is_ok() && self.known.last.is_some() {
            ran = self.again().await;
        }
        if let Some(files) = &mut self.files {
            let written = files.learn(&before).await;
            if !written.is_none() {
                let words = words!(
                    "Written at each start or call, so watched no more: {}.",
                    written.words()
                );
                self.session.host.page().note(Style::Dim, words);
            }
        }
        ran
    }
}

/// Waits until files have changed, where any are watched.
pub(super) async fn changed(files: &mut Option<WatchedFiles>) -> Changed {
    match files {
        Some(files) => files.changed().await,
        None => pending().await,
    }
}
