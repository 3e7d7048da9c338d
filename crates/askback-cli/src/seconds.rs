//! Seconds on the command line.

/// The maximum for `--timeout`: a year.
const MOST_SECONDS: u64 = 365 * 24 * 60 * 60;

/// Parses the value of `--timeout`: `4`, `4s` or `2m`.
pub fn seconds(text: &str) -> Result<u64, String> {
    seconds_until(MOST_SECONDS)(text)
}

/// Parses a number of seconds, up to a maximum.
pub fn seconds_until(most: u64) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync {
    move |text| {
        let (number, unit) = match (text.strip_suffix('s'), text.strip_suffix('m')) {
            (Some(number), _) => (number, 1),
            (_, Some(number)) => (number, 60),
            _ => (text, 1),
        };
        let number = number.parse::<u64>().ok();
        let seconds = number.and_then(|number| number.checked_mul(unit));
        let seconds = seconds.filter(|seconds| (1..=most).contains(seconds));
        seconds.ok_or_else(|| format!("expected seconds such as 4, 4s or 2m, from 1 to {most}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_with_their_unit() {
        for (text, seconds) in [("4", 4), ("4s", 4), ("2m", 120), ("31536000", MOST_SECONDS)] {
            assert_eq!(super::seconds(text), Ok(seconds), "{text}");
        }
        for text in [
            "0",
            "0s",
            "s",
            "m",
            "4h",
            "4 s",
            "-4",
            "1.5",
            "31536001",
            "18446744073709551615m",
        ] {
            assert!(super::seconds(text).is_err(), "{text}");
        }
    }
}
