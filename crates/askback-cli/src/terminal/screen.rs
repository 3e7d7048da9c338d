//! A question as lines.

use askback_core::{
    forms::{Field, FieldKind, FormSchema, Opt, TextField},
    protocol::{CreateMessageParams, Role, SamplingBlock},
};
use serde_json::Value;

use super::page::{Page, Style};
use crate::{
    content, folder,
    model::{
        Ask, Asker, Call, Draft, Front, Notice, Question, Reply, Step, Why,
        link::{Link, Refusal},
        marks,
    },
    text,
};

/// The most characters of a name that stands within a line of ours.
const SHORT: usize = 40;

/// The most columns of a value that stands within a line of ours.
const BRACKETED: usize = 24;

/// Puts the head of a question on the page: who asks, in which call, and why. It is one of how
/// many; at most `shown` characters of a message are put there.
pub(super) fn head(
    page: &mut Page,
    asker: &Asker,
    question: &Question,
    of: (usize, usize),
    shown: usize,
) {
    page.blank();
    let name = short(&asker.name);
    let wants = match &question.ask {
        Ask::Form { .. } => format!("{name} asks"),
        Ask::Link { .. } => format!("{name} asks you to open a link"),
        Ask::Sample(_) => format!("{name} asks for a text that a model would write"),
        Ask::Roots => format!("{name} asks which folders it may work in"),
        Ask::SignIn { .. } => format!("{name} wants you to sign in"),
        Ask::Arguments { .. } => {
            let tool = question.call.as_ref().map_or("the call".to_owned(), named);
            return page.say(Style::Strong, &format!("The arguments of {tool}"));
        }
    };
    page.say(Style::Strong, &format!("{wants}{}", beside(question, of)));
    origin(page, asker);
    why(page, question, shown);
}

/// Puts on the page what the server says about its question, at most `shown` characters of each
/// text.
pub(super) fn why(page: &mut Page, question: &Question, shown: usize) {
    match &question.ask {
        Ask::Sample(request) => sampling(page, request, shown),
        Ask::SignIn { issuer, scopes, .. } => sign_in(page, issuer, scopes.as_deref()),
        ask => message(page, ask.message().unwrap_or_default(), shown),
    }
}

/// Puts what is wanted now on the page.
pub(super) fn step(page: &mut Page, asker: &Asker, front: &Front<'_>) {
    match front.step {
        Step::Secret(draft) => secret(page, draft),
        Step::Field {
            draft,
            index,
            field,
            value,
        } => {
            page.blank();
            let optional = if field.required { "" } else { ", optional" };
            let place = format!("{} of {}{optional}", index + 1, draft.fields().len());
            page.say(Style::Dim, &place);
            self::field(page, field, value);
        }
        Step::Review(draft) => review(page, asker, front.question, draft),
        Step::Consent(link) => consent(page, link),
        Step::Opened(_) => {
            page.blank();
            page.say(
                Style::Plain,
                "When you are done there, come back and press Enter.",
            );
        }
        Step::Returning(_) => {
            page.blank();
            let words = "Waiting for the browser. If it is on another machine, paste the whole address it ends at.";
            page.say(Style::Plain, words);
        }
        Step::Reread(written) => {
            page.blank();
            page.say(
                Style::Strong,
                &format!("Ready to send to {}:", short(&asker.name)),
            );
            page.quote(written);
        }
        Step::Folders(Some(root)) => {
            page.say(
                Style::Plain,
                &format!("Offered: {}", folder::shown(&root.uri)),
            );
        }
        Step::Write => {
            let words = "No model is set up here: the text is yours to write. (Asking for one is on its way out of the protocol.)";
            page.note(Style::Dim, words);
        }
        Step::Confirm | Step::Sure(_) | Step::Folders(None) | Step::Reason => {}
    }
}

/// Puts on the page what can be typed, and the prompt.
pub(super) fn ask(page: &mut Page, front: &Front<'_>) {
    let ours = front.question.ask.is_ours();
    let hint = match front.step {
        Step::Secret(_) => "yes goes on all the same".to_owned(),
        Step::Field { field, value, .. } => field_hint(field, value),
        Step::Review(_) if ours => "Enter goes on · a number changes that field".to_owned(),
        Step::Review(_) => "Enter sends · a number changes that field".to_owned(),
        Step::Confirm => "yes agrees".to_owned(),
        Step::Consent(link) => format!("yes opens {} in your browser", link.host()),
        Step::Sure(link) => format!("Sure? yes opens {} all the same", link.host()),
        Step::Opened(_) => "Enter goes on · !open opens it again".to_owned(),
        Step::Returning(_) => "an address · !open opens the browser again".to_owned(),
        Step::Write => "write the text; a line with only a dot ends it".to_owned(),
        Step::Reread(_) => "Enter sends · !edit writes it anew".to_owned(),
        Step::Folders(Some(_)) => "yes allows that folder · a path, another one".to_owned(),
        Step::Folders(None) => "the path of a folder allows it".to_owned(),
        Step::Reason => "why not? A line for the server, or Enter for none".to_owned(),
    };
    let ways_out = match front.step {
        Step::Reason => "!back · !cancel",
        _ if ours => "!cancel",
        _ => "!decline · !cancel",
    };
    // What stands between the ways out keeps them on one line.
    let ways_out = ways_out.replace(' ', "\u{a0}");
    page.say(Style::Dim, &format!("{hint} · {ways_out}"));
    page.prompt("");
}

/// Puts on the page what was wrong with the last answer.
pub(super) fn issue(page: &mut Page, issue: &str) {
    page.item("× ", Style::Warning, &text::line(issue));
}

/// Puts on the page what became of a question.
pub(super) fn answered(page: &mut Page, asker: &Asker, reply: &Reply) {
    let name = short(&asker.name);
    let words = match reply {
        Reply::Form(_) | Reply::Text(_) => format!("Sent to {name}."),
        Reply::Returned(_) => "The browser is back.".to_owned(),
        Reply::Link => format!("{name} was told that you agreed to open the link."),
        Reply::Roots(roots) => match &roots[..] {
            [root] => format!("{name} may work in {}.", folder::shown(&root.uri)),
            roots => format!("{name} may work in {} folders.", roots.len()),
        },
        Reply::Declined { reason: None, .. } => "Declined.".to_owned(),
        Reply::Declined {
            reason: Some(_), ..
        } => format!("Declined; {name} is told why."),
        Reply::Cancelled(why) => format!("Cancelled{}.", because(*why)),
    };
    page.say(Style::Plain, &words);
}

/// Puts a notice on the page.
pub(super) fn notice(page: &mut Page, asker: &Asker, notice: &Notice) {
    let name = short(&asker.name);
    match notice {
        Notice::Withdrawn => {
            page.blank();
            page.say(Style::Warning, &format!("{name} took its question back."));
        }
        Notice::Muted => {
            let words = format!("Every question of {name} is cancelled from now on.");
            page.say(Style::Plain, &words);
        }
        Notice::Flood => {
            let words = format!("{name} asks too much at once; a question was cancelled.");
            page.say(Style::Warning, &words);
        }
        Notice::BrowserBack => {
            page.blank();
            page.say(Style::Plain, "The browser is back.");
        }
        Notice::LinkDone => {
            page.blank();
            page.say(Style::Plain, &format!("{name} says that the link is done."));
        }
        Notice::LinkRefused {
            message,
            url,
            refusal,
        } => {
            page.blank();
            let words = format!("{name} wanted a link opened; that was declined for you");
            page.say(Style::Strong, &words);
            origin(page, asker);
            if !message.is_empty() {
                page.quote(message);
            }
            page.quote_at("  ", &text::line(url));
            page.item("× ", Style::Warning, &refusal.to_string());
            if let Refusal::Repaired { to } = refusal {
                page.quote_at("  ", &text::line(to));
            }
        }
    }
}

/// Puts everything of a question on the page, for those who cannot ask a person.
pub(super) fn whole(page: &mut Page, asker: &Asker, question: &Question) {
    head(page, asker, question, (1, 1), usize::MAX);
    if let Some(key) = &question.key {
        page.note(Style::Dim, &format!("key: {}", short(key)));
    }
    match &question.ask {
        Ask::Form { schema, .. } => fields(page, "  ", schema),
        Ask::Link { url, .. } | Ask::SignIn { url, .. } => {
            page.quote_at("  ", &text::line(url));
        }
        Ask::Sample(_) | Ask::Roots | Ask::Arguments { .. } => {}
    }
}

/// Puts every command on the page.
pub(super) fn help(page: &mut Page) {
    for (command, does) in [
        ("!decline", "say no; a reason may follow"),
        ("!cancel", "go away: neither yes nor no"),
        ("!back", "go back by one"),
        ("!none", "leave the field empty"),
        ("!lines", "write several lines, ended by a dot"),
        ("!more", "show the whole message"),
        ("!mute", "cancel all questions of this server"),
        ("!!…", "a text that begins with !"),
    ] {
        page.item(&format!("  {command:<9} "), Style::Plain, does);
    }
}

/// Why a question was cancelled, to stand behind that word.
pub(super) fn because(why: Why) -> &'static str {
    match why {
        Why::Person => "",
        Why::EndOfInput => ": the input has ended",
        Why::Nobody => ": there is no terminal to ask at",
        Why::Rule => " by a rule of the answers file",
        Why::Unmatched => ": no rule of the answers file fits",
        Why::Muted => ": you wanted no more questions",
        Why::Flood => ": too many questions wait",
    }
}

/// Which of how many questions it is, and the call it belongs to.
fn beside(question: &Question, (position, total): (usize, usize)) -> String {
    let mut words = Vec::new();
    if total > 1 {
        words.push(format!("question {position} of {total}"));
    }
    words.extend(
        question
            .call
            .as_ref()
            .map(|call| format!("for {}", named(call))),
    );
    match words.is_empty() {
        true => String::new(),
        false => format!(" ({})", words.join(", ")),
    }
}

fn named(call: &Call) -> String {
    match call {
        Call::Tool(name) | Call::Resource(name) => short(name),
        Call::Prompt(name) => format!("/{}", short(name)),
    }
}

/// Where a server comes from: the command that started it or its address, then what it calls itself.
pub(super) fn origin(page: &mut Page, asker: &Asker) {
    page.note(Style::Dim, &asker.reached);
    if let Some(claims) = &asker.claims {
        let name = short(claims.title.as_ref().unwrap_or(&claims.name));
        let version = short(&claims.version);
        page.quote_at("  calls itself ", &format!("{name} {version}"));
    }
}

/// As much of a message as is shown at once.
fn message(page: &mut Page, message: &str, shown: usize) {
    if message.is_empty() {
        return;
    }
    let (head, more) = text::head(message, shown);
    page.quote(head);
    if more > 0 {
        let words = format!("{more} more characters; !more shows the whole");
        page.note(Style::Warning, &words);
    }
}

fn sampling(page: &mut Page, request: &CreateMessageParams, shown: usize) {
    if let Some(system) = &request.system_prompt {
        page.say(Style::Dim, "to the model:");
        message(page, system, shown);
    }
    for said in &request.messages {
        let role = match said.role {
            Role::User => "from the user:",
            Role::Assistant => "from the model:",
        };
        page.say(Style::Dim, role);
        for block in said.content.blocks() {
            match block {
                SamplingBlock::Text(block) => message(page, &block.text, shown),
                other => page.quote(&content::sampling_block(other)),
            }
        }
    }
    wishes(page, request);
}

/// What a server wishes of the model.
fn wishes(page: &mut Page, request: &CreateMessageParams) {
    let mut wishes = vec![format!("at most {} tokens", request.max_tokens)];
    wishes.extend(
        request
            .temperature
            .map(|value| format!("temperature {value}")),
    );
    let preferences = request.model_preferences.as_ref();
    let priorities = preferences.map(|preferences| {
        [
            ("cost", preferences.cost_priority),
            ("speed", preferences.speed_priority),
            ("intelligence", preferences.intelligence_priority),
        ]
    });
    for (name, priority) in priorities.into_iter().flatten() {
        wishes.extend(priority.map(|priority| format!("{name} {priority}")));
    }
    page.note(Style::Dim, &wishes.join(" · "));
    let hints = preferences.and_then(|preferences| preferences.hints.as_deref());
    for name in hints
        .into_iter()
        .flatten()
        .filter_map(|hint| hint.name.as_ref())
    {
        page.quote_at("  model like ", &text::line(name));
    }
}

fn secret(page: &mut Page, draft: &Draft) {
    page.blank();
    let words = "Careful: this seems to ask for a secret, which a server must not do in a form. What you type goes to it as it is.";
    page.say(Style::Warning, words);
    for field in draft.fields().iter().filter(|field| field.looks_secret()) {
        page.quote_at("  ", &text::line(field.label()));
    }
}

fn field(page: &mut Page, field: &Field, value: Option<&Value>) {
    page.quote(&text::line(field.label()));
    if let Some(description) = &field.description {
        page.quote(description);
    }
    let options = options(field);
    let marks = marks(options).unwrap_or_default();
    for (index, option) in options.iter().enumerate() {
        let mark = marks.get(index).map_or("", String::as_str);
        page.quote_at(&format!("{mark:>3} "), &text::line(option.label()));
    }
    if let FieldKind::Text(TextField {
        pattern: Some(pattern),
        ..
    }) = &field.kind
    {
        page.quote_at("pattern ", &text::line(pattern));
    }
    match value.map(|value| field.show(value)) {
        Some(value) if bracketed(&value).is_none() => page.quote_at("now ", &value),
        _ => {}
    }
}

/// A value that is short enough to stand in brackets, in a line of ours. It holds together there.
fn bracketed(value: &str) -> Option<String> {
    if value.contains('\n') {
        return None;
    }
    let value = text::line(value).replace(' ', "\u{a0}");
    (text::columns(&value) <= BRACKETED).then(|| format!("[{value}]"))
}

fn options(field: &Field) -> &[Opt] {
    match &field.kind {
        FieldKind::Choice(choice) => &choice.options,
        FieldKind::Choices(choices) => &choices.options,
        _ => &[],
    }
}

fn field_hint(field: &Field, value: Option<&Value>) -> String {
    let mut ours = field.clone();
    if let FieldKind::Text(text) = &mut ours.kind {
        // The pattern is the server's word; it stands behind the gutter.
        text.pattern = None;
    }
    let hint = ours.hint();
    match value {
        Some(value) => match bracketed(&field.show(value)) {
            Some(value) => format!("{hint} {value}"),
            None => format!("{hint} · Enter keeps it"),
        },
        None if field.required => hint,
        None => format!("{hint} · Enter skips"),
    }
}

fn review(page: &mut Page, asker: &Asker, question: &Question, draft: &Draft) {
    page.blank();
    let title = match &question.ask {
        Ask::Arguments { .. } => "Ready:".to_owned(),
        _ => format!("Ready to send to {}:", short(&asker.name)),
    };
    page.say(Style::Strong, &title);
    for (index, field) in draft.fields().iter().enumerate() {
        let label = text::line(field.label());
        let value = match draft.value(index) {
            Some(value) => field.show(value),
            None => "(empty)".to_owned(),
        };
        page.quote_at(&format!("{:>3} ", index + 1), &format!("{label}: {value}"));
    }
}

/// Who signs the person in, and what for: words of servers.
fn sign_in(page: &mut Page, issuer: &str, scopes: Option<&str>) {
    page.quote_at("  at  ", &text::line(issuer));
    if let Some(scopes) = scopes {
        page.quote_at("  for ", &text::line(scopes));
    }
}

fn consent(page: &mut Page, link: &Link) {
    page.say(Style::Plain, &format!("Host: {}", link.host()));
    page.link(&link.url, link.domain.clone());
    for warning in &link.warnings {
        page.item("  ! ", Style::Warning, &warning.to_string());
    }
}

/// Puts the fields of a form on the page, in a line each behind a mark of ours.
pub(super) fn fields(page: &mut Page, mark: &str, schema: &FormSchema) {
    for field in &schema.fields {
        let optional = if field.required { "" } else { ", optional" };
        let default = field.default_value().map_or_else(String::new, |value| {
            format!(" [{}]", text::line(&field.show(&value)))
        });
        let mut hint = field.hint();
        for (index, option) in options(field).iter().enumerate() {
            hint += if index == 0 { ": " } else { ", " };
            hint += &option.value;
        }
        let (name, hint) = (text::line(&field.name), text::line(&hint));
        page.quote_at(mark, &format!("{name}: {hint}{default}{optional}"));
    }
}

/// A name or value on one line, cut where it is long.
fn short(words: &str) -> String {
    let words = text::line(words);
    match text::head(&words, SHORT) {
        (_, 0) => words,
        (head, _) => format!("{head}…"),
    }
}
