//! Forms: what a server may ask a person to fill in.
//!
//! A form is one thing seen four ways: a derive gives the schema, the schema is checked before it
//! is asked, an answer is checked before it is sent and again when it arrives, and the words of
//! those checks are what every front end shows.

mod check;
#[doc(hidden)]
pub mod derive;
mod dialect;
mod format;
mod issue;
mod lint;
mod number;
mod pattern;
mod read;
mod schema;
mod secret;
mod text;
mod typed;
mod words;
mod write;

pub use jiff::{Timestamp, civil::Date};

pub use dialect::{Defaults, Dialect, Lowered, lower};
pub use issue::{Issue, Issues};
pub use read::SchemaError;
pub use schema::{
    BooleanField, ChoiceField, ChoicesField, Content, Field, FieldKind, FormSchema, NumberField,
    Opt, TextField, TextFormat,
};
pub use typed::{Form, FormChoice, FormField, Sort};
