//! Names that a user cannot tell apart.

use unicode_security::confusable_detection::skeleton;

use super::push_number;

/// Makes similar-looking names distinguishable: the characters that differ are written as
/// `<U+XXXX>`. ASCII characters are kept.
pub fn told_apart(names: &[String]) -> Vec<String> {
    let differing: Vec<_> = of_those_alike(names)
        .map(|(name, alike)| written(name, |c| alike.iter().any(|other| !other.contains(c))))
        .collect();
    // If two names have the same characters in a different order, write all of them as `<U+XXXX>`.
    let all = of_those_alike(&differing).map(|(name, alike)| written(name, |_| !alike.is_empty()));
    all.collect()
}

/// Returns each name with the other names that look like it.
fn of_those_alike(names: &[String]) -> impl Iterator<Item = (&String, Vec<&String>)> {
    let looks: Vec<String> = names.iter().map(|name| skeleton(name).collect()).collect();
    names.iter().zip(looks.clone()).map(move |(name, look)| {
        let others = names.iter().zip(&looks);
        let alike = others.filter(|(other, of_other)| *other != name && **of_other == look);
        (name, alike.map(|(other, _)| other).collect())
    })
}

/// Writes the selected characters outside ASCII as `<U+XXXX>`.
fn written(name: &str, is_numbered: impl Fn(char) -> bool) -> String {
    let mut written = String::with_capacity(name.len());
    for c in name.chars() {
        match !c.is_ascii() && is_numbered(c) {
            true => push_number(&mut written, c),
            false => written.push(c),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_look_alike_are_told_apart() {
        #[track_caller]
        fn check(names: &[&str], written: &[&str]) {
            let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            assert_eq!(told_apart(&names), written);
        }
        check(&[], &[]);
        check(&["travel", "expense"], &["travel", "expense"]);
        check(&["größe", "日本"], &["größe", "日本"]);
        // The second has a Cyrillic letter.
        check(&["travel", "tr\u{430}vel"], &["travel", "tr<U+0430>vel"]);
        check(
            &["tr\u{430}vel", "x", "travel"],
            &["tr<U+0430>vel", "x", "travel"],
        );
        check(&["a b", "a\u{a0}b"], &["a b", "a<U+00A0>b"]);
        check(&["m", "\u{ff4d}"], &["m", "<U+FF4D>"]);
        check(&["größa", "größ\u{430}"], &["größa", "größ<U+0430>"]);
        check(&["a\u{430}", "\u{430}a"], &["a<U+0430>", "<U+0430>a"]);
        check(&["é", "e\u{301}"], &["<U+00E9>", "e<U+0301>"]);
        check(
            &["co", "c\u{43e}", "\u{441}\u{43e}"],
            &["co", "c<U+043E>", "<U+0441><U+043E>"],
        );
        // Terminal fonts distinguish ASCII characters.
        check(&["l1", "ll"], &["l1", "ll"]);
        check(&["same", "same"], &["same", "same"]);
    }
}
