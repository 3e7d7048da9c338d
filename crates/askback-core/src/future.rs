//! The one type of a future whose type is not written out.

use alloc::boxed::Box;
use core::{future::Future, pin::Pin};

/// A future on the heap that can move between threads: what the methods of traits return.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;
