//! The tests of the core, in one binary.

mod forms;
