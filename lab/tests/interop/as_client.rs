//! A peer as the client of the travel agency.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use askback::Revision;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{
    Outcomes, Result,
    job::{self, ADVICE, Servers, preferences},
    place::Place,
    plan::{Outcome, Run, Scenario, Transport},
    processes::{self, Process},
    program::{ASKBACK, Ended, Program},
};

pub(crate) const LIMIT: Duration = Duration::from_secs(120);

/// How long a server may keep running after its client was killed.
pub(crate) const GONE: Duration = Duration::from_secs(15);

/// A client's report on a scenario, one per line.
#[derive(Debug, Deserialize)]
pub(crate) struct Line {
    pub(crate) scenario: String,
    revision: Option<String>,
    pub(crate) seen: Option<Value>,
    pub(crate) error: Option<String>,
}

pub(crate) async fn run(run: &Run, client: &Program, place: &Place) -> Result<Outcomes> {
    let servers = Servers::start(run, place).await?;
    let file = place.path.join("roots/trip.txt");
    let ended = client
        .clone()
        .arg(job::all(run, &servers, place, &file).to_string());
    let ended = ended.run(LIMIT).await?;
    place.keep("client", &ended)?;

    let mut seen = BTreeMap::new();
    for line in lines(&ended)? {
        seen.insert(line.scenario.clone(), judged(run, line));
    }
    let mut outcomes = Outcomes::new();
    for &scenario in run.side.scenarios() {
        let outcome = match scenario {
            Scenario::Crash => crash(run, client, &servers, place).await,
            Scenario::Cancellation => both(&mut seen, ["cancel", "stopped"]),
            Scenario::Decline => both(&mut seen, ["decline", "no value"]),
            Scenario::Roots if run.transport == Transport::Stdio => saved(&mut seen, &file),
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

pub(crate) fn has_forms(revision: Revision) -> bool {
    revision.facts().elicitation_form
}

pub(crate) fn lines(ended: &Ended) -> Result<Vec<Line>> {
    let read = |line| {
        serde_json::from_str(line)
            .map_err(|error| format!("{line:?} is not what a client says: {error}").into())
    };
    ended.stdout.lines().map(read).collect()
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
        Scenario::Link | Scenario::ServerCrash => "of the wrap",
    }
}

pub(crate) fn both<const N: usize>(
    seen: &mut BTreeMap<String, Result<(), String>>,
    names: [&str; N],
) -> Result<(), String> {
    names.into_iter().try_for_each(|name| {
        seen.remove(name)
            .unwrap_or_else(|| Err(format!("{name}: the client says nothing of it")))
    })
}

fn saved(seen: &mut BTreeMap<String, Result<(), String>>, file: &Path) -> Result<(), String> {
    both(seen, ["roots"])?;
    match fs::read_to_string(file) {
        Ok(text) if text == "Day 1: arrive." => Ok(()),
        read => Err(format!("the file holds {read:?}")),
    }
}

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
    // These clients have no user: they refuse at once, unless the machine is slow.
    let refused = |questions, says| {
        let by_itself = "the client turned the question down by itself";
        expect(questions, by_itself).or_else(|_| expect(questions, says))
    };
    match scenario.as_str() {
        "form" | "two" | "decline" | "no value" | "cancelled question" if !forms => {
            match asked == 0 && seen["failed"] == true {
                true => Ok(()),
                false => wrong("a person was asked"),
            }
        }
        "list" => {
            let mut tools = vec!["book_holiday", "tailor_trip", "find_best_flight"];
            if run.transport == Transport::Stdio {
                tools.push("save_itinerary");
            }
            let expected = json!({
                "tools": tools,
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
        "decline" => refused(2, "declined"),
        // The tool has an output schema, so a result without a value has to be an error: clients that check results
        // reject any other.
        "no value" if seen["failed"] != true => wrong("expected a failure"),
        "no value" => refused(1, "declined"),
        "cancelled question" => refused(2, "cancel"),
        "sampling" => expect(1, ADVICE),
        "roots" if run.transport == Transport::Stdio => expect(0, "Saved to "),
        "roots" => expect(0, "file://"),
        "progress" if same_value(&seen, &json!([1, 2, 3])) => Ok(()),
        "cancel" if seen == "cancelled" => Ok(()),
        "stopped" => expect(0, "1"),
        _ => wrong("unexpected"),
    }
}

fn same(left: &Map<String, Value>, right: &Value) -> bool {
    same_value(&Value::Object(left.clone()), right)
}

/// Whether both are equal; numbers are compared by value.
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

/// Kills the client while a question is open. A stdio server must exit, and an HTTP server must serve other clients.
async fn crash(
    run: &Run,
    client: &Program,
    servers: &Servers,
    place: &Place,
) -> Result<(), String> {
    let job = job::deadly(run, servers, place);
    let ended = client.clone().arg(job.to_string()).run(LIMIT).await;
    let ended = ended.map_err(|error| error.to_string())?;
    if ended.code.is_some() {
        return Err(format!("the client did not die: {ended:?}"));
    }
    match servers {
        Servers::Stdio => {
            let directory = place.path.join("travel").display().to_string();
            let is_server = |process: &Process| {
                process.line.contains(&directory) && process.line.contains("serve travel")
            };
            match processes::ended(GONE, is_server).await {
                true => Ok(()),
                false => Err("the server lives on".to_owned()),
            }
        }
        Servers::Http { travel, .. } => {
            let inspect =
                Program::new(ASKBACK).args(["list", "--all", "--json", "--url", &travel.url]);
            let inspect = inspect.args(["--protocol", run.revision.as_str()]);
            let ended = inspect
                .run(LIMIT)
                .await
                .map_err(|error| error.to_string())?;
            match ended.code {
                Some(0) => Ok(()),
                _ => Err(format!("the server serves nobody else: {ended:?}")),
            }
        }
    }
}
