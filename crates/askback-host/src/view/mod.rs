//! Everything that the user is shown about the question in front, as plain data.
//!
//! [`view`] is the only place that collects these sentences; renderers lay out a [`View`].
//! Serialized for programs, our sentences are `{"ours": …}` and a peer's text is `{"peer": …}`. What only
//! says the same in other words for a layout is left out.

mod actions;
mod form;
mod help;
mod link;
mod sampling;

use askback::limits::Limits;
use serde::Serialize;
use serde_json::Value;

pub use actions::{Act, ActionView};
pub(crate) use actions::{hides_any, on_key};
use form::has_secret;
pub use form::{
    ChoiceView, DroppedView, FieldState, FieldView, FormView, Input, ReviewView, SecretView,
    SuggestedView,
};
pub(crate) use form::{MAX_OPEN_CHOICES, field_lines, is_secret};
pub use help::{Does, Help};
pub use link::{Address, Destination, LinkStep, LinkView, WarningView, destination};
pub use sampling::{MessageView, RequestView, ToolView, ToolsView, WriteView};

use crate::{
    browser, folder,
    model::{Action, Ask, Asker, Call, Desk, Event, Front, Origin, Question, Step, link::judge},
    page::Style,
    text::{self, PeerText, Words, given},
    words,
};

/// Everything that the user is shown about a question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct View {
    pub kind: Kind,
    /// Who asks for what.
    pub title: Title,
    /// Its position, if several questions wait.
    #[serde(skip)]
    pub queue: Option<Queue>,
    pub asker: AskerView,
    pub call: Option<CallView>,
    /// The reason for asking.
    pub message: Vec<Part>,
    /// The user's current step.
    pub body: Body,
    /// Why the last input was not accepted, or a warning.
    pub issue: Option<Words>,
    /// The available actions, with decline, cancel and help at the end.
    pub actions: Vec<ActionView>,
    /// The available actions as a sentence, before the prompt of the line front end. Form fields
    /// have their own.
    #[serde(skip)]
    pub prompt: Words,
    /// The list of keys and commands.
    #[serde(skip)]
    pub help: Help,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    Form,
    Link,
    Sampling,
    Roots,
    /// The arguments of a call, or a request that the user edits.
    Arguments,
    /// Whether to repeat a call after its connection was lost.
    Retry,
    /// Whether to repeat a call in an older revision.
    Older,
    SignIn,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Title {
    /// On a line of its own.
    pub words: Words,
    /// For narrow screens.
    #[serde(skip)]
    pub short: Words,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Queue {
    /// The position from 1, and the number of questions, including those of other servers.
    pub words: Words,
    /// For narrow screens.
    pub short: Words,
}

/// A server under the user's name for it, and its description of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskerView {
    /// The name that the user gave it.
    pub name: Words,
    /// Its command or address.
    pub origin: Text,
    /// Its own name and version.
    pub claims: Option<Labelled>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CallView {
    /// Precedes the name on a separate line: `for the tool`.
    pub label: Words,
    /// Follows a title and precedes the name: `call`. Empty if the title says it.
    #[serde(skip)]
    pub short: Words,
    /// The name of the tool or prompt, or the URI of the resource.
    pub name: PeerText,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Text {
    Ours(Words),
    Peer(PeerText),
}

/// A peer's text with our label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Labelled {
    pub label: Words,
    pub text: PeerText,
}

impl Labelled {
    fn new(label: impl Into<Words>, text: impl Into<PeerText>) -> Self {
        Self {
            label: label.into(),
            text: text.into(),
        }
    }
}

/// A part of a question's message.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Part {
    /// Our own sentence. A strong one is a title.
    Say(Style, Words),
    /// An error, with our description and the peer's.
    Wrong(Words, Option<PeerText>),
    /// A peer's text, of any number of lines.
    Text(PeerText),
    /// A fact on one line.
    Line(Labelled),
    /// A fact that belongs to the line above. The label may be empty.
    Detail(Labelled),
    Request(Box<RequestView>),
}

/// The user's current step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Body {
    /// Agree to the message.
    Nothing,
    /// Agree to a form that seems to ask for secrets.
    Secret(SecretView),
    Form(FormView),
    Review(FormView),
    Link(Box<LinkView>),
    /// Review a sampling request, as the user changed it, and let a model reply.
    Request(Vec<Part>),
    Running(Words),
    /// Review a model's reply or the user's own, and send it.
    Reply(Vec<Part>),
    /// Write a reply instead of a model, or rewrite a part of a request or reply.
    Write(WriteView),
    Folders {
        offered: Option<Words>,
        /// The label for the path of another folder.
        label: Words,
    },
    /// Give a reason. This is the label.
    Reason(Words),
    /// The fields or the link, without actions.
    Outline(Outline),
}

/// The fields or the link of a question, without actions. Used if the question cannot be answered
/// here, or is printed in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outline {
    pub key: Option<PeerText>,
    /// Each field or link.
    pub lines: Vec<PeerText>,
}

/// Facts about the user that a view depends on.
#[derive(Debug, Clone, Copy, Default)]
pub struct Reader {
    /// Whether the user reached this machine from another one.
    pub is_elsewhere: bool,
    /// Whether the user wants to see secrets.
    pub reveals: bool,
}

impl Reader {
    /// The user of this process, who sees no secrets at first.
    pub(crate) fn here() -> Self {
        Self {
            is_elsewhere: browser::is_elsewhere(),
            reveals: false,
        }
    }
}

/// The maximum length of a server's own name or version, in characters.
const CLAIM_MAX_CHARS: usize = 40;

/// Describes the question in front.
pub fn view(asker: &Asker, front: &Front<'_>, reader: Reader) -> View {
    let (position, total) = (front.position, front.total);
    let queue = (total > 1).then(|| Queue {
        words: words!("question {} of {}", position, total),
        short: words!("{} of {}", position, total),
    });
    View {
        queue,
        issue: front.issue.cloned(),
        actions: actions::actions(front),
        prompt: actions::prompt(front),
        help: help::help(front),
        ..with(asker, front.question, body(asker, front, reader))
    }
}

fn body(asker: &Asker, front: &Front<'_>, reader: Reader) -> Body {
    let link = |link, step| Body::Link(Box::new(link::link(asker, front, link, step, reader)));
    match front.step {
        Step::Secret(_) => form::secret(&front.question.ask).map_or(Body::Nothing, Body::Secret),
        Step::Filling(draft) => Body::Form(form::form(asker, front, draft, reader)),
        Step::Review(draft) => Body::Review(form::form(asker, front, draft, reader)),
        Step::Consent(it) => link(it, LinkStep::Consent),
        Step::Sure(it) => link(it, LinkStep::Sure),
        Step::Opened(it) => link(it, LinkStep::Opened),
        Step::Returning(it) => link(it, LinkStep::Returning),
        Step::Folders(root) => Body::Folders {
            offered: root
                .as_ref()
                .map(|root| words!("Offered: {}", folder::shown(&root.uri))),
            label: "Another folder:".into(),
        },
        Step::Reason(_) => Body::Reason("Why not? (optional)".into()),
        _ => sampling::body(asker, front),
    }
}

/// Describes a question for a program that only reads. The issue is the warning about a secret or a link.
pub fn unanswered(asker: &Asker, question: &Question) -> View {
    let issue = match &question.ask {
        Ask::Link { url, .. } => {
            let refusal = judge(url).err();
            refusal.map(|why| words!("No front end opens this link: {}", why.words()))
        }
        ask => form::secret(ask).map(|secret| secret.words),
    };
    let mut desk = Desk::new(asker.clone(), None, None, Limits::default());
    desk.update(Event::Asked(0, question.clone()));
    if matches!(desk.front(), Some(front) if matches!(front.step, Step::Secret(_))) {
        desk.update(Event::Action(Action::Yes));
    }
    let view = match desk.front() {
        Some(front) => view(asker, &front, Reader::default()),
        None => outline(asker, question),
    };
    View { issue, ..view }
}

/// Describes a question without actions. Used if no user can answer it here, or if it is printed in
/// full.
pub fn outline(asker: &Asker, question: &Question) -> View {
    let lines = match &question.ask {
        Ask::Form { schema, .. } => field_lines(schema).map(PeerText::from).collect(),
        Ask::Link { url, .. } | Ask::SignIn { url, .. } => vec![text::line(url).into()],
        _ => Vec::new(),
    };
    let outline = Outline {
        key: question.key.as_ref().map(PeerText::from),
        lines,
    };
    with(asker, question, Body::Outline(outline))
}

fn with(asker: &Asker, question: &Question, body: Body) -> View {
    let call = question.call.as_ref().map(|call| CallView {
        short: match (&question.ask, call) {
            (Ask::Arguments { .. }, Call::Tool(_)) => Words::default(),
            _ => self::call(call).short,
        },
        ..self::call(call)
    });
    View {
        kind: kind(&question.ask),
        title: title(question, name(asker)),
        queue: None,
        asker: self::asker(asker),
        call,
        message: message(&question.ask),
        body,
        issue: None,
        actions: Vec::new(),
        prompt: Words::default(),
        help: Help::default(),
    }
}

pub(crate) fn name(asker: &Asker) -> Words {
    given(&asker.name).short()
}

fn kind(ask: &Ask) -> Kind {
    match ask {
        Ask::Form { .. } => Kind::Form,
        Ask::Link { .. } => Kind::Link,
        Ask::Sample(_) => Kind::Sampling,
        Ask::Roots => Kind::Roots,
        Ask::Arguments { .. } => Kind::Arguments,
        Ask::Retry { .. } => Kind::Retry,
        Ask::Older { .. } => Kind::Older,
        Ask::Register { .. } | Ask::Client { .. } | Ask::SignIn { .. } => Kind::SignIn,
    }
}

fn title(question: &Question, name: Words) -> Title {
    let words: Words = match &question.ask {
        Ask::Form { .. } => words!("{} asks", name),
        Ask::Link { .. } => words!("{} wants to open a page", name),
        Ask::Sample(_) => words!("{} wants the reply of a model", name),
        Ask::Roots => words!("{} asks which folders it may work in", name),
        Ask::Register { .. } | Ask::Client { .. } | Ask::SignIn { .. } => {
            words!("{} wants you to sign in", name)
        }
        Ask::Retry { .. } => words!("The connection to {} was lost", name),
        Ask::Older { revision } => words!(
            "{} can ask in {}, but not in a newer revision",
            name,
            *revision
        ),
        Ask::Arguments { .. } => "The arguments of the call".into(),
    };
    let short = match &question.ask {
        Ask::Sample(_) => words!("{} wants a model's reply", name),
        Ask::Roots => words!("{} asks for folders", name),
        Ask::Retry { .. } => words!("{} was lost", name),
        _ => words.clone(),
    };
    Title { words, short }
}

pub fn asker(asker: &Asker) -> AskerView {
    let cut = |claim: &str| text::cut(claim, CLAIM_MAX_CHARS);
    AskerView {
        name: name(asker),
        origin: match &asker.reached {
            Origin::Typed(reached) => Text::Ours(given(reached)),
            Origin::Listed(reached) => Text::Peer(text::line(reached.raw()).into()),
        },
        claims: asker.claims.as_ref().map(|claims| {
            let name = cut(claims.title.as_ref().unwrap_or(&claims.name));
            let version = cut(&claims.version);
            Labelled::new("says it is", format!("{name} {version}"))
        }),
    }
}

pub(crate) fn call(call: &Call) -> CallView {
    let (label, short, name): (Words, Words, _) = match call {
        Call::Tool(name) => ("for the tool".into(), "call".into(), name),
        Call::Task { number, tool } => (
            words!("for task {}, the tool", *number),
            words!("task {}", *number),
            tool,
        ),
        Call::Prompt(name) => ("for the prompt".into(), "prompt".into(), name),
        Call::Resource(uri) => ("for the resource".into(), "resource".into(), uri),
    };
    CallView {
        label,
        short,
        name: name.into(),
    }
}

fn message(ask: &Ask) -> Vec<Part> {
    let at = |issuer: &String| Part::Detail(Labelled::new("at", issuer));
    match ask {
        Ask::Sample(it) => vec![Part::Request(Box::new(sampling::request(it)))],
        Ask::Retry {
            why,
            quoted,
            written,
            secret,
        } => {
            let kept = "What you wrote is kept, and is sent again where the same is asked.";
            let not_kept = "A form that asks for a secret is not kept: you fill it in again.";
            let form: Option<Words> = match (written, secret) {
                (true, true) => Some(words!("{} {}", kept, not_kept)),
                (true, false) => Some(kept.into()),
                (false, true) => Some(not_kept.into()),
                (false, false) => None,
            };
            let again = "What the call did before it was lost, it does again.";
            let mut parts = vec![Part::Wrong(why.clone(), quoted.clone())];
            parts.extend(form.map(|words| Part::Say(Style::Plain, words)));
            parts.push(Part::Say(Style::Warning, again.into()));
            parts
        }
        Ask::Older { revision } => {
            let words = words!(
                "Call it again in {}? The server is started again for that, or reached again.",
                *revision
            );
            vec![Part::Say(Style::Plain, words)]
        }
        Ask::Register { issuer } => {
            let words =
                "askback is not known there, and registers itself before the sign-in begins.";
            vec![at(issuer), Part::Say(Style::Plain, words.into())]
        }
        Ask::Client { issuer, returns_to } => {
            let register = "askback is not known there, and cannot register itself. Register a client there by hand, for the address";
            let name = "and give its ID here. The port is another one each time, unless --callback-port names it; a client with a secret is named by --client-id and --client-secret-file instead.";
            vec![
                at(issuer),
                Part::Say(Style::Plain, register.into()),
                Part::Detail(Labelled::new("", returns_to)),
                Part::Say(Style::Plain, name.into()),
            ]
        }
        Ask::SignIn {
            issuer,
            scopes,
            more,
            ..
        } => {
            let scopes = scopes
                .as_deref()
                .map(|it| Part::Detail(Labelled::new("for", it)));
            let more = more.as_deref();
            let more = more.map(|it| Part::Line(Labelled::new("Not asked for before:", it)));
            [at(issuer)].into_iter().chain(scopes).chain(more).collect()
        }
        Ask::Arguments {
            about,
            given,
            is_destructive,
            ..
        } => {
            let about = about.iter().map(|about| Part::Text(about.into()));
            let given = given.iter().map(|(name, value)| {
                let value = match value {
                    Value::String(text) => text.clone(),
                    value => value.to_string(),
                };
                Part::Line(Labelled::new("with", format!("{name} = {value}")))
            });
            let warning = "! The server says that this may change or delete something.";
            let warning = is_destructive.then(|| Part::Say(Style::Warning, warning.into()));
            about.chain(given).chain(warning).collect()
        }
        ask => vec![Part::Text(ask.message().unwrap_or_default().into())],
    }
}
