//! Either side of a bridge disconnects after each message of a call that asks one question.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::{
    BoxFuture, Error, Result, Revision,
    bridge::{Answers, Bridge, Hold, Withdrawal, WithdrawalReason},
    client::HostQuestion,
    internal::revision::Era,
    protocol::{ClientCapabilities, ElicitResult, InputResponse},
    transport::{self, Channel, Receiver, Sender},
};
use serde_json::{Value, json};
use tokio::{
    runtime::Handle,
    sync::{mpsc, oneshot},
    task::{JoinHandle, yield_now},
    time::advance,
};

use super::{serve, soon};

const ERAS: [Revision; 2] = [Revision::LATEST_LEGACY, Revision::LATEST];

/// When a call is given back to the client, if it is held.
const HOLD: Duration = Duration::from_secs(45);

/// How long a call that was given back continues, and how long a parked call does.
const KEEP: Duration = Duration::from_secs(900);

/// The last message before a side disconnects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Arrow {
    /// From the client to the bridge.
    Call,
    /// From the bridge to the server.
    ForwardedCall,
    /// From the server to the bridge.
    Question,
    /// From the bridge to the client, or to `Answers`.
    ForwardedQuestion,
    /// From the bridge to the client, in place of the result.
    GivenBack,
    /// From the client to the bridge, while the question is open.
    Cancel,
    /// From the client or `Answers` to the bridge.
    Answer,
    /// From the bridge to the server.
    ForwardedAnswer,
    /// From the server to the bridge.
    Response,
    /// From the bridge to the client.
    ForwardedResponse,
}

const ARROWS: [Arrow; 10] = [
    Arrow::Call,
    Arrow::ForwardedCall,
    Arrow::Question,
    Arrow::ForwardedQuestion,
    Arrow::GivenBack,
    Arrow::Cancel,
    Arrow::Answer,
    Arrow::ForwardedAnswer,
    Arrow::Response,
    Arrow::ForwardedResponse,
];

#[derive(Debug, Clone, Copy)]
struct Case {
    client: Revision,
    server: Revision,
    /// Whether `Answers` is asked instead of the client.
    asks_here: bool,
    /// Whether calls are given back to the client.
    holds: bool,
    last: Arrow,
    client_ends: bool,
}

impl Case {
    fn all() -> Vec<Self> {
        let mut cases = Vec::new();
        for bits in 0..32_u8 {
            let bit = |at: u8| bits & (1 << at) != 0;
            for last in ARROWS {
                let case = Self {
                    client: ERAS[usize::from(bit(0))],
                    server: ERAS[usize::from(bit(1))],
                    asks_here: bit(2),
                    holds: bit(3),
                    last,
                    client_ends: bit(4),
                };
                if case.exists() {
                    cases.push(case);
                }
            }
        }
        cases
    }

    fn exists(self) -> bool {
        match self.last {
            Arrow::GivenBack => self.holds && self.asks_here,
            // A call that asks its client in a result is not open.
            Arrow::Cancel => self.asks_here || self.client.era() == Era::Legacy,
            _ => true,
        }
    }

    fn arrows(self) -> impl Iterator<Item = Arrow> {
        let is_detour = |arrow: &Arrow| matches!(arrow, Arrow::GivenBack | Arrow::Cancel);
        let before = ARROWS.into_iter().filter(move |arrow| *arrow < self.last);
        before
            .filter(move |arrow| !is_detour(arrow))
            .chain([self.last])
    }

    fn capabilities(self) -> Value {
        match self.asks_here {
            true => json!({}),
            false => json!({"elicitation": {"form": {}}}),
        }
    }
}

/// A question that `Answers` was asked.
struct OpenQuestion {
    answer: oneshot::Sender<InputResponse>,
    withdrawal: Withdrawal,
}

impl OpenQuestion {
    fn answer(self) {
        let mut answer = ElicitResult::agree();
        answer.content = serde_json::from_value(json!({"window": true})).expect("it is content");
        // A question that was withdrawn takes no answer.
        let _ = self.answer.send(InputResponse::Elicit(answer));
    }

    /// Waits until the question is withdrawn. The reason is `None` if the server withdrew it.
    async fn withdrawn(mut self) -> Option<WithdrawalReason> {
        soon(self.answer.closed()).await;
        self.withdrawal.reason()
    }
}

/// Passes the questions to the test.
struct Desk(mpsc::UnboundedSender<OpenQuestion>);

impl Answers for Desk {
    fn capabilities(&self) -> ClientCapabilities {
        serde_json::from_value(json!({"elicitation": {"form": {}}})).expect("they are capabilities")
    }

    fn answer(&self, question: HostQuestion) -> BoxFuture<'_, Result<InputResponse>> {
        self.answer_unless(question, Withdrawal::default())
    }

    fn answer_unless(
        &self,
        _: HostQuestion,
        withdrawal: Withdrawal,
    ) -> BoxFuture<'_, Result<InputResponse>> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let _ = self.0.send(OpenQuestion { answer, withdrawal });
            answered.await.map_err(|_| Error::not_done("no answer"))
        })
    }
}

struct Wire {
    receiver: Receiver,
    sender: Sender,
}

impl Wire {
    fn new(channel: Channel) -> Self {
        let (receiver, sender) = channel.split();
        Self { receiver, sender }
    }

    async fn say(&mut self, message: Value) {
        let message = message.to_string().into_bytes();
        // If the bridge has gone, the next message is missing.
        let _ = self.sender.send(message).await;
    }

    async fn next(&mut self) -> Option<Value> {
        let message = soon(self.receiver.receive()).await.expect("it is sent")?;
        Some(serde_json::from_slice(&message).expect("it is JSON"))
    }

    async fn hear(&mut self) -> Value {
        self.next().await.expect("the bridge has not ended")
    }

    async fn request(&mut self, id: u32, method: &str, params: Value) {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(request).await;
    }

    async fn notify(&mut self, method: &str, params: Value) {
        self.say(json!({"jsonrpc": "2.0", "method": method, "params": params}))
            .await;
    }

    async fn answer(&mut self, id: &Value, result: Value) {
        self.say(json!({"jsonrpc": "2.0", "id": id, "result": result}))
            .await;
    }

    async fn refuse(&mut self, id: &Value, code: i32) {
        let error = json!({"code": code, "message": "no"});
        self.say(json!({"jsonrpc": "2.0", "id": id, "error": error}))
            .await;
    }

    /// Waits for the greeting that a server of this revision knows, and answers it.
    async fn greet(&mut self, revision: Revision) {
        loop {
            let message = self.hear().await;
            if self.answer_greeting(&message, revision).await {
                return;
            }
        }
    }

    /// Answers a message as a server of this revision, to which the other greeting is unknown. Returns whether the
    /// message was its greeting.
    async fn answer_greeting(&mut self, message: &Value, revision: Revision) -> bool {
        let era = match message["method"].as_str() {
            Some("server/discover") => Era::Modern,
            Some("initialize") => Era::Legacy,
            _ => return false,
        };
        if era != revision.era() {
            self.refuse(&message["id"], -32601).await;
            return false;
        }
        let mut result = json!({
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"},
        });
        match era {
            Era::Legacy => result["protocolVersion"] = revision.as_str().into(),
            Era::Modern => {
                result["resultType"] = "complete".into();
                result["supportedVersions"] = json!([revision.as_str()]);
                result["ttlMs"] = 0.into();
                result["cacheScope"] = "private".into();
            }
        }
        self.answer(&message["id"], result).await;
        true
    }
}

/// The messages that reached the server over all connections.
#[derive(Clone, Default)]
struct Arrivals(Arc<Mutex<Vec<Value>>>);

impl Arrivals {
    fn add(&self, message: &Value) {
        self.0.lock().expect("no panic").push(message.clone());
    }

    /// Checks that the call and its answer arrived at most once, and that no refusal seems to be a person's.
    fn check(&self) {
        let arrived = self.0.lock().expect("no panic");
        let of_call = |is_round: bool| {
            let calls = arrived
                .iter()
                .filter(|message| message["method"] == "tools/call");
            calls
                .filter(|call| call["params"]["inputResponses"].is_object() == is_round)
                .count()
        };
        assert!(of_call(false) <= 1, "the call was repeated: {arrived:?}");
        let answers = |message: &&Value| message["id"] == "q" && message["method"].is_null();
        let answers = arrived.iter().filter(answers);
        assert!(
            of_call(true) + answers.clone().count() <= 1,
            "the answer was repeated: {arrived:?}"
        );
        let rounds = arrived.iter().filter_map(|message| {
            let answers = message["params"]["inputResponses"].as_object()?;
            answers.values().next()
        });
        for answer in rounds.chain(answers.map(|message| &message["result"])) {
            let is_accepted = answer["action"] == "accept" || answer.is_null();
            let by = &answer["_meta"]["dev.askback/answered-by"];
            assert!(is_accepted || by == "client", "{answer}");
        }
    }
}

/// Accepts all later connections of the bridge. Such a server does not know the call.
async fn serve_again(
    mut connections: mpsc::UnboundedReceiver<Wire>,
    revision: Revision,
    arrivals: Arrivals,
) {
    while let Some(mut server) = connections.recv().await {
        while let Ok(Some(message)) = server.receiver.receive().await {
            let message: Value = serde_json::from_slice(&message).expect("it is JSON");
            arrivals.add(&message);
            server.answer_greeting(&message, revision).await;
            if message["method"] == "tools/call" {
                server.refuse(&message["id"], -32602).await;
            }
        }
    }
}

/// A call, with both ends and the questions in the hands of the test.
struct Scene {
    case: Case,
    client: Wire,
    server: Option<Wire>,
    connections: mpsc::UnboundedReceiver<Wire>,
    questions: mpsc::UnboundedReceiver<OpenQuestion>,
    /// The open question of `Answers`.
    question: Option<OpenQuestion>,
    /// The open question of the client: a request, or a result that asks.
    asked: Option<Value>,
    /// The id of the call at the server.
    server_call: Value,
    /// The number of the client's requests.
    requests: u32,
    /// Whether the client waits for the response to its last request.
    is_waiting: bool,
    arrivals: Arrivals,
    serving: JoinHandle<io::Result<()>>,
}

impl Scene {
    async fn open(case: Case) -> Self {
        let (opened, mut connections) = mpsc::unbounded_channel();
        let bridge = Bridge::new(move || {
            let opened = opened.clone();
            move || {
                let (near, far) = transport::memory();
                let _ = opened.send(Wire::new(far));
                near
            }
        });
        let (desk, questions) = mpsc::unbounded_channel();
        let bridge = bridge.answers(Desk(desk));
        let bridge = match case.holds {
            true => bridge.hold(|_, _| Hold {
                after: HOLD,
                keep: KEEP,
                place: "There.".to_owned(),
            }),
            false => bridge,
        };
        let (near, serving) = serve(&bridge);
        let mut client = Wire::new(near);
        let mut server = None;
        let mut is_waiting = false;
        if case.client.era() == Era::Legacy {
            let params = json!({
                "protocolVersion": case.client.as_str(),
                "capabilities": case.capabilities(),
                "clientInfo": {"name": "c", "version": "1"},
            });
            client.request(0, "initialize", params).await;
            let mut first = soon(connections.recv()).await.expect("it connects");
            first.greet(case.server).await;
            assert!(client.hear().await["result"].is_object());
            client.notify("notifications/initialized", json!({})).await;
            server = Some(first);
        } else {
            // The first message is the call.
            call(&mut client, case, 1, None).await;
            is_waiting = true;
        }
        Self {
            case,
            client,
            server,
            connections,
            questions,
            question: None,
            asked: None,
            server_call: Value::Null,
            requests: 1,
            is_waiting,
            arrivals: Arrivals::default(),
            serving,
        }
    }

    async fn call_again(&mut self, round: Option<Value>) {
        self.requests += 1;
        call(&mut self.client, self.case, self.requests, round).await;
        self.is_waiting = true;
    }

    fn server(&mut self) -> &mut Wire {
        self.server.as_mut().expect("the server is there")
    }

    async fn go(&mut self, arrow: Arrow) {
        let Case { client, server, .. } = self.case;
        match (arrow, server.era()) {
            (Arrow::Call, _) if self.is_waiting => {}
            (Arrow::Call, _) => {
                call(&mut self.client, self.case, 1, None).await;
                self.is_waiting = true;
            }
            (Arrow::ForwardedCall, _) => {
                if self.server.is_none() {
                    let mut first = soon(self.connections.recv()).await.expect("it connects");
                    first.greet(server).await;
                    self.server = Some(first);
                }
                self.server_call =
                    self.arrives(|it| it["method"] == "tools/call").await["id"].take();
            }
            (Arrow::Question, Era::Legacy) => {
                let question = json!({
                    "jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": form(),
                });
                self.server().say(question).await;
            }
            (Arrow::Question, Era::Modern) => {
                let question = json!({"method": "elicitation/create", "params": form()});
                let result = json!({
                    "resultType": "input_required",
                    "inputRequests": {"seat": question},
                    "requestState": "s",
                });
                self.respond(result).await;
            }
            (Arrow::ForwardedQuestion, _) if self.case.asks_here => {
                self.question = soon(self.questions.recv()).await;
            }
            (Arrow::ForwardedQuestion, _) => {
                self.asked = Some(self.client.hear().await);
                self.is_waiting = client.era() == Era::Legacy;
            }
            (Arrow::GivenBack, _) => {
                advance(HOLD).await;
                let told = self.client.hear().await;
                assert!(is_failed(&told), "{told}");
                self.is_waiting = false;
            }
            (Arrow::Cancel, _) => {
                let id = self.requests;
                let params = json!({"requestId": id});
                self.client.notify("notifications/cancelled", params).await;
                self.is_waiting = false;
            }
            (Arrow::Answer, _) => self.answer().await,
            (Arrow::ForwardedAnswer, Era::Legacy) => {
                self.arrives(|it| it["id"] == "q").await;
            }
            (Arrow::ForwardedAnswer, Era::Modern) => {
                self.server_call =
                    self.arrives(|it| it["method"] == "tools/call").await["id"].take();
            }
            (Arrow::Response, _) => {
                let result = json!({
                    "resultType": "complete",
                    "content": [{"type": "text", "text": "reserved"}],
                });
                self.respond(result).await;
            }
            (Arrow::ForwardedResponse, _) => {
                let told = self.client.hear().await;
                assert!(!is_failed(&told), "{told}");
                self.is_waiting = false;
            }
        }
    }

    /// Waits for a message at the first server.
    async fn arrives(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.server().hear().await;
            self.arrivals.add(&message);
            if is_it(&message) {
                return message;
            }
        }
    }

    async fn respond(&mut self, result: Value) {
        let id = self.server_call.clone();
        self.server().answer(&id, result).await;
    }

    /// Answers the open question, if there is one.
    async fn answer(&mut self) {
        if let Some(question) = self.question.take() {
            question.answer();
        }
        let Some(asked) = self.asked.take() else {
            return;
        };
        let yes = json!({"action": "accept", "content": {"window": true}});
        if asked["method"].is_string() {
            return self.client.answer(&asked["id"], yes).await;
        }
        let questions = asked["result"]["inputRequests"].as_object();
        let (key, _) = questions
            .and_then(|questions| questions.iter().next())
            .expect("it asks");
        let state = &asked["result"]["requestState"];
        let round = json!({"inputResponses": {key: yes}, "requestState": state});
        self.call_again(Some(round)).await;
    }

    /// The client disconnects.
    async fn end_client(mut self) {
        let Case { holds, last, .. } = self.case;
        drop(self.client);
        let served = soon(self.serving).await.expect("no panic");
        // A message to the client may have been on its way.
        let is_gone = |error: io::Error| error.kind() == io::ErrorKind::BrokenPipe;
        assert!(served.err().is_none_or(is_gone));
        if let Ok(question) = self.questions.try_recv() {
            self.question = Some(question);
        }
        if let Some(question) = self.question {
            let why = question.withdrawn().await;
            let is_clients = match last {
                Arrow::GivenBack => why == Some(WithdrawalReason::ClientGone),
                Arrow::Cancel => why == Some(WithdrawalReason::CallCancelled),
                _ => why.is_some(),
            };
            assert!(is_clients || !holds, "{why:?}");
        }
        if let Some(mut server) = self.server {
            while let Some(message) = server.next().await {
                self.arrivals.add(&message);
            }
        }
        // A connection that the server had not accepted yet.
        self.connections.close();
        while let Some(mut connection) = self.connections.recv().await {
            while connection.next().await.is_some() {}
        }
        self.arrivals.check();
        nothing_asks(self.questions).await;
    }

    /// The server disconnects.
    async fn end_server(mut self) {
        let Case {
            client,
            server,
            last,
            ..
        } = self.case;
        match self.server.take() {
            Some(server) => drop(server),
            None => drop(soon(self.connections.recv()).await),
        }
        let (_, none) = mpsc::unbounded_channel();
        let connections = std::mem::replace(&mut self.connections, none);
        let serving_again = tokio::spawn(serve_again(connections, server, self.arrivals.clone()));
        if last == Arrow::GivenBack {
            self.call_again(None).await;
        }
        // A server without sessions can be restarted between two rounds, so its question stays open.
        let stays_open = server.era() == Era::Modern && last != Arrow::Cancel;
        if self.is_waiting || self.asked.is_some() || self.question.is_some() {
            let told = self.told(stays_open).await;
            if let Some(told) = told {
                let is_done = last >= Arrow::Response;
                assert_eq!(is_failed(&told), !is_done, "{told}");
            }
        }
        if let Some(question) = self.question.take() {
            let why = question.withdrawn().await;
            let is_clients = why == Some(WithdrawalReason::CallCancelled);
            assert!(
                why.is_none() || last == Arrow::Cancel && is_clients,
                "{why:?}"
            );
        }
        if let Some(asked) = self.asked.take() {
            // The client has not been asked in a result: those were answered.
            loop {
                let message = self.client.hear().await;
                if message["method"] == "notifications/cancelled" {
                    assert_eq!(message["params"]["requestId"], asked["id"]);
                    break;
                }
            }
        }
        // A server that ends before its greeting ends the connection.
        if last != Arrow::Call || client.era() == Era::Legacy {
            self.answers_still().await;
        }
        // The results of parked calls are kept for rounds that are sent again.
        for _ in 0..3 {
            for _ in 0..100 {
                yield_now().await;
            }
            advance(KEEP).await;
        }
        // The test, the server, the bridge, its connection, and what it watches for an older client.
        let watches = client.era() == Era::Legacy && server.era() == Era::Modern;
        let open = Handle::current().metrics().num_alive_tasks();
        assert!(open <= 4 + usize::from(watches), "{open} tasks are left");
        drop(self.client);
        soon(self.serving)
            .await
            .expect("no panic")
            .expect("it has served");
        nothing_asks(self.questions).await;
        soon(serving_again).await.expect("no panic");
        self.arrivals.check();
    }

    /// Waits for the end of the call. The person answers if the question stays open, and waits otherwise. Returns `None`
    /// if the client has cancelled the call.
    async fn told(&mut self, stays_open: bool) -> Option<Value> {
        loop {
            let is_round = |asked: &Value| asked["method"].is_null();
            if stays_open || self.asked.as_ref().is_some_and(is_round) {
                self.answer().await;
            }
            if !self.is_waiting {
                return None;
            }
            tokio::select! {
                message = self.client.hear() => {
                    if message["id"] == self.requests && message["method"].is_null() {
                        self.is_waiting = false;
                        if message["result"]["resultType"] != "input_required" {
                            return Some(message);
                        }
                        self.asked = Some(message);
                    } else if message["method"] == "elicitation/create" {
                        self.asked = Some(message);
                    } else if message["method"] == "notifications/cancelled" {
                        self.asked = None;
                    }
                }
                Some(question) = self.questions.recv() => self.question = Some(question),
            }
        }
    }

    /// Checks that the bridge still answers.
    async fn answers_still(&mut self) {
        self.requests += 1;
        let (method, params) = match self.case.client.era() {
            Era::Legacy => ("ping", json!({})),
            Era::Modern => ("server/discover", json!({"_meta": meta(self.case)})),
        };
        let id = self.requests;
        self.client.request(id, method, params).await;
        loop {
            let message = self.client.hear().await;
            if message["id"] == id && message["method"].is_null() {
                assert!(message["result"].is_object(), "{message}");
                return;
            }
        }
    }
}

/// Waits until the bridge has dropped all that could still ask a question.
async fn nothing_asks(mut questions: mpsc::UnboundedReceiver<OpenQuestion>) {
    while soon(questions.recv()).await.is_some() {}
}

async fn call(client: &mut Wire, case: Case, id: u32, round: Option<Value>) {
    let mut params = json!({"name": "reserve", "arguments": {}});
    if case.client.era() == Era::Modern {
        params["_meta"] = meta(case);
    }
    for (name, value) in round.iter().flat_map(|round| round.as_object()).flatten() {
        params[name] = value.clone();
    }
    client.request(id, "tools/call", params).await;
}

fn meta(case: Case) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": case.client.as_str(),
        "io.modelcontextprotocol/clientInfo": {"name": "c", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": case.capabilities(),
    })
}

fn form() -> Value {
    json!({
        "mode": "form",
        "message": "Which seat?",
        "requestedSchema": {"type": "object", "properties": {"window": {"type": "boolean"}}},
    })
}

fn is_failed(response: &Value) -> bool {
    response["error"].is_object() || response["result"]["isError"] == true
}

#[tokio::test(start_paused = true)]
async fn a_side_that_disconnects_at_any_message_ends_the_call_at_the_other() {
    let cases = Case::all();
    assert_eq!(cases.len(), 288);
    let mut failed = Vec::new();
    for case in cases {
        if tokio::spawn(run(case)).await.is_err() {
            failed.push(case);
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

/// The server does not say which call asks.
#[tokio::test(start_paused = true)]
async fn a_server_of_two_calls_did_not_withdraw_the_question_of_a_client_that_ends() {
    let mut scene = Scene::open(Case {
        client: Revision::LATEST_LEGACY,
        server: Revision::LATEST_LEGACY,
        asks_here: true,
        holds: true,
        last: Arrow::ForwardedQuestion,
        client_ends: true,
    })
    .await;
    scene.go(Arrow::Call).await;
    scene.go(Arrow::ForwardedCall).await;
    scene.call_again(None).await;
    scene.go(Arrow::ForwardedCall).await;
    scene.go(Arrow::Question).await;
    scene.go(Arrow::ForwardedQuestion).await;
    drop(scene.client);
    let question = scene.question.expect("the server asks");
    let why = question.withdrawn().await;
    assert_eq!(why, Some(WithdrawalReason::CallCancelled));
}

async fn run(case: Case) {
    let mut scene = Scene::open(case).await;
    for arrow in case.arrows() {
        scene.go(arrow).await;
    }
    match case.client_ends {
        true => scene.end_client().await,
        false => scene.end_server().await,
    }
}
