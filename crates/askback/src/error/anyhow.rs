use std::{any::Any, error::Error as StdError, fmt};

use askback_core::{ask::AskError, forms::Issues};

use super::{Cause, Error, Kind, chain, told};

/// Wraps an [`Error`] for `anyhow`, which only accepts `std::error::Error`.
#[derive(Debug)]
struct AnyhowError(Error);

impl fmt::Display for AnyhowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for AnyhowError {}

impl From<Error> for anyhow::Error {
    fn from(error: Error) -> Self {
        Self::new(AnyhowError(error))
    }
}

// `anyhow::Error` implements no trait that could replace `Into`, and the compiler rejects an implementation for it next
// to one for all types with `std::error::Error`.
#[diagnostic::do_not_recommend]
impl<E: Into<Box<dyn StdError + Send + Sync>> + 'static> Cause for E {
    fn into_error(self) -> Error {
        let mut this = Some(self);
        match (&mut this as &mut dyn Any).downcast_mut::<Option<anyhow::Error>>() {
            Some(error) => error.take().map(from_anyhow),
            None => this.map(|error| Error::from_source(error.into())),
        }
        .unwrap_or_else(|| Error::new("a failure without an error"))
    }
}

/// The client only sees the outermost message; its causes are logged.
fn from_anyhow(error: anyhow::Error) -> Error {
    let error = match error.downcast::<AnyhowError>() {
        Ok(carried) => return carried.0,
        Err(error) => error,
    };
    let kind = if let Some(ask) = error.downcast_ref::<AskError>() {
        Kind::Ask(ask.clone())
    } else if error.is::<Issues>() {
        Kind::InvalidParams
    } else {
        Kind::Failed
    };
    let outermost: &(dyn StdError + 'static) = &*error;
    let told = told(outermost);
    if told.is_some() || outermost.source().is_some() {
        tracing::error!(cause = chain(outermost), "a handler failed");
    }
    let message = told.map_or_else(|| outermost.to_string(), str::to_owned);
    Error {
        kind,
        message,
        source: Some(error.into()),
    }
}
