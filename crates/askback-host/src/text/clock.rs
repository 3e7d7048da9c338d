//! Parses dates and times as people write them: `tomorrow 9:00`, `2026-06-15 14:30`.

use std::{fmt, time::SystemTime};

use askback::forms::TextFormat;
use jiff::{
    Span, Timestamp, ToSpan as _, Zoned,
    civil::{Date, DateTime, Time},
    tz::TimeZone,
};

use super::Words;

/// The current date and time, in the user's time zone.
#[derive(Clone, Copy)]
pub struct Clock(fn() -> Zoned);

impl Clock {
    pub fn new(now: fn() -> Zoned) -> Self {
        Self(now)
    }

    /// This machine's clock, in its time zone.
    pub fn of_this_machine() -> Self {
        Self(Zoned::now)
    }

    fn today(self) -> Date {
        (self.0)().date()
    }

    /// Parses a relative day such as `tomorrow` or `+1mo`.
    pub fn day(self, written: &str) -> Option<Date> {
        day(written, self.today())
    }

    /// Converts what the user wrote to this format. Returns `None` if it is not a human-readable
    /// date or time; it may be in the right format already.
    /// Fails if the time occurs twice or never because of a clock change.
    pub(crate) fn read(self, format: TextFormat, written: &str) -> Option<Result<String, Words>> {
        let now = (self.0)();
        let written = written.trim();
        match format {
            TextFormat::Date => day(written, now.date()).map(|day| Ok(day.to_string())),
            TextFormat::DateTime if written.eq_ignore_ascii_case("now") => Some(Ok(shown(&now))),
            TextFormat::DateTime => {
                let written = civil(written, &now)?;
                let zoned = now.time_zone().to_ambiguous_zoned(written).unambiguous();
                Some(match zoned {
                    Ok(zoned) => Ok(shown(&zoned)),
                    Err(_) => Err(AMBIGUOUS.into()),
                })
            }
            _ => None,
        }
    }
}

const AMBIGUOUS: &str = "that time occurs twice or never, because the clocks change: add its offset, as in \
                         2026-06-15T14:30:00+02:00";

/// All clocks are equal, so that they do not affect the comparison of forms.
impl PartialEq for Clock {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// This machine's clock, in UTC.
impl Default for Clock {
    fn default() -> Self {
        Self(|| Timestamp::now().to_zoned(TimeZone::UTC))
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}

/// Parses a relative day: `today`, `tomorrow`, `+3d`, `+2w`, `+1mo`.
fn day(written: &str, today: Date) -> Option<Date> {
    let written = written.trim().to_ascii_lowercase();
    let away = match written.as_str() {
        "today" => 0.days(),
        "tomorrow" => 1.days(),
        away => {
            let away = away.strip_prefix('+')?;
            // No second sign, and no space.
            let is_plain = away.starts_with(|c: char| c.is_ascii_digit());
            away.parse::<Span>().ok().filter(|_| is_plain)?
        }
    };
    today.checked_add(away).ok()
}

/// Formats a time with its UTC offset. RFC 3339 offsets have no seconds, but some historical
/// offsets do. Those times are given in UTC.
fn shown(time: &Zoned) -> String {
    let is_whole = time.offset().seconds() % 60 == 0;
    let written = match is_whole {
        true => time.strftime("%Y-%m-%dT%H:%M:%S%:z"),
        false => time.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ"),
    };
    written.to_string()
}

/// Formats a time in this machine's time zone.
pub fn instant(time: SystemTime) -> String {
    match Timestamp::try_from(time) {
        Ok(time) => shown(&time.to_zoned(TimeZone::system())),
        Err(_) => "a time that does not exist".to_owned(),
    }
}

/// Parses a date and time without an offset. The date is today if it is absent.
fn civil(written: &str, now: &Zoned) -> Option<DateTime> {
    let parts = written.rsplit_once(char::is_whitespace).or_else(|| {
        written
            .split_once('T')
            .filter(|_| written.starts_with(|c: char| c.is_ascii_digit()))
    });
    let (date, clock) = match parts {
        None => (now.date(), written),
        Some((written, clock)) => {
            let date = match day(written, now.date()) {
                Some(date) => date,
                None => plain_date(written.trim())?,
            };
            (date, clock)
        }
    };
    Some(date.to_datetime(time(clock.trim())?))
}

fn plain_date(written: &str) -> Option<Date> {
    written
        .parse()
        .ok()
        .filter(|_| TextFormat::Date.matches(written))
}

/// Parses a time such as 9:00, 14:30 or 14:30:15.
fn time(written: &str) -> Option<Time> {
    let (hour, rest) = written.split_once(':')?;
    let (minute, second) = rest.split_once(':').unwrap_or((rest, "00"));
    let two = |written: &str| number(written).filter(|_| written.len() == 2);
    Time::new(number(hour)?, two(minute)?, two(second)?, 0).ok()
}

fn number(written: &str) -> Option<i8> {
    let is_plain = written.len() <= 2 && written.bytes().all(|byte| byte.is_ascii_digit());
    written.parse().ok().filter(|_| is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20:30 in Berlin, on the evening before its clocks go back.
    fn berlin() -> Zoned {
        let zone = "CET-1CEST,M3.5.0,M10.5.0/3";
        let zone = TimeZone::posix(zone).expect("a time zone");
        let now: DateTime = "2026-10-24T20:30:15.5".parse().expect("a time");
        now.to_zoned(zone).expect("it is once")
    }

    #[track_caller]
    fn check(format: TextFormat, written: &str, expected: Option<&str>) {
        let read = Clock::new(berlin).read(format, written);
        let read = read.map(|read| read.unwrap_or_else(|why| why.as_str().to_owned()));
        assert_eq!(read.as_deref(), expected, "{written:?}");
        if let Some(text) = read.filter(|it| !it.starts_with("that time")) {
            assert!(format.matches(&text), "{text}");
        }
    }

    #[test]
    fn a_day_has_a_name() {
        for (written, expected) in [
            ("today", Some("2026-10-24")),
            (" Tomorrow ", Some("2026-10-25")),
            ("+3d", Some("2026-10-27")),
            ("+2w", Some("2026-11-07")),
            ("+4mo", Some("2027-02-24")),
            ("+1Y", Some("2027-10-24")),
            // Already in the format.
            ("2026-06-15", None),
            ("tomorrow 9:00", None),
            ("", None),
            ("+", None),
            ("+-3d", None),
            ("+3", None),
            ("3d", None),
            ("friday", None),
            ("+99999999y", None),
        ] {
            check(TextFormat::Date, written, expected);
        }
    }

    #[test]
    fn a_time_is_read_in_the_users_time_zone() {
        for (written, expected) in [
            ("14:30", Some("2026-10-24T14:30:00+02:00")),
            ("9:05", Some("2026-10-24T09:05:00+02:00")),
            ("now", Some("2026-10-24T20:30:15+02:00")),
            ("today 23:59:59", Some("2026-10-24T23:59:59+02:00")),
            ("tomorrow  9:00", Some("2026-10-25T09:00:00+01:00")),
            ("Tomorrow 9:00", Some("2026-10-25T09:00:00+01:00")),
            ("+2w  9:00", Some("2026-11-07T09:00:00+01:00")),
            ("2026-06-15 14:30", Some("2026-06-15T14:30:00+02:00")),
            ("2026-06-15T14:30", Some("2026-06-15T14:30:00+02:00")),
            ("2026-12-15 14:30:05", Some("2026-12-15T14:30:05+01:00")),
            // Already in the format.
            ("2026-06-15T14:30:00Z", None),
            ("2026-06-15T14:30:00+02:00", None),
            // A date is not a time, and these are not valid.
            ("2026-06-15", None),
            ("tomorrow", None),
            ("14", None),
            ("14:3", None),
            ("14:3a", None),
            ("14:30:5", None),
            (":30", None),
            ("24:00", None),
            ("14:60", None),
            ("-1:30", None),
            ("+1:30", None),
            ("1:2:3:4", None),
            ("2026-13-01 14:30", None),
            ("20260615 14:30", None),
            ("someday 14:30", None),
            ("", None),
            // The clocks go back at 3:00, and went forward at 2:00.
            ("tomorrow 2:30", Some(AMBIGUOUS)),
            ("2026-03-29 2:30", Some(AMBIGUOUS)),
        ] {
            check(TextFormat::DateTime, written, expected);
        }
    }

    /// In Berlin: 2:30 in the night in which the clocks go back, the first and the second time;
    /// then just before the clocks go forward.
    #[test]
    fn now_is_the_current_time() {
        #[track_caller]
        fn check(now: fn() -> Zoned, expected: &str) {
            let read = Clock::new(now).read(TextFormat::DateTime, " Now ");
            assert_eq!(read.and_then(Result::ok).as_deref(), Some(expected));
        }
        fn at(instant: &str) -> Zoned {
            let instant: Timestamp = instant.parse().expect("an instant");
            instant.to_zoned(berlin().time_zone().clone())
        }
        check(|| at("2026-10-25T00:30:15.9Z"), "2026-10-25T02:30:15+02:00");
        check(|| at("2026-10-25T01:30:15.9Z"), "2026-10-25T02:30:15+01:00");
        check(|| at("2026-03-29T00:59:59.9Z"), "2026-03-29T01:59:59+01:00");
        check(|| at("2026-03-29T01:00:00Z"), "2026-03-29T03:00:00+02:00");
        // The offset is not a whole number of minutes.
        fn monrovia() -> Zoned {
            let zone = TimeZone::posix("<-004430>0:44:30").expect("a time zone");
            let instant: Timestamp = "1971-06-15T12:00:00Z".parse().expect("an instant");
            instant.to_zoned(zone)
        }
        check(monrovia, "1971-06-15T12:00:00Z");
    }

    #[test]
    fn other_texts_are_left_alone() {
        check(TextFormat::Email, "today", None);
        check(TextFormat::Uri, "now", None);
    }

    proptest::proptest! {
        #[test]
        fn what_is_read_fits_its_format(written in "\\PC{0,40}", day in "[0-9]{1,4}-[0-9]{1,2}-[0-9]{1,2}[ T][0-9:]{1,8}") {
            for text in [&written, &day] {
                for format in [TextFormat::Date, TextFormat::DateTime] {
                    if let Some(Ok(read)) = Clock::new(berlin).read(format, text) {
                        proptest::prop_assert!(format.matches(&read), "{text:?} {read}");
                    }
                }
            }
        }
    }
}
