//! Completion of arguments.

use alloc::{collections::BTreeMap, string::String, vec::Vec};

use serde::{Deserialize, Serialize};

use super::{lenient, messages::messages, meta};

/// The prompt or resource template whose argument is completed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type")]
pub enum Reference {
    /// A prompt.
    #[serde(rename = "ref/prompt")]
    Prompt(PromptReference),
    /// A resource template.
    #[serde(rename = "ref/resource")]
    Resource(ResourceTemplateReference),
}

impl Reference {
    /// Refers to the prompt with this name.
    pub fn prompt(name: impl Into<String>) -> Self {
        Self::Prompt(PromptReference {
            name: name.into(),
            title: None,
        })
    }

    /// Refers to this resource template.
    pub fn resource(uri: impl Into<String>) -> Self {
        Self::Resource(ResourceTemplateReference { uri: uri.into() })
    }
}

messages! {
    /// Names a prompt.
    #[derive(Eq, Default, Deserialize)]
    struct PromptReference {
        /// The name for programs.
        name: String;
        /// The display name (from 2025-06-18 on).
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
        /// The prompt or resource template.
        #[serde(rename = "ref")]
        reference: Reference;
        /// The argument to complete.
        argument: CompleteArgument;
        /// The arguments with known values (from 2025-06-18 on).
        context?: CompleteContext;
        meta;
    }

    /// The argument to complete.
    #[derive(Eq, Default, Deserialize)]
    struct CompleteArgument {
        /// The name of the argument.
        name: String;
        /// The text typed so far.
        value: String;
    }

    /// The values of other arguments.
    #[derive(Eq, Default, Deserialize)]
    struct CompleteContext {
        /// The other arguments that have a value.
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
        /// The suggestions, best first, at most a hundred.
        #[serde(deserialize_with = "lenient::required_scalars")]
        values: Vec<String>;
        /// The total number of suggestions.
        total?: u64 = "lenient::scalar";
        /// Whether there are more suggestions than were sent.
        has_more?: bool = "lenient::scalar";
    }
}
