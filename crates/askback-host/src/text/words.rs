use std::{fmt, fmt::Write as _};

use serde::{Deserialize, Deserializer, Serialize};
use unicode_width::UnicodeWidthStr;

use super::line;

/// The maximum length of a name in one of our lines, in characters.
const SHORT: usize = 40;

/// How much of that is the end of a longer name.
const SHORT_END: usize = 15;

/// The maximum length of a number, in characters. Longer ones are written with an exponent.
const DIGITS: usize = 12;

/// One line of our own text: sentences from this program's source, with parts inserted by
/// [`words!`](crate::words).
///
/// Text that is not in the source can only become words through [`given`], or from JSON that this
/// program wrote. A peer's text is [`PeerText`](super::PeerText) and cannot become words:
///
/// ```
/// use askback_host::{text::{given, Words}, words};
///
/// let (name, count) = (String::from("travel"), 2_u32);
/// let ours: Words = words!("{} asks {} times", given(&name), count);
/// assert_eq!(ours.to_string(), "travel asks 2 times");
/// ```
///
/// ```compile_fail
/// use askback_host::{text::Words, words};
///
/// let name = String::from("travel");
/// let ours: Words = words!("{} asks", name);
/// ```
///
/// ```compile_fail
/// use askback_host::{text::Words, words};
///
/// fn of(name: &str) -> Words {
///     words!("{} asks", name)
/// }
/// ```
///
/// ```compile_fail
/// use askback_host::text::Words;
///
/// let ours = Words::from(String::from("travel asks"));
/// ```
///
/// Serialized words are `{"ours": …}`. Reading them makes control and invisible characters visible.
/// The process that writes the JSON chooses the words, so only read JSON from a process of the same
/// user.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    #[serde(deserialize_with = "read_words")]
    ours: String,
}

fn read_words<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let ours = String::deserialize(deserializer)?;
    // A non-breaking space is kept.
    let parts = ours.split('\u{a0}').map(line);
    Ok(parts.collect::<Vec<_>>().join("\u{a0}"))
}

/// A value that can be inserted into our words.
pub trait Part: private::Sealed {
    /// Writes the value, on one line and safe to show.
    fn write(&self, out: &mut String);
}

mod private {
    pub trait Sealed {}
}

/// Creates words from a string literal. Each `{}` is replaced by a part.
///
/// Parts are words, numbers, literals, and [`given`](crate::text::given) text.
#[macro_export]
macro_rules! words {
    ($template:expr $(, $part:expr)* $(,)?) => {{
        const TEMPLATE: &str = $template;
        const _: () = assert!(
            $crate::text::holes(TEMPLATE) == <[&str]>::len(&[$(stringify!($part)),*]),
            "a part for each hole of the template"
        );
        $crate::text::Words::build(TEMPLATE, &[$(&$part as &dyn $crate::text::Part),*])
    }};
}

/// Makes words of text from the user, the operator or this machine: a typed name, a path, an error
/// message of the operating system. Control and invisible characters in it are made visible.
///
/// Never use it for text from a peer, which is [`PeerText`](super::PeerText).
pub fn given(text: impl fmt::Display) -> Words {
    Words {
        ours: line(&text.to_string()),
    }
}

/// Counts the `{}` in a template.
#[doc(hidden)]
pub const fn holes(template: &str) -> usize {
    let bytes = template.as_bytes();
    let (mut at, mut holes) = (1, 0_usize);
    while at < bytes.len() {
        if bytes[at] == b'}' && bytes[at.saturating_sub(1)] == b'{' {
            holes = holes.saturating_add(1);
        }
        at = at.saturating_add(1);
    }
    holes
}

impl Words {
    /// Builds the words for [`words!`](crate::words).
    #[doc(hidden)]
    pub fn build(template: &'static str, parts: &[&dyn Part]) -> Self {
        let mut out = String::new();
        let mut parts = parts.iter();
        for (index, piece) in template.split("{}").enumerate() {
            if index > 0
                && let Some(part) = parts.next()
            {
                part.write(&mut out);
            }
            out.push_str(piece);
        }
        Self { ours: out }
    }

    /// Only for messages of the core about forms that contain no text from a peer. Only `field` can
    /// ensure that.
    pub(super) fn of_core(sentence: &str) -> Self {
        Self {
            ours: line(sentence),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ours.is_empty()
    }

    pub fn as_str(&self) -> &str {
        &self.ours
    }

    /// Pads the words on the right to this many columns.
    #[must_use]
    pub fn padded(mut self, to: usize) -> Self {
        self.ours.push_str(&blanks(to, &self.ours));
        self
    }

    /// Pads the words on the left to this many columns.
    #[must_use]
    pub fn right(mut self, to: usize) -> Self {
        self.ours.insert_str(0, &blanks(to, &self.ours));
        self
    }

    /// Shortens a long name in the middle, because different names may start alike.
    #[must_use]
    pub fn short(self) -> Self {
        let count = self.ours.chars().count();
        if count <= SHORT {
            return self;
        }
        let begins = self.ours.chars().take(SHORT.saturating_sub(SHORT_END));
        let ends = self.ours.chars().skip(count.saturating_sub(SHORT_END));
        Self {
            ours: begins.chain(['…']).chain(ends).collect(),
        }
    }

    pub fn join(all: impl IntoIterator<Item = Self>, between: &'static str) -> Self {
        let all: Vec<_> = all.into_iter().map(|words| words.ours).collect();
        Self {
            ours: all.join(between),
        }
    }
}

fn blanks(to: usize, words: &str) -> String {
    " ".repeat(to.saturating_sub(words.width()))
}

impl From<&'static str> for Words {
    fn from(words: &'static str) -> Self {
        Self {
            ours: words.to_owned(),
        }
    }
}

impl fmt::Display for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.ours)
    }
}

macro_rules! parts {
    ($($part:ty: |$this:ident, $out:ident| $write:expr;)*) => {$(
        impl private::Sealed for $part {}

        impl Part for $part {
            fn write(&self, $out: &mut String) {
                let $this = self;
                $write;
            }
        }
    )*};
}

parts! {
    Words: |this, out| out.push_str(&this.ours);
    &'static str: |this, out| out.push_str(this);
    // Writing to a string cannot fail.
    u16: |this, out| { let _ = write!(out, "{this}"); };
    u32: |this, out| { let _ = write!(out, "{this}"); };
    u64: |this, out| { let _ = write!(out, "{this}"); };
    usize: |this, out| { let _ = write!(out, "{this}"); };
    i64: |this, out| { let _ = write!(out, "{this}"); };
    f64: |this, out| out.push_str(&number(*this));
    // Written as `<U+XXXX>`, because the character may be unsafe to show.
    char: |this, out| { let _ = write!(out, "<U+{:04X}>", u32::from(*this)); };
}

fn number(number: f64) -> String {
    let plain = number.to_string();
    match plain.len() <= DIGITS {
        true => plain,
        false => format!("{number:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_replace_the_placeholders_of_the_template() {
        #[track_caller]
        fn check(words: Words, shown: &str) {
            assert_eq!(words.as_str(), shown);
        }
        check(words!("plain"), "plain");
        check(words!("{}", 7_usize), "7");
        check(words!("a {} c {}", "b", words!("{}", 1_u32)), "a b c 1");
        check(
            words!("{} asks", given("a\x1b[2J\nb")),
            "a<U+001B>[2J<U+000A>b asks",
        );
        check(words!("{}", given("{}")), "{}");
        check(words!("{}", '\u{200b}'), "<U+200B>");
        check(words!("ab").padded(4), "ab  ");
        check(words!("ab").right(1), "ab");
        check(words!("{}", 7_u32).right(3), "  7");
        check(given("x".repeat(40)).short(), &"x".repeat(40));
        check(
            given(format!("{}-agency-of-lisbon", "x".repeat(50))).short(),
            &format!("{}…gency-of-lisbon", "x".repeat(25)),
        );
    }

    #[test]
    fn numbers_are_short_whatever_they_are() {
        #[track_caller]
        fn check(of: f64, shown: &str) {
            assert_eq!(number(of), shown);
        }
        check(2.0, "2");
        check(0.5, "0.5");
        check(1e99, "1.000e99");
        check(-1.0 / 3.0, "-3.333e-1");
        check(f64::MIN_POSITIVE, "2.225e-308");
        check(f64::MAX, "1.798e308");
        check(f64::NAN, "NaN");
        check(f64::NEG_INFINITY, "-inf");
    }
}
