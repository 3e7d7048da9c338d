//! The forms of a suite as one client draws them, as far as that is known.

use askback::forms::{Field, FieldKind, FormSchema, Opt};
use askback_host::{
    page::{Page, Style},
    text::{self, Words, given},
    words,
};

use super::{
    Matrix, QuestionRequest, Verdict,
    judge::{self, Flaw, starts_on_first_option},
    report::fact,
};
use crate::known_clients::{FormDrawing, FormLayout, KnownClient};

pub fn preview(page: &mut Page, matrix: &Matrix, client: &'static KnownClient) {
    let Some(index) = matrix.clients.iter().position(|it| it.name == client.name) else {
        return;
    };
    page.say(Style::Dim, fact(client));
    let mut drawn = 0_usize;
    for tool in &matrix.tools {
        let Some(cell) = tool.cells.get(index).and_then(Option::as_ref) else {
            continue;
        };
        if cell.verdict() == Verdict::Unreachable && cell.forms.is_empty() {
            page.blank();
            let words = words!("{} draws nothing of {}:", client.title(), given(&tool.name));
            page.say(Style::Strong, words);
            for reason in &cell.reasons {
                page.note(Style::Plain, reason.flaw.words());
            }
        }
        for form in &cell.forms {
            let QuestionRequest::Form(schema) = &form.request else {
                continue;
            };
            drawn = drawn.saturating_add(1);
            page.blank();
            let words = words!("{} draws a form of {}:", client.title(), given(&tool.name));
            page.say(Style::Strong, words);
            put_form(page, &form.message, schema, client);
        }
    }
    if drawn == 0 {
        page.blank();
        page.say(Style::Plain, "No form of these tools reaches this client.");
    }
}

fn put_form(page: &mut Page, message: &str, schema: &FormSchema, client: &KnownClient) {
    page.item("┌─ ", Style::Dim, client.title());
    page.quote(message);
    let request = QuestionRequest::Form(schema.clone());
    let reasons = judge::judge(&request, client);
    let mut flaws = reasons.iter().map(|reason| reason.flaw);
    let is_empty = flaws.any(Flaw::hides_fields);
    match (client.forms, is_empty) {
        (_, true) => page.item(
            "├─ ",
            Style::Warning,
            "no fields: the form has a number or a list, and the client sends it empty",
        ),
        (None, false) => page.item(
            "├─ ",
            Style::Warning,
            "the fields: it is not known how this client draws them",
        ),
        (Some(drawing), false) => put_fields(page, schema, drawing),
    }
    page.item("└─ ", Style::Dim, "");
    let seen = |flaw: Flaw| !is_empty || !flaw.is_of_shown_fields();
    for reason in reasons.iter().filter(|it| seen(it.flaw)) {
        page.note(Style::Plain, reason.flaw.words());
        for field in &reason.fields {
            page.quote_line("  ", field);
        }
    }
}

/// The fields in the order in which the client shows them.
fn in_order(schema: &FormSchema, drawing: FormDrawing) -> Vec<&Field> {
    let mut fields: Vec<_> = schema.fields.iter().collect();
    if drawing.sorted {
        fields.sort_by(|one, other| one.name.cmp(&other.name));
    }
    fields
}

fn put_fields(page: &mut Page, schema: &FormSchema, drawing: FormDrawing) {
    let layout = match drawing.layout {
        FormLayout::Page => "all fields on one page",
        FormLayout::Tabs => "a tab for each field",
        FormLayout::Steps => "one field after the other",
    };
    let order = match drawing.sorted {
        true => ", sorted by name",
        false => "",
    };
    page.item("├─ ", Style::Dim, words!("{}{}", layout, order));
    let fields = in_order(schema, drawing);
    let count = fields.len();
    for (number, field) in (1_usize..).zip(fields) {
        let required = match field.required {
            true => ", required",
            false => "",
        };
        let head = words!("{} of {}: {}{}", number, count, text::hint(field), required);
        page.item("├─ ", Style::Dim, head);
        page.quote_line("", field.title.as_ref().unwrap_or(&field.name));
        if let Some(description) = &field.description {
            page.quote(description);
        }
        put_value(page, field, drawing);
    }
}

/// Adds the value that the field has before the user changes it.
fn put_value(page: &mut Page, field: &Field, drawing: FormDrawing) {
    match &field.kind {
        FieldKind::Choice(choice) => {
            let is_first = drawing.first_option && starts_on_first_option(field);
            for (index, option) in choice.options.iter().enumerate() {
                let is_default = choice.default.as_ref() == Some(&option.value);
                put_option(
                    page,
                    option,
                    ["( )", "(•)"],
                    is_default || is_first && index == 0,
                );
            }
        }
        FieldKind::Choices(choices) => {
            let preset = choices.default.as_deref().unwrap_or_default();
            for option in &choices.options {
                put_option(page, option, ["[ ]", "[x]"], preset.contains(&option.value));
            }
        }
        FieldKind::Text(text) if !drawing.no_text_defaults => {
            if let Some(default) = &text.default {
                page.quote_line("  preset ", default);
            }
        }
        FieldKind::Number(number) => {
            if let Some(default) = &number.default {
                page.quote_line("  preset ", default.to_string());
            }
        }
        FieldKind::Boolean(boolean) => {
            let preset: Option<Words> = boolean.default.map(|it| match it {
                true => "  preset: yes".into(),
                false => "  preset: no".into(),
            });
            if let Some(preset) = preset {
                page.item("", Style::Plain, preset);
            }
        }
        _ => {}
    }
}

fn put_option(page: &mut Page, option: &Opt, [empty, chosen]: [&'static str; 2], is_chosen: bool) {
    let mark = match is_chosen {
        true => chosen,
        false => empty,
    };
    page.quote_line(words!("  {} ", mark), option.label());
}
