//! The four formats of a text field (2026-07-28, client/elicitation, Requested Schema).

use iri_string::types::UriStr;
use jiff::civil::{Date, Time};

use super::TextFormat;

impl TextFormat {
    /// Whether the text is of this format.
    pub fn matches(self, text: &str) -> bool {
        match self {
            Self::Email => is_email(text),
            // A `UriStr` has a scheme; a relative reference is not one.
            Self::Uri => UriStr::new(text).is_ok(),
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

/// `full-date` of RFC 3339. The shape is looked at first because jiff reads more than RFC 3339:
/// `20260615`, or a date with a time behind it.
fn is_date(text: &str) -> bool {
    has_shape(text, "dddd-dd-dd") && text.parse::<Date>().is_ok()
}

/// `date-time` of RFC 3339.
fn is_date_time(text: &str) -> bool {
    // Cutting at byte positions is safe: `split_at_checked` refuses the inside of a character.
    let Some((date, rest)) = text.split_at_checked("dddd-dd-dd".len()) else {
        return false;
    };
    let Some(rest) = rest.strip_prefix(['T', 't']) else {
        return false;
    };
    let Some((time, rest)) = rest.split_at_checked("dd:dd:dd".len()) else {
        return false;
    };
    let Some(minutes_ahead) = offset_after_fraction(rest) else {
        return false;
    };
    is_date(date)
        && has_shape(time, "dd:dd:dd")
        && time.parse::<Time>().is_ok_and(|parsed| {
            let minute = i32::from(parsed.hour()) * 60 + i32::from(parsed.minute());
            // A leap second is the last second of a day in UTC and no other.
            !time.ends_with("60") || (minute - minutes_ahead).rem_euclid(24 * 60) == 24 * 60 - 1
        })
}

/// The offset from UTC in minutes, after an optional fraction of a second.
fn offset_after_fraction(text: &str) -> Option<i32> {
    let offset = match text.strip_prefix('.') {
        None => text,
        Some(rest) => {
            let offset = rest.trim_start_matches(|c: char| c.is_ascii_digit());
            if offset.len() == rest.len() {
                return None;
            }
            offset
        }
    };
    if offset == "Z" || offset == "z" {
        return Some(0);
    }
    let sign = match offset.chars().next()? {
        '+' => 1,
        '-' => -1,
        _ => return None,
    };
    let clock = &offset[1..];
    if !has_shape(clock, "dd:dd") {
        return None;
    }
    let (hours, minutes) = clock.split_once(':')?;
    let (hours, minutes) = (hours.parse::<i32>().ok()?, minutes.parse::<i32>().ok()?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

/// Whether the text has a digit for each `d` of the shape and its other characters as they are.
fn has_shape(text: &str, shape: &str) -> bool {
    text.len() == shape.len()
        && text.bytes().zip(shape.bytes()).all(|(byte, wanted)| {
            if wanted == b'd' {
                byte.is_ascii_digit()
            } else {
                byte == wanted
            }
        })
}
