mod attributes;
mod choice;
mod record;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Result};

use self::attributes::Container;
pub(crate) use self::{
    attributes::Field as FieldAttributes,
    record::{is_field, is_named, is_nested, refusal},
};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormFiller {
    /// The user, if the author asks.
    Person,
    /// The model: the form is the arguments of a handler.
    Model,
}

pub(crate) fn derive(input: &DeriveInput, by: FormFiller) -> Result<TokenStream> {
    if !input.generics.params.is_empty() {
        let message = "a form cannot be generic: what is asked must be known when it is written";
        return Err(Error::new_spanned(&input.generics, message));
    }
    let container = Container::read(input)?;
    match &input.data {
        Data::Struct(data) => record::derive(input, data, &container, by),
        Data::Enum(data) => choice::derive(input, data, &container),
        Data::Union(_) => Err(Error::new_spanned(&input.ident, "a union cannot be a form")),
    }
}

/// Returns an expression that evaluates a form only once.
fn once(forms: &TokenStream, form: &TokenStream) -> TokenStream {
    quote! {
        static FORM: ::std::sync::OnceLock<#forms::SharedForm> = ::std::sync::OnceLock::new();
        ::core::clone::Clone::clone(FORM.get_or_init(|| #form))
    }
}

fn setter(name: &str, value: Option<&str>) -> TokenStream {
    let name = quote::format_ident!("{name}");
    match value {
        Some(value) => quote!(.#name(#value)),
        None => TokenStream::new(),
    }
}
