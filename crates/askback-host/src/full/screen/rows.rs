//! The rows of the screen.

use super::{Screen, Size};
use crate::{
    full::{
        frame::{Frame, Row, wrapped},
        heading, question, under_way,
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
        let mut frame = Frame::default();
        let columns = size.columns;
        match (desk.front(), prompt) {
            (Some(front), _) => {
                let look = Look { columns, styled };
                self.question(desk, &front, size, look, is_settling, &mut frame);
            }
            (None, Some(prompt)) => {
                self.home.follow(talk);
                for row in self.home.rows(talk, prompt, columns) {
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
        let keys = |has_code| question::keys(&view, self.is_helping, has_code, columns);
        let room = |keys: &[Row]| {
            let below = foot.len().saturating_add(keys.len());
            size.rows.saturating_sub(1).saturating_sub(below)
        };
        // The title and the destination of a link stay visible with the code.
        let told = body.len().saturating_add(1);
        let code = self
            .code
            .rows(front, look, room(&keys(true)).saturating_sub(told));
        let keys = keys(!code.is_empty());
        let room = room(&keys);
        // The notice takes as many rows as the keys, so that nothing else moves.
        match is_settling {
            true => {
                foot.push(moment(columns));
                foot.extend(keys.iter().skip(1).map(|_| Row::new(columns)));
            }
            false => foot.extend(keys),
        }
        if code.is_empty() {
            *frame = head;
            self.reading.put(frame, body, focused, room, columns);
        } else {
            let taken = code.len().saturating_add(body.len());
            let head = head.into_rows().into_iter();
            for row in head.take(room.saturating_sub(taken)).chain(body) {
                frame.push(row);
            }
        }
        for row in code.into_iter().chain(foot) {
            frame.push(row);
        }
    }
}

fn moment(columns: usize) -> Row {
    Row::new(columns).ours(Style::Dim, "One moment…")
}
