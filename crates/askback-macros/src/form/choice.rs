use std::collections::HashSet;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{DataEnum, DeriveInput, Error, Fields, Ident, Result, ext::IdentExt};

use super::attributes::{self, Container};
use crate::case::{self, Case};

struct Opt<'a> {
    ident: &'a Ident,
    value: String,
    title: Option<String>,
}

pub(super) fn derive(
    input: &DeriveInput,
    data: &DataEnum,
    container: &Container,
) -> Result<TokenStream> {
    let options = read_options(input, data, container)?;
    let forms = container.forms();
    let ident = &input.ident;
    let (key, message) = (container.key(input), container.message(input));
    let enum_names = container.enum_names.is_some();
    let variants: Vec<_> = options.iter().map(|option| option.ident).collect();
    let values: Vec<_> = options.iter().map(|option| option.value.as_str()).collect();
    let titles = options.iter().map(|option| match &option.title {
        Some(title) => quote!(::core::option::Option::Some(#title)),
        None => quote!(::core::option::Option::None),
    });
    let schema = super::once(&forms, &quote!(#forms::derive::value_form_once::<Self>()));
    Ok(quote! {
        #[automatically_derived]
        impl #forms::FormChoice for #ident {
            const ENUM_NAMES: bool = #enum_names;

            fn options() -> #forms::derive::Vec<#forms::Opt> {
                #forms::derive::options([#((#values, #titles)),*])
            }

            fn value(&self) -> &'static str {
                match self {
                    #(Self::#variants => #values,)*
                }
            }

            fn from_value(value: &str) -> ::core::option::Option<Self> {
                match value {
                    #(#values => ::core::option::Option::Some(Self::#variants),)*
                    _ => ::core::option::Option::None,
                }
            }
        }

        #[automatically_derived]
        impl #forms::FormField for #ident {
            const SORT: #forms::Sort = #forms::Sort::Choice;

            fn kind() -> #forms::FieldKind {
                #forms::derive::choice_kind::<Self>()
            }

            fn read(
                value: ::core::option::Option<&#forms::derive::Value>,
            ) -> ::core::result::Result<Self, #forms::derive::String> {
                #forms::derive::read_choice(value)
            }

            fn write(&self) -> ::core::option::Option<#forms::derive::Value> {
                #forms::derive::write_choice(self)
            }
        }

        #[automatically_derived]
        impl #forms::Elicitable for #ident {
            const KEY: &'static str = #key;
            #message

            fn schema() -> #forms::SharedForm {
                #schema
            }

            fn read(
                content: &#forms::Content,
            ) -> ::core::result::Result<Self, #forms::Issues> {
                #forms::derive::read_value(content)
            }
        }
    })
}

fn read_options<'a>(
    input: &DeriveInput,
    data: &'a DataEnum,
    container: &Container,
) -> Result<Vec<Opt<'a>>> {
    if data.variants.is_empty() {
        return Err(Error::new_spanned(&input.ident, "a choice needs options"));
    }
    let case = container.rename_all.unwrap_or(Case::Snake);
    let mut seen = HashSet::new();
    let mut options = Vec::with_capacity(data.variants.len());
    for variant in &data.variants {
        let ident = &variant.ident;
        if !matches!(variant.fields, Fields::Unit) {
            let message =
                format!("option `{ident}`: an option of a choice has no fields: forms are flat");
            return Err(Error::new_spanned(&variant.fields, message));
        }
        let attributes = attributes::Variant::read(&variant.attrs)?;
        let value = match attributes.rename {
            Some(value) => value.value(),
            None => case.write(&ident.unraw().to_string()),
        };
        if !seen.insert(value.clone()) {
            let message = format!("the option `{value}` is there twice");
            return Err(Error::new_spanned(ident, message));
        }
        let title = attributes.title.map(|title| title.value());
        options.push(Opt {
            ident,
            value,
            title,
        });
    }
    // If one option has a title, the others get titles from their names, because they are displayed together.
    if options.iter().any(|option| option.title.is_some()) {
        for option in &mut options {
            let name = option.ident.unraw().to_string();
            option.title.get_or_insert_with(|| case::sentence(&name));
        }
    }
    Ok(options)
}
