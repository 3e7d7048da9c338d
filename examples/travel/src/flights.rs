//! Fictional flights, always the same ones.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::data::{Destination, Month};

const FLIGHTS: u64 = 47;

const SEED: u64 = 0x7261_7665_6c21;

const AIRLINES: [&str; 5] = ["AX", "HZ", "LK", "MB", "QA"];

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Flight {
    /// The number, such as `QA 417`.
    pub(crate) number: String,
    /// The time of departure, such as `08:10`.
    pub(crate) departs: String,
    pub(crate) minutes: u32,
    pub(crate) stops: u32,
    pub(crate) price: u32,
}

pub(crate) fn search(destination: &Destination, month: Month) -> Vec<Flight> {
    let place = destination.airport.bytes().map(u64::from).sum::<u64>();
    let mut dice = Dice(SEED ^ (place << 8) ^ month as u64);
    (0..FLIGHTS)
        .map(|at| {
            let airline = AIRLINES[dice.roll(AIRLINES.len() as u64) as usize];
            let stops = dice.roll(3);
            let minutes = 5 * dice.roll(24 * 12);
            Flight {
                // Each number comes from a range of its own, so all are different.
                number: format!("{airline} {}", 100 + 19 * at + dice.roll(19)),
                departs: format!("{:02}:{:02}", minutes / 60, minutes % 60),
                minutes: (120 + 150 * stops + 5 * dice.roll(40)) as u32,
                stops: stops as u32,
                price: (140 + 5 * dice.roll(90) - 35 * stops) as u32,
            }
        })
        .collect()
}

pub(crate) fn rank(flights: &mut [Flight]) {
    flights.sort_by_key(|flight| flight.price + flight.minutes / 2 + 60 * flight.stops);
}

/// Returns the flights that a text mentions, in order and without duplicates. The number may be spelled `QA 417`,
/// `qa417` or `QA-417`.
pub(crate) fn mentioned(flights: &[Flight], text: &str) -> Vec<Flight> {
    let text = text.to_uppercase();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    let mut found: Vec<Flight> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let pair = words.get(at + 1).map(|next| format!("{word}{next}"));
        let flight = flights.iter().find(|flight| {
            let number = flight.number.replace(' ', "");
            number == *word || pair.as_ref() == Some(&number)
        });
        if let Some(flight) = flight.filter(|flight| !found.contains(flight)) {
            found.push(flight.clone());
        }
    }
    found
}

impl fmt::Display for Flight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            number,
            departs,
            minutes,
            stops,
            price,
        } = self;
        let (hours, minutes) = (minutes / 60, minutes % 60);
        let stops = match stops {
            0 => "direct".to_owned(),
            1 => "1 stop".to_owned(),
            _ => format!("{stops} stops"),
        };
        write!(
            f,
            "{number} at {departs}, {hours}h{minutes:02}, {stops}, {price} USD"
        )
    }
}

/// A small pseudorandom number generator (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::data::DESTINATIONS;

    #[test]
    fn flights_are_many_different_and_always_the_same() {
        for destination in &DESTINATIONS {
            for month in Month::ALL {
                let flights = search(destination, month);
                let numbers: HashSet<_> = flights.iter().map(|flight| &flight.number).collect();
                assert_eq!((flights.len(), numbers.len()), (47, 47));
                assert_eq!(flights, search(destination, month));
            }
        }
        let [june, july] = [Month::June, Month::July].map(|m| search(&DESTINATIONS[0], m));
        assert_ne!(june, july);
    }

    #[test]
    fn a_number_is_found_however_it_is_written() {
        let flights: Vec<_> = ["QA 417", "AX 102", "AX 121"]
            .map(|number| Flight {
                number: number.to_owned(),
                departs: "08:10".to_owned(),
                minutes: 130,
                stops: 0,
                price: 200,
            })
            .into();
        let check = |text: &str, expected: &[&str]| {
            let found = mentioned(&flights, text);
            let numbers: Vec<_> = found.iter().map(|flight| &*flight.number).collect();
            assert_eq!(numbers, expected, "{text}");
        };
        check("AX 121, QA 417, AX 102", &["AX 121", "QA 417", "AX 102"]);
        check("1. **ax102** at 08:10; 2. QA-417", &["AX 102", "QA 417"]);
        check("Take QA 417: QA417 is best.", &["QA 417"]);
        check("Take the 08:10, QA 4170 or XAX 102.", &[]);
        check("", &[]);
    }
}
