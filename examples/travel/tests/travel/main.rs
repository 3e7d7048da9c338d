//! Tests of the travel agency, in one binary.

mod booking;
mod client;
#[cfg(feature = "connect")]
mod connect;
mod itineraries;
#[cfg(feature = "fleet")]
mod program;
mod prompts;
mod resources;
mod tools;

const FORMS: [&str; 3] = ["2025-06-18", "2025-11-25", "2026-07-28"];

const BEFORE_FORMS: [&str; 2] = ["2024-11-05", "2025-03-26"];

const ALL: [&str; 5] = [
    "2024-11-05",
    "2025-03-26",
    "2025-06-18",
    "2025-11-25",
    "2026-07-28",
];
