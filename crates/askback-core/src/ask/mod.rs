//! Asking: questions, what a flow remembers of their answers, and the seal that keeps it.
//!
//! A *flow* is one call of a handler, however many rounds of questions it takes. In the handshake
//! revisions the handler stays suspended while a person answers; in the stateless revision it is
//! dropped, its [`FlowState`] is sealed into `requestState`, and the retry runs the handler again from
//! the recorded [`Entry`] list. [`Flow`] is the machine behind both: it knows no clock, no future
//! and no wire, and it makes the same decisions in the same order in either era.
//!
//! # The rule
//!
//! A slot (an answer, a step, a timer) is never ready when it is first polled. The
//! driver polls the handler until it is quiescent and asks [`Flow::verdict`]: deliver the earliest
//! recorded settlement that something waits for; or, when none is left, a question is open and no
//! step is running, ask; or else wait. Two settlements never arrive between two quiescent moments,
//! so `join!`, `select!` and loops mean the same on a first run and on every replay.

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
pub use reading::mark_refusal;
pub use state::{FlowId, FlowState, Identity, OpenEntry, TimerEntry, TokenId};

/// A point in time: milliseconds since the Unix epoch.
pub type Millis = u64;
