//! The four formats of a text field (2026-07-28, client/elicitation, Requested Schema).

use super::{TextFormat, uri::is_uri};
use crate::rfc3339::{is_date, is_date_time};

impl TextFormat {
    /// Whether the text is of this format.
    pub fn matches(self, text: &str) -> bool {
        match self {
            Self::Email => is_email(text),
            Self::Uri => is_uri(text),
            Self::Date => is_date(text),
            Self::DateTime => is_date_time(text),
        }
    }
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
