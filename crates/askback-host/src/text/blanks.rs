use super::Words;
use crate::words;

/// Describes the whitespace in a text that the user cannot see: all of a blank text, leading and
/// trailing whitespace, whitespace before line breaks, repeated whitespace within a line, and
/// characters that look like a space.
pub fn unseen_blanks(text: &str) -> Option<Words> {
    // A line break is visible.
    let is_blank = |c: char| c.is_whitespace() && c != '\n';
    let count = |text: &str| text.chars().count();
    let counted = |count: usize| match count {
        1 => words!("1 blank"),
        count => words!("{} blanks", count),
    };
    let all = count(text);
    let before = all.saturating_sub(count(text.trim_start_matches(is_blank)));
    let after = |text: &str| count(text).saturating_sub(count(text.trim_end_matches(is_blank)));
    let others = text.chars().filter(|&c| is_blank(c) && c != ' ').count();
    let others = match others {
        0 => None,
        1 => Some(words!("1 blank that is no plain space")),
        others => Some(words!("{} blanks that are no plain spaces", others)),
    };
    if all > 0 && before == all {
        let plain = text.chars().any(|c| c == ' ').then(|| counted(all));
        return joined([plain, others]);
    }
    // Whitespace before the first word is at the beginning, after the last word at the end.
    let begun = text.trim_start_matches(is_blank);
    let broken = begun.rsplit_once('\n').map_or("", |(lines, _)| lines);
    let at_breaks: usize = broken.split('\n').map(after).sum();
    let is_doubled = text.split('\n').any(|line| {
        let mut pairs = line.trim().chars().zip(line.trim().chars().skip(1));
        pairs.any(|(one, next)| is_blank(one) && is_blank(next))
    });
    joined([
        (before > 0).then(|| words!("{} at its beginning", counted(before))),
        (after(text) > 0).then(|| words!("{} at its end", counted(after(text)))),
        (at_breaks > 0).then(|| words!("{} before line breaks", counted(at_breaks))),
        is_doubled.then(|| "several blanks in a row".into()),
        others,
    ])
}

fn joined<const N: usize>(parts: [Option<Words>; N]) -> Option<Words> {
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
        check("\u{3000}\t", Some("2 blanks that are no plain spaces"));
        check(" \u{a0}", Some("2 blanks, 1 blank that is no plain space"));
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
        check("one\n  two  2\nthree", Some("several blanks in a row"));
        check("one \n\n  \ntwo", Some("3 blanks before line breaks"));
        check("  \ntwo", Some("2 blanks at its beginning"));
        check("Ada\u{a0}L", Some("1 blank that is no plain space"));
        check(
            "one\u{3000}\n\ttwo",
            Some("1 blank before line breaks, 2 blanks that are no plain spaces"),
        );
        check(
            "Ada \u{2003}L",
            Some("several blanks in a row, 1 blank that is no plain space"),
        );
    }
}
