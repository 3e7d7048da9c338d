//! OAuth scopes (RFC 6749, 3.3).

use alloc::{borrow::ToOwned, string::String, vec::Vec};
use core::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A set of scopes that keeps the order of insertion.
///
/// Two sets are equal if they contain the same scopes in any order. No scope implies another here:
/// only servers know their hierarchies (2026-07-28, basic/authorization, Step-Up Authorization
/// Flow).
#[derive(Debug, Clone, Default)]
pub struct Scopes(Vec<String>);

/// Why a text is not a set of scopes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadScopes {
    /// A scope is empty, or contains a forbidden character: a space, quote, backslash, control
    /// character or non-ASCII character.
    #[error("{0:?} is not a scope")]
    Scope(String),
    /// There are too many scopes, or they are too long.
    #[error("there are more than {most} scopes, or they are longer than {bytes} bytes", most = Scopes::MOST, bytes = Scopes::BYTES)]
    TooMany,
    /// `offline_access` is the client's own request to its authorization server.
    #[error("`offline_access` is not a scope of a server: leave it out")]
    OfflineAccess,
}

/// Servers do not ask for refresh tokens, so they must not name this scope (2026-07-28,
/// basic/authorization, Refresh Tokens).
const OFFLINE_ACCESS: &str = "offline_access";

impl Scopes {
    /// The maximum number of scopes in one set.
    pub const MOST: usize = 128;
    /// The maximum length of a set in its text form, in bytes.
    pub const BYTES: usize = 4 << 10;

    /// Makes an empty set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses scopes separated by one or more spaces.
    ///
    /// # Errors
    ///
    /// [`BadScopes`] if a scope is invalid or the set is too large.
    pub fn parse(text: &str) -> Result<Self, BadScopes> {
        if text.len() > Self::BYTES {
            return Err(BadScopes::TooMany);
        }
        Self::of(text.split(' ').filter(|scope| !scope.is_empty()))
    }

    /// Collects scopes into a set.
    ///
    /// # Errors
    ///
    /// [`BadScopes`] if a scope is invalid or the set is too large.
    pub fn of<T: AsRef<str>>(scopes: impl IntoIterator<Item = T>) -> Result<Self, BadScopes> {
        let mut set = Self::new();
        for scope in scopes {
            set.insert(scope.as_ref())?;
        }
        Ok(set)
    }

    /// Collects the scopes that a server asks for.
    ///
    /// # Errors
    ///
    /// As [`Scopes::of`], and [`BadScopes::OfflineAccess`].
    pub fn of_server<T: AsRef<str>>(
        scopes: impl IntoIterator<Item = T>,
    ) -> Result<Self, BadScopes> {
        let set = Self::of(scopes)?;
        if set.contains(OFFLINE_ACCESS) {
            return Err(BadScopes::OfflineAccess);
        }
        Ok(set)
    }

    /// Adds a scope, unless the set contains it.
    ///
    /// # Errors
    ///
    /// [`BadScopes`] if the scope is invalid or the set is full.
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

    /// Returns the scopes of both sets, these first.
    ///
    /// # Errors
    ///
    /// [`BadScopes::TooMany`] if the union is too large.
    pub fn union(&self, other: &Self) -> Result<Self, BadScopes> {
        Self::of(self.iter().chain(other.iter()))
    }

    /// Whether the set contains this scope.
    #[must_use]
    pub fn contains(&self, scope: &str) -> bool {
        self.0.iter().any(|known| known == scope)
    }

    /// Whether the set contains all scopes of the other.
    #[must_use]
    pub fn contains_all(&self, other: &Self) -> bool {
        other.iter().all(|scope| self.contains(scope))
    }

    /// Iterates over the scopes.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// The number of scopes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether the set is empty.
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
    /// Writes the scopes separated by spaces, as they are sent.
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
