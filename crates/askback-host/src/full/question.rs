//! A question on the screen: its body (forms excepted), its keys and its lines in the scrollback.

use super::{
    editor::Editor,
    frame::{Frame, LINE_BREAK, MARKS, Row, label_room},
};
use crate::{
    model::{Desk, Effect, EventOutcome, Front, Reply, Why},
    page::{Excerpt, Look, Page, Rows, Style},
    question,
    text::{self, PeerText, Words, given},
    view::{Act, ActionView, Body, FieldView, FormView, LinkStep, View},
    words,
};
use askback::protocol::CreateMessageResult;

pub(super) const REST: &str = "; F4 shows the whole";

/// The rows below the heading, unless they are a form to fill in. Shows at most `shown` characters
/// of a request to a model.
pub(super) fn body(view: &View, written: &Editor, look: Look, shown: usize) -> Vec<Row> {
    let columns = look.columns;
    let row = || Row::new(columns);
    let line = |label: &Words| {
        let row = row().ours(Style::Strong, words!("{} ", *label));
        let room = row.room();
        row.written(written.text(), Some(written.at()), room)
    };
    let step = || {
        let mut page = Page::new(look);
        question::step(&mut page, view, 0);
        page.take()
    };
    let mut rows = match is_read(view) {
        true => why(view, look, shown),
        false => Vec::new(),
    };
    match &view.body {
        Body::Link(link) => {
            let mut page = Page::new(look);
            question::whole_link(&mut page, link);
            if let Some((style, words)) = &link.waits {
                page.say(*style, words.clone());
            }
            rows.extend(rows_of(&page.take()));
            if link.step == LinkStep::Returning {
                rows.extend(rows_of(&step().alone()));
                rows.push(line(&">".into()));
            }
        }
        Body::Write(write) => {
            let mut page = Page::new(look);
            question::whole(&mut page, &write.parts);
            rows.extend(rows_of(&page.take()));
            rows.push(row().ours(Style::Strong, write.label.clone()));
            // A peer's text has its gutter.
            let begun = match write.now {
                Some(_) => row().gutter(),
                None => row().ours(Style::Dim, "  "),
            };
            rows.extend(lines(written, &begun));
        }
        Body::Request(_) => rows.extend(rows_of(&step())),
        Body::Folders { label, .. } => {
            rows.extend(rows_of(&step().alone()));
            rows.push(line(label));
        }
        Body::Reason(label) => rows.push(line(label)),
        _ => rows.extend(rows_of(&step().alone())),
    }
    rows
}

fn rows_of(rows: &Rows) -> Vec<Row> {
    let mut frame = Frame::default();
    frame.put(rows);
    frame.into_rows()
}

pub(super) fn review(view: &View, form: &FormView, look: Look, shown: usize) -> Vec<Row> {
    let mut rows = why(view, look, shown);
    if !rows.is_empty() {
        rows.push(Row::new(look.columns));
    }
    rows.push(Row::new(look.columns).ours(Style::Strong, form.ready.clone()));
    rows.extend(values(form, look.columns));
    rows
}

pub(super) fn issue(issue: &Words, columns: usize) -> Vec<Row> {
    let row = || Row::new(columns);
    let room = row().room().saturating_sub(text::columns("× ")).max(1);
    let parts = text::wrapped(issue.as_str(), room);
    let mark = |first| if first { "×" } else { " " };
    let rows = parts.iter().enumerate().map(|(index, part)| {
        let words = words!("{} {}", mark(index == 0), given(part.trim_end()));
        row().ours(Style::Error, words)
    });
    rows.collect()
}

/// The lines of a text under edit. Each row starts like `begun`.
pub(super) fn lines(written: &Editor, begun: &Row) -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut begins, cursor) = (0_usize, written.at());
    for line in written.text().split('\n') {
        let ends = begins.saturating_add(line.len());
        let at = (begins..=ends)
            .contains(&cursor)
            .then(|| cursor.saturating_sub(begins));
        let row = begun.clone();
        let room = row.room();
        rows.push(row.written(line, at, room));
        begins = ends.saturating_add(1);
    }
    rows
}

/// Whether the user must read the message to its end before they agree. The message is then in the
/// body, because the heading may be cut.
pub(super) fn is_read(view: &View) -> bool {
    matches!(
        view.body,
        Body::Nothing | Body::Review(_) | Body::Request(_)
    )
}

fn why(view: &View, look: Look, shown: usize) -> Vec<Row> {
    let mut page = Page::new(look);
    question::why(&mut page, view, shown, REST);
    rows_of(&page.take())
}

/// The rows of keys. Without `agrees`, the keys that agree to the text are not offered yet.
pub(super) fn keys(view: &View, is_helping: bool, agrees: bool, columns: usize) -> Vec<Row> {
    let before = match &view.body {
        Body::Link(link) => link.sure.clone(),
        Body::Form(form) => form.left.clone(),
        _ => None,
    };
    let offered = view.actions.iter().filter(|it| !it.act.is_way_out());
    let offered = offered.filter(|it| agrees || !it.act.is_agreement());
    let (permissions, mut others): (Vec<_>, Vec<_>) =
        offered.partition(|it| it.act.is_permission());
    // A stable sort: the action that the user probably wants is first.
    others.sort_by_key(|it| !it.act.is_primary());
    let is_risky = match &view.body {
        Body::Secret(_) => true,
        Body::Link(link) => link.sure.is_some(),
        _ => false,
    };
    let mut line = KeyLine::new(columns);
    if let Some(before) = before {
        line.put(&[(Style::Warning, before)]);
    }
    if !agrees {
        let rest = (Style::Warning, " Read to the end first".into());
        line.put(&[(Style::Primary, "[↓]".into()), rest]);
    }
    for action in others {
        let mut parts = key(action);
        if is_risky && action.act.is_primary() {
            parts.iter_mut().for_each(|part| part.0 = Style::Warning);
        }
        line.put(&parts);
    }
    let ways_out = view.actions.iter().filter(|it| it.act.is_way_out());
    let ways_out: Vec<_> = ways_out.map(key).collect();
    let needed = ways_out
        .iter()
        .map(|parts| width(parts).saturating_add(GAP));
    let needed = needed.fold(0, usize::saturating_add);
    let mut rows = match line.room() >= needed {
        true => {
            for way_out in &ways_out {
                line.put(way_out);
            }
            line.rows()
        }
        false => {
            let mut below = KeyLine::new(columns);
            for way_out in &ways_out {
                below.put(way_out);
            }
            [line.rows(), below.rows()].concat()
        }
    };
    if !permissions.is_empty() {
        let mut line = KeyLine::new(columns);
        for action in permissions {
            line.put(&key(action));
        }
        let at = rows.len().saturating_sub(1);
        rows.splice(at..at, line.rows());
    }
    if is_helping {
        rows.extend(help(view, columns));
    }
    rows
}

const GAP: usize = 2;

/// Rows of keys and their actions, filled from left to right.
pub(super) struct KeyLine {
    columns: usize,
    rows: Vec<Row>,
}

impl KeyLine {
    pub(super) fn new(columns: usize) -> Self {
        Self {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds parts that stay together, in a new row if they do not fit.
    pub(super) fn put(&mut self, parts: &[(Style, Words)]) {
        let fits = self.room() >= width(parts).saturating_add(GAP);
        let row = self.rows.pop_if(|_| fits);
        let row = row.map(|row| row.ours(Style::Plain, "  "));
        let row = parts.iter().fold(
            row.unwrap_or_else(|| Row::new(self.columns)),
            |row, (style, words)| row.ours(*style, words.clone()),
        );
        self.rows.push(row);
    }

    /// The columns that are left in the last row.
    fn room(&self) -> usize {
        self.rows.last().map_or(0, Row::room)
    }

    pub(super) fn rows(self) -> Vec<Row> {
        self.rows
    }
}

fn width(parts: &[(Style, Words)]) -> usize {
    let parts = parts.iter().map(|(_, words)| text::columns(words.as_str()));
    parts.fold(0, usize::saturating_add)
}

/// A key and its action. The key is in brackets if it could also be typed as text.
fn key(action: &ActionView) -> Vec<(Style, Words)> {
    let is_bare =
        action.act.is_way_out() || action.act == Act::Next || action.key.as_str().starts_with('^');
    let key = match is_bare {
        true => action.key.clone(),
        false => words!("[{}]", action.key),
    };
    let (key_style, style) = match action.act {
        act if act.is_primary() => (Style::Primary, Style::Strong),
        act if act.is_way_out() => (Style::Key, Style::Dim),
        _ => (Style::Key, Style::Plain),
    };
    vec![(key_style, key), (style, words!(" {}", action.words))]
}

/// Puts the scrollback's lines about an event on the page. `replied` is the model's reply before
/// the user edited it.
pub(super) fn kept(
    desk: &Desk,
    happened: &EventOutcome,
    replied: Option<&CreateMessageResult>,
    page: &mut Page,
) {
    for effect in &happened.effects {
        match effect {
            Effect::Tell(notice) => question::notice(page, desk.asker(), notice),
            Effect::Answer(id, reply) if happened.before == Some((*id, false)) => {
                let message = happened.message.as_deref().unwrap_or_default();
                let is_changed = |reply: &CreateMessageResult| {
                    replied.is_some_and(|replied| replied.content != reply.content)
                };
                let became: Words = match reply {
                    Reply::Form(content) if content.is_empty() => "agreed".into(),
                    Reply::Form(content) if content.len() == 1 => "sent 1 field".into(),
                    Reply::Form(content) => words!("sent {} fields", content.len()),
                    Reply::Link => "agreed to the link".into(),
                    Reply::Sampled(reply) if is_changed(reply) => {
                        "sent the model's reply as you changed it".into()
                    }
                    Reply::Sampled(_) => "sent what the model replied".into(),
                    Reply::Text(_) => "sent a text".into(),
                    Reply::Declined { reason: None, .. } => "declined".into(),
                    Reply::Declined { .. } => "declined, with your reason".into(),
                    Reply::Cancelled(Why::Person) if happened.is_link => {
                        "you cancelled the link".into()
                    }
                    Reply::Cancelled(why) => words!("cancelled{}", question::because(*why)),
                    Reply::Roots(_) | Reply::Returned(_) => {
                        question::answered(page, desk.asker(), reply, happened.is_link);
                        continue;
                    }
                };
                let name = given(&desk.asker().name).short();
                let became = words!("{} · {} ", name, became);
                match message.is_empty() {
                    true => page.say(Style::Dim, became),
                    false => page.quote_row(became, message),
                }
            }
            _ => {}
        }
    }
}

pub(super) fn whole(desk: &Desk, front: &Front<'_>, page: &mut Page) {
    let mut excerpt = Excerpt::new(page, usize::MAX);
    question::in_full(&mut excerpt, desk.asker(), front.question, 0);
}

/// The rows of all values, each after the label of its field, aligned if they fit. Only the user's
/// own texts are cut.
fn values(form: &FormView, columns: usize) -> Vec<Row> {
    let labels = form.fields.iter().map(|field| text::columns(&label(field)));
    let widest = labels.max().unwrap_or_default().min(label_room(columns));
    let begins = MARKS
        .saturating_add(text::GUTTER.len())
        .saturating_add(widest);
    let row = |(index, field): (usize, &FieldView)| {
        let review = &field.review;
        let value = review.text.raw().replace('\n', LINE_BREAK);
        let number = words!("{}", index.saturating_add(1)).right(3);
        let label = label(field);
        let value = text::line(&value);
        let begun = Row::new(columns).to(1).ours(Style::Dim, number);
        let mut row = begun.to(MARKS);
        let room = row.room().saturating_sub(text::GUTTER.len()).max(1);
        let mut rows = Vec::new();
        for (label, value) in parts(&label, &value, room, review.is_whole) {
            let mut begun = row.peer(Style::Plain, &PeerText::from(label), columns);
            let aligned = begun.clone().to(begins);
            if aligned.room() >= text::columns(&value) {
                begun = aligned;
            }
            rows.push(begun.more(Style::Strong, &PeerText::from(value), columns));
            row = Row::new(columns).to(MARKS);
        }
        rows
    };
    form.fields.iter().enumerate().flat_map(row).collect()
}

/// The label of a field with a colon. Repeated blanks could move its end to where a value is expected.
fn label(field: &FieldView) -> String {
    let label = text::line(field.label.raw());
    let label: Vec<_> = label.split(' ').filter(|word| !word.is_empty()).collect();
    label.join(" ") + ": "
}

/// Splits a label into rows and puts the value after its end, or below if it does not fit there. A
/// value that is not `is_whole` takes one row and is cut if it is longer than half of it.
fn parts(label: &str, value: &str, room: usize, is_whole: bool) -> Vec<(String, String)> {
    let mut labels = text::wrapped(label, room);
    let end = labels.pop().unwrap_or_default() + " ";
    let mut parts: Vec<_> = labels.into_iter().map(|row| (row, String::new())).collect();
    let left = room.saturating_sub(text::columns(&end));
    let wanted = text::columns(value);
    let wanted = if is_whole {
        wanted
    } else {
        wanted.min(room / 2)
    };
    if left >= wanted {
        parts.push((end, value.to_owned()));
        return parts;
    }
    parts.push((end, String::new()));
    let below = match is_whole {
        true => text::wrapped(value, room),
        false => vec![value.to_owned()],
    };
    parts.extend(below.into_iter().map(|row| (String::new(), row)));
    parts
}

fn help(view: &View, columns: usize) -> Vec<Row> {
    let keys = &view.help.keys;
    let widest = keys.iter().map(|(key, _)| text::columns(key)).max();
    let does_at = widest.unwrap_or_default().saturating_add(4);
    let mut rows = Vec::new();
    for (key, does) in keys {
        let mut row = Row::new(columns).to(2).ours(Style::Key, *key);
        let room = Row::new(columns).to(does_at).room().max(1);
        for part in text::wrapped(does, room) {
            rows.push(row.to(does_at).ours(Style::Plain, given(part)));
            row = Row::new(columns);
        }
    }
    rows
}
