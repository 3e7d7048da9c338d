//! The principal is what the token says, and each principal has only its own data.

use std::sync::Arc;

use askback::{
    Ctx, Form, Limits, Principal, Prompt, Revision, Tool,
    authorization::server::Protection,
    protocol::{self, TaskSupport},
    server::CompletionRequest,
};
use serde_json::{Value, json};

use super::{Ran, bearer, builder, claims, client, key, post, protection, verifier, with};
use crate::http::client::{Client, MESSAGE, Response, hello, mirrored, stateless};

/// Tokens of different principals. Each pair differs in one claim.
fn everybody() -> Vec<String> {
    let tenants = [
        with("tenant", json!("acme")),
        with("tenant", json!("globex")),
    ];
    let change = |name: &str, value: Value| {
        let mut claims = tenants[0].clone();
        claims[name] = value;
        claims
    };
    let mut nameless = tenants[0].clone();
    nameless.as_object_mut().unwrap().remove("client_id");
    let others = [
        change("sub", json!("mallory")),
        change("client_id", json!("other")),
        nameless,
    ];
    tenants.iter().chain(&others).map(bearer).collect()
}

fn tenants() -> Client {
    let server = builder(&Ran::default())
        .tool(Tool::new("slow", slow).task(TaskSupport::Optional))
        .build()
        .unwrap();
    let protection = Protection::new(super::RESOURCE, verifier().tenant_claim("tenant")).unwrap();
    Client(server.http().allow_http_sse().protect(protection).service())
}

async fn slow(ctx: Ctx) -> askback::Result<&'static str> {
    ctx.sleep(std::time::Duration::from_secs(60)).await;
    Ok("Done.")
}

async fn whoami(
    client: &Client,
    authorization: &str,
    headers: &[(&str, &str)],
    message: &Value,
) -> String {
    let headers = [
        &[("authorization", authorization)],
        &mirrored(message)[..],
        headers,
    ]
    .concat();
    let headers = [&MESSAGE[..], &headers].concat();
    let response = client
        .send("POST", "/mcp", &headers, message.to_string())
        .await;
    let answer = response.answer().await;
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or("?")
        .to_owned()
}

const ALICE: &str = r#"None Some("https://auth.example.com") alice Some("app")"#;

// Shows EL-19, EL-43, EL-44, AS-26.
#[tokio::test]
async fn nothing_but_the_token_says_who_asks() {
    let client = client();
    let alice = bearer(&claims());
    let plain = stateless("tools/call", json!({"name": "whoami"}));
    let claimed = json!({"name": "whoami", "_meta": {
        "principal": {"subject": "root"},
        "io.modelcontextprotocol/clientInfo": {"name": "root", "version": "1"},
        "io.modelcontextprotocol/principal": "root",
        "authorization": "Bearer root",
        "sub": "root",
    }});
    let claimed = stateless("tools/call", claimed);
    let spoken = stateless(
        "tools/call",
        json!({"name": "whoami", "arguments": {"user": "root"}}),
    );
    for message in [&plain, &claimed, &spoken] {
        for headers in [
            vec![],
            vec![
                ("x-user", "root"),
                ("x-forwarded-user", "root"),
                ("remote-user", "root"),
            ],
            vec![
                ("x-forwarded-authorization", "Bearer root"),
                ("cookie", "sub=root"),
            ],
            vec![
                ("proxy-authorization", "Bearer root"),
                ("from", "root@example.com"),
            ],
        ] {
            let said = whoami(&client, &alice, &headers, message).await;
            assert_eq!(said, ALICE, "{message} {headers:?}");
        }
    }
    // The text in a form is only an answer.
    let asks = stateless("tools/call", json!({"name": "asks"}));
    let asked = post(&client, &alice, &asks).await.answer().await;
    let mut answers = serde_json::Map::new();
    for key in asked["result"]["inputRequests"].as_object().unwrap().keys() {
        let content = json!({"window": true, "sub": "root", "principal": "root"});
        answers.insert(key.clone(), json!({"action": "accept", "content": content}));
    }
    let again = stateless(
        "tools/call",
        json!({
            "name": "asks",
            "inputResponses": answers,
            "requestState": asked["result"]["requestState"],
        }),
    );
    let said = post(&client, &alice, &again)
        .await
        .answer()
        .await
        .to_string();
    assert!(!said.contains("root"), "{said}");
}

// Shows EL-19.
#[tokio::test]
async fn nobody_in_front_says_who_asks_either() {
    let message = stateless("tools/call", json!({"name": "whoami"}));
    for (authorization, status) in [(bearer(&claims()), 200), (String::new(), 401)] {
        let mut request = http::Request::post("/mcp");
        let authorization = ("authorization", authorization.as_str());
        for (name, value) in [&MESSAGE[..], &mirrored(&message), &[authorization]].concat() {
            request = request.header(name, value);
        }
        let mut request = request.body(message.to_string()).unwrap();
        request.extensions_mut().insert(Principal::new("root"));
        let response = client().0.respond(request).await;
        assert_eq!(response.status(), status);
        let body = axum::body::to_bytes(axum::body::Body::new(response.into_body()), 1 << 20);
        let body = String::from_utf8(body.await.unwrap().to_vec()).unwrap();
        assert!(!body.contains("root"), "{body}");
    }
}

// Shows MR-08, EL-26, BP-40, BP-42.
#[tokio::test]
async fn a_sealed_state_is_its_principals() {
    let client = tenants();
    let everybody = everybody();
    for owner in &everybody {
        let asks = stateless("tools/call", json!({"name": "asks"}));
        let asked = post(&client, owner, &asks).await.answer().await;
        let requests = asked["result"]["inputRequests"].as_object().unwrap();
        let answer = json!({"action": "accept", "content": {"window": true}});
        let answers = requests.keys().map(|key| (key.clone(), answer.clone()));
        let again = stateless(
            "tools/call",
            json!({
                "name": "asks",
                "inputResponses": answers.collect::<serde_json::Map<_, _>>(),
                "requestState": asked["result"]["requestState"],
            }),
        );
        for other in &everybody {
            let answered = post(&client, other, &again).await.answer().await;
            if other == owner {
                assert!(answered["result"]["content"].is_array(), "{answered}");
            } else {
                assert_eq!(answered["error"]["code"], -32602, "{answered}");
            }
        }
    }
}

// Shows BP-39, BP-40, BP-42.
#[tokio::test]
async fn a_session_is_its_principals() {
    let client = tenants();
    let everybody = everybody();
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
    for owner in &everybody {
        let headers = [&MESSAGE[..], &[("authorization", owner.as_str())]].concat();
        let opening = hello(Revision::LATEST_LEGACY, json!({})).to_string();
        let opened = client.send("POST", "/mcp", &headers, opening).await;
        let id = opened.header("mcp-session-id").unwrap().to_owned();
        for other in everybody.iter().filter(|other| *other != owner) {
            for method in ["POST", "GET", "DELETE"] {
                let ask = |session: &str| {
                    let (client, session, other) =
                        (client.clone(), session.to_owned(), other.clone());
                    let ping = ping.clone();
                    async move {
                        let session = [("authorization", &*other), ("mcp-session-id", &*session)];
                        let headers = [&MESSAGE[..], &session].concat();
                        client.send(method, "/mcp", &headers, ping).await
                    }
                };
                let (theirs, unknown) = (ask(&id).await, ask("unknown").await);
                assert_eq!(theirs.status, 404, "{method}");
                assert_eq!(unknown.status, 404, "{method}");
                assert_eq!(theirs.text().await, unknown.text().await);
            }
        }
        let headers = [&headers[..], &[("mcp-session-id", &*id)]].concat();
        let answered = client.send("POST", "/mcp", &headers, &*ping).await;
        assert_eq!(answered.status, 200, "it is still there");
        // A client that has only the session id gets nothing.
        let headers = [&MESSAGE[..], &[("mcp-session-id", &*id)]].concat();
        assert_eq!(
            client.send("POST", "/mcp", &headers, &*ping).await.status,
            401
        );
    }
}

#[tokio::test(start_paused = true)]
async fn opening_too_many_sessions_ends_sessions_of_the_same_principal() {
    let mut limits = Limits::default();
    limits.http.sessions = 4;
    limits.server.owner_share = 1;
    let server = builder(&Ran::default()).limits(limits).build().unwrap();
    let client = Client(
        server
            .http()
            .allow_http_sse()
            .protect(protection())
            .service(),
    );
    let open = async |subject: &str| {
        let token = bearer(&with("sub", json!(subject)));
        let headers = [&MESSAGE[..], &[("authorization", token.as_str())]].concat();
        let opening = hello(Revision::LATEST_LEGACY, json!({})).to_string();
        let opened = client.send("POST", "/mcp", &headers, opening).await;
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        (token, opened.header("mcp-session-id").unwrap().to_owned())
    };
    let mut sessions = vec![open("bob").await, open("carol").await];
    for _ in 0..5 {
        sessions.push(open("alice").await);
    }
    let mut found = Vec::new();
    for (token, id) in &sessions {
        let own = [("authorization", &**token), ("mcp-session-id", id)];
        let headers = [&MESSAGE[..], &own].concat();
        let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
        let answered = client.send("POST", "/mcp", &headers, ping.to_string());
        found.push(answered.await.status.as_u16());
    }
    assert_eq!(found, [200, 200, 404, 404, 404, 200, 200]);
}

#[tokio::test]
async fn a_pair_of_endpoints_is_its_principals() {
    let client = tenants();
    let everybody = everybody();
    let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"}).to_string();
    for owner in &everybody {
        let headers = [
            ("host", "localhost"),
            ("accept", "text/event-stream"),
            ("authorization", owner),
        ];
        let mut stream = client.send("GET", "/mcp", &headers, "").await;
        let place = stream.event().await.unwrap().data;
        let place = String::from_utf8(place).unwrap();
        for other in &everybody {
            let headers = [&MESSAGE[..], &[("authorization", other)]].concat();
            let answered = client.send("POST", &place, &headers, &*ping).await;
            let expected = if other == owner { 202 } else { 404 };
            assert_eq!(answered.status, expected);
        }
    }
}

/// A message of a client that supports tasks.
fn with_tasks(method: &str, mut params: Value) -> Value {
    params["_meta"] = json!({});
    let mut message = stateless(method, params);
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    message
}

pub(super) async fn about(client: &Client, authorization: &str, message: &Value) -> Response {
    let own = [("authorization", authorization)];
    let headers = [&MESSAGE[..], &mirrored(message), &own].concat();
    let message = message.to_string();
    client.send("POST", "/mcp", &headers, message).await
}

// Shows TA-64.
#[tokio::test(start_paused = true)]
async fn nobody_hears_of_the_task_of_another_or_changes_it() {
    let client = tenants();
    let [owner, others @ ..] = &everybody()[..] else {
        panic!("nobody");
    };
    let slow = with_tasks("tools/call", json!({"name": "slow"}));
    let begun = post(&client, owner, &slow).await.answer().await;
    let id = begun["result"]["taskId"].as_str().unwrap();
    let listen = with_tasks(
        "subscriptions/listen",
        json!({"notifications": {"taskIds": [id]}}),
    );
    let listen = async |who| {
        let mut stream = post(&client, who, &listen).await;
        assert_eq!(
            stream.message().await["method"],
            "notifications/subscriptions/acknowledged"
        );
        stream
    };
    let mut own = listen(owner).await;
    let mut quiet = Vec::new();
    for other in others {
        quiet.push(listen(other).await);
        for (method, params) in [
            ("tasks/get", json!({"taskId": id})),
            (
                "tasks/update",
                json!({"taskId": id, "inputResponses": {"seat": {"action": "accept"}}}),
            ),
            ("tasks/cancel", json!({"taskId": id})),
        ] {
            let theirs = about(&client, other, &with_tasks(method, params.clone())).await;
            let theirs = theirs.answer().await;
            assert_eq!(theirs["error"]["code"], -32602, "{method}: {theirs}");
        }
    }
    let cancel = with_tasks("tasks/cancel", json!({"taskId": id}));
    assert_eq!(about(&client, owner, &cancel).await.status, 200);
    let told = own.message().await;
    assert_eq!(told["params"]["status"], "cancelled", "{told}");
    for stream in &mut quiet {
        stream.assert_quiet().await;
    }
}

// Shows BP-39, BP-40, BP-42, TA-64.
#[tokio::test]
async fn a_task_is_its_principals() {
    let client = tenants();
    let everybody = everybody();
    let slow = with_tasks("tools/call", json!({"name": "slow"}));
    for owner in &everybody {
        let begun = post(&client, owner, &slow).await.answer().await;
        let id = begun["result"]["taskId"]
            .as_str()
            .unwrap_or_else(|| panic!("{begun}"));
        for other in &everybody {
            let get = with_tasks("tasks/get", json!({"taskId": id}));
            let response = about(&client, other, &get).await;
            let answered = response.answer().await;
            assert_eq!(answered["result"].is_object(), other == owner, "{answered}");
        }
    }
}

/// A refreshed token has the same principal as the token before it.
// Shows BP-42.
#[tokio::test]
async fn the_next_token_of_a_principal_is_as_good() {
    let client = Client(
        builder(&Ran::default())
            .build()
            .unwrap()
            .http()
            .protect(protection())
            .service(),
    );
    let (first, mut next) = (bearer(&claims()), claims());
    next["jti"] = json!("2");
    next["scope"] = json!("notes:read notes:write notes:erase");
    let next = format!("Bearer {}", key().token(&next));
    let headers = [&MESSAGE[..], &[("authorization", &*first)]].concat();
    let opening = hello(Revision::LATEST_LEGACY, json!({})).to_string();
    let opened = client.send("POST", "/mcp", &headers, opening).await;
    let id = opened.header("mcp-session-id").unwrap().to_owned();
    let call = |authorization: String, id: String| {
        let client = client.clone();
        async move {
            let session = [("authorization", &*authorization), ("mcp-session-id", &*id)];
            let headers = [&MESSAGE[..], &session].concat();
            let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                              "params": {"name": "erase"}});
            let response: Response = client
                .send("POST", "/mcp", &headers, call.to_string())
                .await;
            response.status
        }
    };
    assert_eq!(call(first, id.clone()).await, 403);
    assert_eq!(call(next, id).await, 200);
}

// Shows CO-15.
#[tokio::test]
async fn lists_and_completions_are_for_whoever_asks() {
    let subject = |who: &Option<Arc<Principal>>| who.as_ref().map(|it| it.subject.clone());
    let listed = move |who| async move {
        let subject = subject(&who).unwrap_or_default();
        let uri = format!("note://of/{subject}");
        Ok(vec![protocol::Resource::new(uri, subject)])
    };
    let typed = move |typed: CompletionRequest| async move {
        Ok(Vec::from_iter(subject(&typed.principal)))
    };
    let prompt = Prompt::new("whose", async |whose: Whose| Ok(whose.name)).complete("name", typed);
    let server = builder(&Ran::default())
        .list_resources_for(listed)
        .prompt(prompt);
    let server = server.build().unwrap();
    let client = Client(
        server
            .http()
            .allow_http_sse()
            .protect(protection())
            .service(),
    );
    let list = stateless("resources/list", json!({}));
    let complete = stateless(
        "completion/complete",
        json!({
            "ref": {"type": "ref/prompt", "name": "whose"},
            "argument": {"name": "name", "value": ""},
        }),
    );
    for subject in ["alice", "bob"] {
        let token = bearer(&with("sub", json!(subject)));
        let listed = post(&client, &token, &list).await.answer().await;
        let last = listed["result"]["resources"]
            .as_array()
            .unwrap()
            .last()
            .unwrap()
            .clone();
        assert_eq!(last["uri"], format!("note://of/{subject}"));
        let completed = post(&client, &token, &complete).await.answer().await;
        assert_eq!(
            completed["result"]["completion"]["values"],
            json!([subject])
        );
    }
}

#[derive(Form)]
struct Whose {
    name: String,
}
