//! Names and icons of programs.

use alloc::{string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{lenient, messages::messages};

messages! {
    /// A program that implements the protocol.
    #[derive(Eq, Default, Deserialize)]
    struct Implementation {
        /// The name for programs.
        name: String;
        /// The display name (from 2025-06-18 on).
        title?: String = "lenient::scalar";
        /// The version.
        #[serde(default, deserialize_with = "lenient::or_default")]
        version: String;
        /// The description (from 2025-11-25 on).
        description?: String = "lenient::scalar";
        /// Icons for display (from 2025-11-25 on).
        icons?: Vec<Icon> = "lenient::list";
        /// The website (from 2025-11-25 on).
        website_url?: String = "lenient::scalar";
    }

    /// An icon for display.
    #[derive(Eq, Default, Deserialize)]
    struct Icon {
        /// The `https:` or `data:` URI of the image.
        src: String;
        /// The media type.
        mime_type?: String = "lenient::scalar";
        /// The sizes it suits, such as `48x48`, or `any`.
        sizes?: Vec<String> = "lenient::scalars";
        /// The background it suits.
        theme?: IconTheme = "lenient::scalar";
    }
}

/// The background an icon suits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IconTheme {
    /// A light background.
    Light,
    /// A dark background.
    Dark,
}

impl Implementation {
    /// Makes an implementation with only a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            ..Self::default()
        }
    }

    /// Returns the name to display.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

impl Icon {
    /// Makes an icon with only its URI.
    pub fn new(src: impl Into<String>) -> Self {
        Self {
            src: src.into(),
            ..Self::default()
        }
    }
}
