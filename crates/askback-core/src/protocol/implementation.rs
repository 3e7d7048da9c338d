//! Programs, by their names and icons.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{lenient, messages::messages};

messages! {
    /// A program that speaks the protocol.
    #[derive(Eq, Default, Deserialize)]
    struct Implementation {
        /// Its name for programs.
        name: String;
        /// Its name for people (from 2025-06-18 on).
        title?: String = "lenient::scalar";
        /// Its version.
        #[serde(default, deserialize_with = "lenient::or_default")]
        version: String;
        /// The description (from 2025-11-25 on).
        description?: String = "lenient::scalar";
        /// Pictures for it (from 2025-11-25 on).
        icons?: Vec<Icon> = "lenient::list";
        /// Its web site (from 2025-11-25 on).
        website_url?: String = "lenient::scalar";
    }

    /// A picture that stands for something.
    #[derive(Eq, Default, Deserialize)]
    struct Icon {
        /// Where it is: an `https:` or `data:` URI.
        src: String;
        /// Its media type.
        mime_type?: String = "lenient::scalar";
        /// The sizes it is good for, such as `48x48`, or `any`.
        sizes?: Vec<String> = "lenient::scalars";
        /// The background it is made for.
        theme?: IconTheme = "lenient::scalar";
    }
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
