//! The outcome of a case, as its expectations see it.

use std::time::Duration;

use askback::forms::FormSchema;
use askback_host::{
    content,
    model::{self, Ask, Question, Reply, Why},
    text::{self, PeerText},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::Error;

/// How many questions of a case are kept. The rest is dropped.
const MOST: usize = 1_000;

/// How many bytes of them are kept.
const MOST_BYTES: usize = 16 << 20;

/// How many characters of the first line of a result are kept for each case.
const BRIEF_CHARACTERS: usize = 160;

#[derive(Debug, Clone, PartialEq)]
pub struct Observation {
    pub ended: CaseEnd,
    /// The questions in order, without requests for folders.
    pub asked: Vec<ObservedQuestion>,
    /// The kinds of questions that the simulated client does not declare.
    pub undeclared: Option<text::Words>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum CaseEnd {
    Result {
        json: Value,
        text: PeerText,
        failed: bool,
        /// The parts of the result that violate the protocol.
        broken: Vec<String>,
    },
    /// An error from the server, from the client about the server, or a rejected question.
    Error(Error),
    /// The request was abandoned after this time.
    Late(Duration),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObservedQuestion {
    pub mode: QuestionMode,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    pub message: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    pub reply: ReplyKind,
    #[serde(skip)]
    pub is_expected_no: bool,
    #[serde(skip)]
    pub request: QuestionRequest,
}

/// The parts of a question that decide what a client does with it.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionRequest {
    Form(FormSchema),
    Link(String),
    Sampling {
        /// Whether the server says which model it prefers.
        has_preferences: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum QuestionMode {
    Form,
    Url,
    Sampling,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReplyKind {
    Accept,
    Decline,
    Cancel,
    /// No rule matches the question, or the rule does not match the form.
    #[serde(skip_deserializing)]
    Unanswered,
}

#[derive(Debug, Clone, PartialEq)]
pub struct BriefEnd {
    /// Whether there is no result, or the result is an error.
    pub failed: bool,
    /// The start of the first line of the result or of the error.
    pub text: PeerText,
}

impl CaseEnd {
    pub fn brief(&self) -> BriefEnd {
        let (failed, text) = match self {
            Self::Result { text, failed, .. } => (*failed, text.clone()),
            Self::Error(error) => {
                let message = || error.message.to_string().into();
                (true, error.quoted.clone().unwrap_or_else(message))
            }
            Self::Late(_) => (true, PeerText::default()),
        };
        let line = text.raw().lines().find(|line| !line.trim().is_empty());
        let (text, _) = PeerText::from(line.unwrap_or_default()).cut(BRIEF_CHARACTERS);
        BriefEnd { failed, text }
    }
}

/// The questions of a case, and their size.
#[derive(Debug, Default)]
pub(super) struct CaseQuestions {
    all: Vec<ObservedQuestion>,
    bytes: usize,
}

impl CaseQuestions {
    /// Adds a question if there is room.
    pub(super) fn push(&mut self, asked: ObservedQuestion) {
        let bytes = self.bytes.saturating_add(asked.bytes());
        if self.all.len() < MOST && bytes <= MOST_BYTES {
            self.all.push(asked);
            self.bytes = bytes;
        }
    }

    pub(super) fn take(&mut self) -> Vec<ObservedQuestion> {
        std::mem::take(self).all
    }
}

impl ObservedQuestion {
    /// The question as an expectation sees it. `None` for folders and for questions that the client itself asks.
    pub fn of(question: &Question, reply: &Reply) -> Option<Self> {
        let (request, message, fields) = match &question.ask {
            Ask::Form { message, schema } => {
                let fields = schema.fields.iter().map(|field| field.name.clone());
                let request = QuestionRequest::Form(schema.clone());
                (request, message.clone(), fields.collect())
            }
            Ask::Link { message, url, .. } => {
                let request = QuestionRequest::Link(url.clone());
                (request, message.clone(), Vec::new())
            }
            Ask::Sample(request) => {
                let blocks = request
                    .messages
                    .iter()
                    .flat_map(|said| said.content.blocks());
                let texts = blocks.map(|block| content::sampling_block(block).raw().to_owned());
                let message = texts.collect::<Vec<_>>().join("\n");
                let request = QuestionRequest::Sampling {
                    has_preferences: request.model_preferences.is_some(),
                };
                (request, message, Vec::new())
            }
            Ask::Roots
            | Ask::Arguments { .. }
            | Ask::Retry { .. }
            | Ask::Older { .. }
            | Ask::Register { .. }
            | Ask::Client { .. }
            | Ask::SignIn { .. } => return None,
        };
        let is_expected_no = reply.ended() == model::WorstEnd::Expected;
        let reply = match reply {
            Reply::Declined { .. } => ReplyKind::Decline,
            Reply::Cancelled(Why::Person | Why::Rule { .. }) => ReplyKind::Cancel,
            Reply::Cancelled(_) => ReplyKind::Unanswered,
            _ => ReplyKind::Accept,
        };
        Some(Self {
            mode: request.mode(),
            key: question.key.clone(),
            message,
            fields,
            reply,
            is_expected_no,
            request,
        })
    }

    fn bytes(&self) -> usize {
        let request = match &self.request {
            QuestionRequest::Form(form) => serde_json::to_vec(form).map_or(0, |json| json.len()),
            QuestionRequest::Link(url) => url.len(),
            QuestionRequest::Sampling { .. } => 0,
        };
        self.message.len().saturating_add(request)
    }
}

impl QuestionRequest {
    pub fn mode(&self) -> QuestionMode {
        match self {
            Self::Form(_) => QuestionMode::Form,
            Self::Link(_) => QuestionMode::Url,
            Self::Sampling { .. } => QuestionMode::Sampling,
        }
    }
}
