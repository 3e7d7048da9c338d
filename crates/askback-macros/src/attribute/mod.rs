//! `#[tool]`, `#[prompt]` and `#[resource]`: a value made of an async function, which stays one.

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
