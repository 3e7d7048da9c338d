//! The boxed future type.

use alloc::boxed::Box;
use core::{future::Future, pin::Pin};

/// A boxed future that can move between threads, as trait methods return it.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
