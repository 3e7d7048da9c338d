use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, LitStr, Result, meta::ParseNestedMeta};

use super::{
    arguments::{CommonArguments, Completers},
    function::{Function, ItemFn},
};
use crate::meta::{named, once, text, unknown};

#[derive(Default)]
pub(crate) struct Resource {
    described: CommonArguments,
    completers: Completers,
    uri: Option<LitStr>,
    mime_type: Option<LitStr>,
}

/// Turns the function into a resource, or into a resource template if its URI has variables.
pub(crate) fn resource(arguments: &Resource, item: ItemFn) -> Result<TokenStream> {
    let function = Function::read(item, "a resource")?;
    let Some(uri) = &arguments.uri else {
        let name = function.ident();
        let message = format!("`{name}`: a resource is somewhere: `#[resource(uri = \"…\")]`");
        return Err(Error::new_spanned(name, message));
    };
    let text = uri.value();
    let variables = variables(&text);
    arguments.completers.check(uri, &variables)?;
    let krate = arguments.described.krate();
    let name = arguments.described.name(&function);
    let described = arguments.described.setters(&function);
    let mime_type = arguments.mime_type.iter();
    let completers = arguments.completers.setters();
    let target = if variables.is_empty() {
        quote!(Resource)
    } else {
        quote!(ResourceTemplate)
    };
    function.expand(&krate, &target, |handler| {
        quote! {
            #krate::#target::new(#uri, #name, #handler)
                #described
                #(.mime_type(#mime_type))*
                #completers
        }
    })
}

impl Resource {
    pub(crate) fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let item = meta.path.get_ident().map(ToString::to_string);
        let item = item.unwrap_or_default();
        if self.described.read(&item, meta)? {
            return Ok(());
        }
        match item.as_str() {
            "uri" => once(&mut self.uri, meta, named(meta)?),
            "mime_type" => once(&mut self.mime_type, meta, text(meta)?),
            "complete" => self.completers.read(meta),
            _ => Err(unknown(
                meta,
                "`uri`, `name`, `title`, `description`, `mime_type`, `complete` and `crate`",
            )),
        }
    }
}

/// Returns the names of the variables in a URI template (RFC 6570). The template is validated when the server is built.
fn variables(uri: &str) -> Vec<&str> {
    let braced = uri.split('{').skip(1);
    let names = braced.map(|part| part.split_once('}').map_or(part, |(name, _)| name));
    names
        .map(|name| name.strip_prefix('+').unwrap_or(name))
        .collect()
}
