use proc_macro2::TokenStream;
use quote::quote;
use syn::{Result, meta::ParseNestedMeta};

use super::{
    arguments::{CommonArguments, Completers},
    function::{Function, ItemFn},
};
use crate::meta::unknown;

#[derive(Default)]
pub(crate) struct Prompt {
    described: CommonArguments,
    completers: Completers,
}

pub(crate) fn prompt(arguments: &Prompt, item: ItemFn) -> Result<TokenStream> {
    let function = Function::read(item, "a prompt")?;
    let krate = arguments.described.krate();
    let name = arguments.described.name(&function);
    let described = arguments.described.setters(&function);
    let completers = arguments.completers.setters();
    function.expand(
        &krate,
        &quote!(Prompt),
        |handler| quote!(#krate::Prompt::new(#name, #handler) #described #completers),
    )
}

impl Prompt {
    pub(crate) fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let item = meta.path.get_ident().map(ToString::to_string);
        let item = item.unwrap_or_default();
        if self.described.read(&item, meta)? {
            return Ok(());
        }
        match item.as_str() {
            "complete" => self.completers.read(meta),
            _ => Err(unknown(
                meta,
                "`name`, `title`, `description`, `complete` and `crate`",
            )),
        }
    }
}
