//! The proof's client: how it answers questions, and which disturbances it causes.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use askback::Revision;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::{
    program::{Kind, Path},
    script::{Script, mistake},
};

/// How a client of the stateless era sends its rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Habit {
    /// Sends each round once.
    Plain,
    /// Reaches another process in every round.
    Restart,
    /// Sends rounds twice, concurrently or one after the other, and continues from either response.
    Twice,
    /// Sends older rounds again between the others.
    Again,
    /// Sends a round again if its process has crashed.
    Crash,
}

/// A connection to the server that can be made again.
pub(super) trait Link {
    /// Ends the server's process, or its stand-in, and starts another.
    async fn restart(&mut self);
    /// Waits until the process has crashed.
    fn crashed(&self) -> impl Future<Output = ()> + use<Self> {
        std::future::pending()
    }
    async fn say(&mut self, message: Value);
    async fn hear(&mut self) -> Value;
    async fn sleep(&self, span: Duration);
}

#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) text: String,
    /// The text of each question by its place, without the explanations of invalid answers.
    pub(super) questions: BTreeMap<Path, BTreeSet<String>>,
}

pub(super) struct Client<L> {
    link: L,
    script: Script,
    dice: Dice,
    program: Value,
    asked: BTreeMap<Path, Asked>,
    last_id: u64,
}

struct Asked {
    words: BTreeSet<String>,
    since: Instant,
    /// The number of answers so far. The first answers are invalid.
    answers: u32,
}

struct Question {
    path: Path,
    form: Kind,
    within: Option<Duration>,
}

enum Decision {
    /// The user answers now.
    Now(Value),
    /// The user answers after the timeout.
    Late(Value, Instant),
    /// The user never answers, so the handler has to give up.
    Never,
}

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const TASKS: &str = "io.modelcontextprotocol/tasks";

/// The longest pause between two polls of a task.
const LOOK: Duration = Duration::from_secs(1);

impl<L: Link> Client<L> {
    pub(super) fn new(link: L, script: Script, program: Value) -> Self {
        Self {
            link,
            script,
            dice: Dice(script.0),
            program,
            asked: BTreeMap::new(),
            last_id: 0,
        }
    }

    pub(super) async fn suspended(mut self, revision: Revision) -> Outcome {
        let hello = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "proof", "version": "1"},
        });
        let opened = self.request("initialize", hello).await;
        assert_eq!(
            self.hear_response(&[opened]).await[0]["result"]["protocolVersion"],
            revision.as_str()
        );
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        self.link.say(initialized).await;
        let call = self.request("tools/call", self.params()).await;
        let mut open: Vec<(Value, Decision)> = Vec::new();
        loop {
            let is_due = open
                .iter()
                .any(|(_, decision)| matches!(decision, Decision::Now(_)));
            let message = if is_due {
                // No further message arrives without an answer.
                tokio::time::timeout(Duration::from_millis(1), self.link.hear())
                    .await
                    .ok()
            } else {
                Some(self.link.hear().await)
            };
            match message {
                None => {
                    let due: Vec<usize> = (0..open.len())
                        .filter(|at| matches!(open[*at].1, Decision::Now(_)))
                        .collect();
                    let at = due[self.dice.below(due.len())];
                    if let (id, Decision::Now(result)) = open.remove(at) {
                        self.respond(&id, result).await;
                    }
                }
                Some(message) if message["id"] == call && message["method"].is_null() => {
                    return self.outcome(&message);
                }
                Some(message) if message["method"] == "elicitation/create" => {
                    let decision = self.decide(&message["params"]);
                    self.answered(&message["params"]);
                    open.push((message["id"].clone(), decision));
                }
                Some(message) => {
                    assert_eq!(message["method"], "notifications/cancelled", "{message}");
                    let id = &message["params"]["requestId"];
                    let at = open
                        .iter()
                        .position(|(open, _)| open == id)
                        .expect("it was asked");
                    if let (id, Decision::Late(result, _)) = open.remove(at)
                        && self.dice.flips()
                    {
                        self.respond(&id, result).await;
                    }
                }
            }
        }
    }

    pub(super) async fn stateless(mut self, revision: Revision, habit: Habit) -> Outcome {
        let mut params = self.params();
        params["_meta"] = json!({CAPABILITIES: {"elicitation": {}}, VERSION: revision.as_str()});
        let first = params.clone();
        let mut rounds: Vec<Value> = Vec::new();
        loop {
            let response = self.send_round(&params, habit, &rounds).await;
            let result = &response["result"];
            if result["resultType"] != "input_required" {
                return self.outcome(&response);
            }
            rounds.push(params);
            let mut answers = self.answer(&result["inputRequests"]).await;
            if self.dice.flips() {
                answers.insert(
                    "never-asked".into(),
                    json!({"action": "accept", "content": {}}),
                );
            }
            params = first.clone();
            params["requestState"] = result["requestState"].clone();
            params["inputResponses"] = answers.into();
        }
    }

    pub(super) async fn task(mut self, revision: Revision) -> Outcome {
        let capabilities = json!({"elicitation": {}, "extensions": {TASKS: {}}});
        let meta = json!({CAPABILITIES: capabilities, VERSION: revision.as_str()});
        let mut params = self.params();
        params["_meta"] = meta.clone();
        let begun = self.exchange("tools/call", params).await;
        let params = json!({"taskId": begun["result"]["taskId"], "_meta": meta});
        let mut pause = Duration::from_millis(1);
        loop {
            let task = self.exchange("tasks/get", params.clone()).await["result"].take();
            match task["status"].as_str() {
                Some("completed") => return self.outcome(&task),
                Some("working" | "input_required") => {}
                _ => panic!("no result: {task}"),
            }
            let answers = self.answers_by_now(&task["inputRequests"]);
            if answers.is_empty() {
                self.link.sleep(pause).await;
                pause = LOOK.min(pause * 2);
                continue;
            }
            let mut update = params.clone();
            update["inputResponses"] = answers.into();
            let taken = self.exchange("tasks/update", update).await;
            assert!(taken["error"].is_null(), "{taken}");
            pause = Duration::from_millis(1);
        }
    }

    /// Answers some of the questions that can be answered now, and those whose timeout is over.
    /// Each question must be seen before its timeout.
    fn answers_by_now(&mut self, requests: &Value) -> Map<String, Value> {
        let mut answers = Map::new();
        for (key, request) in requests.as_object().into_iter().flatten() {
            let params = &request["params"];
            let result = match self.decide(params) {
                Decision::Now(result) => result,
                Decision::Late(result, at) if at <= Instant::now() => result,
                Decision::Late(..) | Decision::Never => continue,
            };
            if answers.is_empty() || self.dice.flips() {
                self.answered(params);
                answers.insert(key.clone(), result);
            }
        }
        answers
    }

    async fn exchange(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params).await;
        self.hear_response(&[id]).await.remove(0)
    }

    async fn send_round(&mut self, params: &Value, habit: Habit, rounds: &[Value]) -> Value {
        let is_retry = !rounds.is_empty();
        match habit {
            Habit::Plain => {}
            Habit::Restart if is_retry => self.link.restart().await,
            Habit::Twice if is_retry => return self.send_twice(params).await,
            Habit::Again if rounds.len() > 1 && self.dice.flips() => {
                let old = &rounds[1 + self.dice.below(rounds.len() - 1)];
                let response = self.exchange("tools/call", old.clone()).await;
                assert!(response["error"].is_null(), "{response}");
            }
            Habit::Crash if is_retry => {
                let id = self.request("tools/call", params.clone()).await;
                if let Some(response) = self.hear_unless_crashed(id).await {
                    return response;
                }
                self.link.restart().await;
            }
            Habit::Restart | Habit::Twice | Habit::Again | Habit::Crash => {}
        }
        self.exchange("tools/call", params.clone()).await
    }

    /// Sends a round twice. Both responses must be equivalent.
    async fn send_twice(&mut self, params: &Value) -> Value {
        let first = self.request("tools/call", params.clone()).await;
        let mut responses = if self.dice.flips() {
            let second = self.request("tools/call", params.clone()).await;
            self.hear_response(&[first, second]).await
        } else {
            let mut responses = self.hear_response(&[first]).await;
            let second = self.request("tools/call", params.clone()).await;
            responses.extend(self.hear_response(&[second]).await);
            responses
        };
        // The branches may have come to different points when the second request asks, because it
        // may have had to wait.
        let (first, second) = (&responses[0]["result"], &responses[1]["result"]);
        let both_done = first["resultType"].is_null() && second["resultType"].is_null();
        if both_done {
            assert_eq!(first["content"], second["content"], "one round sent twice");
        }
        responses.swap_remove(self.dice.below(2))
    }

    /// Answers some of the questions that can be answered now. If no question can be answered,
    /// waits until a timeout is over.
    async fn answer(&mut self, requests: &Value) -> Map<String, Value> {
        let requests = requests.as_object().expect("something is asked");
        let mut now = Map::new();
        let mut late = Vec::new();
        for (key, request) in requests {
            match self.decide(&request["params"]) {
                Decision::Now(result) => {
                    now.insert(key.clone(), result);
                }
                Decision::Late(result, at) => late.push((at, key.clone(), result)),
                Decision::Never => {}
            }
        }
        if now.is_empty() {
            late.sort_by_key(|(at, ..)| *at);
            let (at, ..) = late.first().expect("something is asked that leads on");
            self.link
                .sleep(at.saturating_duration_since(Instant::now()))
                .await;
            if self.dice.flips() {
                let overdue = late
                    .into_iter()
                    .take_while(|(at, ..)| *at <= Instant::now());
                now.extend(overdue.map(|(_, key, result)| (key, result)));
            }
            return now;
        }
        if self.dice.flips() {
            let kept = 1 + self.dice.below(now.len());
            while now.len() > kept {
                let at = self.dice.below(now.len());
                let key = now.keys().nth(at).expect("it is within").clone();
                now.remove(&key);
            }
        }
        for (key, request) in requests {
            if now.contains_key(key) {
                self.answered(&request["params"]);
            }
        }
        now
    }

    fn answered(&mut self, params: &Value) {
        let question = Question::read(params);
        if let Some(asked) = self.asked.get_mut(&question.path) {
            asked.answers += 1;
        }
    }

    fn decide(&mut self, params: &Value) -> Decision {
        let question = Question::read(params);
        let words = Question::words(params);
        let asked = self.asked.entry(question.path.clone()).or_insert(Asked {
            words: BTreeSet::new(),
            since: Instant::now(),
            answers: 0,
        });
        asked.words.insert(words.to_owned());
        if let Some((race, side)) = question.path.racing()
            && (side == "first") != self.script.prefers_first(&race)
        {
            return Decision::Never;
        }
        let path = &question.path;
        let result = self.script.says(path).result(question.form);
        match question.within {
            Some(within) if self.script.is_late(path) => {
                Decision::Late(result, asked.since + within + Duration::from_millis(1))
            }
            _ if asked.answers < self.script.mistakes(path) => {
                Decision::Now(mistake(question.form))
            }
            _ => Decision::Now(result),
        }
    }

    fn params(&self) -> Value {
        json!({"name": "run", "arguments": {"program": self.program}})
    }

    async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        self.link
            .say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
            .await;
        id
    }

    async fn respond(&mut self, id: &Value, result: Value) {
        self.link
            .say(json!({"jsonrpc": "2.0", "id": id, "result": result}))
            .await;
    }

    async fn hear_response(&mut self, ids: &[u64]) -> Vec<Value> {
        let mut responses = vec![Value::Null; ids.len()];
        while responses.contains(&Value::Null) {
            let message = self.link.hear().await;
            let at = ids
                .iter()
                .position(|id| message["id"] == *id)
                .expect("a response");
            responses[at] = message;
        }
        responses
    }

    /// The response, or `None` if the process has crashed.
    async fn hear_unless_crashed(&mut self, id: u64) -> Option<Value> {
        let (ids, crashed) = ([id], self.link.crashed());
        tokio::select! {
            mut responses = self.hear_response(&ids) => Some(responses.remove(0)),
            () = crashed => None,
        }
    }

    fn outcome(self, response: &Value) -> Outcome {
        let text = response["result"]["content"][0]["text"].as_str();
        let text = text.unwrap_or_else(|| panic!("no result: {response}"));
        Outcome {
            text: text.to_owned(),
            questions: self
                .asked
                .into_iter()
                .map(|(path, asked)| (path, asked.words))
                .collect(),
        }
    }
}

impl Question {
    fn words(params: &Value) -> &str {
        let message = params["message"].as_str().expect("a message");
        message.split(" \n\n").next().unwrap_or(message)
    }

    fn read(params: &Value) -> Self {
        let parts: Vec<&str> = Self::words(params).split('|').collect();
        let seconds = parts[2].parse().expect("seconds");
        Self {
            path: Path(parts[0].to_owned()),
            form: match parts[1] {
                "Number" => Kind::Number,
                "Flag" => Kind::Flag,
                _ => Kind::Word,
            },
            within: (seconds > 0).then(|| Duration::from_secs(seconds)),
        }
    }
}

impl Path {
    /// The race that contains this question, and its side.
    fn racing(&self) -> Option<(Self, &str)> {
        let (race, side) = self.0.rsplit_once('/')?;
        matches!(side, "first" | "second").then(|| (Self(race.to_owned()), side))
    }
}

/// A deterministic random number generator.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn flips(&mut self) -> bool {
        self.below(2) == 0
    }
}
