//! Suites, on the travel agency and on a small server that goes wrong.

mod record;
#[cfg(unix)]
mod report;
mod travel;
#[cfg(unix)]
mod zoo;
