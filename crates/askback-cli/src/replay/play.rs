//! The decision which messages of the server are played, and when.

use askback_core::{jsonrpc::INTERNAL_ERROR, revision::Revision};
use askback_host::text::given;
use serde_json::{Map, Value, json};

use super::{
    compare::Difference,
    recording::{Call, Kind, Message, Recording},
};

/// The requests whose recorded answer is given as often as they are made: each connection begins with
/// some of them, and the others only read.
const AGAIN: [&str; 9] = [
    "initialize",
    "server/discover",
    "ping",
    "logging/setLevel",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "tasks/get",
];

/// A request that stays open for as long as its client listens.
const OPEN: &str = "subscriptions/listen";

/// The most differences that are kept.
const MOST: usize = 100;

/// The members by which a message of the server names a request of the client by its id.
const IDS: [&str; 2] = [
    "/params/_meta/io.modelcontextprotocol~1subscriptionId",
    "/result/_meta/io.modelcontextprotocol~1subscriptionId",
];

/// A recording that is played.
pub(super) struct Play {
    calls: Vec<Played>,
    /// The calls that are begun, and of which messages are left.
    active: Vec<usize>,
    revisions: Vec<Revision>,
    /// The questions of the server that were not answered yet.
    asked: Vec<Asked>,
    differences: Vec<Difference>,
}

/// A call that is played, or may be.
struct Played {
    call: Call,
    is_begun: bool,
    /// Which of its messages have been sent or received.
    done: Vec<bool>,
    /// The ids of the client's requests in the recording, and now.
    ids: Vec<(Value, Value)>,
    /// The tokens by which their progress is named, likewise.
    tokens: Vec<(Value, Value)>,
}

/// A question of the server that was not answered yet.
struct Asked {
    id: Value,
    call: usize,
    /// The place of the recorded answer in the call, and its number; none if there is none.
    answer: Option<(usize, u64)>,
}

impl Play {
    pub(super) fn new(recording: Recording) -> Self {
        let Recording { calls, revisions } = recording;
        Self {
            calls: calls.into_iter().map(Played::new).collect(),
            active: Vec::new(),
            revisions,
            asked: Vec::new(),
            differences: Vec::new(),
        }
    }

    /// The revisions that were spoken.
    pub(super) fn revisions(&self) -> &[Revision] {
        &self.revisions
    }

    /// Takes note of a new connection, to which no call and no question of the one before belongs.
    pub(super) fn connected(&mut self) {
        self.active.clear();
        self.asked.clear();
    }

    /// Takes the differences so far. What was asked meanwhile is not waited for any more.
    pub(super) fn differences(&mut self) -> Vec<Difference> {
        self.asked.clear();
        std::mem::take(&mut self.differences)
    }

    /// Takes a message of the client, and returns those that the server sends now.
    pub(super) fn sent(&mut self, message: &[u8]) -> Vec<Value> {
        // A client writes JSON.
        let Ok(message) = serde_json::from_slice::<Value>(message) else {
            return Vec::new();
        };
        let mut out = Vec::new();
        match Kind::of(&message) {
            Kind::Request => self.request(&message, &mut out),
            Kind::Response => self.response(&message, &mut out),
            // It says nothing that the server waits for.
            Kind::Notification => {}
        }
        out
    }

    fn request(&mut self, request: &Value, out: &mut Vec<Value>) {
        let Some((call, at)) = self.place(request) else {
            let wanted = named(request);
            self.differ(vec![Difference {
                recorded: "a request that is in the recording".into(),
                came: given(&wanted).into(),
            }]);
            out.push(failed(request, &format!("the recording has no {wanted}")));
            return;
        };
        self.meet(call, at, request);
        self.play(out);
        self.give_up(call, at, request, out);
    }

    /// The place of a request in the recording: of those that are next in their calls, the first that
    /// is the same, or else the first with the same name. A handshake is first sought among those that led to the
    /// revision it offers: a server that was started again may have answered another way.
    fn place(&mut self, request: &Value) -> Option<(usize, usize)> {
        let is_alike = |recorded: &Message| {
            recorded.json["method"] == request["method"]
                && target(&recorded.json) == target(request)
                && is_round(&recorded.json) == is_round(request)
        };
        let next = self.calls.iter().enumerate().filter_map(|(index, played)| {
            let (at, message) = played.next_request()?;
            is_alike(message).then_some((index, at, message))
        });
        let all: Vec<_> = next.collect();
        let first = |fits: &dyn Fn(&Message) -> bool| {
            let mut fitting = all.iter().filter(|(.., message)| fits(message));
            fitting.next().map(|(call, at, _)| (*call, *at))
        };
        let agrees = |message: &Message| message.agrees_with(request);
        let is_same = |message: &Message| message.is_met_by(request);
        let found = first(&agrees)
            .or_else(|| self.again(request, agrees))
            .or_else(|| first(&is_same))
            .or_else(|| self.again(request, is_same))
            .or_else(|| first(&|_| true))?;
        if let (call, 0) = found {
            if let Some(played) = self.calls.get_mut(call) {
                played.begin();
            }
            self.begin(call);
        }
        Some(found)
    }

    /// The place of the last call with a request that fits, where its answer is given again.
    fn again(&self, request: &Value, fits: impl Fn(&Message) -> bool) -> Option<(usize, usize)> {
        let method = request["method"].as_str()?;
        let is_it = |played: &Played| {
            let first = played.call.messages.first();
            first.is_some_and(|first| {
                first.is_sent && first.json["method"] == request["method"] && fits(first)
            })
        };
        let call = || self.calls.iter().rposition(is_it);
        let call = AGAIN.contains(&method).then(call)?;
        call.map(|call| (call, 0))
    }

    fn response(&mut self, response: &Value, out: &mut Vec<Value>) {
        let is_asked = |asked: &Asked| asked.id == response["id"];
        let Some(at) = self.asked.iter().position(is_asked) else {
            return;
        };
        let Asked { call, answer, .. } = self.asked.swap_remove(at);
        // Without an answer, the server took its question back, or the recording ends.
        if let Some((at, _)) = answer {
            self.meet(call, at, response);
        }
        self.play(out);
    }

    /// Takes a message in the place of a recorded one.
    fn meet(&mut self, call: usize, at: usize, came: &Value) {
        if let Some(played) = self.calls.get_mut(call) {
            let differences = played.meet(at, came);
            self.differ(differences);
        }
        self.done(call, at);
    }

    /// Plays what the server sent next, in the order in which it did, up to what the client is to send
    /// first.
    fn play(&mut self, out: &mut Vec<Value>) {
        loop {
            let next = self.active.iter().filter_map(|&call| {
                let (at, message) = self.calls.get(call)?.next()?;
                let is_due = !message.is_sent && !self.waits(call, message.number);
                is_due.then_some((message.number, call, at))
            });
            let Some((_, call, at)) = next.min() else {
                break;
            };
            if let Some(played) = self.calls.get(call)
                && let Some(message) = played.call.messages.get(at)
            {
                if message.kind == Kind::Request {
                    let id = message.json["id"].clone();
                    let answer = played.answer_to(&id);
                    self.asked.push(Asked { id, call, answer });
                }
                out.push(message.now(played));
            }
            self.done(call, at);
        }
        let calls = &self.calls;
        let is_left = |call: &usize| {
            calls
                .get(*call)
                .is_some_and(|played| played.next().is_some())
        };
        self.active.retain(is_left);
    }

    /// Whether a message comes after the answer to a question of another call, which was not given yet.
    fn waits(&self, call: usize, number: u64) -> bool {
        self.asked.iter().any(|asked| {
            let answer = asked.answer.filter(|_| asked.call != call);
            answer.is_some_and(|(_, answer)| answer < number)
        })
    }

    /// Takes note that a message has been sent or received, and begins what the server began behind it.
    fn done(&mut self, call: usize, at: usize) {
        let Some(played) = self.calls.get_mut(call) else {
            return;
        };
        if let Some(is_done) = played.done.get_mut(at) {
            *is_done = true;
        }
        let message = played.call.messages.get(at);
        let followers = message.map_or_else(Vec::new, |message| message.followers.clone());
        for call in followers {
            self.begin(call);
        }
    }

    /// Takes a call among those that are played.
    fn begin(&mut self, call: usize) {
        if let Some(played) = self.calls.get_mut(call) {
            played.is_begun = true;
        }
        if !self.active.contains(&call) {
            self.active.push(call);
        }
    }

    /// Answers a request that has no answer in the recording.
    fn give_up(&self, call: usize, at: usize, request: &Value, out: &mut Vec<Value>) {
        let Some(played) = self.calls.get(call) else {
            return;
        };
        let Some(message) = played.call.messages.get(at) else {
            return;
        };
        if played.is_answered(&message.json["id"]) {
            return;
        }
        let why = match message.status {
            Some(status) if status >= 400 => format!("the server answered with HTTP {status}"),
            _ if request["method"] == OPEN => return,
            _ => format!("the recording has no answer to {}", named(request)),
        };
        out.push(failed(request, &why));
    }

    fn differ(&mut self, differences: Vec<Difference>) {
        self.differences.extend(differences);
        self.differences.truncate(MOST);
    }
}

impl Played {
    fn new(call: Call) -> Self {
        let done = vec![false; call.messages.len()];
        Self {
            call,
            is_begun: false,
            done,
            ids: Vec::new(),
            tokens: Vec::new(),
        }
    }

    fn begin(&mut self) {
        self.is_begun = true;
        self.done.fill(false);
        self.ids.clear();
        self.tokens.clear();
    }

    /// The message that is sent or received next, and its place.
    fn next(&self) -> Option<(usize, &Message)> {
        let mut messages = self.call.messages.iter().zip(&self.done).enumerate();
        let next = messages.find(|(_, (message, is_done))| !**is_done && !message.is_free());
        next.map(|(at, (message, _))| (at, message))
    }

    /// The request that the client is to send next, and its place.
    fn next_request(&self) -> Option<(usize, &Message)> {
        let (at, message) = self.next()?;
        let is_next = message.is_sent && message.kind == Kind::Request;
        (is_next && (at == 0 || self.is_begun)).then_some((at, message))
    }

    /// The place and number of the answer to a question that was not given yet.
    fn answer_to(&self, id: &Value) -> Option<(usize, u64)> {
        let mut messages = self.call.messages.iter().zip(&self.done).enumerate();
        messages.find_map(|(at, (message, is_done))| {
            let is_answer =
                message.is_sent && message.kind == Kind::Response && message.json["id"] == *id;
            (is_answer && !is_done).then_some((at, message.number))
        })
    }

    /// Whether a request of the client has an answer.
    fn is_answered(&self, id: &Value) -> bool {
        self.call.messages.iter().any(|message| {
            !message.is_sent && message.kind == Kind::Response && message.json["id"] == *id
        })
    }

    /// Takes a message in the place of a recorded one, and compares both.
    fn meet(&mut self, at: usize, came: &Value) -> Vec<Difference> {
        let Some(message) = self.call.messages.get(at) else {
            return Vec::new();
        };
        let pair = |name| {
            let then = message.json.pointer(name)?.clone();
            Some((then, came.pointer(name)?.clone()))
        };
        self.ids.extend(pair("/id"));
        self.tokens.extend(pair("/params/_meta/progressToken"));
        message.differences(came)
    }
}

impl Message {
    /// Whether the client sends it whenever it likes.
    pub(super) fn is_free(&self) -> bool {
        self.is_sent && self.kind == Kind::Notification
    }

    /// The message of the server, with the names that the client's requests have now.
    fn now(&self, played: &Played) -> Value {
        let mut json = self.json.clone();
        let id = (self.kind == Kind::Response).then_some("/id");
        let ids = id.into_iter().chain(IDS).map(|name| (name, &played.ids));
        let tokens = ("/params/progressToken", &played.tokens);
        for (name, known) in ids.chain([tokens]) {
            if let Some(value) = json.pointer_mut(name)
                && let Some((_, now)) = known.iter().rev().find(|(then, _)| then == value)
            {
                *value = now.clone();
            }
        }
        json
    }
}

/// Whether a request carries answers, or the state of the round before it.
fn is_round(request: &Value) -> bool {
    let params = &request["params"];
    ["inputResponses", "requestState"]
        .iter()
        .any(|name| params.get(name).is_some())
}

/// The name of the tool or prompt, or the URI of the resource, that a request is about.
fn target(request: &Value) -> Option<&str> {
    let params = &request["params"];
    params["name"].as_str().or_else(|| params["uri"].as_str())
}

/// A request in a few words.
fn named(request: &Value) -> String {
    let method = request["method"].as_str().unwrap_or_default();
    match target(request) {
        Some(target) => format!("{method} of {target}"),
        None => method.to_owned(),
    }
}

/// An error in the place of a recorded answer.
fn failed(request: &Value, message: &str) -> Value {
    let mut out = Map::new();
    out.insert("jsonrpc".into(), "2.0".into());
    out.insert("id".into(), request["id"].clone());
    out.insert(
        "error".into(),
        json!({"code": INTERNAL_ERROR, "message": message}),
    );
    Value::Object(out)
}
