//! The state of the question in front, and its transitions.

use askback::{
    forms::{Content, Field, FieldKind, FormSchema, TextField},
    limits::Limits,
    protocol::{CreateMessageResult, Root},
};
use serde_json::Map;

use super::{
    Ask, By, Draft, Question, Reply, Typed, TypedValue, Why,
    action::{Action, Effect, Notice},
    draft::TEXT,
    link::{self, Link, Refusal},
    sampling::{Part, Sampling},
};
use crate::{
    models::ModelError,
    text::{Clock, Words, given},
    view, words,
};

#[derive(Debug, PartialEq)]
pub enum Step {
    /// Agree before filling in fields that seem to ask for secrets.
    Secret(Draft),
    Filling(Draft),
    Review(Draft),
    /// Confirm a form without fields.
    Confirm,
    Consent(Link),
    /// Agree again, because the link may mislead.
    Sure(Link),
    /// Say when the page behind the link is completed.
    Opened(Link),
    /// Sign in in the browser, or enter the address at which the sign-in ended.
    Returning(Link),
    /// Review a request and let a model reply to it.
    Request(Sampling),
    Running(Sampling),
    /// Review the model's reply and send it.
    Replied(Sampling),
    /// Rewrite a part of a request or a reply; this is its current text.
    Rewrite(Sampling, Part, String),
    Write(Sampling),
    /// Review that reply and send it.
    Reread(String, Sampling),
    /// Choose a folder; this one is offered.
    Folders(Option<Root>),
    /// Give a reason for declining at the step before.
    Reason(Box<Step>),
}

pub(super) struct Turn {
    pub(super) next: Result<Step, Reply>,
    pub(super) moved: bool,
    pub(super) issue: Option<Words>,
    pub(super) effect: Option<Effect>,
}

impl Turn {
    fn to(step: Step) -> Self {
        Self {
            next: Ok(step),
            moved: true,
            issue: None,
            effect: None,
        }
    }

    pub(super) fn stay(step: Step) -> Self {
        Self {
            moved: false,
            ..Self::to(step)
        }
    }

    pub(super) fn reply(reply: Reply) -> Self {
        Self {
            next: Err(reply),
            moved: true,
            issue: None,
            effect: None,
        }
    }

    pub(super) fn because(self, issue: impl Into<Words>) -> Self {
        Self {
            issue: Some(issue.into()),
            ..self
        }
    }

    fn with(self, effect: Effect) -> Self {
        Self {
            effect: Some(effect),
            ..self
        }
    }
}

/// Returns the form of [`Ask::Client`]. A secret is never typed into it; the user names a file that
/// holds it.
fn client() -> FormSchema {
    let id = Field {
        name: Ask::CLIENT_ID.to_owned(),
        title: Some("Client ID".to_owned()),
        description: Some("the authorization server issued it at registration".to_owned()),
        required: true,
        kind: FieldKind::Text(TextField {
            min_length: Some(1),
            ..TextField::default()
        }),
        not_secret: true,
    };
    FormSchema {
        fields: vec![id],
        annotations: Map::new(),
    }
}

impl Step {
    /// Returns the first step of a question. If the question is not shown, returns the notice to
    /// the user and the reply to the server.
    #[allow(clippy::result_large_err, reason = "once for a question")]
    pub(super) fn first(
        ask: &Ask,
        has_model: bool,
        offer: Option<&Root>,
        limits: &Limits,
        clock: Clock,
    ) -> Result<Self, (Notice, Reply)> {
        let draft = |schema: FormSchema, preset: &Content| {
            Draft::new(schema, preset, limits.clone(), clock)
        };
        Ok(match ask {
            Ask::Form { schema, .. } => {
                let draft = draft(schema.clone(), &Content::new());
                if ask.asks_for_secrets() {
                    Self::Secret(draft)
                } else {
                    Self::filling(draft)
                }
            }
            Ask::Arguments { schema, preset, .. } => Self::filling(draft(schema.clone(), preset)),
            Ask::Link {
                message,
                url,
                again,
                ..
            } => {
                let link = link::judge(url).map_err(|refusal| refused(message, url, refusal))?;
                match again {
                    // The user has already agreed to this link.
                    true => Self::Opened(link),
                    false => Self::Consent(link),
                }
            }
            Ask::Register { .. } | Ask::Retry { .. } | Ask::Older { .. } => Self::Confirm,
            Ask::Client { .. } => Self::filling(draft(client(), &Content::new())),
            Ask::SignIn { url, .. } => {
                Self::Consent(link::judge(url).map_err(|refusal| refused("", url, refusal))?)
            }
            Ask::Sample(request) => {
                let sampling = Sampling::new(request, has_model);
                match has_model {
                    true => Self::Request(sampling),
                    false => Self::Write(sampling),
                }
            }
            Ask::Roots => Self::Folders(offer.cloned()),
        })
    }

    /// Reopens a form with the content that was sent for it, unless it has no fields.
    pub(super) fn again(ask: &Ask, sent: &Content, limits: &Limits, clock: Clock) -> Option<Self> {
        let Ask::Form { schema, .. } = ask else {
            return None;
        };
        let mut draft = Draft::new(schema.clone(), sent, limits.clone(), clock);
        // A field that the user cleared does not get its default again.
        for (index, field) in draft.fields().to_vec().iter().enumerate() {
            if !sent.contains_key(&field.name) {
                draft.clear(index);
            }
        }
        (!schema.fields.is_empty()).then_some(Self::Filling(draft))
    }

    fn filling(draft: Draft) -> Self {
        match draft.fields() {
            [] => Self::Confirm,
            _ => Self::Filling(draft),
        }
    }

    pub(crate) fn is_typed(&self) -> bool {
        matches!(
            self,
            Self::Filling(_)
                | Self::Rewrite(..)
                | Self::Write(_)
                | Self::Folders(_)
                | Self::Returning(_)
                | Self::Reason(_)
        )
    }

    /// Returns the link that the user is asked to open.
    pub(crate) fn link(&self) -> Option<&Link> {
        match self {
            Self::Consent(link) | Self::Sure(link) | Self::Opened(link) | Self::Returning(link) => {
                Some(link)
            }
            _ => None,
        }
    }

    /// Whether the user reviews a complete answer before sending it.
    pub(crate) fn is_reviewed(&self) -> bool {
        matches!(self, Self::Review(_) | Self::Reread(..))
    }

    /// Returns what the user has typed, without secrets. A model's text that the user rewrites is
    /// not part of it.
    pub(super) fn typed(&self, ask: &Ask) -> Typed {
        match (self, ask) {
            (Self::Reason(before), _) => before.typed(ask),
            (
                Self::Secret(draft) | Self::Filling(draft) | Self::Review(draft),
                Ask::Form { .. },
            ) => draft.typed(|field| view::is_secret(ask, field)),
            (Self::Write(sampling), Ask::Sample(_)) => text_typed(&sampling.so_far),
            (Self::Reread(text, _), Ask::Sample(_)) => text_typed(text),
            _ => Typed::new(),
        }
    }

    /// Replaces the content of a field with another front end's content. A review goes back to its
    /// form, because the user has not seen the new content.
    pub(super) fn retype(self, name: &str, now: &TypedValue) -> Self {
        match self {
            Self::Reason(before) => Self::Reason(Box::new(before.retype(name, now))),
            Self::Secret(mut draft) => {
                draft.retype(name, now);
                Self::Secret(draft)
            }
            Self::Filling(mut draft) | Self::Review(mut draft) => {
                draft.retype(name, now);
                Self::filling(draft)
            }
            Self::Write(mut sampling) | Self::Reread(_, mut sampling) => {
                sampling.so_far = match now {
                    TypedValue::Text(text) => text.clone(),
                    TypedValue::Empty | TypedValue::Value(_) => String::new(),
                };
                Self::Write(sampling)
            }
            other => other,
        }
    }

    pub(super) fn end_of_input(self) -> Turn {
        Turn::reply(match self {
            // The user has already declined; only the reason is missing.
            Self::Reason(_) => declined(None),
            _ => Reply::Cancelled(Why::EndOfInput),
        })
    }

    /// Applies an action. Actions that do not fit the step are ignored.
    pub(super) fn said(self, question: &Question, said: Action) -> Turn {
        match (self, said) {
            (Self::Reason(_), Action::Fill(reason)) => Turn::reply(declined(Some(reason))),
            (Self::Reason(before), Action::Back) => Turn::to(*before),
            (_, Action::Cancel) => Turn::reply(Reply::Cancelled(Why::Person)),
            // Our own question has no server to decline it to.
            (_, Action::Decline(_)) if question.ask.is_ours() => {
                Turn::reply(Reply::Cancelled(Why::Person))
            }
            // The server has already answered, and gets no further message about this.
            (_, Action::Decline(_)) if question.is_of_error() => Turn::reply(declined(None)),
            (_, Action::Decline(Some(reason))) => Turn::reply(declined(Some(reason))),
            (step, Action::Decline(None)) => Turn::to(Self::Reason(Box::new(step))),
            (Self::Secret(draft), Action::Yes) => Turn::to(Self::filling(draft)),
            (Self::Filling(draft), said) => filling_said(draft, said),
            (Self::Review(draft), Action::Send) => Turn::reply(Reply::Form(draft.content())),
            (Self::Review(draft), Action::Back) => Turn::to(Self::Filling(draft)),
            (Self::Confirm, Action::Yes) => Turn::reply(Reply::Form(Content::new())),
            (Self::Consent(link), Action::Yes) if !link.warnings.is_empty() => {
                Turn::to(Self::Sure(link))
            }
            (Self::Consent(link) | Self::Sure(link), Action::Yes) => {
                let open = Effect::Open(link.url.clone());
                Turn::to(match question.ask {
                    Ask::SignIn { .. } => Self::Returning(link),
                    _ => Self::Opened(link),
                })
                .with(open)
            }
            (Self::Sure(link), Action::Back) => Turn::to(Self::Consent(link)),
            (Self::Opened(_), Action::Done) => Turn::reply(Reply::Link),
            (step @ (Self::Opened(_) | Self::Returning(_)), Action::OpenAgain) => Turn {
                effect: step.link().map(|link| Effect::Open(link.url.clone())),
                ..Turn::stay(step)
            },
            (step @ Self::Returning(_), Action::Fill(address)) => returned(step, question, address),
            (Self::Request(sampling), Action::Run(_)) => run(sampling),
            (Self::Request(sampling), Action::Rewrite(part @ (Part::System | Part::Message))) => {
                rewrite(sampling, part)
            }
            (Self::Request(mut sampling), Action::WriteMyself) => Turn::to(match sampling.kept() {
                Some(text) => Self::Reread(text, sampling),
                None => Self::Write(sampling),
            }),
            (Self::Running(sampling), Action::Back) => Turn::to(before(sampling)),
            (Self::Replied(sampling), Action::Send) => send_reply(sampling),
            (Self::Replied(mut sampling), Action::Run(_)) if sampling.has_model => {
                sampling.reply = None;
                run(sampling)
            }
            (Self::Replied(mut sampling), Action::Back) if sampling.has_model => {
                sampling.reply = None;
                Turn::to(Self::Request(sampling))
            }
            (Self::Replied(sampling), Action::Rewrite(Part::Reply)) => {
                rewrite(sampling, Part::Reply)
            }
            (Self::Rewrite(mut sampling, part, _), Action::Fill(text)) => {
                sampling.rewrite(part, text);
                Turn::to(before(sampling))
            }
            (Self::Rewrite(sampling, ..), Action::Back) => Turn::to(before(sampling)),
            (Self::Rewrite(sampling, part, _), Action::Draft(text)) => {
                Turn::stay(Self::Rewrite(sampling, part, text))
            }
            (Self::Write(mut sampling), Action::Draft(text)) => {
                sampling.so_far = text;
                Turn::stay(Self::Write(sampling))
            }
            (Self::Write(sampling), Action::Fill(text)) => Turn::to(Self::Reread(text, sampling)),
            (Self::Write(sampling), Action::Back) if sampling.has_model => {
                Turn::to(Self::Request(sampling))
            }
            (Self::Write(mut sampling), Action::Back) => match sampling.kept() {
                Some(text) => Turn::to(Self::Reread(text, sampling)),
                None => Turn::stay(Self::Write(sampling)),
            },
            (Self::Reread(text, sampling), Action::Send) if sampling.must_call() => {
                Turn::stay(Self::Reread(text, sampling))
                    .because("the server wants a tool called, which only a model can do: decline")
            }
            (Self::Reread(text, _), Action::Send) => Turn::reply(Reply::Text(text)),
            (Self::Reread(text, mut sampling), Action::Back) => {
                sampling.keep(text);
                Turn::to(Self::Write(sampling))
            }
            (Self::Folders(Some(root)), Action::Yes) => Turn::reply(Reply::Roots(vec![root])),
            (step @ Self::Folders(None), Action::Yes) => Turn::stay(step).because("name a folder"),
            (step @ Self::Folders(_), Action::Folder(path)) => {
                Turn::stay(step).with(Effect::CheckFolder(path))
            }
            (step, _) => Turn::stay(step),
        }
    }
}

fn text_typed(text: &str) -> Typed {
    let typed = match text {
        "" => TypedValue::Empty,
        text => TypedValue::Text(text.to_owned()),
    };
    Typed::from([(TEXT.to_owned(), typed)])
}

/// If the call continues by itself, the user's consent is the answer. It is sent only once the user
/// can act on the link.
pub(super) fn opened(step: Step, question: &Question, has_browser: bool) -> Turn {
    match (step, &question.ask) {
        (Step::Opened(_), Ask::Link { retried: false, .. }) if has_browser => {
            Turn::reply(Reply::Link)
        }
        (step @ (Step::Opened(_) | Step::Returning(_)), _) if !has_browser => {
            Turn::stay(step).because("open the link yourself, in any browser")
        }
        (step, _) => Turn::stay(step),
    }
}

/// During the sign-in, the user can also enter the final address by hand.
fn returned(step: Step, question: &Question, address: String) -> Turn {
    match &question.ask {
        Ask::SignIn { returns_to, .. } if !address.starts_with(returns_to) => {
            Turn::stay(step).because(words!("that address begins with {}", given(returns_to)))
        }
        _ => Turn::reply(Reply::Returned(address)),
    }
}

fn refused(message: &str, url: &str, refusal: Refusal) -> (Notice, Reply) {
    let reply = refusal.reply();
    let notice = Notice::LinkRefused {
        message: message.to_owned(),
        url: url.to_owned(),
        refusal,
    };
    (notice, reply)
}

fn declined(reason: Option<String>) -> Reply {
    Reply::Declined {
        by: By::Person,
        reason: reason.filter(|reason| !reason.trim().is_empty()),
    }
}

fn filling_said(mut draft: Draft, said: Action) -> Turn {
    match edit(&mut draft, said) {
        Ok(true) => Turn::to(Step::Review(draft)),
        Ok(false) => Turn::stay(Step::Filling(draft)),
        Err(issue) => Turn::stay(Step::Filling(draft)).because(issue),
    }
}

/// Returns whether to go to the review.
fn edit(draft: &mut Draft, said: Action) -> Result<bool, Words> {
    match said {
        Action::Write { field, text } => draft.write(field, text),
        Action::Choose { field, option } => draft.choose(field, option),
        Action::Clear(field) => draft.clear(field),
        Action::Submit => match draft.left() {
            0 => return Ok(true),
            1 => return Err("1 field is not ready yet".into()),
            left => {
                return Err(words!("{} fields are not ready yet", left));
            }
        },
        _ => {}
    }
    Ok(false)
}

fn send_reply(mut sampling: Sampling) -> Turn {
    match (sampling.fault(), sampling.reply.take()) {
        (None, Some(reply)) => Turn::reply(Reply::Sampled(Box::new(reply))),
        (fault, reply) => {
            sampling.reply = reply;
            Turn::stay(Step::Replied(sampling)).because(fault.unwrap_or_default())
        }
    }
}

/// The model did not reply. The user may try again.
pub(super) fn failed(sampling: Sampling, error: ModelError) -> Turn {
    let turn = Turn::to(Step::Request(sampling));
    match error.quoted {
        Some(quoted) => turn.with(Effect::Tell(Notice::ModelFailed(error.words, quoted))),
        None => turn.because(error.words),
    }
}

/// The model replied. A reply that cannot be sent goes to the user even if replies need no review.
pub(super) fn came(mut sampling: Sampling, reply: CreateMessageResult, is_permitted: bool) -> Turn {
    sampling.take_reply(reply);
    let fault = sampling.fault();
    match (fault, sampling.reply.take()) {
        (None, Some(reply)) if is_permitted => Turn::reply(Reply::Sampled(Box::new(reply))),
        (fault, reply) => {
            sampling.reply = reply;
            Turn {
                issue: fault,
                ..Turn::to(Step::Replied(sampling))
            }
        }
    }
}

fn run(sampling: Sampling) -> Turn {
    let request = Box::new(sampling.request.clone());
    Turn::to(Step::Running(sampling)).with(Effect::Run(request))
}

fn rewrite(sampling: Sampling, part: Part) -> Turn {
    match sampling.text(part) {
        Some(text) => Turn::to(Step::Rewrite(sampling, part, text)),
        None => Turn::stay(before(sampling)).because("there is no text to rewrite"),
    }
}

/// The step at which the user reviews the reply, or the request if no reply has arrived.
fn before(sampling: Sampling) -> Step {
    match sampling.reply {
        Some(_) => Step::Replied(sampling),
        None => Step::Request(sampling),
    }
}
