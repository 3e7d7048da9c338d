//! Renders the question in front as HTML, from its [`View`] and the user's unfinished text.

use askama::Template;

use super::{form, html::Html};
use crate::{
    page::Style,
    text::{PeerText, Words, acts_or_hides},
    view::{ActionView, Body, FieldState, FieldView, FormView, Input, LinkStep, Part, View},
};

#[derive(Template)]
#[template(path = "web/question.html")]
struct QuestionPage<'a> {
    view: &'a View,
    token: &'a str,
    is_news: bool,
    say: String,
    fields: Vec<FieldPart<'a>>,
    text: Option<TextPart<'a>>,
    /// The link that the user agreed to open.
    open: Option<&'a str>,
    /// Whether the address at which the browser ended can be given.
    is_returning: bool,
    buttons: Vec<&'a ActionView>,
}

#[derive(Template)]
#[template(path = "web/parts.html")]
struct PartsPart<'a> {
    parts: &'a [Part],
}

struct FieldPart<'a> {
    index: usize,
    of: &'a FieldView,
    issue: Option<&'a Words>,
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
        view,
        token,
        is_news,
        say,
        fields,
        text: text(view, begun),
        open: match &view.body {
            Body::Link(link) if matches!(link.step, LinkStep::Opened | LinkStep::Returning) => {
                Some(link.destination.address.text.raw())
            }
            _ => None,
        },
        is_returning: form::is_returning(view),
        buttons: form::buttons(view),
    })
}

impl Html {
    /// Renders the parts of a message. A part may contain other messages.
    fn parts(parts: &[Part]) -> Self {
        Self::of(&PartsPart { parts })
    }

    fn class(style: &Style) -> &'static str {
        match style {
            Style::Dim => "note",
            Style::Warning | Style::Error => "warning",
            _ => "said",
        }
    }
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
        // A value that hides something cannot be judged in a list.
        let suggested = values.filter(|it| !it.chars().any(acts_or_hides)).collect();
        field(index, it, was_looked_over, suggests, suggested)
    });
    fields.collect()
}

fn field<'a>(
    index: usize,
    field: &'a FieldView,
    was_looked_over: bool,
    suggests: bool,
    suggested: Vec<&'a str>,
) -> FieldPart<'a> {
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
        // An empty field is reported as missing only after the user reviewed the form.
        issue: field
            .issue
            .as_ref()
            .filter(|_| was_looked_over || field.state != FieldState::Empty),
        kind,
        mode,
        value: if field.is_secret { "" } else { text },
        is_long: is_text
            && (field.input == Input::Json
                || text.contains('\n')
                || text.chars().nth(LINE_CHARS).is_some()),
        is_several: field.input == Input::Several,
        suggests: suggests && !field.is_secret,
        suggested,
    }
}
