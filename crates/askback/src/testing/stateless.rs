//! Calls in the stateless era: questions are results, and the call is sent again.

use std::{sync::Arc, time::Duration};

use askback_core::{
    protocol::{INPUT_REQUIRED, OrderedMap},
    revision::Revision,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

use super::{
    CallEnd, ReceivedQuestion, Run, Trouble, Wire, bench::Bench, person::Reaction, wire::stateless,
};

/// More rounds than a server may ask for.
const ROUNDS: u32 = 64;

/// The pause before a call is repeated that has no questions.
const PAUSE: Duration = Duration::from_millis(100);

pub(super) async fn run(bench: Bench, revision: Revision, trouble: Trouble) -> Run {
    let client = Client {
        wire: bench.connect(),
        run: Run::new(revision, trouble),
        bench,
        sent: Vec::new(),
    };
    client.play().await
}

struct Client {
    bench: Bench,
    wire: Wire,
    run: Run,
    sent: Vec<RoundRecord>,
}

struct RoundRecord {
    params: Value,
    response: Response,
    at: Instant,
}

#[derive(Default)]
struct Response {
    message: Value,
    /// In the order in which they are asked, which a JSON value does not keep.
    questions: OrderedMap<Value>,
}

impl Client {
    async fn play(mut self) -> Run {
        let mut params = self.bench.params.clone();
        for round in 1..=ROUNDS {
            self.run.rounds = round;
            let at = Instant::now();
            let response = self.send_round(round, &params).await;
            if !response.asks() {
                self.run.end(&response.message);
                self.sent.push(RoundRecord {
                    params,
                    response,
                    at,
                });
                self.go_back().await;
                return self.run;
            }
            let result = response.message["result"].clone();
            let questions = response.questions.clone();
            self.sent.push(RoundRecord {
                params,
                response,
                at,
            });
            let Some(answers) = self.answer(questions).await else {
                return self.run;
            };
            params = self.bench.params.clone();
            params["inputResponses"] = answers.into();
            if let Some(state) = result.get("requestState") {
                params["requestState"] = state.clone();
            }
        }
        self.run
            .findings
            .push(format!("still asking after {ROUNDS} rounds"));
        self.run
    }

    async fn send_round(&mut self, round: u32, params: &Value) -> Response {
        if is_first(params) {
            return self.send(params).await;
        }
        match self.run.trouble {
            Trouble::None | Trouble::Again => {}
            Trouble::Restart => self.wire = self.bench.restart(),
            Trouble::Crash(_) => {
                let crash = Arc::clone(&self.bench.crash);
                tokio::select! {
                    response = self.send(params) => return response,
                    () = crash.happened() => {}
                }
                self.run.has_crashed = true;
                self.wire = self.bench.restart();
            }
            Trouble::Twice => return self.send_twice(round, params).await,
        }
        self.send(params).await
    }

    async fn send(&mut self, params: &Value) -> Response {
        let id = self.begin(params).await;
        let mut responses = self.hear([id]).await;
        responses.pop().unwrap_or_default()
    }

    async fn send_twice(&mut self, round: u32, params: &Value) -> Response {
        let ids = [self.begin(params).await, self.begin(params).await];
        let mut responses = self.hear(ids).await;
        let second = responses.pop().unwrap_or_default();
        let first = responses.pop().unwrap_or_default();
        if first.outcome() != second.outcome() {
            let before = first.outcome();
            let what = format!("sent twice, the first time it came to {before}");
            self.find(round, &what, &second);
        }
        second
    }

    async fn begin(&mut self, params: &Value) -> u64 {
        let token = self.sent.len() as u64;
        let capabilities = self.bench.person.declared();
        let params = stateless(self.run.revision, capabilities, params.clone(), token);
        self.wire.request(self.bench.method, params).await
    }

    async fn hear<const N: usize>(&mut self, ids: [u64; N]) -> Vec<Response> {
        let mut responses: [Option<Response>; N] = [const { None }; N];
        while responses.iter().any(Option::is_none) {
            let Some(bytes) = self.wire.receive().await else {
                self.run.findings.push("the server hung up".to_owned());
                break;
            };
            let response = Response::read(&bytes);
            let id = &response.message["id"];
            match ids.iter().position(|sent| *id == *sent) {
                Some(at) => responses[at] = Some(response),
                None => self.run.tell(&response.message),
            }
        }
        responses
            .into_iter()
            .map(Option::unwrap_or_default)
            .collect()
    }

    /// Answers all questions of a round before the client continues. Returns `None` if the client leaves.
    async fn answer(&mut self, questions: OrderedMap<Value>) -> Option<Map<String, Value>> {
        let mut answers = Map::new();
        let mut longest = Duration::ZERO;
        let mut left = false;
        if questions.is_empty() {
            longest = PAUSE;
        }
        for (key, request) in questions {
            let asked = ReceivedQuestion {
                key: key.clone(),
                method: request["method"].as_str().unwrap_or_default().to_owned(),
                params: request["params"].clone(),
            };
            let before = self.run.questions.contains(&asked);
            match self.bench.person.react(&asked) {
                Some((Reaction::Result(result), delay)) => {
                    longest = longest.max(delay);
                    answers.insert(key, result);
                }
                Some((Reaction::Silence, _)) => {
                    longest = longest.max(Bench::patience());
                    left |= before;
                }
                Some((Reaction::Error { .. }, _)) => left = true,
                None => {
                    self.run.surprised(&asked);
                    left = true;
                }
            }
            self.run.questions.push(asked);
        }
        if left {
            return None;
        }
        sleep(longest).await;
        Some(answers)
    }

    async fn go_back(&mut self) {
        if self.run.trouble != Trouble::Again {
            return;
        }
        for (round, sent) in (1..).zip(std::mem::take(&mut self.sent)) {
            // Later, another response may be correct, because timers or the state may have expired.
            let is_later = sent.at.elapsed() >= Duration::from_secs(1);
            if is_first(&sent.params) || is_later {
                continue;
            }
            let response = self.send(&sent.params).await;
            let before = sent.response.outcome();
            if before != response.outcome() {
                let what = format!("sent again in the end; at first it came to {before}");
                self.find(round, &what, &response);
            }
        }
    }

    fn find(&mut self, round: u32, what: &str, response: &Response) {
        let came_to = response.outcome();
        self.run
            .findings
            .push(format!("round {round}: {what}, and now to {came_to}"));
    }
}

impl Response {
    fn read(bytes: &[u8]) -> Self {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct QuestionMembers {
            input_requests: OrderedMap<Value>,
        }
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct ResponseMembers {
            result: QuestionMembers,
        }
        let peek: ResponseMembers = serde_json::from_slice(bytes).unwrap_or_default();
        Self {
            message: serde_json::from_slice(bytes).unwrap_or_default(),
            questions: peek.result.input_requests,
        }
    }

    fn asks(&self) -> bool {
        self.message["result"]["resultType"] == INPUT_REQUIRED
    }

    /// Returns the part that must be the same in two responses to one round: the questions, or the end of the call.
    fn outcome(&self) -> Value {
        if self.asks() {
            json!({"asking": self.message["result"]["inputRequests"]})
        } else {
            CallEnd::from_response(&self.message).essence()
        }
    }
}

fn is_first(params: &Value) -> bool {
    params["requestState"].is_null() && params["inputResponses"].is_null()
}
