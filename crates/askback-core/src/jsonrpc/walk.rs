//! A walk over JSON as nearly all programs write it.

use memchr::memchr2;
use serde::Deserialize;

use super::RequestId;

/// The most digits of a number that is read here, which no integer overflows.
const DIGITS: usize = 18;

/// A place in JSON text.
///
/// Each step is `None` where something else stands at the place, and also where the walk is not sure
/// what it is: a text with an escape, a number that is no short integer. What it steps over is then
/// exactly what serde would have read. Values of any other kind are read by serde.
pub(crate) struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Walk<'a> {
    pub(crate) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Steps over an object; `member` is given each name, and steps over its value.
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

    /// Steps over a string without escapes.
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
        // What follows tells whether that was all of it.
        self.at += digits.len();
        digits.parse().ok().map(RequestId::Number)
    }

    /// Steps over a value that is this text.
    pub(crate) fn object_of(&mut self, text: &str) -> Option<()> {
        self.skip_space();
        let rest = self.text.as_bytes().get(self.at..)?;
        // An object ends where it ends, whatever follows.
        (text.starts_with('{') && rest.starts_with(text.as_bytes())).then(|| self.at += text.len())
    }

    /// Steps over an object or an array, and has serde read it.
    pub(crate) fn read<T: Deserialize<'a>>(&mut self) -> Option<T> {
        self.skip_space();
        if !matches!(self.peek()?, b'{' | b'[') {
            return None;
        }
        let rest = self.text.get(self.at..)?;
        let mut values = serde_json::Deserializer::from_str(rest).into_iter();
        let value = values.next()?.ok()?;
        self.at += values.byte_offset();
        Some(value)
    }

    /// Steps over a value of an object or array, in text that is known to be JSON.
    pub(crate) fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => self.skip_string()?,
                b'{' | b'[' => depth += 1,
                // Here ends what it is a value of.
                b'}' | b']' | b',' if depth == 0 => return Some(()),
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Steps to the end of a string, whatever is in it.
    fn skip_string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            let found = memchr2(b'"', b'\\', rest)?;
            self.at += found;
            if rest[found] == b'"' {
                return Some(());
            }
            // What is escaped ends nothing.
            self.at += 2;
        }
    }

    /// At the end of the text, but for white space.
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

/// Whether a byte of a string stands for itself.
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

/// How many bytes of a string stand for themselves. A loop of its own: what is around it would be
/// counted along with each byte.
#[inline(never)]
fn plain_length(bytes: &[u8]) -> usize {
    let plain = bytes.iter().position(|byte| !PLAIN[usize::from(*byte)]);
    plain.unwrap_or(bytes.len())
}
