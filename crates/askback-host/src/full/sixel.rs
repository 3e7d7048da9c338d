//! Pictures as sixels: columns of six pixels, a colour after the other.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::pixels::Pixels;

/// The rows of pixels that are drawn together.
const BAND: usize = 6;

/// The most colours at once, as terminals have them that draw sixels.
const COLOURS: usize = 256;

/// The steps from the least to the most of red, green and blue, where a picture has more colours than
/// can be had at once.
const STEPS: u8 = 5;

/// The order in which more and more of the pixels of an area take the next step (Bayer's).
const ORDER: [[u8; 8]; 8] = [
    [0, 32, 8, 40, 2, 34, 10, 42],
    [48, 16, 56, 24, 50, 18, 58, 26],
    [12, 44, 4, 36, 14, 46, 6, 38],
    [60, 28, 52, 20, 62, 30, 54, 22],
    [3, 35, 11, 43, 1, 33, 9, 41],
    [51, 19, 59, 27, 49, 17, 57, 25],
    [15, 47, 7, 39, 13, 45, 5, 37],
    [63, 31, 55, 23, 61, 29, 53, 21],
];

/// Red, green and blue in percent, as sixels have them.
type Colour = [u8; 3];

/// The codes that draw a picture. What is transparent shows what was there before.
pub(super) fn codes(pixels: &Pixels) -> String {
    let bands: Vec<_> = coloured(pixels).chunks(BAND).map(sixels).collect();
    let colours: BTreeSet<Colour> = bands.iter().flat_map(BTreeMap::keys).copied().collect();
    let registers: BTreeMap<Colour, usize> = colours.into_iter().zip(0..).collect();
    let (width, height) = (pixels.rows.first().map_or(0, Vec::len), pixels.rows.len());
    // Writing to a string cannot fail.
    let mut codes = format!("\x1bP0;1q\"1;1;{width};{height}");
    for ([red, green, blue], register) in &registers {
        let _ = write!(codes, "#{register};2;{red};{green};{blue}");
    }
    for band in &bands {
        for (index, (colour, sixels)) in band.iter().enumerate() {
            if index > 0 {
                codes.push('$');
            }
            let register = registers.get(colour).copied().unwrap_or_default();
            let _ = write!(codes, "#{register}");
            draw(&mut codes, sixels);
        }
        if band.is_empty() {
            // Without any, xterm scrolls too far.
            repeat(&mut codes, (0, 1));
        }
        codes.push('-');
    }
    codes.push_str("\x1b\\");
    codes
}

/// The colours of the pixels: their own, or those that are nearest on average where there are too
/// many.
fn coloured(pixels: &Pixels) -> Vec<Vec<Option<Colour>>> {
    let has_own = has_few_colours(pixels);
    let rows = pixels.rows.iter().zip(ORDER.iter().cycle());
    let rows = rows.map(|(row, order)| {
        let row = row.iter().zip(order.iter().cycle());
        let row = row.map(|(pixel, place)| match has_own {
            true => pixel.map(percent),
            false => pixel.map(|pixel| stepped(pixel, *place)),
        });
        row.collect()
    });
    rows.collect()
}

/// Whether all colours of the pixels can be had at once.
fn has_few_colours(pixels: &Pixels) -> bool {
    let mut colours = BTreeSet::new();
    let mut all = pixels.rows.iter().flatten().flatten();
    all.all(|pixel| {
        colours.insert(percent(*pixel));
        colours.len() <= COLOURS
    })
}

fn percent(pixel: [u8; 3]) -> Colour {
    pixel.map(|part| (f32::from(part) / 2.55).round() as u8)
}

/// The nearest step below or above, by the place of the pixel in its area.
fn stepped(pixel: [u8; 3], place: u8) -> Colour {
    let more = (f32::from(place) + 0.5) / 64.0;
    pixel.map(|part| {
        let step = (f32::from(part) / 255.0 * f32::from(STEPS) + more).floor();
        (step * 100.0 / f32::from(STEPS)) as u8
    })
}

/// The sixels of each colour in a band: their columns, and which of the six pixels they fill.
fn sixels(band: &[Vec<Option<Colour>>]) -> BTreeMap<Colour, Vec<(usize, u8)>> {
    let mut sixels = BTreeMap::<Colour, Vec<(usize, u8)>>::new();
    let width = band.first().map_or(0, Vec::len);
    for column in 0..width {
        for (row, bit) in band.iter().zip([1, 2, 4, 8, 16, 32]) {
            let Some(colour) = row.get(column).copied().flatten() else {
                continue;
            };
            let drawn = sixels.entry(colour).or_default();
            match drawn.last_mut() {
                Some((at, bits)) if *at == column => *bits |= bit,
                _ => drawn.push((column, bit)),
            }
        }
    }
    sixels
}

/// Draws the sixels of a colour, with nothing between them.
fn draw(codes: &mut String, sixels: &[(usize, u8)]) {
    let mut end = 0_usize;
    let mut run = (0, 0_usize);
    for &(column, bits) in sixels {
        let gap = column.saturating_sub(end);
        for (bits, times) in [(0, gap), (bits, 1)] {
            if times == 0 {
                continue;
            }
            if run.0 != bits {
                repeat(codes, run);
                run = (bits, 0);
            }
            run.1 = run.1.saturating_add(times);
        }
        end = column.saturating_add(1);
    }
    repeat(codes, run);
}

/// Draws a sixel so many times.
fn repeat(codes: &mut String, (bits, times): (u8, usize)) {
    let sixel = char::from(b'?'.saturating_add(bits));
    if times > 3 {
        let _ = write!(codes, "!{times}{sixel}");
    } else {
        codes.extend(std::iter::repeat_n(sixel, times));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RED: Option<[u8; 3]> = Some([255, 0, 0]);
    const BLUE: Option<[u8; 3]> = Some([0, 0, 255]);

    /// Draws sixels as a terminal does: the pixels, in percent.
    fn drawn(codes: &str) -> Vec<Vec<Option<Colour>>> {
        let body = codes.strip_prefix("\x1bP0;1q").expect("it begins");
        let body = body.strip_suffix("\x1b\\").expect("it ends");
        let numbers = |text: &str| -> Vec<usize> {
            let numbers = text.split(';').map(|number| number.parse());
            numbers.collect::<Result<_, _>>().expect("numbers")
        };
        let is_of_numbers = |c: &char| c.is_ascii_digit() || *c == ';';
        let mut rows: Vec<Vec<Option<Colour>>> = Vec::new();
        let mut registers = BTreeMap::new();
        let (mut register, mut times, mut column, mut top) = (0, 1, 0_usize, 0_usize);
        let mut chars = body.chars().peekable();
        while let Some(code) = chars.next() {
            let mut text = String::new();
            if matches!(code, '"' | '#' | '!') {
                while let Some(c) = chars.next_if(is_of_numbers) {
                    text.push(c);
                }
            }
            match code {
                '"' => {
                    let size = numbers(&text);
                    assert_eq!(size[..2], [1, 1], "pixels are squares");
                    rows = vec![vec![None; size[2]]; size[3]];
                }
                '#' => match numbers(&text)[..] {
                    [number] => register = number,
                    [number, 2, ref colour @ ..] => {
                        let colour = [0, 1, 2].map(|part| colour[part] as u8);
                        registers.insert(number, colour);
                    }
                    ref other => panic!("{other:?} is no colour"),
                },
                '!' => times = numbers(&text)[0],
                '$' => column = 0,
                '-' => (column, top) = (0, top.saturating_add(BAND)),
                sixel @ '?'..='~' => {
                    let bits = (sixel as u8).saturating_sub(b'?');
                    for _ in 0..std::mem::replace(&mut times, 1) {
                        for row in (0..BAND).filter(|row| bits >> row & 1 != 0) {
                            let pixel = &mut rows[top.saturating_add(row)][column];
                            let before = pixel.replace(registers[&register]);
                            assert_eq!(before, None, "a pixel is drawn once");
                        }
                        column = column.saturating_add(1);
                    }
                }
                other => panic!("{other:?} is no sixel"),
            }
        }
        rows
    }

    #[test]
    fn sixels_are_drawn() {
        #[track_caller]
        fn check(rows: &[&[Option<[u8; 3]>]], expected: &str) {
            let rows = rows.iter().map(|row| row.to_vec()).collect();
            assert_eq!(codes(&Pixels { rows }), expected);
        }
        check(&[&[None]], "\x1bP0;1q\"1;1;1;1?-\x1b\\");
        check(
            &[&[RED, None], &[BLUE, RED]],
            "\x1bP0;1q\"1;1;2;2#0;2;0;0;100#1;2;100;0;0#0A$#1@A-\x1b\\",
        );
        // What is the same goes as one, and what is between is left out.
        let row: &[_] = &[RED, RED, RED, RED, None, None, None, None, RED, BLUE];
        check(
            &[row],
            "\x1bP0;1q\"1;1;10;1#0;2;0;0;100#1;2;100;0;0#0!9?@$#1!4@!4?@-\x1b\\",
        );
        check(
            &[&[RED] as &[_]; 8],
            "\x1bP0;1q\"1;1;1;8#0;2;100;0;0#0~-#0B-\x1b\\",
        );
    }

    #[test]
    fn more_colours_than_there_are_at_once_are_the_same_on_average() {
        // 1024 of them, each in an area of 16 by 16.
        let pixel = |row: usize, column: usize| {
            let (down, across) = ((row / 16) as u8, (column / 16) as u8);
            [down * 8, across * 8, 255 - down * 4 - across * 4]
        };
        let rows = (0..512).map(|row| (0..512).map(|column| Some(pixel(row, column))).collect());
        let rows = drawn(&codes(&Pixels {
            rows: rows.collect(),
        }));
        let colours: BTreeSet<_> = rows.iter().flatten().flatten().collect();
        assert!(colours.len() <= 216, "{} colours", colours.len());
        for (down, across) in (0..512).step_by(16).zip((0..512).step_by(16)) {
            let area = rows[down..down + 16].iter();
            let area = area.flat_map(|row| &row[across..across + 16]);
            let area: Vec<Colour> = area.map(|pixel| pixel.expect("it is drawn")).collect();
            for (part, expected) in pixel(down, across).into_iter().enumerate() {
                let sum: u32 = area.iter().map(|colour| u32::from(colour[part])).sum();
                let average = f64::from(sum) / 256.0 * 2.55;
                let off = (average - f64::from(expected)).abs();
                assert!(off < 1.0, "{average} for {expected}");
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_drawn_is_the_picture(
            rows in (1_usize..30, 1_usize..30).prop_flat_map(|(width, height)| {
                let pixel = proptest::option::of(any::<[u8; 3]>());
                let row = proptest::collection::vec(pixel, width);
                proptest::collection::vec(row, height)
            }),
        ) {
            let codes = codes(&Pixels { rows: rows.clone() });
            let own: BTreeSet<_> = rows.iter().flatten().flatten().collect();
            // Half a percent, or a step.
            let most = if own.len() <= COLOURS { 2 } else { 255 / STEPS + 1 };
            let drawn = drawn(&codes);
            prop_assert_eq!(drawn.len(), rows.len());
            for (drawn, row) in drawn.iter().zip(&rows) {
                prop_assert_eq!(drawn.len(), row.len());
                for (drawn, pixel) in drawn.iter().zip(row) {
                    prop_assert_eq!(drawn.is_some(), pixel.is_some());
                    let parts = drawn.iter().flatten().zip(pixel.iter().flatten());
                    for (percent, part) in parts {
                        let drawn = (f32::from(*percent) * 2.55).round() as u8;
                        prop_assert!(drawn.abs_diff(*part) <= most, "{} for {}", drawn, part);
                    }
                }
            }
        }
    }
}
