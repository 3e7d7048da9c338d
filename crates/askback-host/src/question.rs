//! A question in lines on a page, for all front ends.

mod form;
mod link;
mod sampling;
mod tools;

pub use form::secret;
pub(crate) use form::{fields, options_with};
pub use link::{destination, warnings};
pub(crate) use link::{leads_on, link_alone, link_code};

use crate::{
    folder,
    model::{Asker, Notice, Question, Reply, Wants, Why, link::Refusal},
    page::{Excerpt, Page, Style},
    text::{self, PeerText, Words},
    view::{
        self, AskerView, Body, CallView, Kind, LinkStep, LinkView, Part, SuggestedView, Text, View,
        name,
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
    page.link(&link.destination.address);
}

/// Puts at most `shown` characters of the server's message on the page. `rest` tells how to see
/// more.
pub(crate) fn why(page: &mut Page, view: &View, shown: usize, rest: &'static str) {
    let mut excerpt = Excerpt::new(page, shown);
    message(&mut excerpt, view);
    excerpt.end(rest);
}

fn message(excerpt: &mut Excerpt<'_>, view: &View) {
    for part in &view.message {
        match part {
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
            Part::Request(request) => sampling::request(excerpt, request),
        }
    }
}

/// Puts the current step on the page; of a form, the field `at`.
pub(crate) fn step(page: &mut Page, view: &View, at: usize) {
    match &view.body {
        Body::Secret(it) => secret(page, it),
        Body::Form(form) => form
            .fields
            .get(at)
            .into_iter()
            .for_each(|it| form::field(page, it)),
        Body::Review(form) => form::review(page, form),
        Body::Link(link) => link::step(page, link),
        Body::Sampling(sampling) => sampling::step(page, sampling),
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
    for entry in &view.help.commands {
        let term = words!("  {} ", entry.term.clone().padded(9));
        page.item(term, Style::Plain, entry.does.clone());
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
    match notice {
        Notice::Withdrawn => {
            page.blank();
            page.say(Style::Warning, words!("{} withdrew its question.", name));
        }
        Notice::Ended(end) => {
            page.blank();
            page.say(Style::Warning, end.words(name));
        }
        Notice::LinkNeeded => {
            let words = words!("{} is not told. The call fails: it needs the link.", name);
            page.say(Style::Plain, words);
        }
        Notice::AsksOn => {
            let words = words!(
                "{} asks on for the call that was stopped. That is cancelled until your next line.",
                name
            );
            page.say(Style::Warning, words);
        }
        Notice::Lost => {
            page.blank();
            let words = words!("{} went away while its question waited.", name);
            page.say(Style::Warning, words);
        }
        Notice::Repeated { message } => {
            page.quote_row(words!("{} · answered as before ", name), message);
        }
        Notice::Restored => {
            let words = "What you had written before is there again.";
            page.say(Style::Plain, words);
        }
        Notice::TypedElsewhere => {
            let words =
                "This question is also filled in elsewhere: what is typed there appears here.";
            page.say(Style::Plain, words);
        }
        Notice::Muted => {
            let words = words!(
                "{} is muted: its questions are cancelled. In a conversation, /unmute ends that.",
                name
            );
            page.say(Style::Plain, words);
        }
        Notice::CancelledByMute { message } => {
            page.quote_row(words!("{} · cancelled (muted) ", name), message);
        }
        Notice::ModelFailed(why, quoted) => {
            page.item("× ", Style::Error, why.clone());
            quote_cut(page, "  ", quoted.raw());
        }
        Notice::NoModel => {
            page.blank();
            let words = words!(
                "{} wanted the reply of a model. You chose never, so it was declined. /sampling ask asks you again.",
                name
            );
            page.say(Style::Plain, words);
        }
        Notice::Refused(refused) => {
            page.blank();
            let what = match refused.wants {
                Wants::Answer => "something that cannot be shown here",
                Wants::Sample => "for the reply of a model in a way that askback does not support",
                Wants::Roots => "for folders in a way that askback does not support",
            };
            let words = words!("{} asked {}; askback refused", name, what);
            page.say(Style::Strong, words);
            origin(page, &view::asker(asker));
            for_call(page, refused.call.as_ref().map(view::call).as_ref());
            if let Some(message) = &refused.message {
                quote_cut(page, "", message);
            }
            page.item("× ", Style::Error, "why:");
            quote_cut(page, "  ", &refused.reason);
        }
        Notice::RefusedMore => {
            let words = words!(
                "{} sends more questions like this; they are not shown",
                name
            );
            page.note(Style::Dim, words);
        }
        Notice::Flood => {
            let words = words!(
                "{} asks too much at once; more is cancelled until you have answered.",
                name
            );
            page.say(Style::Warning, words);
        }
        Notice::BrowserBack => {
            page.blank();
            page.say(Style::Plain, "The browser is back.");
        }
        Notice::LinkDone => {
            page.blank();
            page.say(Style::Plain, words!("{} says that the link is done.", name));
        }
        Notice::LinkRefused {
            message,
            url,
            refusal,
        } => {
            page.blank();
            let words = words!("{} wanted a link opened; that was declined for you", name);
            page.say(Style::Strong, words);
            origin(page, &view::asker(asker));
            if !message.is_empty() {
                quote_cut(page, "", message);
            }
            quote_cut(page, "  ", &text::line(url));
            page.item("× ", Style::Error, refusal.words());
            match refusal {
                Refusal::Repaired { to: what } | Refusal::Malformed(what) => {
                    quote_cut(page, "  ", &text::line(what));
                }
                Refusal::Scheme(_) | Refusal::Hidden(_) | Refusal::User | Refusal::Long => {}
            }
        }
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
        parts.extend(
            outline
                .key
                .as_ref()
                .map(|key| ("  key ", text::line(key.raw()))),
        );
        parts.extend(
            outline
                .lines
                .iter()
                .map(|line| ("  ", line.raw().to_owned())),
        );
    }
    let characters = parts.iter().map(|(_, line)| text::extent(line));
    excerpt.reserve(characters.sum::<usize>().saturating_add(following));
    message(excerpt, view);
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
        Why::Stopped => ": its call was stopped",
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
