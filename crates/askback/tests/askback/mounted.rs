//! Mounted servers, and what their handlers and completers get.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use askback::{
    Ctx, Form, Limits, Prompt, Resource, ResourceTemplate, Result, Revision, Server, ServerBuilder,
    State, Tool,
    protocol::CacheScope,
    server::{BuildError, CompletionRequest, RootsChanged},
    testing::{self, Person, TestClock, Wire},
};
use serde_json::{Value, json};

use crate::{
    middleware::{Notes, Noting},
    offered::{LISTS, Peer},
};

#[derive(Form)]
struct Guest {
    name: String,
}

#[derive(Clone)]
struct Hotel(&'static str);

async fn welcome(ctx: Ctx, State(hotel): State<Hotel>, guest: Guest) -> Result<String> {
    let (hotel, rounds) = (hotel.0, ctx.limits().asking.rounds);
    Ok(format!("{hotel} welcomes {}; {rounds} rounds", guest.name))
}

async fn guests(State(hotel): State<Hotel>, typed: CompletionRequest) -> Result<Vec<String>> {
    Ok(vec![format!("{} at {}", typed.value, hotel.0)])
}

/// A server of one hotel, with an item of each kind.
fn hotel(name: &'static str, rounds: u32) -> ServerBuilder {
    let mut limits = Limits::default();
    limits.asking.rounds = rounds;
    let family = format!("{name}://{{name}}");
    Server::new(name, "1")
        .limits(limits)
        .state(Hotel(name))
        .tool(Tool::new("welcome", welcome))
        .prompt(Prompt::new("welcome", welcome).complete("name", guests))
        .resource(Resource::new(format!("{name}:one"), "one", async || {
            Ok("One.".to_owned())
        }))
        .resource_template(ResourceTemplate::new(family, "guest", welcome).complete("name", guests))
}

async fn names(peer: &mut Peer, (list, member): (&str, &str), by: &str) -> Vec<String> {
    let items = peer.result(list, json!({})).await[member].take();
    let items = items.as_array().expect("a list").iter();
    items
        .map(|item| item[by].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn what_is_mounted_keeps_its_states_limits_and_completers() {
    let inn = hotel("inn", 3).mount("bar", hotel("bar", 4));
    let server = hotel("agency", 2).mount("inn", inn).mount("", {
        let plain = Server::new("plain", "1");
        plain.tool(Tool::new("plain", async || Ok("Plain.")))
    });
    let server = server.build().unwrap();
    // Each prefix, its server, and how many rounds it may ask.
    let all = [
        ("", "agency", 2),
        ("inn_", "inn", 3),
        ("inn_bar_", "bar", 4),
    ];
    for revision in Revision::ALL {
        let mut peer = Peer::connect(&server, revision).await;
        let [tools, prompts, resources, templates] = LISTS;
        let prefixed = ["welcome", "inn_welcome", "inn_bar_welcome"];
        let with_plain = [&prefixed[..], &["plain"]].concat();
        assert_eq!(names(&mut peer, tools, "name").await, with_plain);
        assert_eq!(names(&mut peer, prompts, "name").await, prefixed);
        let uris = ["agency:one", "inn:one", "bar:one"];
        assert_eq!(names(&mut peer, resources, "uri").await, uris);
        let uris = ["agency://{name}", "inn://{name}", "bar://{name}"];
        assert_eq!(names(&mut peer, templates, "uriTemplate").await, uris);
        for (prefix, hotel, rounds) in all {
            let name = format!("{prefix}welcome");
            let welcome = format!("{hotel} welcomes Ada; {rounds} rounds");
            let completes = format!("A at {hotel}");
            let argument = json!({"name": "name", "value": "A"});
            let reference = json!({"type": "ref/prompt", "name": name});
            let family = json!({"type": "ref/resource", "uri": format!("{hotel}://{{name}}")});
            for (method, params, found) in [
                (
                    "tools/call",
                    json!({"name": name, "arguments": {"name": "Ada"}}),
                    &welcome,
                ),
                (
                    "prompts/get",
                    json!({"name": name, "arguments": {"name": "Ada"}}),
                    &welcome,
                ),
                (
                    "resources/read",
                    json!({"uri": format!("{hotel}://Ada")}),
                    &welcome,
                ),
                (
                    "completion/complete",
                    json!({"ref": reference, "argument": argument}),
                    &completes,
                ),
                (
                    "completion/complete",
                    json!({"ref": family, "argument": argument}),
                    &completes,
                ),
            ] {
                let result = peer.result(method, params).await.to_string();
                assert!(result.contains(found), "{revision}, {method}: {result}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_mounted_asks_within_its_own_limits() {
    async fn ask(ctx: Ctx) -> Result<String> {
        let sure = ctx.confirm("Sure?").await?;
        Ok(format!("{sure} {}", ctx.confirm("Really?").await?))
    }
    fn asks(rounds: u32) -> ServerBuilder {
        let mut limits = Limits::default();
        limits.asking.rounds = rounds;
        let builder = Server::new("tests", "1").limits(limits);
        builder.tool(Tool::new("ask", ask))
    }
    for (own, of_the_whole, may) in [(1, 5, false), (5, 1, true)] {
        let server = move || asks(of_the_whole).mount("inn", asks(own));
        let tick = json!({"confirm": true});
        let person = Person::new().answer("confirm", tick.clone());
        let person = person.answer("confirm-2", tick);
        let call = testing::call(server, "inn_ask", json!({})).with(person);
        let run = call.in_revision(Revision::LATEST).await;
        assert_eq!(run.text() == "true true", may, "{run:?}");
    }
}

#[tokio::test]
async fn the_middleware_of_what_is_mounted_is_inside_of_the_others() {
    let notes = Notes::default();
    let with = |builder: ServerBuilder, name| builder.middleware(Noting(name, notes.clone()));
    let inn = with(
        hotel("inn", 3).mount("bar", with(hotel("bar", 4), "bar")),
        "inn",
    );
    // The order does not matter: the server may be mounted later.
    let server = with(hotel("agency", 2).mount("inn", inn), "agency");
    let mut peer = Peer::connect(&server.build().unwrap(), Revision::LATEST).await;
    for (name, layers) in [
        ("welcome", &["agency"][..]),
        ("inn_welcome", &["agency", "inn"]),
        ("inn_bar_welcome", &["agency", "inn", "bar"]),
    ] {
        let params = json!({"name": name, "arguments": {"name": "Ada"}});
        peer.result("tools/call", params).await;
        let begun = layers
            .iter()
            .map(|layer| format!("{layer}: tools/call {name} {{\"name\":\"Ada\"}} null"));
        let ended = layers.iter().rev().map(|layer| format!("{layer}: done"));
        assert_eq!(notes.take(), begun.chain(ended).collect::<Vec<_>>());
    }
}

#[test]
fn what_does_not_fit_is_found_when_the_whole_is_built() {
    let empty = || Server::new("agency", "1");
    let twice = |kind, name: &str| {
        Some(BuildError::Twice {
            kind,
            name: name.to_owned(),
        })
    };
    let other = || {
        let tool = Tool::new("welcome", async || Ok(()));
        Server::new("other", "1").tool(tool)
    };
    let lost = |state| {
        Some(BuildError::State {
            name: "inn_welcome".to_owned(),
            state,
        })
    };
    let long = "x".repeat(122);
    let hidden = || other().tool(Tool::new("hidden", async || Ok(())).visible_to(|_| false));
    let public = |builder: ServerBuilder| {
        builder.cache(std::time::Duration::from_secs(1), CacheScope::Public)
    };
    let stateless = || {
        let tool = Tool::new("welcome", welcome);
        Server::new("inn", "1").tool(tool)
    };
    let lists = || Server::new("inn", "1").list_resources_for(async |_| Ok(Vec::new()));
    let cases: [(&str, ServerBuilder, Option<BuildError>); 10] = [
        (
            "two prefixes",
            empty().mount("a", other()).mount("b", other()),
            None,
        ),
        (
            "one prefix",
            empty().mount("a", other()).mount("a", other()),
            twice("tools", "a_welcome"),
        ),
        (
            "no prefix",
            other().mount("", other()),
            twice("tools", "welcome"),
        ),
        (
            "one URI",
            hotel("inn", 1).mount("a", hotel("inn", 1)),
            twice("resources", "inn:one"),
        ),
        (
            "a long name",
            empty().mount(&long, other()),
            Some(BuildError::Name(format!("{long}_welcome"))),
        ),
        (
            "a bad prefix",
            empty().mount("a b", other()),
            Some(BuildError::Name("a b_welcome".to_owned())),
        ),
        (
            "a state of another",
            empty().state(Hotel("agency")).mount("inn", stateless()),
            lost(std::any::type_name::<Hotel>()),
        ),
        (
            "a mistake of its own",
            empty().mount("inn", Server::new("inn", "1").revisions([])),
            Some(BuildError::NoRevision),
        ),
        (
            "a list that differs by caller",
            public(empty()).mount("inn", hidden()),
            Some(BuildError::PublicCache),
        ),
        (
            "a list of each",
            public(empty()).mount("inn", lists()),
            Some(BuildError::PublicCache),
        ),
    ];
    for (what, builder, wrong) in cases {
        assert_eq!(builder.build().err(), wrong, "{what}");
    }
}

#[tokio::test]
async fn what_is_mounted_brings_what_it_declares() {
    let lists = hotel("lists", 1).list_resources(async || {
        let resource = askback::protocol::Resource::new("lists:two", "two");
        Ok(vec![resource])
    });
    let server = Server::new("agency", "1")
        .mount("lists", lists.changing_tools())
        .mount("logs", Server::new("logs", "1").logging());
    let server = server.build().unwrap();
    let capabilities = serde_json::to_value(server.capabilities()).unwrap();
    assert_eq!(capabilities["tools"]["listChanged"], true);
    assert_eq!(capabilities["prompts"]["listChanged"], Value::Null);
    assert_eq!(capabilities["resources"]["listChanged"], true);
    assert!(capabilities["logging"].is_object(), "{capabilities}");
    assert!(capabilities["completions"].is_object(), "{capabilities}");
    let mut peer = Peer::connect(&server, Revision::LATEST).await;
    let uris = names(&mut peer, LISTS[2], "uri").await;
    assert_eq!(uris, ["lists:one", "lists:two"]);
    // A tool that is added later belongs to the outer server.
    let late = server.tools().unwrap().add(Tool::new("late", welcome));
    assert!(matches!(late, Err(BuildError::State { .. })), "{late:?}");
}

#[tokio::test(start_paused = true)]
async fn both_servers_are_told_of_changed_roots() {
    let told = Arc::new(AtomicUsize::new(0));
    let counting = |by: usize| {
        let told = Arc::clone(&told);
        move |_: RootsChanged| {
            let told = Arc::clone(&told);
            async move {
                told.fetch_add(by, Ordering::Relaxed);
            }
        }
    };
    let inn = hotel("inn", 1).on_roots_changed(counting(1));
    let server = Server::new("agency", "1").on_roots_changed(counting(10));
    let server = server.mount("inn", inn).build().unwrap();
    let mut peer = Peer::connect(&server, Revision::V2025_11_25).await;
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"});
    peer.wire.say(&changed).await;
    peer.result("ping", json!({})).await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(told.load(Ordering::Relaxed), 11);
}

#[test]
fn a_completer_is_given_the_states_of_its_server() {
    async fn both(State(_): State<Hotel>, State(_): State<u8>) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
    let prompt = || Prompt::new("p", async |guest: Guest| Ok(guest.name)).complete("name", both);
    let template = || {
        let template =
            ResourceTemplate::new("x://{name}", "x", async |guest: Guest| Ok(guest.name));
        template.complete("name", both)
    };
    let builder = || Server::new("tests", "1").state(Hotel("inn"));
    let missing = |name: &str| {
        Some(BuildError::State {
            name: name.to_owned(),
            state: "u8",
        })
    };
    for (builder, wrong) in [
        (builder().prompt(prompt()), missing("p")),
        (
            builder().resource_template(template()),
            missing("x://{name}"),
        ),
        (builder().state(7_u8).prompt(prompt()), None),
        (builder().state(7_u8).resource_template(template()), None),
    ] {
        assert_eq!(builder.build().err(), wrong);
    }
}

/// Sends the same answer three times, far apart, and returns the three responses.
async fn paid_late(server: ServerBuilder, tool: &str) -> [String; 3] {
    let server = server.clock(TestClock::new()).build().unwrap();
    let mut wire = Wire::connect(&server);
    let mut call = async |params: &Value| {
        let mut params = params.clone();
        params["name"] = tool.into();
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        });
        wire.request("tools/call", params).await;
        wire.hear().await.expect("a response")
    };
    let answered = |asked: &Value| {
        let confirmed = json!({"action": "accept", "content": {"confirm": true}});
        json!({
            "requestState": asked["result"]["requestState"],
            "inputResponses": {"confirm": confirmed},
        })
    };
    let first = answered(&call(&json!({})).await);
    let mut said = [const { String::new() }; 3];
    for said in &mut said {
        // Other payments also remove what has expired.
        let other = answered(&call(&json!({})).await);
        let (heard, _) = (call(&first).await, call(&other).await);
        let text = &heard["result"]["content"][0]["text"];
        let refusal = &heard["error"]["message"];
        *said = text.as_str().or(refusal.as_str()).unwrap().to_owned();
        tokio::time::sleep(Duration::from_secs(250)).await;
    }
    said
}

#[tokio::test(start_paused = true)]
async fn a_state_and_the_claims_it_leads_to_have_the_time_of_what_is_mounted() {
    const REFUSED: &str = "Invalid or expired requestState";
    let bank = |name, flow_ttl: Option<u64>| {
        let paid = Arc::new(AtomicUsize::new(0));
        let pay = move |ctx: Ctx| {
            let paid = Arc::clone(&paid);
            async move {
                if !ctx.confirm("Pay?").await? {
                    return Ok("not paid".to_owned());
                }
                let pay = async move || Ok(paid.fetch_add(1, Ordering::SeqCst));
                Ok(format!("payment {}", ctx.commit("pay", pay).await?))
            }
        };
        let mut limits = Limits::default();
        if let Some(seconds) = flow_ttl {
            limits.asking.flow_ttl = Duration::from_secs(seconds);
        }
        let server = Server::new(name, "1").limits(limits);
        server.tool(Tool::new("pay", pay))
    };
    let short = Some(120);
    let expired = ["payment 0", REFUSED, REFUSED];
    let once = ["payment 0"; 3];
    // The flow lifetimes of a server and of the server on which it is mounted.
    for (own, outer, says) in [
        (short, None, expired),
        (short, Some(None), expired),
        (None, Some(short), once),
        (short, Some(short), expired),
    ] {
        let (server, tool) = match outer {
            None => (bank("bank", own), "pay"),
            Some(outer) => (
                bank("whole", outer).mount("bank", bank("bank", own)),
                "bank_pay",
            ),
        };
        assert_eq!(paid_late(server, tool).await, says, "{own:?} {outer:?}");
    }
}
