//! The canonical form of a JSON value, and its digest.
//!
//! Two texts with the same value have one canonical form (RFC 8785): members sorted by the UTF-16
//! code units of their keys, no white space, the fewest escapes, and numbers by value, so that `1`,
//! `1.0` and `10e-1` are equal. A sealed state is bound to the digest of the call's arguments in
//! this form, because a client may serialize its retry differently. A question is identified by its
//! digest.
//!
//! One deviation: RFC 8785 writes a number as ECMAScript prints the nearest double, which changes
//! large integers (`9007199254740993` becomes `…992`). A Rust handler reads all 64 bits of an
//! integer, so a whole number that fits `i64` or `u64` is written exactly, in whatever notation it
//! came. Up to 2^53 the two agree.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::ops::Range;

use serde::Serialize;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

/// The deepest nesting of arrays and objects that has a canonical form. `serde_json` has the same
/// limit, so nothing that a handler could read is rejected.
pub const MAX_DEPTH: usize = 127;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CanonicalError {
    /// An object has two members of the same name; readers differ in which one they use.
    #[error("an object names a member twice")]
    DuplicateKey,
    #[error("arrays and objects are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("a number is out of range")]
    NumberOutOfRange,
    /// The text is not JSON, or a string holds half of a surrogate pair.
    #[error("the text is not valid JSON")]
    Malformed,
    /// A Rust value has no JSON form (a map whose keys are not strings, for example).
    #[error("the value cannot be written as JSON: {0}")]
    Unserializable(String),
}

/// Returns the SHA-256 digest of the canonical form of `value`.
///
/// # Errors
///
/// Fails if the value has no canonical form. The sender of the text is to blame.
pub fn digest(value: &RawValue) -> Result<[u8; 32], CanonicalError> {
    Ok(Sha256::digest(Writer::write(value.get())?).into())
}

/// Serializes a Rust value to JSON and returns its [`digest`].
///
/// # Errors
///
/// Fails if the value cannot be written as JSON or its JSON has no canonical form.
pub fn digest_of<T: Serialize + ?Sized>(value: &T) -> Result<[u8; 32], CanonicalError> {
    let text = serde_json::to_string(value)
        .map_err(|error| CanonicalError::Unserializable(error.to_string()))?;
    Ok(Sha256::digest(Writer::write(&text)?).into())
}

/// Returns the canonical form of one JSON text.
///
/// # Errors
///
/// Fails if the text is not JSON or has no canonical form.
pub fn canonicalize(text: &str) -> Result<String, CanonicalError> {
    let value: &RawValue = serde_json::from_str(text).map_err(|_| CanonicalError::Malformed)?;
    Writer::write(value.get())
}

/// Reads JSON from `text` and writes its canonical form to `out` in one pass. The text must be
/// valid: `serde_json` has parsed or written it.
struct Writer<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    out: String,
}

/// A member of the object being written: its key, and its range in `out`.
struct Member<'a> {
    key: Cow<'a, str>,
    written: Range<usize>,
}

impl<'a> Writer<'a> {
    fn write(text: &'a str) -> Result<String, CanonicalError> {
        let mut writer = Self {
            text,
            at: 0,
            depth: 0,
            out: String::with_capacity(text.len()),
        };
        writer.value()?;
        Ok(writer.out)
    }

    fn value(&mut self) -> Result<(), CanonicalError> {
        match self.peek() {
            Some(b'{') => self.nested(Self::object),
            Some(b'[') => self.nested(Self::array),
            Some(b'"') => self.string().map(|_| ()),
            Some(b'-' | b'0'..=b'9') => {
                let token = self
                    .token(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E'));
                write_number(token, &mut self.out)
            }
            Some(b'a'..=b'z') => {
                let word = self.token(|byte| byte.is_ascii_lowercase());
                self.out.push_str(word);
                Ok(())
            }
            _ => Err(CanonicalError::Malformed),
        }
    }

    fn nested(
        &mut self,
        inner: fn(&mut Self) -> Result<(), CanonicalError>,
    ) -> Result<(), CanonicalError> {
        if self.depth >= MAX_DEPTH {
            return Err(CanonicalError::TooDeep);
        }
        self.depth += 1;
        self.at += 1;
        inner(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn array(&mut self) -> Result<(), CanonicalError> {
        self.out.push('[');
        let mut first = true;
        while !self.eat(b']') {
            if !first {
                self.expect(b',')?;
                self.out.push(',');
            }
            first = false;
            self.value()?;
        }
        self.out.push(']');
        Ok(())
    }

    fn object(&mut self) -> Result<(), CanonicalError> {
        self.out.push('{');
        let start = self.out.len();
        let mut members = Vec::new();
        while !self.eat(b'}') {
            if !members.is_empty() {
                self.expect(b',')?;
                self.out.push(',');
            }
            let from = self.out.len();
            let key = self.string()?;
            self.expect(b':')?;
            self.out.push(':');
            self.value()?;
            members.push(Member {
                key,
                written: from..self.out.len(),
            });
        }
        self.sort(start, members)?;
        self.out.push('}');
        Ok(())
    }

    fn sort(&mut self, start: usize, mut members: Vec<Member<'a>>) -> Result<(), CanonicalError> {
        let in_order = |a: &Member<'_>, b: &Member<'_>| utf16_order(&a.key, &b.key).is_lt();
        if members.is_sorted_by(in_order) {
            return Ok(());
        }
        members.sort_by(|a, b| utf16_order(&a.key, &b.key));
        if !members.is_sorted_by(in_order) {
            return Err(CanonicalError::DuplicateKey);
        }
        let unsorted = self.out.split_off(start);
        for (index, Member { written, .. }) in members.iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            self.out
                .push_str(&unsorted[written.start - start..written.end - start]);
        }
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, CanonicalError> {
        self.expect(b'"')?;
        let from = self.at;
        let mut escaped = false;
        loop {
            match self.text.as_bytes().get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                Some(_) => self.at += 1,
                None => return Err(CanonicalError::Malformed),
            }
        }
        let inside = &self.text[from..self.at];
        self.at += 1;
        if !escaped {
            // A string without escapes needs no work: bare control characters and quotes are
            // invalid JSON.
            self.out.push('"');
            self.out.push_str(inside);
            self.out.push('"');
            return Ok(Cow::Borrowed(inside));
        }
        let quoted = &self.text[from - 1..self.at];
        let said: String = serde_json::from_str(quoted).map_err(|_| CanonicalError::Malformed)?;
        // serde_json writes the escapes that RFC 8785 requires: the short ones, else lower-case
        // \u00xx.
        let minimal = serde_json::to_string(&said).map_err(|_| CanonicalError::Malformed)?;
        self.out.push_str(&minimal);
        Ok(Cow::Owned(said))
    }

    /// Takes the longest run of bytes that `belongs` accepts, which must all be ASCII.
    fn token(&mut self, belongs: fn(u8) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.bytes().take_while(|byte| belongs(*byte)).count();
        self.at += length;
        &rest[..length]
    }

    fn peek(&mut self) -> Option<u8> {
        while let Some(byte) = self.text.as_bytes().get(self.at) {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Some(*byte);
            }
            self.at += 1;
        }
        None
    }

    fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), CanonicalError> {
        if self.eat(byte) {
            Ok(())
        } else {
            Err(CanonicalError::Malformed)
        }
    }
}

fn utf16_order(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

fn write_number(token: &str, out: &mut String) -> Result<(), CanonicalError> {
    if let Some(integer) = Integer::of_decimal(token) {
        integer.write(out);
        return Ok(());
    }
    let number: f64 = token.parse().map_err(|_| CanonicalError::Malformed)?;
    if !number.is_finite() {
        return Err(CanonicalError::NumberOutOfRange);
    }
    // A fraction can be so close to a whole number that the nearest double is the whole number.
    match Integer::of_double(number) {
        Some(integer) => integer.write(out),
        None => out.push_str(ryu_js::Buffer::new().format_finite(number)),
    }
    Ok(())
}

struct Integer {
    negative: bool,
    magnitude: u64,
}

impl Integer {
    fn new(negative: bool, magnitude: u64) -> Option<Self> {
        let fits = !negative || magnitude <= i64::MIN.unsigned_abs();
        fits.then_some(Self {
            // Minus zero equals zero.
            negative: negative && magnitude != 0,
            magnitude,
        })
    }

    /// The exact value of a decimal, if it is whole and fits: `12.5e1` is 125.
    fn of_decimal(token: &str) -> Option<Self> {
        let (negative, token) = match token.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, token),
        };
        let (mantissa, exponent) = token.split_once(['e', 'E']).unwrap_or((token, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));

        // Trailing zeros are counted, not multiplied in, so that 1.000e0 is whole and a long run
        // of them does not overflow before the exponent takes them back.
        let mut significant: u64 = 0;
        let mut zeros: u32 = 0;
        for digit in whole.chars().chain(fraction.chars()) {
            zeros = zeros.checked_add(1)?;
            let digit = digit.to_digit(10)?;
            if digit == 0 {
                continue;
            }
            if significant != 0 {
                significant = significant.checked_mul(10u64.checked_pow(zeros)?)?;
            }
            significant = significant.checked_add(digit.into())?;
            zeros = 0;
        }
        if significant == 0 {
            return Self::new(negative, 0);
        }
        let scale = exponent
            .parse::<i64>()
            .ok()?
            .checked_sub(i64::try_from(fraction.len()).ok()?)?
            .checked_add(zeros.into())?;
        let scale = u32::try_from(scale).ok()?;
        Self::new(
            negative,
            significant.checked_mul(10u64.checked_pow(scale)?)?,
        )
    }

    fn of_double(number: f64) -> Option<Self> {
        const TOO_LARGE: f64 = 18_446_744_073_709_551_616.0; // 2^64
        let size = number.abs();
        let magnitude = size as u64;
        let whole = size < TOO_LARGE && magnitude as f64 == size;
        whole.then(|| Self::new(number < 0.0, magnitude)).flatten()
    }

    fn write(&self, out: &mut String) {
        if self.negative {
            out.push('-');
        }
        out.push_str(&self.magnitude.to_string());
    }
}
