//! The extensions of a server.

use serde::Serialize;

use super::{BuildError, ServerBuilder};
use crate::extension::settings;

impl ServerBuilder {
    /// Declares an extension, by its name and its settings: an object, or `()` for none (2026-07-28,
    /// basic/versioning, Extension Negotiation). Clients of older revisions are not told.
    ///
    /// A client declares its own; [`Ctx::extension`](crate::Ctx::extension) tells whether it did.
    ///
    /// ```
    /// use askback::Server;
    /// use serde_json::json;
    ///
    /// let server = Server::new("atlas", "1.0.0")
    ///     .extension("com.example/maps", json!({"layers": ["roads", "rivers"]}));
    /// assert!(server.build().is_ok());
    /// ```
    pub fn extension(mut self, name: &str, of: impl Serialize) -> Self {
        let declared = settings(&of).and_then(|of| {
            let declared = self.declared.declare_extension(name, of);
            declared.map_err(|why| why.to_string())
        });
        self.note(declared.map_err(|why| BuildError::Extension {
            name: name.to_owned(),
            why,
        }));
        self
    }
}
