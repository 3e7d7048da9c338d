//! Suites with the travel agency, and with a small server that fails in many ways.

#[cfg(unix)]
mod clients;
mod record;
#[cfg(unix)]
mod report;
mod travel;
#[cfg(unix)]
mod zoo;
