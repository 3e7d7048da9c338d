//! The travel agency.
