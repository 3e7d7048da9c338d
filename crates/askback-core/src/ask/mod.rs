//! Asking in the middle of a call: the seal on what a client carries between two rounds.

pub mod canonical;
pub mod keys;
pub mod seal;

/// The name of one flow: a call together with its retries.
///
/// It is random, is carried inside the sealed state, and is half of what makes a commit unique
/// (the other half is the commit's name).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub [u8; 16]);
