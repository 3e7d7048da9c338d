//! Checks whether a user can read the name of a server.

use askback_host::{
    text::{Words, acts_or_hides, given, line},
    words,
};

/// Returns why the name of a server cannot be used, as the end of a sentence, if the user would not see all of it.
pub fn unseen(name: &str) -> Option<Words> {
    if name.is_empty() {
        return Some("its name is empty".into());
    }
    if let Some(sign) = name.chars().find(|&c| is_unseen(name, c)) {
        return Some(words!("its name has an invisible character, {}", sign));
    }
    match name.trim() {
        "" => Some("its name has only spaces".into()),
        whole if whole == name => None,
        _ => Some("its name begins or ends with a space".into()),
    }
}

/// Whether a character of a name is a control character or invisible. Joiners and selectors are allowed if a script or
/// an emoji needs them.
fn is_unseen(name: &str, sign: char) -> bool {
    acts_or_hides(sign) && line(name).contains(words!("{}", sign).as_str())
}

pub fn heading(name: &str) -> Words {
    match name.trim() {
        "" => words!("`{}`", given(name)),
        _ => given(name).short(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_seen_whole() {
        #[track_caller]
        fn check(name: &str, why: &str) {
            let said = unseen(name).unwrap_or_default();
            assert_eq!(said.as_str(), why, "{name:?}");
        }
        check("travel", "");
        check("my server", "");
        check("größer, 日本", "");
        check("✈\u{fe0f}", "");
        check("می\u{200c}خواهم", "");
        check("", "its name is empty");
        check("  ", "its name has only spaces");
        check("\u{3000}", "its name has only spaces");
        check("travel ", "its name begins or ends with a space");
        check("\u{a0}travel", "its name begins or ends with a space");
        check(
            "tra\u{200b}vel",
            "its name has an invisible character, <U+200B>",
        );
        check(
            "\u{202e}levart",
            "its name has an invisible character, <U+202E>",
        );
        check("travel\n", "its name has an invisible character, <U+000A>");
    }
}
