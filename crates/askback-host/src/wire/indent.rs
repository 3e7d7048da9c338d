//! Indented JSON.

/// The maximum length of a list or object that stays on one line.
const INLINE: usize = 60;

/// The number of nested lists and objects that are indented. Deeper ones stay on the line of their
/// parent: a peer chooses the depth, and each line of it would begin with that many blanks.
const MAX_INDENTED_DEPTH: usize = 16;

/// Indents JSON. Changes only whitespace: duplicate names and the spelling of numbers are kept. The
/// result is at most `2 * MAX_INDENTED_DEPTH + 2` times as long.
pub fn indented(json: &str) -> String {
    let mut out = String::with_capacity(json.len().saturating_mul(2));
    let mut depth = 0_usize;
    let mut rest = json.trim();
    while let Some(c) = rest.chars().next() {
        let part = match c {
            '"' => &rest[..string(rest)],
            '{' | '[' => match inline(rest) {
                Some(end) => &rest[..end],
                None => {
                    depth = depth.saturating_add(1);
                    out.push(c);
                    line(&mut out, depth, depth);
                    rest = &rest[1..];
                    continue;
                }
            },
            '}' | ']' => {
                let inner = depth;
                depth = depth.saturating_sub(1);
                line(&mut out, inner, depth);
                &rest[..1]
            }
            ',' => {
                out.push(',');
                line(&mut out, depth, depth);
                rest = &rest[1..];
                continue;
            }
            ':' => {
                out.push_str(": ");
                rest = &rest[1..];
                continue;
            }
            c if c.is_whitespace() => {
                rest = &rest[c.len_utf8()..];
                continue;
            }
            c => &rest[..c.len_utf8()],
        };
        out.push_str(part);
        rest = &rest[part.len()..];
    }
    out
}

/// Begins a line inside a list or object at the depth `inside`, unless it is too deep.
fn line(out: &mut String, inside: usize, depth: usize) {
    if inside <= MAX_INDENTED_DEPTH {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    }
}

fn string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return at.saturating_add(1),
            '\\' => is_escaped = !is_escaped,
            _ => is_escaped = false,
        }
    }
    text.len()
}

/// The length of the list or object at the start of the text, if it is short and not nested.
fn inline(text: &str) -> Option<usize> {
    let mut at = 1;
    while at < text.len().min(INLINE) {
        match text.as_bytes().get(at)? {
            b'"' => at = at.saturating_add(string(text.get(at..)?)),
            b'}' | b']' => return Some(at.saturating_add(1)),
            b'{' | b'[' | b'\n' => return None,
            _ => at = at.saturating_add(1),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_indented_and_stays_the_same() {
        #[track_caller]
        fn check(json: &str, expected: &str) {
            assert_eq!(indented(json), expected);
            let compact = |json: &str| indented(json).replace([' ', '\n'], "");
            assert_eq!(compact(expected), json.replace([' ', '\n'], ""));
        }
        check("1", "1");
        check("{}", "{}");
        check(r#"{"a":1.50}"#, r#"{"a":1.50}"#);
        check(
            r#"{"a":{"b":"}\"{","b":[1,2]},"c":[{"d":1e400}]}"#,
            concat!(
                "{\n  \"a\": {\n    \"b\": \"}\\\"{\",\n    \"b\": [1,2]\n  },\n",
                "  \"c\": [\n    {\"d\":1e400}\n  ]\n}",
            ),
        );
        let long = "x".repeat(80);
        check(
            &format!(r#"["{long}","é"]"#),
            &format!("[\n  \"{long}\",\n  \"é\"\n]"),
        );
        // Invalid JSON is no problem.
        check("}}}", "\n}\n}\n}");
        check("\"open", "\"open");
        check("[[[", "[\n  [\n    [\n      ");
    }

    /// The length and the depth of the result do not grow with the depth of the JSON.
    #[test]
    fn deep_json_is_indented_up_to_a_depth() {
        #[track_caller]
        fn check(json: &str) {
            let indented = indented(json);
            let most = json.len() * (2 * MAX_INDENTED_DEPTH + 2);
            assert!(indented.len() <= most, "{} bytes", indented.len());
            let deepest = indented
                .lines()
                .map(|line| line.len() - line.trim_start().len());
            assert_eq!(deepest.max(), Some(2 * MAX_INDENTED_DEPTH));
            assert_eq!(indented.replace([' ', '\n'], ""), json);
        }
        const BYTES: usize = 64 << 10;
        check(&"[".repeat(BYTES));
        check(&["[".repeat(BYTES / 2), "]".repeat(BYTES / 2)].concat());
        check(&r#"{"a":"#.repeat(BYTES / 5));
        // The depth at which serde stops, and many values there.
        check(
            &[
                "[".repeat(127),
                "1,".repeat(BYTES / 2),
                "1".to_owned(),
                "]".repeat(127),
            ]
            .concat(),
        );
    }
}
