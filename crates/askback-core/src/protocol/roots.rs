//! Roots: the folders in which a client lets a server work.

use alloc::{format, string::String, vec::Vec};

use serde::Deserialize;

use super::messages::messages;
use crate::quote::QuotedName;

messages! {
    /// A folder or file in which a server may work.
    #[derive(Default, Deserialize)]
    struct Root {
        /// The `file://` URI.
        uri: String;
        /// The display name.
        name?: String;
        meta;
    }

    /// The answer to `roots/list`.
    #[derive(Default, Deserialize)]
    struct ListRootsResult {
        /// The roots.
        roots: Vec<Root>;
        meta;
    }
}

impl Root {
    /// Makes a root without a name.
    pub fn new(uri: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            ..Self::default()
        }
    }

    /// Checks that the URI is a `file://` URI of a plain path (2026-07-28, client/roots, Root and
    /// Security Considerations). A path with dot segments or encoded separators leads elsewhere
    /// than it seems to.
    pub(crate) fn check(&self) -> Result<(), String> {
        let uri = &self.uri;
        let Some(rest) = uri.strip_prefix("file://") else {
            return Err(format!(
                "a root must be a file:// URI, not {}",
                QuotedName(uri)
            ));
        };
        let is_plain = |segment: &str| {
            let segment = segment.to_ascii_lowercase();
            let read = segment.replace("%2e", ".");
            let hides = ["%2f", "%5c", "%00", "\\", "?", "#"];
            read != "." && read != ".." && !hides.iter().any(|hidden| segment.contains(hidden))
        };
        if rest.contains('/') && rest.split('/').all(is_plain) {
            return Ok(());
        }
        Err(format!(
            "a root must be a plain path, without dots or encoded separators, not {}",
            QuotedName(uri)
        ))
    }
}
