//! The formats of a text field (2026-07-28, client/elicitation, Requested Schema).

use iri_string::types::UriStr;

use crate::rfc3339::{is_date, is_date_time};

/// The formats a text field may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TextFormat {
    /// A mail address.
    Email,
    /// A URI with a scheme (RFC 3986).
    Uri,
    /// A date, `2026-06-15` (RFC 3339 `full-date`).
    Date,
    /// A date and time with an offset, `2026-06-15T09:30:00Z` (RFC 3339 `date-time`).
    DateTime,
}

/// The names of all formats, for errors.
pub(super) const FORMAT_NAMES: &str = "email, uri, date and date-time";

struct FormatInfo {
    name: &'static str,
    words: &'static str,
    matches: fn(&str) -> bool,
}

impl TextFormat {
    const ALL: [Self; 4] = [Self::Email, Self::Uri, Self::Date, Self::DateTime];

    const fn info(self) -> FormatInfo {
        match self {
            Self::Email => FormatInfo {
                name: "email",
                words: "a mail address such as ada@example.com",
                matches: is_email,
            },
            Self::Uri => FormatInfo {
                name: "uri",
                words: "an address such as https://example.com/page",
                matches: is_uri,
            },
            Self::Date => FormatInfo {
                name: "date",
                words: "a date such as 2026-06-15",
                matches: is_date,
            },
            Self::DateTime => FormatInfo {
                name: "date-time",
                words: "a date and time such as 2026-06-15T09:30:00Z",
                matches: is_date_time,
            },
        }
    }

    /// The name of the format in JSON Schema.
    pub fn name(self) -> &'static str {
        self.info().name
    }

    /// The format with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    /// The format in words, with an example: "a date such as 2026-06-15".
    pub fn words(self) -> &'static str {
        self.info().words
    }

    /// Whether the text is of this format.
    pub fn matches(self, text: &str) -> bool {
        (self.info().matches)(text)
    }
}

fn is_uri(text: &str) -> bool {
    UriStr::new(text).is_ok()
}

/// The addresses a browser takes in a field of type `email` (HTML Living Standard, "valid email
/// address"), within the lengths of RFC 5321, section 4.5.3.1. Quoted local parts and address
/// literals are left out: what people type into a form is neither.
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
