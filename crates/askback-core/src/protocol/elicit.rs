//! Elicitation: a server asks the user.

use alloc::{borrow::Cow, boxed::Box, format, string::String, vec::Vec};

use serde::{Deserialize, Deserializer, Serialize, de};
use serde_json::Value;

use super::{AnswerSource, Meta, TaskMetadata, messages::messages, meta::has_meta};
use crate::forms::{Content, Form, FormSchema, SharedForm};

/// The parameters of `elicitation/create`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ElicitParams {
    /// Asks to fill in a form.
    Form(ElicitFormParams),
    /// Asks to open a link (from 2025-11-25 on).
    Url(ElicitUrlParams),
}

messages! {
    /// The parameters to ask for a form.
    #[derive(Default)]
    struct ElicitFormParams {
        /// The mode, which may be absent and does not exist before 2025-11-25.
        mode?: FormMode;
        /// The reason for the question, for the user.
        message: String;
        /// The form.
        requested_schema: SharedForm;
        /// Asks for the question to become a task (2025-11-25).
        task?: TaskMetadata;
        meta;
    }
}

/// The parameters to ask to open a link.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(tag = "mode", rename = "url", rename_all = "camelCase")]
pub struct ElicitUrlParams {
    /// The reason for opening it, for the user.
    pub message: String,
    /// The link.
    pub url: String,
    /// The id that the completion notification repeats (2025-11-25).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elicitation_id: Option<String>,
    /// Asks for the question to become a task (2025-11-25).
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
        /// The user's action.
        action: ElicitAction;
        /// The values of the form, if it was accepted.
        content?: Content;
        meta;
    }
}

/// The user's action on a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ElicitAction {
    /// Accepted it. For a link: agreed to open it, which does not mean that it was used.
    Accept,
    /// Declined it. Some peers write `reject`, as in drafts of 2025-06-18.
    #[serde(alias = "reject")]
    Decline,
    /// Dismissed it without choosing.
    Cancel,
}

messages! {
    /// The parameters of `notifications/elicitation/complete`: the user has finished at a link
    /// (2025-11-25).
    #[derive(Default, Deserialize)]
    struct ElicitationCompleteParams {
        /// The [`ElicitUrlParams::elicitation_id`] of the question.
        elicitation_id: String;
        meta;
    }
}

/// The data of [`URL_ELICITATION_REQUIRED`](super::codes::URL_ELICITATION_REQUIRED): the client
/// must open these links and send the request again (2025-11-25). There is at least one link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Links")]
pub struct UrlElicitationRequired {
    elicitations: Vec<ElicitUrlParams>,
}

/// The links before the check.
#[derive(Deserialize)]
struct Links {
    elicitations: Vec<ElicitUrlParams>,
}

has_meta! { ElicitUrlParams }
has_meta! { ElicitParams: Form | Url; }

impl UrlElicitationRequired {
    /// Requires these links to be opened first.
    pub fn new(link: ElicitUrlParams, others: impl IntoIterator<Item = ElicitUrlParams>) -> Self {
        Self {
            elicitations: core::iter::once(link).chain(others).collect(),
        }
    }

    /// Returns the links.
    #[must_use]
    pub fn links(&self) -> &[ElicitUrlParams] {
        &self.elicitations
    }

    /// Returns the links for changes.
    pub fn links_mut(&mut self) -> &mut [ElicitUrlParams] {
        &mut self.elicitations
    }

    /// Returns the links.
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
    /// Makes a question with a form.
    pub fn form(message: impl Into<String>, requested_schema: impl Into<SharedForm>) -> Self {
        Self::Form(ElicitFormParams {
            mode: Some(FormMode::Form),
            message: message.into(),
            requested_schema: requested_schema.into(),
            ..ElicitFormParams::default()
        })
    }

    /// Makes a question to open a link.
    pub fn url(message: impl Into<String>, url: impl Into<String>) -> Self {
        Self::Url(ElicitUrlParams {
            message: message.into(),
            url: url.into(),
            ..ElicitUrlParams::default()
        })
    }

    /// Returns the reason for the question.
    pub fn message(&self) -> &str {
        match self {
            Self::Form(form) => &form.message,
            Self::Url(url) => &url.message,
        }
    }
}

impl ElicitResult {
    /// Accepts a form with a value of its type.
    pub fn form(form: &impl Form) -> Self {
        Self::accept(form.write())
    }

    /// Accepts a form with values by field name.
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

    /// Agrees to open a link.
    pub fn agree() -> Self {
        Self::from(ElicitAction::Accept)
    }

    /// Declines the question.
    pub fn decline() -> Self {
        Self::from(ElicitAction::Decline)
    }

    /// Dismisses the question.
    pub fn cancel() -> Self {
        Self::from(ElicitAction::Cancel)
    }

    /// Records who refused the question.
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

/// The members of both modes. The mode may come last, so all members are read first.
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
