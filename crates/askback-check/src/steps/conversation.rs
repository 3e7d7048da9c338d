//! The start of a conversation, and the lists, as our client reads them.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use askback::{
    Revision,
    client::{Client, ClientError, Event, List, Protocol},
    internal::{jsonrpc::METHOD_NOT_FOUND, revision::Era},
    transport::WireEvent,
};
use askback_host::{
    text::{Words, given},
    words,
};
use serde_json::Value;
use tokio::time::Instant;

use super::program::{ON_NOISE, ON_SILENCE, advice};
use crate::{
    listed::Lists,
    probe::{Bounds, ENTRIES, Fault, LINES, Reply, Wait, Way, is_question, keep},
    report::{Report, listed},
    rules::{NEGOTIATED, NOISE, SERVER_REQUESTS, SLOW_START, TOOLS_DECLARED},
};

/// A slower first answer is reported.
const SLOW: Duration = Duration::from_secs(3);

const MAX_LEFT_OUT: usize = 10;

#[derive(Debug, Default)]
struct Exchange {
    awaited: Option<Value>,
    fault: Option<(Fault, String)>,
    noise: Vec<String>,
    stderr: Vec<String>,
    asked: BTreeSet<String>,
    lists: Lists,
}

/// Starts a conversation and reads the lists with our client. A step fails if the client cannot use
/// the server.
pub(super) async fn begin(way: &Way, bounds: &Bounds, only: Option<Revision>, report: &mut Report) {
    let heard = Arc::new(Mutex::new(Exchange::default()));
    let (on_wire, on_event) = (Arc::clone(&heard), Arc::clone(&heard));
    let mut limits = bounds.limits.clone();
    limits.wire.request = limits.wire.request.max(bounds.start);
    limits.client.probe = limits.client.probe.min(limits.wire.request);
    let client = Client::builder("askback", env!("CARGO_PKG_VERSION"))
        .limits(limits)
        .protocol(only.map_or(Protocol::Auto, Protocol::Only))
        .on_wire(move |event| match event {
            WireEvent::Sent(message) => lock(&on_wire).send(message),
            WireEvent::Request(request) => lock(&on_wire).send(request.message),
            WireEvent::Received(message) => lock(&on_wire).receive(message),
            _ => {}
        })
        .on_event(move |event| match event {
            Event::ServerStderr(line) => keep(&mut lock(&on_event).stderr, line),
            // The new process repeats its output.
            Event::StartedOver(_) => *lock(&on_event) = Exchange::default(),
            _ => {}
        });
    let began = Instant::now();
    let client = match way {
        Way::Start(program) => client.connect((program.child)()).await,
        Way::Address(address) => client.connect(address.transport.clone()).await,
    };
    let took = began.elapsed();
    let client = match client {
        Ok(client) => client,
        Err(error) => return failed(&error, &lock(&heard), way, took, report),
    };
    report.is_answering = true;
    let is_started = !way.is_http();
    if is_started {
        report.ok("start", Some(took), "it answers");
    }
    let slow = (took > SLOW).then(|| format!("{} s", took.as_secs()));
    let ledger = &mut report.ledger;
    ledger.revision = client.revision();
    ledger.judge_places(SLOW_START, slow.into_iter().collect());
    let fault = lock(&heard).fault.take();
    if let Some(fault) = fault {
        blame(fault, "protocol", report);
    } else {
        let step = report.ok("protocol", (!is_started).then_some(took), spoken(&client));
        let server = client.server_info();
        step.quoted = server.map(|it| format!("{} {}", it.name, it.version).into());
        lists(&client, &heard, report).await;
    }
    client.close().await;
    let heard = std::mem::take(&mut *lock(&heard));
    let asked = heard.asked.iter().cloned();
    let questions = asked.clone().filter(|it| is_question(&it.as_str().into()));
    let ledger = &mut report.ledger;
    ledger.judge_places(NEGOTIATED, questions.collect());
    ledger.judge_places(SERVER_REQUESTS, asked.collect());
    ledger.judge_places(NOISE, heard.noise);
}

fn blame((fault, message): (Fault, String), step: &'static str, report: &mut Report) {
    report.fail(step, fault.0, Some(message), fault.1);
}

fn spoken(client: &Client) -> Words {
    let revision = client.revision();
    if revision.era() == Era::Legacy {
        return words!("with a handshake, in {}", given(revision));
    }
    let greeting: Value = serde_json::from_str(client.greeting().result.get()).unwrap_or_default();
    let offered = greeting["supportedVersions"].as_array();
    let known = offered.into_iter().flatten();
    let known = known.filter_map(|version| version.as_str()?.parse().ok());
    let known = listed(&known.chain([revision]).collect());
    words!("each request by itself, in {}", known)
}

fn failed(error: &ClientError, heard: &Exchange, way: &Way, took: Duration, report: &mut Report) {
    let is_started = !way.is_http();
    let lines: Vec<_> = heard.noise.iter().chain(&heard.stderr).cloned().collect();
    let (known, said) = (advice(&lines), Some(lines.join("\n")));
    match error {
        ClientError::Unreachable(why) if is_started => {
            let advice = "A script needs a first line that names an existing program.";
            return report.fail("start", "it cannot be started:", Some(why.clone()), advice);
        }
        ClientError::Crashed(end) if is_started => {
            let says = match end.code {
                Some(code) => words!("the server exited (code {})", i64::from(code)),
                None => "the server went away".into(),
            };
            let unknown = match lines.is_empty() {
                true => ON_SILENCE,
                false => "What it said is above.",
            };
            return report.fail("start", says, said, known.unwrap_or(unknown));
        }
        _ => {}
    }
    let is_silent = matches!(error, ClientError::TimedOut(_));
    if is_started {
        let (took, says) = match is_silent {
            true => (None, "the process runs"),
            false => (Some(took), "it answers"),
        };
        report.ok("start", took, says);
    }
    report.is_answering = !is_silent || heard.fault.is_some();
    if let Some(fault) = heard.fault.clone() {
        return blame(fault, "protocol", report);
    }
    let no_server = match is_started {
        true => "See whether it is an MCP server over standard streams.",
        false => "See whether there is an MCP server at this path, which takes POST.",
    };
    let ClientError::TimedOut(time) = error else {
        let says = "it cannot be understood:";
        return report.fail("protocol", says, Some(error.to_string()), no_server);
    };
    let says = words!("there was no answer within {} s", time.as_secs_f64());
    let advice = match (known, is_started, heard.noise.is_empty()) {
        (Some(known), ..) => known,
        (None, true, false) => ON_NOISE,
        (None, true, true) => no_server,
        (None, false, _) => "See the log of the server.",
    };
    report.fail("protocol", says, said, advice);
}

/// Reads the lists like a client, and judges their raw entries.
async fn lists(client: &Client, heard: &Mutex<Exchange>, report: &mut Report) {
    let began = Instant::now();
    let mut left_out = Vec::new();
    let can = client.capabilities();
    let read: Result<_, (&str, ClientError)> = async {
        // Read tools even if the server does not declare them.
        let tools = take(client.tools().await, "tools/list", &mut left_out)?;
        let (mut prompts, mut resources, mut templates) = (0, 0, 0);
        if can.prompts.is_some() {
            prompts = take(client.prompts().await, "prompts/list", &mut left_out)?;
        }
        if can.resources.is_some() {
            resources = take(client.resources().await, "resources/list", &mut left_out)?;
            // A server with resources may have no templates.
            templates = match client.resource_templates().await {
                Err(ClientError::Server(error)) if error.code == METHOD_NOT_FOUND => 0,
                listed => take(listed, "resources/templates/list", &mut left_out)?,
            };
        }
        Ok([tools, prompts, resources, templates])
    }
    .await;
    let mut heard = lock(heard);
    let ledger = &mut report.ledger;
    // Other lists are read only if declared.
    let tools = heard.lists.of("tools").len();
    let is_declared = can.tools.is_some() || tools == 0;
    let undeclared = (!is_declared).then(|| format!("{tools} entries are listed"));
    ledger.judge_places(TOOLS_DECLARED, undeclared.into_iter().collect());
    heard.lists.judge(ledger);
    match (read, heard.fault.take()) {
        (_, Some(fault)) => blame(fault, "lists", report),
        (Err((method, error)), None) => {
            let says = words!("{} cannot be read:", method);
            let advice = "See the log of the server.";
            report.fail("lists", says, Some(error.to_string()), advice);
        }
        (Ok(_), None) if !left_out.is_empty() => {
            left_out.truncate(MAX_LEFT_OUT);
            let says = "it lists what cannot be used:";
            let advice = "Clients leave such an entry out, or give up on the whole list.";
            report.fail("lists", says, Some(left_out.join("\n")), advice);
        }
        (Ok([tools, prompts, resources, templates]), None) => {
            let says = words!(
                "tools {}, prompts {}, resources {}, templates {}",
                tools,
                prompts,
                resources,
                templates
            );
            report.ok("lists", Some(began.elapsed()), says);
        }
    }
}

/// Counts a list's entries and reports the unusable ones.
fn take<T>(
    listed: Result<List<T>, ClientError>,
    method: &'static str,
    left_out: &mut Vec<String>,
) -> Result<usize, (&'static str, ClientError)> {
    let listed = listed.map_err(|error| (method, error))?;
    // A tool with a wrong hint is still usable. The list checks report the hint.
    let unusable = listed.left_out.iter().filter(|entry| !entry.is_hint);
    left_out.extend(unusable.map(ToString::to_string));
    Ok(listed.len())
}

impl Exchange {
    fn send(&mut self, message: &[u8]) {
        if let Ok(message) = serde_json::from_slice::<Value>(message)
            && message.get("method").is_some()
            && let Some(id) = message.get("id")
        {
            self.awaited = Some(id.clone());
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        let wait = self.awaited.clone().map_or(Wait::Nothing, Wait::For);
        let mut came = Reply::default();
        came.take(bytes, &wait);
        for line in came.noise {
            keep(&mut self.noise, line);
        }
        self.fault = self.fault.take().or(came.faults.into_iter().next());
        for asked in came.asked {
            if let (Some(method), true) = (asked["method"].as_str(), self.asked.len() < LINES) {
                self.asked.insert(method.to_owned());
            }
        }
        for answer in came.answer.into_iter().chain(came.strays) {
            self.lists.add(&answer["result"], ENTRIES);
        }
    }
}

fn lock(heard: &Mutex<Exchange>) -> MutexGuard<'_, Exchange> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}
