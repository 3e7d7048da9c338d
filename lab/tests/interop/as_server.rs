//! A peer as a server, called by the command, or by the library's client if the command cannot be scripted.

use std::{fs, path::Path, time::Duration};

use serde_json::{Value, json};

use crate::{
    Outcomes, Result,
    as_client::{has_forms, same_value},
    library,
    place::Place,
    plan::{Outcome, Run, Scenario, Transport},
    program::{ASKBACK, Ended, Program, Serving},
};

const LIMIT: Duration = Duration::from_secs(60);

const ADVICE: &str = "Take the train.";

/// A server: how to start it, or its URL.
pub(crate) enum Server {
    Stdio(Program),
    Http(Serving),
}

pub(crate) async fn run(run: &Run, program: &Program, place: &Place) -> Result<Outcomes> {
    let mut outcomes = Outcomes::new();
    let server = start(run, program, place).await?;
    for &scenario in run.side.scenarios() {
        let tried = match scenario {
            Scenario::Completion => library::completion(run, &server).await,
            Scenario::Progress => library::progress(run, &server).await,
            Scenario::Cancellation => library::cancellation(run, &server).await,
            _ => command(run, &server, place, scenario).await,
        };
        let outcome = match tried {
            Ok(()) if scenario.asks_a_person() && !has_forms(run.revision) => Outcome::Absent,
            Ok(()) => Outcome::Passed,
            Err(error) => Outcome::Failed(error.to_string()),
        };
        outcomes.insert(scenario, outcome);
    }
    Ok(outcomes)
}

async fn start(run: &Run, program: &Program, place: &Place) -> Result<Server> {
    let transport = match run.transport {
        Transport::Stdio => return Ok(Server::Stdio(program.clone().arg("stdio"))),
        Transport::Http if run.is_sse() => "sse",
        Transport::Http => "http",
    };
    let log = place.path.join("server.txt");
    Ok(Server::Http(
        program.clone().arg(transport).serve(&log).await?,
    ))
}

async fn command(run: &Run, server: &Server, place: &Place, scenario: Scenario) -> Result<()> {
    let which = match run.revision.facts().forms.multi_choice {
        true => "2025-11-25",
        false => "2025-06-18",
    };
    let answers = place.path.join(format!("{scenario:?}.json"));
    let roots = place.path.join("roots");
    let command = Program::new(ASKBACK).env("XDG_STATE_HOME", place.path.join("state"));
    let command = match scenario {
        Scenario::List => command.args(["list", "--all", "--json"]),
        Scenario::Prompt => command.args(["get", "greeting", "name=Ada", "--json"]),
        Scenario::Form => command.args(["call", "form"]).arg(format!("which={which}")),
        Scenario::Two | Scenario::Decline | Scenario::Cancel => command.args(["call", "two"]),
        Scenario::Sampling => command.args(["call", "sampling"]),
        Scenario::Roots => command.args(["call", "roots", "--roots"]).arg(&roots),
        // By default the command waits for a resumable stream.
        Scenario::Crash => command.args(["call", "crash", "--timeout", "8"]),
        _ => {
            return Err("no command can be scripted to do that".into());
        }
    };
    let command = match script(scenario, which) {
        Some(script) => {
            fs::write(&answers, script.to_string())?;
            command.arg("--answers").arg(&answers)
        }
        None => command,
    };
    let command = match run.pinned() {
        Some(revision) => command.args(["--protocol", revision.as_str()]),
        None => command,
    };
    let command = match server {
        Server::Stdio(program) => program.clone().behind(command.arg("--")),
        Server::Http(serving) => command.args(["--url", &serving.url]),
    };
    let ended = command.run(LIMIT).await?;
    place.keep(&format!("{scenario:?}"), &ended)?;
    judge(run, scenario, &ended, &roots, which)
}

fn script(scenario: Scenario, which: &str) -> Option<Value> {
    let rule = |message: &str, act: (&str, Value)| {
        let (act, value) = act;
        let mut rule = json!({"when": {"message": message}});
        rule[act] = value;
        rule
    };
    let place = rule("Where to?", ("accept", json!({"place": "Rome"})));
    let month = |act: (&str, Value)| rule("When to Rome?", act);
    Some(match scenario {
        Scenario::Form => json!({"answers": [rule("fill this in", ("accept", filled(which)))]}),
        Scenario::Two => {
            json!({"answers": [place, month(("accept", json!({"month": "June"})))]})
        }
        Scenario::Decline => json!({"answers": [place, month(("decline", json!(true)))]}),
        Scenario::Cancel => json!({"answers": [place, month(("cancel", json!(true)))]}),
        Scenario::Sampling => json!({"sampling": [{"reply": ADVICE}]}),
        _ => return None,
    })
}

fn filled(which: &str) -> Value {
    let mut filled = json!({
        "name": "Bo",
        "email": "ada@example.com",
        "page": "https://example.com/",
        "day": "2026-06-15",
        "moment": "2026-06-01T09:30:00Z",
        "price": 2,
        "number": 3,
        "agreed": true,
        "size": "s",
        "colour": "g",
    });
    if which == "2025-11-25" {
        filled["days"] = json!(["mon", "wed"]);
        filled["extras"] = json!(["y"]);
    }
    filled
}

fn judge(run: &Run, scenario: Scenario, ended: &Ended, roots: &Path, which: &str) -> Result<()> {
    let wrong = |what: &str| {
        let Ended { code, stdout, .. } = ended;
        Err(format!("{what}: exit {code:?}, {stdout:?}: {}", ended.last_words()).into())
    };
    let expect =
        |code: i32, says: &str| match ended.code == Some(code) && ended.stdout.contains(says) {
            true => Ok(()),
            false => wrong(&format!("expected exit {code} and {says:?}")),
        };
    if scenario.asks_a_person() && !has_forms(run.revision) {
        return match ended.code {
            // 6: a question was not answered, which the output shows.
            Some(1 | 4 | 6) => Ok(()),
            _ => wrong("a person was asked"),
        };
    }
    match scenario {
        Scenario::List => {
            let listed = ended.json()?;
            let revision = run.revision.as_str();
            if listed["protocolVersion"] != revision {
                return wrong(&format!("it does not speak {revision}"));
            }
            let names = |list: &str| {
                let mut names: Vec<String> = Vec::new();
                for item in listed[list].as_array().into_iter().flatten() {
                    names.extend(item["name"].as_str().map(str::to_owned));
                }
                names.sort();
                names
            };
            let tools = [
                "crash", "form", "progress", "roots", "sampling", "slow", "stopped", "two",
            ];
            let listed = names("tools");
            let has_all = tools.iter().all(|tool| listed.iter().any(|it| it == tool));
            match has_all && names("prompts") == ["greeting"] {
                true => Ok(()),
                false => wrong("other lists"),
            }
        }
        Scenario::Prompt => expect(0, "Greet Ada."),
        Scenario::Form => {
            let got: Value = serde_json::from_str(ended.stdout.trim()).unwrap_or_default();
            match same_value(&got["content"], &filled(which)) {
                true => expect(0, "accept"),
                false => wrong("another answer"),
            }
        }
        Scenario::Two => expect(0, "Rome in June"),
        Scenario::Decline => expect(3, "no month: decline"),
        Scenario::Cancel => expect(3, "no month: cancel"),
        Scenario::Sampling => expect(0, ADVICE),
        Scenario::Roots => expect(0, &roots.display().to_string()),
        Scenario::Crash => expect(4, ""),
        _ => wrong("not a command"),
    }
}
