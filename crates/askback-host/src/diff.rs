//! The differences between two JSON values.

use serde_json::Value;

use crate::{
    page::{Page, Style},
    text::PeerText,
    words,
};

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The place, as a JSON pointer.
    pub path: String,
    /// The old value, or the old lines of a text.
    pub before: Option<String>,
    /// The new value, or the new lines of a text.
    pub after: Option<String>,
}

const MOST: usize = 64;

/// Returns the first differences between two values, and how many more there are.
///
/// Lists are compared by index, and texts line by line.
pub fn differences(before: &Value, after: &Value) -> (Vec<Difference>, usize) {
    let mut found = Comparison::default();
    found.compare(&mut String::new(), Some(before), Some(after));
    (found.told, found.more)
}

/// Puts the differences between two results on the page.
pub fn put(page: &mut Page, before: &Value, after: &Value) {
    match before == after {
        true => page.note(Style::Dim, "The result is the same as before."),
        false => {
            page.note(Style::Dim, "What differs from the result before:");
            put_all(page, before, after);
        }
    }
}

/// Puts the differences between two values on the page.
pub fn put_all(page: &mut Page, before: &Value, after: &Value) {
    let (told, more) = differences(before, after);
    for difference in told {
        let path = match difference.path.as_str() {
            "" => "the whole".to_owned(),
            path => path.to_owned(),
        };
        page.quote_line("    ", PeerText::from(path));
        let sides = [("  - ", difference.before), ("  + ", difference.after)];
        let is_text = sides
            .iter()
            .flat_map(|(_, side)| side)
            .any(|side| ends_unseen(side));
        for (mark, side) in sides {
            match side {
                Some(side) if is_text => page.quote_at(mark, Value::from(side).to_string()),
                Some(side) => page.quote_at(mark, side),
                None => {}
            }
        }
    }
    if more > 0 {
        page.note(Style::Dim, words!("Differences left out: {}", more));
    }
}

/// Whether the end of a text would be invisible. Such a text is shown as JSON.
fn ends_unseen(text: &str) -> bool {
    text.is_empty() || text.ends_with(char::is_whitespace)
}

#[derive(Default)]
struct Comparison {
    told: Vec<Difference>,
    more: usize,
}

impl Comparison {
    fn compare(&mut self, path: &mut String, before: Option<&Value>, after: Option<&Value>) {
        match (before, after) {
            (Some(Value::Object(before)), Some(Value::Object(after))) => {
                let added = after.keys().filter(|name| !before.contains_key(*name));
                for name in before.keys().chain(added) {
                    let name_escaped = name.replace('~', "~0").replace('/', "~1");
                    self.at(path, &name_escaped, before.get(name), after.get(name));
                }
            }
            (Some(Value::Array(before)), Some(Value::Array(after))) => {
                for place in 0..before.len().max(after.len()) {
                    let (before, after) = (before.get(place), after.get(place));
                    self.at(path, &place.to_string(), before, after);
                }
            }
            (before, after) if before == after => {}
            (Some(Value::String(before)), Some(Value::String(after))) => {
                let (before, after) = lines(before, after);
                self.add(path, before, after);
            }
            (before, after) => self.add(path, before.map(shown), after.map(shown)),
        }
    }

    fn at(&mut self, path: &mut String, name: &str, before: Option<&Value>, after: Option<&Value>) {
        let end = path.len();
        path.push('/');
        path.push_str(name);
        self.compare(path, before, after);
        path.truncate(end);
    }

    fn add(&mut self, path: &str, before: Option<String>, after: Option<String>) {
        if self.told.len() >= MOST {
            self.more = self.more.saturating_add(1);
            return;
        }
        self.told.push(Difference {
            path: path.to_owned(),
            before,
            after,
        });
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// The lines that differ, without the common lines at both ends. A difference of one empty line
/// includes its neighbor, because an empty line would be invisible.
fn lines(before: &str, after: &str) -> (Option<String>, Option<String>) {
    let before: Vec<_> = before.split('\n').collect();
    let after: Vec<_> = after.split('\n').collect();
    let alike = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| {
        pairs.take_while(|(before, after)| before == after).count()
    };
    let first = alike(&mut before.iter().zip(&after));
    let (rest_before, rest_after) = (&before[first..], &after[first..]);
    let last = alike(&mut rest_before.iter().rev().zip(rest_after.iter().rev()));
    let middle = |lines: &[&str], first: usize, last: usize| {
        let end = lines.len().saturating_sub(last);
        let lines = &lines[first..end];
        (!lines.is_empty()).then(|| lines.join("\n"))
    };
    let sides = |first, last| (middle(&before, first, last), middle(&after, first, last));
    match sides(first, last) {
        (Some(line), None) | (None, Some(line)) if line.is_empty() => match first {
            0 => sides(0, last.saturating_sub(1)),
            _ => sides(first.saturating_sub(1), last),
        },
        sides => sides,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::page::Look;

    #[test]
    fn values_differ_where_they_differ() {
        #[track_caller]
        fn check(before: Value, after: Value, expected: &[(&str, Option<&str>, Option<&str>)]) {
            let (told, more) = differences(&before, &after);
            let told: Vec<_> = told
                .iter()
                .map(|it| (it.path.as_str(), it.before.as_deref(), it.after.as_deref()))
                .collect();
            assert_eq!((told.as_slice(), more), (expected, 0));
        }
        check(
            json!({"a": [1, {"b": null}]}),
            json!({"a": [1, {"b": null}]}),
            &[],
        );
        check(json!(1), json!("1"), &[("", Some("1"), Some("1"))]);
        check(
            json!({"a": 1, "b": 2, "c/d": [1, 2]}),
            json!({"b": 3, "c/d": [1], "e": {}}),
            &[
                ("/a", Some("1"), None),
                ("/b", Some("2"), Some("3")),
                ("/c~1d/1", Some("2"), None),
                ("/e", None, Some("{}")),
            ],
        );
        check(
            json!({"text": "one\ntwo\nthree\nfour"}),
            json!({"text": "one\n2\n3\nfour"}),
            &[("/text", Some("two\nthree"), Some("2\n3"))],
        );
        check(json!("a\nb"), json!("a\nx\nb"), &[("", None, Some("x"))]);
        check(json!("a\na"), json!("a"), &[("", Some("a"), None)]);
        check(json!("a\n"), json!("a"), &[("", Some("a\n"), Some("a"))]);
        check(json!("\na"), json!("a"), &[("", Some("\na"), Some("a"))]);
        check(
            json!("a\nb"),
            json!("a\n\nb"),
            &[("", Some("a"), Some("a\n"))],
        );
        check(json!(""), json!("\n"), &[("", Some(""), Some("\n"))]);
        check(
            json!(null),
            json!(false),
            &[("", Some("null"), Some("false"))],
        );
    }

    #[test]
    fn only_so_many_differences_are_told() {
        let list = |value: i32| json!(vec![value; MOST + 7]);
        let (told, more) = differences(&list(1), &list(2));
        assert_eq!((told.len(), more), (MOST, 7));
    }

    #[test]
    fn an_end_that_is_not_seen_is_shown_as_json() {
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
        check(
            json!("a\n"),
            json!("a"),
            "    | the whole\n  - | \"a\\n\"\n  + | \"a\"\n",
        );
        check(
            json!(["", "b\nc"]),
            json!(["b ", "b\nd"]),
            "    | /0\n  - | \"\"\n  + | \"b \"\n    | /1\n  - | c\n  + | d\n",
        );
    }
}
