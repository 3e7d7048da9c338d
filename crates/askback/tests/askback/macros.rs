//! `#[tool]`, `#[prompt]` and `#[resource]`: what a server lists for them, and that they run.

use askback::{
    Answer, Ask, Ctx, Form, Json, Prompt, Resource, ResourceTemplate, Result, Server,
    ServerBuilder, State, Tool,
    keys::{Key, KeyRing, KeySource},
    prompt,
    protocol::Schema,
    resource,
    server::{BuildError, CompletionRequest},
    testing::Wire,
    tool, transport,
};
use serde_json::{Value, json};

#[derive(Form)]
struct Trip {
    /// Where to?
    destination: String,
}

/// Who are you?
#[derive(Form)]
struct Contact {
    name: String,
}

#[derive(Form)]
struct Wishes {
    window: bool,
}

#[derive(Clone)]
struct Agency(&'static str);

#[derive(Form, Debug)]
enum Seat {
    Window,
    Aisle,
}

/// Says where you go.
///
/// And who you are.
#[tool(title = "Go", read_only, idempotent = false)]
async fn go(
    trip: Trip,
    State(agency): State<Agency>,
    Ask(contact): Ask<Contact>,
    #[ask("A window?")] wishes: Ask<Wishes>,
    #[ask("Really?")] Ask(sure): Ask<Answer<()>>,
) -> Result<String> {
    let window = if wishes.0.window { "window" } else { "aisle" };
    Ok(format!(
        "{}: {} to {}, {window}, {sure:?}",
        agency.0, contact.name, trip.destination
    ))
}

/// Reserves seats.
#[tool]
async fn reserve(
    State(agency): State<Agency>,
    /// Where to.
    mut city: String,
    #[arg(min = 1, max = 30, default = 7)] nights: u8,
    #[arg(title = "Seat", default = Seat::Aisle)] seat: Seat,
    /// Where else.
    /// And why.
    #[arg(rename = "also", max_length = 9)]
    also_: Option<String>,
    #[ask("Really?")] Ask(sure): Ask<bool>,
) -> Result<String> {
    city.push('!');
    let agency = agency.0;
    Ok(format!(
        "{agency} {city} {nights} {seat:?} {also_:?} {sure}"
    ))
}

#[tool(
    name = "plain-tool",
    description = "Said otherwise.",
    destructive,
    open_world = false,
    input_schema = object(),
    output_schema = object(),
    crate = "askback"
)]
#[allow(clippy::unused_async)]
pub(crate) async fn r#type(given: Json<Value>) -> Result<Json<Value>> {
    Ok(given)
}

#[tool]
async fn bare() -> Result<()> {
    Ok(())
}

#[tool(name = "work", task = "optional")]
async fn long() -> Result<()> {
    Ok(())
}

#[tool(name = "work", may_become_task = "required")]
async fn longer(ctx: Ctx) -> Result<()> {
    ctx.become_task().await
}

#[cfg(any())]
#[tool]
async fn absent() -> Result<()> {
    there::is_no_such_thing()
}

/// Where to.
#[prompt(title = "Plan", complete(destination = cities))]
async fn plan(trip: Trip) -> Result<String> {
    Ok(format!("Plan {}.", trip.destination))
}

/// Packs.
#[prompt(complete(city = cities))]
async fn pack(
    /// Where to.
    city: String,
    #[arg(default = 7)] nights: u8,
    #[arg] seat: Seat,
) -> Result<String> {
    Ok(format!("{city} {nights} {seat:?}"))
}

#[resource(uri = "test://packed/{city}/{nights}")]
async fn packed(city: String, nights: u8) -> Result<String> {
    Ok(format!("{city} {nights}"))
}

/// All places.
#[resource(uri = "test://places", name = "all", mime_type = "text/plain")]
async fn places() -> Result<String> {
    Ok("Rome".to_owned())
}

#[resource(uri = "test://places/{destination}/{+rest}", complete(destination = cities))]
async fn place(trip: Trip) -> Result<String> {
    Ok(trip.destination)
}

async fn cities(completing: CompletionRequest) -> Result<Vec<String>> {
    Ok(vec![format!("{}ome", completing.value)])
}

fn object() -> Schema {
    Schema::new(&json!({"type": "object"})).unwrap()
}

fn agency() -> ServerBuilder {
    Server::new("agency", "1")
        .tool(go)
        .tool(r#type)
        .tool(bare().title("Changed"))
        .tool(reserve)
        .prompt(plan)
        .prompt(pack)
        .resource(places)
        .resource_template(place)
        .resource_template(packed)
        .keys(KeySource::Ring(KeyRing::new(Key::new(&[7; 32]))))
        .check_replay(true)
}

/// The server's response to one request of the stateless era.
async fn request(method: &str, mut params: Value) -> Value {
    let server = agency().state(Agency("agency")).build().unwrap();
    let (near, far) = transport::memory();
    tokio::spawn(async move { server.serve(far).await });
    let (mut receiver, mut sender) = near.split();
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
    });
    let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    sender.send(request.to_string().into_bytes()).await.unwrap();
    let answer = receiver.receive().await.unwrap().unwrap();
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    answer["result"].clone()
}

#[track_caller]
fn lists(listed: &Value, member: &str, expected: Value) {
    let found: Vec<_> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item[member].clone())
        .collect();
    assert_eq!(Value::from(found), expected);
}

#[tokio::test]
async fn a_tool_is_told_as_it_was_written() {
    let tools = &request("tools/list", json!({})).await["tools"];
    lists(
        tools,
        "name",
        json!(["go", "plain-tool", "bare", "reserve"]),
    );
    lists(tools, "title", json!(["Go", null, "Changed", null]));
    let go = "Says where you go.\n\nAnd who you are.";
    let described = json!([go, "Said otherwise.", null, "Reserves seats."]);
    lists(tools, "description", described);
    let hints = json!([
        {"readOnlyHint": true, "idempotentHint": false},
        {"destructiveHint": true, "openWorldHint": false},
        null,
        null,
    ]);
    lists(tools, "annotations", hints);
    let object = json!({"type": "object"});
    lists(tools, "outputSchema", json!([null, object, null, null]));
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["destination"]));
    assert_eq!(tools[0]["inputSchema"]["additionalProperties"], false);
    assert_eq!(tools[1]["inputSchema"], object);
}

// Shows TA-04.
#[tokio::test]
async fn a_tool_says_whether_it_becomes_a_task() {
    let answers = |tool: Tool, capabilities: Value| async move {
        let server = Server::new("agency", "1").tool(tool).build().unwrap();
        let mut wire = Wire::connect(&server);
        let params = json!({
            "name": "work",
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": capabilities,
            },
        });
        wire.request("tools/call", params).await;
        wire.hear().await.unwrap()
    };
    let takes = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    for tool in [long, longer] {
        let task = answers(tool(), takes.clone()).await;
        assert_eq!(task["result"]["resultType"], "task");
    }
    let done = answers(long(), json!({})).await;
    assert_eq!(done["result"]["resultType"], "complete");
    let refused = answers(longer(), json!({})).await;
    assert_eq!(refused["error"]["code"], -32021);
}

#[tokio::test]
async fn parameters_are_asked_for_in_their_own_words_and_in_one_round() {
    let call = json!({"name": "go", "arguments": {"destination": "Rome"}});
    let asked = request("tools/call", call.clone()).await;
    let questions = asked["inputRequests"].as_object().unwrap();
    let mut messages: Vec<_> = questions
        .iter()
        .map(|(key, asked)| (key.as_str(), asked["params"]["message"].as_str().unwrap()))
        .collect();
    messages.sort_unstable();
    assert_eq!(
        messages,
        [
            ("confirm", "Really?"),
            ("contact", "Who are you?"),
            ("wishes", "A window?")
        ]
    );
    let mut again = call;
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] = json!({
        "contact": {"action": "accept", "content": {"name": "Ada"}},
        "wishes": {"action": "accept", "content": {"window": true}},
        "confirm": {"action": "cancel", "_meta": {"dev.askback/answered-by": "person"}},
    });
    let done = request("tools/call", again).await;
    assert_eq!(
        done["content"][0]["text"], "agency: Ada to Rome, window, Cancelled",
        "{done}"
    );
}

#[tokio::test]
async fn parameters_are_arguments_of_their_own() {
    let tools = &request("tools/list", json!({})).await["tools"];
    let properties = json!({
        "city": {"type": "string", "description": "Where to."},
        "nights": {"type": "integer", "minimum": 1, "maximum": 30, "default": 7},
        "seat": {"type": "string", "title": "Seat", "enum": ["window", "aisle"],
            "default": "aisle"},
        "also": {"type": "string", "description": "Where else. And why.", "maxLength": 9},
    });
    assert_eq!(tools[3]["inputSchema"]["properties"], properties);
    assert_eq!(tools[3]["inputSchema"]["required"], json!(["city"]));

    let says = async |arguments: Value| {
        let mut call = json!({"name": "reserve", "arguments": arguments});
        let asked = request("tools/call", call.clone()).await;
        call["requestState"] = asked["requestState"].clone();
        let yes = json!({"action": "accept", "content": {"answer": true}});
        call["inputResponses"] = json!({"yes_or_no": yes});
        request("tools/call", call).await["content"][0]["text"].clone()
    };
    assert_eq!(
        says(json!({"city": "Rome"})).await,
        "agency Rome! 7 Aisle None true"
    );
    let all = json!({"city": "Rome", "nights": 2, "seat": "window", "also": "Bari"});
    assert_eq!(
        says(all).await,
        r#"agency Rome! 2 Window Some("Bari") true"#
    );
    let wrong = json!({"nights": 31, "seat": "roof", "also": "Barcelona!"});
    assert_eq!(
        says(wrong).await,
        "`city`: must be given; `nights`: must be at most 30; `seat`: must be one of window, \
         aisle; `also`: is 1 character too long"
    );
}

#[tokio::test]
async fn prompts_and_resources_take_arguments_of_their_own() {
    let prompts = &request("prompts/list", json!({})).await["prompts"];
    assert_eq!(
        prompts[1]["arguments"],
        json!([
            {"name": "city", "description": "Where to.", "required": true},
            {"name": "nights", "required": false},
            {"name": "seat", "required": true},
        ])
    );
    let params = json!({"name": "pack", "arguments": {"city": "Rome", "seat": "aisle"}});
    let got = request("prompts/get", params).await;
    assert_eq!(got["messages"][0]["content"]["text"], "Rome 7 Aisle");
    let reference = json!({"type": "ref/prompt", "name": "pack"});
    let argument = json!({"name": "seat", "value": "w"});
    let params = json!({"ref": reference, "argument": argument});
    let completed = request("completion/complete", params).await;
    assert_eq!(completed["completion"]["values"], json!(["window"]));

    let read = request("resources/read", json!({"uri": "test://packed/Rome/2"})).await;
    assert_eq!(read["contents"][0]["text"], "Rome 2");
}

#[tokio::test]
async fn the_function_is_still_there_to_be_called() {
    assert!(bare::call().await.is_ok());
    let packed = pack::call("Rome".to_owned(), 2, Seat::Window).await;
    assert_eq!(packed.unwrap(), "Rome 2 Window");
    let trip = Trip {
        destination: "Rome".to_owned(),
    };
    assert_eq!(plan::call(trip).await.unwrap(), "Plan Rome.");
}

#[tokio::test]
async fn a_prompt_is_told_completed_and_got() {
    let prompts = &request("prompts/list", json!({})).await["prompts"];
    assert_eq!(
        prompts[0],
        json!({"name": "plan", "title": "Plan", "description": "Where to.", "arguments": [
            {"name": "destination", "description": "Where to?", "required": true}]})
    );
    let argument = json!({"name": "destination", "value": "R"});
    let reference = json!({"type": "ref/prompt", "name": "plan"});
    let params = json!({"ref": reference, "argument": argument});
    let completed = request("completion/complete", params).await;
    assert_eq!(completed["completion"]["values"], json!(["Rome"]));
    let params = json!({"name": "plan", "arguments": {"destination": "Rome"}});
    let got = request("prompts/get", params).await;
    assert_eq!(got["messages"][0]["content"]["text"], "Plan Rome.");
}

#[tokio::test]
async fn a_resource_is_told_completed_and_read() {
    let listed = &request("resources/list", json!({})).await["resources"];
    assert_eq!(
        listed,
        &json!([{"uri": "test://places", "name": "all", "description": "All places.",
            "mimeType": "text/plain"}])
    );
    let templates = &request("resources/templates/list", json!({})).await["resourceTemplates"];
    let template = "test://places/{destination}/{+rest}";
    assert_eq!(
        templates[0],
        json!({"uriTemplate": template, "name": "place"})
    );
    let params = json!({
        "ref": {"type": "ref/resource", "uri": template},
        "argument": {"name": "destination", "value": "R"},
    });
    let completed = request("completion/complete", params).await;
    assert_eq!(completed["completion"]["values"], json!(["Rome"]));
    let read = request("resources/read", json!({"uri": "test://places"})).await;
    assert_eq!(read["contents"][0]["text"], "Rome");
}

#[test]
fn a_server_without_what_its_handlers_take_is_not_built() {
    let wrong = agency().build().err().unwrap();
    let BuildError::State { name, state } = &wrong else {
        panic!("{wrong}");
    };
    assert_eq!(name, "go");
    assert!(state.ends_with("Agency"), "{state}");
    let twice = agency().state(Agency("a")).state(Agency("b")).build();
    assert!(matches!(twice, Err(BuildError::Twice { .. })));
}

#[tool]
async fn takes_two(_trip: Trip, _wishes: Wishes) -> Result<()> {
    Ok(())
}

#[tool]
async fn takes_one_twice(_from: Trip, _to: Trip) -> Result<()> {
    Ok(())
}

#[test]
fn a_handler_has_one_form_of_arguments() {
    for (tool, name) in [
        (takes_two(), "takes_two"),
        (takes_one_twice(), "takes_one_twice"),
    ] {
        let wrong = Server::new("agency", "1").tool(tool).build().err().unwrap();
        assert_eq!(wrong, BuildError::Parameters(name.to_owned()));
        let told = format!(
            "`{name}` takes its arguments twice: gather them in one struct that derives `Form` or is \
             taken as `Json<_>`, or make each a parameter of its own with `#[tool]`"
        );
        assert_eq!(wrong.to_string(), told);
    }
}

#[test]
fn the_value_becomes_what_a_server_takes() {
    let _: (Tool, Prompt, Resource, ResourceTemplate) =
        (go.into(), plan.into(), places.into(), place.into());
}
