//! Suites with the travel agency, and with a small server that fails in many ways.

mod record;
#[cfg(unix)]
mod report;
mod travel;
#[cfg(unix)]
mod zoo;
