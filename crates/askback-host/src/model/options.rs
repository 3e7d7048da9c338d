//! The options of a field.

use askback::forms::{Field, FieldKind, Opt};

use crate::{text::Words, words};

/// The options of a field; none, where it is not chosen from a list.
pub fn options(field: &Field) -> &[Opt] {
    match &field.kind {
        FieldKind::Choice(choice) => &choice.options,
        FieldKind::Choices(choices) => &choices.options,
        _ => &[],
    }
}

/// Which options have this in their label, in letters of either case.
pub fn having(options: &[Opt], text: &str) -> Vec<usize> {
    let text = text.to_lowercase();
    let has = |option: &Opt| option.label().to_lowercase().contains(&text);
    let all = options.iter().enumerate();
    all.filter(|(_, option)| has(option))
        .map(|(index, _)| index)
        .collect()
}

/// The short marks by which the options of a list can be chosen: numbers, or letters where an
/// option could be taken for a number, or none where it could be taken for a letter too.
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

/// The letters that mark options.
const LETTERS: [&str; 26] = [
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s",
    "t", "u", "v", "w", "x", "y", "z",
];
