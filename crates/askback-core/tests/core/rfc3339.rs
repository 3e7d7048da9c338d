//! Dates and times, compared with another implementation.

use askback_core::{forms::TextFormat, rfc3339::written};
use jiff::{Timestamp, civil::Date};
use proptest::prelude::*;

/// The last millisecond of the year 9999.
const LAST: u64 = 253_402_300_799_999;

proptest! {
    #![proptest_config(crate::proptest_config())]

    #[test]
    fn dates_are_those_of_the_calendar(year in 0_u32..10_000, month in 0_u32..14, day in 0_u32..33) {
        let text = format!("{year:04}-{month:02}-{day:02}");
        prop_assert_eq!(TextFormat::Date.matches(&text), text.parse::<Date>().is_ok(), "{}", text);
    }

    #[test]
    fn times_are_those_of_the_clock(
        hour in 0_u32..26, minute in 0_u32..62, second in 0_u32..60,
        offset in prop_oneof![Just("Z"), Just("+05:30"), Just("-23:59"), Just("-00:60"), Just("")],
    ) {
        let text = format!("2024-02-29T{hour:02}:{minute:02}:{second:02}{offset}");
        let is_time = text.parse::<Timestamp>().is_ok();
        prop_assert_eq!(TextFormat::DateTime.matches(&text), is_time, "{}", text);
    }

    #[test]
    fn a_written_time_is_read_back(at in 0..=LAST) {
        let read: Timestamp = written(at).parse().unwrap();
        prop_assert_eq!(read.as_millisecond(), at as i64);
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in ".{0,40}", shaped in "[0-9tTzZ:.+-]{0,40}") {
        for text in [text, shaped] {
            if TextFormat::Date.matches(&text) {
                prop_assert!(text.parse::<Date>().is_ok());
            }
            // jiff's calendar ends a day before ours and has no leap second.
            if TextFormat::DateTime.matches(&text) && !text.starts_with("9999-12-3") {
                prop_assert!(text.replace(":60", ":59").parse::<Timestamp>().is_ok(), "{}", text);
            }
        }
    }
}

#[test]
fn moments_at_the_edges() {
    for (at, expected) in [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.001Z"),
        (951_782_400_000, "2000-02-29T00:00:00Z"),
        (4_107_542_399_500, "2100-02-28T23:59:59.500Z"),
        (LAST, "9999-12-31T23:59:59.999Z"),
        (u64::MAX, "9999-12-31T23:59:59.999Z"),
    ] {
        assert_eq!(written(at), expected);
    }
}
