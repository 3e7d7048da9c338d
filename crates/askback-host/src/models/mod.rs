//! Language models that reply to sampling requests.
//!
//! The host only knows the trait [`Model`]. Clients for providers need the feature `models`.

#[cfg(feature = "models")]
mod anthropic;
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

/// A language model. The user has seen every request that it gets.
pub trait Model: Send {
    /// The name that the user configured.
    fn name(&self) -> &str;

    /// Sends a request to the model. Dropping the future cancels it.
    fn reply(
        &self,
        request: CreateMessageParams,
    ) -> BoxFuture<'static, Result<CreateMessageResult, ModelError>>;
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelError {
    /// Our words: what happened, why, and what to do.
    pub words: Words,
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
