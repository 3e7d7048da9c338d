//! A question on the screen: its body where that is no form, the keys, and what the scrollback keeps of it.

use super::{
    editor::Editor,
    frame::{Frame, Row, wrapped},
    help, review,
};
use crate::{
    model::{Desk, Effect, EventOutcome, Front, Reply, Step, Why},
    page::{Excerpt, Look, Page, Rows, Style},
    question,
    text::{self, PeerText, Words, given},
    view::{Address, Body, FormView, LinkStep, LinkView, SamplingView, View, WarningView},
    words,
};
use askback::protocol::CreateMessageResult;

/// How the rest of a message is seen.
pub(super) const REST: &str = "; F4 shows the whole";

/// The rows below the head, where that is no form to be filled in. At most `shown` characters of a request to
/// a model are seen.
pub(super) fn body(
    view: &View,
    front: &Front<'_>,
    written: &Editor,
    look: Look,
    shown: usize,
) -> Vec<Row> {
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
    let mut rows = match is_read(&front.step) {
        true => why(view, look, shown),
        false => Vec::new(),
    };
    match &view.body {
        Body::Link(link) => {
            rows.extend(linked(link, look));
            if link.step == LinkStep::Returning {
                rows.extend(rows_of(&step().alone()));
                rows.push(line(&">".into()));
            }
        }
        Body::Sampling(SamplingView::Rewrite { editing, .. }) => {
            rows.push(row().ours(Style::Strong, editing.clone()));
            rows.extend(lines(written, &row().gutter()));
        }
        Body::Sampling(SamplingView::Write { tools, .. }) => {
            rows.extend(rows_of(&step().alone()));
            rows.extend(tools.iter().map(|tools| {
                let row = row().ours(Style::Dim, words!("{} ", tools.label));
                row.peer(Style::Plain, &tools.text, columns)
            }));
            rows.extend(lines(written, &row().ours(Style::Dim, "  ")));
        }
        // The words of the server are right above.
        Body::Sampling(SamplingView::Reread { .. }) => rows.extend(rows_of(&step().alone())),
        Body::Sampling(_) => rows.extend(rows_of(&step())),
        Body::Folders { label, .. } => {
            rows.extend(rows_of(&step().alone()));
            rows.push(line(label));
        }
        Body::Reason(label) => rows.push(line(label)),
        _ => rows.extend(rows_of(&step().alone())),
    }
    rows
}

/// The rows of a link. Nothing of it is cut, and what it leads to comes before an address of any length.
fn linked(link: &LinkView, look: Look) -> Vec<Row> {
    let columns = look.columns;
    let row = || Row::new(columns);
    let whole = |part: &Address| {
        let label = part.label.clone().padded("Address ".len());
        whole_of(Style::Strong, label, part, columns)
    };
    let to = &link.destination;
    let mut rows = whole(&to.site);
    rows.extend(to.host.iter().flat_map(whole));
    if let Some(here) = &link.here {
        rows.extend(wrapped(row(), Style::Plain, here.clone()));
    }
    for warning in &to.warnings {
        rows.extend(warned(warning, look));
    }
    for site in &to.leads_on {
        let label = question::leads_on(site);
        rows.extend(whole_of(Style::Warning, label, site, columns));
    }
    if let Some(more) = &to.leads_on_more {
        rows.extend(wrapped(row(), Style::Warning, words!("! {}", *more)));
    }
    rows.extend(whole(&to.address));
    match &link.waits {
        Some((Style::Warning, words)) => {
            rows.extend(wrapped(row(), Style::Warning, words.clone()));
        }
        Some((style, words)) => rows.push(row().ours(*style, words.clone())),
        None => {}
    }
    rows
}

fn rows_of(rows: &Rows) -> Vec<Row> {
    let mut frame = Frame::default();
    frame.put(rows);
    frame.into_rows()
}

/// The rows of a form that is looked over.
pub(super) fn review(view: &View, form: &FormView, look: Look, shown: usize) -> Vec<Row> {
    [why(view, look, shown), review::rows(form, look.columns)].concat()
}

/// The rows of what was wrong with the last key.
pub(super) fn issue(issue: &Words, columns: usize) -> Vec<Row> {
    let row = || Row::new(columns);
    let room = row().room().saturating_sub(text::columns("× ")).max(1);
    let parts = text::wrapped(issue.as_str(), room);
    let mark = |first| if first { "×" } else { " " };
    let rows = parts.iter().enumerate().map(|(index, part)| {
        let words = words!("{} {}", mark(index == 0), given(part.trim_end()));
        row().ours(Style::Warning, words)
    });
    rows.collect()
}

/// The rows of a host or a link behind a label, of which nothing is cut. The domain, whose owner pays for it, stands out.
fn whole_of(style: Style, label: Words, part: &Address, columns: usize) -> Vec<Row> {
    let (text, domain) = (part.text.raw(), &part.domain);
    let indent = text::columns(label.as_str()).min(columns / 4);
    let mut rows = Vec::new();
    let (mut begins, mut row) = (0, Row::new(columns).ours(style, label));
    while begins < text.len() {
        let room = row.room().saturating_sub(text::GUTTER.len()).max(1);
        let ends = begins.saturating_add(room).min(text.len());
        row = row.peer(Style::Dim, &PeerText::from(""), columns);
        for (style, part) in [
            (Style::Dim, 0..domain.start),
            (Style::Strong, domain.clone()),
            (Style::Dim, domain.end..text.len()),
        ] {
            let part = text.get(part.start.max(begins)..part.end.min(ends));
            if let Some(part) = part.filter(|part| !part.is_empty()) {
                row = row.more(style, &PeerText::from(part), columns);
            }
        }
        rows.push(row);
        (begins, row) = (ends, Row::new(columns).to(indent));
    }
    rows
}

/// The rows of a warning. Nothing of it is cut: the name that it warns of is what it is for.
fn warned(warning: &WarningView, look: Look) -> Vec<Row> {
    let begun = Row::new(look.columns).ours(Style::Warning, "! ");
    let mut rows = wrapped(begun, Style::Warning, warning.words.clone());
    let Some(of) = &warning.of else { return rows };
    let whole = text::GUTTER
        .len()
        .saturating_add(text::columns(&text::line(of.raw())));
    match rows.pop() {
        Some(last) if last.room() > whole => {
            let last = last.ours(Style::Plain, " ");
            rows.push(last.peer(Style::Plain, of, look.columns));
        }
        last => {
            rows.extend(last);
            let mut page = Page::new(look);
            page.quote_at("  ", of.clone());
            rows.extend(rows_of(&page.take()));
        }
    }
    rows
}

/// A text of several lines that is being written, each in a row that begins so.
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

/// Whether what the server says is looked through before it is agreed to: then it is no part of the head, of which not
/// all may be seen.
pub(super) fn is_read(step: &Step<'_>) -> bool {
    matches!(step, Step::Request(_) | Step::Confirm | Step::Review(_))
}

/// The words of the server on a question, at most `shown` characters of it.
fn why(view: &View, look: Look, shown: usize) -> Vec<Row> {
    let mut page = Page::new(look);
    question::why(&mut page, view, shown, REST);
    rows_of(&page.take())
}

/// The rows that say which keys do what, where the code of a link is shown or not.
pub(super) fn keys(
    front: &Front<'_>,
    is_helping: bool,
    has_code: bool,
    columns: usize,
) -> Vec<Row> {
    let ours = front.question.ask.is_ours();
    let hint: Words = match front.step {
        Step::Consent(_) if has_code => "[o] Open  [c] Copy  [q] Hide the code".into(),
        Step::Sure(_) if has_code => "[y] Open all the same  [b] Back  [q] Hide the code".into(),
        Step::Opened(_) if has_code => "[Enter] I have opened it  [q] Hide the code".into(),
        Step::Secret(_) => "[y] Go on all the same".into(),
        Step::Filling(draft) => match draft.left() {
            0 => "Tab next  ^S review".into(),
            left => words!("{} left  Tab next  ^S review", left),
        },
        Step::Review(_) if front.question.ask.signs_in() => "[Enter] Go on  [e] Edit".into(),
        Step::Review(_) if ours && !front.question.edits_request() => {
            words!(
                "[Enter] {}  [e] Edit",
                question::verb(front.question.call.as_ref())
            )
        }
        Step::Review(_) => "[Enter] Send  [e] Edit".into(),
        Step::Confirm if front.question.ask.is_retry() => {
            words!(
                "[Enter] {} again",
                question::verb(front.question.call.as_ref())
            )
        }
        Step::Confirm => "[Enter] Agree".into(),
        Step::Consent(_) => "[o] Open  [c] Copy  [q] QR code".into(),
        Step::Sure(_) => "Sure? [y] Open all the same  [b] Back".into(),
        Step::Opened(_) if front.goes_on() => {
            "[Enter] I have opened it  [o] Try again  [c] Copy  [q] QR code".into()
        }
        Step::Opened(_) => "[Enter] I have finished  [o] Open again  [c] Copy  [q] QR code".into(),
        Step::Returning(_) => "^O open again".into(),
        Step::Write(_) => "^S look it over".into(),
        Step::Reread(_) => "[Enter] Send  [e] Edit".into(),
        Step::Request(_) => {
            "[Enter] Run once  [e] Edit  [y] System prompt  [w] Write it myself".into()
        }
        Step::Running(_) => "[b] Stop".into(),
        Step::Replied(_) if front.model.is_none() => "[Enter] Send  [e] Edit".into(),
        Step::Replied(_) => "[Enter] Send  [e] Edit  [r] Run again  [b] Back".into(),
        Step::Rewrite(..) => "^S take it  ^B leave it as it was".into(),
        Step::Folders(Some(_)) => "[y] Allow it  [Enter] Allow what is typed".into(),
        Step::Folders(None) => "[Enter] Allow what is typed".into(),
        Step::Reason => "[Enter] Decline, with a reason or none  [Esc] Back".into(),
    };
    let hint = match help::hides_any(front) {
        true => words!("{}  ^R reveal", hint),
        false => hint,
    };
    let ways_out = match front.step {
        Step::Reason => "",
        _ if ours => "Esc cancel  F1 help",
        _ => "^D decline…  Esc cancel  F1 help",
    };
    let mut rows = Vec::new();
    if matches!(front.step, Step::Request(_)) {
        rows.extend(packed("[s] This session  [A] Always  [N] Never", columns));
    }
    rows.extend(match packed(hint.as_str(), columns).as_slice() {
        [one] if one.room() >= text::columns(ways_out).saturating_add(2) => {
            let both = one.clone().ours(Style::Dim, "  ");
            vec![both.ours(Style::Dim, ways_out)]
        }
        several => [several, &packed(ways_out, columns)].concat(),
    });
    if is_helping {
        rows.extend(help::rows(front, columns));
    }
    rows
}

/// The rows of keys, which stand two blanks apart: as many in a row as fit it.
fn packed(keys: &str, columns: usize) -> Vec<Row> {
    let room = Row::new(columns).room();
    let mut rows: Vec<String> = Vec::new();
    for key in keys.split("  ").filter(|key| !key.is_empty()) {
        match rows.last_mut() {
            Some(row)
                if text::columns(row)
                    .saturating_add(text::columns(key))
                    .saturating_add(2)
                    <= room =>
            {
                *row = format!("{row}  {key}");
            }
            _ => rows.push(key.to_owned()),
        }
    }
    let rows = rows.into_iter();
    rows.map(|row| Row::new(columns).ours(Style::Dim, given(row)))
        .collect()
}

/// Puts on the page what the scrollback keeps of an event: a line for each thing that happened. A model that was asked
/// replied so, before the person changed it.
pub(super) fn kept(
    desk: &Desk,
    happened: &EventOutcome,
    replied: Option<&CreateMessageResult>,
    page: &mut Page,
) {
    let name = || given(&desk.asker().name).short();
    for effect in &happened.effects {
        match effect {
            Effect::Tell(notice) => question::notice(page, desk.asker(), notice),
            Effect::Answer(id, reply) if happened.before == Some((*id, false)) => {
                let message = happened.message.as_deref().unwrap_or_default();
                let became = match reply {
                    Reply::Form(content) if content.is_empty() => words!("{} · agreed ", name()),
                    Reply::Form(content) if content.len() == 1 => {
                        words!("{} · sent 1 field ", name())
                    }
                    Reply::Form(content) => {
                        words!("{} · sent {} fields ", name(), content.len())
                    }
                    Reply::Link => words!("{} · agreed to the link ", name()),
                    Reply::Sampled(reply)
                        if replied.is_some_and(|replied| replied.content != reply.content) =>
                    {
                        words!("{} · sent the model's reply as you changed it ", name())
                    }
                    Reply::Sampled(_) => words!("{} · sent what the model replied ", name()),
                    Reply::Text(_) => words!("{} · sent a text ", name()),
                    Reply::Declined { reason: None, .. } => words!("{} · declined ", name()),
                    Reply::Declined { .. } => words!("{} · declined, with why ", name()),
                    Reply::Cancelled(Why::Person) if happened.is_link => {
                        words!("{} · you cancelled the link ", name())
                    }
                    Reply::Cancelled(why) => {
                        words!("{} · cancelled{} ", name(), question::because(*why))
                    }
                    Reply::Roots(_) | Reply::Returned(_) => {
                        question::answered(page, desk.asker(), reply, happened.is_link);
                        continue;
                    }
                };
                match message.is_empty() {
                    true => page.say(Style::Dim, became),
                    false => page.quote_row(became, message),
                }
            }
            Effect::Answer(..)
            | Effect::Open(_)
            | Effect::Run(_)
            | Effect::Remember(_)
            | Effect::CheckFolder(_)
            | Effect::Suggest { .. } => {}
        }
    }
}

/// Puts the whole of what a server says of a question on the page.
pub(super) fn whole(desk: &Desk, front: &Front<'_>, page: &mut Page) {
    let mut excerpt = Excerpt::new(page, usize::MAX);
    question::in_full(&mut excerpt, desk.asker(), front.question, 0);
}

/// Puts the link of a question on the page, alone and whole.
pub(super) fn link_alone(front: &Front<'_>, page: &mut Page) {
    question::link_alone(page, front);
}
