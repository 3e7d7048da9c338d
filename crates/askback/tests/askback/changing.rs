//! Tools, prompts and resources that change while a server runs, or differ by caller.

use std::{sync::Arc, time::Duration};

use askback::{
    Change, Ctx, Form, Principal, Prompt, Resource, ResourceTemplate, Result, Revision, Server,
    ServerBuilder, State, Tool,
    protocol::CacheScope,
    server::{BuildError, CompletionRequest},
};
use serde_json::{Value, json};
use tokio::{sync::Notify, time::timeout};

use crate::offered::{LISTS, Peer};

#[derive(Form)]
struct Place {
    name: String,
}

async fn place(place: Place) -> Result<String> {
    Ok(place.name)
}

async fn hello() -> Result<&'static str> {
    Ok("Hello!")
}

async fn names(_: CompletionRequest) -> Result<Vec<String>> {
    Ok(vec!["Rome".to_owned()])
}

/// One tool, prompt, resource and template, with the same name.
struct Things {
    tool: Tool,
    prompt: Prompt,
    resource: Resource,
    template: ResourceTemplate,
}

impl Things {
    fn new(name: &str) -> Self {
        let family = format!("{name}://{{name}}");
        Self {
            tool: Tool::new(name, hello),
            prompt: Prompt::new(name, place).complete("name", names),
            resource: Resource::new(format!("{name}:one"), name, async || Ok("One.".to_owned())),
            template: ResourceTemplate::new(family, name, place).complete("name", names),
        }
    }

    fn visible_to(self, is_for: fn(Option<&Principal>) -> bool) -> Self {
        Self {
            tool: self.tool.visible_to(is_for),
            prompt: self.prompt.visible_to(is_for),
            resource: self.resource.visible_to(is_for),
            template: self.template.visible_to(is_for),
        }
    }

    fn add_to(self, builder: ServerBuilder) -> ServerBuilder {
        builder
            .tool(self.tool)
            .prompt(self.prompt)
            .resource(self.resource)
            .resource_template(self.template)
    }
}

fn builder() -> ServerBuilder {
    Things::new("always").add_to(Server::new("tests", "1"))
}

fn changing() -> ServerBuilder {
    let builder = builder().changing_tools().changing_prompts();
    builder.changing_resources()
}

/// Subscribes to all changes. A session needs no subscription.
async fn listen(peer: &mut Peer, revision: Revision, watched: &[&str]) {
    if revision == Revision::LATEST {
        let params = json!({
            "notifications": {
                "toolsListChanged": true, "promptsListChanged": true, "resourcesListChanged": true,
                "resourceSubscriptions": watched,
            },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": revision.as_str(),
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        });
        peer.wire.request("subscriptions/listen", params).await;
        let acknowledged = peer.wire.hear().await.expect("an acknowledgement");
        let method = "notifications/subscriptions/acknowledged";
        assert_eq!(acknowledged["method"], method);
    } else {
        for uri in watched {
            peer.result("resources/subscribe", json!({"uri": uri}))
                .await;
        }
    }
}

/// The server's next notification, or `None` if none comes for a long time.
async fn told(peer: &mut Peer) -> Option<String> {
    let said = timeout(Duration::from_secs(60), peer.wire.hear())
        .await
        .ok()?;
    let method = said.expect("an open connection")["method"].clone();
    let method = method.as_str().expect("a notification");
    Some(method.trim_start_matches("notifications/").to_owned())
}

async fn listed(peer: &mut Peer, (list, member): (&str, &str)) -> Vec<String> {
    let items = peer.result(list, json!({})).await[member].take();
    let items = items.as_array().expect("a list").iter();
    let names = items.map(|item| item["name"].as_str().expect("a name").to_owned());
    names.collect()
}

/// A change to each kind of item: the change, whether it should have an effect, and the expected
/// notifications.
type Step = (fn(&Server, usize) -> bool, bool, &'static [&'static str]);

fn add(server: &Server, kind: usize) -> bool {
    let things = Things::new("late");
    let added = match kind {
        0 => server.tools().unwrap().add(things.tool),
        1 => server.prompts().unwrap().add(things.prompt),
        2 => server.resources().unwrap().add(things.resource),
        _ => server.resource_templates().unwrap().add(things.template),
    };
    added.is_ok()
}

fn switch(server: &Server, kind: usize, change: &str) -> bool {
    macro_rules! change {
        ($offers:ident, $name:literal) => {{
            let offers = server.$offers().unwrap();
            match change {
                "disable" => offers.disable($name),
                "enable" => offers.enable($name),
                _ => offers.remove($name),
            }
        }};
    }
    match kind {
        0 => change!(tools, "late"),
        1 => change!(prompts, "late"),
        2 => change!(resources, "late:one"),
        _ => change!(resource_templates, "late://{name}"),
    }
}

// Shows TO-09, TO25-01, PR-05, PR25-02, RE-05.
#[tokio::test(start_paused = true)]
async fn each_change_of_a_list_is_told_once_to_whoever_listens() {
    const WITHOUT: &[&str] = &["always"];
    const WITH: &[&str] = &["always", "late"];
    let steps: [Step; 9] = [
        (add, true, WITH),
        (add, false, WITH),
        (
            |server, kind| switch(server, kind, "disable"),
            true,
            WITHOUT,
        ),
        (
            |server, kind| switch(server, kind, "disable"),
            false,
            WITHOUT,
        ),
        // The name is taken.
        (add, false, WITHOUT),
        (|server, kind| switch(server, kind, "enable"), true, WITH),
        (|server, kind| switch(server, kind, "enable"), false, WITH),
        (|server, kind| switch(server, kind, "remove"), true, WITHOUT),
        (
            |server, kind| switch(server, kind, "remove"),
            false,
            WITHOUT,
        ),
    ];
    let changes = ["tools", "prompts", "resources", "resources"];
    for revision in Revision::ALL {
        for (kind, changed) in changes.iter().enumerate() {
            let server = changing().build().unwrap();
            let mut peer = Peer::connect(&server, revision).await;
            listen(&mut peer, revision, &[]).await;
            for (at, (step, happens, names)) in steps.iter().enumerate() {
                let what = format!("{revision}, {changed} ({kind}), step {at}");
                assert_eq!(step(&server, kind), *happens, "{what}");
                if *happens {
                    let wanted = Some(format!("{changed}/list_changed"));
                    assert_eq!(told(&mut peer).await, wanted, "{what}");
                }
                assert_eq!(told(&mut peer).await, None, "{what}");
                assert_eq!(listed(&mut peer, LISTS[kind]).await, *names, "{what}");
            }
        }
    }
}

#[tokio::test]
async fn what_is_added_later_can_be_used() {
    let server = changing().build().unwrap();
    let mut peers = Vec::new();
    for revision in Revision::ALL {
        peers.push(Peer::connect(&server, revision).await);
    }
    for kind in 0..4 {
        assert!(add(&server, kind));
    }
    let argument = json!({"name": "name", "value": ""});
    for peer in &mut peers {
        for (method, params, found) in [
            ("tools/call", json!({"name": "late"}), "Hello!"),
            (
                "prompts/get",
                json!({"name": "late", "arguments": {"name": "Bari"}}),
                "Bari",
            ),
            ("resources/read", json!({"uri": "late:one"}), "One."),
            ("resources/read", json!({"uri": "late://Bari"}), "Bari"),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "late"}, "argument": argument}),
                "Rome",
            ),
        ] {
            let result = peer.result(method, params).await.to_string();
            assert!(result.contains(found), "{method}: {result}");
        }
    }
}

async fn waits(State(go_on): State<Arc<Notify>>) -> Result<&'static str> {
    go_on.notified().await;
    Ok("Done.")
}

#[tokio::test(start_paused = true)]
async fn a_call_keeps_the_tool_it_began_with() {
    for revision in Revision::ALL {
        let go_on = Arc::new(Notify::new());
        let builder = changing().state(Arc::clone(&go_on));
        let server = builder.tool(Tool::new("waits", waits)).build().unwrap();
        let mut peer = Peer::connect(&server, revision).await;
        let mut params = json!({"name": "waits"});
        if revision == Revision::LATEST {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": revision.as_str(),
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let id = peer.wire.request("tools/call", params).await;
        // The sent message is read once nothing else is left to do.
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(server.tools().unwrap().remove("waits"));
        go_on.notify_one();
        let mut answer = peer.wire.hear().await.expect("an answer");
        if answer["method"] == "notifications/tools/list_changed" {
            answer = peer.wire.hear().await.expect("an answer");
        }
        assert_eq!(answer["id"], id, "{revision}: {answer}");
        assert_eq!(answer["result"]["content"][0]["text"], "Done.");
        let again = peer.request("tools/call", json!({"name": "waits"})).await;
        assert_eq!(again["error"]["code"], -32602, "{revision}: {again}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_changes_what_its_server_offers() {
    async fn log_in(ctx: Ctx) -> Result<&'static str> {
        ctx.server().tools()?.enable("report");
        Ok("Welcome.")
    }
    for revision in Revision::ALL {
        let builder = Server::new("tests", "1").changing_tools();
        let builder = builder.tool(Tool::new("log_in", log_in));
        let server = builder.tool(Tool::new("report", hello)).build().unwrap();
        assert!(server.tools().unwrap().disable("report"));
        let mut peer = Peer::connect(&server, revision).await;
        assert_eq!(listed(&mut peer, LISTS[0]).await, ["log_in"]);
        peer.result("tools/call", json!({"name": "log_in"})).await;
        assert_eq!(listed(&mut peer, LISTS[0]).await, ["log_in", "report"]);
    }
}

#[test]
fn later_additions_are_checked_like_those_of_the_builder() {
    async fn takes_a_state(_: State<u8>) -> Result<()> {
        Ok(())
    }
    async fn takes_two(_: Place, _: Place) -> Result<()> {
        Ok(())
    }
    let unread = |uri: &str| ResourceTemplate::new(uri, "a", place);
    macro_rules! check {
        ($($offers:ident.$add:ident: $item:expr;)*) => {$({
            let cached = || changing().cache(Duration::from_secs(1), CacheScope::Public);
            let built = cached().$add($item).build().map(|_| ());
            assert!(built.is_err(), "{}", stringify!($item));
            let server = cached().build().unwrap();
            let added = server.$offers().unwrap().add($item);
            assert_eq!(added, built, "{}", stringify!($item));
            assert_eq!(server.$offers().unwrap().remove("a"), false);
        })*};
    }
    check!(
        tools.tool: Tool::new("no name", hello);
        tools.tool: Tool::new("always", hello);
        tools.tool: Tool::new("a", takes_a_state);
        tools.tool: Tool::new("a", takes_two);
        tools.tool: Tool::new("a", hello).header("b", "B");
        tools.tool: Tool::new("a", hello).visible_to(|_| true);
        tools.tool: Tool::new("a", hello).scopes(["two words"]);
        prompts.prompt: Prompt::new("always", async || Ok(String::new()));
        prompts.prompt: Prompt::new("a", place).complete("other", names);
        prompts.prompt: Prompt::new("a", place).visible_to(|_| true);
        resources.resource: Things::new("always").resource;
        resources.resource: Things::new("a").resource.scopes(["offline_access"]);
        resources.resource: Things::new("a").resource.visible_to(|_| false);
        resource_templates.resource_template: Things::new("always").template;
        resource_templates.resource_template: unread("a://{");
        resource_templates.resource_template: unread("a://{name}").complete("other", names);
        resource_templates.resource_template: unread("a://{name}").visible_to(|_| false);
    );
}

#[test]
fn a_list_that_does_not_change_is_not_said_to() {
    type Build = fn(ServerBuilder) -> ServerBuilder;
    let cases: [(Build, [bool; 3]); 9] = [
        (|it| it, [false, false, false]),
        (ServerBuilder::changing_tools, [true, false, false]),
        (ServerBuilder::changing_prompts, [false, true, false]),
        (ServerBuilder::changing_resources, [false, false, true]),
        (
            |it| it.list_resources(async || Ok(Vec::new())),
            [false, false, true],
        ),
        (
            |it| it.tool(Things::new("a").visible_to(|_| true).tool),
            [true, false, false],
        ),
        (
            |it| it.prompt(Things::new("a").visible_to(|_| true).prompt),
            [false, true, false],
        ),
        (
            |it| it.resource(Things::new("a").visible_to(|_| true).resource),
            [false, false, true],
        ),
        (
            |it| it.resource_template(Things::new("a").visible_to(|_| true).template),
            [false, false, true],
        ),
    ];
    for (at, (build, expected)) in cases.iter().enumerate() {
        for builder in [builder(), Server::new("empty", "1")] {
            let server = build(builder).build().unwrap();
            let capabilities = serde_json::to_value(server.capabilities()).unwrap();
            let kinds = ["tools", "prompts", "resources"];
            let said = kinds.map(|kind| capabilities[kind]["listChanged"] == true);
            assert_eq!(said, *expected, "{at}: {capabilities}");
        }
    }
    let fixed = builder().build().unwrap();
    let wrong = |kind| Some(BuildError::Fixed { kind });
    assert_eq!(fixed.tools().err(), wrong("tools"));
    assert_eq!(fixed.prompts().err(), wrong("prompts"));
    assert_eq!(fixed.resources().err(), wrong("resources"));
    let templates = fixed.resource_templates().err();
    assert_eq!(templates, wrong("resource templates"));
}

/// The requests that name an item.
fn requests(name: &str) -> Vec<(&'static str, Value)> {
    let argument = json!({"name": "name", "value": ""});
    let completing = |reference: Value| json!({"ref": reference, "argument": argument});
    let family = format!("{name}://{{name}}");
    vec![
        ("tools/list", json!({})),
        ("prompts/list", json!({})),
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("tools/call", json!({"name": name})),
        ("tools/call", json!({"name": "nothing"})),
        ("prompts/get", json!({"name": name})),
        ("prompts/get", json!({"name": "nothing"})),
        ("resources/read", json!({"uri": format!("{name}:one")})),
        ("resources/read", json!({"uri": format!("{name}://Rome")})),
        (
            "completion/complete",
            completing(json!({"type": "ref/prompt", "name": name})),
        ),
        (
            "completion/complete",
            completing(json!({"type": "ref/resource", "uri": family})),
        ),
    ]
}

#[tokio::test]
async fn a_hidden_thing_is_answered_as_one_that_is_not_there() {
    // Both servers declare `listChanged`, and have pages.
    let without = changing().page_size(1).build().unwrap();
    let hidden = Things::new("hidden").visible_to(|_| false);
    let hidden = hidden.add_to(changing().page_size(1)).build().unwrap();
    let disabled = Things::new("hidden").add_to(changing().page_size(1));
    let disabled = disabled.build().unwrap();
    disabled.tools().unwrap().disable("hidden");
    disabled.prompts().unwrap().disable("hidden");
    disabled.resources().unwrap().disable("hidden:one");
    let templates = disabled.resource_templates().unwrap();
    templates.disable("hidden://{name}");
    for revision in Revision::ALL {
        let mut without = Peer::connect(&without, revision).await;
        for (what, server) in [("hidden", &hidden), ("disabled", &disabled)] {
            let mut with = Peer::connect(server, revision).await;
            assert_eq!(with.capabilities, without.capabilities, "{revision}");
            for (method, params) in requests("hidden") {
                let mut expected = without.request(method, params.clone()).await;
                let mut answer = with.request(method, params.clone()).await;
                (expected["id"], answer["id"]) = (Value::Null, Value::Null);
                assert_eq!(answer, expected, "{revision}, {what}: {method} {params}");
            }
        }
    }
}

/// The first resource that matches a URI serves it for every client, however the URI is encoded.
#[tokio::test]
async fn a_hidden_resource_does_not_reveal_a_template_behind_it() {
    let resource = |name: &str| {
        Resource::new(format!("always://{name}"), name, async || {
            Ok("Mine.".to_owned())
        })
    };
    let server = builder()
        .resource(resource("hidden").visible_to(|_| false))
        .resource(resource("panics").visible_to(|_| panic!("the closure fails")))
        .resource(resource("caf%C3%A9"))
        .build()
        .unwrap();
    let mut peer = Peer::connect(&server, Revision::LATEST).await;
    for (uri, expected) in [
        ("always://Rome", Some("Rome")),
        ("always://R%6Fme", Some("Rome")),
        ("always://hidden", None),
        ("always://%68idden", None),
        ("always://panics", None),
        ("always://caf%C3%A9", Some("Mine.")),
        ("always://caf%c3%a9", None),
        ("always://café", None),
    ] {
        let answer = peer.request("resources/read", json!({"uri": uri})).await;
        let text = answer["result"]["contents"][0]["text"].as_str();
        assert_eq!(
            text.map(|text| text.contains(expected.unwrap_or("nothing"))),
            expected.map(|_| true),
            "{uri}: {answer}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_resource_is_reported_only_to_clients_that_see_it() {
    let hidden = Things::new("hidden").visible_to(|_| false);
    let disabled = Things::new("disabled");
    let server = disabled.add_to(hidden.add_to(changing()));
    let server = server.build().unwrap();
    server.resources().unwrap().disable("disabled:one");
    server
        .resource_templates()
        .unwrap()
        .disable("disabled://{name}");
    for revision in Revision::ALL {
        let mut peer = Peer::connect(&server, revision).await;
        let watched = [
            "hidden:one",
            "hidden://Rome",
            "disabled:one",
            "disabled://Rome",
            "always:one",
        ];
        listen(&mut peer, revision, &watched).await;
        for uri in watched {
            server.changed(Change::Resource(uri.to_owned()));
        }
        let said = told(&mut peer).await;
        assert_eq!(said.as_deref(), Some("resources/updated"), "{revision}");
        assert_eq!(told(&mut peer).await, None, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_a_list_is_reported_only_to_clients_that_see_the_entry() {
    let late = || Things::new("late").visible_to(|_| false);
    for revision in Revision::ALL {
        let server = late().add_to(changing()).build().unwrap();
        let mut peer = Peer::connect(&server, revision).await;
        listen(&mut peer, revision, &[]).await;
        for kind in 0..4 {
            for change in ["disable", "enable", "remove"] {
                assert!(switch(&server, kind, change));
                let said = told(&mut peer).await;
                assert_eq!(said, None, "{revision}: {change} of {kind}");
            }
        }
        server.tools().unwrap().add(late().tool).unwrap();
        assert_eq!(told(&mut peer).await, None, "{revision}");
    }
}

#[cfg(feature = "http-server")]
mod principals {
    use super::*;
    use crate::principal::{body, post};

    fn is_ada(who: Option<&Principal>) -> bool {
        who.is_some_and(|who| who.subject == "ada")
    }

    async fn answer(server: &Server, who: &str, method: &str, mut params: Value) -> Value {
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params["name"].as_str().or(params["uri"].as_str());
        let mut headers = vec![
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        let name = name.map(str::to_owned);
        headers.extend(name.iter().map(|name| ("mcp-name", &**name)));
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let who = Principal::new(who);
        let service = server.http().service();
        body(post(&service, Some(&who), &headers, &message).await).await
    }

    #[tokio::test]
    async fn each_principal_finds_its_own() {
        let server = Things::new("adas").visible_to(is_ada).add_to(builder());
        let server = server.build().unwrap();
        let without = builder();
        let without = without.tool(Tool::new("other", hello).visible_to(|_| false));
        let without = without.build().unwrap();
        for (method, params) in requests("adas") {
            let adas = answer(&server, "ada", method, params.clone()).await;
            let eves = answer(&server, "eve", method, params.clone()).await;
            let expected = answer(&without, "eve", method, params.clone()).await;
            assert_eq!(eves, expected, "{method} {params}");
            let nothing = params["name"] == "nothing";
            assert!(nothing || adas != eves, "{method} {params}: {adas}");
        }
    }

    #[tokio::test]
    async fn restricted_resources_are_not_cached_for_all_clients() {
        use askback::protocol::{ReadResourceResult, ResourceContents};
        let public = async || {
            Ok(ReadResourceResult {
                contents: vec![ResourceContents::text("", "For Ada.")],
                cache_scope: Some(CacheScope::Public),
                ..ReadResourceResult::default()
            })
        };
        let resource = Resource::new("x://adas", "adas", public).visible_to(is_ada);
        let server = Server::new("tests", "1").resource(resource).build();
        let server = server.unwrap();
        let read = answer(&server, "ada", "resources/read", json!({"uri": "x://adas"})).await;
        assert_eq!(read["result"]["cacheScope"], "private", "{read}");
    }
}
