//! The bytes of a terminal, read as events.
//!
//! A paste stands between marks. If its end does not come, as where a connection was lost in the
//! middle, everything that follows would belong to it; so a Ctrl-C that comes alone, and after a
//! pause, is the person's and ends it.

use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};

/// How long nothing comes before what follows in a paste may be a key of the person.
const PAUSE: Duration = Duration::from_millis(300);

/// The mark at the end of a paste.
const PASTED: &[u8] = b"\x1b[201~";

/// The most bytes of one sequence: more than terminals have attributes.
const LONGEST: usize = 128;

/// The bytes that are not read as events yet.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    bytes: Vec<u8>,
    /// The text of a paste so far.
    pasting: Option<Vec<u8>>,
    /// When bytes came last.
    came: Duration,
}

impl Decoder {
    /// Takes in bytes that came at a moment, and returns the events that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8], now: Duration) -> Vec<Event> {
        let pause = now.saturating_sub(self.came);
        self.came = now;
        let mut events = Vec::new();
        if bytes == b"\x03"
            && pause >= PAUSE
            && let Some(text) = self.pasting.take()
        {
            events.push(paste(&text));
        }
        self.bytes.extend_from_slice(bytes);
        while let Some(event) = self.next() {
            events.extend(event);
        }
        events
    }

    /// Whether what came last may be an Esc, or the beginning of more.
    pub(super) fn is_unsure(&self) -> bool {
        self.pasting.is_none() && !self.bytes.is_empty()
    }

    /// Takes what came last as it is: nothing follows.
    pub(super) fn settle(&mut self) -> Vec<Event> {
        if !self.is_unsure() {
            return Vec::new();
        }
        match std::mem::take(&mut self.bytes)[..] {
            [0x1b] => vec![key(KeyCode::Esc, KeyModifiers::NONE)],
            [0x1b, c @ (b'[' | b'O')] => vec![key(KeyCode::Char(c.into()), KeyModifiers::ALT)],
            // Half a character or sequence is nothing.
            _ => Vec::new(),
        }
    }

    /// Reads the next event: some if bytes were used up, with the event that they are.
    fn next(&mut self) -> Option<Option<Event>> {
        if let Some(text) = &mut self.pasting {
            // The mark may have come in two parts; what is before them was looked at.
            let looked = text.len().saturating_sub(PASTED.len());
            text.append(&mut self.bytes);
            let mut parts = text[looked..].windows(PASTED.len());
            let at = looked.saturating_add(parts.position(|part| part == PASTED)?);
            self.bytes = text.split_off(at.saturating_add(PASTED.len()));
            text.truncate(at);
            return self.pasting.take().map(|text| Some(paste(&text)));
        }
        let (used, event) = match *self.bytes.first()? {
            0x1b => self.escape()?,
            byte @ ..=0x7f => (1, Some(control(byte, KeyModifiers::NONE))),
            _ => self.character()?,
        };
        self.bytes.drain(..used.min(self.bytes.len()));
        Some(event)
    }

    /// Reads what begins with an escape; none if it goes on.
    fn escape(&mut self) -> Option<(usize, Option<Event>)> {
        match *self.bytes.get(1)? {
            b'[' => {
                let body = &self.bytes[2..];
                let Some(end) = body.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
                    let is_long = body.len() > LONGEST;
                    return is_long.then_some((self.bytes.len(), None));
                };
                let used = end.saturating_add(3);
                let (parameters, last) = (&body[..end], body[end]);
                if (parameters, last) == (b"200", b'~') {
                    self.pasting = Some(Vec::new());
                    return Some((used, None));
                }
                // An answer of the terminal is no key.
                let event = match parameters.starts_with(b"?") {
                    true => None,
                    false => sequence(parameters, last),
                };
                Some((used, event))
            }
            b'O' => {
                let last = *self.bytes.get(2)?;
                Some((3, sequence(b"", last)))
            }
            0x1b => Some((1, Some(key(KeyCode::Esc, KeyModifiers::NONE)))),
            byte @ ..=0x7f => Some((2, Some(control(byte, KeyModifiers::ALT)))),
            // A character with Alt is that character.
            _ => Some((1, None)),
        }
    }

    /// Reads a character beyond ASCII; none if it goes on.
    fn character(&self) -> Option<(usize, Option<Event>)> {
        let part = &self.bytes[..self.bytes.len().min(4)];
        let valid = match std::str::from_utf8(part) {
            Ok(text) => text,
            Err(error) if error.valid_up_to() > 0 => {
                std::str::from_utf8(&part[..error.valid_up_to()]).unwrap_or_default()
            }
            // What is no text is nothing; what may become one is waited for.
            Err(error) => return error.error_len().map(|length| (length, None)),
        };
        let c = valid.chars().next()?;
        Some((
            c.len_utf8(),
            Some(key(KeyCode::Char(c), KeyModifiers::NONE)),
        ))
    }
}

fn paste(text: &[u8]) -> Event {
    Event::Paste(String::from_utf8_lossy(text).into_owned())
}

fn key(code: KeyCode, modifiers: KeyModifiers) -> Event {
    Event::Key(KeyEvent::new(code, modifiers))
}

/// The key of a byte.
fn control(byte: u8, modifiers: KeyModifiers) -> Event {
    let with_ctrl = |c: u8| key(KeyCode::Char(c.into()), modifiers | KeyModifiers::CONTROL);
    match byte {
        b'\r' => key(KeyCode::Enter, modifiers),
        b'\t' => key(KeyCode::Tab, modifiers),
        0x7f => key(KeyCode::Backspace, modifiers),
        0 => with_ctrl(b' '),
        1..=0x1a => with_ctrl(byte.saturating_add(b'a' - 1)),
        0x1b..=0x1f => with_ctrl(byte.saturating_add(b'4' - 0x1c)),
        _ => key(KeyCode::Char(byte.into()), modifiers),
    }
}

/// The event of a sequence with these parameters, and this last byte.
fn sequence(parameters: &[u8], last: u8) -> Option<Event> {
    let mut numbers = parameters.split(|&byte| byte == b';').map(|number| {
        let number = std::str::from_utf8(number).ok();
        number.and_then(|number| number.parse::<u8>().ok())
    });
    let first = numbers.next().flatten();
    let held = numbers.next().flatten().unwrap_or(1).saturating_sub(1);
    let mut modifiers = KeyModifiers::NONE;
    modifiers.set(KeyModifiers::SHIFT, held & 1 != 0);
    modifiers.set(KeyModifiers::ALT, held & 2 != 0);
    modifiers.set(KeyModifiers::CONTROL, held & 4 != 0);
    let code = match (last, first) {
        (b'I', _) => return Some(Event::FocusGained),
        (b'O', _) => return Some(Event::FocusLost),
        (b'A', _) => KeyCode::Up,
        (b'B', _) => KeyCode::Down,
        (b'C', _) => KeyCode::Right,
        (b'D', _) => KeyCode::Left,
        (b'H', _) | (b'~', Some(1 | 7)) => KeyCode::Home,
        (b'F', _) | (b'~', Some(4 | 8)) => KeyCode::End,
        (b'Z', _) => KeyCode::BackTab,
        (b'M', None) => KeyCode::Enter,
        (last @ b'P'..=b'S', _) => KeyCode::F(last.saturating_sub(b'P' - 1)),
        (b'~', Some(3)) => KeyCode::Delete,
        (b'~', Some(5)) => KeyCode::PageUp,
        (b'~', Some(6)) => KeyCode::PageDown,
        (b'~', Some(number @ 11..=15)) => KeyCode::F(number.saturating_sub(10)),
        (b'~', Some(number @ 17..=21)) => KeyCode::F(number.saturating_sub(11)),
        (b'~', Some(number @ 23..=24)) => KeyCode::F(number.saturating_sub(12)),
        _ => return None,
    };
    Some(key(code, modifiers))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::full::Key;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn keys(events: Vec<Event>) -> Vec<Key> {
        events.into_iter().filter_map(Key::read).collect()
    }

    #[test]
    fn bytes_are_keys() {
        #[track_caller]
        fn check(bytes: &[u8], expected: &[Key]) {
            let mut decoder = Decoder::default();
            let mut events = decoder.feed(bytes, at(1));
            events.extend(decoder.settle());
            assert_eq!(keys(events), expected);
        }
        check(
            "aä日".as_bytes(),
            &[Key::Char('a'), Key::Char('ä'), Key::Char('日')],
        );
        check(
            b"\r\t\x7f\x03\x13\x1a",
            &[
                Key::Enter,
                Key::Tab,
                Key::Backspace,
                Key::Ctrl('c'),
                Key::Ctrl('s'),
                Key::Ctrl('z'),
            ],
        );
        check(b"\n", &[Key::Ctrl('j')]);
        check(b"\x1b", &[Key::Esc]);
        check(b"\x1b\x1b", &[Key::Esc, Key::Esc]);
        check(
            b"\x1b\r\x1bb\x1bf\x1b\x7f",
            &[Key::Break, Key::WordLeft, Key::WordRight, Key::Ctrl('w')],
        );
        check(
            b"\x1b[A\x1b[B\x1b[C\x1b[D",
            &[Key::Up, Key::Down, Key::Right, Key::Left],
        );
        check(
            b"\x1bOA\x1bOP\x1bOQ\x1bOH",
            &[Key::Up, Key::F(1), Key::F(2), Key::Home],
        );
        check(
            b"\x1b[1;5C\x1b[1;3D\x1b[Z",
            &[Key::WordRight, Key::WordLeft, Key::BackTab],
        );
        check(
            b"\x1b[1~\x1b[4~\x1b[H\x1b[F",
            &[Key::Home, Key::End, Key::Home, Key::End],
        );
        check(
            b"\x1b[3~\x1b[5~\x1b[6~",
            &[Key::Delete, Key::PageUp, Key::PageDown],
        );
        check(
            b"\x1b[15~\x1b[17~\x1b[19~\x1b[24~",
            &[Key::F(5), Key::F(6), Key::F(8), Key::F(12)],
        );
        check(b"\x1b[?62;4c\x1b[99~x", &[Key::Char('x')]);
        check(
            b"\x1b[200~one\ntwo\x1b[201~x",
            &[Key::Paste("one\ntwo".into()), Key::Char('x')],
        );
        check(b"\xff\xffx", &[Key::Char('x')]);
    }

    #[test]
    fn a_paste_without_an_end_is_ended_by_the_person() {
        let mut decoder = Decoder::default();
        assert_eq!(keys(decoder.feed(b"\x1b[200~one\r", at(1))), []);
        // What comes at once is the paste's, whatever it is.
        assert_eq!(keys(decoder.feed(b"\x03", at(1))), []);
        assert_eq!(keys(decoder.feed(b"two\r", at(9))), []);
        assert!(decoder.settle().is_empty());
        let ended = keys(decoder.feed(b"\x03", at(19)));
        assert_eq!(ended, [Key::Paste("one\r\x03two\r".into()), Key::Ctrl('c')]);
        assert_eq!(keys(decoder.feed(b"\x03", at(29))), [Key::Ctrl('c')]);
        assert_eq!(keys(decoder.feed(b"\x1b[201~x", at(30))), [Key::Char('x')]);
    }

    proptest! {
        #[test]
        fn it_is_all_the_same_in_how_many_parts_bytes_come(
            parts in proptest::collection::vec("(\\x1b\\[[0-9;]{0,3}[A-DHFZ~]|\\x1b\\[200~[a-z\r\n]{0,4}\\x1b\\[201~|[a-zä日\r]){0,3}", 0..4),
            at_byte in 0usize..40,
        ) {
            let bytes = parts.concat().into_bytes();
            let (before, after) = bytes.split_at(at_byte.min(bytes.len()));
            let mut whole = Decoder::default();
            let mut halves = Decoder::default();
            let mut expected = whole.feed(&bytes, at(1));
            expected.extend(whole.settle());
            let mut events = halves.feed(before, at(1));
            events.extend(halves.feed(after, at(1)));
            events.extend(halves.settle());
            prop_assert_eq!(events, expected);
        }

        #[test]
        fn no_bytes_are_too_much(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut decoder = Decoder::default();
            decoder.feed(&bytes, at(1));
            decoder.settle();
            prop_assert!(decoder.bytes.is_empty() || decoder.pasting.is_some());
        }
    }
}
