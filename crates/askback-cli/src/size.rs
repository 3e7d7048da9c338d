//! Sizes in bytes, as users write them.

use askback_host::{text::Words, words};

/// Units, largest first.
const UNITS: [(&str, usize); 3] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];

/// The maximum size. No larger JSON message can be read here.
const MAX_BYTES: usize = 1 << 30;

/// Parses a size such as `64MiB`. `M`, `MB` and `MiB` mean the same.
pub fn read(text: &str) -> Result<usize, String> {
    let expected = || "expected a size from 1KiB to 1GiB, such as 64MiB".to_owned();
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let factor = match unit.to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "k" | "kb" | "kib" => 1 << 10,
        "m" | "mb" | "mib" => 1 << 20,
        "g" | "gb" | "gib" => 1 << 30,
        _ => return Err(expected()),
    };
    let number: usize = number.parse().map_err(|_| expected())?;
    let size = number.checked_mul(factor);
    size.filter(|size| (1 << 10..=MAX_BYTES).contains(size))
        .ok_or_else(expected)
}

/// Formats a size in the largest unit that gives a whole number.
pub fn shown(bytes: usize) -> Words {
    let whole = UNITS
        .iter()
        .filter(|(_, unit)| bytes >= *unit && bytes.is_multiple_of(*unit))
        .find_map(|(name, unit)| Some((name, bytes.checked_div(*unit)?)));
    match whole {
        Some((name, number)) => words!("{} {}", number, *name),
        None => words!("{} bytes", bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::{read, shown};

    #[test]
    fn a_size_is_read_and_written() {
        for (text, expected) in [
            ("64MiB", Ok("64 MiB")),
            ("64mb", Ok("64 MiB")),
            ("1G", Ok("1 GiB")),
            ("1536K", Ok("1536 KiB")),
            ("33554433", Ok("33554433 bytes")),
            ("", Err(())),
            ("MiB", Err(())),
            ("12 MiB", Err(())),
            ("-1", Err(())),
            ("1023", Err(())),
            ("2GiB", Err(())),
            ("99999999999999999999GiB", Err(())),
        ] {
            let size = read(text).map(|size| shown(size).to_string());
            let size = size.map_err(|_| ());
            assert_eq!(size, expected.map(str::to_owned), "{text}");
        }
    }
}
