//! Calls in handshake revisions: questions are the server's requests.

use askback_core::revision::Revision;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::{
    ReceivedQuestion, Run, Trouble, Wire,
    bench::Bench,
    person::{Person, Reaction},
};

type Thoughts = Vec<(Instant, Value)>;

pub(super) async fn run(bench: Bench, revision: Revision) -> Run {
    let mut run = Run::new(revision, Trouble::None);
    let mut wire = bench.connect();
    wire.initialize(revision, bench.person.declared()).await;
    wire.request("logging/setLevel", json!({"level": "debug"}))
        .await;
    wire.hear().await;

    let mut person = bench.person;
    let mut params = bench.params;
    params["_meta"] = json!({"progressToken": 0});
    let call = wire.request(bench.method, params).await;
    let mut thoughts = Thoughts::new();
    loop {
        thoughts.sort_by_key(|(due, _)| *due);
        let due = thoughts.first().map(|(due, _)| *due);
        let thought = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = thought => {
                let (_, answer) = thoughts.remove(0);
                wire.say(&answer).await;
            }
            message = wire.hear() => {
                let Some(message) = message else {
                    run.findings.push("the server hung up".to_owned());
                    return run;
                };
                if message["method"].is_null() && message["id"] == call {
                    run.end(&message);
                    return run;
                }
                hear(&mut run, &mut person, &mut thoughts, &mut wire, &message).await;
            }
        }
    }
}

async fn hear(
    run: &mut Run,
    person: &mut Person,
    thoughts: &mut Thoughts,
    wire: &mut Wire,
    message: &Value,
) {
    match message["method"].as_str() {
        Some("notifications/cancelled") => {
            let withdrawn = &message["params"]["requestId"];
            thoughts.retain(|(_, answer)| answer["id"] != *withdrawn);
        }
        Some(method) if !message["id"].is_null() => {
            let asked = ReceivedQuestion {
                key: message["params"]["_meta"]["dev.askback/key"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
                method: method.to_owned(),
                params: message["params"].clone(),
            };
            let Some((answer, due)) = answer(run, person, &asked, &message["id"]) else {
                return;
            };
            if due <= Instant::now() {
                wire.say(&answer).await;
            } else {
                thoughts.push((due, answer));
            }
        }
        _ => run.tell(message),
    }
}

fn answer(
    run: &mut Run,
    person: &mut Person,
    asked: &ReceivedQuestion,
    id: &Value,
) -> Option<(Value, Instant)> {
    let reaction = person.react(asked);
    run.questions.push(asked.clone());
    let Some((reaction, delay)) = reaction else {
        run.surprised(asked);
        let refused = json!({"code": -1, "message": "nobody knows an answer"});
        let answer = json!({"jsonrpc": "2.0", "id": id, "error": refused});
        return Some((answer, Instant::now()));
    };
    let answer = match reaction {
        Reaction::Result(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Reaction::Error { code, message } => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
        Reaction::Silence => return None,
    };
    Some((answer, Instant::now() + delay))
}

impl Run {
    pub(super) fn surprised(&mut self, asked: &ReceivedQuestion) {
        let finding = format!(
            "asked {:?} under the key `{}`, to which the person has no answer",
            asked.message(),
            asked.key
        );
        self.findings.push(finding);
    }
}
