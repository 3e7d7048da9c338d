//! The parameters of the function on which an attribute stands.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Attribute, DeriveInput, Error, Ident, LitStr, Meta, Pat, PatType, Result, Type, parse_quote,
    parse_quote_spanned, spanned::Spanned,
};

use crate::form;

/// The source of a parameter.
pub(super) enum Parameter {
    /// The call, by its type.
    Extracted {
        ty: Type,
        /// The message of its question.
        message: Option<LitStr>,
    },
    /// One argument of the call: a field of the form that describes the arguments.
    Argument {
        ident: Ident,
        ty: Type,
        /// The attributes of the field.
        attributes: Vec<Attribute>,
    },
}

/// The types that are made from the call as a whole, by their names.
const EXTRACTED: [&str; 5] = ["Ctx", "Json", "PlainJson", "Ask", "State"];

impl Parameter {
    /// Reads a parameter and takes from it the attributes that are for the macro; `what` says what
    /// the function is to become, such as "a tool".
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
            None => message.is_none() && form::is_field(&ty),
        };
        if !is_argument {
            return Ok(Self::Extracted { ty, message });
        }
        if let Some(refused) = form::refusal(&ty) {
            let argument = input.pat.to_token_stream();
            let message = format!("argument `{argument}`: {}", refused.of_argument());
            return Err(Error::new_spanned(ty, message));
        }
        let attributes = attributes.map_or_else(Vec::new, |said| said.attributes);
        match &*input.pat {
            Pat::Ident(pat) if pat.subpat.is_none() && pat.by_ref.is_none() => Ok(Self::Argument {
                ident: pat.ident.clone(),
                ty,
                attributes,
            }),
            pat => Err(Error::new_spanned(
                pat,
                format!("`{name}`: an argument has a plain name, under which clients give it"),
            )),
        }
    }
}

/// The attributes of an argument.
struct Said {
    /// As attributes of a field of a form.
    attributes: Vec<Attribute>,
    /// One of them, for messages.
    at: TokenStream,
}

/// Takes `#[arg(…)]` and doc comments from the attributes of a parameter.
fn take_argument(attributes: &mut Vec<Attribute>) -> Result<Option<Said>> {
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
    for mut attribute in said {
        let span = attribute.path().span();
        match &mut attribute.meta {
            Meta::Path(_) => continue,
            Meta::List(list) => list.path = parse_quote_spanned!(span=> form),
            Meta::NameValue(value) if value.path.is_ident("doc") => {}
            Meta::NameValue(_) => {
                let message = "what is said of an argument is a list: `#[arg(min = 1)]`";
                return Err(Error::new_spanned(attribute, message));
            }
        }
        fields.push(attribute);
    }
    Ok(Some(Said {
        attributes: fields,
        at,
    }))
}

/// Refuses to make an argument of what is something else already.
fn refuse_said(said: &Said, ty: &Type, is_asked: bool) -> Result<()> {
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

/// The form that has the arguments as its fields, with the checks that go with it; nothing where
/// no parameter is an argument.
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
            Parameter::Extracted { .. } => None,
        })
        .collect();
    if fields.is_empty() {
        return Ok(None);
    }
    let name = form_name();
    let krate_path = krate.to_string();
    let input: DeriveInput = parse_quote! {
        #[form(crate = #krate_path)]
        struct #name { #(#fields),* }
    };
    let derived = form::derive(&input)?;
    let fields = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::Argument { ident, ty, .. } => Some(quote!(#ident: #ty)),
        Parameter::Extracted { .. } => None,
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
        #(#alone)*
    }))
}

/// The name of the type of that form. It stands in a function of its own, beside types of the
/// author's.
pub(super) fn form_name() -> Ident {
    format_ident!("__Arguments")
}

/// Refuses parameters that cannot be made for each call anew.
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

/// Takes `#[ask("…")]` from the attributes of a parameter.
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
