//! The common arguments of the attributes, parsed and checked as far as tokens allow.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Error, Expr, LitBool, LitStr, Path, Result, Token, ext::IdentExt, meta::ParseNestedMeta,
};

use super::function::Function;
use crate::meta::{named, once, text};

#[derive(Default)]
pub(super) struct CommonArguments {
    krate: Option<Path>,
    name: Option<LitStr>,
    title: Option<LitStr>,
    description: Option<LitStr>,
}

#[derive(Default)]
pub(super) struct Completers(Vec<Completer>);

struct Completer {
    argument: LitStr,
    function: Expr,
}

impl CommonArguments {
    /// Returns whether the item was one of these.
    pub(super) fn read(&mut self, item: &str, meta: &ParseNestedMeta<'_>) -> Result<bool> {
        match item {
            "crate" => once(&mut self.krate, meta, text(meta)?.parse()?)?,
            "name" => once(&mut self.name, meta, named(meta)?)?,
            "title" => once(&mut self.title, meta, text(meta)?)?,
            "description" => once(&mut self.description, meta, text(meta)?)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the path of askback for the generated code.
    pub(super) fn krate(&self) -> TokenStream {
        match &self.krate {
            Some(krate) => quote!(#krate),
            None => quote!(::askback),
        }
    }

    /// Returns the given name, or else the function's name.
    pub(super) fn name(&self, function: &Function) -> LitStr {
        let ident = function.ident();
        let own = || LitStr::new(&ident.unraw().to_string(), ident.span());
        self.name.clone().unwrap_or_else(own)
    }

    pub(super) fn setters(&self, function: &Function) -> TokenStream {
        let title = self.title.as_ref().map(|title| quote!(.title(#title)));
        let description = match &self.description {
            Some(description) => Some(description.value()),
            None => function.doc(),
        };
        let description = description.map(|description| quote!(.description(#description)));
        quote!(#title #description)
    }
}

impl Completers {
    pub(super) fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        meta.parse_nested_meta(|inner| {
            let Some(argument) = inner.path.get_ident() else {
                return Err(inner.error("an argument has a plain name"));
            };
            let name = argument.unraw().to_string();
            if self.0.iter().any(|known| known.argument.value() == name) {
                return Err(inner.error(format!("`{name}` is completed twice")));
            }
            let argument = LitStr::new(&name, argument.span());
            let function = inner.value()?.parse()?;
            self.0.push(Completer { argument, function });
            Ok(())
        })
    }

    /// Returns an error if an argument is not a variable of the URI.
    pub(super) fn check(&self, uri: &LitStr, variables: &[&str]) -> Result<()> {
        let mut arguments = self.0.iter().map(|completer| &completer.argument);
        match arguments.find(|argument| !variables.contains(&argument.value().as_str())) {
            Some(argument) => Err(Error::new_spanned(
                argument,
                format!("`{}` has no variable `{}`", uri.value(), argument.value()),
            )),
            None => Ok(()),
        }
    }

    pub(super) fn setters(&self) -> TokenStream {
        let calls = self.0.iter().map(|completer| {
            let Completer { argument, function } = completer;
            quote!(.complete(#argument, #function))
        });
        quote!(#(#calls)*)
    }
}

/// Reads a flag: `name` or `name = bool`.
pub(super) fn flag(meta: &ParseNestedMeta<'_>) -> Result<bool> {
    if meta.input.peek(Token![=]) {
        let value: LitBool = meta.value()?.parse()?;
        return Ok(value.value);
    }
    Ok(true)
}
