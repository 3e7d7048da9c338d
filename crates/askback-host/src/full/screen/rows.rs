//! The rows of the screen.

use super::{Screen, Size};
use crate::{
    full::{
        frame::{Frame, Row, framed_columns, wrapped},
        heading, question,
        reading::is_agreement,
        under_way,
    },
    model::{Conversation, Desk, Front, Step},
    page::{Look, Style},
    text::Words,
    view::{self, Body},
    words,
};

impl Screen {
    /// Draws the screen. `prompt` is set if a line is wanted; otherwise `waiting` says what the
    /// user waits for. A settling question shows a notice instead of its keys.
    pub fn frame(
        &mut self,
        talk: &Conversation,
        prompt: Option<&Words>,
        waiting: Option<&Words>,
        size: Size,
        styled: bool,
        is_settling: bool,
    ) -> Frame {
        let desk = talk.seen();
        self.look(desk);
        self.form.pass(desk.front().as_ref(), talk.now());
        let mut frame = Frame::default();
        let columns = size.columns;
        match (desk.front(), prompt) {
            (Some(front), _) => {
                let inner = Size {
                    columns: framed_columns(columns),
                    ..size
                };
                let look = Look {
                    columns: inner.columns,
                    styled,
                };
                self.question(desk, &front, inner, look, is_settling, &mut frame);
                frame.enclose(columns);
            }
            (None, Some(prompt)) => {
                self.home.follow(talk);
                for row in self.home.rows(talk, prompt, size) {
                    frame.push(row);
                }
                if is_settling {
                    frame.push(moment(columns));
                }
            }
            (None, None) => {
                let is_told = |far: bool| far || waiting.is_some();
                let call = talk.under_way();
                let rows = match call.filter(|(call, _)| is_told(call.far.is_some())) {
                    Some((call, worked)) => {
                        under_way::rows(desk, call, worked, self.home.has_begun(), columns)
                    }
                    None => waiting.map_or_else(Vec::new, |waiting| {
                        let words = words!("{} Ctrl-C stops it.", waiting.clone());
                        wrapped(Row::new(columns), Style::Dim, words)
                    }),
                };
                for row in rows.into_iter().chain(self.home.ahead(columns)) {
                    frame.push(row);
                }
            }
        }
        // One row stays for the scrollback.
        frame.fit(size.rows.saturating_sub(1).max(1));
        frame
    }

    fn question(
        &mut self,
        desk: &Desk,
        front: &Front<'_>,
        size: Size,
        look: Look,
        is_settling: bool,
        frame: &mut Frame,
    ) {
        let columns = size.columns;
        let view = view::view(desk.asker(), front, self.reader);
        let head = heading::head(&view, look, self.shown, size.rows / 3);
        let (body, focused) = match (&view.body, front.step) {
            (Body::Form(form), Step::Filling(draft)) => {
                let (rows, focused) = self.form.rows(form, draft, columns);
                (rows, Some(focused))
            }
            (Body::Review(form), _) => (question::review(&view, form, look, self.shown), None),
            _ => {
                let rows = question::body(&view, &self.text, look, self.shown);
                let typed_at = rows.iter().position(Row::is_typed_in);
                (rows, typed_at)
            }
        };
        let mut foot = Vec::new();
        let issue = self.issue.map(Words::from).or(view.issue.clone());
        if let Some(issue) = issue {
            foot.extend(question::issue(&issue, columns));
        }
        let keys = |agrees| question::keys(&view, self.is_helping, agrees, columns);
        let room = |keys: &[Row]| {
            let below = foot.len().saturating_add(keys.len());
            size.rows.saturating_sub(1).saturating_sub(below)
        };
        let is_read = is_agreement(&front.step);
        let (offered, unread) = (keys(true), keys(false));
        let height = head.height().saturating_add(body.len());
        // The rows stay where they are when the keys change.
        let is_cut = height > room(&offered);
        let room = match is_read && is_cut && unread.len() > offered.len() {
            true => room(&unread),
            false => room(&offered),
        };
        *frame = head;
        let spare = room.saturating_sub(height);
        if spare > 0 && frame.height() > 1 && !body.is_empty() {
            frame.push(Row::new(columns));
        }
        self.reading.put(frame, body, focused, room, columns);
        if spare > 1 {
            frame.push(Row::new(columns));
        }
        let keys = match is_settling {
            true => vec![moment(columns).ours(Style::Dim, "  Esc cancel")],
            false if is_read && !self.reading.is_whole() => unread,
            false => offered,
        };
        let below = size.rows.saturating_sub(1).saturating_sub(room);
        let taken = foot.len().saturating_add(keys.len());
        let left = below.saturating_sub(taken);
        foot.extend((0..left).map(|_| Row::new(columns)));
        for row in foot.into_iter().chain(keys) {
            frame.push(row);
        }
    }
}

fn moment(columns: usize) -> Row {
    Row::new(columns).ours(Style::Dim, "One moment…")
}
