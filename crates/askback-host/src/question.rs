//! A question in lines on a page, for all front ends.

use askback::forms::FormSchema;

use crate::{
    code, folder,
    model::{Asker, Front, Notice, Question, Refused, Reply, Why, link::Refusal},
    page::{Excerpt, LEFT_OUT, Page, Style},
    text::{self, PeerText, Words},
    view::{
        self, Address, AskerView, Body, CallView, FieldView, FormView, Kind, LinkStep, LinkView,
        MessageView, Part, RequestView, SecretView, SuggestedView, Text, ToolView, ToolsView, View,
        WriteView, field_lines, name,
    },
    words,
};

/// Puts the heading of a question on the page: who asks, and in which call.
pub(crate) fn head(page: &mut Page, view: &View) {
    page.blank();
    // The host's own questions are never queued.
    let is_of_server = !matches!(view.kind, Kind::Retry | Kind::Older | Kind::Arguments);
    let title = match view.queue.as_ref().filter(|_| is_of_server) {
        Some(queue) => words!("{} ({})", view.title.words, queue.words),
        None => view.title.words.clone(),
    };
    page.say(Style::Strong, title);
    if is_of_server {
        origin(page, &view.asker);
    }
    for_call(page, view.call.as_ref());
}

/// Says on the page that a server asks again for a link that the user has visited.
pub(crate) fn unfinished(page: &mut Page, link: &LinkView, words: &Words) {
    page.blank();
    page.say(Style::Strong, words.clone());
    address(page, &link.destination.address);
}

/// Puts at most `shown` characters of the server's message on the page. `rest` tells how to see
/// more.
pub(crate) fn why(page: &mut Page, view: &View, shown: usize, rest: &'static str) {
    let mut excerpt = Excerpt::new(page, shown);
    put_parts(&mut excerpt, &view.message);
    excerpt.end(rest);
}

fn put_parts(excerpt: &mut Excerpt<'_>, parts: &[Part]) {
    for part in parts {
        match part {
            Part::Say(Style::Dim, words) => excerpt.page().note(Style::Dim, words.clone()),
            Part::Say(Style::Strong, words) => title(excerpt.page(), words),
            Part::Say(style, words) => excerpt.page().say(*style, words.clone()),
            Part::Wrong(words, quoted) => {
                issue(excerpt.page(), words.clone());
                if let Some(quoted) = quoted {
                    excerpt.quote_at("  ", quoted.raw());
                }
            }
            Part::Text(text) => excerpt.quote(text.raw()),
            Part::Line(line) => excerpt.quote_line(words!("{} ", line.label), line.text.raw()),
            Part::Detail(line) if line.label.is_empty() => {
                excerpt.quote_line("  ", line.text.raw())
            }
            Part::Detail(line) => {
                let label = line.label.clone().padded(3);
                excerpt.quote_line(words!("  {} ", label), line.text.raw());
            }
            Part::Request(it) => request(excerpt, it),
        }
    }
}

fn title(page: &mut Page, words: &Words) {
    page.blank();
    page.say(Style::Strong, words.clone());
}

/// Puts the current step on the page; of a form, the field `at`.
pub(crate) fn step(page: &mut Page, view: &View, at: usize) {
    match &view.body {
        Body::Secret(it) => secret(page, it),
        Body::Form(form) => {
            if let Some(field) = form.fields.get(at) {
                put_field(page, field);
            }
        }
        Body::Review(form) => review(page, form),
        Body::Link(link) => link_step(page, link),
        Body::Request(parts) | Body::Reply(parts) => whole(page, parts),
        Body::Running(words) => page.say(Style::Plain, words.clone()),
        Body::Write(write) => to_write(page, write),
        Body::Folders { offered, .. } => {
            if let Some(offered) = offered {
                page.say(Style::Plain, offered.clone());
            }
        }
        Body::Reason(_) | Body::Nothing | Body::Outline(_) => {}
    }
}

/// Puts the error, the possible input and the prompt on the page.
pub(crate) fn ask(page: &mut Page, view: &View, at: usize) {
    if let Some(words) = &view.issue {
        issue(page, words.clone());
    }
    // The link is repeated because the text above may be longer than the screen.
    if let Body::Link(link) = &view.body
        && matches!(link.step, LinkStep::Consent | LinkStep::Sure)
    {
        page.quote_line(words!("{} ", link.opens.label), link.opens.text.clone());
    }
    let prompt = match &view.body {
        Body::Form(form) => form.fields.get(at).map(|field| &field.prompt),
        _ => Some(&view.prompt),
    };
    page.say(Style::Dim, prompt.cloned().unwrap_or_default());
    page.prompt("");
}

pub(crate) fn help(page: &mut Page, view: &View) {
    for (term, does) in &view.help.commands {
        let term = words!("  {} ", Words::from(*term).padded(9));
        page.item(term, Style::Plain, *does);
    }
}

pub(crate) fn suggestions(page: &mut Page, suggested: &SuggestedView) {
    for value in &suggested.values {
        page.quote_line("  ", value.clone());
    }
    if let Some(note) = &suggested.note {
        page.note(Style::Dim, note.clone());
    }
}

pub(crate) fn issue(page: &mut Page, issue: Words) {
    page.item("× ", Style::Error, issue);
}

pub(crate) fn answered(page: &mut Page, asker: &Asker, reply: &Reply, is_link: bool) {
    let name = name(asker);
    let words: Words = match reply {
        Reply::Form(_) | Reply::Text(_) | Reply::Sampled(_) => words!("Sent to {}.", name),
        Reply::Returned(_) => "The browser is back.".into(),
        Reply::Link => words!("{} was told that you agreed to open the link.", name),
        Reply::Roots(roots) => match &roots[..] {
            [root] => words!("{} may work in {}.", name, folder::shown(&root.uri)),
            roots => words!("{} may work in {} folders.", name, roots.len()),
        },
        Reply::Declined { reason: None, .. } => "Declined.".into(),
        Reply::Declined {
            reason: Some(_), ..
        } => words!("Declined; {} is told why.", name),
        Reply::Cancelled(Why::Person) if is_link => "You cancelled the link.".into(),
        Reply::Cancelled(why) => words!("Cancelled{}.", because(*why)),
    };
    page.say(Style::Plain, words);
}

pub(crate) fn notice(page: &mut Page, asker: &Asker, notice: &Notice) {
    let name = name(asker);
    let (style, words): (_, Words) = match notice {
        Notice::Ended(end) => (Style::Warning, end.words(name)),
        Notice::LinkNeeded => (
            Style::Plain,
            words!("{} is not told. The call fails: it needs the link.", name),
        ),
        Notice::Lost => (
            Style::Warning,
            words!("{} went away while its question waited.", name),
        ),
        Notice::Restored => (
            Style::Plain,
            "What you had written before is there again.".into(),
        ),
        Notice::TypedElsewhere => (
            Style::Plain,
            "This question is also filled in elsewhere: what is typed there appears here.".into(),
        ),
        Notice::Muted => (
            Style::Plain,
            words!(
                "{} is muted: its questions are cancelled. In a conversation, /unmute ends that.",
                name
            ),
        ),
        Notice::NoModel => (
            Style::Plain,
            words!(
                "{} wanted the reply of a model. You chose never, so it was declined. /sampling ask asks you again.",
                name
            ),
        ),
        Notice::Flood => (
            Style::Warning,
            words!(
                "{} asks too much at once; more is cancelled until you have answered.",
                name
            ),
        ),
        Notice::BrowserBack => (Style::Plain, "The browser is back.".into()),
        Notice::LinkDone => (Style::Plain, words!("{} says that the link is done.", name)),
        Notice::RefusedMore => {
            let words = words!(
                "{} sends more questions like this; they are not shown",
                name
            );
            return page.note(Style::Dim, words);
        }
        Notice::Repeated { message } => {
            return page.quote_row(words!("{} · answered as before ", name), message);
        }
        Notice::CancelledByMute { message } => {
            return page.quote_row(words!("{} · cancelled (muted) ", name), message);
        }
        Notice::ModelFailed(why, quoted) => {
            issue(page, why.clone());
            return quote_cut(page, "  ", quoted.raw());
        }
        Notice::Refused(refused) => return refused_question(page, asker, refused),
        Notice::LinkRefused {
            message,
            url,
            refusal,
        } => return refused_link(page, asker, message, url, refusal),
    };
    let begins = matches!(
        notice,
        Notice::Ended(_) | Notice::Lost | Notice::NoModel | Notice::BrowserBack | Notice::LinkDone
    );
    if begins {
        page.blank();
    }
    page.say(style, words);
}

fn refused_question(page: &mut Page, asker: &Asker, refused: &Refused) {
    let words = words!("{} asked {}; askback refused", name(asker), refused.what);
    title(page, &words);
    origin(page, &view::asker(asker));
    for_call(page, refused.call.as_ref().map(view::call).as_ref());
    if let Some(message) = &refused.message {
        quote_cut(page, "", message);
    }
    issue(page, "why:".into());
    quote_cut(page, "  ", &refused.reason);
}

fn refused_link(page: &mut Page, asker: &Asker, message: &str, url: &str, refusal: &Refusal) {
    let words = words!(
        "{} wanted a link opened; that was declined for you",
        name(asker)
    );
    title(page, &words);
    origin(page, &view::asker(asker));
    if !message.is_empty() {
        quote_cut(page, "", message);
    }
    quote_cut(page, "  ", &text::line(url));
    issue(page, refusal.words());
    if let Refusal::Repaired { to: what } | Refusal::Malformed(what) = refusal {
        quote_cut(page, "  ", &text::line(what));
    }
}

/// Puts a question on the page that no user can answer here. The message is cut to leave room for
/// the rest and for the `following` characters.
pub fn in_full(excerpt: &mut Excerpt<'_>, asker: &Asker, question: &Question, following: usize) {
    let view = view::outline(asker, question);
    head(excerpt.page(), &view);
    body(excerpt, &view, following);
}

/// Like [`in_full`], without the heading.
pub fn body(excerpt: &mut Excerpt<'_>, view: &View, following: usize) {
    let mut parts = Vec::new();
    if let Body::Outline(outline) = &view.body {
        let key = outline
            .key
            .iter()
            .map(|key| ("  key ", text::line(key.raw())));
        let lines = outline
            .lines
            .iter()
            .map(|line| ("  ", line.raw().to_owned()));
        parts.extend(key.chain(lines));
    }
    let characters = parts.iter().map(|(_, line)| text::extent(line));
    excerpt.reserve(characters.sum::<usize>().saturating_add(following));
    put_parts(excerpt, &view.message);
    excerpt.release();
    for (mark, line) in parts {
        excerpt.quote_at(mark, &line);
    }
}

/// The reason for a cancellation, to follow the word "Cancelled".
pub(crate) fn because(why: Why) -> &'static str {
    match why {
        Why::Person => "",
        Why::EndOfInput => ": the input has ended",
        Why::Nobody => ": there is no terminal to ask at",
        Why::Rule { .. } => " by a rule of the answers file",
        Why::Unmatched => ": no rule of the answers file fits",
        Why::Muted => ": you wanted no more questions",
        Why::Flood => ": too many questions wait",
    }
}

fn for_call(page: &mut Page, call: Option<&CallView>) {
    if let Some(call) = call {
        page.quote_line(words!("  {} ", call.label), call.name.clone());
    }
}

/// Puts the origin of a server on the page: its command or address, then its own name.
pub(crate) fn origin(page: &mut Page, asker: &AskerView) {
    match &asker.origin {
        Text::Ours(reached) => page.note(Style::Dim, reached.clone()),
        Text::Peer(reached) => quote_cut(page, "  ", reached.raw()),
    }
    if let Some(claims) = &asker.claims {
        page.quote_line(words!("  {} ", claims.label), claims.text.clone());
    }
}

/// Puts the start of a server's text on the page, if the user did not ask for the text.
fn quote_cut(page: &mut Page, mark: &'static str, text: &str) {
    let (text, more) = PeerText::from(text).cut(UNASKED);
    page.quote_at(mark, text);
    if more > 0 {
        page.note(Style::Dim, words!("{} more characters are left out", more));
    }
}

/// The maximum number of characters of such a text.
const UNASKED: usize = 1024;

const FIELD_SHOWN: usize = 2048;

const LISTED: usize = 30;

fn put_field(page: &mut Page, field: &FieldView) {
    page.blank();
    page.say(Style::Dim, field.place.clone());
    let mut excerpt = Excerpt::new(page, FIELD_SHOWN);
    excerpt.quote_line("", field.label.raw());
    if let Some(description) = &field.description {
        excerpt.quote(description.raw());
    }
    excerpt.end(LEFT_OUT);
    listed(page, field, 0..field.choices.len());
    if let Some(pattern) = &field.pattern {
        page.quote_line(words!("{} ", pattern.label), pattern.text.clone());
    }
    if let Some(dropped) = &field.dropped {
        page.item("! ", Style::Warning, dropped.words.clone());
        page.quote_at("  ", dropped.text.clone());
    }
    if let Some(now) = &field.now {
        page.quote_at(words!("{} ", now.label), now.text.clone());
    }
}

/// Puts options on the page, if the list of all options was cut.
pub(crate) fn options_with(page: &mut Page, field: &FieldView, found: Vec<usize>) {
    if field.choices.len() > LISTED {
        listed(page, field, found.into_iter());
    }
}

/// Puts the first of these options on the page. A yes or no field has no list.
fn listed(page: &mut Page, field: &FieldView, which: impl ExactSizeIterator<Item = usize>) {
    let more = which.len().saturating_sub(LISTED);
    for choice in which.take(LISTED).filter_map(|at| field.choices.get(at)) {
        if let Text::Peer(label) = &choice.label {
            page.quote_line(words!("{} ", choice.mark.clone().right(3)), label.clone());
        }
    }
    if more > 0 {
        let words = words!("and {} more: type a part of one to see which have it", more);
        page.say(Style::Dim, words);
    }
}

fn review(page: &mut Page, form: &FormView) {
    page.blank();
    page.say(Style::Strong, form.ready.clone());
    for (index, field) in form.fields.iter().enumerate() {
        let label = text::line(field.label.raw());
        let number = words!("{}", index.saturating_add(1)).right(3);
        let value = field.review.text.raw();
        page.quote_at(words!("{} ", number), format!("{label}: {value}"));
    }
}

/// Puts a warning on the page that a form seems to ask for secrets.
pub fn secret(page: &mut Page, secret: &SecretView) {
    page.blank();
    page.say(Style::Warning, secret.words.clone());
    for field in &secret.fields {
        page.quote_line("  ", field.clone());
    }
}

pub(crate) fn fields(page: &mut Page, mark: &'static str, schema: &FormSchema) {
    for line in field_lines(schema) {
        page.quote_at(mark, line);
    }
}

fn link_step(page: &mut Page, link: &LinkView) {
    if link.step == LinkStep::Consent {
        whole_link(page, link);
    }
    if let Some(next) = &link.next {
        page.blank();
        page.say(Style::Plain, next.clone());
    }
}

/// Puts a link on the page: the site, the host and all warnings, then the address, which may be long.
/// The site comes first because a host may start like another one.
pub(crate) fn whole_link(page: &mut Page, link: &LinkView) {
    let to = &link.destination;
    for part in [&to.site].into_iter().chain(&to.host) {
        address(page, part);
    }
    for warning in &to.warnings {
        page.item("! ", Style::Warning, warning.words.clone());
        if let Some(of) = &warning.of {
            page.quote_line("  ", of.clone());
        }
    }
    for site in &to.leads_on {
        page.link(words!("! {} ", site.label), Style::Warning, site);
    }
    if let Some(more) = &to.leads_on_more {
        page.say(Style::Warning, words!("! {}", *more));
    }
    address(page, &to.address);
    if let Some(here) = &link.here {
        page.note(Style::Plain, here.clone());
    }
}

fn address(page: &mut Page, address: &Address) {
    let label = address.label.clone().padded("Address ".len());
    page.link(label, Style::Strong, address);
}

pub(crate) fn link_alone(page: &mut Page, front: &Front<'_>) {
    if let Some(link) = front.step.link() {
        page.say(Style::Plain, "The link, up to the next empty line:");
        page.link_alone(link);
        page.blank();
    }
}

pub(crate) fn link_code(page: &mut Page, front: &Front<'_>) {
    if let Some(link) = front.step.link() {
        code::put(page, &link.url);
    }
}

pub(crate) fn whole(page: &mut Page, parts: &[Part]) {
    let mut excerpt = Excerpt::new(page, usize::MAX);
    put_parts(&mut excerpt, parts);
    excerpt.end(LEFT_OUT);
}

fn to_write(page: &mut Page, write: &WriteView) {
    whole(page, &write.parts);
    if let Some(now) = &write.now {
        title(page, &now.label);
        page.quote(now.text.clone());
    }
}

/// Puts a sampling request on the page. If it does not fit, messages in the middle are left out: the
/// last ones are new, and a request must not look as if it began with them.
fn request(excerpt: &mut Excerpt<'_>, request: &RequestView) {
    let sizes: Vec<_> = request.messages.iter().map(size).collect();
    let all = sizes.iter().copied().fold(0, usize::saturating_add);
    excerpt.reserve(all);
    if let Some(system) = &request.system {
        put_message(excerpt, system);
    }
    put_parts(excerpt, &request.wishes);
    if let Some(tools) = &request.tools {
        offered(excerpt, tools);
    }
    excerpt.release();
    let first_shown = match all <= excerpt.left() {
        true => 0,
        false => FIRST_MESSAGE_SHOWN.min(excerpt.left() / 4),
    };
    let mut left = excerpt.left().saturating_sub(first_shown);
    let fitting = sizes.iter().rev().take_while(|&&size| {
        let after = left.checked_sub(size);
        left = after.unwrap_or(left);
        after.is_some()
    });
    let earlier = sizes.len().saturating_sub(fitting.count().max(1));
    let (earlier, last) = request.messages.split_at(earlier);
    let earlier = match earlier {
        [first, middle @ ..] => {
            beginning(excerpt, first, first_shown);
            middle
        }
        [] => earlier,
    };
    let words: Option<Words> = match earlier.len() {
        0 => None,
        1 => Some("1 message is left out here".into()),
        count => Some(words!("{} messages are left out here", count)),
    };
    if let Some(words) = words {
        excerpt.leave_out(words, earlier.iter().map(characters).sum());
    }
    for message in last {
        put_message(excerpt, message);
    }
}

fn put_message(excerpt: &mut Excerpt<'_>, message: &MessageView) {
    excerpt.say(Style::Dim, message.from.clone());
    put_parts(excerpt, &message.parts);
}

/// Puts the start of a message on the page, in at most `most` characters.
fn beginning(excerpt: &mut Excerpt<'_>, message: &MessageView, most: usize) {
    excerpt.say(Style::Dim, message.from.clone());
    let (head, _) = text::head(texts(message).next().unwrap_or_default(), most);
    excerpt.quote(head);
    let shown = head.chars().count().saturating_add(ROLE);
    let more = characters(message).saturating_sub(shown);
    if more > 0 {
        let words = words!("{} more characters of this message are left out", more);
        excerpt.leave_out(words, more);
    }
}

fn texts(message: &MessageView) -> impl Iterator<Item = &str> {
    message.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.raw()),
        Part::Line(line) => Some(line.text.raw()),
        _ => None,
    })
}

fn size(message: &MessageView) -> usize {
    let texts = texts(message).map(text::extent);
    texts.fold(ROLE, usize::saturating_add)
}

/// The maximum number of characters of the first message, if not all messages are shown.
const FIRST_MESSAGE_SHOWN: usize = 1024;

/// The number of characters for the line with the role.
const ROLE: usize = 16;

fn characters(message: &MessageView) -> usize {
    let texts = texts(message).map(|text| text.chars().count());
    texts.fold(ROLE, usize::saturating_add)
}

/// How many tools a shortened request describes. The others are only named.
const DESCRIBED: usize = 5;

/// The maximum number of characters of a description if the request is shortened.
const DESCRIPTION: usize = 160;

/// Puts the tools of a request on the page, and whether they may be called.
fn offered(excerpt: &mut Excerpt<'_>, tools: &ToolsView) {
    excerpt.say(Style::Dim, tools.words.clone());
    let (count, most) = match excerpt.is_whole() {
        true => (tools.tools.len(), usize::MAX),
        false => (DESCRIBED, DESCRIPTION),
    };
    for tool in tools.tools.iter().take(count) {
        describe(excerpt, tool, most);
    }
    let others = tools.tools.iter().skip(count).map(|tool| tool.name.raw());
    let others: Vec<_> = others.collect();
    if !others.is_empty() {
        let mark = words!("  and {} more: ", others.len());
        excerpt.quote_line(mark, &text::cut(&others.join(", "), most));
    }
}

fn describe(excerpt: &mut Excerpt<'_>, tool: &ToolView, most: usize) {
    excerpt.quote_line("  ", tool.name.raw());
    if let Some(description) = &tool.description {
        excerpt.quote_at("    ", &text::cut(description.raw(), most));
    }
    for line in &tool.arguments {
        excerpt.quote_at("    · ", line.raw());
    }
    if let Some(schema) = &tool.schema {
        excerpt.quote_line("    schema ", &text::cut(schema.raw(), most));
    }
}
