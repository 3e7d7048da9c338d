//! Scopes: what a token may be used for (RFC 6749, 3.3).

use alloc::{borrow::ToOwned, string::String, vec::Vec};
use core::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A set of scopes, in the order in which they were first named.
///
/// Two sets are equal if they hold the same scopes, whatever the order. No scope implies another
/// here: hierarchies are known to servers alone (2026-07-28, basic/authorization, Step-Up
/// Authorization Flow).
#[derive(Debug, Clone, Default)]
pub struct Scopes(Vec<String>);

/// Text that is no set of scopes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadScopes {
    /// A scope is empty, or holds a character that none may hold: spaces, quotes, backslashes,
    /// control characters, and all beyond ASCII.
    #[error("{0:?} is no scope")]
    Scope(String),
    /// There are more than anybody needs.
    #[error("there are more than {most} scopes, or they are longer than {bytes} bytes", most = Scopes::MOST, bytes = Scopes::BYTES)]
    TooMany,
    /// `offline_access` says what a client wishes from its authorization server.
    #[error("`offline_access` is no scope of a server: leave it out")]
    OfflineAccess,
}

/// Refresh tokens are no matter of a server of this protocol, so it names no scope for them
/// (2026-07-28, basic/authorization, Refresh Tokens).
const OFFLINE_ACCESS: &str = "offline_access";

impl Scopes {
    /// The most scopes of one set.
    pub const MOST: usize = 128;
    /// The most bytes of all scopes of one set, as they are written.
    pub const BYTES: usize = 4 << 10;

    /// No scopes.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads scopes as they are written, with spaces between them. Several spaces count as one.
    ///
    /// # Errors
    ///
    /// [`BadScopes`].
    pub fn parse(text: &str) -> Result<Self, BadScopes> {
        if text.len() > Self::BYTES {
            return Err(BadScopes::TooMany);
        }
        Self::of(text.split(' ').filter(|scope| !scope.is_empty()))
    }

    /// The set of these scopes.
    ///
    /// # Errors
    ///
    /// [`BadScopes`].
    pub fn of<T: AsRef<str>>(scopes: impl IntoIterator<Item = T>) -> Result<Self, BadScopes> {
        let mut set = Self::new();
        for scope in scopes {
            set.insert(scope.as_ref())?;
        }
        Ok(set)
    }

    /// The set of these scopes, each one that a server may ask for.
    ///
    /// # Errors
    ///
    /// [`BadScopes`].
    pub fn of_server<T: AsRef<str>>(
        scopes: impl IntoIterator<Item = T>,
    ) -> Result<Self, BadScopes> {
        let set = Self::of(scopes)?;
        if set.contains(OFFLINE_ACCESS) {
            return Err(BadScopes::OfflineAccess);
        }
        Ok(set)
    }

    /// Adds a scope, unless it is there.
    ///
    /// # Errors
    ///
    /// [`BadScopes`].
    pub fn insert(&mut self, scope: &str) -> Result<(), BadScopes> {
        if scope.is_empty() || !scope.bytes().all(may_stand_in_scope) {
            let shown = scope.chars().take(64).collect();
            return Err(BadScopes::Scope(shown));
        }
        if self.contains(scope) {
            return Ok(());
        }
        let bytes: usize = self.0.iter().map(|known| known.len() + 1).sum();
        if self.0.len() >= Self::MOST || bytes + scope.len() > Self::BYTES {
            return Err(BadScopes::TooMany);
        }
        self.0.push(scope.to_owned());
        Ok(())
    }

    /// Both sets together, these first.
    ///
    /// # Errors
    ///
    /// [`BadScopes::TooMany`] if that is more than one set holds.
    pub fn union(&self, other: &Self) -> Result<Self, BadScopes> {
        Self::of(self.iter().chain(other.iter()))
    }

    /// Whether this scope is among them.
    #[must_use]
    pub fn contains(&self, scope: &str) -> bool {
        self.0.iter().any(|known| known == scope)
    }

    /// Whether all of the others are among them.
    #[must_use]
    pub fn contains_all(&self, other: &Self) -> bool {
        other.iter().all(|scope| self.contains(scope))
    }

    /// Each scope.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl PartialEq for Scopes {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.contains_all(other)
    }
}

impl Eq for Scopes {}

impl fmt::Display for Scopes {
    /// As they are sent: with one space between two.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, scope) in self.iter().enumerate() {
            if place > 0 {
                f.write_str(" ")?;
            }
            f.write_str(scope)?;
        }
        Ok(())
    }
}

impl FromStr for Scopes {
    type Err = BadScopes;

    fn from_str(text: &str) -> Result<Self, BadScopes> {
        Self::parse(text)
    }
}

impl Serialize for Scopes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Scopes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// RFC 6749, 3.3: `%x21 / %x23-5B / %x5D-7E`.
fn may_stand_in_scope(byte: u8) -> bool {
    byte.is_ascii_graphic() && byte != b'"' && byte != b'\\'
}
