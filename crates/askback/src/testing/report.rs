//! The outcome of a call.

use std::{collections::BTreeSet, fmt};

use askback_core::revision::Revision;
use serde_json::Value;

use super::Trouble;

/// The outcome of a call in every revision, and under every trouble.
#[derive(Debug, Clone)]
pub struct Report {
    /// One run each.
    pub runs: Vec<Run>,
}

/// One call, from its request to its end.
#[derive(Debug, Clone)]
pub struct Run {
    /// The revision it was made in.
    pub revision: Revision,
    /// The trouble that its client made.
    pub trouble: Trouble,
    /// The questions to the person, in order.
    pub questions: Vec<ReceivedQuestion>,
    /// How often the client sent the call: once in the handshake revisions.
    pub rounds: u32,
    /// How it ended.
    pub ended: CallEnd,
    /// The notifications to the client.
    pub notifications: Vec<ReceivedNotification>,
    /// The findings, in words: where the handler is not safe to run again, and questions that the
    /// script has no answer for.
    pub findings: Vec<String>,
    /// How many effects it had, where a [`Fixture`](super::Fixture) counts them.
    pub effects: Option<usize>,
    pub(super) has_crashed: bool,
}

/// A question, as the client got it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedQuestion {
    /// Its key.
    pub key: String,
    /// Its method: `elicitation/create`, `sampling/createMessage` or `roots/list`.
    pub method: String,
    /// The parameters of the question.
    pub params: Value,
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq)]
pub enum CallEnd {
    /// With this result.
    Result(Value),
    /// With this JSON-RPC error.
    Error {
        /// Its code.
        code: i64,
        /// Its message.
        message: String,
        /// Its data; `null` where there is none.
        data: Value,
    },
    /// The client stayed away: its person said nothing, refused, or was asked what they have no
    /// answer for.
    Abandoned,
}

/// A notification to the client during the call.
#[derive(Debug, Clone, PartialEq)]
pub enum ReceivedNotification {
    /// A log line: its level and what it says.
    Log(String, Value),
    /// How far the work has come, and in which words.
    Progress(f64, Option<String>),
}

impl Report {
    /// The run in this revision, without trouble.
    ///
    /// # Panics
    ///
    /// If there is none.
    #[must_use]
    #[track_caller]
    pub fn in_revision(&self, revision: Revision) -> &Run {
        let found = self
            .runs
            .iter()
            .find(|run| run.revision == revision && run.trouble == Trouble::None);
        found.unwrap_or_else(|| panic!("no run in {revision}"))
    }

    /// Makes sure that the call went the same way in every revision and under every trouble: the
    /// same questions, the same end, as many effects, nothing that should not have happened. A revision that lacks
    /// a kind of question which others asked is left out. A run in which the server crashed may end in another
    /// way, but has no more effects. Gives the run in the newest revision.
    ///
    /// # Panics
    ///
    /// If the runs differ; the message shows how.
    #[track_caller]
    pub fn assert_same(&self) -> &Run {
        let kinds: BTreeSet<Sort> = self.runs.iter().flat_map(Run::sorts).collect();
        let mut runs: Vec<&Run> = self
            .runs
            .iter()
            .filter(|run| kinds.iter().all(|kind| kind.exists(run.revision)))
            .collect();
        runs.sort_by_key(|run| (run.revision, run.trouble == Trouble::None));
        let Some((model, others)) = runs.split_last() else {
            panic!("nothing was run");
        };
        let wrong: Vec<String> = runs.iter().flat_map(|run| run.complaints()).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        for run in others {
            run.assert_like(model);
        }
        model
    }
}

impl Run {
    /// The texts of the result, one content block a line, or the words of the error.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.ended {
            CallEnd::Result(result) => texts(result),
            CallEnd::Error { message, .. } => message.clone(),
            CallEnd::Abandoned => String::new(),
        }
    }

    /// The result as it came; `null` where the call ended without one.
    #[must_use]
    pub fn result(&self) -> &Value {
        match &self.ended {
            CallEnd::Result(result) => result,
            CallEnd::Error { .. } | CallEnd::Abandoned => &Value::Null,
        }
    }

    /// Whether the call ended with an error, or a tool said that it failed.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match &self.ended {
            CallEnd::Result(result) => result["isError"] == true,
            CallEnd::Error { .. } => true,
            CallEnd::Abandoned => false,
        }
    }

    /// The keys of the questions, in order.
    #[must_use]
    pub fn keys(&self) -> Vec<&str> {
        self.questions.iter().map(|asked| &*asked.key).collect()
    }

    /// The words of the questions, in order.
    #[must_use]
    pub fn messages(&self) -> Vec<&str> {
        self.questions
            .iter()
            .map(ReceivedQuestion::message)
            .collect()
    }

    fn sorts(&self) -> impl Iterator<Item = Sort> {
        self.questions.iter().map(ReceivedQuestion::sort)
    }

    /// Everything that should not have happened.
    fn complaints(&self) -> Vec<String> {
        let findings = self.findings.iter();
        findings
            .map(|finding| format!("{self}: {finding}"))
            .collect()
    }

    #[track_caller]
    fn assert_like(&self, other: &Self) {
        if let (Some(mine), Some(others)) = (self.effects, other.effects) {
            let is_right = mine == others || (self.has_crashed && mine < others);
            assert!(
                is_right,
                "the number of effects was {mine} in {self} and {others} in {other}: what must \
                 happen at most once belongs in `Ctx::commit` or `Ctx::commit_in`"
            );
        }
        if self.has_crashed {
            return;
        }
        let (mine, others) = (self.sorted_questions(), other.sorted_questions());
        assert!(
            mine == others,
            "{self} asked\n  {mine:?}\nand {other}\n  {others:?}"
        );
        let (mine, others) = (self.ended.essence(), other.ended.essence());
        assert!(
            mine == others,
            "{self} ended with\n  {mine}\nand {other} with\n  {others}"
        );
    }

    /// Keys and words of the questions, in an order of their own: in which order the questions of
    /// parallel branches come depends on how fast each is answered.
    fn sorted_questions(&self) -> Vec<(&str, &str)> {
        let mut questions: Vec<_> = self
            .questions
            .iter()
            .map(|asked| (&*asked.key, asked.message()))
            .collect();
        questions.sort_unstable();
        questions
    }
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.trouble {
            Trouble::None => write!(f, "the call in {}", self.revision),
            trouble => write!(f, "the call in {} with {trouble}", self.revision),
        }
    }
}

impl ReceivedQuestion {
    /// Its words.
    #[must_use]
    pub fn message(&self) -> &str {
        self.params["message"].as_str().unwrap_or_default()
    }

    fn sort(&self) -> Sort {
        match &*self.method {
            "elicitation/create" => Sort::Elicitation,
            _ => Sort::Other,
        }
    }
}

impl CallEnd {
    /// Returns the part that must be the same in every revision: without `_meta`, hints and words
    /// about the result as a message.
    pub(super) fn essence(&self) -> Value {
        match self {
            Self::Result(result) => {
                let kept = ["content", "isError", "messages", "contents"];
                kept.iter()
                    .map(|name| ((*name).to_owned(), result[name].clone()))
                    .filter(|(_, value)| !value.is_null() && *value != false)
                    .collect()
            }
            Self::Error { code, message, .. } => {
                serde_json::json!({"code": code, "message": message})
            }
            Self::Abandoned => Value::Null,
        }
    }
}

/// The kinds of questions that revisions tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Sort {
    Elicitation,
    Other,
}

impl Sort {
    fn exists(self, revision: Revision) -> bool {
        let facts = revision.facts();
        match self {
            Self::Elicitation => facts.elicitation_form,
            Self::Other => true,
        }
    }
}

fn texts(result: &Value) -> String {
    let blocks = ["content", "messages", "contents"]
        .iter()
        .filter_map(|name| result[name].as_array())
        .flatten();
    let texts = blocks.filter_map(|block| {
        block["text"]
            .as_str()
            .or_else(|| block["content"]["text"].as_str())
    });
    texts.collect::<Vec<_>>().join("\n")
}
