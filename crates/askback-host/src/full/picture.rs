//! Pictures of results, where the terminal shows them.

use std::fmt::Write;

use base64::{Engine, engine::general_purpose::STANDARD};

use super::{
    pixels::{MOST, Pixels, Room},
    screen::Size,
    sixel,
};
use crate::text::GUTTER;

/// The most bytes of a picture that is shown.
const LARGEST: usize = 2 << 20;

/// The rows of the screen that a picture takes.
const ROWS: usize = 12;

/// The most characters of one piece of a picture, as kitty takes them.
const PIECE: usize = 4096;

/// Asks a terminal for its attributes: the answer says whether it draws sixels.
pub(super) const ATTRIBUTES: &str = "\x1b[c";

/// How a terminal takes pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pictures {
    /// The way of kitty, which takes PNG.
    Kitty,
    /// The way of iTerm2, which takes what the system can show.
    Iterm,
    /// Sixels, of which a terminal draws the pixels in this room.
    Sixel(Room),
}

impl Pictures {
    /// How the terminal takes them by what it says of itself in the environment; none where it says
    /// nothing, and within a multiplexer, which passes none on.
    pub(super) fn of(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let is = |name: &str, values: &[&str]| {
            variable(name).is_some_and(|value| values.contains(&value.as_str()))
        };
        if is_within_a_multiplexer(&variable) {
            None
        } else if variable("KITTY_WINDOW_ID").is_some()
            || is("TERM", &["xterm-kitty", "xterm-ghostty"])
        {
            Some(Self::Kitty)
        } else if is("TERM_PROGRAM", &["iTerm.app", "WezTerm", "mintty"]) {
            Some(Self::Iterm)
        } else {
            None
        }
    }

    /// Whether a terminal is asked for its attributes: one that says nothing of pictures in the
    /// environment.
    pub(super) fn are_asked_for(variable: impl Fn(&str) -> Option<String>) -> bool {
        let is_dumb = variable("TERM").is_none_or(|term| term == "dumb");
        !is_dumb && !is_within_a_multiplexer(&variable) && Self::of(variable).is_none()
    }

    /// Whether a terminal of this size has room for a picture and the row below it.
    pub(super) fn have_room(size: Size) -> bool {
        size.rows > ROWS
    }

    /// Sixels, in the room that a terminal of this size has now.
    pub(super) fn sixels(size: Size) -> Self {
        let pixels = match crossterm::terminal::window_size() {
            Ok(window) => [window.width.into(), window.height.into()],
            Err(_) => [0, 0],
        };
        let columns = size.columns.saturating_sub(GUTTER.len());
        Self::Sixel(Room::of([columns, ROWS], [size.columns, size.rows], pixels))
    }

    /// The codes that show a picture behind the gutter, if the terminal knows its kind. Nothing of it
    /// reaches the terminal but as base64, or as its pixels.
    pub(super) fn codes(self, picture: &[u8]) -> Option<String> {
        let is_small = || pixels(picture).is_some_and(|pixels| pixels <= MOST);
        if picture.len() > LARGEST || !self.takes(picture) || !is_small() {
            return None;
        }
        let mut codes = String::new();
        let mut rows = ROWS;
        match self {
            Self::Sixel(room) => {
                let pixels = Pixels::read(picture, room)?;
                rows = room.rows_of(pixels.rows.len(), ROWS);
                codes = sixel::codes(&pixels);
            }
            Self::Iterm => {
                let size = picture.len();
                let encoded = STANDARD.encode(picture);
                let _ = write!(
                    codes,
                    "\x1b]1337;File=inline=1;size={size};height={ROWS};preserveAspectRatio=1:{encoded}\x07"
                );
            }
            Self::Kitty => {
                let encoded = STANDARD.encode(picture);
                let mut rest = encoded.as_str();
                // It answers to nothing, since nobody would read it.
                let mut head = format!("a=T,f=100,q=2,r={ROWS},");
                while !rest.is_empty() {
                    let (piece, after) = rest.split_at(rest.len().min(PIECE));
                    let more = u8::from(!after.is_empty());
                    let _ = write!(codes, "\x1b_G{head}m={more};{piece}\x1b\\");
                    head.clear();
                    rest = after;
                }
            }
        }
        Some(behind_gutter(&codes, rows))
    }

    fn takes(self, picture: &[u8]) -> bool {
        let begins = |with: &[u8]| picture.starts_with(with);
        let is_png = begins(b"\x89PNG\r\n\x1a\n");
        match self {
            Self::Kitty | Self::Sixel(_) => is_png,
            Self::Iterm => is_png || begins(b"\xff\xd8\xff") || begins(b"GIF8"),
        }
    }
}

/// Draws behind so many rows of the gutter, which are there first, so that nothing moves while it is drawn, and
/// goes on below them.
fn behind_gutter(codes: &str, rows: usize) -> String {
    let gutter = format!("{}\r\n", GUTTER.trim_end()).repeat(rows);
    let column = GUTTER.len().saturating_add(1);
    format!("{gutter}\x1b7\x1b[{rows}A\x1b[{column}G{codes}\x1b8")
}

/// The pixels that a picture has by its head, whatever its length: a terminal makes room for all of them.
fn pixels(picture: &[u8]) -> Option<u64> {
    let long = |at: usize| {
        let bytes = picture.get(at..at.checked_add(4)?)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?).into())
    };
    let short = |at: usize| {
        let bytes = picture.get(at..at.checked_add(2)?)?;
        <[u8; 2]>::try_from(bytes).ok()
    };
    let [width, height]: [u64; 2] = match picture.first()? {
        0x89 => [long(16)?, long(20)?],
        b'G' => [6, 8]
            .map(short)
            .map(|side| side.map_or(u64::MAX, |side| u16::from_le_bytes(side).into())),
        _ => {
            let at = frame(picture)?;
            [at.checked_add(7)?, at.checked_add(5)?]
                .map(short)
                .map(|side| side.map_or(u64::MAX, |side| u16::from_be_bytes(side).into()))
        }
    };
    Some(width.saturating_mul(height))
}

/// Where the segment of a JPEG begins that holds its size.
fn frame(picture: &[u8]) -> Option<usize> {
    let mut at = 2_usize;
    loop {
        let [mark, kind, high, low] = picture.get(at..at.checked_add(4)?)?.try_into().ok()?;
        if mark != 0xff {
            return None;
        }
        // Beside the frames there are tables (C4, CC) and one that is kept (C8).
        if matches!(kind, 0xc0..=0xcf) && !matches!(kind, 0xc4 | 0xc8 | 0xcc) {
            return Some(at);
        }
        at = at
            .checked_add(2)?
            .checked_add(u16::from_be_bytes([high, low]).into())?;
    }
}

/// Whether a multiplexer stands between, which passes no pictures on.
fn is_within_a_multiplexer(variable: impl Fn(&str) -> Option<String>) -> bool {
    variable("TMUX").is_some() || variable("STY").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_known_by_their_variables() {
        #[track_caller]
        fn check(set: &[(&str, &str)], pictures: Option<Pictures>) {
            let variable = |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(Pictures::of(variable), pictures, "{set:?}");
        }
        check(&[("TERM", "xterm-256color")], None);
        check(&[("TERM", "xterm-kitty")], Some(Pictures::Kitty));
        check(&[("KITTY_WINDOW_ID", "1")], Some(Pictures::Kitty));
        check(&[("TERM_PROGRAM", "WezTerm")], Some(Pictures::Iterm));
        check(&[("TERM_PROGRAM", "iTerm.app"), ("TMUX", "/tmp/t")], None);
    }

    #[test]
    fn a_terminal_that_says_nothing_is_asked() {
        #[track_caller]
        fn check(set: &[(&str, &str)], are_asked_for: bool) {
            let variable = |name: &str| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(Pictures::are_asked_for(variable), are_asked_for, "{set:?}");
        }
        check(&[("TERM", "xterm-256color")], true);
        check(&[("TERM", "foot"), ("TERM_PROGRAM", "other")], true);
        check(&[("TERM", "dumb")], false);
        check(&[], false);
        check(&[("TERM", "xterm-kitty")], false);
        check(&[("TERM", "tmux-256color"), ("TMUX", "/tmp/t")], false);
        check(&[("TERM", "screen"), ("STY", "1.t")], false);
    }

    #[test]
    fn pictures_are_nothing_but_base64() {
        let png = [png(8, 8).as_slice(), &[0x1b; 8984]].concat();
        let codes = Pictures::Iterm.codes(&png).expect("it is a picture");
        let codes = within_gutter(&codes);
        assert_eq!(codes.matches('\x1b').count(), 1);
        assert!(codes.ends_with("\x07"), "{codes:?}");
        let codes = Pictures::Kitty.codes(&png).expect("it is a picture");
        let codes = within_gutter(&codes);
        let pieces: Vec<_> = codes.split("\x1b\\").collect();
        assert_eq!(pieces.len(), 4, "three pieces, and nothing behind the last");
        assert!(pieces[0].starts_with("\x1b_Ga=T,f=100,q=2,r=12,m=1;iVBOR"));
        assert!(pieces[1].starts_with("\x1b_Gm=1;") && pieces[2].starts_with("\x1b_Gm=0;"));
        assert_eq!(codes.matches('\x1b').count(), 6);
    }

    /// The codes of a picture, without those that put it behind the gutter.
    fn within_gutter(codes: &str) -> &str {
        let before = "|\r\n".repeat(12) + "\x1b7\x1b[12A\x1b[3G";
        let codes = codes.strip_prefix(&before).expect("the gutter is there");
        codes.strip_suffix("\x1b8").expect("it goes on below")
    }

    #[test]
    fn a_screen_is_never_all_of_a_picture() {
        for (rows, is_shown) in [(12, false), (13, true)] {
            let columns = 80;
            assert_eq!(Pictures::have_room(Size { columns, rows }), is_shown);
        }
    }

    /// The head of a PNG of so many pixels.
    fn png(width: u32, height: u32) -> Vec<u8> {
        let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        [head.as_slice(), &width.to_be_bytes(), &height.to_be_bytes()].concat()
    }

    fn gif(width: u16, height: u16) -> Vec<u8> {
        [
            b"GIF89a".as_slice(),
            &width.to_le_bytes(),
            &height.to_le_bytes(),
        ]
        .concat()
    }

    /// The head of a JPEG, with a table before the frame that holds its size.
    fn jpeg(width: u16, height: u16) -> Vec<u8> {
        let [height, width] = [height, width].map(u16::to_be_bytes);
        let tables = [0xff, 0xd8, 0xff, 0xc4, 0, 3, 9, 0xff, 0xc0, 0, 11, 8];
        [&tables, height.as_slice(), &width].concat()
    }

    #[test]
    fn what_would_need_much_room_is_not_shown() {
        for (picture, is_shown) in [
            (png(4096, 2048), true),
            (png(4096, 2049), false),
            (png(u32::MAX, u32::MAX), false),
            (png(8, 8)[..20].to_vec(), false),
            (gif(4096, 2048), true),
            (gif(u16::MAX, 2048), false),
            (jpeg(4096, 2048), true),
            (jpeg(4096, 2049), false),
            (jpeg(8, 8)[..14].to_vec(), false),
        ] {
            assert_eq!(
                Pictures::Iterm.codes(&picture).is_some(),
                is_shown,
                "{picture:?}"
            );
        }
        assert_eq!(Pictures::Kitty.codes(&png(20_000, 20_000)), None);
    }

    #[test]
    fn what_is_no_picture_is_not_shown() {
        let jpeg = &jpeg(8, 8);
        assert!(Pictures::Iterm.codes(jpeg).is_some());
        assert_eq!(Pictures::Kitty.codes(jpeg), None);
        let sixels = Pictures::Sixel(Room::of([80, ROWS], [80, 24], [0, 0]));
        assert_eq!(sixels.codes(jpeg), None);
        assert_eq!(sixels.codes(b"\x89PNG\r\n\x1a\n\x1b[2J"), None);
        assert_eq!(Pictures::Iterm.codes(b"\x1b[2J"), None);
        let large = [b"GIF8".as_slice(), &vec![0; LARGEST]].concat();
        assert_eq!(Pictures::Iterm.codes(&large), None);
    }
}
