//! Renders the question in front as HTML, from its [`View`] and the user's unfinished text.

use askama::Template;

use super::{
    form::{self, buttons},
    html::Html,
};
use crate::{
    page::Style,
    text::{PeerText, Words, acts_or_hides},
    view::{
        Body, Destination, FieldState, FieldView, FormView, Input, Labelled, LinkStep, LinkView,
        MessageView, Part, RequestView, SecretView, View,
    },
};

#[derive(Template)]
#[template(path = "web/question.html")]
struct QuestionPage<'a> {
    token: &'a str,
    is_news: bool,
    say: String,
    title: Html,
    queue: Option<Html>,
    origin: Html,
    claims: Option<Line>,
    call: Option<Line>,
    message: Vec<Line>,
    body: Vec<Line>,
    fields: Vec<FieldPart<'a>>,
    text: Option<TextPart<'a>>,
    /// The link that the user agreed to open.
    open: Option<&'a str>,
    left: Option<Html>,
    issue: Option<Html>,
    buttons: Vec<Button>,
    is_waiting: bool,
}

struct Line {
    class: &'static str,
    label: Option<Html>,
    text: Option<Html>,
}

struct FieldPart<'a> {
    index: usize,
    of: &'a FieldView,
    pattern: Option<Line>,
    issue: Option<&'a Words>,
    dropped: Option<Line>,
    kind: &'static str,
    mode: &'static str,
    value: &'a str,
    is_long: bool,
    is_several: bool,
    suggests: bool,
    suggested: Vec<&'a str>,
}

struct TextPart<'a> {
    label: Words,
    value: &'a str,
    is_long: bool,
}

struct Button {
    name: String,
    words: Html,
    class: &'static str,
}

/// The maximum length of text in a single-line field, in characters.
const LINE_CHARS: usize = 100;

/// `begun` is the unfinished text, if the question asks for text. `suggests` says whether the
/// server suggests values for the fields.
/// `is_news` says that the user cannot have read it yet.
pub(super) fn question(
    view: &View,
    begun: &str,
    suggests: bool,
    token: &str,
    is_news: bool,
    say: String,
) -> Html {
    let fields = match &view.body {
        Body::Form(form) => fields(form, view.issue.is_some(), suggests),
        _ => Vec::new(),
    };
    Html::of(&QuestionPage {
        token,
        is_news,
        say,
        title: Html::ours(&view.title.words),
        queue: view.queue.as_ref().map(|it| Html::ours(&it.words)),
        origin: Html::text(&view.asker.origin),
        claims: view.asker.claims.as_ref().map(labelled),
        call: view.call.as_ref().map(|call| Line {
            class: "fact",
            label: Some(Html::ours(&call.label)),
            text: Some(Html::peer(&call.name)),
        }),
        message: parts(&view.message),
        body: body(view),
        fields,
        text: text(view, begun),
        open: match &view.body {
            Body::Link(link) if matches!(link.step, LinkStep::Opened | LinkStep::Returning) => {
                Some(link.destination.address.text.raw())
            }
            _ => None,
        },
        left: match &view.body {
            Body::Form(form) => form.left.as_ref().map(Html::ours),
            _ => None,
        },
        issue: view.issue.as_ref().map(Html::ours),
        buttons: all_buttons(view),
        is_waiting: matches!(view.body, Body::Running(_)),
    })
}

fn all_buttons(view: &View) -> Vec<Button> {
    let mut all: Vec<_> = buttons(view)
        .into_iter()
        .map(|action| Button {
            name: form::name(action.act),
            words: Html::ours(&action.words),
            class: "quiet",
        })
        .collect();
    if form::is_returning(view) {
        let button = Button {
            name: "fill".to_owned(),
            words: Html::ours(&"Use this address".into()),
            class: "quiet",
        };
        all.insert(0, button);
    }
    if let Some(first) = all.first_mut() {
        first.class = "";
    }
    all
}

fn ours(class: &'static str, words: &Words) -> Line {
    Line {
        class,
        label: Some(Html::ours(words)),
        text: None,
    }
}

fn peer(text: &PeerText) -> Line {
    Line {
        class: "peer",
        label: None,
        text: Some(Html::peer(text)),
    }
}

fn labelled(fact: &Labelled) -> Line {
    Line {
        class: "fact",
        label: Some(Html::ours(&fact.label)),
        text: Some(Html::peer(&fact.text)),
    }
}

fn style(style: Style) -> &'static str {
    match style {
        Style::Dim => "note",
        Style::Warning | Style::Error => "warning",
        _ => "said",
    }
}

fn part(part: &Part) -> Vec<Line> {
    match part {
        Part::Say(it, words) => vec![ours(style(*it), words)],
        Part::Wrong(words, quoted) => {
            let quoted = quoted.iter().map(peer);
            [ours("warning", words)].into_iter().chain(quoted).collect()
        }
        Part::Text(text) => vec![peer(text)],
        Part::Line(fact) | Part::Detail(fact) => vec![labelled(fact)],
        Part::Request(it) => request(it),
    }
}

fn request(request: &RequestView) -> Vec<Line> {
    let messages = request.system.iter().chain(&request.messages);
    let mut lines: Vec<_> = messages.flat_map(message).collect();
    if let Some(tools) = &request.tools {
        lines.push(ours("note", &tools.words));
        for tool in &tools.tools {
            lines.push(peer(&tool.name));
            lines.extend(tool.description.iter().map(peer));
            lines.extend(tool.arguments.iter().chain(&tool.schema).map(peer));
        }
    }
    lines.extend(parts(&request.wishes));
    lines
}

fn message(message: &MessageView) -> Vec<Line> {
    let mut lines = vec![ours("note", &message.from)];
    lines.extend(parts(&message.parts));
    lines
}

fn parts(parts: &[Part]) -> Vec<Line> {
    parts.iter().flat_map(part).collect()
}

fn body(view: &View) -> Vec<Line> {
    match &view.body {
        Body::Nothing | Body::Reason(_) | Body::Form(_) => Vec::new(),
        Body::Secret(it) => secret(it),
        Body::Review(form) => review(form),
        Body::Link(it) => link(it),
        Body::Request(it) | Body::Reply(it) => parts(it),
        Body::Running(words) => vec![ours("said", words)],
        Body::Write(write) => {
            let now = write
                .now
                .iter()
                .flat_map(|now| [ours("note", &now.label), peer(&now.text)]);
            parts(&write.parts).into_iter().chain(now).collect()
        }
        Body::Folders { offered, .. } => offered.iter().map(|it| ours("said", it)).collect(),
        Body::Outline(outline) => outline.lines.iter().map(peer).collect(),
    }
}

fn secret(secret: &SecretView) -> Vec<Line> {
    let fields = secret.fields.iter().map(peer);
    let words = [ours("warning", &secret.words)];
    words.into_iter().chain(fields).collect()
}

fn review(form: &FormView) -> Vec<Line> {
    let mut lines = vec![ours("said", &form.ready)];
    for field in &form.fields {
        lines.push(Line {
            class: "value",
            label: Some(Html::peer(&field.label)),
            text: Some(Html::peer(&field.review.text)),
        });
    }
    lines
}

fn link(link: &LinkView) -> Vec<Line> {
    let mut lines: Vec<_> = link
        .unfinished
        .iter()
        .map(|it| ours("warning", it))
        .collect();
    lines.extend(destination(&link.destination));
    lines.extend(link.here.iter().map(|it| ours("note", it)));
    lines.extend(link.waits.iter().map(|(it, words)| ours(style(*it), words)));
    lines.extend(link.sure.iter().map(|it| ours("warning", it)));
    lines
}

fn destination(destination: &Destination) -> Vec<Line> {
    let address = |class, address: &crate::view::Address| Line {
        class,
        label: Some(Html::ours(&address.label)),
        text: Some(Html::address(address)),
    };
    let mut lines = vec![address("fact", &destination.site)];
    lines.extend(destination.host.iter().map(|it| address("fact", it)));
    lines.extend(destination.warnings.iter().map(|warning| Line {
        class: "warning",
        label: Some(Html::ours(&warning.words)),
        text: warning.of.as_ref().map(Html::peer),
    }));
    lines.extend(destination.leads_on.iter().map(|it| address("fact", it)));
    lines.extend(
        destination
            .leads_on_more
            .iter()
            .map(|it| ours("warning", it)),
    );
    lines.push(address("address", &destination.address));
    lines
}

fn text<'a>(view: &View, begun: &'a str) -> Option<TextPart<'a>> {
    let (label, is_long): (Words, _) = match &view.body {
        Body::Reason(label) => (label.clone(), false),
        Body::Folders { label, .. } => (label.clone(), false),
        Body::Link(link) if link.step == LinkStep::Returning => {
            let words = "The whole address at which the browser ended:";
            (link.next.clone().unwrap_or_else(|| words.into()), false)
        }
        Body::Write(write) => (write.label.clone(), true),
        _ => return None,
    };
    Some(TextPart {
        label,
        value: begun,
        is_long,
    })
}

fn fields(form: &FormView, was_looked_over: bool, suggests: bool) -> Vec<FieldPart<'_>> {
    let fields = form.fields.iter().enumerate();
    let fields = fields.map(|(index, it)| {
        let suggested = form.suggested.iter().filter(|it| it.field == index);
        let values = suggested.flat_map(|it| &it.values).map(PeerText::raw);
        FieldPart {
            // A value that hides something cannot be judged in a list.
            suggested: values.filter(|it| !it.chars().any(acts_or_hides)).collect(),
            suggests: suggests && !it.is_secret,
            // An empty field is reported as missing only after the user reviewed the form.
            issue: it
                .issue
                .as_ref()
                .filter(|_| was_looked_over || it.state != FieldState::Empty),
            ..field(index, it)
        }
    });
    fields.collect()
}

fn field(index: usize, field: &FieldView) -> FieldPart<'_> {
    let text = field.text.raw();
    let is_empty = text.is_empty();
    let has_shape = |shape: &str| {
        let of_shape = |(known, wanted): (char, char)| match wanted {
            '0' => known.is_ascii_digit(),
            wanted => known == wanted,
        };
        is_empty || text.len() == shape.len() && text.chars().zip(shape.chars()).all(of_shape)
    };
    // A browser shows and sends nothing if the value does not have the format of its input type.
    let (kind, mode) = match field.input {
        _ if field.is_secret => ("password", "text"),
        Input::Email => ("email", "email"),
        Input::Uri => ("url", "url"),
        Input::Date if has_shape("0000-00-00") => ("date", "text"),
        Input::DateTime if has_shape("0000-00-00T00:00") => ("datetime-local", "text"),
        Input::Number => ("text", "decimal"),
        Input::Integer => ("text", "numeric"),
        Input::Date
        | Input::DateTime
        | Input::Text
        | Input::YesNo
        | Input::One
        | Input::Several
        | Input::Json => ("text", "text"),
    };
    let is_text = matches!(field.input, Input::Text | Input::Json) && !field.is_secret;
    FieldPart {
        index,
        of: field,
        pattern: field.pattern.as_ref().map(labelled),
        issue: None,
        dropped: field.dropped.as_ref().map(|dropped| Line {
            class: "warning",
            label: Some(Html::ours(&dropped.words)),
            text: Some(Html::peer(&dropped.text)),
        }),
        kind,
        mode,
        value: if field.is_secret { "" } else { text },
        is_long: is_text
            && (field.input == Input::Json
                || text.contains('\n')
                || text.chars().nth(LINE_CHARS).is_some()),
        is_several: field.input == Input::Several,
        suggests: false,
        suggested: Vec::new(),
    }
}
