use std::path::Path;

use askback::Revision;
use serde_json::{Value, json};

use crate::{
    Result,
    place::Place,
    plan::{Run, Transport},
    program::{ASKBACK, Program, SERVER, Serving},
};

pub(crate) const ADVICE: &str = "1, 2 and 3, for they leave early.";

pub(crate) enum Servers {
    Stdio,
    Http { travel: Serving, other: Serving },
}

impl Servers {
    pub(crate) async fn start(run: &Run, place: &Place) -> Result<Self> {
        if run.transport == Transport::Stdio {
            return Ok(Self::Stdio);
        }
        let mut travel = travel(run, place).args(["--http", "127.0.0.1:0"]);
        let mut other = other(run);
        // Deprecated transports are only served on request.
        if run.is_sse() {
            (travel, other) = (travel.arg("--sse"), other.arg("--sse"));
        }
        let travel = travel.serve_on_stderr().await?;
        let other = other
            .arg("--http")
            .serve(&place.path.join("server.txt"))
            .await?;
        Ok(Self::Http { travel, other })
    }
}

/// Returns all jobs except the crash. `file` has to be written in the shared folder.
pub(crate) fn all(run: &Run, servers: &Servers, place: &Place, file: &Path) -> Value {
    json!({"connections": [
        connection(run, servers, place, true, &travelling(run, place, file)),
        connection(run, servers, place, false, &telling(run, place)),
    ]})
}

/// Returns the job of a client that is killed during a question.
pub(crate) fn deadly(run: &Run, servers: &Servers, place: &Place) -> Value {
    let mut scenario = call("crash", "find_best_flight", flight());
    scenario["die"] = true.into();
    json!({"connections": [connection(run, servers, place, true, &json!([scenario]))]})
}

fn travelling(run: &Run, place: &Place, file: &Path) -> Value {
    let trip = || json!({"destination": "Barcelona", "depart": "2026-06-15"});
    let plan = json!({"destination": "Barcelona", "days": "3", "budget": "900"});
    let contact = json!({"name": "Ada", "email": "ada@example.com"});
    let wishes = accept("Shall we book", &wishes());
    let refuse = |action: &str| json!({"message": "Who is travelling", "action": action});
    let asking = |mut call: Value, answers: Value| {
        call["answers"] = answers;
        call
    };
    let form = |name: &str| call(name, "tailor_trip", json!({"destination": "Barcelona"}));
    let book = |name: &str| call(name, "book_holiday", trip());
    let mut sampling = call("sampling", "find_best_flight", flight());
    sampling["sample"] = ADVICE.into();
    let mut scenarios = json!([
        {"name": "list", "do": "list"},
        {"name": "completion", "do": "complete",
            "prompt": "plan_vacation", "argument": "destination", "value": "Bar"},
        {"name": "prompt", "do": "prompt", "prompt": "plan_vacation", "arguments": plan},
        asking(form("form"), json!([accept("How would", &asked_for(run.revision))])),
        asking(book("two"), json!([wishes, accept("Who is travelling", &contact)])),
        asking(book("decline"), json!([wishes, refuse("decline")])),
        asking(form("no value"), json!([{"message": "How would", "action": "decline"}])),
        asking(book("cancelled question"), json!([wishes, refuse("cancel")])),
        sampling,
    ]);
    // Over HTTP the agency does not write to its clients' folders.
    if let (Transport::Stdio, Some(scenarios)) = (run.transport, scenarios.as_array_mut()) {
        let itinerary = json!({"file": file, "text": "Day 1: arrive."});
        scenarios.push(sharing("save_itinerary", itinerary, place));
    }
    scenarios
}

/// Returns a call at which the client shares its folder.
fn sharing(tool: &str, arguments: Value, place: &Place) -> Value {
    let root = format!("file://{}", place.path.join("roots").display());
    let mut call = call("roots", tool, arguments);
    call["roots"] = json!([root]);
    call
}

fn telling(run: &Run, place: &Place) -> Value {
    let mut scenarios = json!([
        {"name": "progress", "do": "progress", "tool": "progress"},
        {"name": "cancel", "do": "cancel", "tool": "slow"},
        {"name": "stopped", "do": "call", "tool": "stopped"},
    ]);
    if let (Transport::Http, Some(scenarios)) = (run.transport, scenarios.as_array_mut()) {
        scenarios.push(sharing("roots", json!({}), place));
    }
    scenarios
}

pub(crate) fn call(name: &str, tool: &str, arguments: Value) -> Value {
    json!({"name": name, "do": "call", "tool": tool, "arguments": arguments})
}

fn accept(message: &str, content: &Value) -> Value {
    json!({"message": message, "action": "accept", "content": content})
}

fn flight() -> Value {
    json!({"destination": "Barcelona", "month": "june", "wishes": "early"})
}

/// Returns the agency with short pages, so that clients have to request more.
fn travel(run: &Run, place: &Place) -> Program {
    let program = Program::new(ASKBACK)
        .env("XDG_STATE_HOME", place.path.join("state"))
        .args(["serve", "travel", "--page-size", "3", "--directory"])
        .arg(place.path.join("travel"));
    at_revision(program, run)
}

pub(crate) fn other(run: &Run) -> Program {
    at_revision(Program::new(SERVER), run)
}

/// Starts our server in the revision of the run.
fn at_revision(program: Program, run: &Run) -> Program {
    match run.pinned() {
        Some(revision) => program.args(["--protocol", revision.as_str()]),
        None => program,
    }
}

fn connection(
    run: &Run,
    servers: &Servers,
    place: &Place,
    is_travel: bool,
    scenarios: &Value,
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

/// Returns the person's preferences, with a field of each kind.
pub(crate) fn preferences() -> Value {
    json!({
        "name": "Tapas",
        "voucher": "ABC-1234",
        "email": "ada@example.com",
        "inspiration": "https://example.com/gaudi",
        "depart": "2026-06-15",
        "call_at": "2026-06-01T09:30:00Z",
        // An integer for a number field, because some languages cannot distinguish them.
        "budget": 120,
        "travellers": 3,
        "pets": true,
        "pace": "slow",
        "meals": "half_board",
        "interests": ["food", "music"],
        "extras": ["guide"],
    })
}

/// Returns the preferences as the revision can ask for them: without multiple choice, each option
/// is a yes-or-no question.
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
