//! Lists, declarations, and what a server adds to results.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::{
    Ctx, Error, Form, Json, Limits, Prompt, Resource, ResourceTemplate, Result, Revision, Server,
    ServerBuilder, Tool,
    ctx::Progress,
    protocol::{CacheScope, ContentBlock, ElicitUrlParams, PromptMessage, ResourceContents},
    server::{BuildError, CompletionRequest},
    testing::{self, Wire},
};
use serde_json::{Value, json};

/// A client of one revision, which only sends and receives messages.
pub(crate) struct Peer {
    pub(crate) wire: Wire,
    revision: Revision,
    pub(crate) capabilities: Value,
    /// The messages from the server other than responses.
    heard: Vec<Value>,
}

impl Peer {
    pub(crate) async fn connect(server: &Server, revision: Revision) -> Self {
        let mut wire = Wire::connect(server);
        let mut capabilities = Value::Null;
        if revision != Revision::LATEST {
            let opened = wire.initialize(revision, &json!({})).await;
            capabilities = opened["result"]["capabilities"].clone();
        }
        let mut peer = Self {
            wire,
            revision,
            capabilities,
            heard: Vec::new(),
        };
        if revision == Revision::LATEST {
            let discovered = peer.request("server/discover", json!({})).await;
            peer.capabilities = discovered["result"]["capabilities"].clone();
        }
        peer
    }

    pub(crate) async fn request(&mut self, method: &str, mut params: Value) -> Value {
        if self.revision == Revision::LATEST {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
            meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        let id = self.wire.request(method, params).await;
        loop {
            let message = self.wire.hear().await.expect("every request is answered");
            if message["id"] == id {
                return message;
            }
            self.heard.push(message);
        }
    }

    pub(crate) async fn result(&mut self, method: &str, params: Value) -> Value {
        let response = self.request(method, params).await;
        assert!(response["error"].is_null(), "{method}: {response}");
        response["result"].clone()
    }

    async fn code(&mut self, method: &str, params: Value) -> i64 {
        let response = self.request(method, params).await;
        let code = response["error"]["code"].as_i64();
        code.unwrap_or_else(|| panic!("{method}: {response}"))
    }
}

/// Each list method, and the member with its items.
pub(crate) const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resourceTemplates"),
];

#[derive(Form)]
struct Place {
    name: String,
}

async fn page(place: Place) -> Result<String> {
    match place.name.as_str() {
        "nowhere" => Err(Error::new("the map is lost")),
        name => Ok(format!("All about {name}.")),
    }
}

async fn names(typed: CompletionRequest) -> Result<Vec<String>> {
    match typed.value.as_str() {
        "?" => panic!("what is a question mark?"),
        typed => Ok((0..150).map(|at| format!("{typed}{at}")).collect()),
    }
}

fn page_one() -> ResourceContents {
    ResourceContents::text("other://pages/1", "One.").with_mime_type("text/markdown")
}

fn echo(name: &str) -> Tool {
    let said = name.to_owned();
    Tool::new(name, move || {
        let said = said.clone();
        async move { Ok(said) }
    })
}

fn builder() -> ServerBuilder {
    let mut builder = Server::new("library", "1");
    for name in ["zoo", "map", "atlas"] {
        let prompt = Prompt::new(name, async |place: Place| Ok(place.name));
        let bytes = async || Ok(vec![ResourceContents::bytes("", [0, 1, 254]), page_one()]);
        let template = ResourceTemplate::new(format!("{name}://places/{{name}}"), name, page);
        builder = builder
            .tool(echo(name))
            .prompt(prompt.complete("name", names))
            .resource(Resource::new(format!("{name}://cover"), name, bytes))
            .resource_template(template.complete("name", names));
    }
    builder
}

// Shows TO-12, TO-13, TO-14, TO-15, TO-16.
#[tokio::test]
async fn a_tool_has_a_name_that_clients_accept() {
    let build = |names: &[&str]| {
        let empty = Server::new("s", "1");
        let builder = names
            .iter()
            .fold(empty, |builder, name| builder.tool(echo(name)));
        builder.build()
    };
    let longest = "x".repeat(128);
    for name in ["a", "0", "get_User.v2-1", "--", &longest] {
        assert!(build(&[name]).is_ok(), "{name}");
    }
    let longer = "x".repeat(129);
    for name in [
        "",
        " ",
        "a b",
        "a,b",
        "a/b",
        "a:b",
        "a\n",
        "é",
        "a\u{200b}",
        &longer,
    ] {
        let wrong = Some(BuildError::Name(name.to_owned()));
        assert_eq!(build(&[name]).err(), wrong, "{name}");
    }
    let twice = build(&["search", "search"]).err();
    assert!(matches!(twice, Some(BuildError::Twice { .. })), "{twice:?}");
    // Names that differ only in case are different tools.
    let server = build(&["search", "Search"]).unwrap();
    for revision in Revision::ALL {
        let mut peer = Peer::connect(&server, revision).await;
        for name in ["search", "Search"] {
            let result = peer.result("tools/call", json!({"name": name})).await;
            assert_eq!(result["content"][0]["text"], name);
        }
        let code = peer.code("tools/call", json!({"name": "SEARCH"})).await;
        assert_eq!(code, -32602);
    }
}

// Shows CC-01, CC-02, CC-03, CC-04, CC-05, CC-06, CC-13, CC-21.
#[tokio::test]
async fn what_may_be_kept_says_how_long_and_by_whom() {
    let minute = Duration::from_secs(60);
    for (builder, ttl, scope) in [
        (builder(), 0, "private"),
        (
            builder().cache(minute, CacheScope::Public),
            60_000,
            "public",
        ),
        (
            builder().cache(minute, CacheScope::Private),
            60_000,
            "private",
        ),
    ] {
        let server = builder.page_size(1).build().unwrap();
        let mut peer = Peer::connect(&server, Revision::LATEST).await;
        for (list, member) in LISTS {
            let mut params = json!({});
            let mut pages = 0;
            loop {
                let page = peer.result(list, params.clone()).await;
                assert_eq!(page["ttlMs"], ttl, "{list}");
                assert_eq!(page["cacheScope"], scope, "{list}, page {pages}");
                assert_eq!(page[member].as_array().unwrap().len(), 1);
                pages += 1;
                match page["nextCursor"].as_str() {
                    Some(cursor) => params["cursor"] = cursor.into(),
                    None => break,
                }
            }
            assert_eq!(pages, 3, "{list}");
        }
        for (method, params) in [
            ("server/discover", json!({})),
            ("resources/read", json!({"uri": "zoo://cover"})),
        ] {
            let result = peer.result(method, params).await;
            assert!(result["ttlMs"].as_u64().is_some(), "{method}: {result}");
            let scope = result["cacheScope"].as_str();
            assert!(matches!(scope, Some("public" | "private")), "{method}");
        }
    }
}

// Shows PG-02, PG-03, PG-09.
#[tokio::test]
async fn every_list_refuses_a_cursor_it_did_not_give() {
    let server = builder().page_size(2).build().unwrap();
    for revision in Revision::ALL {
        let mut peer = Peer::connect(&server, revision).await;
        for (list, member) in LISTS {
            let code = peer.code(list, json!({"cursor": "2"})).await;
            assert_eq!(code, -32602, "{revision}: {list}");
            // A cursor is valid as long as the list is, even a second time.
            let cursor = peer.result(list, json!({})).await["nextCursor"].clone();
            for _ in 0..2 {
                let rest = peer.result(list, json!({"cursor": cursor})).await;
                assert_eq!(rest[member][0]["name"], "atlas", "{revision}: {list}");
                assert!(rest["nextCursor"].is_null());
            }
        }
    }
}

// Shows RE-02, RE-03, TO-06, TO-07, TO-08.
#[tokio::test]
async fn a_list_has_one_order_on_every_connection() {
    let server = builder().build().unwrap();
    for revision in Revision::ALL {
        for _ in 0..2 {
            let mut peer = Peer::connect(&server, revision).await;
            for (list, member) in LISTS {
                for _ in 0..2 {
                    let items = peer.result(list, json!({})).await[member].take();
                    let items = items.as_array().unwrap().iter();
                    let found: Vec<_> = items.map(|item| item["name"].clone()).collect();
                    assert_eq!(found, ["zoo", "map", "atlas"], "{revision}: {list}");
                    peer.result("tools/call", json!({"name": "map"})).await;
                }
            }
        }
    }
}

#[tokio::test]
async fn a_list_is_the_same_whether_it_was_written_before_or_is_written_again() {
    let mut limits = Limits::default();
    limits.server.list_bytes = 0;
    let kept = builder().page_size(2).build().unwrap();
    let anew = builder().page_size(2).limits(limits).build().unwrap();
    for revision in [Revision::ALL, Revision::ALL].concat() {
        let mut peer = Peer::connect(&kept, revision).await;
        let mut other = Peer::connect(&anew, revision).await;
        for (list, _) in LISTS {
            let first = peer.result(list, json!({})).await;
            assert_eq!(
                first,
                other.result(list, json!({})).await,
                "{revision}: {list}"
            );
            let rest = json!({"cursor": first["nextCursor"]});
            let second = peer.result(list, rest.clone()).await;
            assert_eq!(second, other.result(list, rest).await, "{revision}: {list}");
        }
    }
}

// Shows BA-50.
#[tokio::test]
async fn a_client_is_not_answered_by_its_name() {
    let server = builder().build().unwrap();
    let mut peer = Peer::connect(&server, Revision::LATEST).await;
    let all = LISTS.map(|(list, _)| (list, json!({})));
    let all = all.into_iter().chain([
        ("server/discover", json!({})),
        ("tools/call", json!({"name": "map"})),
        ("resources/read", json!({"uri": "zoo://cover"})),
    ]);
    for (method, mut params) in all {
        let unnamed = peer.result(method, params.clone()).await;
        for name in ["askback", "claude-code", "mcp-inspector", "openai-mcp"] {
            let client = json!({"name": name, "version": "1.0.0"});
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = client;
            let answer = peer.result(method, params.clone()).await;
            assert_eq!(answer, unnamed, "{method} for {name}");
        }
    }
}

// Shows CO-01, CO-02, PR-02, PR25-01, RE-01, TO-05, TO-06, LI25-05.
#[tokio::test]
async fn what_is_offered_is_declared_and_nothing_else_answered() {
    type Add = fn(ServerBuilder) -> ServerBuilder;
    let cases: [(&str, Add, &[&str]); 6] = [
        (
            "tools",
            |builder| builder.tool(echo("zoo")),
            &["tools/list"],
        ),
        (
            "prompts",
            |builder| builder.prompt(Prompt::new("p", async || Ok("p".to_owned()))),
            &["prompts/list"],
        ),
        (
            "resources",
            |builder| builder.resource_template(ResourceTemplate::new("a://{name}", "a", page)),
            &["resources/list", "resources/templates/list"],
        ),
        (
            "resources",
            |builder| builder.resource(Resource::new("a://b", "b", async || Ok("b".to_owned()))),
            &["resources/list", "resources/templates/list"],
        ),
        (
            "resources",
            |builder| builder.list_resources(async || Ok(Vec::new())),
            &["resources/list", "resources/templates/list"],
        ),
        (
            "completions",
            |builder| {
                builder.prompt(
                    Prompt::new("p", async |place: Place| Ok(place.name)).complete("name", names),
                )
            },
            &["prompts/list", "completion/complete"],
        ),
    ];
    let complete = json!({
        "ref": {"type": "ref/prompt", "name": "p"},
        "argument": {"name": "name", "value": ""},
    });
    let all = LISTS.map(|(list, _)| (list, json!({})));
    let all = all.into_iter().chain([("completion/complete", complete)]);
    let all: Vec<_> = all.collect();
    for (declares, add, answers) in cases {
        let server = add(Server::new("s", "1")).build().unwrap();
        for revision in Revision::ALL {
            let mut peer = Peer::connect(&server, revision).await;
            for kind in ["tools", "prompts", "resources", "completions"] {
                let expected = kind == declares || (kind, declares) == ("prompts", "completions");
                // The first revision supports completion without declaring it.
                let unsaid = kind == "completions" && revision == Revision::V2024_11_05;
                let found = !peer.capabilities[kind].is_null();
                assert_eq!(found, expected && !unsaid, "{revision}: {declares}: {kind}");
            }
            for (method, params) in &all {
                let response = peer.request(method, params.clone()).await;
                if answers.contains(method) {
                    assert!(response["error"].is_null(), "{revision}: {method}");
                } else {
                    assert_eq!(response["error"]["code"], -32601, "{revision}: {method}");
                }
            }
        }
    }
}

// Shows RE-04, RE-15.
#[tokio::test]
async fn contents_say_where_they_are_and_bytes_are_base64() {
    let server = builder().build().unwrap();
    for revision in Revision::ALL {
        let mut peer = Peer::connect(&server, revision).await;
        let read = peer
            .result("resources/read", json!({"uri": "zoo://cover"}))
            .await;
        let expected = json!([
            {"uri": "zoo://cover", "blob": "AAH+"},
            {"uri": "other://pages/1", "mimeType": "text/markdown", "text": "One."},
        ]);
        assert_eq!(read["contents"], expected, "{revision}");
    }
}

// Shows TO-31.
#[tokio::test]
async fn a_structured_result_is_said_in_text_too() {
    for value in [json!({"nights": 7}), json!([1, "two"]), json!(7)] {
        let given = value.clone();
        let tool = Tool::new("quote", move || {
            let given = given.clone();
            async move { Ok(Json(given)) }
        });
        let server = Server::new("s", "1").tool(tool).build().unwrap();
        for revision in Revision::ALL {
            let mut peer = Peer::connect(&server, revision).await;
            let result = peer.result("tools/call", json!({"name": "quote"})).await;
            let text = result["content"][0]["text"].as_str().unwrap();
            let said: Value = serde_json::from_str(text).unwrap();
            assert_eq!(said, value, "{revision}");
            let structured = &result["structuredContent"];
            assert!(structured.is_null() || *structured == value, "{revision}");
            // Before 2026-07-28, structured content is an object.
            let has = match revision {
                Revision::V2024_11_05 | Revision::V2025_03_26 => false,
                Revision::V2026_07_28 => true,
                _ => value.is_object(),
            };
            assert_eq!(!structured.is_null(), has, "{revision}: {result}");
        }
    }
}

// Shows CO-03, CO-04, CO-05, CO-09, CO-13.
#[tokio::test]
async fn what_cannot_be_completed_is_refused() {
    let server = builder().build().unwrap();
    let prompt = |name: &str| json!({"type": "ref/prompt", "name": name});
    let template = |uri: &str| json!({"type": "ref/resource", "uri": uri});
    let argument = |name: &str, value: &str| json!({"name": name, "value": value});
    for revision in Revision::ALL {
        let mut peer = Peer::connect(&server, revision).await;
        for (reference, argument, code) in [
            (prompt("bus"), argument("name", "a"), -32602),
            (prompt("map"), argument("street", "a"), -32602),
            (template("map://places"), argument("name", "a"), -32602),
            (
                template("map://places/{name}"),
                argument("street", "a"),
                -32602,
            ),
            (prompt("map"), Value::Null, -32602),
            (prompt("map"), json!({"name": "name"}), -32602),
            (prompt("map"), json!({"name": "name", "value": 7}), -32602),
            (Value::Null, argument("name", "a"), -32602),
            (prompt("map"), argument("name", "?"), -32603),
        ] {
            let params = json!({"ref": reference, "argument": argument});
            let found = peer.code("completion/complete", params.clone()).await;
            assert_eq!(found, code, "{revision}: {params}");
        }
        for reference in [prompt("map"), template("map://places/{name}")] {
            let params = json!({"ref": reference, "argument": argument("name", "a")});
            let completed = peer.result("completion/complete", params).await;
            let completion = &completed["completion"];
            let values = completion["values"].as_array().unwrap();
            // In the author's order, and no more than the protocol allows.
            let expected: Vec<_> = (0..100).map(|at| json!(format!("a{at}"))).collect();
            assert_eq!(*values, expected, "{revision}");
            assert_eq!(
                (&completion["total"], &completion["hasMore"]),
                (&json!(150), &json!(true))
            );
        }
    }
}

/// The context that a handler leaves behind.
type Left = Arc<Mutex<Option<Ctx>>>;

// Shows PO-01, PO-03, PO-04, PO-05, PO-07, PO-08, PO-09, PO-11.
#[tokio::test]
async fn progress_grows_and_ends_with_its_request() {
    let left = Left::default();
    let leaving = Arc::clone(&left);
    let tells = move |ctx: Ctx| {
        let left = Arc::clone(&leaving);
        async move {
            for progress in [0.5, 0.5, 0.25, f64::NAN, 1.0, -1.0, 2.0] {
                ctx.progress(Progress::of(progress, 4.0).message("on the way"));
            }
            *left.lock().unwrap() = Some(ctx);
            Ok("Told.")
        }
    };
    let server = builder().tool(Tool::new("tells", tells)).build().unwrap();
    for revision in Revision::ALL {
        let mut peer = Peer::connect(&server, revision).await;
        for token in [json!("p"), json!(7)] {
            let params = json!({"name": "tells", "_meta": {"progressToken": token}});
            peer.result("tools/call", params).await;
            let told: Vec<_> = peer.heard.drain(..).collect();
            let values: Vec<_> = told
                .iter()
                .map(|told| told["params"]["progress"].clone())
                .collect();
            assert_eq!(values, [json!(0.5), json!(1), json!(2)], "{revision}");
            for told in told {
                assert_eq!(told["method"], "notifications/progress");
                assert_eq!(told["params"]["progressToken"], token);
                assert_eq!(told["params"]["total"], 4);
            }
            // The request is over, even if its handler kept the context.
            let ctx = left.lock().unwrap().take().unwrap();
            ctx.progress(Progress::at(3.0));
            peer.result("tools/call", json!({"name": "map"})).await;
            assert_eq!(peer.heard, [] as [Value; 0], "{revision}");
        }
        // This request has no progress token.
        peer.result("tools/call", json!({"name": "tells"})).await;
        assert_eq!(peer.heard, [] as [Value; 0], "{revision}");
        for token in [json!(1.5), json!(null), json!(true), json!({})] {
            let params = json!({"name": "tells", "_meta": {"progressToken": token}});
            assert_eq!(
                peer.code("tools/call", params).await,
                -32602,
                "{revision}: {token}"
            );
        }
    }
}

// Shows LO-05.
#[tokio::test]
async fn an_unknown_log_level_is_refused() {
    let server = builder().build().unwrap();
    let mut peer = Peer::connect(&server, Revision::LATEST).await;
    for level in [json!("loud"), json!("INFO"), json!(3), json!({})] {
        let meta = json!({"io.modelcontextprotocol/logLevel": level});
        let params = json!({"name": "map", "_meta": meta});
        assert_eq!(peer.code("tools/call", params).await, -32602, "{level}");
    }
}

// Shows RE-09, RE-10, RE-12, RE25-01, RE25-02, BA-16, BA-17, BA-18.
#[tokio::test]
async fn codes_of_earlier_revisions_are_not_sent_in_the_newest() {
    let pays = async || -> Result<String> {
        let link = ElicitUrlParams {
            message: "Pay first.".to_owned(),
            url: "https://pay.example/1".to_owned(),
            ..ElicitUrlParams::default()
        };
        Err(Error::url_required(link, []))
    };
    let server = builder().tool(Tool::new("pays", pays)).build().unwrap();
    let mut peer = Peer::connect(&server, Revision::LATEST).await;
    let code = peer.code("tools/call", json!({"name": "pays"})).await;
    // The client does not open links, and the newest revision has an error code for that.
    assert_eq!(code, -32021);
    for (uri, expected) in [
        ("zoo://nothing", -32602),
        ("zoo://places/", -32602),
        ("zoo://places/a/b", -32602),
        ("not a URI", -32602),
        ("zoo://places/nowhere", -32603),
    ] {
        for revision in Revision::ALL {
            let mut peer = Peer::connect(&server, revision).await;
            let code = peer.code("resources/read", json!({"uri": uri})).await;
            let expected = match (expected, revision) {
                (-32602, Revision::V2026_07_28) | (-32603, _) => expected,
                _ => -32002,
            };
            assert_eq!(code, expected, "{revision}: {uri}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_is_a_text_or_several_parts() {
    const WORDS: [&str; 2] = ["One.", "Two."];
    let server = || {
        Server::new("library", "1")
            .tool(Tool::new("text", async || Ok("One.")))
            .tool(Tool::new("array", async || {
                Ok(WORDS.map(ContentBlock::text))
            }))
            .tool(Tool::new("list", async || {
                Ok(Vec::from(WORDS.map(ContentBlock::text)))
            }))
            .prompt(Prompt::new("text", async || Ok("One.")))
            .prompt(Prompt::new("array", async || {
                Ok(WORDS.map(|text| PromptMessage::user(ContentBlock::text(text))))
            }))
            .resource(Resource::new("text://", "text", async || Ok("One.")))
            .resource(Resource::new("array://", "array", async || {
                Ok(WORDS.map(|text| ResourceContents::text("", text)))
            }))
    };
    for (trial, text) in [
        (testing::call(server, "text", json!({})), "One."),
        (testing::call(server, "array", json!({})), "One.\nTwo."),
        (testing::call(server, "list", json!({})), "One.\nTwo."),
        (testing::prompt(server, "text", json!({})), "One."),
        (testing::prompt(server, "array", json!({})), "One.\nTwo."),
        (testing::read(server, "text://"), "One."),
        (testing::read(server, "array://"), "One.\nTwo."),
    ] {
        assert_eq!(trial.in_every_revision().await.assert_same().text(), text);
    }
}
