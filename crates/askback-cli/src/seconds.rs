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
