//! The page of `askback open --web` in a real browser: in light and dark colours, on a phone, zoomed, with the keyboard
//! alone and without scripts. Each page is saved as a screenshot in the test folder. Without a browser these tests are
//! skipped and say so; with `ASKBACK_BROWSER=required` they fail.

mod attacks;
mod stage;
mod views;

/// The error if a test cannot continue.
type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;
