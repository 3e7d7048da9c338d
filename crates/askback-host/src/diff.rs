//! The differences between two JSON values.

use serde_json::Value;

use crate::{
    page::{Page, Style},
    text::PeerText,
    words,
};

/// The maximum number of differences that are shown.
const MOST: usize = 64;

/// The place of a difference as a JSON pointer, and the two values; of texts, the lines that differ.
type Difference = (String, Option<String>, Option<String>);

pub fn put(page: &mut Page, before: &Value, after: &Value) {
    match before == after {
        true => page.note(Style::Dim, "The result is the same as before."),
        false => {
            page.note(Style::Dim, "What differs from the result before:");
            put_all(page, before, after);
        }
    }
}

/// Puts the differences between two values on the page. Lists are compared by index, and texts line
/// by line.
pub fn put_all(page: &mut Page, before: &Value, after: &Value) {
    let mut found = Found::default();
    found.compare(String::new(), Some(before), Some(after));
    let Found { told, more } = found;
    for (path, before, after) in told {
        let path = if path.is_empty() { "the whole" } else { &path };
        page.quote_line("    ", PeerText::from(path));
        for (mark, side) in [("  - ", before), ("  + ", after)] {
            // An end that would be invisible is shown as JSON.
            let is_unseen = |side: &str| side.is_empty() || side.ends_with(char::is_whitespace);
            match side {
                Some(side) if is_unseen(&side) => {
                    page.quote_at(mark, Value::from(side).to_string());
                }
                Some(side) => page.quote_at(mark, side),
                None => {}
            }
        }
    }
    if more > 0 {
        page.note(Style::Dim, words!("Differences left out: {}", more));
    }
}

#[derive(Default)]
struct Found {
    told: Vec<Difference>,
    more: usize,
}

impl Found {
    fn compare(&mut self, path: String, before: Option<&Value>, after: Option<&Value>) {
        match (before, after) {
            (before, after) if before == after => {}
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                let added = after.keys().filter(|name| !before.contains_key(*name));
                for name in before.keys().chain(added) {
                    let escaped = name.replace('~', "~0").replace('/', "~1");
                    let path = format!("{path}/{escaped}");
                    self.compare(path, before.get(name), after.get(name));
                }
            }
            (Some(Value::Array(before)), Some(Value::Array(after))) => {
                for at in 0..before.len().max(after.len()) {
                    self.compare(format!("{path}/{at}"), before.get(at), after.get(at));
                }
            }
            _ if self.told.len() >= MOST => self.more = self.more.saturating_add(1),
            (Some(Value::String(before)), Some(Value::String(after))) => {
                let (before, after) = lines(before, after);
                self.told.push((path, before, after));
            }
            (before, after) => self.told.push((path, before.map(shown), after.map(shown))),
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// The lines that differ, without the common lines at both ends.
fn lines(before: &str, after: &str) -> (Option<String>, Option<String>) {
    let before: Vec<_> = before.split('\n').collect();
    let after: Vec<_> = after.split('\n').collect();
    let first = before
        .iter()
        .zip(&after)
        .take_while(|(a, b)| a == b)
        .count();
    let (before, after) = (&before[first..], &after[first..]);
    let ends = before.iter().rev().zip(after.iter().rev());
    let last = ends.take_while(|(a, b)| a == b).count();
    let middle = |lines: &[&str]| {
        let lines = &lines[..lines.len().saturating_sub(last)];
        (!lines.is_empty()).then(|| lines.join("\n"))
    };
    (middle(before), middle(after))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::page::Look;

    #[track_caller]
    fn check(before: Value, after: Value, expected: &str) {
        let look = Look {
            columns: 60,
            styled: false,
        };
        let mut page = Page::new(look);
        put_all(&mut page, &before, &after);
        assert_eq!(page.take().to_string(), expected);
    }

    #[test]
    fn differences_are_reported_with_their_place() {
        check(json!({"a": [1, null]}), json!({"a": [1, null]}), "");
        check(
            json!({"a": 1, "b": 2, "c/d": [1, 2]}),
            json!({"b": 3, "c/d": [1], "e": {}}),
            "    | /a\n  - | 1\n    | /b\n  - | 2\n  + | 3\n    | /c~1d/1\n  - | 2\n    | /e\n  + | {}\n",
        );
        check(
            json!("one\ntwo\nthree\nfour"),
            json!("one\n2\n3\nfour"),
            "    | the whole\n  - | two\n    | three\n  + | 2\n    | 3\n",
        );
        check(
            json!("a\nb"),
            json!("a\nx\nb"),
            "    | the whole\n  + | x\n",
        );
        check(json!("a\n"), json!("a"), "    | the whole\n  - | \"\"\n");
        check(
            json!(["b "]),
            json!(["b"]),
            "    | /0\n  - | \"b \"\n  + | b\n",
        );
    }

    #[test]
    fn only_so_many_differences_are_told() {
        let list = |value: i32| json!(vec![value; MOST + 7]);
        let look = Look {
            columns: 60,
            styled: false,
        };
        let mut page = Page::new(look);
        put_all(&mut page, &list(1), &list(2));
        let told = page.take().to_string();
        assert_eq!(told.matches("  - ").count(), MOST);
        assert!(told.ends_with("Differences left out: 7\n"), "{told}");
    }
}
