//! Forms: read, written, checked, lowered.

mod read;
