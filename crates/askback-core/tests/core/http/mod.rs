//! The rules of HTTP.

mod guard;
mod headers;
mod media;
mod params;
mod sse;
