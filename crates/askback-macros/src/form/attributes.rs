//! The `#[form(...)]` attributes, parsed and checked as far as tokens allow.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, format_ident, quote};
use syn::{
    Attribute, DeriveInput, Error, Expr, ExprLit, ExprUnary, Lit, LitInt, LitStr, Path, Result,
    UnOp, ext::IdentExt, meta::ParseNestedMeta, parse_quote, spanned::Spanned,
};

use crate::{
    case::Case,
    doc::doc_comment,
    meta::{named, once, text, twice, unknown},
};

#[derive(Default)]
pub(super) struct Container {
    krate: Option<Path>,
    key: Option<LitStr>,
    message: Option<LitStr>,
    pub(super) rename_all: Option<Case>,
    pub(super) enum_names: Option<Span>,
}

#[derive(Default)]
pub(crate) struct Field {
    pub(crate) title: Option<LitStr>,
    pub(crate) description: Option<LitStr>,
    pub(crate) rename: Option<LitStr>,
    pub(crate) default: Option<Expr>,
    pub(crate) constraints: Vec<Constraint>,
}

#[derive(Default)]
pub(super) struct Variant {
    pub(super) title: Option<LitStr>,
    pub(super) rename: Option<LitStr>,
}

/// An attribute for certain kinds of fields. The kind depends on the type, which a macro cannot see, so the generated
/// code has an assertion for the compiler.
pub(crate) struct Constraint {
    pub(crate) name: &'static str,
    pub(crate) span: Span,
    pub(super) value: TokenStream,
    pub(super) sorts: &'static [&'static str],
    pub(super) refusal: &'static str,
}

impl Container {
    pub(super) fn read(input: &DeriveInput) -> Result<Self> {
        let mut container = Self::default();
        let Self {
            krate,
            key,
            message,
            rename_all,
            enum_names,
        } = &mut container;
        each(&input.attrs, |name, meta| match name {
            "crate" => once(krate, &meta, text(&meta)?.parse()?),
            "key" => once(key, &meta, named(&meta)?),
            "message" => once(message, &meta, text(&meta)?),
            "rename_all" => once(rename_all, &meta, case(&meta)?),
            "enum_names" => once(enum_names, &meta, meta.path.span()),
            _ => Err(unknown(
                &meta,
                "`key`, `message`, `rename_all`, `enum_names` and `crate`",
            )),
        })?;
        Ok(container)
    }

    /// Returns the key of the question: the given key, or else one from the type's name.
    pub(super) fn key(&self, input: &DeriveInput) -> String {
        match &self.key {
            Some(key) => key.value(),
            None => Case::Snake.write(&input.ident.unraw().to_string()),
        }
    }

    pub(super) fn message(&self, input: &DeriveInput) -> Option<TokenStream> {
        let message = match &self.message {
            Some(message) => Some(message.value()),
            None => doc_comment(&input.attrs),
        };
        message.map(|message| quote!(const MESSAGE: &'static str = #message;))
    }

    /// Returns the path of askback's forms for the generated code.
    pub(super) fn forms(&self) -> TokenStream {
        match &self.krate {
            Some(krate) => quote!(#krate::__private::forms),
            None => quote!(::askback::__private::forms),
        }
    }
}

impl Field {
    pub(crate) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut field = Self::default();
        each(attributes, |name, meta| match name {
            "title" => once(&mut field.title, &meta, text(&meta)?),
            "description" => once(&mut field.description, &meta, text(&meta)?),
            "rename" => once(&mut field.rename, &meta, named(&meta)?),
            "default" => once(&mut field.default, &meta, meta.value()?.parse()?),
            _ => match Constraint::read(name, &meta)? {
                Some(new) if field.constraints.iter().any(|c| c.name == new.name) => {
                    Err(twice(&meta))
                }
                Some(new) => {
                    field.constraints.push(new);
                    Ok(())
                }
                None => Err(unknown(
                    &meta,
                    "`title`, `description`, `rename`, `default`, `min`, `max`, `min_length`, \
                     `max_length`, `pattern`, `format`, `min_items`, `max_items`, `enum_names` and \
                     `not_secret`",
                )),
            },
        })?;
        Ok(field)
    }
}

impl Variant {
    pub(super) fn read(attributes: &[Attribute]) -> Result<Self> {
        let mut variant = Self::default();
        each(attributes, |name, meta| match name {
            "title" => once(&mut variant.title, &meta, text(&meta)?),
            "rename" => once(&mut variant.rename, &meta, named(&meta)?),
            _ => Err(unknown(&meta, "`title` and `rename`")),
        })?;
        Ok(variant)
    }
}

impl Constraint {
    fn read(name: &str, meta: &ParseNestedMeta<'_>) -> Result<Option<Self>> {
        const NUMBERS: (&[&str], &str) = (&["Integer", "Number"], "is for numbers");
        const TEXTS: (&[&str], &str) = (&["Text"], "is for a `String`");
        const LISTS: (&[&str], &str) = (&["Choices"], "is for a `Vec` of options");
        const CHOICES: (&[&str], &str) = (&["Choice"], "is for a choice of one");
        const TYPED: (&[&str], &str) = (&["Text", "Integer", "Number"], "is for what is typed");
        let (name, value, (sorts, refusal)) = match name {
            "min" | "max" => {
                let bound: Expr = meta.value()?.parse()?;
                let suits = if is_float(&bound) {
                    (&["Number"][..], "of a whole number must be whole")
                } else {
                    NUMBERS
                };
                let name = if name == "min" { "min" } else { "max" };
                (name, wide(bound).into_token_stream(), suits)
            }
            "min_length" => ("min_length", expression(meta)?, TEXTS),
            "max_length" => ("max_length", expression(meta)?, TEXTS),
            "pattern" => ("pattern", text(meta)?.into_token_stream(), TEXTS),
            "format" => ("format", format(meta)?, TEXTS),
            "min_items" => ("min_items", expression(meta)?, LISTS),
            "max_items" => ("max_items", expression(meta)?, LISTS),
            "enum_names" => ("enum_names", TokenStream::new(), CHOICES),
            "not_secret" => ("not_secret", TokenStream::new(), TYPED),
            _ => return Ok(None),
        };
        Ok(Some(Self {
            name,
            span: meta.path.span(),
            value,
            sorts,
            refusal,
        }))
    }
}

fn each(
    attributes: &[Attribute],
    mut read: impl FnMut(&str, ParseNestedMeta<'_>) -> Result<()>,
) -> Result<()> {
    for attribute in attributes {
        if attribute.path().is_ident("form") {
            attribute.parse_nested_meta(|meta| {
                let name = meta.path.get_ident().map(ToString::to_string);
                read(&name.unwrap_or_default(), meta)
            })?;
        }
    }
    Ok(())
}

fn expression(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    let expression: Expr = meta.value()?.parse()?;
    Ok(expression.into_token_stream())
}

fn case(meta: &ParseNestedMeta<'_>) -> Result<Case> {
    one_of(meta, "case", &Case::NAMES)
}

/// The formats with the names of their `TextFormat` variants.
const FORMATS: [(&str, &str); 4] = [
    ("email", "Email"),
    ("uri", "Uri"),
    ("date", "Date"),
    ("date-time", "DateTime"),
];

fn format(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    let variant = format_ident!("{}", one_of(meta, "format", &FORMATS)?);
    Ok(variant.into_token_stream())
}

fn one_of<T: Copy>(meta: &ParseNestedMeta<'_>, what: &str, known: &[(&str, T)]) -> Result<T> {
    let wanted = text(meta)?;
    match known.iter().find(|(name, _)| *name == wanted.value()) {
        Some((_, value)) => Ok(*value),
        None => {
            let names: Vec<_> = known.iter().map(|(name, _)| format!("`{name}`")).collect();
            let message = format!("there is no such {what}; there are {}", names.join(", "));
            Err(Error::new_spanned(wanted, message))
        }
    }
}

fn is_float(bound: &Expr) -> bool {
    match bound {
        Expr::Lit(ExprLit { lit, .. }) => matches!(lit, Lit::Float(_)),
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(_),
            expr,
            ..
        }) => is_float(expr),
        _ => false,
    }
}

/// Adds a wide type to an integer literal, which would otherwise be an `i32`.
fn wide(bound: Expr) -> Expr {
    let widened = |literal: &LitInt, suffix| -> Expr {
        let literal = LitInt::new(
            &format!("{}{suffix}", literal.base10_digits()),
            literal.span(),
        );
        parse_quote!(#literal)
    };
    match &bound {
        Expr::Lit(ExprLit {
            lit: Lit::Int(literal),
            ..
        }) if literal.suffix().is_empty() => widened(literal, "u64"),
        Expr::Unary(ExprUnary {
            op: UnOp::Neg(minus),
            expr,
            ..
        }) => match &**expr {
            Expr::Lit(ExprLit {
                lit: Lit::Int(literal),
                ..
            }) if literal.suffix().is_empty() => {
                let literal = widened(literal, "i64");
                parse_quote!(#minus #literal)
            }
            _ => bound,
        },
        _ => bound,
    }
}
