//! Forms: what a server may ask a person to fill in.
//!
//! A form is one thing seen four ways: a derive gives the schema, the schema is checked before it
//! is asked, an answer is checked before it is sent and again when it arrives, and the words of
//! those checks are what every front end shows.

mod number;
mod read;
mod schema;
mod write;

pub use read::SchemaError;
pub use schema::{
    BooleanField, ChoiceField, ChoicesField, Content, Field, FieldKind, FormSchema, NumberField,
    Opt, TextField, TextFormat,
};
