//! What both sides of authorization read and write.

mod challenge;
mod metadata;
mod scopes;
