//! The items of an attribute: `#[attribute(name = value)]`.

use quote::ToTokens;
use syn::{Error, LitStr, Result, meta::ParseNestedMeta};

/// Stores an item's value; a second one is an error.
pub(crate) fn once<T>(slot: &mut Option<T>, meta: &ParseNestedMeta<'_>, value: T) -> Result<()> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(twice(meta)),
    }
}

pub(crate) fn twice(meta: &ParseNestedMeta<'_>) -> Error {
    let name = meta.path.to_token_stream();
    meta.error(format!("`{name}` is given twice"))
}

pub(crate) fn unknown(meta: &ParseNestedMeta<'_>, known: &str) -> Error {
    let name = meta.path.to_token_stream();
    meta.error(format!(
        "there is no attribute `{name}` here; there are {known}"
    ))
}

pub(crate) fn text(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    meta.value()?.parse()
}

/// Reads a non-empty string.
pub(crate) fn named(meta: &ParseNestedMeta<'_>) -> Result<LitStr> {
    let name = text(meta)?;
    if name.value().is_empty() {
        return Err(Error::new_spanned(name, "a name cannot be empty"));
    }
    Ok(name)
}
