//! Checks and writes dates and times in RFC 3339 format.

use alloc::{format, string::String};

const DAY: u64 = 24 * 60 * 60 * 1000;

/// The last millisecond of the year 9999 since the Unix epoch.
const LAST: u64 = 253_402_300_799_999;

/// Whether a text is a `full-date`, such as `2026-06-15`.
pub(crate) fn is_date(text: &str) -> bool {
    if !has_shape(text, "dddd-dd-dd") {
        return false;
    }
    let (year, month, day) = (number(&text[..4]), number(&text[5..7]), number(&text[8..]));
    (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day)
}

/// Whether a text is a `date-time`, such as `2026-06-15T10:00:00.5+02:00`.
pub(crate) fn is_date_time(text: &str) -> bool {
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
    if !is_date(date) || !has_shape(time, "dd:dd:dd") {
        return false;
    }
    let (hour, minute, second) = (number(&time[..2]), number(&time[3..5]), number(&time[6..]));
    if hour > 23 || minute > 59 || second > 60 {
        return false;
    }
    // A leap second is the last second of a day in UTC.
    let in_utc = i64::from(hour * 60 + minute) - minutes_ahead;
    second < 60 || in_utc.rem_euclid(24 * 60) == 24 * 60 - 1
}

/// Formats a time in milliseconds since the Unix epoch, in UTC. A later year than 9999 is written
/// as the end of 9999.
#[must_use]
pub fn written(at: u64) -> String {
    let at = at.min(LAST);
    let (days, millis) = (at / DAY, at % DAY);
    // `civil_from_days` by Howard Hinnant: years begin in March, and every 400 years have the same
    // number of days.
    let days = days + 719_468;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let months = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * months + 2) / 5 + 1;
    let month = (months + 2) % 12 + 1;
    let year = days / 146_097 * 400 + year_of_era + u64::from(month <= 2);
    let (seconds, fraction) = (millis / 1000, millis % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let clock = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
    match fraction {
        0 => format!("{clock}Z"),
        _ => format!("{clock}.{fraction:03}Z"),
    }
}

fn days_of(year: u32, month: u32) -> u32 {
    let is_leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the offset from UTC in minutes, after an optional fraction of a second.
fn offset_after_fraction(text: &str) -> Option<i64> {
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
    let (hours, minutes) = (number(&clock[..2]), number(&clock[3..]));
    (hours < 24 && minutes < 60).then(|| sign * i64::from(hours * 60 + minutes))
}

/// Whether the text matches the shape, in which `d` is any digit and other characters stand for
/// themselves.
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

fn number(digits: &str) -> u32 {
    digits
        .bytes()
        .fold(0, |number, digit| number * 10 + u32::from(digit - b'0'))
}
