use proc_macro2::{Group, Span, TokenStream};
use quote::{ToTokens, format_ident, quote, quote_spanned};
use syn::{
    Attribute, Error, FnArg, Ident, Result, ReturnType, Safety, Signature, Type, Visibility,
    ext::IdentExt,
    parse::{Parse, ParseStream},
    spanned::Spanned,
};

use super::parameter::{self, Parameter};
use crate::doc::doc_comment;

const PARAMETERS: usize = 6;

/// A function as written. Its body is not parsed, so that editors can still help while it is being written.
pub(crate) struct ItemFn {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    signature: Signature,
    body: Group,
}

pub(super) struct Function {
    item: ItemFn,
    parameters: Vec<Parameter>,
}

impl Parse for ItemFn {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        Ok(Self {
            attributes: input.call(Attribute::parse_outer)?,
            visibility: input.parse()?,
            signature: input.parse()?,
            body: input.parse()?,
        })
    }
}

impl Function {
    /// Reads the function; `what` says what it becomes, such as "a tool".
    pub(super) fn read(mut item: ItemFn, what: &str) -> Result<Self> {
        check_signature(&item.signature, what)?;
        let name = &item.signature.ident;
        let mut parameters = Vec::with_capacity(item.signature.inputs.len());
        for input in &mut item.signature.inputs {
            let FnArg::Typed(input) = input else {
                let message = format!("`{name}`: {what} is a function of its own, without `self`");
                return Err(Error::new_spanned(input, message));
            };
            parameters.push(Parameter::read(input, name, what)?);
        }
        let (arguments, extracted): (Vec<_>, Vec<_>) = parameters
            .iter()
            .partition(|parameter| !matches!(parameter, Parameter::Extracted { .. }));
        if extracted.len() + usize::from(!arguments.is_empty()) > PARAMETERS {
            let message = format!(
                "`{name}`: {what} has at most {PARAMETERS} parameters; gather its arguments in \
                 one struct that derives `Form`"
            );
            return Err(Error::new_spanned(&item.signature.inputs, message));
        }
        Ok(Self { item, parameters })
    }

    pub(super) fn ident(&self) -> &Ident {
        &self.item.signature.ident
    }

    pub(super) fn doc(&self) -> Option<String> {
        doc_comment(&self.item.attributes)
    }

    /// Generates two items with the function's name: a function that returns a `target`, and a type with the original
    /// function as its method `call`.
    ///
    /// A constant with that name would be simpler, but then no variable in scope could have the same name. The type is
    /// private, so that a module with the same name can contain and re-export the function.
    pub(super) fn expand(
        self,
        krate: &TokenStream,
        target: &TokenStream,
        new: impl FnOnce(TokenStream) -> TokenStream,
    ) -> Result<TokenStream> {
        let form = parameter::gathered(&self.parameters, krate)?;
        let made = new(self.handler(krate));
        let words = self.words(krate);
        let checks = self.checks(krate);
        let ItemFn {
            attributes,
            visibility,
            signature,
            body,
        } = &self.item;
        let mut body_of_target = quote!(#checks #words #form #made);
        if self.has_nested() {
            body_of_target = quote!(#krate::__private::nested! { #body_of_target });
        }
        let are = |name| move |attribute: &&Attribute| attribute.path().is_ident(name);
        // The `cfg` attributes of the function apply to everything generated from it.
        let conditions: Vec<_> = attributes.iter().filter(are("cfg")).collect();
        let docs = attributes.iter().filter(are("doc"));
        let others = attributes
            .iter()
            .filter(|attribute| !are("cfg")(attribute) && !are("doc")(attribute));
        let ident = &signature.ident;
        let call = Signature {
            ident: Ident::new("call", ident.span()),
            ..signature.clone()
        };
        let holder = format!("Holds the function of `{}`.", ident.unraw());
        Ok(quote! {
            #(#conditions)*
            #(#docs)*
            #[must_use]
            #visibility fn #ident() -> #krate::#target {
                #body_of_target
            }

            #(#conditions)*
            #[doc = #holder]
            #[allow(non_camel_case_types)]
            enum #ident {}

            #(#conditions)*
            impl #ident {
                /// The function itself.
                #(#others)*
                #call #body
            }
        })
    }

    /// Wraps the function in a closure, because types alone cannot carry a parameter's message, and because the
    /// arguments are combined in one form. The bounds of the future are checked in one place, so that the compiler only
    /// reports the cause.
    fn handler(&self, krate: &TokenStream) -> TokenStream {
        let ident = self.ident();
        let (form, arguments) = (parameter::form_name(), local("arguments"));
        let mut declared = Vec::new();
        let mut passed = Vec::new();
        let mut has_arguments = false;
        let form_of = if self.has_nested() {
            quote!(#arguments.form)
        } else {
            quote!(#arguments)
        };
        for (at, parameter) in self.parameters.iter().enumerate() {
            let value = local(&format!("parameter_{at}"));
            match parameter {
                Parameter::Argument { ident, .. } => {
                    has_arguments = true;
                    passed.push(quote!(#form_of.#ident));
                }
                Parameter::Nested { ident, .. } => {
                    passed.push(quote!(#arguments.nested.#ident));
                }
                Parameter::Extracted { ty, message: None } => {
                    declared.push(quote!(#value: #ty));
                    passed.push(quote!(#value));
                }
                Parameter::Extracted {
                    ty,
                    message: Some(_),
                } => {
                    let words = words_of(at);
                    declared.push(quote_spanned! {ty.span()=>
                        #value: #krate::__private::AskWithMessage<#words, #ty>
                    });
                    passed.push(quote!(#value.parameter));
                }
            }
        }
        if self.has_nested() {
            let nested = parameter::nested_name();
            declared.push(quote!(#arguments: #krate::__private::CallArguments<#form, #nested>));
        } else if has_arguments {
            declared.push(quote!(#arguments: #form));
        }
        // With a single span, the compiler reports an error only once.
        let krate = krate.clone().into_iter().map(|mut token| {
            token.set_span(ident.span());
            token
        });
        let krate: TokenStream = krate.collect();
        let handling = if self.returns_result() {
            Ident::new("handling_result", ident.span())
        } else {
            Ident::new("handling", ident.span())
        };
        quote_spanned! {ident.span()=>
            |#(#declared),*| #krate::__private::#handling(#ident::call(#(#passed),*))
        }
    }

    fn has_nested(&self) -> bool {
        let is_nested = |parameter: &Parameter| matches!(parameter, Parameter::Nested { .. });
        self.parameters.iter().any(is_nested)
    }

    /// Whether its return type is named `Result`. Then its error can be any type that `?` converts.
    fn returns_result(&self) -> bool {
        let ReturnType::Type(_, ty) = &self.item.signature.output else {
            return false;
        };
        let Type::Path(path) = &**ty else {
            return false;
        };
        let last = path.path.segments.last();
        last.is_some_and(|last| last.ident == "Result")
    }

    /// Returns a separate check for each parameter, so that the compiler names the invalid one.
    fn checks(&self, krate: &TokenStream) -> TokenStream {
        let checks = self.parameters.iter().filter_map(|parameter| {
            let Parameter::Extracted { ty, message } = parameter else {
                return None;
            };
            let check = match message {
                None => quote!(is_parameter),
                Some(_) => quote!(is_asked),
            };
            Some(quote_spanned!(ty.span()=> #krate::__private::#check::<#ty>();))
        });
        quote!(#(#checks)*)
    }

    fn words(&self, krate: &TokenStream) -> TokenStream {
        let parameters = self.parameters.iter().enumerate();
        let words = parameters.filter_map(|(at, parameter)| {
            let Parameter::Extracted {
                message: Some(message),
                ..
            } = parameter
            else {
                return None;
            };
            let words = words_of(at);
            Some(quote! {
                struct #words;

                impl #krate::__private::AskMessage for #words {
                    const MESSAGE: &'static str = #message;
                }
            })
        });
        quote!(#(#words)*)
    }
}

/// Returns a variable name that cannot collide with the author's.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

/// Returns the name of the type that carries a parameter's message.
fn words_of(at: usize) -> Ident {
    format_ident!("Words{at}")
}

fn check_signature(signature: &Signature, what: &str) -> Result<()> {
    let name = &signature.ident;
    let refuse = |at: &dyn ToTokens, why: &str| {
        let message = format!("`{name}`: {what} {why}");
        Err(Error::new_spanned(at.to_token_stream(), message))
    };
    if signature.asyncness.is_none() {
        return refuse(&signature.fn_token, "is an `async fn`");
    }
    let generic = "cannot be generic: what it takes must be known when it is written";
    if !signature.generics.params.is_empty() {
        return refuse(&signature.generics, generic);
    }
    if let Some(bounds) = &signature.generics.where_clause {
        return refuse(bounds, generic);
    }
    if let Safety::Unsafe(token) = &signature.safety {
        return refuse(
            token,
            "is called by whoever connects, so it cannot be unsafe",
        );
    }
    if let Some(abi) = &signature.abi {
        return refuse(abi, "is called from Rust alone");
    }
    Ok(())
}
