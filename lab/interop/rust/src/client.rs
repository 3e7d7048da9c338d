use std::sync::{Arc, Mutex};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        CallToolRequest, CallToolRequestParams, ClientCapabilities, ClientConfig, ClientRequest,
        CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
        Implementation, ListRootsResult, ProgressNotificationParam, ProtocolVersion,
    },
    service::{
        ClientLifecycleMode, ClientServiceExt, NotificationContext, PeerRequestOptions,
        RequestContext, RunningService,
    },
    transport::{StreamableHttpClientTransport, TokioChildProcess},
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::{process::Command, sync::Notify};

use crate::Result;

#[derive(Deserialize)]
struct Job {
    connections: Vec<Connection>,
}

#[derive(Deserialize)]
struct Connection {
    command: Vec<String>,
    url: Option<String>,
    /// Whether it declares that it cannot be asked.
    #[serde(default)]
    mute: bool,
    scenarios: Vec<Value>,
}

/// Answers questions as the current scenario requires.
#[derive(Clone)]
struct Desk(Arc<State>);

#[derive(Default)]
struct State {
    mute: bool,
    scenario: Mutex<Value>,
    asked: Mutex<Vec<Value>>,
    heard: Mutex<Vec<f64>>,
    progress: Notify,
}

pub(crate) async fn run(job: &str) -> Result<()> {
    let job: Job = serde_json::from_str(job)?;
    for connection in job.connections {
        let desk = Desk::new(connection.mute);
        let opened = open(&connection, desk.clone()).await;
        for scenario in connection.scenarios {
            let name = scenario["name"].clone();
            let line = match &opened {
                Ok(client) => seen(client, &desk, scenario).await,
                Err(error) => Err(error.to_string().into()),
            };
            let line = match line {
                Ok((revision, seen)) => {
                    json!({"scenario": name, "revision": revision, "seen": seen})
                }
                Err(error) => json!({"scenario": name, "error": error.to_string()}),
            };
            println!("{line}");
        }
        if let Ok(client) = opened {
            client.cancel().await?;
        }
    }
    Ok(())
}

async fn open(connection: &Connection, desk: Desk) -> Result<RunningService<RoleClient, Desk>> {
    let lifecycle = ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: None,
    };
    Ok(match &connection.url {
        Some(url) => {
            let transport = StreamableHttpClientTransport::from_uri(url.as_str());
            desk.serve_with_lifecycle(transport, lifecycle).await?
        }
        None => {
            let mut command = Command::new(&connection.command[0]);
            command.args(&connection.command[1..]);
            let transport = TokioChildProcess::new(command)?;
            desk.serve_with_lifecycle(transport, lifecycle).await?
        }
    })
}

async fn seen(
    client: &RunningService<RoleClient, Desk>,
    desk: &Desk,
    scenario: Value,
) -> Result<(Value, Value)> {
    *desk.0.scenario.lock().expect("a lock") = scenario.clone();
    desk.0.asked.lock().expect("a lock").clear();
    desk.0.heard.lock().expect("a lock").clear();
    let word = |name: &str| scenario[name].as_str().unwrap_or_default().to_owned();
    let seen = match &*word("do") {
        "list" => json!({
            "tools": names(client.list_all_tools().await?, "name")?,
            "prompts": names(client.list_all_prompts().await?, "name")?,
            "resources": names(client.list_all_resources().await?, "uri")?,
            "templates": names(client.list_all_resource_templates().await?, "uriTemplate")?,
        }),
        "complete" => json!(
            client
                .complete_prompt_simple(word("prompt"), word("argument"), word("value"))
                .await?
        ),
        "prompt" => {
            let params = json!({"name": scenario["prompt"], "arguments": scenario["arguments"]});
            let got = client.get_prompt(serde_json::from_value(params)?).await?;
            let got = serde_json::to_value(got)?;
            let messages = got["messages"].as_array().into_iter().flatten();
            messages
                .map(|message| message["content"]["text"].clone())
                .collect()
        }
        "call" => {
            let result = serde_json::to_value(client.call_tool(call(&scenario)?).await?)?;
            let blocks = result["content"].as_array().into_iter().flatten();
            let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
            json!({
                "asked": *desk.0.asked.lock().expect("a lock"),
                "failed": result["isError"] == true,
                "text": texts.join("\n"),
                "structured": result["structuredContent"],
            })
        }
        "progress" => {
            client.call_tool(call(&scenario)?).await?;
            json!(*desk.0.heard.lock().expect("a lock"))
        }
        "cancel" => {
            let request = ClientRequest::CallToolRequest(CallToolRequest::new(call(&scenario)?));
            let options = PeerRequestOptions::no_options();
            let handle = client.send_cancellable_request(request, options).await?;
            // An earlier message does not count for this call.
            while desk.0.heard.lock().expect("a lock").is_empty() {
                desk.0.progress.notified().await;
            }
            handle.cancel(Some("enough".into())).await?;
            json!("cancelled")
        }
        unknown => return Err(format!("unknown: {unknown}").into()),
    };
    let revision = client.peer_info().map(|info| info.protocol_version.clone());
    Ok((json!(revision), seen))
}

fn call(scenario: &Value) -> Result<CallToolRequestParams> {
    let arguments = match &scenario["arguments"] {
        Value::Null => json!({}),
        arguments => arguments.clone(),
    };
    let params = json!({"name": scenario["tool"], "arguments": arguments});
    Ok(serde_json::from_value(params)?)
}

fn names<T: serde::Serialize>(items: Vec<T>, field: &str) -> Result<Vec<Value>> {
    let items = items
        .into_iter()
        .map(|item| Ok(serde_json::to_value(item)?[field].clone()));
    items.collect()
}

impl Desk {
    fn new(mute: bool) -> Self {
        let state = State { mute, ..State::default() };
        Self(Arc::new(state))
    }

    /// Exits the process if the scenario says so, as a crash would.
    fn may_die(&self) {
        if self.scenario()["die"] == true {
            let me = std::process::id().to_string();
            let _ = std::process::Command::new("kill")
                .args(["-KILL", &me])
                .status();
        }
    }

    fn scenario(&self) -> Value {
        self.0.scenario.lock().expect("a lock").clone()
    }

    fn asked(&self, what: Value) {
        self.0.asked.lock().expect("a lock").push(what);
    }
}

fn as_result<T: for<'a> Deserialize<'a>>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

impl ClientHandler for Desk {
    fn get_info(&self) -> ClientConfig {
        let capabilities = match self.0.mute {
            true => json!({}),
            false => json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}}),
        };
        let capabilities: ClientCapabilities =
            serde_json::from_value(capabilities).expect("capabilities");
        ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let form = serde_json::to_value(request).unwrap_or_default();
        let fields = form["requestedSchema"]["properties"]
            .as_object()
            .map(Map::len);
        self.asked(json!(fields));
        self.may_die();
        let message = form["message"].as_str().unwrap_or_default();
        let scenario = self.scenario();
        let mut answers = scenario["answers"].as_array().into_iter().flatten();
        let fits = |answer: &&Value| {
            answer["message"]
                .as_str()
                .is_some_and(|it| message.contains(it))
        };
        let Some(answer) = answers.find(fits) else {
            return Err(ErrorData::internal_error(
                format!("nobody answers: {message}"),
                None,
            ));
        };
        let mut result = json!({"action": answer["action"]});
        if !answer["content"].is_null() {
            result["content"] = answer["content"].clone();
        }
        as_result(result)
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.may_die();
        self.asked(json!(params.messages.len()));
        let content = json!({"type": "text", "text": self.scenario()["sample"]});
        as_result(json!({"role": "assistant", "content": content, "model": "interop"}))
    }

    async fn list_roots(
        &self,
        _: RequestContext<RoleClient>,
    ) -> Result<ListRootsResult, ErrorData> {
        let scenario = self.scenario();
        let roots = scenario["roots"].as_array().into_iter().flatten();
        let roots: Vec<Value> = roots
            .map(|uri| json!({"uri": uri, "name": "interop"}))
            .collect();
        as_result(json!({"roots": roots}))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.0.heard.lock().expect("a lock").push(params.progress);
        self.0.progress.notify_one();
    }
}
