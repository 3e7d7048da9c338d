//! Why a question has no answer.

use alloc::string::String;
use core::fmt;

use crate::{
    forms::Issues,
    protocol::{
        ClientCapabilities, ElicitationCapability, JsonObject, RootsCapability, SamplingCapability,
    },
};

/// Why a question has no answer.
///
/// Declining and cancelling are not errors but answers.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AskError {
    /// The client did not declare that it supports this kind of question.
    #[error("this client cannot be asked: it does not support {0}")]
    Unsupported(Capability),
    /// The question was asked outside the handler's own future (in a detached task), inside a step,
    /// or while the handler waited for a page. A replay could not ask it again there.
    #[error(
        "a question can only be asked in the handler's own future, not in a detached task or \
         inside `run`, `commit` or `until`"
    )]
    Misplaced,
    /// No answer came in time.
    #[error("no answer came in time")]
    TimedOut,
    /// The user opened the link but did not finish there in time.
    #[error("the link was opened, but its page was not finished in time")]
    Unfinished,
    /// The flow has used all its rounds.
    #[error("too many rounds of questions (at most {0}); ask several questions in one round")]
    TooManyRounds(u32),
    /// The flow has used all its rounds, and the handler asked a different question each time it
    /// ran, so that no answer matched. The author is to blame: everything that differs between two
    /// runs must come from `ctx`.
    #[error(
        "the handler asks something else each time it is run again (`{key}`, in {rounds} rounds): \
         what differs between two runs must come from `ctx`, such as `ctx.run`"
    )]
    Changing {
        /// The key of the question.
        key: String,
        /// The number of rounds.
        rounds: u32,
    },
    /// More questions are open at once than one round may carry.
    #[error("too many questions at once (at most {0} in one round)")]
    TooManyQuestions(usize),
    /// The answers broke the form too often. The text says what was wrong with the last one.
    #[error("the answer could not be used, even after asking again: {0}")]
    Refused(String),
    /// The client accepted a form with required fields but filled in none. Such clients accept a
    /// form that they cannot show, so the question is not asked again.
    #[error(
        "the client accepted the form without filling in any field, although some are required: it \
         probably shows no fields of this form"
    )]
    NoFields,
    /// The answer came without the receipt of a person that the author requires, or with one that is not valid.
    #[error(
        "the client sent no valid receipt of a person with its answer, which this tool requires: use a client \
         that signs receipts, such as `askback`, with a key that the server trusts"
    )]
    NoWitness,
    /// The client answered the question with an error.
    #[error("the client could not process the question: {message} ({code})")]
    Client {
        /// The JSON-RPC error code.
        code: i64,
        /// The client's message.
        message: String,
    },
    /// The author's form breaks the rules of forms.
    #[error("this form cannot be asked: {0}")]
    BadForm(Issues),
    /// The author's request must not be sent. The text says why.
    #[error("this cannot be asked: {0}")]
    BadRequest(String),
}

/// A capability that a client must declare before it may be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Capability {
    /// `elicitation.form` (a bare `elicitation: {}` declares it).
    ElicitForm,
    /// `elicitation.url`.
    ElicitUrl,
    /// `sampling`.
    Sampling,
    /// `sampling.tools`.
    SamplingTools,
    /// `sampling.context`.
    SamplingContext,
    /// `roots`.
    Roots,
    /// The extension `io.modelcontextprotocol/tasks`.
    Tasks,
}

impl Capability {
    /// Returns the capabilities that the client lacks (2026-07-28, basic/index, `_meta`).
    #[must_use]
    pub fn required(self) -> ClientCapabilities {
        let empty = || Some(JsonObject::new());
        let mut required = ClientCapabilities::default();
        match self {
            Self::ElicitForm => {
                required.elicitation = Some(ElicitationCapability {
                    form: empty(),
                    url: None,
                });
            }
            Self::ElicitUrl => {
                required.elicitation = Some(ElicitationCapability {
                    form: None,
                    url: empty(),
                });
            }
            Self::Sampling => required.sampling = Some(SamplingCapability::default()),
            Self::SamplingTools => {
                required.sampling = Some(SamplingCapability {
                    context: None,
                    tools: empty(),
                });
            }
            Self::SamplingContext => {
                required.sampling = Some(SamplingCapability {
                    context: empty(),
                    tools: None,
                });
            }
            Self::Roots => required.roots = Some(RootsCapability::default()),
            Self::Tasks => required.declare_tasks_extension(),
        }
        required
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ElicitForm => "forms (elicitation)",
            Self::ElicitUrl => "links (elicitation in URL mode)",
            Self::Sampling => "sampling",
            Self::SamplingTools => "sampling with tools",
            Self::SamplingContext => "sampling with context of other servers",
            Self::Roots => "roots",
            Self::Tasks => "tasks",
        })
    }
}
