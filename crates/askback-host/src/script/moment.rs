use std::{str::FromStr, time::SystemTime};

use askback::forms::TextFormat;
use jiff::{Span, SpanFieldwise, Timestamp, tz::Offset};

/// A date or time relative to the run: `today+14d`, `now-2h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    from: From,
    by: SpanFieldwise,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
    Today,
    Now,
}

const UNREADABLE: &str =
    "a date counts from `today` or `now`, such as `today+14d`, `today-1mo` or `now+2h30m`";

impl FromStr for Moment {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (from, rest) = match (text.strip_prefix("today"), text.strip_prefix("now")) {
            (Some(rest), _) => (From::Today, rest.trim()),
            (_, Some(rest)) => (From::Now, rest.trim()),
            (None, None) => return Err(UNREADABLE),
        };
        let span = |text: &str| {
            let is_plain = text.trim().starts_with(|c: char| c.is_ascii_digit());
            let span = is_plain.then(|| text.trim().parse::<Span>().ok());
            span.flatten().ok_or(UNREADABLE)
        };
        let by = match (rest.strip_prefix('+'), rest.strip_prefix('-')) {
            (Some(later), _) => span(later)?,
            (_, Some(earlier)) => span(earlier)?.negate(),
            (None, None) if rest.is_empty() => Span::new(),
            (None, None) => return Err(UNREADABLE),
        };
        Ok(Self {
            from,
            by: by.fieldwise(),
        })
    }
}

impl Moment {
    /// Formats the moment for a field of this format, in UTC. Returns `None` if it is outside the
    /// calendar.
    pub(super) fn text(self, format: Option<TextFormat>, now: SystemTime) -> Option<String> {
        let now = Timestamp::try_from(now).unwrap_or(Timestamp::MAX);
        let now = Offset::UTC.to_datetime(now);
        let from = match self.from {
            From::Today => now.date().to_datetime(jiff::civil::Time::midnight()),
            From::Now => now,
        };
        let moment = from.checked_add(self.by.0).ok()?;
        let has_time = match format {
            Some(TextFormat::Date) => false,
            Some(TextFormat::DateTime) => true,
            _ => self.from == From::Now,
        };
        Some(match has_time {
            true => format!("{}Z", moment.strftime("%Y-%m-%dT%H:%M:%S")),
            false => moment.date().to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of a format of times begins with digits.
    #[test]
    fn a_moment_is_written_in_each_format_of_times() {
        let today: Moment = "today".parse().expect("a moment");
        for format in TextFormat::ALL {
            let (_, example) = format.words().rsplit_once(' ').expect("an example");
            let text = today
                .text(Some(*format), SystemTime::UNIX_EPOCH)
                .expect("a date");
            let is_time = example.starts_with(|c: char| c.is_ascii_digit());
            assert_eq!(format.matches(&text), is_time, "{}: {text}", format.name());
        }
    }
}
