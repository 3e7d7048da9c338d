//! The number of a server.

/// The number of a server, among those before one front end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct ServerId(pub(crate) usize);

impl ServerId {
    /// The first server.
    pub const FIRST: Self = Self(0);
}
