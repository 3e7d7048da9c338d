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

/// Returns short marks to select options by: numbers, or letters if a number could be mistaken for
/// an option. Returns `None` if a letter could be mistaken too.
pub fn marks(options: &[Opt]) -> Option<Vec<Words>> {
    let any = |test: fn(&str) -> bool| {
        options
            .iter()
            .any(|option| test(option.value.trim()) || test(option.label().trim()))
    };
    let is_number = |text: &str| text.parse::<f64>().is_ok();
    let is_letter =
        |text: &str| text.len() == 1 && text.starts_with(|c: char| c.is_ascii_alphabetic());
    if !any(is_number) {
        return Some((1..=options.len()).map(|n| words!("{}", n)).collect());
    }
    (options.len() <= LETTERS.len() && !any(is_letter)).then(|| {
        let letters = LETTERS.iter().take(options.len());
        letters.map(|&letter| letter.into()).collect()
    })
}

const LETTERS: [&str; 26] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s",
    "t", "u", "v", "w", "x", "y", "z",
];
