//! `#[derive(Form)]`.

mod attributes;
mod choice;
mod record;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Error, Expr, ExprLit, Lit, Meta, Result};

use self::attributes::Container;

/// The implementation for a struct or an enum.
pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        let message = "a form cannot be generic: what is asked must be known when it is written";
        return Err(Error::new_spanned(&input.generics, message));
    }
    let container = Container::read(input)?;
    match &input.data {
        Data::Struct(data) => record::derive(input, data, &container),
        Data::Enum(data) => choice::derive(input, data, &container),
        Data::Union(_) => Err(Error::new_spanned(&input.ident, "a union cannot be a form")),
    }
}

/// The text of the doc comments: lines joined, paragraphs kept apart.
fn doc_comment(attributes: &[Attribute]) -> Option<String> {
    let mut text = String::new();
    let mut paragraph_ends = false;
    for line in attributes.iter().filter_map(doc_line) {
        let line = line.trim();
        if line.is_empty() {
            paragraph_ends = !text.is_empty();
            continue;
        }
        if paragraph_ends {
            text.push_str("\n\n");
        } else if !text.is_empty() {
            text.push(' ');
        }
        paragraph_ends = false;
        text.push_str(line);
    }
    (!text.is_empty()).then_some(text)
}

fn doc_line(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(meta) = &attribute.meta else {
        return None;
    };
    match &meta.value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(line),
            ..
        }) if meta.path.is_ident("doc") => Some(line.value()),
        _ => None,
    }
}

/// A call of a setter, if there is something to set.
fn setter(name: &str, value: Option<&str>) -> TokenStream {
    let name = quote::format_ident!("{name}");
    match value {
        Some(value) => quote!(.#name(#value)),
        None => TokenStream::new(),
    }
}
