//! The engines, fed with messages.

mod server;
