//! The rules of HTTP.

mod body;
mod guard;
mod headers;
mod media;
mod params;
mod sse;
