use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Error, Expr, LitStr, Result, meta::ParseNestedMeta};

use super::{
    arguments::{CommonArguments, flag},
    function::{Function, ItemFn},
};
use crate::meta::{once, unknown};

#[derive(Default)]
pub(crate) struct Tool {
    described: CommonArguments,
    read_only: Option<bool>,
    destructive: Option<bool>,
    idempotent: Option<bool>,
    open_world: Option<bool>,
    input_schema: Option<Expr>,
    output_schema: Option<Expr>,
    unchecked: Option<bool>,
    task: Option<TokenStream>,
    may_become_task: Option<TokenStream>,
    durable: Option<bool>,
    requires_witness: Option<bool>,
}

pub(crate) fn tool(arguments: &Tool, item: ItemFn) -> Result<TokenStream> {
    let function = Function::read(item, "a tool")?;
    let krate = arguments.described.krate();
    let name = arguments.described.name(&function);
    check_name(&name)?;
    let described = arguments.described.setters(&function);
    let annotations = arguments.annotations(&krate);
    let input = arguments.input_schema.iter();
    let output = arguments.output_schema.iter();
    let unchecked = arguments.unchecked.filter(|unchecked| *unchecked);
    let unchecked = unchecked.map(|_| quote!(.unchecked()));
    let durable = arguments.durable.filter(|durable| *durable);
    let durable = durable.map(|_| quote!(.durable()));
    let witness = arguments.requires_witness.filter(|required| *required);
    let witness = witness.map(|_| quote!(.requires_witness()));
    let task = arguments.task.iter();
    let may_become_task = arguments.may_become_task.iter();
    function.expand(&krate, &quote!(Tool), |handler| {
        quote! {
            #krate::Tool::new(#name, #handler)
                #described
                #annotations
                #(.input_schema(#input))*
                #(.output_schema(#output))*
                #unchecked
                #(.task(#krate::protocol::TaskSupport::#task))*
                #(.may_become_task(#krate::protocol::TaskSupport::#may_become_task))*
                #durable
                #witness
        }
    })
}

impl Tool {
    pub(crate) fn read(&mut self, meta: &ParseNestedMeta<'_>) -> Result<()> {
        let item = meta.path.get_ident().map(ToString::to_string);
        let item = item.unwrap_or_default();
        if self.described.read(&item, meta)? {
            return Ok(());
        }
        match item.as_str() {
            "read_only" => once(&mut self.read_only, meta, flag(meta)?),
            "destructive" => once(&mut self.destructive, meta, flag(meta)?),
            "idempotent" => once(&mut self.idempotent, meta, flag(meta)?),
            "open_world" => once(&mut self.open_world, meta, flag(meta)?),
            "input_schema" => once(&mut self.input_schema, meta, meta.value()?.parse()?),
            "output_schema" => once(&mut self.output_schema, meta, meta.value()?.parse()?),
            "unchecked" => once(&mut self.unchecked, meta, flag(meta)?),
            "task" => once(&mut self.task, meta, support(meta)?),
            "may_become_task" => once(&mut self.may_become_task, meta, support(meta)?),
            "durable" => once(&mut self.durable, meta, flag(meta)?),
            "requires_witness" => once(&mut self.requires_witness, meta, flag(meta)?),
            _ => Err(unknown(
                meta,
                "`name`, `title`, `description`, `read_only`, `destructive`, `idempotent`, \
                 `open_world`, `input_schema`, `output_schema`, `unchecked`, `task`, \
                 `may_become_task`, `durable`, `requires_witness` and `crate`",
            )),
        }
    }

    fn annotations(&self, krate: &TokenStream) -> Option<TokenStream> {
        let hints = [
            ("read_only_hint", self.read_only),
            ("destructive_hint", self.destructive),
            ("idempotent_hint", self.idempotent),
            ("open_world_hint", self.open_world),
        ];
        let given: Vec<_> = hints
            .into_iter()
            .filter_map(|(hint, value)| {
                let value = value?;
                let hint = format_ident!("{hint}");
                Some(quote!(#hint: ::core::option::Option::Some(#value)))
            })
            .collect();
        (!given.is_empty()).then(|| {
            quote! {
                .annotations(#krate::protocol::ToolAnnotations {
                    #(#given,)*
                    ..::core::default::Default::default()
                })
            }
        })
    }
}

/// Reads whether a tool's clients must support tasks, as a variant of `TaskSupport`.
fn support(meta: &ParseNestedMeta<'_>) -> Result<TokenStream> {
    let support: LitStr = meta.value()?.parse()?;
    match support.value().as_str() {
        "optional" => Ok(quote!(Optional)),
        "required" => Ok(quote!(Required)),
        _ => Err(Error::new_spanned(
            support,
            "a call may be a task where the client takes one, `\"optional\"`, or is refused where \
             it takes none, `\"required\"`",
        )),
    }
}

/// Returns an error for a name that clients do not accept (2026-07-28, server/tools, Tool Names).
fn check_name(name: &LitStr) -> Result<()> {
    let text = name.value();
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if text.len() <= 128 && text.chars().all(allowed) {
        return Ok(());
    }
    let message = format!(
        "`{text}` cannot name a tool: a name is at most 128 letters, digits, underscores, hyphens \
         and dots; give one with `#[tool(name = \"…\")]`"
    );
    Err(Error::new_spanned(name, message))
}
