//! The clients: ours, and programs that use the SDKs.

use std::{
    fmt,
    fs::File,
    io,
    path::Path,
    process::{Command, Stdio},
    sync::Arc,
    time::Duration,
};

use askback::{
    Revision,
    client::{Client, ClientError, Protocol},
    limits::Limits,
    protocol::{ElicitFormParams, ElicitResult},
    transport::Http,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout},
    time::timeout,
};

use crate::install;

/// The time limit for a call. An interrupted commit is given up after a minute. Before and after that, each death of a
/// process costs its lease of ten seconds, and each outage of PostgreSQL up to 13 seconds. A durable task goes on through
/// all of them, so this leaves room for about ten of each.
pub(super) const PATIENCE: Duration = Duration::from_secs(300);

/// How many times in a row our client resumes a stream, or sends a round again, while nothing
/// arrives.
const RESUMPTIONS: u32 = 5;

/// The packages to install, the same as for the interop suite.
const PACKAGE: &str = include_str!("../../interop/typescript/package.json");
const LOCK: &str = include_str!("../../interop/typescript/package-lock.json");
const PYTHON_1: &str = include_str!("../../interop/python/requirements-1.txt");
const PYTHON_2: &str = include_str!("../../interop/python/requirements-2.txt");

#[derive(Debug, Clone, Copy)]
pub(super) struct Kind {
    name: &'static str,
    sdk: Sdk,
    pub(super) revision: Revision,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sdk {
    Askback,
    /// `mcp`, by its major version.
    Python(u8),
    /// `@modelcontextprotocol/sdk`, or `@modelcontextprotocol/client`.
    TypeScript(u8),
    Rmcp,
}

/// In the versions that the interop suite installs.
const CLIENTS: [(&str, Sdk); 6] = [
    ("askback", Sdk::Askback),
    ("Python 1.30", Sdk::Python(1)),
    ("Python 2.3", Sdk::Python(2)),
    ("TypeScript 1.32", Sdk::TypeScript(1)),
    ("TypeScript 2.4", Sdk::TypeScript(2)),
    ("rmcp 3.11", Sdk::Rmcp),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// The agency's tool: two questions, one after the other.
    Holiday,
    /// A tool with one question, then two at once.
    Group,
    Prompt,
    Resource,
    /// Like [`Request::Group`], as a task.
    Task,
}

#[derive(Debug)]
pub(super) enum Outcome {
    Text(String),
    Failed(String),
}

/// Notified when the person has a question. May take time.
pub(super) trait Person: Send + Sync + 'static {
    fn asked(&self) -> impl Future<Output = ()> + Send;
}

pub(super) enum Caller {
    Own(Revision),
    Program(Box<Program>, Revision),
}

pub(super) struct Program {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

/// Returns the clients whose names contain one of these words, or all clients if there are no words.
pub(super) fn all(words: &[String]) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for (name, sdk) in CLIENTS {
        for revision in [Revision::V2025_11_25, Revision::LATEST] {
            let kind = Kind {
                name,
                sdk,
                revision,
            };
            let is_new = revision == Revision::LATEST;
            let speaks = !is_new || !matches!(sdk, Sdk::Python(1) | Sdk::TypeScript(1));
            let title = kind.to_string();
            if speaks && (words.is_empty() || words.iter().any(|word| title.contains(&**word))) {
                kinds.push(kind);
            }
        }
    }
    kinds
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.revision)
    }
}

impl Kind {
    /// Whether the client resends what no process has received.
    pub(super) fn resends(&self) -> bool {
        self.sdk == Sdk::Askback
    }

    /// Whether the client gives up a call whose connections were broken this often, and then reports this error.
    pub(super) fn gives_up(&self, broken: u32, error: &str) -> bool {
        match self.sdk {
            // Our client sends a round up to five times in a row
            // (`limits.http.stream_resumptions`). A balancer without a live process answers the
            // last attempt itself, as 502 or 503.
            Sdk::Askback if self.revision == Revision::LATEST => {
                let is_away = ["went away", "HTTP status 502", "HTTP status 503"];
                broken >= RESUMPTIONS && is_away.iter().any(|why| error.contains(why))
            }
            // Our client resumes a stream as many times while nothing arrives. A fleet that has
            // lost the stream refuses to resume it.
            Sdk::Askback => {
                broken > RESUMPTIONS
                    && error.contains("its stream of events broke off")
                    && !error.contains("cannot be resumed")
            }
            // In 2026-07-28 a client cannot resume the response to a round.
            _ if self.revision == Revision::LATEST => broken > 0,
            // It does not repeat a request on a reused connection that a dying process has closed.
            Sdk::Python(_) => {
                broken > 2
                    || broken > 0
                        && error.contains("Server disconnected without sending a response")
            }
            Sdk::TypeScript(_) | Sdk::Rmcp => false,
        }
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        let mut requests = vec![
            Request::Holiday,
            Request::Group,
            Request::Prompt,
            Request::Resource,
        ];
        if self.revision == Revision::LATEST && matches!(self.sdk, Sdk::Askback | Sdk::Rmcp) {
            requests.push(Request::Task);
        }
        requests
    }

    /// Starts the client, after installing its SDK if necessary; rmcp is built in this folder. Returns `None` if this
    /// machine lacks a program for that.
    pub(super) fn start(&self, target: &Path, log: File) -> install::Result<Option<Caller>> {
        let command = match self.sdk {
            Sdk::Askback => return Ok(Some(Caller::Own(self.revision))),
            Sdk::Python(1) => python("interop/python-1", PYTHON_1)?,
            Sdk::Python(_) => python("interop/python-2", PYTHON_2)?,
            Sdk::TypeScript(number) => typescript(number)?,
            Sdk::Rmcp => {
                let mut command = Command::new(install::rmcp(target)?);
                command.arg("chaos");
                Some(command)
            }
        };
        let Some(mut command) = command else {
            return Ok(None);
        };
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        let mut child = tokio::process::Command::from(command)
            .kill_on_drop(true)
            .spawn()?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let pipes = input.zip(output);
        let (input, output) = pipes.ok_or_else(|| io::Error::other("no pipe to a client"))?;
        Ok(Some(Caller::Program(
            Box::new(Program {
                _child: child,
                input,
                output: BufReader::new(output).lines(),
            }),
            self.revision,
        )))
    }
}

fn python(name: &str, list: &str) -> install::Result<Option<Command>> {
    let environment = install::python(name, list)?;
    Ok(environment.map(|environment| {
        let mut command = Command::new(environment.join("bin/python"));
        command.args(["-u", "-c", include_str!("client.py")]);
        command
    }))
}

fn typescript(number: u8) -> install::Result<Option<Command>> {
    let Some(folder) = install::npm("interop/npm", PACKAGE, LOCK)? else {
        return Ok(None);
    };
    let program = install::program(&folder, "chaos", include_str!("client.mjs"))?;
    let mut command = install::node(&program);
    command.arg(number.to_string());
    Ok(Some(command))
}

impl Request {
    fn target(self) -> (&'static str, &'static str) {
        match self {
            Self::Holiday => ("tool", "book_holiday"),
            Self::Group => ("tool", "book_group"),
            Self::Prompt => ("prompt", "invite"),
            Self::Resource => ("resource", "chaos://ticket"),
            Self::Task => ("task", "book_later"),
        }
    }

    pub(super) fn books(self) -> bool {
        !matches!(self, Self::Prompt | Self::Resource)
    }
}

impl Caller {
    pub(super) async fn call(
        &mut self,
        url: &str,
        request: Request,
        name: &str,
        person: &Arc<impl Person>,
    ) -> Outcome {
        let called = async {
            match self {
                Self::Own(revision) => {
                    let client = connect(url, *revision, name, person).await?;
                    let called = client.call(request).await;
                    client.close().await;
                    called
                }
                Self::Program(program, revision) => {
                    let (kind, target) = request.target();
                    let is_new = *revision == Revision::LATEST;
                    let order = json!({
                        "url": url,
                        "token": name,
                        "era": if is_new { "stateless" } else { "handshake" },
                        "do": kind,
                        "name": target,
                        "arguments": if request == Request::Holiday { trip() } else { json!({}) },
                        "answers": answers(name),
                    });
                    program.call(&order, person).await
                }
            }
        };
        match timeout(PATIENCE, called).await {
            Ok(Ok(text)) => Outcome::Text(text),
            Ok(Err(why)) => Outcome::Failed(why),
            Err(_) => Outcome::Failed(format!("nothing came within {PATIENCE:?}")),
        }
    }
}

impl Program {
    async fn call(&mut self, order: &Value, person: &Arc<impl Person>) -> Result<String, String> {
        self.write(order).await?;
        loop {
            let line = self.output.next_line().await;
            let line = line.map_err(|error| error.to_string())?;
            let line = line.ok_or("the client has ended")?;
            let line: Value = serde_json::from_str(&line).unwrap_or_default();
            if line["token"] != order["token"] {
                // The call was given up here before the client gave up.
                continue;
            }
            if line.get("asked").is_some() {
                person.asked().await;
                self.write(&json!("answer")).await?;
            } else if let Some(text) = line["done"].as_str() {
                return Ok(text.to_owned());
            } else if let Some(why) = line["failed"].as_str() {
                return Err(why.to_owned());
            }
        }
    }

    async fn write(&mut self, line: &Value) -> Result<(), String> {
        let written = self.input.write_all(format!("{line}\n").as_bytes()).await;
        written.map_err(|error| format!("the client has ended: {error}"))
    }
}

pub(super) struct OwnClient(Client);

/// Connects our client as this person, who answers every form.
pub(super) async fn connect(
    url: &str,
    revision: Revision,
    name: &str,
    person: &Arc<impl Person>,
) -> Result<OwnClient, String> {
    let http = Http::new(url).map_err(|error| error.to_string())?;
    let http = http
        .direct()
        .header("authorization", &format!("Bearer {name}"));
    let http = http.map_err(|error| error.to_string())?;
    let (person, answers) = (Arc::clone(person), answers(name));
    let mut limits = Limits::default();
    // Costs are measured with far more questions than a person is asked.
    limits.client.asks = u32::MAX;
    let client = Client::builder("chaos", "1.0.0")
        .limits(limits)
        .protocol(Protocol::Only(revision))
        // The server books only once, however often an answer arrives.
        .resend_answers(true)
        .on_elicit(move |question| {
            let (person, answers) = (Arc::clone(&person), answers.clone());
            async move {
                person.asked().await;
                Ok(fill_in(&question.request, &answers))
            }
        })
        .connect(http)
        .await;
    let client = client.map_err(|error| format!("{name} cannot connect: {error}"))?;
    Ok(OwnClient(client))
}

impl OwnClient {
    pub(super) async fn call(&self, request: Request) -> Result<String, String> {
        let (_, target) = request.target();
        let failed = |error: ClientError| error.to_string();
        match request {
            Request::Holiday => self.tool(target, trip()).await,
            Request::Group | Request::Task => self.tool(target, json!({})).await,
            Request::Prompt => {
                let got = self.0.get_prompt(target, ()).await.map_err(failed)?;
                let got = serde_json::to_value(&got.messages).unwrap_or_default();
                Ok(text(&got[0]["content"]))
            }
            Request::Resource => {
                let read = self.0.read_resource(target).await.map_err(failed)?;
                let read = serde_json::to_value(&read.contents).unwrap_or_default();
                Ok(text(&read[0]))
            }
        }
    }

    pub(super) async fn tool(&self, name: &str, arguments: Value) -> Result<String, String> {
        let called = self.0.call_tool(name, arguments).await;
        let result = called.map_err(|error| error.to_string())?;
        result.text().map_err(|error| error.to_string())
    }

    pub(super) async fn close(self) {
        self.0.close().await;
    }
}

fn text(block: &Value) -> String {
    block["text"].as_str().unwrap_or_default().to_owned()
}

fn trip() -> Value {
    json!({"destination": "Lisbon", "depart": "2027-05-01"})
}

/// The address of a user, which identifies their results.
pub(super) fn address(name: &str) -> String {
    format!("{name}@example.com")
}

/// Returns a person's answers by field name. Other fields keep their defaults.
fn answers(name: &str) -> Value {
    json!({
        "confirm_booking": true,
        "name": "Ada",
        "email": address(name),
        "depart": "2027-05-01",
        "interests": ["food"],
        "meals": "breakfast",
    })
}

fn fill_in(form: &ElicitFormParams, answers: &Value) -> ElicitResult {
    let schema = serde_json::to_value(&form.requested_schema).unwrap_or_default();
    let fields = schema["properties"].as_object().into_iter().flatten();
    let values = fields.filter_map(|(name, field)| {
        let value = answers.get(name).or_else(|| field.get("default"))?;
        Some((name.clone(), value.clone()))
    });
    ElicitResult::accept(values)
}
