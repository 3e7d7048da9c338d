//! Asking: questions, the recorded answers of a flow, and the seal that protects them.
//!
//! A *flow* is one call of a handler with all its rounds of questions. In the handshake revisions
//! the handler stays suspended while the user answers. In the stateless revision it is dropped and
//! its [`FlowState`] is sealed into `requestState`; the retry runs the handler again from the
//! recorded [`Entry`] list. [`Flow`] is the state machine behind both: it uses no clock, no futures
//! and no messages, and makes the same decisions in the same order in either era.
//!
//! # The rule
//!
//! A slot (an answer, a step, a timer) is never ready when it is first polled. The driver polls the
//! handler until it is quiescent and calls [`Flow::verdict`]. It delivers the earliest recorded
//! settlement that a slot waits for. If there is none, a question is open and no step is running,
//! it asks. Otherwise it waits. Only one settlement is delivered between two quiescent moments, so
//! `join!`, `select!` and loops mean the same on a first run and on every replay.

mod bytes;
mod error;
mod flow;
mod journal;
pub mod keys;
mod principal;
mod question;
mod reading;
pub mod receipt;
pub(crate) mod sampling;
pub mod seal;
mod state;

pub use error::{AskError, Capability};
pub use flow::{Flow, OpenQuestion, Release, SlotId, Verdict};
pub use journal::{Entry, QuestionDigest, RecordedAnswer, Reply, Settlement};
pub use principal::Principal;
pub use question::{CheckedAnswer, CheckedRequest, Question, UnusableAnswer, check_form};
pub use reading::{mark_refusal, unshown_refusal};
pub use state::{FlowId, FlowState, Identity, OpenEntry, TimerEntry, TokenId};

/// A time, in milliseconds since the Unix epoch.
pub type Millis = u64;
