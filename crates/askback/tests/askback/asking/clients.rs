//! How real clients answer questions, and what their users are told.

use std::time::Duration;

use askback::{
    Answer, Ctx, Form, Result,
    Revision::{self, V2025_06_18, V2025_11_25, V2026_07_28},
    Server,
    ctx::Progress,
    protocol::{CallToolResult, ElicitParams, InputRequest, InputRequiredResult, Outcome},
    testing::{Person, TestClock, Wire},
};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::{Seat, everywhere, pages, serving};
use crate::http::client::HttpWire;

/// The capabilities of a client that accepts every kind of question.
fn all() -> Value {
    json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}, "roots": {}})
}

#[derive(Debug, Clone, Copy)]
enum Transport {
    Lines,
    Http,
}

const TRANSPORTS: [Transport; 2] = [Transport::Lines, Transport::Http];

enum Link {
    Lines(Wire),
    Http(HttpWire),
}

impl Link {
    fn connect(transport: Transport, server: &Server) -> Self {
        match transport {
            Transport::Lines => Self::Lines(Wire::connect(server)),
            Transport::Http => Self::Http(HttpWire::connect(server)),
        }
    }

    async fn request(&mut self, method: &str, params: Value) {
        let request = json!({"jsonrpc": "2.0", "id": "r", "method": method, "params": params});
        self.say(&request).await;
    }

    async fn say(&mut self, message: &Value) {
        match self {
            Self::Lines(wire) => wire.say(message).await,
            Self::Http(wire) => wire.say(message).await,
        }
    }

    async fn hear(&mut self) -> Value {
        match self {
            Self::Lines(wire) => wire.hear().await.unwrap(),
            Self::Http(wire) => wire.hear().await,
        }
    }
}

/// Opens a session as a client with this name.
async fn session(transport: Transport, server: &Server, revision: Revision, name: &str) -> Link {
    let mut wire = Link::connect(transport, server);
    let params = json!({
        "protocolVersion": revision.as_str(), "capabilities": all(),
        "clientInfo": {"name": name, "version": "1"},
    });
    wire.request("initialize", params).await;
    wire.hear().await;
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    wire.say(&initialized).await;
    wire
}

/// Calls the tool in a session. Returns the question.
async fn asked(wire: &mut Link, meta: Value) -> Value {
    wire.request("tools/call", json!({"name": "tool", "_meta": meta}))
        .await;
    wire.hear().await
}

async fn answer(wire: &mut Link, question: &Value, result: Value) {
    wire.say(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}))
        .await;
}

/// Calls the tool, and answers its question after this delay. Returns the parameters of the
/// question and the result.
async fn answered(
    (transport, revision): (Transport, Revision),
    server: &Server,
    (after, result): (Duration, &Value),
) -> (Value, Value) {
    if revision < V2026_07_28 {
        let mut wire = session(transport, server, revision, "some").await;
        let question = asked(&mut wire, json!({})).await;
        sleep(after).await;
        answer(&mut wire, &question, result.clone()).await;
        return (question["params"].clone(), wire.hear().await);
    }
    let mut wire = Link::connect(transport, server);
    let mut params = json!({"name": "tool", "_meta": {
        "io.modelcontextprotocol/protocolVersion": revision.as_str(),
        "io.modelcontextprotocol/clientCapabilities": all(),
    }});
    wire.request("tools/call", params.clone()).await;
    let asking = &wire.hear().await["result"];
    let (key, question) = asking["inputRequests"]
        .as_object()
        .unwrap()
        .iter()
        .next()
        .unwrap();
    sleep(after).await;
    params["requestState"] = asking["requestState"].clone();
    params["inputResponses"] = json!({key: result});
    wire.request("tools/call", params).await;
    (question["params"].clone(), wire.hear().await)
}

/// The revisions that can ask, over each transport.
fn ways() -> impl Iterator<Item = (Transport, Revision)> {
    let revisions = [V2025_06_18, V2025_11_25, V2026_07_28];
    revisions
        .into_iter()
        .flat_map(|revision| TRANSPORTS.map(|transport| (transport, revision)))
}

/// The handshake revisions that can ask, over each transport.
fn sessions() -> impl Iterator<Item = (Transport, Revision)> {
    ways().filter(|(_, revision)| *revision < V2026_07_28)
}

fn text(response: &Value) -> &str {
    response["result"]["content"][0]["text"].as_str().unwrap()
}

fn name_of(answer: &Answer<Seat>) -> &'static str {
    match answer {
        Answer::Accepted(_) => "accepted",
        Answer::Declined { .. } => "declined",
        Answer::Cancelled => "cancelled",
        Answer::DeclinedByClient { .. } => "declined by the client",
    }
}

#[test]
fn a_result_says_why_no_person_answered() {
    for (reason, said) in [
        (None, "by itself, and no person has read it"),
        (
            Some("no answer came in time"),
            "no person answered the question (no answer came in time)",
        ),
    ] {
        let reason = reason.map(str::to_owned);
        let error = Answer::<Seat>::DeclinedByClient { reason }.accepted();
        let error = error.expect_err("nothing was accepted");
        assert!(error.message().contains(said), "{}", error.message());
    }
}

async fn ask(ctx: Ctx) -> Result<String> {
    let seat = ctx.elicit::<Seat>("Which seat?").await?;
    Ok(name_of(&seat).to_owned())
}

async fn ask_by_hand(ctx: Ctx) -> Result<Outcome<CallToolResult>> {
    match ctx.incoming().answer::<Seat>("seat")? {
        Some(seat) => Ok(Outcome::Done(CallToolResult::new(name_of(&seat)))),
        None => {
            let form = ElicitParams::form("Which seat?", Seat::schema());
            let asks = InputRequiredResult {
                input_requests: Some(
                    [("seat".to_owned(), InputRequest::Elicit(form))]
                        .into_iter()
                        .collect(),
                ),
                ..InputRequiredResult::default()
            };
            Ok(Outcome::NeedInput(asks))
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_no_person_can_have_made_is_the_clients() {
    let decline = json!({"action": "decline"});
    let cancel = json!({"action": "cancel"});
    let by = |action: &str, by: &str| json!({"action": action, "_meta": {"dev.askback/answered-by": by}});
    let reason = json!({"action": "decline", "_meta": {"dev.askback/reason": "too dear"}});
    let client = "declined by the client";
    let cases = [
        (0, &decline, client),
        (299, &cancel, client),
        (300, &decline, "declined"),
        (5000, &cancel, "cancelled"),
        (
            0,
            &json!({"action": "accept", "content": {"window": true}}),
            "accepted",
        ),
        // If the client says who cancelled, the server believes it. A reason counts as the user's.
        (0, &by("cancel", "person"), "cancelled"),
        (5000, &by("decline", "client"), client),
        (0, &by("decline", "somebody"), client),
        (0, &reason, "declined"),
    ];
    for way in ways() {
        for (after, result, expected) in &cases {
            let server = serving(ask)().clock(TestClock::new()).build().unwrap();
            let by_hand = serving(ask_by_hand)().clock(TestClock::new());
            for server in [server, by_hand.build().unwrap()] {
                let after = Duration::from_millis(*after);
                let (_, response) = answered(way, &server, (after, result)).await;
                assert_eq!(text(&response), *expected, "{way:?}: {after:?} {result}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_turned_down_by_its_client_says_so() {
    async fn book(ctx: Ctx) -> Result<String> {
        let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
        Ok(seat.window.to_string())
    }
    let run = everywhere(book, Person::new().decline_by_client("seat")).await;
    let told = "Nothing was done: the client turned the question down by itself, and no person \
                has read it. Use a client that shows such questions, with a person at it.";
    assert_eq!(run.text(), told);
    // A scripted user answers at once, but still counts as a user.
    let run = everywhere(book, Person::new().cancel("seat")).await;
    assert_eq!(run.text(), "Nothing was done: the person cancelled.");
}

#[tokio::test(start_paused = true)]
async fn a_form_that_is_accepted_without_its_fields_is_not_asked_again() {
    let run = everywhere(ask, Person::new().answer("seat", json!({}))).await;
    let told = "the client accepted the form without filling in any field, although some are \
                required: it probably shows no fields of this form";
    assert_eq!(run.text(), told);
    assert_eq!(run.keys(), ["seat"]);
    for way in ways() {
        for content in [
            json!({"action": "accept", "content": {}}),
            json!({"action": "accept"}),
        ] {
            let server = serving(ask)().build().unwrap();
            let (_, response) = answered(way, &server, (Duration::from_secs(5), &content)).await;
            assert_eq!(text(&response), told, "{way:?}: {content}");
        }
    }
}

#[derive(Form)]
enum Room {
    Single,
    Double,
}

#[derive(Form)]
struct Stay {
    #[form(default = Room::Double)]
    room: Room,
    #[form(default = "breakfast")]
    board: String,
}

// Codex preselects the first choice if there is no default.
#[tokio::test(start_paused = true)]
async fn a_choice_is_sent_with_its_default() {
    async fn stay(ctx: Ctx) -> Result<String> {
        let stay = ctx
            .elicit::<Stay>("Which room?")
            .options("board", ["none", "breakfast"]);
        let stay: Stay = stay.await?.accepted()?;
        Ok(format!(
            "{} {}",
            matches!(stay.room, Room::Double),
            stay.board
        ))
    }
    let accept = json!({"action": "accept", "content": {"room": "double", "board": "breakfast"}});
    for way in ways() {
        let server = serving(stay)().build().unwrap();
        let (question, response) = answered(way, &server, (Duration::from_secs(5), &accept)).await;
        let fields = &question["requestedSchema"]["properties"];
        let defaults = ["room", "board"].map(|field| &fields[field]["default"]);
        assert_eq!(defaults, ["double", "breakfast"], "{way:?}: {question}");
        assert_eq!(text(&response), "true breakfast", "{way:?}");
    }
}

#[derive(Form)]
enum Meal {
    Fish,
    Vegan,
}

#[derive(Form)]
struct Trip {
    /// How long?
    #[form(title = "Nights", min = 1, max = 30)]
    nights: u8,
    budget: Option<f64>,
    meals: Vec<Meal>,
    wishes: Option<String>,
}

#[tokio::test(start_paused = true)]
async fn codex_is_asked_for_numbers_and_lists_as_it_can_show_them() {
    async fn trip(ctx: Ctx) -> Result<String> {
        let trip: Trip = ctx.elicit("What trip?").await?.accepted()?;
        let meals = trip.meals.iter().map(|meal| match meal {
            Meal::Fish => "fish",
            Meal::Vegan => "vegan",
        });
        let meals = meals.collect::<Vec<_>>().join(" ");
        let (nights, budget, wishes) = (trip.nights, trip.budget, trip.wishes);
        Ok(format!("{nights} {budget:?} {meals} {wishes:?}"))
    }
    for (transport, revision) in sessions() {
        let server = serving(trip)().build().unwrap();
        let mut wire = session(transport, &server, revision, "codex-mcp-client").await;
        let question = asked(&mut wire, json!({})).await;
        let fields = question["params"]["requestedSchema"]["properties"].as_object();
        for (name, field) in fields.unwrap() {
            let kind = field["type"].as_str().unwrap();
            assert!(["string", "boolean"].contains(&kind), "{name}: {field}");
        }
        let nights = &fields.unwrap()["nights"]["description"];
        assert_eq!(nights, "How long? A whole number from 1 to 30.");
        let last = fields.unwrap().keys().max();
        assert_eq!(last.map(String::as_str), Some("wishes~"));
        let first = json!({"nights": "31", "budget": "", "meals.vegan": true, "wishes~": "send"});
        answer(
            &mut wire,
            &question,
            json!({"action": "accept", "content": first}),
        )
        .await;
        let again = wire.hear().await;
        let message = again["params"]["message"].as_str().unwrap();
        let told = "The last answer could not be used: Nights: must be at most 30";
        assert_eq!(message.lines().last(), Some(told));
        let second =
            json!({"nights": " 7 ", "budget": "99.5", "meals.vegan": true, "wishes~": "send"});
        answer(
            &mut wire,
            &again,
            json!({"action": "accept", "content": second}),
        )
        .await;
        let done = wire.hear().await;
        assert_eq!(text(&done), "7 Some(99.5) vegan None", "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_declares_links_is_given_one_in_each_revision() {
    for (transport, revision) in sessions() {
        let handler = |ctx: Ctx| pages::pay(ctx, pages::Page::new(0));
        let server = serving(handler)().build().unwrap();
        let mut wire = session(transport, &server, revision, "some").await;
        let question = asked(&mut wire, json!({})).await;
        let params = &question["params"];
        assert_eq!(params["mode"], "url", "{revision}: {question}");
        assert!(
            params["elicitationId"].is_string(),
            "{revision}: {question}"
        );
    }
}

/// Collects progress notifications until another message arrives.
async fn notes(wire: &mut Link) -> (Vec<(f64, Value, String)>, Value) {
    let mut notes = Vec::new();
    loop {
        let message = wire.hear().await;
        if message["method"] != "notifications/progress" {
            return (notes, message);
        }
        let params = &message["params"];
        assert_eq!(params["progressToken"], "t");
        let progress = params["progress"].as_f64().unwrap();
        let about = params["message"].as_str().unwrap_or_default().to_owned();
        notes.push((progress, params["total"].clone(), about));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_that_a_question_waits() {
    async fn work(ctx: Ctx) -> Result<String> {
        ctx.progress(Progress::of(3, 10).message("before"));
        let page = pages::Page::new(40);
        let done = pages::pay(ctx.clone(), page).await?;
        ctx.progress(Progress::of(4, 10).message("after"));
        Ok(done)
    }
    for (transport, revision) in sessions() {
        let server = serving(work)().clock(TestClock::new()).build().unwrap();
        let mut wire = session(transport, &server, revision, "some").await;
        let params = json!({"name": "tool", "_meta": {"progressToken": "t"}});
        wire.request("tools/call", params).await;
        let (mut told, link) = notes(&mut wire).await;
        // Two while the client has the link, two while the page is not done, three for the form.
        for _ in 0..2 {
            let note = timeout(Duration::from_secs(16), wire.hear()).await.unwrap();
            told.push(read(&note));
        }
        answer(&mut wire, &link, json!({"action": "accept"})).await;
        let (waiting, form) = notes(&mut wire).await;
        told.extend(waiting);
        for _ in 0..3 {
            let note = timeout(Duration::from_secs(16), wire.hear()).await.unwrap();
            told.push(read(&note));
        }
        let content = json!({"action": "accept", "content": {"window": true}});
        answer(&mut wire, &form, content).await;
        let (last, done) = notes(&mut wire).await;
        told.extend(last);
        assert_eq!(text(&done), "paid, by the window: true");
        let about: Vec<_> = told.iter().map(|(_, _, about)| about.as_str()).collect();
        let (link, form) = (
            "waiting for a link to be done: Pay.",
            "waiting for an answer to: Which?",
        );
        let expected = ["before", link, link, link, link, form, form, form, "after"];
        assert_eq!(about, expected, "{revision}");
        assert!(told.is_sorted_by(|(a, ..), (b, ..)| a < b), "{told:?}");
        assert!(
            told.iter()
                .all(|(value, total, _)| *value <= 4.0 && *total == 10.0),
            "{told:?}"
        );
        // No notification follows the result.
        assert!(timeout(Duration::from_secs(60), wire.hear()).await.is_err());
    }
}

fn read(note: &Value) -> (f64, Value, String) {
    let params = &note["params"];
    let about = params["message"].as_str().unwrap_or_default().to_owned();
    (
        params["progress"].as_f64().unwrap(),
        params["total"].clone(),
        about,
    )
}

#[tokio::test(start_paused = true)]
async fn a_client_that_did_not_ask_is_not_told() {
    for (transport, revision) in sessions() {
        let server = serving(ask)().build().unwrap();
        let mut wire = session(transport, &server, revision, "some").await;
        asked(&mut wire, json!({})).await;
        assert!(timeout(Duration::from_secs(60), wire.hear()).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_session_that_is_initialized_twice_is_told_what_to_do() {
    let server = serving(ask)().build().unwrap();
    let mut wire = Wire::connect(&server);
    wire.initialize(V2025_11_25, &json!({})).await;
    let again = wire.initialize(V2025_11_25, &json!({})).await;
    let why = again["error"]["message"].as_str().unwrap();
    assert!(
        why.contains("initialized already") && why.contains("--stateful"),
        "{why}"
    );
}
