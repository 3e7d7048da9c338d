//! `#[tool]`, `#[prompt]` and `#[resource]`: turn an async function into a value, and keep the function.

mod arguments;
mod function;
mod parameter;
mod prompt;
mod resource;
mod tool;

pub(crate) use self::{
    function::ItemFn,
    prompt::{Prompt, prompt},
    resource::{Resource, resource},
    tool::{Tool, tool},
};
