//! The fields of a form, in lines on a page.

use askback::forms::FormSchema;

use crate::{
    page::{Excerpt, LEFT_OUT, Page, Style},
    text,
    view::{FieldView, FormView, SecretView, Text, field_lines},
    words,
};

const FIELD_SHOWN: usize = 2048;

const LISTED: usize = 30;

pub(super) fn field(page: &mut Page, field: &FieldView) {
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

pub(super) fn review(page: &mut Page, form: &FormView) {
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
