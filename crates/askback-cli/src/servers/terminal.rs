//! Reads a line from the terminal before a conversation begins.

use std::io::{self, BufRead};
#[cfg(unix)]
use std::io::{Read, Write};

use askback_host::page::{Page, out};
use zeroize::Zeroizing;

pub(super) type Line = Zeroizing<String>;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Typing {
    Seen,
    Unseen,
}

/// Shows a question and reads the answer. `None` at the end of the input, or after Ctrl-C.
pub(super) fn ask(page: &mut Page, typing: Typing) -> io::Result<Option<Line>> {
    match typing {
        Typing::Seen => {
            out::tell(page);
            let mut line = Zeroizing::new(String::new());
            let read = io::stdin().lock().read_line(&mut line)?;
            let end = line.trim_end_matches(['\r', '\n']).len();
            line.truncate(end);
            Ok((read > 0).then_some(line))
        }
        Typing::Unseen => unseen(page),
    }
}

#[cfg(not(unix))]
fn unseen(_: &mut Page) -> io::Result<Option<Line>> {
    Err(io::Error::other(
        "a secret cannot be typed here without being seen",
    ))
}

/// Turns off the terminal's echo and line editing until it is dropped.
#[cfg(unix)]
struct Silence(rustix::termios::Termios);

#[cfg(unix)]
impl Silence {
    fn begin() -> io::Result<Self> {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        // Reads Ctrl-C as a key. As a signal it would end the process with the echo still off.
        silent
            .local_modes
            .remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Now, &silent)?;
        Ok(Self(before))
    }
}

#[cfg(unix)]
impl Drop for Silence {
    fn drop(&mut self) {
        use rustix::termios::{OptionalActions, tcsetattr};

        // If the terminal is gone, there is nothing to restore.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[cfg(unix)]
fn unseen(page: &mut Page) -> io::Result<Option<Line>> {
    // Begins before the question is shown, so that an early answer is not echoed either.
    let silence = Silence::begin()?;
    out::tell(page);
    let typed = typed(&mut io::stdin().lock());
    drop(silence);
    // Enter was not echoed either.
    let _ = out::stderr().write_all(b"\n");
    typed
}

/// The maximum length of a value in bytes.
#[cfg(unix)]
const MOST: usize = 64 * 1024;

/// Reads keys up to Enter.
#[cfg(unix)]
fn typed(keys: &mut impl Read) -> io::Result<Option<Line>> {
    let mut bytes = Zeroizing::new(Vec::with_capacity(MOST));
    let mut key = [0];
    loop {
        let is_end = keys.read(&mut key)? == 0;
        match key[0] {
            _ if is_end => return Ok(None),
            b'\r' | b'\n' => break,
            // Ctrl-C, Ctrl-D, Ctrl-\.
            0x03 | 0x04 | 0x1c => return Ok(None),
            // Backspace removes a whole character.
            0x08 | 0x7f => while bytes.pop().is_some_and(|byte| byte & 0xc0 == 0x80) {},
            // Ctrl-U.
            0x15 => bytes.clear(),
            0..0x20 => {}
            other if bytes.len() < MOST => bytes.push(other),
            _ => return Err(io::Error::other("a value has at most 65536 bytes")),
        }
    }
    match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(Some(Zeroizing::new(text.to_owned()))),
        Err(_) => Err(io::Error::other("what was typed is not UTF-8 text")),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_up_to_enter() {
        #[track_caller]
        fn check(keys: &[u8], expected: Option<&str>) {
            let typed = typed(&mut &*keys).expect("it is a text");
            assert_eq!(typed.as_deref().map(String::as_str), expected);
        }
        check(b"secret\r", Some("secret"));
        check(b"secret\nmore\n", Some("secret"));
        check(b"\n", Some(""));
        check("ab\u{e9}\x7f\x7fc\n".as_bytes(), Some("ac"));
        check(b"\x7f\x7fa\n", Some("a"));
        check(b"wrong\x15right\n", Some("right"));
        check(b"sec\x03", None);
        check(b"sec\x04\n", None);
        check(b"sec", None);
    }

    #[test]
    fn a_value_without_end_is_refused() {
        assert!(typed(&mut io::repeat(b'x')).is_err());
        assert!(typed(&mut &b"\xff\n"[..]).is_err());
    }
}
