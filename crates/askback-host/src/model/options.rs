use askback::forms::{Field, FieldKind, Opt};

use crate::{text::Words, words};

/// Returns the options of a field; empty if it is not a selection.
pub fn options(field: &Field) -> &[Opt] {
    match &field.kind {
        FieldKind::Choice(choice) => &choice.options,
        FieldKind::Choices(choices) => &choices.options,
        _ => &[],
    }
}

/// Returns the indexes of the options whose label contains the text, ignoring case.
pub fn having(options: &[Opt], text: &str) -> Vec<usize> {
    let text = text.to_lowercase();
    let has = |option: &Opt| option.label().to_lowercase().contains(&text);
    let all = options.iter().enumerate();
    all.filter(|(_, option)| has(option))
        .map(|(index, _)| index)
        .collect()
}

/// Returns numbers to select options by. Returns `None` if a number could be mistaken for an option.
pub fn marks(options: &[Opt]) -> Option<Vec<Words>> {
    let is_number = |text: &str| text.trim().parse::<f64>().is_ok();
    let has_number = options
        .iter()
        .any(|it| is_number(&it.value) || is_number(it.label()));
    (!has_number).then(|| (1..=options.len()).map(|n| words!("{}", n)).collect())
}
