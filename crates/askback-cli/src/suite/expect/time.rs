//! Times as people write them: `500ms`, `2s`, `5m`.

use std::{str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer};

use crate::suite::members;

/// The longest time that can be waited for.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// A time between a millisecond and an hour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Time(pub(super) Duration);

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        members::word(deserializer)
    }
}

impl FromStr for Time {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let unit = text.find(|c: char| !c.is_ascii_digit());
        let (number, unit) = text.split_at(unit.unwrap_or(text.len()));
        let milliseconds = match unit.trim() {
            "ms" => Some(1),
            "s" => Some(1_000),
            "m" => Some(60_000),
            _ => None,
        };
        let number = number.parse::<u64>().ok();
        let time = number
            .zip(milliseconds)
            .and_then(|(number, unit)| number.checked_mul(unit))
            .map(Duration::from_millis);
        match time {
            Some(time) if (Duration::from_millis(1)..=LONGEST).contains(&time) => Ok(Self(time)),
            Some(_) => Err(format!("`{text}` is not between 1ms and 60m")),
            None => Err(format!("`{text}` is no time: write 500ms, 2s or 5m")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read() {
        #[track_caller]
        fn check(text: &str, milliseconds: Result<u64, &str>) {
            let time = text.parse::<Time>();
            let milliseconds = milliseconds
                .map(|ms| Time(Duration::from_millis(ms)))
                .map_err(|why| format!("`{text}` is {why}"));
            assert_eq!(time, milliseconds);
        }
        check("1ms", Ok(1));
        check("2s", Ok(2_000));
        check("2 s", Ok(2_000));
        check("60m", Ok(3_600_000));
        check("0s", Err("not between 1ms and 60m"));
        check("61m", Err("not between 1ms and 60m"));
        check("99999999999999999s", Err("no time: write 500ms, 2s or 5m"));
        for text in ["", "2", "s", "-1s", "1h", "1.5s"] {
            check(text, Err("no time: write 500ms, 2s or 5m"));
        }
    }
}
