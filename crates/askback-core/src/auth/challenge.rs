//! The `WWW-Authenticate` header, with which a server demands authorization (RFC 9110, 11.6.1).

use alloc::{borrow::ToOwned, string::String, vec::Vec};
use core::fmt;

use super::{BadScopes, Scopes};

/// One challenge: a scheme and its parameters.
///
/// ```
/// use askback_core::auth::Challenge;
///
/// let header = r#"Basic realm="old", Bearer error="invalid_token", scope="files:read""#;
/// let challenges = Challenge::parse(header)?;
/// let bearer = challenges.iter().find(|it| it.is(Challenge::BEARER)).unwrap();
/// assert_eq!(bearer.get("error"), Some("invalid_token"));
/// # Ok::<(), askback_core::auth::BadChallenge>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Challenge {
    scheme: String,
    /// Names are in lower case and unique.
    params: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadChallenge {
    #[error("the challenge cannot be read")]
    Unreadable,
    /// A parameter appears twice, so that readers may disagree about its value.
    #[error("the challenge names a parameter twice")]
    Duplicate,
    /// The header is longer, or has more parts, than any real challenge needs.
    #[error("the challenge is too large")]
    TooLarge,
    #[error("the value cannot stand in a challenge")]
    Value,
}

impl Challenge {
    pub const BEARER: &str = "Bearer";
    pub const DPOP: &str = "DPoP";
    pub const BYTES: usize = 8 << 10;
    pub const MOST: usize = 16;
    pub const PARAMS: usize = 32;

    /// Makes a challenge without parameters.
    ///
    /// # Errors
    ///
    /// [`BadChallenge::Unreadable`] if `scheme` is not a valid scheme name.
    pub fn new(scheme: &str) -> Result<Self, BadChallenge> {
        if scheme.is_empty() || !scheme.bytes().all(is_token) {
            return Err(BadChallenge::Unreadable);
        }
        Ok(Self {
            scheme: scheme.to_owned(),
            params: Vec::new(),
        })
    }

    /// Sets a parameter.
    ///
    /// # Errors
    ///
    /// [`BadChallenge::Value`] if the name is not a token, or the value contains control or
    /// non-ASCII characters.
    pub fn with(mut self, name: &str, value: &str) -> Result<Self, BadChallenge> {
        let may_be_quoted = |byte: u8| byte == b' ' || byte.is_ascii_graphic();
        let is_name = !name.is_empty() && name.bytes().all(is_token);
        if !is_name || !value.bytes().all(may_be_quoted) {
            return Err(BadChallenge::Value);
        }
        let name = name.to_ascii_lowercase();
        self.params.retain(|(known, _)| *known != name);
        if self.params.len() >= Self::PARAMS {
            return Err(BadChallenge::TooLarge);
        }
        self.params.push((name, value.to_owned()));
        Ok(self)
    }

    /// Parses the challenges of one header. An ambiguous header is rejected.
    ///
    /// # Errors
    ///
    /// Says why the header is rejected.
    pub fn parse(header: &str) -> Result<Vec<Self>, BadChallenge> {
        if header.len() > Self::BYTES {
            return Err(BadChallenge::TooLarge);
        }
        let mut text = Text(header);
        let mut challenges: Vec<Self> = Vec::new();
        // A scheme may be followed by its first parameter without a comma.
        let mut after_scheme = false;
        loop {
            let separated = text.skip_separators();
            if text.is_empty() {
                return Ok(challenges);
            }
            let name = text.token().ok_or(BadChallenge::Unreadable)?;
            let value = match challenges.is_empty() {
                true => None,
                false => text.value()?,
            };
            let may_follow = separated || after_scheme;
            match (value, challenges.last_mut()) {
                (Some(value), Some(challenge)) if may_follow => {
                    challenge.add(name, value)?;
                    after_scheme = false;
                    continue;
                }
                (None, None) => {}
                (None, Some(_)) if separated => {}
                _ => return Err(BadChallenge::Unreadable),
            }
            if challenges.len() >= Self::MOST {
                return Err(BadChallenge::TooLarge);
            }
            challenges.push(Self::new(name)?);
            after_scheme = text.0.starts_with(' ');
            if after_scheme {
                text.skip_token68();
            }
        }
    }

    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// Whether the challenge has this scheme, ignoring case.
    #[must_use]
    pub fn is(&self, scheme: &str) -> bool {
        self.scheme.eq_ignore_ascii_case(scheme)
    }

    /// Returns the value of a parameter. `name` is in lower case.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut params = self.params.iter();
        params
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Returns the error code of the refused token (RFC 6750, 3.1), such as `insufficient_scope`.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        self.get("error")
    }

    #[must_use]
    pub fn resource_metadata(&self) -> Option<&str> {
        self.get("resource_metadata")
    }

    /// Returns the scopes that the request needs, or `None` if the server does not name any.
    ///
    /// # Errors
    ///
    /// [`BadScopes`] if the parameter is not a list of scopes.
    pub fn scopes(&self) -> Result<Option<Scopes>, BadScopes> {
        self.get("scope").map(Scopes::parse).transpose()
    }

    fn add(&mut self, name: &str, value: String) -> Result<(), BadChallenge> {
        let name = name.to_ascii_lowercase();
        if self.get(&name).is_some() {
            return Err(BadChallenge::Duplicate);
        }
        if self.params.len() >= Self::PARAMS {
            return Err(BadChallenge::TooLarge);
        }
        self.params.push((name, value));
        Ok(())
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.scheme)?;
        for (place, (name, value)) in self.params.iter().enumerate() {
            f.write_str(if place == 0 { " " } else { ", " })?;
            write!(f, "{name}=\"")?;
            for part in value.split_inclusive(['"', '\\']) {
                match part.strip_suffix(['"', '\\']) {
                    Some(before) => write!(f, "{before}\\{}", &part[before.len()..])?,
                    None => f.write_str(part)?,
                }
            }
            f.write_str("\"")?;
        }
        Ok(())
    }
}

struct Text<'a>(&'a str);

impl<'a> Text<'a> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Skips spaces and commas. Returns whether there was a comma.
    fn skip_separators(&mut self) -> bool {
        let rest = self.0.trim_start_matches([' ', '\t', ',']);
        let skipped = &self.0[..self.0.len() - rest.len()];
        self.0 = rest;
        skipped.contains(',')
    }

    fn token(&mut self) -> Option<&'a str> {
        let end = self.0.bytes().position(|byte| !is_token(byte));
        let (token, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        (!token.is_empty()).then_some(token)
    }

    /// Parses the value behind a name. Returns `None` if there is no value, which means that the
    /// name is a scheme.
    fn value(&mut self) -> Result<Option<String>, BadChallenge> {
        let Some(rest) = self.0.trim_start_matches([' ', '\t']).strip_prefix('=') else {
            return Ok(None);
        };
        self.0 = rest.trim_start_matches([' ', '\t']);
        if self.0.starts_with('"') {
            return self.quoted().map(Some);
        }
        let token = self.token().ok_or(BadChallenge::Unreadable)?;
        Ok(Some(token.to_owned()))
    }

    fn quoted(&mut self) -> Result<String, BadChallenge> {
        let mut value = String::new();
        let mut chars = self.0.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.0 = &self.0[at + 1..];
                    return Ok(value);
                }
                '\\' => match chars.next() {
                    Some((_, escaped)) if !escaped.is_control() => value.push(escaped),
                    _ => return Err(BadChallenge::Unreadable),
                },
                c if c.is_control() && c != '\t' => return Err(BadChallenge::Unreadable),
                c => value.push(c),
            }
        }
        Err(BadChallenge::Unreadable)
    }

    /// Skips a token68, which some schemes have instead of parameters. It is not used.
    fn skip_token68(&mut self) {
        let rest = self.0.trim_start_matches(' ');
        let is_token68 = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'+' | b'/')
        };
        let end = rest.bytes().position(|byte| !is_token68(byte));
        let (token, after) = rest.split_at(end.unwrap_or(rest.len()));
        let after = after
            .trim_start_matches('=')
            .trim_start_matches([' ', '\t']);
        if !token.is_empty() && (after.is_empty() || after.starts_with(',')) {
            self.0 = after;
        }
    }
}

/// RFC 9110, 5.6.2.
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}
