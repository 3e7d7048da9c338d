//! Completing an argument while it is typed.

use alloc::{boxed::Box, collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{
    Meta, lenient,
    meta::{self, has_meta},
};

/// Whose argument is completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Reference {
    /// A prompt's.
    #[serde(rename = "ref/prompt")]
    Prompt(PromptReference),
    /// A resource template's.
    #[serde(rename = "ref/resource")]
    Resource(ResourceTemplateReference),
}

impl Reference {
    /// Refers to the prompt of this name.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(PromptReference {
            name: name.into(),
            title: None,
        })
    }

    /// Refers to the resource template of this URI template.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource(ResourceTemplateReference { uri: uri.into() })
    }
}

/// Names a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PromptReference {
    /// Its name for programs.
    pub name: String,
    /// Its name for people (from 2025-06-18 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Names a resource template.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ResourceTemplateReference {
    /// The URI or URI template.
    pub uri: String,
}

/// The parameters of `completion/complete`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CompleteParams {
    /// Whose argument it is.
    #[serde(rename = "ref")]
    pub reference: Reference,
    /// The argument and what is typed of it.
    pub argument: CompleteArgument,
    /// The arguments that are already known (from 2025-06-18 on).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<CompleteContext>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The argument to complete.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompleteArgument {
    /// Its name.
    pub name: String,
    /// The text typed so far.
    pub value: String,
}

/// The arguments that are already known when another is completed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CompleteContext {
    /// The other arguments, as far as they are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<BTreeMap<String, String>>,
}

/// The result of `completion/complete`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CompleteResult {
    /// The suggestions.
    pub completion: Completion,
    /// The `_meta`.
    #[serde(
        default,
        rename = "_meta",
        skip_serializing_if = "Option::is_none",
        deserialize_with = "meta::lenient"
    )]
    pub meta: Option<Box<Meta>>,
}

/// Suggestions for an argument.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Completion {
    /// The suggestions, best first; at most a hundred.
    #[serde(deserialize_with = "lenient::required_scalars")]
    pub values: Vec<String>,
    /// How many there are in all.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub total: Option<u64>,
    /// Whether there are more than were sent.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "lenient::scalar"
    )]
    pub has_more: Option<bool>,
}

has_meta! {
    CompleteParams, CompleteResult,
}
