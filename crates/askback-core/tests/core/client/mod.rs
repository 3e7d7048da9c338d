//! Compares the client's engine with transcripts.
//!
//! A line that begins with `<` is a message that arrives, and `!` is any other input. The expected
//! output is on lines that begin with `>` (a message is sent), `>>` (the same, with the `_meta`
//! that every stateless request needs) or `=`. [`check`] feeds the input and compares the output.

mod cache;
mod chaos;
mod deadlines;
mod exchanges;
mod kept;
mod opening;
mod passed;
mod restart;
mod rounds;
mod session;
mod taken;
mod tasks;
mod unasked;

use std::{fmt::Write as _, time::Duration};

use askback_core::{
    engine::client::{
        CallId, CallTarget, Carrier, ClientError, ClientMessage, Connection, Event, HostQuestion,
        MessageKind, Output, Profile, QuestionId, RequestLoss, Timeouts,
    },
    jsonrpc::{ErrorObject, RequestId},
    limits::Limits,
    protocol::{
        ClientCapabilities, ClientRequest, Implementation, InputRequest, InputResponse,
        OtherRequest, RawJson, name_member,
    },
    revision::Revision,
    wire::lower,
};
use serde_json::{Value, json, value::RawValue};

#[track_caller]
fn check(transcript: &str) {
    check_as(&profile(), transcript);
}

#[track_caller]
fn check_as(profile: &Profile, transcript: &str) {
    let mut player = Player::new(profile.clone());
    player.play_all(transcript);
    let played = player.log.join("\n");
    let wanted = lines(transcript).map(normal).collect::<Vec<_>>().join("\n");
    assert!(
        played == wanted,
        "the transcript was\n\n{wanted}\n\nand came out as\n\n{played}\n\nfirst differing at\n{}",
        played
            .lines()
            .zip(wanted.lines())
            .find(|(played, wanted)| played != wanted)
            .map_or("its end".to_owned(), |(played, wanted)| format!(
                "- {wanted}\n+ {played}"
            )),
    );
}

fn profile() -> Profile {
    Profile {
        info: Implementation::new("test", "1"),
        capabilities: capabilities(
            r#"{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{"listChanged":true}}"#,
        ),
        any_form: false,
        forwards: false,
        handshake: None,
        resends_answers: false,
        revisions: Revision::ALL.into(),
        principal: None,
        limits: Limits::default(),
    }
}

fn capabilities(json: &str) -> ClientCapabilities {
    serde_json::from_str(json).unwrap()
}

fn only(revision: &str) -> Profile {
    Profile {
        revisions: vec![revision.parse().unwrap()],
        ..profile()
    }
}

/// A transcript that opens a stateless connection and continues with `rest`.
fn modern(rest: &str) -> String {
    format!(
        r#"
        ! connected
        >> {{"id":1,"method":"server/discover"}}
        < {{"id":1,"result":{{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{CAPABILITIES}}}}}
        = opened 2026-07-28
        {rest}"#
    )
}

/// A transcript that opens a session and continues with `rest`. Run it with [`only`] its revision.
fn legacy(revision: &str, rest: &str) -> String {
    format!(
        r#"
        ! connected
        > {{"id":1,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"test","version":"1"}}}}}}
        < {{"id":1,"result":{{"protocolVersion":"{revision}","capabilities":{CAPABILITIES},"serverInfo":{{"name":"s","version":"1"}}}}}}
        > {{"method":"notifications/initialized"}}
        = opened {revision}
        {rest}"#
    )
}

const CAPABILITIES: &str = r#"{"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true},"logging":{},"completions":{}}"#;

struct Player {
    connection: Connection,
    profile: Profile,
    now: Duration,
    questions: Vec<QuestionId>,
    log: Vec<String>,
}

impl Player {
    fn new(profile: Profile) -> Self {
        let mut connection = Connection::new(profile.clone());
        assert!(matches!(connection.poll(), Some(Output::Connect)));
        Self {
            connection,
            profile,
            now: Duration::ZERO,
            questions: Vec::new(),
            log: Vec::new(),
        }
    }

    fn play_all(&mut self, transcript: &str) {
        for line in lines(transcript) {
            self.play(line);
        }
    }

    fn play(&mut self, line: &str) {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        match kind {
            "<" => {
                let bytes = receive(rest);
                self.connection.handle_message(&bytes, self.now);
            }
            "!" => self.happen(rest),
            ">" | ">>" | "=" => return,
            _ => panic!("what is {line:?}?"),
        }
        self.log.push(normal(line));
        self.drain();
    }

    /// Receives a message that a transcript cannot express.
    fn play_bytes(&mut self, bytes: &[u8]) {
        self.connection.handle_message(bytes, self.now);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.connection.poll() {
            let line = self.show(output);
            self.log.push(line);
        }
    }

    fn happen(&mut self, what: &str) {
        let Self {
            connection, now, ..
        } = self;
        let (verb, rest) = what.split_once(' ').unwrap_or((what, ""));
        let (word, more) = rest.split_once(' ').unwrap_or((rest, ""));
        match verb {
            "connected" => connection.handle_connected(*now),
            "exchanges" => connection.set_carrier(Carrier::Exchanges {
                handshake: word == "handshake",
            }),
            "lost" => {
                let id = RequestId::Number(word.parse().unwrap());
                connection.handle_lost(&id, lost(more), *now);
            }
            "gone" => connection.handle_disconnected(&rest.into(), *now),
            // Time passes until the engine's timeout, which must be then.
            "until" => {
                let then = Duration::from_millis(word.parse().unwrap());
                assert_eq!(
                    connection.next_timeout(),
                    Some(then),
                    "when it wants to be woken"
                );
                *now = then;
                connection.handle_timeout(then);
            }
            // Time passes, and the engine has no earlier timeout.
            "at" => {
                *now = Duration::from_millis(word.parse().unwrap());
                assert!(
                    connection.next_timeout().is_none_or(|due| due > *now),
                    "{line}",
                    line = what
                );
            }
            "call" => {
                let (method, params) = more.split_once(' ').unwrap_or((more, "{}"));
                let params = RawValue::from_string(params.to_owned()).unwrap();
                let request = ClientRequest::parse(method, Some(&params)).unwrap();
                connection.call(CallId(word.parse().unwrap()), request, *now);
            }
            // A forwarded request.
            "pass" => {
                let (method, params) = more.split_once(' ').unwrap_or((more, "{}"));
                let params = RawValue::from_string(params.to_owned()).unwrap();
                let request = OtherRequest::new(method, Some(&params)).unwrap();
                connection.call(CallId(word.parse().unwrap()), request.into(), *now);
            }
            // A single round of a call.
            "round" => {
                let (method, params) = more.split_once(' ').unwrap_or((more, "{}"));
                let params = RawValue::from_string(params.to_owned()).unwrap();
                let request = ClientRequest::parse(method, Some(&params)).unwrap();
                let id = CallId(word.parse().unwrap());
                connection.call_round(id, request, Timeouts::default(), *now);
            }
            // A call with timeouts: "7 2000/5000 tools/call {…}", in milliseconds, either may be
            // "-".
            "call-within" => {
                let (times, call) = more.split_once(' ').unwrap();
                let (request, in_all) = times.split_once('/').unwrap();
                let time = |text: &str| text.parse().ok().map(Duration::from_millis);
                let timeouts = Timeouts {
                    request: time(request),
                    in_all: time(in_all),
                };
                let (method, params) = call.split_once(' ').unwrap_or((call, "{}"));
                let params = RawValue::from_string(params.to_owned()).unwrap();
                let request = ClientRequest::parse(method, Some(&params)).unwrap();
                connection.call_within(CallId(word.parse().unwrap()), request, timeouts, *now);
            }
            // A task of an earlier connection: "7 t1 tool".
            "take" => {
                let (task, tool) = more.split_once(' ').unwrap();
                let (task, tool) = (task.to_owned(), tool.to_owned());
                let id = CallId(word.parse().unwrap());
                connection.resume_task(id, task, tool, Timeouts::default(), *now);
            }
            "leave" => connection.leave_task(CallId(word.parse().unwrap()), *now),
            "cancel" => connection.cancel(CallId(word.parse().unwrap()), *now),
            "answer" => {
                let question = self.questions[word.parse::<usize>().unwrap() - 1];
                connection.answer(question, answer(more), *now);
            }
            "roots" => connection.roots_changed(),
            "context" => connection.set_authorization_context(word.parse().unwrap(), *now),
            "principal" => connection.set_principal(Some(word.to_owned())),
            _ => panic!("what is {what:?}?"),
        }
    }

    fn show(&mut self, output: Output) -> String {
        match output {
            Output::Connect => "= connect".into(),
            Output::Close(error) => format!("= close: {error}"),
            Output::Send(message) => {
                check_kind(&message);
                self.show_sent(&message.bytes)
            }
            Output::Opened => {
                format!("= opened {}", self.connection.greeting().unwrap().revision)
            }
            Output::Ask(id, question) => {
                self.questions.push(id);
                show_question(self.questions.len(), &question)
            }
            Output::Withdraw(id) => {
                let number = self
                    .questions
                    .iter()
                    .position(|known| *known == id)
                    .unwrap()
                    + 1;
                format!("= withdraw {number}")
            }
            Output::Granted(CallId(id), filter) => {
                format!("= granted {id} {}", serde_json::to_value(filter).unwrap())
            }
            Output::Done(CallId(id), Ok(result)) => {
                format!(
                    "= done {id} {}",
                    serde_json::from_str::<Value>(result.get()).unwrap()
                )
            }
            Output::Done(CallId(id), Err(error)) => format!("= failed {id}: {error}"),
            Output::Event(event) => show_event(event),
        }
    }

    /// A message without the parts that every message has.
    fn show_sent(&self, bytes: &[u8]) -> String {
        let mut message: Value = serde_json::from_slice(bytes).unwrap();
        let Some(object) = message.as_object_mut() else {
            return format!("> {message}");
        };
        assert_eq!(object.remove("jsonrpc"), Some(json!("2.0")));
        let mut stamped = false;
        if let Some(params) = object.get_mut("params").and_then(Value::as_object_mut) {
            if let Some(meta) = params.get_mut("_meta").and_then(Value::as_object_mut) {
                let says = |key: &str| format!("io.modelcontextprotocol/{key}");
                if let Some(version) = meta.remove(&says("protocolVersion")) {
                    stamped = true;
                    let declared = lower(self.profile.capabilities.clone(), Revision::LATEST);
                    let declared = serde_json::to_value(declared).unwrap();
                    assert_eq!(version, json!("2026-07-28"));
                    assert_eq!(meta.remove(&says("clientCapabilities")), Some(declared));
                    assert_eq!(
                        meta.remove(&says("clientInfo")),
                        Some(json!({"name": "test", "version": "1"}))
                    );
                }
                if meta.is_empty() {
                    params.remove("_meta");
                }
            }
            if object["method"] == "initialize" {
                // Other tests cover the lowering of client capabilities; here they would be noise.
                object["params"]["capabilities"] = json!({});
            } else if stamped && object["params"] == json!({}) {
                object.remove("params");
            }
        }
        format!("{} {message}", if stamped { ">>" } else { ">" })
    }
}

/// The parsed request must equal the bytes of the message.
#[track_caller]
fn check_kind(message: &ClientMessage) {
    let bytes: Value = serde_json::from_slice(&message.bytes).unwrap();
    let params = &bytes["params"];
    let wanted = match (bytes["method"].as_str(), bytes.get("id")) {
        (Some(method), Some(id)) => {
            let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
            let name = name_member(method).map_or(&Value::Null, |member| &params[member]);
            let mirrored = version.is_string().then(|| json!([version, method, name]));
            json!([id, mirrored])
        }
        (Some("notifications/initialized"), None) => json!("initialized"),
        (Some("notifications/cancelled"), None) => json!({"cancelled": params["requestId"]}),
        _ => Value::Null,
    };
    let says = match &message.kind {
        MessageKind::Request(sent) => {
            assert_eq!(sent.to_vec(), message.bytes);
            let request = &sent.request;
            let mirrored = sent
                .revision()
                .map(|it| json!([it.as_str(), request.method(), request.target()]));
            json!([sent.id, mirrored])
        }
        MessageKind::Initialized(_) => json!("initialized"),
        MessageKind::Cancelled(id) => json!({"cancelled": id}),
        MessageKind::Other => Value::Null,
    };
    assert_eq!(says, wanted, "{bytes}");
}

fn lines(transcript: &str) -> impl Iterator<Item = &str> {
    transcript
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
}

/// The message of a line, with its members in written order.
fn receive(line: &str) -> Vec<u8> {
    let said = |message: &RawValue| message.get().replacen('{', r#"{"jsonrpc":"2.0","#, 1);
    if let Ok(messages) = serde_json::from_str::<Vec<&RawValue>>(line) {
        let messages: Vec<String> = messages.into_iter().map(said).collect();
        return format!("[{}]", messages.join(",")).into();
    }
    match serde_json::from_str::<&RawValue>(line) {
        Ok(message) => said(message).into(),
        Err(_) => line.into(),
    }
}

fn lost(text: &str) -> RequestLoss {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    match kind {
        "broken" => RequestLoss::Broken(rest.into()),
        "returned" => RequestLoss::Returned,
        "status" => RequestLoss::Failed(ClientError::Http {
            status: rest.parse().unwrap(),
            why: "no message".into(),
        }),
        "unreachable" => RequestLoss::Failed(ClientError::Unreachable(rest.into())),
        _ => panic!("how is {text:?} lost?"),
    }
}

fn answer(text: &str) -> Result<InputResponse, ErrorObject> {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    match kind {
        "elicit" => Ok(InputResponse::Elicit(serde_json::from_str(rest).unwrap())),
        "sample" => Ok(InputResponse::Sample(serde_json::from_str(rest).unwrap())),
        "roots" => Ok(InputResponse::Roots(serde_json::from_str(rest).unwrap())),
        "error" => Err(serde_json::from_str(rest).unwrap()),
        _ => panic!("what answer is {text:?}?"),
    }
}

fn show_question(number: usize, question: &HostQuestion) -> String {
    let mut line = format!("= ask {number}");
    match &question.target {
        Some(CallTarget::Tool(name)) => write!(line, " tool={name}").unwrap(),
        Some(CallTarget::Prompt(name)) => write!(line, " prompt={name}").unwrap(),
        Some(CallTarget::Resource(uri)) => write!(line, " resource={uri}").unwrap(),
        None => {}
    }
    if let Some(key) = &question.key {
        write!(line, " key={key}").unwrap();
    }
    if question.retried {
        line += " retried";
    }
    let request = match &question.request {
        InputRequest::Elicit(params) => RawJson::new(params),
        InputRequest::Sample(params) => RawJson::new(params),
        InputRequest::Roots(_) => RawJson::new(&json!("roots")),
    };
    let request: Value = request.unwrap().decode().unwrap();
    write!(line, " {request}").unwrap();
    line
}

fn show_event(event: Event) -> String {
    match event {
        Event::Task {
            target,
            task_id,
            status,
            message,
            ..
        } => {
            let status = serde_json::to_value(status).unwrap();
            let status = status.as_str().unwrap();
            let message = message.map_or(String::new(), |message| format!(": {message}"));
            let tool = match target {
                Some(CallTarget::Tool(name)) => name,
                other => panic!("{other:?} became a task"),
            };
            format!("= task tool={tool} {task_id} {status}{message}")
        }
        Event::Progress {
            call: CallId(call),
            progress,
            total,
            message,
            ..
        } => format!("= progress {progress} of {total:?}, {message:?}, of call {call}"),
        Event::Log {
            level,
            logger,
            data,
        } => format!("= log {level:?} {logger:?} {data:?}"),
        Event::ToolsChanged => "= tools changed".into(),
        Event::PromptsChanged => "= prompts changed".into(),
        Event::ResourcesChanged => "= resources changed".into(),
        Event::ResourceUpdated(uri) => format!("= updated {uri}"),
        Event::UrlCompleted { elicitation_id } => format!("= completed {elicitation_id}"),
        Event::Cancelled { reason } => format!("= cancelled: {reason}"),
        Event::StartedOver(end) => format!("= started over: {end}"),
        Event::QuestionsLost => "= questions lost".into(),
        Event::Disconnected(end) => format!("= disconnected: {end}"),
        Event::Refused(refused) => {
            format!("= refused {} {}", refused.method, refused.error.code)
        }
        Event::Note(note) => format!("= note: {note}"),
        other => panic!("what is {other:?}?"),
    }
}

/// Normalizes the JSON of a line for comparison.
fn normal(line: &str) -> String {
    let Some(start) = line.find(['{', '[']) else {
        return line.to_owned();
    };
    match serde_json::from_str::<Value>(&line[start..]) {
        Ok(value) => format!("{}{value}", &line[..start]),
        Err(_) => line.to_owned(),
    }
}
