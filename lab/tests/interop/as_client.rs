//! A peer as the client of the travel agency.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use askback::Revision;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use crate::{
    Outcomes, Result,
    place::Place,
    plan::{Outcome, Run, Scenario, Transport},
    program::{ASKBACK, Program, SERVER, Serving},
};

/// How long a client may take for everything.
const LIMIT: Duration = Duration::from_secs(120);

/// How long a server may live on when its client has died.
const GONE: Duration = Duration::from_secs(5);

/// What a model is made to say.
const ADVICE: &str = "1, 2 and 3, for they leave early.";

/// What a client says of a scenario, in a line.
#[derive(Debug, Deserialize)]
struct Line {
    scenario: String,
    revision: Option<String>,
    seen: Option<Value>,
    error: Option<String>,
}

/// The servers of a run.
enum Servers {
    Stdio,
    Http { travel: Serving, other: Serving },
}

/// Runs all scenarios.
pub(crate) async fn run(run: &Run, client: &Program, place: &Place) -> Result<Outcomes> {
    let servers = Servers::start(run, place).await?;
    let file = place.path.join("roots/trip.txt");
    let ended = client
        .clone()
        .arg(job(run, &servers, place, &file).to_string());
    let ended = ended.run(LIMIT).await?;
    place.keep("client", &ended)?;

    let mut seen = BTreeMap::new();
    for line in ended.stdout.lines() {
        let line: Line = serde_json::from_str(line)
            .map_err(|error| format!("{line:?} is not what a client says: {error}"))?;
        seen.insert(line.scenario.clone(), judged(run, line));
    }
    let mut outcomes = Outcomes::new();
    for scenario in Scenario::ALL {
        let outcome = match scenario {
            Scenario::Crash => crash(run, client, &servers, place).await,
            Scenario::Cancellation => both(&mut seen, ["cancel", "stopped"]),
            Scenario::Roots => saved(&mut seen, &file),
            _ => both(&mut seen, [scenario_name(scenario)]),
        };
        let outcome = match outcome {
            Ok(()) if scenario.asks_a_person() && !has_forms(run.revision) => Outcome::Absent,
            Ok(()) => Outcome::Passed,
            Err(why) => Outcome::Failed(why),
        };
        outcomes.insert(scenario, outcome);
    }
    Ok(outcomes)
}

impl Servers {
    async fn start(run: &Run, place: &Place) -> Result<Self> {
        if run.transport == Transport::Stdio {
            return Ok(Self::Stdio);
        }
        let travel = travel(run, place).args(["--http", "127.0.0.1:0"]);
        let travel = travel.serve_on_stderr().await?;
        let other = other(run)
            .arg("--http")
            .serve(&place.path.join("server.txt"))
            .await?;
        Ok(Self::Http { travel, other })
    }
}

/// The agency, with pages so short that a client has to ask for more.
fn travel(run: &Run, place: &Place) -> Program {
    let program = Program::new(ASKBACK)
        .args(["serve", "travel", "--page-size", "3", "--directory"])
        .arg(place.path.join("travel"))
        .env("XDG_STATE_HOME", place.path.join("state"));
    match run.pinned() {
        Some(revision) => program.args(["--protocol", revision.as_str()]),
        None => program,
    }
}

fn other(run: &Run) -> Program {
    let program = Program::new(SERVER);
    match run.pinned() {
        Some(revision) => program.args(["--protocol", revision.as_str()]),
        None => program,
    }
}

/// What a client is told to do.
fn job(run: &Run, servers: &Servers, place: &Place, file: &Path) -> Value {
    let trip = json!({"destination": "Barcelona", "depart": "2026-06-15"});
    let accept = |message: &str, content: Value| json!({"message": message, "action": "accept", "content": content});
    let wishes = accept("Shall we book", wishes());
    let contact = accept(
        "Who is travelling",
        json!({"name": "Ada", "email": "ada@example.com"}),
    );
    let refuse = |action: &str| json!({"message": "Who is travelling", "action": action});
    let call = |name: &str, tool: &str, arguments: Value, answers: Value| json!({"name": name, "do": "call", "tool": tool, "arguments": arguments, "answers": answers});
    let barcelona = json!({"destination": "Barcelona"});
    let flight = json!({"destination": "Barcelona", "month": "june", "wishes": "early"});
    let plan = json!({"destination": "Barcelona", "days": "3", "budget": "900"});
    let preferences = asked_for(run.revision);
    let roots = place.path.join("roots");
    let travel_scenarios = json!([
        {"name": "list", "do": "list"},
        {"name": "completion", "do": "complete", "prompt": "plan_vacation", "argument": "destination", "value": "Bar"},
        {"name": "prompt", "do": "prompt", "prompt": "plan_vacation", "arguments": plan},
        call("form", "tailor_trip", barcelona, json!([accept("How would", preferences)])),
        call("two", "book_holiday", trip.clone(), json!([wishes, contact])),
        call("decline", "book_holiday", trip.clone(), json!([wishes, refuse("decline")])),
        call("cancelled question", "book_holiday", trip, json!([wishes, refuse("cancel")])),
        {"name": "sampling", "do": "call", "tool": "find_best_flight", "arguments": flight, "sample": ADVICE},
        {"name": "roots", "do": "call", "tool": "save_itinerary", "arguments": {"file": file, "text": "Day 1: arrive."},
            "roots": [format!("file://{}", roots.display())]},
    ]);
    let other_scenarios = json!([
        {"name": "progress", "do": "progress", "tool": "progress"},
        {"name": "cancel", "do": "cancel", "tool": "slow"},
        {"name": "stopped", "do": "call", "tool": "stopped"},
    ]);
    json!({"connections": [
        connection(run, servers, place, true, travel_scenarios),
        connection(run, servers, place, false, other_scenarios),
    ]})
}

fn connection(
    run: &Run,
    servers: &Servers,
    place: &Place,
    is_travel: bool,
    scenarios: Value,
) -> Value {
    let url = match servers {
        Servers::Stdio => Value::Null,
        Servers::Http { travel, other } => json!(if is_travel { &travel.url } else { &other.url }),
    };
    let program = if is_travel {
        travel(run, place)
    } else {
        other(run)
    };
    json!({"command": program.words(), "url": url, "sse": run.is_sse(), "scenarios": scenarios})
}

/// What the person would like, whose every field is of another kind.
fn preferences() -> Value {
    json!({
        "name": "Tapas",
        "voucher": "ABC-1234",
        "email": "ada@example.com",
        "inspiration": "https://example.com/gaudi",
        "depart": "2026-06-15",
        "call_at": "2026-06-01T09:30:00Z",
        // A whole number where any number may stand: some languages cannot tell them apart.
        "budget": 120,
        "travellers": 3,
        "pets": true,
        "pace": "slow",
        "meals": "half_board",
        "interests": ["food", "music"],
        "extras": ["guide"],
    })
}

/// The same in the words of a revision: where there is no choice of several, each option is asked
/// with a yes or no.
fn asked_for(revision: Revision) -> Value {
    let mut preferences = preferences();
    if let (false, Value::Object(fields)) = (revision.facts().forms.multi_choice, &mut preferences)
    {
        for name in ["interests", "extras"] {
            for option in fields
                .remove(name)
                .iter()
                .filter_map(Value::as_array)
                .flatten()
            {
                let option = option.as_str().unwrap_or_default();
                fields.insert(format!("{name}.{option}"), true.into());
            }
        }
    }
    preferences
}

fn wishes() -> Value {
    json!({"confirm_booking": true, "seat_preference": "aisle", "room_type": "sea_view"})
}

pub(crate) fn has_forms(revision: Revision) -> bool {
    revision.facts().elicitation_form
}

fn scenario_name(scenario: Scenario) -> &'static str {
    match scenario {
        Scenario::List => "list",
        Scenario::Completion => "completion",
        Scenario::Prompt => "prompt",
        Scenario::Form => "form",
        Scenario::Two => "two",
        Scenario::Decline => "decline",
        Scenario::Cancel => "cancelled question",
        Scenario::Sampling => "sampling",
        Scenario::Roots => "roots",
        Scenario::Progress => "progress",
        Scenario::Cancellation => "cancel",
        Scenario::Crash => "crash",
    }
}

/// Whether everything that a scenario consists of went well.
fn both<const N: usize>(
    seen: &mut BTreeMap<String, Result<(), String>>,
    names: [&str; N],
) -> Result<(), String> {
    names.into_iter().try_for_each(|name| {
        seen.remove(name)
            .unwrap_or_else(|| Err(format!("{name}: the client says nothing of it")))
    })
}

/// Whether the file was written.
fn saved(seen: &mut BTreeMap<String, Result<(), String>>, file: &Path) -> Result<(), String> {
    both(seen, ["roots"])?;
    match fs::read_to_string(file) {
        Ok(text) if text == "Day 1: arrive." => Ok(()),
        read => Err(format!("the file holds {read:?}")),
    }
}

/// Whether a client saw what is to be seen.
fn judged(run: &Run, line: Line) -> Result<(), String> {
    let Line {
        scenario,
        revision,
        seen,
        error,
    } = line;
    let Some(seen) = seen else {
        return Err(error.unwrap_or_default());
    };
    let spoken = run.revision.as_str();
    if revision.as_deref() != Some(spoken) {
        return Err(format!("it speaks {revision:?}, not {spoken}"));
    }
    let forms = has_forms(run.revision);
    let wrong = |what: &str| Err(format!("{what}: {seen}"));
    let text = seen["text"].as_str().unwrap_or_default();
    let asked = seen["asked"].as_array().map_or(0, Vec::len);
    let expect = |questions: usize, says: &str| match asked == questions && text.contains(says) {
        true => Ok(()),
        false => wrong(&format!("expected {questions} questions and {says:?}")),
    };
    match scenario.as_str() {
        "form" | "two" | "decline" | "cancelled question" if !forms => {
            match asked == 0 && seen["failed"] == true {
                true => Ok(()),
                false => wrong("a person was asked"),
            }
        }
        "list" => {
            let expected = json!({
                "tools": ["book_holiday", "tailor_trip", "find_best_flight", "save_itinerary"],
                "prompts": ["plan_vacation", "trip_report", "show_destination", "packing_list"],
                "resources": ["travel://destinations"],
                "templates": ["travel://destinations/{name}", "travel://bookings/{reference}"],
            });
            if seen == expected {
                Ok(())
            } else {
                wrong("other lists")
            }
        }
        "completion" if seen == json!(["Barcelona"]) => Ok(()),
        "prompt" => match seen[0].as_str() {
            Some(text) if text.starts_with("Plan 3 days in Barcelona") => Ok(()),
            _ => wrong("another prompt"),
        },
        "form" => {
            let got = seen["structured"]["preferences"].as_object();
            let same = got.is_some_and(|got| same(got, &preferences()));
            if same {
                expect(1, "pace")
            } else {
                wrong("other preferences")
            }
        }
        "two" => expect(2, "Booked: Barcelona"),
        "decline" => expect(2, "declined"),
        "cancelled question" => expect(2, "cancel"),
        "sampling" => expect(1, ADVICE),
        "roots" => expect(0, "Saved to "),
        "progress" if same_value(&seen, &json!([1, 2, 3])) => Ok(()),
        "cancel" if seen == "cancelled" => Ok(()),
        "stopped" => expect(0, "1"),
        _ => wrong("unexpected"),
    }
}

/// Whether both hold the same; numbers are compared as such.
fn same(left: &Map<String, Value>, right: &Value) -> bool {
    same_value(&Value::Object(left.clone()), right)
}

/// Whether both are the same; numbers are compared as such.
pub(crate) fn same_value(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .zip(right)
                    .all(|(left, right)| same_value(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, left)| right.get(key).is_some_and(|right| same_value(left, right)))
        }
        _ => left == right,
    }
}

/// Kills the client while a question is open: its server ends with it, one over HTTP serves others.
async fn crash(
    run: &Run,
    client: &Program,
    servers: &Servers,
    place: &Place,
) -> Result<(), String> {
    let flight = json!({"destination": "Barcelona", "month": "june", "wishes": "early"});
    let scenarios = json!([
        {"name": "crash", "do": "call", "tool": "find_best_flight", "arguments": flight, "die": true},
    ]);
    let job = json!({"connections": [connection(run, servers, place, true, scenarios)]});
    let ended = client.clone().arg(job.to_string()).run(LIMIT).await;
    let ended = ended.map_err(|error| error.to_string())?;
    if ended.code.is_some() {
        return Err(format!("the client did not die: {ended:?}"));
    }
    match servers {
        Servers::Stdio => {
            let directory = place.path.join("travel").display().to_string();
            for _ in 0..GONE.as_millis() / 50 {
                if !is_running(&directory).await {
                    return Ok(());
                }
                sleep(Duration::from_millis(50)).await;
            }
            Err("the server lives on".to_owned())
        }
        Servers::Http { travel, .. } => {
            let inspect = Program::new(ASKBACK).args(["inspect", "--json", "--url", &travel.url]);
            let inspect = inspect.args(["--protocol", run.revision.as_str()]);
            let ended = inspect.run(GONE).await.map_err(|error| error.to_string())?;
            match ended.code {
                Some(0) => Ok(()),
                _ => Err(format!("the server serves nobody else: {ended:?}")),
            }
        }
    }
}

/// Whether any process has this word on its command line.
async fn is_running(word: &str) -> bool {
    let processes = Program::new("ps").args(["-Ao", "args="]).run(GONE).await;
    processes.is_ok_and(|ended| {
        let mut lines = ended.stdout.lines();
        lines.any(|line| line.contains(word) && line.contains("serve travel"))
    })
}
