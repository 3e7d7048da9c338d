use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Attribute, DeriveInput, Error, Ident, LitStr, Meta, MetaList, Pat, PatType, Result, Type,
    ext::IdentExt, parse_quote, parse_quote_spanned, spanned::Spanned,
};

use crate::{doc::doc_comment, form};

pub(super) enum Parameter {
    Extracted {
        ty: Type,
        message: Option<LitStr>,
    },
    /// An argument that is a field of the form.
    Argument {
        ident: Ident,
        ty: Type,
        attributes: Vec<Attribute>,
    },
    /// An argument that a form cannot represent, read with serde.
    Nested {
        ident: Ident,
        ty: Type,
        /// The name that clients use.
        name: String,
        title: Option<String>,
        description: Option<String>,
    },
}

/// The names of types that are extracted from the call.
const EXTRACTED: [&str; 6] = ["Ctx", "Json", "PlainJson", "Ask", "State", "Extension"];

impl Parameter {
    /// Reads a parameter and removes the attributes for the macro; `what` says what the function becomes, such as "a
    /// tool".
    pub(super) fn read(input: &mut PatType, name: &Ident, what: &str) -> Result<Self> {
        check_type(&input.ty, name, what)?;
        let ty = (*input.ty).clone();
        let message = take_message(&mut input.attrs, name)?;
        let attributes = take_argument(&mut input.attrs)?;
        let is_argument = match &attributes {
            Some(said) => {
                refuse_said(said, &ty, message.is_some())?;
                true
            }
            None => message.is_none() && (form::is_field(&ty) || form::is_nested(&ty)),
        };
        if !is_argument {
            return Ok(Self::Extracted { ty, message });
        }
        let is_json = attributes.as_ref().is_some_and(|said| said.is_json);
        let is_nested = what == "a tool" && (is_json || form::is_nested(&ty));
        if !is_nested && let Some(refused) = form::refusal(&ty) {
            let argument = input.pat.to_token_stream();
            let message = format!("argument `{argument}`: {}", refused.of_argument());
            return Err(Error::new_spanned(ty, message));
        }
        let attributes = attributes.map_or_else(Vec::new, |said| said.attributes);
        let ident = match &*input.pat {
            Pat::Ident(pat) if pat.subpat.is_none() && pat.by_ref.is_none() => pat.ident.clone(),
            pat => {
                let message =
                    format!("`{name}`: an argument has a plain name, under which clients give it");
                return Err(Error::new_spanned(pat, message));
            }
        };
        if is_nested {
            return Self::nested(ident, ty, &attributes);
        }
        Ok(Self::Argument {
            ident,
            ty,
            attributes,
        })
    }

    fn nested(ident: Ident, ty: Type, attributes: &[Attribute]) -> Result<Self> {
        let read = form::FieldAttributes::read(attributes)?;
        let refused = read.constraints.first().map(|constraint| constraint.span);
        let refused = refused.or(read.default.map(|default| default.span()));
        if let Some(span) = refused {
            let message = format!(
                "argument `{ident}`: what serde reads takes `title`, `description` and `rename`; set bounds and defaults \
                 in a struct that derives `JsonSchema`, or check in the function"
            );
            return Err(Error::new(span, message));
        }
        let text = |given: Option<LitStr>| given.map(|text| text.value());
        Ok(Self::Nested {
            name: text(read.rename).unwrap_or_else(|| ident.unraw().to_string()),
            title: text(read.title),
            description: text(read.description).or_else(|| doc_comment(attributes)),
            ident,
            ty,
        })
    }
}

struct ArgumentAttributes {
    /// The parameter's attributes, as attributes of a form field.
    attributes: Vec<Attribute>,
    /// One of them, as the location of errors.
    at: TokenStream,
    is_json: bool,
}

fn take_argument(attributes: &mut Vec<Attribute>) -> Result<Option<ArgumentAttributes>> {
    let is_said = |attribute: &Attribute| {
        attribute.path().is_ident("arg") || attribute.path().is_ident("doc")
    };
    let all = std::mem::take(attributes).into_iter();
    let (said, others): (Vec<_>, Vec<_>) = all.partition(is_said);
    *attributes = others;
    let Some(at) = said.first().map(ToTokens::to_token_stream) else {
        return Ok(None);
    };
    let mut fields = Vec::with_capacity(said.len());
    let mut is_json = false;
    for mut attribute in said {
        let span = attribute.path().span();
        match &mut attribute.meta {
            Meta::Path(_) => continue,
            Meta::List(list) => {
                is_json |= take_json(list);
                list.path = parse_quote_spanned!(span=> form);
            }
            Meta::NameValue(value) if value.path.is_ident("doc") => {}
            Meta::NameValue(_) => {
                let message = "what is said of an argument is a list: `#[arg(min = 1)]`";
                return Err(Error::new_spanned(attribute, message));
            }
        }
        fields.push(attribute);
    }
    Ok(Some(ArgumentAttributes {
        attributes: fields,
        at,
        is_json,
    }))
}

fn take_json(list: &mut MetaList) -> bool {
    let mut tokens = list.tokens.clone().into_iter();
    let is_json = matches!(tokens.next(), Some(TokenTree::Ident(word)) if word == "json");
    match tokens.next() {
        None => {}
        Some(TokenTree::Punct(comma)) if comma.as_char() == ',' => {}
        _ => return false,
    }
    if is_json {
        list.tokens = tokens.collect();
    }
    is_json
}

fn refuse_said(said: &ArgumentAttributes, ty: &Type, is_asked: bool) -> Result<()> {
    if is_asked {
        let message = "a parameter is an argument, or it is asked for: `#[arg]` or `#[ask]`";
        return Err(Error::new_spanned(&said.at, message));
    }
    let Type::Path(path) = ty else { return Ok(()) };
    let last = path.path.segments.last().map(|last| last.ident.to_string());
    match last {
        Some(last) if EXTRACTED.contains(&&*last) => {
            let message = format!(
                "a `{last}` is no argument; `#[arg]` and doc comments are for values such as a \
                 `String`, a number or a choice"
            );
            Err(Error::new_spanned(&said.at, message))
        }
        _ => Ok(()),
    }
}

/// Returns the form with the arguments as fields, and its checks; `None` if there are no arguments.
pub(super) fn gathered(
    parameters: &[Parameter],
    krate: &TokenStream,
) -> Result<Option<TokenStream>> {
    let fields: Vec<_> = parameters
        .iter()
        .filter_map(|parameter| match parameter {
            Parameter::Argument {
                ident,
                ty,
                attributes,
            } => Some(quote!(#(#attributes)* #ident: #ty)),
            _ => None,
        })
        .collect();
    let nested = nested(parameters, krate);
    if fields.is_empty() && nested.is_none() {
        return Ok(None);
    }
    let name = form_name();
    let krate_path = krate.to_string();
    let input: DeriveInput = parse_quote! {
        #[form(crate = #krate_path)]
        struct #name { #(#fields),* }
    };
    let derived = form::derive(&input, form::FormFiller::Model)?;
    let fields = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Argument { ident, ty, .. } => Some(quote!(#ident: #ty)),
        _ => None,
    });
    let alone = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Extracted { ty, message: None } => Some(quote_spanned! {ty.span()=>
            const _: () = {
                use #krate::__private::NoForm as _;
                ::core::assert!(
                    !#krate::__private::Probe::<#ty>::IS_FORM,
                    "a form takes all arguments: move the others into it, or its fields out of it",
                );
            };
        }),
        _ => None,
    });
    Ok(Some(quote! {
        struct #name { #(#fields),* }
        #derived
        #nested
        #(#alone)*
    }))
}

/// Returns the struct of the arguments that are read with serde, and its implementation. `None` without such arguments.
fn nested(parameters: &[Parameter], krate: &TokenStream) -> Option<TokenStream> {
    let mut fields = Vec::new();
    let mut described = Vec::new();
    let mut read = Vec::new();
    for parameter in parameters {
        let Parameter::Nested {
            ident,
            ty,
            name,
            title,
            description,
        } = parameter
        else {
            continue;
        };
        let is_required = !form::is_named(ty, "Option");
        let [title, description] = [title, description].map(|text| match text {
            Some(text) => quote!(::core::option::Option::Some(#text)),
            None => quote!(::core::option::Option::None),
        });
        fields.push(quote!(#ident: #ty));
        described.push(quote_spanned! {ty.span()=>
            schema.property::<#ty>(#name, #title, #description, #is_required);
        });
        read.push(quote!(#ident: arguments.take(#name)?));
    }
    let name = nested_name();
    (!fields.is_empty()).then(|| {
        quote! {
            struct #name { #(#fields),* }

            impl #krate::__private::NestedArguments for #name {
                fn describe(schema: &mut #krate::__private::ObjectSchema) {
                    #(#described)*
                }

                fn read(arguments: &mut #krate::__private::ArgumentReader) -> #krate::Result<Self> {
                    ::core::result::Result::Ok(Self { #(#read),* })
                }
            }
        }
    })
}

pub(super) fn nested_name() -> Ident {
    format_ident!("__Nested")
}

/// Returns the name of the arguments' form. The form is in its own function, next to types of the author.
pub(super) fn form_name() -> Ident {
    format_ident!("__Arguments")
}

/// Rejects types that cannot be created for each call.
fn check_type(ty: &Type, name: &Ident, what: &str) -> Result<()> {
    let why = match ty {
        Type::Reference(reference) if is_str(&reference.elem) => {
            "owns its parameters: use `String` for a text"
        }
        Type::Reference(_) => "owns its parameters: leave out the `&`",
        Type::ImplTrait(_) => "cannot be generic: name the type of the parameter",
        _ => return Ok(()),
    };
    Err(Error::new_spanned(ty, format!("`{name}`: {what} {why}")))
}

fn is_str(ty: &Type) -> bool {
    matches!(ty, Type::Path(path) if path.path.is_ident("str"))
}

fn take_message(attributes: &mut Vec<Attribute>, name: &Ident) -> Result<Option<LitStr>> {
    let all = std::mem::take(attributes).into_iter();
    let (asks, others): (Vec<_>, _) = all.partition(|attribute| attribute.path().is_ident("ask"));
    *attributes = others;
    let refuse = |at: &Attribute, why: &str| Error::new_spanned(at, format!("`{name}`: {why}"));
    match asks.as_slice() {
        [] => Ok(None),
        [ask] => ask.parse_args().map(Some).map_err(|_| {
            refuse(
                ask,
                "the message is a text: `#[ask(\"Who is travelling?\")]`",
            )
        }),
        [_, again, ..] => Err(refuse(again, "a parameter is asked for once")),
    }
}
