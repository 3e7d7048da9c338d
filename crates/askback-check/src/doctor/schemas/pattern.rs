//! Whether a pattern is a regular expression.

use regex_syntax::ast::{ErrorKind, parse::Parser};

/// Whether a pattern is a regular expression in no dialect, as far as the parser tells that forms are checked with. What
/// ECMA-262 has and this one has not, such as look-around, is none of a fault.
pub(super) fn is_broken(pattern: &str) -> bool {
    let Err(error) = Parser::new().parse(pattern) else {
        return false;
    };
    let from = pattern.get(error.span().start.offset..).unwrap_or_default();
    match error.kind() {
        // `[[]` and `[^]` are whole in ECMA-262.
        ErrorKind::ClassUnclosed => !from.contains(']'),
        // `{` alone is a character there.
        ErrorKind::RepetitionMissing => !from.starts_with('{'),
        kind => matches!(
            kind,
            ErrorKind::ClassRangeInvalid
                | ErrorKind::EscapeUnexpectedEof
                | ErrorKind::GroupUnclosed
                | ErrorKind::GroupUnopened
                | ErrorKind::RepetitionCountInvalid
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_dialect_takes_is_broken() {
        for broken in [
            "(", "a)", "[a-z", "[z-a]", "*", "a|+b", "a{3,1}", "a\\", "^(?:a$", "?",
        ] {
            assert!(is_broken(broken), "{broken}");
        }
        for whole in [
            "",
            "^[A-Z]{3}$",
            "^(?=.*[0-9]).{8,}$",
            r"^(a)\1$",
            r"(?<n>a)\k<n>",
            "[[]",
            "[^]",
            "[]",
            "[]]",
            r"[\w-.]+",
            "^{id}$",
            "{",
            "a{",
            "a{,3}",
            r"\p{Script=Greek}",
            r"\cA\u00e9\/\-",
            "(?i)a",
            r"^\d{4}-\d{2}$",
            "a++",
        ] {
            assert!(!is_broken(whole), "{whole}");
        }
    }
}
