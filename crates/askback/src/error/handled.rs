//! Conversions of handler errors that only the server uses.

use std::{any::Any, time::Duration};

use askback_core::{
    ask::Capability,
    protocol::{CallToolResult, ClientCapabilities, JsonObject},
};

use super::{Error, Kind, NOT_KEPT, Result};
use crate::{keys::KeyError, store::StoreError};

impl Error {
    pub(crate) fn with_result(mut self, result: CallToolResult) -> Self {
        self.kind = Kind::NotDone(Some(Box::new(result)));
        self
    }

    /// Returns the result that the tool's author set for this error.
    ///
    /// # Errors
    ///
    /// The error itself, if there is no such result.
    pub(crate) fn into_given_result(self) -> Result<CallToolResult> {
        match self.kind {
            Kind::NotDone(Some(result)) => Ok(result.mark_declined()),
            _ => Err(self),
        }
    }

    pub(crate) fn task_required() -> Self {
        let why = "this only runs as a task, and the client does not support tasks";
        let lacking = Capability::Tasks.required();
        Self::of(Kind::ClientLacks(Box::new(lacking)), why.to_owned())
    }

    pub(crate) fn extension_required(name: &str) -> Self {
        let mut lacking = ClientCapabilities::default();
        if let Err(why) = lacking.declare_extension(name, JsonObject::new()) {
            return Self::new(format!("the extension `{name}`: {why}"));
        }
        let why = format!("this needs the extension `{name}`, which the client does not support");
        Self::of(Kind::ClientLacks(Box::new(lacking)), why)
    }

    pub(crate) fn misplaced_step(name: &str) -> Self {
        Self::new(format!(
            "the step `{name}` can only run in the handler's own future, not in a detached task \
             or inside another step"
        ))
    }

    pub(crate) fn step_took_too_long(name: &str, limit: Duration) -> Self {
        Self::new(format!(
            "the step `{name}` did not end within {} seconds: its outcome is unknown",
            limit.as_secs()
        ))
    }

    /// The error for every later attempt at a commit whose process ended before it had a value.
    pub(crate) fn commit_not_finished(name: &str) -> Self {
        Self::new(format!(
            "`{name}` was begun and never finished: its outcome is unknown; check before you try again"
        ))
    }

    /// The store did not grant the claim of a commit, so its effect did not start.
    pub(crate) fn commit_not_claimed(name: &str, why: StoreError) -> Self {
        let mut error = Self::from(why);
        error.message = format!("`{name}` was not begun by this attempt: {}", error.message);
        error
    }

    pub(crate) fn commit_name_used(name: &str) -> Self {
        Self::new(format!(
            "a commit named `{name}` was made before in this call, and each needs its own name: add its subject to the name"
        ))
    }

    pub(crate) fn panicked(panic: &(dyn Any + Send)) -> Self {
        let words = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned());
        tracing::error!(
            panic = words.as_deref().unwrap_or("(no words)"),
            "a handler panicked"
        );
        Self::of(
            Kind::Panicked,
            "the server failed while it handled this request".to_owned(),
        )
    }

    pub(crate) fn no_keys(cause: &KeyError) -> Self {
        tracing::error!(%cause, "the keys of the server cannot be used");
        Self::of(Kind::Failed, NOT_KEPT.to_owned())
    }

    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }
}
