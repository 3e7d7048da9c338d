//! A peer as a client that declares that it cannot be asked, with `askback wrap` in front of a server.
//!
//! Over stdio an answers file of `askback wrap` answers everything. If `askback wrap` reaches
//! the server over HTTP, `askback answer --file` answers forms and links. Tools say what the server received, so that a
//! question that was silently declined does not pass.

use std::{
    collections::BTreeMap,
    env, fs, io,
    os::unix::fs::DirBuilderExt as _,
    path::PathBuf,
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use serde_json::{Value, json};

use crate::{
    Outcomes, Result,
    as_client::{GONE, LIMIT, Line, lines},
    job::{self, ADVICE},
    place::Place,
    plan::{Outcome, Run, Scenario, Transport},
    processes::{self, Process, until},
    program::{ASKBACK, Program, Serving},
};

/// What `askback wrap` prints when a question waits for a person.
const ASKED: &str = "asks you something";

pub(crate) async fn run(
    run: &Run,
    client: &Program,
    server: Option<Program>,
    place: &Place,
) -> Result<Outcomes> {
    let wrap = Wrap::prepare(run, server, place).await?;
    let calls = run.side.scenarios().iter().filter_map(|scenario| {
        let tool = match scenario {
            Scenario::Two | Scenario::Decline | Scenario::Cancel => "two",
            Scenario::Link => "link",
            Scenario::Sampling => "sampling",
            Scenario::Roots => "roots",
            Scenario::ServerCrash => "crash",
            _ => return None,
        };
        Some(job::call(scenario.title(), tool, json!({})))
    });
    let calls: Vec<Value> = calls.collect();
    // First, because it needs the server that the last call kills.
    let client_crash = wrap.client_crash(client, &calls[0]).await;
    let client_crash = client_crash.map_err(|error| error.to_string());
    let front_end = wrap.front_end()?;
    let job = wrap.job(&wrap.answered, &calls)?;
    let ended = client.clone().arg(job.to_string()).run(LIMIT).await?;
    drop(front_end);
    place.keep("client", &ended)?;
    let mut seen: BTreeMap<String, Line> = BTreeMap::new();
    for line in lines(&ended)? {
        seen.insert(line.scenario.clone(), line);
    }
    let mut outcomes = Outcomes::new();
    let has_links = run.revision.facts().elicitation_url;
    for &scenario in run.side.scenarios() {
        let judged = match (scenario, seen.remove(scenario.title())) {
            (Scenario::Crash, _) => client_crash.clone(),
            (_, Some(line)) => wrap.judge(scenario, has_links, &line),
            (_, None) => Err("the client says nothing of it".to_owned()),
        };
        let outcome = match judged {
            Ok(()) if scenario == Scenario::Link && !has_links => Outcome::Absent,
            Ok(()) => Outcome::Passed,
            Err(why) => Outcome::Failed(why),
        };
        outcomes.insert(scenario, outcome);
    }
    let is_left = |process: &Process| process.line.contains(&wrap.asks);
    if !processes::ended(GONE, is_left).await {
        let left = Outcome::Failed("`askback wrap` runs on after its client ended".to_owned());
        outcomes.insert(Scenario::ServerCrash, left);
    }
    Ok(outcomes)
}

/// The command line of `askback wrap`, and the server behind it if that is over HTTP.
struct Wrap {
    asks: String,
    log: PathBuf,
    place: PathBuf,
    server: Vec<String>,
    /// The answers file of `askback wrap`, and the rules of `askback answer --file`.
    answered: Value,
    rules: Option<Value>,
    _serving: Option<Serving>,
}

impl Wrap {
    async fn prepare(run: &Run, server: Option<Program>, place: &Place) -> Result<Self> {
        let (server, stdio, http) = match server {
            Some(server) => (server, Some("stdio"), "http"),
            None => (job::other(run), None, "--http"),
        };
        let rules = json!([
            {"when": {"message": "Where to?"}, "accept": {"place": "Rome"}},
            // A person needs some time to read a question.
            {"when": {"message": "When to Rome?"}, "accept": {"month": "June"}, "then": [
                {"decline": true, "reason": "Not this year."},
                {"cancel": true, "after": "400ms"},
            ]},
            {"when": {"host": "example.com"}, "accept": true},
        ]);
        let mut answered = json!({"sampling": [{"reply": ADVICE}], "roots": ["roots"]});
        // A socket's path must be short, and the run's folder has a long path.
        static WRAPS: AtomicU32 = AtomicU32::new(0);
        let name = format!(
            "interop-{}-{}",
            process::id(),
            WRAPS.fetch_add(1, Ordering::Relaxed)
        );
        let asks = env::temp_dir().join(name);
        fs::DirBuilder::new().mode(0o700).create(&asks)?;
        let mut wrap = Self {
            asks: asks.display().to_string(),
            log: place.path.join("wrap.txt"),
            place: place.path.clone(),
            server: Vec::new(),
            answered: Value::Null,
            rules: None,
            _serving: None,
        };
        match run.transport {
            Transport::Stdio => {
                answered["answers"] = rules;
                wrap.server.push("--".to_owned());
                wrap.server.extend(server.args(stdio).words());
            }
            Transport::Http => {
                wrap.rules = Some(json!({"answers": rules}));
                let serving = server
                    .arg(http)
                    .serve(&place.path.join("server.txt"))
                    .await?;
                wrap.server = vec!["--url".to_owned(), serving.url.clone()];
                wrap._serving = Some(serving);
            }
        }
        wrap.answered = answered;
        Ok(wrap)
    }

    /// Returns the client's job with these answers and calls.
    fn job(&self, answers: &Value, calls: &[Value]) -> io::Result<Value> {
        let file = self.place.join("answers.json");
        // The shell writes stderr to the log, because clients treat stderr in different ways.
        let command = Program::new("sh")
            .args(["-c", r#"exec "$0" "$@" 2>>"$INTEROP_LOG""#, ASKBACK, "wrap"])
            .env("INTEROP_LOG", &self.log)
            .env("XDG_STATE_HOME", self.place.join("state"))
            .args(["--show", "none", "--asks", &self.asks, "--answers"])
            .arg(&file)
            .args(&self.server);
        fs::write(&file, answers.to_string())?;
        Ok(json!({"connections": [{
            "command": command.words(), "url": null, "sse": false, "mute": true, "scenarios": calls,
        }]}))
    }

    /// Answers what the answers file does not.
    fn front_end(&self) -> Result<Option<tokio::process::Child>> {
        let Some(rules) = &self.rules else {
            return Ok(None);
        };
        let file = self.place.join("rules.json");
        fs::write(&file, rules.to_string())?;
        let command = Program::new(ASKBACK)
            .args(["answer", "--asks", &self.asks, "--file"])
            .arg(&file)
            .env("XDG_STATE_HOME", self.place.join("state"));
        Ok(Some(command.start(&self.place.join("answer.txt"))?))
    }

    /// Kills the client while its question waits for a person. Every process that it started has to end.
    async fn client_crash(&self, client: &Program, call: &Value) -> Result<()> {
        let job = self.job(
            &json!({"sampling": [{"reply": ADVICE}]}),
            std::slice::from_ref(call),
        )?;
        let client = client.clone().arg(job.to_string());
        let mut started = client.start(&self.place.join("killed.txt"))?;
        let is_asked = || fs::read_to_string(&self.log).is_ok_and(|log| log.contains(ASKED));
        if !until(LIMIT, is_asked).await {
            return Err("no question came".into());
        }
        let family = processes::below(started.id().unwrap_or_default())?;
        started.kill().await?;
        let is_left = |process: &Process| family.contains(&process.id);
        match processes::ended(GONE, is_left).await {
            true if family.is_empty() => Err("the client started nothing".into()),
            true => Ok(()),
            false => Err("a process that the client started runs on".into()),
        }
    }

    fn judge(&self, scenario: Scenario, has_links: bool, line: &Line) -> Result<(), String> {
        let failed = line.seen.as_ref().is_none_or(|seen| seen["failed"] == true);
        let text = line.seen.as_ref().and_then(|seen| seen["text"].as_str());
        let text = text.or(line.error.as_deref()).unwrap_or_default();
        let roots = self.place.join("roots").display().to_string();
        let (fails, says) = match scenario {
            Scenario::Two => (false, "Rome in June"),
            Scenario::Link if !has_links => (true, ""),
            Scenario::Link => (false, "the link: accept"),
            Scenario::Sampling => (false, ADVICE),
            Scenario::Roots => (false, &*roots),
            Scenario::Decline => (false, "no month: decline"),
            Scenario::Cancel => (false, "no month: cancel"),
            _ => (true, "the server"),
        };
        match failed == fails && text.contains(says) {
            true => Ok(()),
            false => Err(format!(
                "expected {says:?}, failed {fails}: {text:?}, failed {failed}"
            )),
        }
    }
}

impl Drop for Wrap {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.asks);
    }
}
