use super::Words;
use crate::words;

/// Describes the whitespace in a text that the user cannot see: at its beginning and end, before
/// line breaks, repeated, and characters that look like a space.
pub fn unseen_blanks(text: &str) -> Option<Words> {
    // A line break is visible, and so is the indentation after it.
    let is_blank = |c: char| c.is_whitespace() && c != '\n';
    let is_doubled = |line: &str| {
        let mut pairs = line.trim().chars().zip(line.trim().chars().skip(1));
        pairs.any(|(one, next)| is_blank(one) && is_blank(next))
    };
    let facts = [
        (text.starts_with(is_blank), "blanks at its beginning"),
        (text.ends_with(is_blank), "blanks at its end"),
        (
            text.split('\n')
                .rev()
                .skip(1)
                .any(|line| line.ends_with(is_blank)),
            "blanks before line breaks",
        ),
        (text.split('\n').any(is_doubled), "several blanks in a row"),
        (
            text.contains(|c| is_blank(c) && c != ' '),
            "blanks that are no plain spaces",
        ),
    ];
    let facts = facts.into_iter().filter(|(is_so, _)| *is_so);
    let facts: Vec<_> = facts.map(|(_, fact)| words!("{}", fact)).collect();
    (!facts.is_empty()).then(|| Words::join(facts, ", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_that_are_not_seen_are_named() {
        for (text, said) in [
            ("", None),
            ("Ada Lovelace", None),
            ("one\n  two\n", None),
            (" Ada", Some("blanks at its beginning")),
            (" ", Some("blanks at its beginning, blanks at its end")),
            (
                "Ada  L ",
                Some("blanks at its end, several blanks in a row"),
            ),
            ("one \n\ntwo", Some("blanks before line breaks")),
            ("Ada\u{a0}L", Some("blanks that are no plain spaces")),
        ] {
            let words = unseen_blanks(text);
            assert_eq!(words.as_ref().map(Words::as_str), said, "{text:?}");
        }
    }
}
