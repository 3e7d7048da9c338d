//! The `askback` command.
fn main() {}
