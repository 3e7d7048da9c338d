//! Forms: what a server may ask a user to fill in.
//!
//! A derive makes the schema, the schema is checked before it is asked, and an answer is checked
//! before it is sent and again when it arrives. All user interfaces show the texts of these checks.
//!
//! ```
//! use askback_core::{forms::FormSchema, limits::FormLimits};
//!
//! let limits = FormLimits::default();
//! let schema = r#"{"type": "object", "properties": {
//!     "nights": {"type": "integer", "minimum": 1, "maximum": 30}
//! }, "required": ["nights"]}"#;
//! let form = FormSchema::parse(schema.as_bytes(), &limits)?;
//! assert_eq!(form.fields[0].hint(), "a whole number from 1 to 30");
//!
//! let answer = form.parse_strings([("nights", "45")], &limits);
//! assert_eq!(answer.unwrap_err().to_string(), "`nights`: must be at most 30");
//! # Ok::<(), askback_core::forms::SchemaError>(())
//! ```

mod build;
mod check;
#[cfg(feature = "dates")]
mod dates;
#[doc(hidden)]
pub mod derive;
mod dialect;
mod draft;
mod elicitable;
mod format;
mod issue;
mod json;
mod lint;
mod number;
#[cfg(feature = "pattern")]
mod pattern;
mod read;
mod references;
mod schema;
mod secret;
mod shared;
mod text;
mod typed;
mod words;
mod write;

#[cfg(feature = "dates")]
pub use jiff::{Timestamp, civil::Date};

pub use build::FormValues;
pub use derive::IntoNumber;
pub use dialect::{Dialect, LoweredForm, lower};
pub use elicitable::{ANSWER, Elicitable};
pub use format::TextFormat;
pub use issue::{Issue, Issues};
pub use json::{JsonField, read_json};
pub use read::SchemaError;
pub use schema::{
    BooleanField, ChoiceField, ChoicesField, Content, Field, FieldKind, FormSchema, NumberField,
    Opt, TextField,
};
pub use shared::SharedForm;
pub use typed::{Form, FormChoice, FormField, Sort};

/// Stands in for patterns without the feature. A form with a pattern fails its check, so that no
/// answer is accepted unchecked.
#[cfg(not(feature = "pattern"))]
mod pattern {
    use alloc::string::String;

    use crate::limits::FormLimits;

    /// Patterns cannot be checked here.
    pub(super) enum Pattern {}

    impl Pattern {
        /// Says why the pattern cannot be checked.
        pub(super) fn new(_: &str, _: &FormLimits) -> Result<Self, String> {
            Err("the feature `pattern` of askback is off".into())
        }

        pub(super) fn matches(&self, _: &str) -> bool {
            match *self {}
        }
    }
}
