//! Authorization documents and headers.

mod challenge;
mod metadata;
mod scopes;
