//! Macros of askback: sugar over what can be written by hand.

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

mod case;
mod doc;
mod form;
mod meta;

/// Makes a form of a struct, or a choice of an enum.
///
/// A struct with named fields becomes a form: its fields are asked in order, under their names,
/// with their doc comments as descriptions. A field is a `String`, a number, a `bool`, a `Date`, a
/// `Timestamp`, an enum that derives `Form`, or a `Vec` of such an enum. An `Option` may be left
/// out, and so may a field with a default, which is then read as that; all others are required.
///
/// An enum without fields becomes a choice: its variants are the options, their names in snake
/// case the values.
///
/// # Attributes
///
/// All are written in `#[form(...)]`.
///
/// | on | attribute | meaning |
/// |---|---|---|
/// | struct | `key = "contact"` | the key under which the form is asked; else the type's name in snake case |
/// | struct | `message = "Who is travelling?"` | what is asked where nothing else is said, by an `Ask` parameter; else the struct's doc comment |
/// | struct, enum | `rename_all = "camelCase"` | how names are written |
/// | struct, enum | `crate = "my_askback"` | where askback is, if it goes by another name |
/// | enum, field | `enum_names` | titles are written as `enumNames` |
/// | text, number | `not_secret` | no secret is asked for, although the words look like it |
/// | field, variant | `title = "Full name"` | what a person reads instead of the name |
/// | field, variant | `rename = "fullName"` | the name, or the value |
/// | field | `description = "…"` | instead of the doc comment |
/// | field | `default = 7` | an expression of the field's type |
/// | number | `min = 1`, `max = 30` | bounds |
/// | text | `min_length = 1`, `max_length = 100` | bounds in characters |
/// | text | `pattern = "^[A-Z]+$"` | a regular expression (ECMA-262) |
/// | text | `format = "email"` | one of `email`, `uri`, `date`, `date-time` |
/// | list | `min_items = 1`, `max_items = 2` | bounds |
#[proc_macro_derive(Form, attributes(form))]
pub fn derive_form(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    form::derive(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
