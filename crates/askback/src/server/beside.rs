//! The `_meta` of a server's offers, and its extensions.

use askback_core::protocol::HasMeta;
use serde::Serialize;
use serde_json::Value;

use super::{BuildError, Prompt, Resource, ResourceTemplate, ServerBuilder, Tool};
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

/// Checks the `_meta` of something that is offered.
pub(super) fn check_meta(name: &str, offered: &impl HasMeta) -> Result<(), BuildError> {
    let checked = offered.meta().map_or(Ok(()), |meta| meta.check());
    checked.map_err(|why| BuildError::Meta {
        name: name.to_owned(),
        why: why.to_string(),
    })
}

macro_rules! offered {
    ($($name:ident),*) => {$(
        impl $name {
            /// Sets a value in its `_meta`, under a key of an extension or one of your own such as
            /// `com.example/price`. Clients are told of it with the lists.
            #[must_use]
            pub fn meta(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
                let meta = self.description.meta_mut();
                meta.extra.insert(key.into(), value.into());
                self
            }
        }
    )*};
}

offered!(Tool, Prompt, Resource, ResourceTemplate);
