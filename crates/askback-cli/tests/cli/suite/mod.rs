//! Suites, on the travel agency and on a small server that goes wrong.

#[cfg(unix)]
mod report;
#[cfg(unix)]
mod zoo;
