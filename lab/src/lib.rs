//! The structure of the project, checked.
