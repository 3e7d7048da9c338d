//! Renders the commands that the user can run, and the results of the calls of this session.

use std::collections::VecDeque;

use askama::Template;
use bytes::Bytes;

use super::html::Html;
use crate::{
    content::{self, CallOutcome},
    model::{About, Call, Conversation, Far, Offer, Presence},
    remarks,
    server_id::ServerId,
    tasks::{Task, Tasks},
    text::{self, PeerText, Words, given},
    wire::indented,
    words,
};

const MAX_RESULTS: usize = 20;

/// The maximum size of the files of all results. Older results lose their files first.
const MAX_FILE_BYTES: usize = 64 << 20;

/// The maximum length of a text in a result, in characters. The whole result can be downloaded.
const MAX_TEXT_CHARS: usize = 20_000;

/// The types of pictures that the page shows, by their first bytes. SVG is not among them, because
/// it can contain scripts.
const PICTURES: [(&[u8], &str); 4] = [
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
];

#[derive(Debug, Clone)]
pub(super) struct ResultFile {
    number: u64,
    pub(super) bytes: Bytes,
    /// The type, if it is a picture that the page shows.
    pub(super) picture: Option<&'static str>,
    pub(super) name: &'static str,
}

/// About as many characters fit in a row of a result.
const ROW_COLUMNS: usize = 80;

/// The results of the calls of this session, newest first.
#[derive(Default)]
pub(super) struct Results {
    all: VecDeque<ResultPart>,
    last_file: u64,
}

struct ResultPart {
    number: u64,
    kind: &'static str,
    name: PeerText,
    failed: bool,
    text: PeerText,
    left: Option<Words>,
    structured: Option<PeerText>,
    files: Vec<ResultFile>,
}

#[derive(Template)]
#[template(path = "web/results.html")]
struct ResultsPage<'a> {
    visit: &'a str,
    results: &'a VecDeque<ResultPart>,
}

#[derive(Template)]
#[template(path = "web/bench.html")]
struct BenchPage<'a> {
    state: BenchState<'a>,
    call: Option<PeerText>,
    far: Option<&'a Far>,
    has_called: bool,
    groups: Vec<Group<'a>>,
    levels: [&'static str; 8],
    /// The level that the user asked for, or nothing.
    log: &'static str,
}

struct Group<'a> {
    id: &'static str,
    title: &'static str,
    /// Whether they are commands of askback. Missing arguments of all others are asked for in a form.
    is_ours: bool,
    offers: Vec<&'a Offer>,
}

#[derive(Template)]
#[template(path = "web/servers.html")]
struct ServersPart<'a> {
    state: BenchState<'a>,
    servers: Vec<ServerPart<'a>>,
    waiting: Option<Words>,
}

struct ServerPart<'a> {
    name: Words,
    state: &'static str,
    is_chosen: bool,
    choose: Option<&'a str>,
    restart: Option<&'a str>,
    failure: Option<&'a (Words, Option<PeerText>)>,
}

#[derive(Template)]
#[template(path = "web/tasks.html")]
struct TasksPart<'a> {
    state: BenchState<'a>,
    /// Newest first, with their numbers.
    tasks: Vec<(u32, Task)>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct BenchState<'a> {
    pub(super) token: &'a str,
    pub(super) visit: &'a str,
    /// Whether a command can be run now.
    pub(super) is_idle: bool,
}

/// Returns nothing if there are no commands, as in front of a program without a user.
pub(super) fn bench(talk: &Conversation, state: BenchState<'_>) -> Html {
    let offers = talk.offers().fitting("");
    if offers.is_empty() {
        return Html::default();
    }
    let groups = [
        ("tools", "Tools"),
        ("prompts", "Prompts"),
        ("resources", "Resources"),
        (OURS, "Other commands"),
    ];
    let groups = groups.map(|(id, title)| {
        let offers = offers.iter().copied();
        Group {
            id,
            title,
            is_ours: id == OURS,
            offers: offers.filter(|offer| group(offer) == id).collect(),
        }
    });
    let groups = groups.into_iter().filter(|group| !group.offers.is_empty());
    let call = talk.under_way().filter(|_| !state.is_idle);
    let call = call.map(|(call, _)| call);
    Html::of(&BenchPage {
        state,
        call: call.map(|it| named(&it.call).1),
        far: call.and_then(|it| it.far.as_ref()),
        has_called: talk.offers().latest().is_some(),
        groups: groups.collect(),
        levels: remarks::LEVELS,
        log: talk.chosen().log().map(remarks::level).unwrap_or_default(),
    })
}

/// The group of the commands of askback.
const OURS: &str = "commands";

fn group(offer: &Offer) -> &'static str {
    match &offer.about {
        About::Ours(_) => OURS,
        About::Peer(_) if offer.line.starts_with("/call ") => "tools",
        About::Peer(_) if offer.line.starts_with("/read ") => "resources",
        About::Peer(_) => "prompts",
    }
}

pub(super) fn servers(talk: &Conversation, state: BenchState<'_>) -> Html {
    let offers = talk.offers().servers();
    let server = |(at, server): (usize, &crate::model::Server)| {
        let id = ServerId(at);
        let state = match server.presence() {
            Presence::Connecting => "is being connected to",
            Presence::There => "",
            Presence::Gone => "went away",
            Presence::Down => "is down",
            Presence::Absent => "is not there",
            Presence::Removed => return None,
        };
        let offer = offers.iter().find(|offer| offer.server == id);
        let failure = offer.and_then(|offer| offer.failure.as_ref());
        Some(ServerPart {
            name: given(&server.desk().asker().name).short(),
            state,
            is_chosen: id == talk.chosen_id(),
            choose: offer.and_then(|offer| offer.choose.as_deref()),
            restart: offer.and_then(|offer| offer.restart.as_deref()),
            failure,
        })
    };
    let front = talk.seen().front();
    let waiting = front.map_or(0, |front| front.total.saturating_sub(front.position));
    let waiting = match waiting {
        0 => None,
        1 => Some("1 more question waits".into()),
        more => Some(words!("{} more questions wait", more)),
    };
    Html::of(&ServersPart {
        state,
        servers: talk.servers().enumerate().filter_map(server).collect(),
        waiting,
    })
}

pub(super) fn tasks(tasks: &Tasks, state: BenchState<'_>) -> Html {
    let mut tasks = tasks.all();
    if tasks.is_empty() {
        return Html::default();
    }
    tasks.reverse();
    Html::of(&TasksPart { state, tasks })
}

fn named(call: &Call) -> (&'static str, PeerText) {
    match call {
        Call::Tool(name) | Call::Task { tool: name, .. } => ("Tool", name.into()),
        Call::Prompt(name) => ("Prompt", name.into()),
        Call::Resource(uri) => ("Resource", uri.into()),
    }
}

impl Results {
    pub(super) fn add(&mut self, call: &Call, outcome: &CallOutcome) {
        let (kind, name) = named(call);
        let text = content::laid_out(outcome.text.clone(), ROW_COLUMNS);
        let (shown, more) = text.cut(MAX_TEXT_CHARS);
        let left = match more {
            0 => None,
            more => Some(words!("{} more characters are in the JSON", more)),
        };
        let structured = outcome.structured.as_deref();
        let structured = structured.map(|json| PeerText::from(indented(&text::json(json))));
        let json = indented(&outcome.json.to_string());
        let contents = content::files(&outcome.json);
        let mut files = vec![self.file(json.into(), "result.json")];
        files.extend(
            contents
                .into_iter()
                .map(|it| self.file(it.into(), "result.bin")),
        );
        self.all.push_front(ResultPart {
            number: self.last_file,
            kind,
            name,
            failed: outcome.failed,
            text: shown,
            left,
            structured: structured.map(|it| it.cut(MAX_TEXT_CHARS).0),
            files,
        });
        self.all.truncate(MAX_RESULTS);
        let mut bytes = 0_usize;
        for result in &mut self.all {
            result.files.retain(|file| {
                bytes = bytes.saturating_add(file.bytes.len());
                bytes <= MAX_FILE_BYTES
            });
        }
    }

    fn file(&mut self, bytes: Bytes, name: &'static str) -> ResultFile {
        self.last_file = self.last_file.saturating_add(1);
        let picture = PICTURES.iter().find(|(head, kind)| {
            let is_webp = || bytes.get(8..12) == Some(b"WEBP");
            bytes.starts_with(head) && (*kind != "image/webp" || is_webp())
        });
        ResultFile {
            number: self.last_file,
            picture: picture.map(|(_, kind)| *kind),
            bytes,
            name,
        }
    }

    pub(super) fn find(&self, number: u64) -> Option<&ResultFile> {
        let mut files = self.all.iter().flat_map(|result| &result.files);
        files.find(|file| file.number == number)
    }

    pub(super) fn html(&self, visit: &str) -> Html {
        Html::of(&ResultsPage {
            visit,
            results: &self.all,
        })
    }
}
