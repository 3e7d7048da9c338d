//! The report as JUnit XML.

use std::fmt::Write as _;

use askback_host::text;

use super::{Report, details, seconds, shown};
use crate::suite::run::{CaseRun, Verdict};

/// How many characters of a text are written.
const MOST: usize = 65_536;

pub(super) fn written(report: &Report<'_>) -> String {
    let counts = report.counts();
    let head = format!(
        "name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{}\"",
        attribute(report.name),
        report.cases.len(),
        counts.failed,
        counts.broken,
        seconds(report.took),
    );
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {head}>\n  <testsuite {head}>\n"
    );
    for case in report.cases {
        put(&mut xml, report.name, case);
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn put(xml: &mut String, suite: &str, case: &CaseRun<'_>) {
    // Writing to a string cannot fail.
    let _ = write!(
        xml,
        "    <testcase name=\"{}\" classname=\"{}\" time=\"{}\"",
        attribute(&case.planned.name()),
        attribute(suite),
        seconds(case.took),
    );
    let element = match case.verdict {
        Verdict::Passed => {
            xml.push_str("/>\n");
            return;
        }
        Verdict::Failed(_) => "failure",
        Verdict::Broken(_) => "error",
    };
    xml.push_str(">\n");
    let details = details(case);
    let first = details.first().map_or("", String::as_str);
    let first = first.lines().next().unwrap_or_default();
    let _ = writeln!(
        xml,
        "      <{element} message=\"{}\">{}</{element}>",
        attribute(first),
        content(&details.join("\n\n")),
    );
    let shown = shown(case);
    if !shown.is_empty() {
        let _ = writeln!(xml, "      <system-out>{}</system-out>", content(&shown));
    }
    xml.push_str("    </testcase>\n");
}

/// Text for an attribute, on one line.
fn attribute(value: &str) -> String {
    escaped(&text::line(value))
}

fn content(value: &str) -> String {
    escaped(&text::lines(value).join("\n"))
}

/// Escapes a text for XML 1.0. Characters that XML forbids are made visible, like control and invisible characters.
fn escaped(value: &str) -> String {
    // The program that reads the document may print it to the job's log.
    let value = match text::is_ci_job() {
        true => text::without_ci_commands(value),
        false => value.into(),
    };
    let (head, more) = text::head(&value, MOST);
    let mut xml = String::with_capacity(head.len());
    for c in head.chars() {
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '"' => xml.push_str("&quot;"),
            '\t' | '\n' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'.. => xml.push(c),
            // Writing to a string cannot fail.
            c => drop(write!(xml, "&lt;U+{:04X}&gt;", u32::from(c))),
        }
    }
    if more > 0 {
        let _ = write!(xml, "… and {more} more characters");
    }
    xml
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses a document with the text in both places.
    fn read(value: &str) -> (String, String) {
        let xml = format!("<a b=\"{}\">{}</a>", attribute(value), content(value));
        let document =
            roxmltree::Document::parse(&xml).unwrap_or_else(|error| panic!("{error}: {xml:?}"));
        let root = document.root_element();
        let attribute = root.attribute("b").unwrap_or_default().to_owned();
        (attribute, root.text().unwrap_or_default().to_owned())
    }

    #[test]
    fn ordinary_text_is_unchanged() {
        #[track_caller]
        fn check(value: &str, in_attribute: &str, in_content: &str) {
            let expected = (in_attribute.to_owned(), in_content.to_owned());
            assert_eq!(read(value), expected);
        }
        check(
            "a < b && c > \"d\" 'e'",
            "a < b && c > \"d\" 'e'",
            "a < b && c > \"d\" 'e'",
        );
        check(
            "]]> <![CDATA[ <!-- &#0; &x;",
            "]]> <![CDATA[ <!-- &#0; &x;",
            "]]> <![CDATA[ <!-- &#0; &x;",
        );
        check("a\nb\tc", "a<U+000A>b<U+0009>c", "a\nb\tc");
        check(
            "\u{0}\u{1b}[2J\u{fffe}",
            "<U+0000><U+001B>[2J<U+FFFE>",
            "<U+0000><U+001B>[2J<U+FFFE>",
        );
    }

    #[test]
    fn a_long_text_is_cut() {
        let (_, text) = read(&"a".repeat(MOST + 7));
        assert!(text.ends_with("a… and 7 more characters"), "{}", text.len());
    }

    proptest! {
        #[test]
        fn any_text_is_well_formed(value in any::<String>()) {
            let (attribute, content) = read(&value);
            // Forbidden characters are made visible.
            let seen = |text: String| text.replace('\u{fffe}', "<U+FFFE>").replace('\u{ffff}', "<U+FFFF>");
            prop_assert_eq!(attribute, seen(text::line(&value)));
            prop_assert_eq!(content, seen(text::lines(&value).join("\n")));
        }
    }
}
