//! The files of a skill: their digests, and the front matter of a `SKILL.md` (YAML between two lines `---`).

use std::fmt::Write as _;

use askback_core::protocol::JsonObject;
use serde_json::Value;
use sha2::{Digest, Sha256};

const MAX_FRONT_MATTER_BYTES: usize = 64 << 10;

/// Parses the front matter at the beginning of a text. A repeated member is an error, because programs differ in which
/// one they use.
///
/// # Errors
///
/// Says what is wrong.
pub(crate) fn front_matter(text: &str) -> Result<JsonObject, String> {
    let yaml = between_lines(text.trim_start_matches('\u{feff}'))
        .ok_or("it does not begin with front matter between two lines `---`")?;
    if yaml.len() > MAX_FRONT_MATTER_BYTES {
        let most = MAX_FRONT_MATTER_BYTES;
        return Err(format!("its front matter is longer than {most} bytes"));
    }
    let wrong = |why: String| format!("its front matter is not YAML with text keys: {why}");
    let read: yaml_serde::Value =
        yaml_serde::from_str(yaml).map_err(|error| wrong(error.to_string()))?;
    match serde_json::to_value(read) {
        Ok(Value::Object(read)) => Ok(read),
        Ok(_) => Err(wrong("expected `key: value` on each line".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

/// Returns the digest of a skill's file: `sha256:` and 64 lower-case hexadecimal digits (SEP-2640, Integrity and
/// Verification).
pub(crate) fn digest(content: &[u8]) -> String {
    let mut digest = "sha256:".to_owned();
    for byte in Sha256::digest(content) {
        // Writing to a string does not fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

fn between_lines(text: &str) -> Option<&str> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let rest = &text[first.len()..];
    let mut end = 0;
    for line in lines {
        if line.trim_end() == "---" {
            return Some(&rest[..end]);
        }
        end += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn front_matter_is_read_as_json() {
        let text = "\u{feff}---\r\nname: a\r\nmetadata:\r\n  n: 1\r\n  on: [yes, null, 2026-01-01]\r\n---\r\n# A\n---\n";
        let expected =
            json!({"name": "a", "metadata": {"n": 1, "on": ["yes", null, "2026-01-01"]}});
        assert_eq!(front_matter(text).map(Value::Object), Ok(expected));
    }

    #[test]
    fn front_matter_that_programs_could_read_differently_is_refused() {
        let bomb = (1..9).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, n| {
            let all = vec![format!("*a{}", n - 1); 9].join(",");
            text + &format!("a{n}: &a{n} [{all}]\n")
        });
        let cases = [
            ("", "does not begin with front matter"),
            (
                "# A\n---\nname: a\n---\n",
                "does not begin with front matter",
            ),
            ("---\nname: a\n", "does not begin with front matter"),
            ("---\n---\n", "expected `key: value`"),
            ("---\n- a\n---\n", "expected `key: value`"),
            ("---\nname: a\nname: b\n---\n", "duplicate entry"),
            ("---\nname: [a\n---\n", "is not YAML"),
            ("---\n[a, b]: c\n---\n", "is not YAML"),
            (&format!("---\n{bomb}---\n"), "repetition limit"),
            (
                &format!("---\nname: {}\n---\n", "a".repeat(1 << 16)),
                "longer than",
            ),
            (
                &format!("---\na: {}\n---\n", "[".repeat(9999)),
                "is not YAML",
            ),
        ];
        for (text, why) in cases {
            let error = front_matter(text).expect_err(text);
            assert!(error.contains(why), "{error}");
        }
    }
}
