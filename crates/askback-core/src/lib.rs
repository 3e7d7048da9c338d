//! The Model Context Protocol as pure functions: messages, the five revisions, forms, asking,
//! the rules of HTTP, and the engines of both sides.
//!
//! Nothing in this crate opens a socket or reads a clock, a file, the environment or a random
//! source. Time and entropy are arguments; bytes and decisions are return values. The crate is
//! `no_std` (with `alloc`) to enforce this.
//!
//! [`protocol`], [`forms`], [`limits`] and [`revision`] are the public interface. The other modules
//! are public only for askback's own crates: they are not documented here and may change in any
//! version.
#![no_std]

extern crate alloc;

pub mod forms;
pub mod limits;
pub mod protocol;
pub mod revision;

#[doc(hidden)]
pub mod address;
#[doc(hidden)]
pub mod ask;
#[doc(hidden)]
pub mod auth;
#[doc(hidden)]
pub mod canonical;
#[doc(hidden)]
pub mod clock;
#[doc(hidden)]
pub mod engine;
#[doc(hidden)]
pub mod future;
#[doc(hidden)]
pub mod http;
#[doc(hidden)]
pub mod json;
#[doc(hidden)]
pub mod jsonrpc;
#[doc(hidden)]
pub mod quote;
#[doc(hidden)]
pub mod rfc3339;
#[doc(hidden)]
pub mod secret;
#[doc(hidden)]
pub mod uri_template;
#[doc(hidden)]
pub mod wire;

/// Implements `Debug` for types that hold secrets or identify a person: it prints only the named
/// fields.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_only {
    ($($type:ident { $($field:ident),* })*) => {$(
        impl ::core::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_struct(stringify!($type))
                    $(.field(stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    )*};
}

/// Paths for the code that askback's macros write. Not public interface.
#[doc(hidden)]
pub mod __private {
    pub use crate::forms;
}
