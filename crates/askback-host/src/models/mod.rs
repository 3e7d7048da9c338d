//! Models that reply where a server asks for a text of one.
//!
//! The host knows a [`Model`] only; what reaches a provider is behind the feature `models`.

#[cfg(feature = "models")]
mod anthropic;
#[cfg(feature = "models")]
mod ollama;
#[cfg(feature = "models")]
mod openai;
#[cfg(feature = "models")]
mod provider;
#[cfg(feature = "models")]
mod shape;

use askback::{
    internal::future::BoxFuture,
    protocol::{CreateMessageParams, CreateMessageResult},
};

#[cfg(feature = "models")]
pub use provider::{Key, Kind, ModelName, Provider};

use crate::text::{PeerText, Words};

/// A model, as a host asks it. What it is sent, the person has seen.
pub trait Model: Send {
    /// The name, as the person gave it.
    fn name(&self) -> &str;

    /// Has the model reply to a request. Dropping the future gives the request up.
    fn reply(
        &self,
        request: CreateMessageParams,
    ) -> BoxFuture<'static, Result<CreateMessageResult, ModelError>>;
}

/// Why a model did not reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// In words of ours: what happened, who is to blame, what to do.
    pub words: Words,
    /// In words of the provider.
    pub quoted: Option<PeerText>,
}

impl From<Words> for ModelError {
    fn from(words: Words) -> Self {
        Self {
            words,
            quoted: None,
        }
    }
}
