//! The formats of a text field (2026-07-28, client/elicitation, Requested Schema).

use alloc::{format, string::String, vec::Vec};

use iri_string::types::UriStr;

use crate::rfc3339::{is_date, is_date_time};

/// Defines [`TextFormat`] from a table: the JSON Schema name of each format, its description, and
/// its check.
macro_rules! formats {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $words:literal, $matches:expr;)*) => {
        /// The format of a text field.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum TextFormat {
            $($(#[$doc])* $variant,)*
        }

        impl TextFormat {
            /// All formats.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            const fn info(self) -> FormatInfo {
                match self {
                    $(Self::$variant => FormatInfo {
                        name: $name,
                        words: $words,
                        matches: $matches,
                    },)*
                }
            }
        }
    };
}

formats! {
    /// An email address.
    Email = "email", "a mail address such as ada@example.com", is_email;
    /// A URI with a scheme (RFC 3986).
    Uri = "uri", "an address such as https://example.com/page", is_uri;
    /// A date, `2026-06-15` (RFC 3339 `full-date`).
    Date = "date", "a date such as 2026-06-15", is_date;
    /// A date and time with an offset, `2026-06-15T09:30:00Z` (RFC 3339 `date-time`).
    DateTime = "date-time", "a date and time such as 2026-06-15T09:30:00Z", is_date_time;
}

struct FormatInfo {
    name: &'static str,
    words: &'static str,
    matches: fn(&str) -> bool,
}

impl TextFormat {
    /// The names of all formats, for errors.
    pub(super) fn names() -> String {
        let names: Vec<_> = Self::ALL.iter().map(|format| format.name()).collect();
        let (last, others) = names.split_last().unwrap_or((&"", &[]));
        format!("{} and {last}", others.join(", "))
    }

    /// Returns the name of the format in JSON Schema.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// Returns the format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut formats = Self::ALL.iter().copied();
        formats.find(|format| format.name() == name)
    }

    /// Describes the format with an example: "a date such as 2026-06-15".
    pub fn words(self) -> &'static str {
        self.info().words
    }

    /// Whether the text has this format.
    pub fn matches(self, text: &str) -> bool {
        (self.info().matches)(text)
    }
}

fn is_uri(text: &str) -> bool {
    UriStr::new(text).is_ok()
}

/// The addresses that browsers accept in an `email` field (HTML Living Standard, "valid email
/// address"), within the lengths of RFC 5321, section 4.5.3.1. Quoted local parts and address
/// literals are rejected, because users do not type them.
fn is_email(text: &str) -> bool {
    const IN_LOCAL_PART: &[u8] = b".!#$%&'*+/=?^_`{|}~-";
    let Some((local, domain)) = text.split_once('@') else {
        return false;
    };
    let local_ok = (1..=64).contains(&local.len())
        && !local.starts_with('.')
        && !local.ends_with('.')
        && !local.contains("..")
        && local
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || IN_LOCAL_PART.contains(&byte));
    local_ok && domain.len() <= 253 && domain.split('.').all(is_domain_label)
}

fn is_domain_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}
