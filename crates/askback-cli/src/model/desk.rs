//! The desk: the questions that wait, and the one in front of the person.

use std::{collections::VecDeque, mem};

use askback_core::{
    forms::{Content, Field},
    limits::Limits,
    protocol::Root,
};
use serde_json::Value;

use super::{
    Ask, By, Draft, Question, Reply, Why,
    link::{self, Link, Refusal},
};

/// Every question of one server: one in front of the person, others waiting.
#[derive(Debug)]
pub struct Desk {
    front: Option<Open>,
    waiting: VecDeque<Open>,
    /// Questions answered since the desk was last empty.
    answered: usize,
    muted: bool,
    /// The folders the person has agreed to show this server.
    shared: Option<Vec<Root>>,
    /// The folder that is offered.
    offer: Option<Root>,
    unanswered: bool,
    limits: Limits,
}

/// What happens to a [`Desk`].
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A question arrives, under a number of the caller's.
    Asked(u64, Question),
    /// A question is taken back.
    Withdrawn(u64),
    /// The person said something about the question in front.
    Said(Said),
    /// The person will say nothing more.
    EndOfInput,
    /// What came of an [`Effect::CheckFolder`].
    Folder(Result<Root, String>),
    /// The server says that a link is done.
    LinkDone(String),
}

/// What a person says about the question in front.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// This is the value, or the reason, or the text.
    Fill(String),
    /// Go on with what is there. In a review: send it.
    Keep,
    /// Leave the field empty.
    Clear,
    /// Back to what came before.
    Back,
    /// Open that field of the form, or the text, again.
    Reopen(usize),
    /// Yes.
    Yes,
    /// This folder.
    Folder(String),
    /// Open the link again.
    OpenAgain,
    /// No; and why, if that is said at once.
    Decline(Option<String>),
    /// Neither yes nor no.
    Cancel,
    /// No more questions of this server.
    Mute,
}

/// What is to be done after an [`Event`].
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Answer the question of that number.
    Answer(u64, Reply),
    /// Open a link in the browser of the system.
    Open(String),
    /// See whether a folder is there and tell with [`Event::Folder`].
    CheckFolder(String),
    /// Tell the person.
    Tell(Notice),
}

/// What the person is told without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// The server took its question back.
    Withdrawn,
    /// A link was declined without asking.
    LinkRefused {
        /// What the server said.
        message: String,
        /// The link, as the server wrote it.
        url: String,
        /// Why it is not opened.
        refusal: Refusal,
    },
    /// Questions are cancelled from now on.
    Muted,
    /// A question was cancelled, for too many wait.
    Flood,
    /// The person is back from the link, says the server.
    LinkDone,
}

/// The question in front of the person, as it is to be shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Front<'a> {
    /// Its number.
    pub id: u64,
    /// The question.
    pub question: &'a Question,
    /// Which of the questions it is, from 1.
    pub position: usize,
    /// How many there are.
    pub total: usize,
    /// What is wanted of the person now.
    pub step: Step<'a>,
    /// How often the step has changed: what was shown at the same turn need not be shown again.
    pub turn: u64,
    /// What was wrong with what the person said last.
    pub issue: Option<&'a str>,
}

/// What is wanted of the person.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Step<'a> {
    /// To say yes before fields are filled in that seem to ask for secrets.
    Secret(&'a Draft),
    /// To fill in a field.
    Field {
        /// The form.
        draft: &'a Draft,
        /// Which of its fields.
        index: usize,
        /// The field.
        field: &'a Field,
        /// What it holds.
        value: Option<&'a Value>,
    },
    /// To look over a form and send it.
    Review(&'a Draft),
    /// To say yes to a form without fields.
    Confirm,
    /// To agree to opening a link.
    Consent(&'a Link),
    /// To agree once more, for the link may mislead.
    Sure(&'a Link),
    /// To say when what is behind the link is done.
    Opened(&'a Link),
    /// To write what a model would.
    Write,
    /// To look over that text and send it.
    Reread(&'a str),
    /// To choose a folder; this one is offered.
    Folders(Option<&'a Root>),
    /// To say why not.
    Reason,
}

#[derive(Debug)]
struct Open {
    id: u64,
    question: Question,
    stage: Stage,
    turn: u64,
    issue: Option<String>,
}

#[derive(Debug)]
enum Stage {
    Secret(Draft),
    Field {
        draft: Draft,
        at: usize,
        /// Whether the review comes next, for the field was reopened from there.
        reopened: bool,
    },
    Review(Draft),
    Consent(Link),
    Sure(Link),
    Opened(Link),
    Write,
    Reread(String),
    Folders,
    Reason(Box<Stage>),
}

/// What a stage comes to: another one, or the reply; and what is to be done besides.
struct Turn {
    next: Result<Stage, Reply>,
    /// Whether the stage is another one than before.
    moved: bool,
    issue: Option<String>,
    effect: Option<Effect>,
}

impl Desk {
    /// A desk without questions. `offer` is the folder offered as a root; `shared` are the
    /// folders agreed to beforehand.
    pub fn new(offer: Option<Root>, shared: Option<Vec<Root>>, limits: Limits) -> Self {
        Self {
            front: None,
            waiting: VecDeque::new(),
            answered: 0,
            muted: false,
            shared,
            offer,
            unanswered: false,
            limits,
        }
    }

    /// The question in front of the person.
    pub fn front(&self) -> Option<Front<'_>> {
        let open = self.front.as_ref()?;
        Some(Front {
            id: open.id,
            question: &open.question,
            position: self.answered + 1,
            total: self.answered + 1 + self.waiting.len(),
            step: open.stage.step(self.offer.as_ref()),
            turn: open.turn,
            issue: open.issue.as_deref(),
        })
    }

    /// Whether any question was declined or cancelled so far.
    pub fn unanswered(&self) -> bool {
        self.unanswered
    }

    /// The folders the person has agreed to show, if that was asked.
    pub fn shared(&self) -> Option<&[Root]> {
        self.shared.as_deref()
    }

    /// Shows these folders from now on without asking.
    pub fn share(&mut self, roots: Vec<Root>) {
        self.shared = Some(roots);
    }

    /// Takes in what happened and says what is to be done.
    pub fn update(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Asked(id, question) => self.asked(id, question),
            Event::Withdrawn(id) => self.withdrawn(id),
            Event::Said(Said::Mute) => self.mute(),
            Event::Said(said) => {
                self.turn(|stage, question, offer| stage.said(question, offer, said))
            }
            Event::EndOfInput => self.turn(|stage, _, _| stage.end_of_input()),
            Event::Folder(found) => self.folder(found),
            Event::LinkDone(id) => self.link_done(&id),
        }
    }

    fn asked(&mut self, id: u64, question: Question) -> Vec<Effect> {
        let answer = |reply| Effect::Answer(id, reply);
        if self.muted && !matches!(question.ask, Ask::Arguments { .. }) {
            self.unanswered = true;
            return vec![answer(Reply::Cancelled(Why::Muted))];
        }
        if self.waiting.len() >= self.limits.questions_waiting {
            self.unanswered = true;
            return vec![
                answer(Reply::Cancelled(Why::Flood)),
                Effect::Tell(Notice::Flood),
            ];
        }
        if let (Ask::Roots, Some(roots)) = (&question.ask, &self.shared) {
            return vec![answer(Reply::Roots(roots.clone()))];
        }
        match Stage::first(&question.ask, &self.limits) {
            Ok(stage) => {
                self.waiting.push_back(Open {
                    id,
                    question,
                    stage,
                    turn: 0,
                    issue: None,
                });
                if self.front.is_none() {
                    self.bring_forward();
                }
                Vec::new()
            }
            Err((notice, reply)) => {
                self.unanswered = true;
                vec![Effect::Tell(notice), answer(reply)]
            }
        }
    }

    /// Puts the next waiting question in front.
    fn bring_forward(&mut self) {
        self.front = self.waiting.pop_front();
        if self.front.is_none() {
            self.answered = 0;
        }
    }

    fn withdrawn(&mut self, id: u64) -> Vec<Effect> {
        self.waiting.retain(|open| open.id != id);
        if self.front.as_ref().is_none_or(|open| open.id != id) {
            return Vec::new();
        }
        self.bring_forward();
        vec![Effect::Tell(Notice::Withdrawn)]
    }

    fn mute(&mut self) -> Vec<Effect> {
        self.muted = true;
        self.answered = 0;
        let front = self.front.take();
        let mut effects: Vec<_> = front
            .into_iter()
            .chain(mem::take(&mut self.waiting))
            .map(|open| Effect::Answer(open.id, Reply::Cancelled(Why::Muted)))
            .collect();
        self.unanswered |= !effects.is_empty();
        effects.push(Effect::Tell(Notice::Muted));
        effects
    }

    fn folder(&mut self, found: Result<Root, String>) -> Vec<Effect> {
        self.turn(|stage, _, _| match (stage, found) {
            (Stage::Folders, Ok(root)) => Turn::reply(Reply::Roots(vec![root])),
            (stage, Err(issue)) => Turn::stay(stage).because(issue),
            (stage, Ok(_)) => Turn::stay(stage),
        })
    }

    fn link_done(&mut self, done: &str) -> Vec<Effect> {
        let is_open = self.front.as_ref().is_some_and(|open| {
            let asked = matches!(&open.question.ask, Ask::Link { id: Some(id), .. } if id == done);
            asked && matches!(open.stage, Stage::Opened(_))
        });
        if !is_open {
            return Vec::new();
        }
        let mut effects = vec![Effect::Tell(Notice::LinkDone)];
        effects.extend(self.turn(|_, _, _| Turn::reply(Reply::Link)));
        effects
    }

    /// Moves the question in front by one turn.
    fn turn(&mut self, step: impl FnOnce(Stage, &Question, Option<&Root>) -> Turn) -> Vec<Effect> {
        let Some(open) = self.front.take() else {
            return Vec::new();
        };
        let turn = step(open.stage, &open.question, self.offer.as_ref());
        let mut effects: Vec<_> = turn.effect.into_iter().collect();
        match turn.next {
            Ok(stage) => {
                self.front = Some(Open {
                    stage,
                    turn: open.turn + u64::from(turn.moved),
                    issue: turn.issue,
                    ..open
                });
            }
            Err(reply) => {
                if let Reply::Roots(roots) = &reply {
                    self.shared = Some(roots.clone());
                }
                self.unanswered |=
                    reply.is_refusal() && !matches!(open.question.ask, Ask::Arguments { .. });
                effects.push(Effect::Answer(open.id, reply));
                self.answered += 1;
                self.bring_forward();
            }
        }
        effects
    }
}

impl Turn {
    fn to(stage: Stage) -> Self {
        Self {
            next: Ok(stage),
            moved: true,
            issue: None,
            effect: None,
        }
    }

    fn stay(stage: Stage) -> Self {
        Self {
            moved: false,
            ..Self::to(stage)
        }
    }

    fn reply(reply: Reply) -> Self {
        Self {
            next: Err(reply),
            moved: true,
            issue: None,
            effect: None,
        }
    }

    fn because(self, issue: impl Into<String>) -> Self {
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

impl Stage {
    /// Where a question begins; or, for one that is not put before the person, what the person is
    /// told and the server answered.
    fn first(ask: &Ask, limits: &Limits) -> Result<Self, (Notice, Reply)> {
        Ok(match ask {
            Ask::Form { schema, .. } => {
                let draft = Draft::new(schema.clone(), &Content::new(), limits.clone());
                if draft.fields().iter().any(Field::looks_secret) {
                    Self::Secret(draft)
                } else {
                    Self::field(draft, 0)
                }
            }
            Ask::Arguments { schema, preset } => {
                Self::field(Draft::new(schema.clone(), preset, limits.clone()), 0)
            }
            Ask::Link { message, url, .. } => {
                Self::Consent(link::judge(url).map_err(|refusal| refused(message, url, refusal))?)
            }
            Ask::Sample(_) => Self::Write,
            Ask::Roots => Self::Folders,
        })
    }

    /// A field of a form, or the review where there is no such field.
    fn field(draft: Draft, at: usize) -> Self {
        if at < draft.fields().len() {
            Self::Field {
                draft,
                at,
                reopened: false,
            }
        } else {
            Self::Review(draft)
        }
    }

    fn step<'a>(&'a self, offer: Option<&'a Root>) -> Step<'a> {
        match self {
            Self::Secret(draft) => Step::Secret(draft),
            Self::Field { draft, at, .. } => Step::Field {
                draft,
                index: *at,
                field: &draft.fields()[*at],
                value: draft.value(*at),
            },
            Self::Review(draft) if draft.fields().is_empty() => Step::Confirm,
            Self::Review(draft) => Step::Review(draft),
            Self::Consent(link) => Step::Consent(link),
            Self::Sure(link) => Step::Sure(link),
            Self::Opened(link) => Step::Opened(link),
            Self::Write => Step::Write,
            Self::Reread(text) => Step::Reread(text),
            Self::Folders => Step::Folders(offer),
            Self::Reason(_) => Step::Reason,
        }
    }

    fn end_of_input(self) -> Turn {
        Turn::reply(match self {
            // The no was said; only the reason is missing.
            Self::Reason(_) => declined(None),
            _ => Reply::Cancelled(Why::EndOfInput),
        })
    }

    fn said(self, question: &Question, offer: Option<&Root>, said: Said) -> Turn {
        match (self, said) {
            (Self::Reason(_), Said::Fill(reason)) => Turn::reply(declined(Some(reason))),
            (Self::Reason(_), Said::Keep) => Turn::reply(declined(None)),
            (Self::Reason(before), Said::Back) => Turn::to(*before),
            (_, Said::Cancel) => Turn::reply(Reply::Cancelled(Why::Person)),
            // There is nobody to decline our own form to.
            (_, Said::Decline(_)) if matches!(question.ask, Ask::Arguments { .. }) => {
                Turn::reply(Reply::Cancelled(Why::Person))
            }
            (_, Said::Decline(Some(reason))) => Turn::reply(declined(Some(reason))),
            (stage, Said::Decline(None)) => Turn::to(Self::Reason(Box::new(stage))),
            (Self::Secret(draft), Said::Yes) => Turn::to(Self::field(draft, 0)),
            (
                Self::Field {
                    draft,
                    at,
                    reopened,
                },
                said,
            ) => field_said(draft, at, reopened, said),
            (Self::Review(draft), said) => review_said(draft, said),
            (stage @ (Self::Consent(_) | Self::Sure(_) | Self::Opened(_)), said) => {
                stage.link_said(question, said)
            }
            (Self::Write, Said::Fill(text)) => Turn::to(Self::Reread(text)),
            (Self::Reread(text), Said::Keep) => Turn::reply(Reply::Text(text)),
            (Self::Reread(_), Said::Reopen(_) | Said::Back) => Turn::to(Self::Write),
            (Self::Folders, Said::Yes) => match offer {
                Some(root) => Turn::reply(Reply::Roots(vec![root.clone()])),
                None => Turn::stay(Self::Folders).because("name a folder"),
            },
            (Self::Folders, Said::Folder(path)) => {
                Turn::stay(Self::Folders).with(Effect::CheckFolder(path))
            }
            (stage, _) => Turn::stay(stage),
        }
    }

    fn link_said(self, question: &Question, said: Said) -> Turn {
        match (self, said) {
            (Self::Consent(link), Said::Yes) if !link.warnings.is_empty() => {
                Turn::to(Self::Sure(link))
            }
            (Self::Consent(link) | Self::Sure(link), Said::Yes) => {
                let open = Effect::Open(link.url.clone());
                match question.ask {
                    Ask::Link { retried: true, .. } => Turn::to(Self::Opened(link)).with(open),
                    _ => Turn::reply(Reply::Link).with(open),
                }
            }
            (Self::Sure(link), Said::Back) => Turn::to(Self::Consent(link)),
            (Self::Opened(_), Said::Keep | Said::Yes) => Turn::reply(Reply::Link),
            (Self::Opened(link), Said::OpenAgain) => {
                let open = Effect::Open(link.url.clone());
                Turn::stay(Self::Opened(link)).with(open)
            }
            (stage, _) => Turn::stay(stage),
        }
    }
}

/// A link that is declined without asking.
fn refused(message: &str, url: &str, refusal: Refusal) -> (Notice, Reply) {
    let reply = Reply::Declined {
        by: By::Policy,
        reason: Some(format!("The link is not opened: {refusal}")),
    };
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

fn field_said(mut draft: Draft, at: usize, reopened: bool, said: Said) -> Turn {
    let done = match said {
        Said::Fill(text) => draft.fill(at, &text),
        Said::Keep => draft.keep(at),
        Said::Clear => draft.clear(at),
        Said::Back if reopened => return Turn::to(Stage::Review(draft)),
        Said::Back if at > 0 => return Turn::to(Stage::field(draft, at - 1)),
        Said::Back => Err("this is the first field".to_owned()),
        _ => {
            return Turn::stay(Stage::Field {
                draft,
                at,
                reopened,
            });
        }
    };
    match done {
        Err(issue) => Turn::stay(Stage::Field {
            draft,
            at,
            reopened,
        })
        .because(issue),
        Ok(()) if reopened => Turn::to(Stage::Review(draft)),
        Ok(()) => Turn::to(Stage::field(draft, at + 1)),
    }
}

fn review_said(draft: Draft, said: Said) -> Turn {
    let empty = draft.fields().is_empty();
    match said {
        Said::Yes if empty => Turn::reply(Reply::Form(draft.content())),
        Said::Keep if !empty => match draft.missing() {
            Some(at) => Turn::to(Stage::field(draft, at)).because("must be given"),
            None => Turn::reply(Reply::Form(draft.content())),
        },
        Said::Back if !empty => {
            let last = draft.fields().len() - 1;
            Turn::to(Stage::field(draft, last))
        }
        Said::Reopen(at) if at < draft.fields().len() => Turn::to(Stage::Field {
            draft,
            at,
            reopened: true,
        }),
        Said::Reopen(_) => Turn::stay(Stage::Review(draft)).because("there is no such field"),
        _ => Turn::stay(Stage::Review(draft)),
    }
}
