//! The pixels of a picture, scaled down to the room that there is for it.

use std::io::Cursor;

use png::{ColorType, Decoder, Limits, Transformations};

/// The most pixels of a picture that is read: those of a large screen.
pub(super) const MOST: u64 = 1 << 23;

/// The most bytes that a reader takes beside the pixels.
const BESIDE: usize = 1 << 25;

/// The most pixels of a side: xterm draws no more.
const SIDE: usize = 1000;

/// The size of a cell of a terminal that does not say, in pixels.
const CELL: [usize; 2] = [10, 20];

/// The room for a picture, in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) width: usize,
    pub(super) height: usize,
}

impl Room {
    /// The room in so many columns and rows of a terminal, which has this size in columns and rows, and in
    /// pixels; these are 0 where it does not say.
    pub(super) fn of(of: [usize; 2], cells: [usize; 2], pixels: [usize; 2]) -> Self {
        let cell = |axis: usize| {
            let said = pixels[axis].checked_div(cells[axis]).unwrap_or_default();
            if said == 0 { CELL[axis] } else { said }
        };
        Self {
            width: cell(0).saturating_mul(of[0]).clamp(1, SIDE),
            height: cell(1).saturating_mul(of[1]).clamp(1, SIDE),
        }
    }

    /// The rows of the terminal that a picture of this height takes, if the room has so many.
    pub(super) fn rows_of(self, height: usize, rows: usize) -> usize {
        height
            .saturating_mul(rows)
            .div_ceil(self.height)
            .clamp(1, rows)
    }

    /// The size of a picture that is scaled down so that it fits in; one that fits stays as it is.
    fn fit(self, width: usize, height: usize) -> [usize; 2] {
        let scaled = |side: usize, to: usize, from: usize| {
            let scaled = side.saturating_mul(to).checked_div(from);
            scaled.unwrap_or_default().max(1)
        };
        if width <= self.width && height <= self.height {
            [width, height]
        } else if width.saturating_mul(self.height) > height.saturating_mul(self.width) {
            [self.width, scaled(height, self.width, width)]
        } else {
            [scaled(width, self.height, height), self.height]
        }
    }
}

/// The pixels of a picture, in rows that are all as long; none where one is more transparent than
/// not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pixels {
    pub(super) rows: Vec<Vec<Option<[u8; 3]>>>,
}

impl Pixels {
    /// Reads a PNG, as small as the room has it; none where it is no such picture, or too large.
    pub(super) fn read(picture: &[u8], room: Room) -> Option<Self> {
        let limits = Limits { bytes: BESIDE };
        let mut decoder = Decoder::new_with_limits(Cursor::new(picture), limits);
        decoder.set_ignore_text_chunk(true);
        decoder.set_ignore_iccp_chunk(true);
        // A pixel has eight bits a colour then, and always an alpha.
        decoder.set_transformations(Transformations::ALPHA | Transformations::STRIP_16);
        let header = decoder.read_header_info().ok()?;
        if u64::from(header.width).saturating_mul(header.height.into()) > MOST {
            return None;
        }
        let mut reader = decoder.read_info().ok()?;
        let mut bytes = vec![0; reader.output_buffer_size()?];
        let frame = reader.next_frame(&mut bytes).ok()?;
        let samples = match frame.color_type {
            ColorType::GrayscaleAlpha => 2,
            ColorType::Rgba => 4,
            _ => return None,
        };
        let bytes = bytes.get(..frame.buffer_size())?;
        let rows = bytes.chunks_exact(frame.line_size);
        let size = [frame.width.try_into().ok()?, frame.height.try_into().ok()?];
        Some(scaled(rows, samples, size, room.fit(size[0], size[1])))
    }
}

/// The part that a row or a column of a picture has in those that it becomes.
struct Part {
    /// The first that it is in.
    first: usize,
    /// How much of it is in the first; the rest is in the next.
    share: f32,
}

/// The parts of so many rows or columns that become `to`, which are not more.
fn parts(from: usize, to: usize) -> Vec<Part> {
    let part = |at: usize| {
        let begin = at.saturating_mul(to);
        let first = begin.checked_div(from).unwrap_or_default();
        let end = first.saturating_add(1).saturating_mul(from);
        let share = end.saturating_sub(begin) as f32 / to as f32;
        let share = share.min(1.0);
        Part { first, share }
    };
    (0..from).map(part).collect()
}

/// The sums of red, green and blue, each by its alpha, and of alpha.
type Sums = [f32; 4];

fn add(sums: Option<&mut Sums>, more: Sums, share: f32) {
    // In a loop it would take much longer where nothing is optimized.
    if let Some(sums) = sums {
        sums[0] += more[0] * share;
        sums[1] += more[1] * share;
        sums[2] += more[2] * share;
        sums[3] += more[3] * share;
    }
}

/// Averages the rows of a picture over the areas that become one pixel.
fn scaled<'a>(
    rows: impl Iterator<Item = &'a [u8]>,
    samples: usize,
    from: [usize; 2],
    to: [usize; 2],
) -> Pixels {
    let columns = parts(from[0], to[0]);
    let mut areas = vec![vec![Sums::default(); to[0]]; to[1]];
    let mut line = vec![Sums::default(); to[0]];
    for (row, part) in rows.zip(parts(from[1], to[1])) {
        line.fill(Sums::default());
        for (pixel, part) in row.chunks_exact(samples).zip(&columns) {
            let (red, green, blue, alpha) = match *pixel {
                [red, green, blue, alpha] => (red, green, blue, f32::from(alpha)),
                [grey, alpha] => (grey, grey, grey, f32::from(alpha)),
                _ => continue,
            };
            let sums = [
                f32::from(red) * alpha,
                f32::from(green) * alpha,
                f32::from(blue) * alpha,
                alpha,
            ];
            add(line.get_mut(part.first), sums, part.share);
            if part.share < 1.0 {
                let next = part.first.saturating_add(1);
                add(line.get_mut(next), sums, 1.0 - part.share);
            }
        }
        let next = part.first.saturating_add(1);
        for (at, share) in [(part.first, part.share), (next, 1.0 - part.share)] {
            for (area, sums) in areas.get_mut(at).into_iter().flatten().zip(&line) {
                add(Some(area), *sums, share);
            }
        }
    }
    let area = (from[0] as f32 / to[0] as f32) * (from[1] as f32 / to[1] as f32);
    let pixel = |[red, green, blue, alpha]: Sums| {
        let is_seen = alpha >= area * 127.5;
        is_seen.then(|| [red, green, blue].map(|sum| (sum / alpha).round() as u8))
    };
    let rows = areas.into_iter();
    let rows = rows.map(|row| row.into_iter().map(pixel).collect());
    Pixels {
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine, engine::general_purpose::STANDARD};
    use png::{BitDepth, Encoder};
    use proptest::prelude::*;

    use super::*;

    const WIDE: Room = Room {
        width: 100,
        height: 100,
    };

    const INTERLACED: &str = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAIEAIAAAFs+sUJAAAAWUlEQVQY05WQwQ3AIAzEHIlR0mEyDMtkGBgm3YU+WqlIgAT+5GGdH6E1AN4juYAbAMinGE0JMGVA1CHyRPStnlTveSrVALsOFhIZ1NlmWVohplDiYPC/do8Hsx0eBEOHie4AAAAASUVORK5CYII=";

    const RED: Option<[u8; 3]> = Some([255, 0, 0]);
    const BLUE: Option<[u8; 3]> = Some([0, 0, 255]);

    /// A PNG of this kind. A palette has red, which is transparent in part, and blue.
    fn png(kind: (ColorType, BitDepth), [width, height]: [u32; 2], samples: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, width, height);
        encoder.set_color(kind.0);
        encoder.set_depth(kind.1);
        if kind.0 == ColorType::Indexed {
            encoder.set_palette([255, 0, 0, 0, 0, 255].as_slice());
            encoder.set_trns([127].as_slice());
        }
        let mut writer = encoder.write_header().expect("a header");
        writer.write_image_data(samples).expect("samples");
        writer.finish().expect("an end");
        bytes
    }

    #[test]
    fn the_room_is_that_of_the_cells() {
        #[track_caller]
        fn check(cells: [usize; 2], pixels: [usize; 2], width: usize, height: usize) {
            assert_eq!(
                Room::of([cells[0], 12], cells, pixels),
                Room { width, height }
            );
        }
        check([80, 24], [640, 384], 640, 192);
        check([80, 24], [645, 390], 640, 192);
        check([80, 24], [0, 0], 800, 240);
        check([0, 0], [640, 384], 1, 240);
        check([80, 24], [65535, 65535], 1000, 1000);
        check([65535, 65535], [80, 24], 1000, 240);
    }

    #[test]
    fn a_picture_takes_the_rows_that_it_is_high() {
        for (height, rows) in [(0, 1), (1, 1), (8, 1), (9, 2), (96, 12), (97, 12)] {
            let room = Room {
                width: 9,
                height: 96,
            };
            assert_eq!(room.rows_of(height, 12), rows, "{height}");
        }
    }

    #[test]
    fn a_picture_is_scaled_down_and_never_up() {
        #[track_caller]
        fn check(width: usize, height: usize, fit: [usize; 2]) {
            let room = Room {
                width: 200,
                height: 100,
            };
            assert_eq!(room.fit(width, height), fit);
        }
        check(1, 1, [1, 1]);
        check(200, 100, [200, 100]);
        check(400, 100, [200, 50]);
        check(200, 200, [100, 100]);
        check(201, 100, [200, 99]);
        check(9000, 1, [200, 1]);
        check(1, 9000, [1, 100]);
        check(usize::MAX, 1, [200, 1]);
    }

    #[test]
    fn all_kinds_of_pixels_are_read() {
        #[track_caller]
        fn check(kind: (ColorType, BitDepth), samples: &[u8], row: &[Option<[u8; 3]>]) {
            let size = [row.len() as u32, 1];
            let read = Pixels::read(&png(kind, size, samples), WIDE);
            let read = read.expect("it is a picture");
            assert_eq!(read.rows, [row], "{kind:?}");
        }
        use BitDepth::{Eight, One, Sixteen, Two};
        let grey = |grey| Some([grey; 3]);
        check(
            (ColorType::Grayscale, One),
            &[0b0100_0000],
            &[grey(0), grey(255)],
        );
        check(
            (ColorType::Grayscale, Two),
            &[0b0111_0000],
            &[grey(85), grey(255)],
        );
        check(
            (ColorType::Grayscale, Sixteen),
            &[1, 255, 9, 0],
            &[grey(1), grey(9)],
        );
        check(
            (ColorType::GrayscaleAlpha, Eight),
            &[7, 255, 8, 128, 9, 127],
            &[grey(7), grey(8), None],
        );
        check((ColorType::Indexed, One), &[0b0100_0000], &[None, BLUE]);
        check(
            (ColorType::Rgb, Eight),
            &[255, 0, 0, 0, 0, 255],
            &[RED, BLUE],
        );
        check(
            (ColorType::Rgba, Sixteen),
            &[0, 0, 0, 0, 255, 0, 255, 0, 0, 0, 0, 0, 0, 0, 1, 0],
            &[BLUE, None],
        );
        // Of red and blue from above to below, interlaced.
        let bytes = STANDARD.decode(INTERLACED).expect("base64");
        let read = Pixels::read(&bytes, WIDE).expect("it is a picture");
        assert_eq!((read.rows.len(), read.rows[0][0]), (8, RED));
        assert_eq!((read.rows[7][0], read.rows[7][7]), (BLUE, BLUE));
        assert_eq!(read.rows[3][0], Some([146, 0, 109]));
    }

    #[test]
    fn areas_are_averaged() {
        #[track_caller]
        fn check(samples: &[u8], width: usize, row: &[Option<[u8; 3]>]) {
            let size = [samples.len() as u32 / 2, 1];
            let kind = (ColorType::GrayscaleAlpha, BitDepth::Eight);
            let room = Room { width, height: 1 };
            let read = Pixels::read(&png(kind, size, samples), room);
            assert_eq!(read.expect("it is a picture").rows, [row]);
        }
        let grey = |grey| Some([grey; 3]);
        check(&[0, 255, 100, 255], 1, &[grey(50)]);
        // Half of the pixel in the middle is in each.
        check(&[0, 255, 90, 255, 240, 255], 2, &[grey(30), grey(190)]);
        // What is transparent has no colour.
        check(&[0, 0, 100, 255], 1, &[grey(100)]);
        check(&[0, 0, 0, 0, 100, 255], 1, &[None]);

        // Rows as columns.
        let rgb = (ColorType::Rgb, BitDepth::Eight);
        let picture = png(rgb, [1, 3], &[0, 0, 0, 90, 90, 90, 240, 240, 240]);
        let room = Room {
            width: 9,
            height: 2,
        };
        let read = Pixels::read(&picture, room).expect("it is a picture");
        assert_eq!(read.rows, [[grey(30)], [grey(190)]]);
    }

    #[test]
    fn what_is_no_png_or_too_large_is_not_read() {
        let small = png((ColorType::Grayscale, BitDepth::Eight), [2, 2], &[0; 4]);
        assert!(Pixels::read(&small, WIDE).is_some());
        assert_eq!(Pixels::read(&small[..small.len() - 20], WIDE), None);
        assert_eq!(Pixels::read(b"", WIDE), None);
        assert_eq!(Pixels::read(b"GIF89a", WIDE), None);
        // A megabyte, which is a few kilobytes as a file.
        let samples = vec![0; 4096 / 8 * 2049];
        let large = png(
            (ColorType::Grayscale, BitDepth::One),
            [4096, 2049],
            &samples,
        );
        assert_eq!(Pixels::read(&large, WIDE), None);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_much(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            changed in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4),
            (width, height) in (1_usize..20, 1_usize..20),
        ) {
            let room = Room { width, height };
            prop_assert_eq!(Pixels::read(&bytes, room), None);
            let mut picture = png((ColorType::Rgb, BitDepth::Eight), [9, 5], &[77; 135]);
            for (at, byte) in changed {
                let at = at.index(picture.len());
                picture[at] = byte;
            }
            if let Some(read) = Pixels::read(&picture, room) {
                let fits = |row: &Vec<_>| (1..=width).contains(&row.len());
                prop_assert!((1..=height).contains(&read.rows.len()));
                prop_assert!(read.rows.iter().all(fits));
            }
        }
    }
}
