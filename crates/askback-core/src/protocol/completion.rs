//! Completing an argument while it is typed.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{lenient, messages::messages, meta};

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

messages! {
    /// Names a prompt.
    #[derive(Eq, Default, Deserialize)]
    struct PromptReference {
        /// Its name for programs.
        name: String;
        /// Its name for people (from 2025-06-18 on).
        title?: String;
    }

    /// Names a resource template.
    #[derive(Eq, Default, Deserialize)]
    struct ResourceTemplateReference {
        /// The URI or URI template.
        uri: String;
    }

    /// The parameters of `completion/complete`.
    #[derive(Deserialize)]
    struct CompleteParams {
        /// Whose argument it is.
        #[serde(rename = "ref")]
        reference: Reference;
        /// The argument and what is typed of it.
        argument: CompleteArgument;
        /// The arguments that are already known (from 2025-06-18 on).
        context?: CompleteContext;
        meta;
    }

    /// The argument to complete.
    #[derive(Eq, Default, Deserialize)]
    struct CompleteArgument {
        /// Its name.
        name: String;
        /// The text typed so far.
        value: String;
    }

    /// The arguments that are already known when another is completed.
    #[derive(Eq, Default, Deserialize)]
    struct CompleteContext {
        /// The other arguments, as far as they are given.
        arguments?: BTreeMap<String, String>;
    }

    /// The result of `completion/complete`.
    #[derive(Default, Deserialize)]
    struct CompleteResult {
        /// The suggestions.
        completion: Completion;
        meta = "meta::lenient";
    }

    /// Suggestions for an argument.
    #[derive(Eq, Default, Deserialize)]
    struct Completion {
        /// The suggestions, best first; at most a hundred.
        #[serde(deserialize_with = "lenient::required_scalars")]
        values: Vec<String>;
        /// How many there are in all.
        total?: u64 = "lenient::scalar";
        /// Whether there are more than were sent.
        has_more?: bool = "lenient::scalar";
    }
}
