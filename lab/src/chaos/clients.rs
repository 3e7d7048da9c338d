//! The clients: our own, and programs that use the SDKs.

use std::{io, path::PathBuf, process::Stdio, sync::Arc, time::Duration};

use askback::{
    Revision,
    client::{Client, ClientBuilder, ClientError, Protocol, Received},
    protocol::{CallToolResult, ElicitFormParams, ElicitResult},
    transport::Http,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// How long a call may take: a commit that was cut off is given up after a minute.
pub(super) const PATIENCE: Duration = Duration::from_secs(80);

/// A kind of client.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Own(Revision),
    /// The interpreter, and the folder with `node_modules` for TypeScript.
    Python(PathBuf),
    TypeScript(PathBuf, PathBuf),
}

/// What a call came to.
#[derive(Debug)]
pub(super) enum Outcome {
    Text(String),
    Failed(String),
}

/// Is told when the person has a question, and may take time.
pub(super) trait Person: Send + Sync + 'static {
    fn asked(&self) -> impl Future<Output = ()> + Send;
}

/// A client that calls again and again.
pub(super) enum Caller {
    Own(Revision),
    Program(Box<Program>),
}

pub(super) struct Program {
    _child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

impl Kind {
    pub(super) fn name(&self) -> String {
        match self {
            Self::Own(revision) => format!("askback {revision}"),
            Self::Python(path) => path.display().to_string(),
            Self::TypeScript(path, _) => path.display().to_string(),
        }
    }

    /// Whether the client sends an answer again that no process has taken.
    pub(super) fn resends(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    pub(super) fn start(&self, log: std::fs::File) -> io::Result<Caller> {
        let mut command = match self {
            Self::Own(revision) => return Ok(Caller::Own(*revision)),
            Self::Python(interpreter) => {
                let mut command = Command::new(interpreter);
                command.args(["-u", "-c", include_str!("client.py")]);
                command
            }
            Self::TypeScript(interpreter, folder) => {
                let mut command = Command::new(interpreter);
                command.args(["--input-type=module", "-e", include_str!("client.mjs")]);
                // Modules are looked for from here.
                command.current_dir(folder);
                command
            }
        };
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()?;
        let gone = || io::Error::other("no pipe to a client");
        let input = child.stdin.take().ok_or_else(gone)?;
        let output = child.stdout.take().ok_or_else(gone)?;
        Ok(Caller::Program(Box::new(Program {
            _child: child,
            input,
            output: BufReader::new(output).lines(),
        })))
    }
}

impl Caller {
    /// Books a holiday for somebody with this address.
    pub(super) async fn call(
        &mut self,
        url: &str,
        email: &str,
        person: &Arc<impl Person>,
    ) -> Outcome {
        let called = async {
            match self {
                Self::Own(revision) => book(url, *revision, email, person).await,
                Self::Program(program) => program.call(url, email, person).await,
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
    async fn call(
        &mut self,
        url: &str,
        email: &str,
        person: &Arc<impl Person>,
    ) -> Result<String, String> {
        let failed = |error: io::Error| error.to_string();
        let line = format!("{url} {email}\n");
        self.input
            .write_all(line.as_bytes())
            .await
            .map_err(failed)?;
        loop {
            let line = self.output.next_line().await.map_err(failed)?;
            let line = line.ok_or("the client has ended")?;
            let (word, text) = line.split_once(' ').unwrap_or((&line, ""));
            let text = serde_json::from_str::<String>(text).unwrap_or_else(|_| text.to_owned());
            match word {
                "asked" => {
                    person.asked().await;
                    self.input.write_all(b"answer\n").await.map_err(failed)?;
                }
                "done" => return Ok(text),
                "failed" => return Err(text),
                _ => {}
            }
        }
    }
}

/// A client of our own, whose person answers every form with this address.
pub(super) fn own(revision: Revision, email: &str, person: &Arc<impl Person>) -> ClientBuilder {
    let (person, email) = (Arc::clone(person), email.to_owned());
    Client::builder("chaos", "1.0.0")
        .protocol(Protocol::Only(revision))
        // The agency books once, however often an answer comes.
        .resend_answers(true)
        .on_elicit(move |question| {
            let (person, email) = (Arc::clone(&person), email.clone());
            async move {
                person.asked().await;
                Ok(answer(&question.request, &email))
            }
        })
}

async fn book(
    url: &str,
    revision: Revision,
    email: &str,
    person: &Arc<impl Person>,
) -> Result<String, String> {
    let http = Http::new(url).map_err(|error| error.to_string())?;
    let client = own(revision, email, person).connect(http.direct()).await;
    let client = client.map_err(|error| error.to_string())?;
    let booked = client.call_tool("book_holiday", trip()).await;
    let text = text_of(booked);
    client.close().await;
    text
}

/// The text of a result, or why there is none.
pub(super) fn text_of(
    called: Result<Received<CallToolResult>, ClientError>,
) -> Result<String, String> {
    let result = called.map_err(|error| error.to_string())?;
    result.text().map_err(|error| error.to_string())
}

/// The arguments of a booking.
pub(super) fn trip() -> Value {
    json!({"destination": "Lisbon", "depart": "2027-05-01"})
}

/// Fills in a form of the agency.
fn answer(form: &ElicitFormParams, email: &str) -> ElicitResult {
    let schema = serde_json::to_value(&form.requested_schema).unwrap_or_default();
    let fields = schema["properties"].as_object().into_iter().flatten();
    let values = fields.filter_map(|(name, field)| {
        let value = match name.as_str() {
            "confirm_booking" => json!(true),
            "name" => json!("Ada"),
            "email" => json!(email),
            "depart" => json!("2027-05-01"),
            "interests" => json!([option(&field["items"])]),
            "meals" => option(field),
            _ => field.get("default")?.clone(),
        };
        Some((name.clone(), value))
    });
    ElicitResult::accept(values)
}

/// The first option of a choice.
fn option(field: &Value) -> Value {
    let titled = ["oneOf", "anyOf"].map(|options| &field[options][0]["const"]);
    let plain = [&field["enum"][0]];
    let mut options = titled.into_iter().chain(plain);
    options
        .find(|option| !option.is_null())
        .cloned()
        .unwrap_or_default()
}
