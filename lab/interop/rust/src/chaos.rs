//! A client for servers whose processes are killed. Each line of stdin is a command as JSON, or allows a question to be
//! answered. Each line of stdout has a call's token, and says that the call asks its person or how the call ended.

use std::{sync::Arc, time::Duration};

use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        CallToolResponse, ClientConfig, ElicitRequestParams, ElicitResult, GetTaskParams,
        Implementation, ProtocolVersion, UpdateTaskParams,
    },
    service::{ClientLifecycleMode, ClientServiceExt, RequestContext, RunningService},
    transport::{
        StreamableHttpClientTransport, streamable_http_client::StreamableHttpClientTransportConfig,
    },
};
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufReadExt, BufReader, stdin},
    sync::{Semaphore, mpsc},
    time::{sleep, timeout},
};

use crate::Result;

const PATIENCE: Duration = Duration::from_secs(120);

/// The number of retries of a request about a task, and the pause between them.
const ATTEMPTS: u32 = 10;
const PAUSE: Duration = Duration::from_millis(200);

#[derive(Clone)]
struct Desk {
    token: Value,
    answers: Value,
    may_answer: Arc<Semaphore>,
}

type Client = RunningService<RoleClient, Desk>;

pub(crate) async fn run() -> Result<()> {
    let may_answer = Arc::new(Semaphore::new(0));
    let (order, mut orders) = mpsc::channel(1);
    let permits = Arc::clone(&may_answer);
    tokio::spawn(async move {
        let mut lines = BufReader::new(stdin()).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if line == "\"answer\"" {
                permits.add_permits(1);
            } else if order.send(line).await.is_err() {
                break;
            }
        }
    });
    while let Some(order) = orders.recv().await {
        let order: Value = serde_json::from_str(&order)?;
        may_answer.forget_permits(may_answer.available_permits());
        let desk = Desk {
            token: order["token"].clone(),
            answers: order["answers"].clone(),
            may_answer: Arc::clone(&may_answer),
        };
        let ended = timeout(PATIENCE, call(&order, desk)).await;
        let line = match ended {
            Ok(Ok(text)) => json!({"token": order["token"], "done": text}),
            Ok(Err(error)) => json!({"token": order["token"], "failed": error.to_string()}),
            Err(_) => json!({"token": order["token"], "failed": "nothing came"}),
        };
        println!("{line}");
    }
    Ok(())
}

async fn call(order: &Value, desk: Desk) -> Result<String> {
    let word = |name: &str| order[name].as_str().unwrap_or_default();
    let mut config = StreamableHttpClientTransportConfig::with_uri(word("url"));
    config.auth_header = Some(word("token").to_owned());
    let transport = StreamableHttpClientTransport::from_config(config);
    let lifecycle = match word("era") {
        "handshake" => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    };
    let client = desk
        .clone()
        .serve_with_lifecycle(transport, lifecycle)
        .await?;
    let named = json!({"name": order["name"], "arguments": order["arguments"]});
    let result = match word("do") {
        "prompt" => {
            let named = json!({"name": order["name"]});
            let got = client.get_prompt(serde_json::from_value(named)?).await?;
            serde_json::to_value(got)?["messages"][0].take()
        }
        "resource" => {
            let uri = json!({"uri": order["name"]});
            let read = client.read_resource(serde_json::from_value(uri)?).await?;
            json!({"content": serde_json::to_value(read)?["contents"][0]})
        }
        "task" => task(&client, &desk, named).await?,
        _ => serde_json::to_value(client.call_tool(serde_json::from_value(named)?).await?)?,
    };
    client.cancel().await?;
    let content = match &result["content"] {
        Value::Array(blocks) => &blocks[0],
        block => block,
    };
    let text = content["text"].as_str().unwrap_or_default().to_owned();
    match result["isError"] == true {
        true => Err(text.into()),
        false => Ok(text),
    }
}

/// Follows a task to its end, because rmcp does not.
async fn task(client: &Client, desk: &Desk, named: Value) -> Result<Value> {
    let called = client
        .call_tool_once(serde_json::from_value(named)?)
        .await?;
    let CallToolResponse::Task(created) = called else {
        return Err("this is no task".into());
    };
    let id = created.task.task_id;
    let mut answered = Vec::new();
    loop {
        sleep(PAUSE).await;
        let state = again(|| client.get_task(GetTaskParams::new(&*id))).await?;
        let state = serde_json::to_value(state)?;
        if !state["result"].is_null() {
            return Ok(state["result"].clone());
        }
        if !state["error"].is_null() {
            return Err(state["error"].to_string().into());
        }
        let mut replies = Map::new();
        for (key, request) in state["inputRequests"].as_object().into_iter().flatten() {
            if !answered.contains(key) {
                replies.insert(key.clone(), desk.answer(&request["params"]).await);
                answered.push(key.clone());
            }
        }
        if !replies.is_empty() {
            let params: UpdateTaskParams =
                serde_json::from_value(json!({"taskId": id, "inputResponses": replies}))?;
            again(|| client.update_task(params.clone())).await?;
        }
    }
}

/// Retries a request about a task until it is answered.
async fn again<T, E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    send: impl AsyncFn() -> Result<T, E>,
) -> Result<T> {
    for _ in 1..ATTEMPTS {
        match send().await {
            Ok(answer) => return Ok(answer),
            Err(_) => sleep(PAUSE).await,
        }
    }
    send().await.map_err(Into::into)
}

impl Desk {
    async fn answer(&self, form: &Value) -> Value {
        println!("{}", json!({"token": self.token, "asked": form["message"]}));
        if let Ok(permit) = self.may_answer.acquire().await {
            permit.forget();
        }
        let fields = form["requestedSchema"]["properties"].as_object();
        let mut content = Map::new();
        for (name, field) in fields.into_iter().flatten() {
            if let Some(value) = self.answers.get(name).or_else(|| field.get("default")) {
                content.insert(name.clone(), value.clone());
            }
        }
        json!({"action": "accept", "content": content})
    }
}

impl ClientHandler for Desk {
    fn get_info(&self) -> ClientConfig {
        let capabilities = json!({
            "elicitation": {"form": {}},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        });
        let capabilities = serde_json::from_value(capabilities).expect("capabilities");
        ClientConfig::new(capabilities, Implementation::new("chaos", "1.0.0"))
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let form = serde_json::to_value(request).unwrap_or_default();
        serde_json::from_value(self.answer(&form).await)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}
