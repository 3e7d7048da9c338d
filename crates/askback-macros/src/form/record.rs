use std::collections::HashSet;

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    DataStruct, DeriveInput, Error, Expr, ExprLit, Fields, GenericArgument, Ident, Lit, LitStr,
    PathArguments, Result, Type, ext::IdentExt, spanned::Spanned,
};

use super::{
    FormFiller,
    attributes::{self, Constraint, Container},
    setter,
};
use crate::doc::doc_comment;

struct Field<'a> {
    ident: &'a Ident,
    ty: &'a Type,
    name: String,
    handle: Ident,
    description: Option<String>,
    attributes: attributes::Field,
}

pub(super) fn derive(
    input: &DeriveInput,
    data: &DataStruct,
    container: &Container,
    by: FormFiller,
) -> Result<TokenStream> {
    if let Some(span) = container.enum_names {
        return Err(Error::new(span, "`enum_names` is for enums and for fields"));
    }
    if let Fields::Unnamed(fields) = &data.fields {
        let message = "a form has named fields: a person is asked for each by its name";
        return Err(Error::new_spanned(fields, message));
    }
    let fields = read_fields(&data.fields, container)?;
    let forms = container.forms();
    let ident = &input.ident;
    let (key, message) = (container.key(input), container.message(input));
    let declarations = fields.iter().map(|field| field.declaration(&forms, by));
    let schema = schema(&fields, &forms);
    let read = read(&fields, &forms);
    let put = fields.iter().map(|field| {
        let Field { ident, handle, .. } = field;
        quote!(#handle.put(&self.#ident, &mut content);)
    });
    Ok(quote! {
        const _: () = {
            #(#declarations)*

            #[automatically_derived]
            impl #forms::Form for #ident {
                const KEY: &'static str = #key;
                #message

                fn schema() -> #forms::SharedForm {
                    #schema
                }

                fn read(
                    content: &#forms::Content,
                ) -> ::core::result::Result<Self, #forms::Issues> {
                    #read
                }

                #[allow(unused_mut)]
                fn write(&self) -> #forms::Content {
                    let mut content = #forms::Content::new();
                    #(#put)*
                    content
                }
            }
        };
    })
}

impl Field<'_> {
    /// Returns the field's constant, and assertions about its attributes.
    fn declaration(&self, forms: &TokenStream, by: FormFiller) -> TokenStream {
        let Self {
            ty, name, handle, ..
        } = self;
        let constraints = self.attributes.constraints.iter().map(|constraint| {
            let Constraint {
                name: attribute,
                span,
                sorts,
                refusal,
                ..
            } = constraint;
            let message = format!("field `{name}`: `{attribute}` {refusal}");
            let sorts = sorts.iter().map(|sort| format_ident!("{sort}"));
            quote_spanned! {*span=>
                const _: () = ::core::assert!(
                    ::core::matches!(#handle.sort, #(#forms::Sort::#sorts)|*),
                    #message,
                );
            }
        });
        let secret = (by == FormFiller::Person).then(|| self.secret_check(forms));
        let secret = secret.flatten();
        quote! {
            const #handle: #forms::derive::DerivedField<#ty> = #forms::derive::field::<#ty>(#name);
            #(#constraints)*
            #secret
        }
    }

    /// Returns a compile-time check that the field does not ask the user for a secret (2026-07-28, client/elicitation,
    /// User Interaction Model).
    fn secret_check(&self, forms: &TokenStream) -> Option<TokenStream> {
        let Self {
            ident,
            name,
            handle,
            description,
            attributes,
            ..
        } = self;
        let mut constraints = attributes.constraints.iter();
        // A text with a format is also checked when the server is built.
        if constraints.any(|constraint| ["not_secret", "format"].contains(&constraint.name)) {
            return None;
        }
        let title = attributes.title.as_ref().map(LitStr::value);
        let (title, description) = (title.unwrap_or_default(), description.as_deref());
        let description = description.unwrap_or_default();
        let message = format!(
            "field `{name}` seems to ask a person for a secret, which a form must not do: ask for it on a page \
             of yours with `ctx.elicit_url`, or mark it `#[form(not_secret)]` if it is no secret or no person \
             is asked for it"
        );
        Some(quote_spanned! {ident.span()=>
            const _: () = ::core::assert!(
                !#forms::derive::is_secret(&#handle, #title, #description),
                #message,
            );
        })
    }

    fn schema(&self, forms: &TokenStream) -> TokenStream {
        let handle = &self.handle;
        let title = self.attributes.title.as_ref().map(|title| title.value());
        let title = setter("title", title.as_deref());
        let description = setter("description", self.description.as_deref());
        let constraints = self.attributes.constraints.iter().map(|constraint| {
            let Constraint {
                name, span, value, ..
            } = constraint;
            let setter = Ident::new(name, *span);
            if *name == "format" {
                quote!(.#setter(#forms::TextFormat::#value))
            } else {
                quote!(.#setter(#value))
            }
        });
        let default = self
            .default(forms)
            .map(|default| quote!(.default(&#default)));
        quote!(#handle.schema() #title #description #(#constraints)* #default .build())
    }

    fn default(&self, forms: &TokenStream) -> Option<TokenStream> {
        let ty = self.ty;
        let default = self.attributes.default.as_ref()?;
        Some(match default {
            // Allows `default = "Rome"` for a `String`.
            Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) => {
                quote_spanned!(text.span()=> <#ty as #forms::derive::FromLiteral>::from_literal(#text))
            }
            _ => quote_spanned!(default.span()=> { let default: #ty = #default; default }),
        })
    }
}

fn read_fields<'a>(fields: &'a Fields, container: &Container) -> Result<Vec<Field<'a>>> {
    let mut names = HashSet::new();
    let mut read = Vec::with_capacity(fields.len());
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        let attributes = attributes::Field::read(&field.attrs)?;
        let own_name = ident.unraw().to_string();
        let name = match (&attributes.rename, container.rename_all) {
            (Some(name), _) => name.value(),
            (None, Some(case)) => case.write(&own_name),
            (None, None) => own_name,
        };
        if let Some(refused) = refusal(&field.ty) {
            return Err(Error::new_spanned(
                &field.ty,
                format!("field `{name}`: {}", refused.of_field()),
            ));
        }
        if !names.insert(name.clone()) {
            return Err(Error::new_spanned(
                ident,
                format!("field `{name}` is asked twice"),
            ));
        }
        if let Some(default) = &attributes.default
            && is_named(&field.ty, "Option")
        {
            let message = format!(
                "field `{name}`: an `Option` with a default would never be `None`; leave out the `Option`"
            );
            return Err(Error::new_spanned(default, message));
        }
        let description = match &attributes.description {
            Some(description) => Some(description.value()),
            None => doc_comment(&field.attrs),
        };
        read.push(Field {
            ident,
            ty: &field.ty,
            name,
            handle: format_ident!("FIELD_{}", read.len()),
            description,
            attributes,
        });
    }
    Ok(read)
}

/// Returns the body of `schema`. The schema is created once, unless it contains a function call that may return another
/// value next time.
fn schema(fields: &[Field<'_>], forms: &TokenStream) -> TokenStream {
    let schemas: Vec<_> = fields.iter().map(|field| field.schema(forms)).collect();
    let varies = |field: &Field<'_>| {
        let attributes = &field.attributes;
        let constraints = attributes.constraints.iter();
        let mut values: Vec<_> = constraints.map(|c| c.value.clone()).collect();
        values.extend(attributes.default.as_ref().map(ToTokens::to_token_stream));
        values.into_iter().any(calls)
    };
    if fields.iter().any(varies) {
        return quote!(#forms::derive::form([#(#schemas),*]));
    }
    super::once(forms, &quote!(#forms::derive::form_once([#(#schemas),*])))
}

/// Whether an expression may contain a call: it has parentheses.
fn calls(expression: TokenStream) -> bool {
    expression.into_iter().any(|token| match token {
        TokenTree::Group(group) => {
            group.delimiter() == Delimiter::Parenthesis || calls(group.stream())
        }
        _ => false,
    })
}

/// Generates the code that reads a form. It reads every field before it returns errors, so that all
/// errors are reported.
fn read(fields: &[Field<'_>], forms: &TokenStream) -> TokenStream {
    if fields.is_empty() {
        return quote! {
            let _ = content;
            ::core::result::Result::Ok(Self {})
        };
    }
    let values: Vec<_> = (0..fields.len())
        .map(|index| Ident::new(&format!("field_{index}"), Span::mixed_site()))
        .collect();
    let idents = fields.iter().map(|field| field.ident);
    let reads = fields.iter().map(|field| {
        let handle = &field.handle;
        match field.default(forms) {
            Some(default) => quote!(reader.field_or(&#handle, || #default)),
            None => quote!(reader.field(&#handle)),
        }
    });
    quote! {
        let mut reader = #forms::derive::Reader::new(content);
        #(let #values = #reads;)*
        match (#(#values,)*) {
            (#(::core::option::Option::Some(#values),)*) => {
                ::core::result::Result::Ok(Self { #(#idents: #values),* })
            }
            _ => ::core::result::Result::Err(reader.into_issues()),
        }
    }
}

/// Whether the type's name says that serde and schemars can read it but a form cannot represent it: a list of free
/// values, a map, a set, a tuple, a path.
pub(crate) fn is_nested(ty: &Type) -> bool {
    if matches!(refusal(ty), Some(Refusal::Kind(..))) {
        return true;
    }
    let Type::Path(path) = ty else { return false };
    let Some(last) = path.path.segments.last() else {
        return false;
    };
    let holds = last.ident == "Option" || last.ident == "Vec";
    last.ident == "PathBuf" || holds && first_argument(&last.arguments).is_some_and(is_nested)
}

/// Whether the type's name says that it is a field type, or that it is refused.
pub(crate) fn is_field(ty: &Type) -> bool {
    is_plain(ty) || is_named(ty, "Option") || is_named(ty, "Vec") || refusal(ty).is_some()
}

/// Why a type cannot be a field type, judged by its name. The trait reports this for all other types, but cannot name
/// the field.
pub(crate) enum Refusal {
    /// Forms do not support this kind. The second value is the alternative, if any.
    Kind(&'static str, Option<&'static str>),
    Use(&'static str),
}

const LISTS: &str = "a list is a `Vec` of an enum that derives `Form`";

impl Refusal {
    pub(crate) fn of_field(&self) -> String {
        match self {
            Self::Kind(kind, Some(instead)) => {
                format!("{kind} cannot be asked in a form; {instead}")
            }
            Self::Kind(kind, None) => format!("{kind} cannot be asked in a form"),
            Self::Use(other) => (*other).to_owned(),
        }
    }

    pub(crate) fn of_argument(&self) -> String {
        match self {
            Self::Kind(kind, _) => format!("{kind} cannot be an argument of a prompt or resource"),
            Self::Use(other) => (*other).to_owned(),
        }
    }
}

pub(crate) fn refusal(ty: &Type) -> Option<Refusal> {
    match ty {
        Type::Tuple(_) => Some(Refusal::Kind("a tuple", None)),
        Type::Array(_) | Type::Slice(_) => Some(Refusal::Kind("an array", Some(LISTS))),
        Type::Reference(_) => Some(Refusal::Use(
            "a form owns what it was answered; use `String` for a text",
        )),
        Type::Paren(inner) => refusal(&inner.elem),
        Type::Group(inner) => refusal(&inner.elem),
        Type::Path(path) => {
            let last = path.path.segments.last()?;
            match (
                last.ident.to_string().as_str(),
                first_argument(&last.arguments),
            ) {
                ("Option", Some(inner)) => refusal(inner),
                ("Vec", Some(inner)) if is_plain(inner) => {
                    Some(Refusal::Kind("a list of free values", Some(LISTS)))
                }
                ("HashMap" | "BTreeMap" | "IndexMap" | "Map", _) => {
                    Some(Refusal::Kind("a map", None))
                }
                ("HashSet" | "BTreeSet" | "IndexSet", _) => {
                    Some(Refusal::Kind("a set", Some(LISTS)))
                }
                ("usize" | "isize" | "u128" | "i128", None) => Some(Refusal::Use(
                    "the size of a number in a form is the same everywhere; use `u64` or `i64`",
                )),
                ("char" | "str", None) => Some(Refusal::Use("use `String` for a text")),
                _ => None,
            }
        }
        _ => None,
    }
}

fn first_argument(arguments: &PathArguments) -> Option<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else {
        return None;
    };
    arguments.args.iter().find_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    })
}

fn is_plain(ty: &Type) -> bool {
    const PLAIN: [&str; 14] = [
        "String",
        "bool",
        "i8",
        "i16",
        "i32",
        "i64",
        "u8",
        "u16",
        "u32",
        "u64",
        "f32",
        "f64",
        "Date",
        "Timestamp",
    ];
    PLAIN.iter().any(|plain| is_named(ty, plain))
}

pub(crate) fn is_named(ty: &Type, name: &str) -> bool {
    let Type::Path(path) = ty else { return false };
    let last = path.path.segments.last();
    last.is_some_and(|last| last.ident == name)
}
