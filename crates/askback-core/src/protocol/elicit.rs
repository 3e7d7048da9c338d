//! Elicitation: a server asks a person.

use alloc::{borrow::Cow, boxed::Box, format, string::String, vec::Vec};

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::{AnswerSource, Meta, TaskMetadata, messages::messages, meta::has_meta};
use crate::forms::{Content, Form, FormSchema, SharedForm};

/// The parameters of `elicitation/create`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ElicitParams {
    /// Fill in a form.
    Form(ElicitFormParams),
    /// Open a link (from 2025-11-25 on).
    Url(ElicitUrlParams),
}

messages! {
    /// Fill in a form.
    #[derive(Default)]
    struct ElicitFormParams {
        /// Whether the mode is named: it need not be, and before 2025-11-25 it has no name.
        mode?: FormMode;
        /// Why the answer is needed, in words.
        message: String;
        /// The form.
        requested_schema: SharedForm;
        /// The question shall be a task (2025-11-25).
        task?: TaskMetadata;
        meta;
    }
}

/// Open a link.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(tag = "mode", rename = "url", rename_all = "camelCase")]
pub struct ElicitUrlParams {
    /// Why it should be opened, in words.
    pub message: String,
    /// The link.
    pub url: String,
    /// The id that the completion notification repeats (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// The question shall be a task (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskMetadata>,
    /// The `_meta`.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Box<Meta>>,
}

/// The name of the form mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FormMode {
    /// `form`.
    Form,
}

messages! {
    /// The answer to `elicitation/create`.
    #[derive(Deserialize)]
    struct ElicitResult {
        /// The person's action.
        action: ElicitAction;
        /// The form as it was filled in; only on accepting a form.
        content?: Content;
        meta;
    }
}

/// A person's action on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// Answered it. For a link: agreed to open it, which does not say that anything came of it.
    Accept,
    /// Said no. Some peers say `reject`, as drafts of 2025-06-18 did.
    #[serde(alias = "reject")]
    Decline,
    /// Went away without choosing.
    Cancel,
}

messages! {
    /// The parameters of `notifications/elicitation/complete`: the task behind the link is done
    /// (2025-11-25).
    #[derive(Default, Deserialize)]
    struct ElicitationCompleteParams {
        /// The [`ElicitUrlParams::elicitation_id`] of the question.
        elicitation_id: String;
        meta;
    }
}

/// The data of [`URL_ELICITATION_REQUIRED`](super::codes::URL_ELICITATION_REQUIRED): open these
/// links, then send the request again (2025-11-25). There is at least one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Links")]
pub struct UrlElicitationRequired {
    elicitations: Vec<ElicitUrlParams>,
}

/// The links as they are read.
#[derive(Deserialize)]
struct Links {
    elicitations: Vec<ElicitUrlParams>,
}

has_meta! { ElicitUrlParams }
has_meta! { ElicitParams: Form | Url; }

impl UrlElicitationRequired {
    /// These links must be opened first.
    pub fn new(link: ElicitUrlParams, others: impl IntoIterator<Item = ElicitUrlParams>) -> Self {
        Self {
            elicitations: core::iter::once(link).chain(others).collect(),
        }
    }

    /// The links.
    #[must_use]
    pub fn links(&self) -> &[ElicitUrlParams] {
        &self.elicitations
    }

    /// The links, to be changed one by one.
    pub fn links_mut(&mut self) -> &mut [ElicitUrlParams] {
        &mut self.elicitations
    }

    /// The links.
    #[must_use]
    pub fn into_links(self) -> Vec<ElicitUrlParams> {
        self.elicitations
    }
}

impl TryFrom<Links> for UrlElicitationRequired {
    type Error = &'static str;

    fn try_from(Links { elicitations }: Links) -> Result<Self, Self::Error> {
        match elicitations.is_empty() {
            true => Err("there is no link to open"),
            false => Ok(Self { elicitations }),
        }
    }
}

impl ElicitParams {
    /// A question that is a form.
    pub fn form(message: impl Into<String>, requested_schema: impl Into<SharedForm>) -> Self {
        Self::Form(ElicitFormParams {
            mode: Some(FormMode::Form),
            message: message.into(),
            requested_schema: requested_schema.into(),
            ..ElicitFormParams::default()
        })
    }

    /// A question to open a link.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(ElicitUrlParams {
            message: message.into(),
            url: url.into(),
            ..ElicitUrlParams::default()
        })
    }

    /// Why the answer is needed, in words.
    pub fn message(&self) -> &str {
        match self {
            Self::Form(form) => &form.message,
            Self::Url(url) => &url.message,
        }
    }
}

impl ElicitResult {
    /// The form, filled in with a value of its type.
    pub fn form(form: &impl Form) -> Self {
        Self::accept(form.write())
    }

    /// The form, filled in with the values of its fields by their names.
    ///
    /// ```
    /// use askback_core::protocol::ElicitResult;
    /// use serde_json::json;
    ///
    /// let confirmed = ElicitResult::accept([("confirm", true)]);
    /// let booked = ElicitResult::accept([("guests", json!(4)), ("place", json!("inside"))]);
    /// assert_ne!(confirmed, booked);
    /// ```
    pub fn accept<N, V>(values: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: Into<String>,
        V: Into<Value>,
    {
        let values = values.into_iter();
        let content = values.map(|(name, value)| (name.into(), value.into()));
        Self {
            action: ElicitAction::Accept,
            content: Some(content.collect()),
            meta: None,
        }
    }

    /// Yes, the link will be opened.
    pub fn agree() -> Self {
        Self::from(ElicitAction::Accept)
    }

    /// No.
    pub fn decline() -> Self {
        Self::from(ElicitAction::Decline)
    }

    /// Neither yes nor no.
    pub fn cancel() -> Self {
        Self::from(ElicitAction::Cancel)
    }

    /// The same, saying who turned the question down.
    #[must_use]
    pub fn answered_by(mut self, by: AnswerSource) -> Self {
        self.meta.get_or_insert_default().set_answered_by(by);
        self
    }
}

impl From<ElicitAction> for ElicitResult {
    fn from(action: ElicitAction) -> Self {
        Self {
            action,
            content: None,
            meta: None,
        }
    }
}

impl<'de> Deserialize<'de> for ElicitParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let question = Question::deserialize(deserializer)?;
        match question.mode.as_deref() {
            None => question.form(None).map(Self::Form),
            Some("form") => question.form(Some(FormMode::Form)).map(Self::Form),
            Some("url") => question.url().map(Self::Url),
            Some(other) => Err(unknown(other, "form and url")),
        }
    }
}

impl<'de> Deserialize<'de> for ElicitUrlParams {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let question = Question::deserialize(deserializer)?;
        match question.mode.as_deref() {
            Some("url") => question.url(),
            Some(other) => Err(unknown(other, "url alone")),
            None => Err(de::Error::missing_field("mode")),
        }
    }
}

/// The members of both modes; the mode may stand anywhere, so it decides afterwards.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question<'a> {
    #[serde(borrow)]
    mode: Option<Cow<'a, str>>,
    message: String,
    requested_schema: Option<FormSchema>,
    url: Option<String>,
    elicitation_id: Option<String>,
    task: Option<TaskMetadata>,
    #[serde(rename = "_meta")]
    meta: Option<Box<Meta>>,
}

impl Question<'_> {
    fn form<E: de::Error>(self, mode: Option<FormMode>) -> Result<ElicitFormParams, E> {
        Ok(ElicitFormParams {
            mode,
            message: self.message,
            requested_schema: self
                .requested_schema
                .ok_or_else(|| E::missing_field("requestedSchema"))?
                .into(),
            task: self.task,
            meta: self.meta,
        })
    }

    fn url<E: de::Error>(self) -> Result<ElicitUrlParams, E> {
        Ok(ElicitUrlParams {
            message: self.message,
            url: self.url.ok_or_else(|| E::missing_field("url"))?,
            elicitation_id: self.elicitation_id,
            task: self.task,
            meta: self.meta,
        })
    }
}

fn unknown<E: de::Error>(mode: &str, known: &str) -> E {
    E::custom(format!(
        "there is no elicitation mode {mode:?} here; the modes are {known}"
    ))
}
