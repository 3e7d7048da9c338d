//! Blanks that a person cannot see.

use super::Words;
use crate::words;

/// Says which blanks of a text are not seen: those of one that has nothing else, those at its ends, and those that follow
/// another where it has one line.
pub fn unseen_blanks(text: &str) -> Option<Words> {
    // A line break is shown.
    let is_blank = |c: char| c.is_whitespace() && c != '\n';
    let count = |text: &str| text.chars().count();
    let counted = |count: usize| match count {
        1 => words!("1 blank"),
        count => words!("{} blanks", count),
    };
    let all = count(text);
    let before = all.saturating_sub(count(text.trim_start_matches(is_blank)));
    let after = all.saturating_sub(count(text.trim_end_matches(is_blank)));
    if all > 0 && before == all {
        return Some(counted(all));
    }
    let is_doubled = !text.contains('\n') && text.trim().contains("  ");
    let parts = [
        (before > 0).then(|| words!("{} at its beginning", counted(before))),
        (after > 0).then(|| words!("{} at its end", counted(after))),
        is_doubled.then(|| "several blanks in a row".into()),
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| Words::join(parts, ", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blanks_that_are_not_seen_are_counted() {
        #[track_caller]
        fn check(text: &str, said: Option<&str>) {
            let words = unseen_blanks(text);
            assert_eq!(words.as_ref().map(Words::as_str), said, "{text:?}");
        }
        check("", None);
        check("Ada Lovelace", None);
        check(" ", Some("1 blank"));
        check("  ", Some("2 blanks"));
        check("\u{3000}\t", Some("2 blanks"));
        check(" Ada", Some("1 blank at its beginning"));
        check("Ada  ", Some("2 blanks at its end"));
        check(
            " Ada  L ",
            Some("1 blank at its beginning, 1 blank at its end, several blanks in a row"),
        );
        check("Ada  L", Some("several blanks in a row"));
        check("one\n  two", None);
        check("one\n  two\n", None);
        check("one\n  two\n ", Some("1 blank at its end"));
    }
}
