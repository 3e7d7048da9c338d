//! A fast scanner for JSON in its usual form.

use memchr::memchr2;
use serde::Deserialize;

use super::RequestId;

/// The maximum number of digits that are parsed here. Such a number cannot overflow.
const DIGITS: usize = 18;

/// A position in JSON text.
///
/// Each step returns `None` if another kind of value follows, or if the scanner does not handle it:
/// a string with an escape, or a number that is not a short integer. Otherwise the result is the
/// same as serde's. Serde reads all other kinds of values.
#[derive(Clone, Copy)]
pub(crate) struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walk<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Reads an object. `member` gets each name and reads its value.
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a str) -> Option<()>,
    ) -> Option<()> {
        self.take(b'{')?;
        if self.take(b'}').is_some() {
            return Some(());
        }
        loop {
            let name = self.string()?;
            self.take(b':')?;
            member(self, name)?;
            if self.take(b',').is_none() {
                return self.take(b'}');
            }
        }
    }

    /// Reads a string without escapes.
    pub(crate) fn string(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        let rest = self.text.get(self.at..)?;
        let length = plain_length(rest.as_bytes());
        let (string, rest) = rest.split_at_checked(length)?;
        rest.starts_with('"').then(|| self.at += length + 1)?;
        Some(string)
    }

    pub(crate) fn request_id(&mut self) -> Option<RequestId> {
        self.skip_space();
        if self.peek()? == b'"' {
            return self.string().map(RequestId::from);
        }
        let digits = self.text.as_bytes()[self.at..].iter();
        let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
        let digits = self.text.get(self.at..self.at + digits)?;
        let is_plain = digits == "0" || !digits.starts_with('0');
        if !is_plain || digits.len() > DIGITS {
            return None;
        }
        // What follows shows whether the number is complete.
        self.at += digits.len();
        digits.parse().ok().map(RequestId::Number)
    }

    /// Skips an object with exactly this text.
    pub(crate) fn object_of(&mut self, text: &str) -> Option<()> {
        self.skip_space();
        let rest = self.text.as_bytes().get(self.at..)?;
        // An object is complete whatever follows.
        (text.starts_with('{') && rest.starts_with(text.as_bytes())).then(|| self.at += text.len())
    }

    /// Reads an object with serde.
    pub(crate) fn read<T: Deserialize<'a>>(&mut self) -> Option<T> {
        self.skip_space();
        let rest = self.text.get(self.at..)?;
        if !rest.starts_with('{') {
            return None;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter();
        let value = values.next()?.ok()?;
        self.at += values.byte_offset();
        Some(value)
    }

    /// Skips a value inside an object or array. The text must be valid JSON.
    pub(crate) fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => depth += 1,
                // The end of the surrounding value.
                b'}' | b']' | b',' if depth == 0 => return Some(()),
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            let found = memchr2(b'"', b'\\', rest)?;
            self.at += found;
            if rest[found] == b'"' {
                return Some(());
            }
            // Skips the escaped character.
            self.at += 2;
        }
    }

    /// Checks that only white space is left.
    pub(crate) fn end(mut self) -> Option<()> {
        self.skip_space();
        (self.at == self.text.len()).then_some(())
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.skip_space();
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\t' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

/// Whether a byte in a string needs no unescaping.
const PLAIN: [bool; 256] = {
    let mut plain = [true; 256];
    let mut control = 0;
    while control < 0x20 {
        plain[control] = false;
        control += 1;
    }
    plain[b'"' as usize] = false;
    plain[b'\\' as usize] = false;
    plain
};

/// The number of leading bytes that need no unescaping. A separate function, so that the loop does
/// nothing else for each byte.
#[inline(never)]
fn plain_length(bytes: &[u8]) -> usize {
    let plain = bytes.iter().position(|byte| !PLAIN[usize::from(*byte)]);
    plain.unwrap_or(bytes.len())
}
