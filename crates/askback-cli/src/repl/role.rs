//! Clients that are played in a conversation.

use askback_host::{model::Stance, page::Style, text::given, words};

use super::Repl;
use crate::{error::Error, role::Role};

/// The words of `/as` that say how questions are answered.
pub(super) const STANCES: [&str; 4] = ["decline", "cancel", "timeout", "me"];

impl Repl<'_> {
    /// Says which client is played, and how questions are answered.
    pub(super) fn tell_role(&mut self) {
        self.tell_played();
        let answered = self.session.host.desk().stance().words();
        let page = self.session.host.page();
        match answered {
            Some(answered) => page.note(Style::Plain, words!("Every question is {}.", answered)),
            None => page.note(Style::Plain, "You are asked."),
        }
        self.tell_undeclared();
        let words = "/as decline, cancel, timeout, me or a CLIENT such as no-url changes that.";
        self.session.host.page().note(Style::Dim, words);
    }

    /// Says which client is played, in which revision, and what a server can ask it for.
    fn tell_played(&mut self) {
        let role = self.session.role();
        let revision = self.session.client.revision();
        let page = self.session.host.page();
        let Some(played) = role.played() else {
            page.note(Style::Plain, "No other client is played.");
            return;
        };
        page.note(Style::Plain, words!("Played: {}.", played));
        let words = words!(
            "It speaks {}. A server can ask it for {}.",
            revision.as_str(),
            role.asked_in(revision)
        );
        page.note(Style::Plain, words);
    }

    /// Says which questions do not come, since the client that is played does not declare them.
    fn tell_undeclared(&mut self) {
        let role = self.session.role();
        let Some(undeclared) = role.undeclared() else {
            return;
        };
        let words = match role.is_never_asked() {
            true => words!("No question comes: {}.", undeclared),
            false => words!("Some questions do not come: {}.", undeclared),
        };
        self.session.host.page().note(Style::Plain, words);
    }

    /// Has every question answered so from now on, or connects again as another client.
    pub(super) async fn play(&mut self, who: &str) -> Result<(), Error> {
        let (stance, told) = match who {
            "decline" => (
                Stance::Decline,
                "Every question is declined; /as me ends that.",
            ),
            "cancel" => (
                Stance::Cancel,
                "Every question is cancelled; /as me ends that.",
            ),
            "timeout" => (
                Stance::Silence,
                "No question is answered; /as me ends that.",
            ),
            "me" => (Stance::Person, "You are asked."),
            client => {
                let role = Role::read(client);
                let role = role.map_err(|why| {
                    let words = words!("{} is no client that can be played", given(client));
                    Error::usage(words).hint(words!("{}.", given(why)))
                })?;
                if self.recorder.is_some() {
                    let error = Error::usage("a recording has one client");
                    return Err(error
                        .hint("Open the server as that client, and record a suite of its own."));
                }
                self.session.play(role)?;
                self.restart().await?;
                self.tell_played();
                if self.session.host.desk().stance() != Stance::Person {
                    self.tell_undeclared();
                }
                return Ok(());
            }
        };
        self.session.host.answer_as(stance);
        self.session.host.page().note(Style::Plain, told);
        if stance != Stance::Person {
            self.tell_undeclared();
        }
        if stance == Stance::Person && self.session.role() != Role::default() {
            if self.recorder.is_some() {
                self.tell_played();
                let words = "A recording has one client, so that one stays.";
                self.session.host.page().note(Style::Dim, words);
                return Ok(());
            }
            self.session.play(Role::default())?;
            self.restart().await?;
            self.tell_played();
        }
        Ok(())
    }
}
