use std::fmt;

use askback_core::revision::Revision;
use serde_json::Value;

use super::Trouble;

/// The outcome of a call in every revision and with every trouble.
#[derive(Debug, Clone)]
pub struct Report {
    /// One entry per run.
    pub runs: Vec<Run>,
}

/// One call, from its request to its end.
#[derive(Debug, Clone)]
pub struct Run {
    /// The revision of the call.
    pub revision: Revision,
    /// The trouble of its client.
    pub trouble: Trouble,
    /// The questions to the user, in order.
    pub questions: Vec<ReceivedQuestion>,
    /// How many times the client sent the call: once in the handshake revisions.
    pub rounds: u32,
    /// How the call ended.
    pub ended: CallEnd,
    /// The notifications to the client.
    pub notifications: Vec<ReceivedNotification>,
    /// The findings: why the handler is not safe to run again, and questions that the script has no answer for.
    pub findings: Vec<String>,
    /// The number of effects, if a [`Fixture`](super::Fixture) counts them.
    pub effects: Option<usize>,
    pub(super) has_crashed: bool,
}

/// A question, as the client received it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedQuestion {
    /// The key of the question.
    pub key: String,
    /// The method: `elicitation/create`, `sampling/createMessage` or `roots/list`.
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
        /// The error code.
        code: i64,
        /// The error message.
        message: String,
        /// The error data, or `null`.
        data: Value,
    },
    /// The client gave up: the user did not answer, refused, or had no answer in the script.
    Abandoned,
}

/// A notification to the client during the call.
#[derive(Debug, Clone, PartialEq)]
pub enum ReceivedNotification {
    /// A log message: its level and data.
    Log(String, Value),
    /// A progress value and its message.
    Progress(f64, Option<String>),
}

impl Report {
    /// Returns the run in this revision, without trouble.
    ///
    /// # Panics
    ///
    /// If the call was not made in this revision.
    #[must_use]
    #[track_caller]
    pub fn in_revision(&self, revision: Revision) -> &Run {
        let found = self
            .runs
            .iter()
            .find(|run| run.revision == revision && run.trouble == Trouble::None);
        found.unwrap_or_else(|| panic!("no run in {revision}"))
    }

    /// Asserts that the call was the same in every revision and with every trouble: the same questions, the same end,
    /// the same number of effects, and no findings. A revision is skipped if it lacks a kind of question that others
    /// asked. A run with a crash may end differently, but must not have more effects. Returns the run in the newest
    /// revision.
    ///
    /// # Panics
    ///
    /// If the runs differ. The message shows how.
    #[track_caller]
    pub fn assert_same(&self) -> &Run {
        let elicits = self.runs.iter().any(Run::elicits);
        let can_ask = |run: &&Run| !elicits || run.revision.facts().elicitation_form;
        let mut runs: Vec<&Run> = self.runs.iter().filter(can_ask).collect();
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
    /// Returns the result's texts, one content block per line, or the error message.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.ended {
            CallEnd::Result(result) => texts(result),
            CallEnd::Error { message, .. } => message.clone(),
            CallEnd::Abandoned => String::new(),
        }
    }

    /// Returns the unparsed result, or `null`.
    #[must_use]
    pub fn result(&self) -> &Value {
        match &self.ended {
            CallEnd::Result(result) => result,
            CallEnd::Error { .. } | CallEnd::Abandoned => &Value::Null,
        }
    }

    /// Whether the call ended with an error, or the tool reported one.
    #[must_use]
    pub fn is_error(&self) -> bool {
        match &self.ended {
            CallEnd::Result(result) => result["isError"] == true,
            CallEnd::Error { .. } => true,
            CallEnd::Abandoned => false,
        }
    }

    /// Returns the keys of the questions, in order.
    #[must_use]
    pub fn keys(&self) -> Vec<&str> {
        self.questions.iter().map(|asked| &*asked.key).collect()
    }

    /// Returns the messages of the questions, in order.
    #[must_use]
    pub fn messages(&self) -> Vec<&str> {
        self.questions
            .iter()
            .map(ReceivedQuestion::message)
            .collect()
    }

    /// Whether it has a question of the kind that not all revisions have.
    fn elicits(&self) -> bool {
        let mut questions = self.questions.iter();
        questions.any(|asked| asked.method == "elicitation/create")
    }

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

    /// Returns the keys and messages of the questions, sorted, because the order of concurrent questions depends on
    /// when each is answered.
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
    /// Returns the message of the question.
    #[must_use]
    pub fn message(&self) -> &str {
        self.params["message"].as_str().unwrap_or_default()
    }
}

impl CallEnd {
    /// Returns the part that must be the same in every revision: without `_meta`, hints and the text about the result.
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
