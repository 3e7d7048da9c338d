//! Programs, by their names and icons.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::lenient;

/// A program that speaks the protocol.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Implementation {
    /// Its name for programs.
    pub name: String,
    /// Its name for people (from 2025-06-18 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub title: Option<String>,
    /// Its version.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub version: String,
    /// The description (from 2025-11-25 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub description: Option<String>,
    /// Pictures for it (from 2025-11-25 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::list"
    )]
    pub icons: Option<Vec<Icon>>,
    /// Its web site (from 2025-11-25 on).
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub website_url: Option<String>,
}

/// A picture that stands for something.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Icon {
    /// Where it is: an `https:` or `data:` URI.
    pub src: String,
    /// Its media type.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub mime_type: Option<String>,
    /// The sizes it is good for, such as `48x48`, or `any`.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalars"
    )]
    pub sizes: Option<Vec<String>>,
    /// The background it is made for.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub theme: Option<IconTheme>,
}

/// The background an icon is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IconTheme {
    /// A light one.
    Light,
    /// A dark one.
    Dark,
}

impl Implementation {
    /// A program of which only what is needed is said.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            ..Self::default()
        }
    }

    /// The name a person should read.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl Icon {
    /// A picture of which only the place is said.
    pub fn new(src: impl Into<String>) -> Self {
        Self {
            src: src.into(),
            ..Self::default()
        }
    }
}
