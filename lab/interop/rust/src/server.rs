use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams,
        CompleteResult, ContentBlock, GetPromptRequestParams, GetPromptResponse, GetPromptResult,
        InputRequiredResult, ListPromptsResult, ListToolsResult, PaginatedRequestParams,
        ProgressNotificationParam, ProtocolVersion, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
    transport::{
        stdio,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::sleep};

use crate::Result;

const TOOLS: [&str; 8] = [
    "form", "two", "sampling", "roots", "progress", "slow", "stopped", "crash",
];
const NAMES: [&str; 3] = ["Ada", "Adele", "Grace"];

#[derive(Clone, Default)]
struct Interop {
    stopped: Arc<AtomicU32>,
}

/// A call that may ask: over the session, or in its result.
struct Call {
    context: RequestContext<RoleServer>,
    arguments: Value,
    answers: BTreeMap<String, Value>,
}

enum Break {
    Question(InputRequiredResult),
    Error(ErrorData),
}

pub(crate) async fn serve_stdio() -> Result<()> {
    let server = Interop::default().serve(stdio()).await?;
    server.waiting().await?;
    Ok(())
}

pub(crate) async fn serve_http() -> Result<()> {
    let interop = Interop::default();
    let config = StreamableHttpServerConfig::default();
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(interop.clone()), sessions, config);
    let router = axum::Router::new().nest_service("/mcp", service);
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("http://{}/mcp", listener.local_addr()?);
    Ok(axum::serve(listener, router).await?)
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| failed(&error))
}

fn failed(error: &dyn std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

impl From<ErrorData> for Break {
    fn from(error: ErrorData) -> Self {
        Self::Error(error)
    }
}

impl Call {
    fn is_modern(&self) -> bool {
        let version = self.context.meta.protocol_version();
        version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
    }

    async fn ask(&self, key: &str, method: &str, params: Value) -> Result<Value, Break> {
        if let Some(answer) = self.answers.get(key) {
            return Ok(answer.clone());
        }
        if self.is_modern() {
            let request = match params.is_null() {
                true => json!({"method": method}),
                false => json!({"method": method, "params": params}),
            };
            let state = serde_json::to_string(&self.answers).map_err(|error| failed(&error))?;
            let requests = read(json!({key: request}))?;
            return Err(Break::Question(InputRequiredResult::new(
                Some(requests),
                Some(state),
            )));
        }
        let peer = &self.context.peer;
        Ok(match method {
            "elicitation/create" => answer(peer.create_elicitation(read(params)?).await)?,
            "sampling/createMessage" => answer(peer.create_message(read(params)?).await)?,
            _ => answer(peer.list_roots().await)?,
        })
    }

    async fn form(&self, key: &str, message: &str, schema: Value) -> Result<Value, Break> {
        let params = json!({"mode": "form", "message": message, "requestedSchema": schema});
        self.ask(key, "elicitation/create", params).await
    }

    async fn tell(&self, step: u32) -> Result<(), ErrorData> {
        let Some(token) = self.context.meta.get_progress_token() else {
            return Ok(());
        };
        let params =
            json!({"progressToken": token, "progress": step, "total": 3, "message": "a step"});
        let params: ProgressNotificationParam = read(params)?;
        self.context
            .peer
            .notify_progress(params)
            .await
            .map_err(|error| failed(&error))
    }

    async fn two(&self) -> Result<String, Break> {
        let text = |field: &str| json!({"type": "object", "properties": {field: {"type": "string"}}, "required": [field]});
        let place = self.form("place", "Where to?", text("place")).await?;
        if place["action"] != "accept" {
            return Ok(format!("no place: {}", word(&place["action"])));
        }
        let place = word(&place["content"]["place"]);
        let month = self
            .form("month", &format!("When to {place}?"), text("month"))
            .await?;
        if month["action"] != "accept" {
            return Ok(format!("no month: {}", word(&month["action"])));
        }
        Ok(format!("{place} in {}", word(&month["content"]["month"])))
    }
}

fn answer<T: Serialize, E: std::fmt::Display>(result: Result<T, E>) -> Result<Value, ErrorData> {
    let result = result.map_err(|error| failed(&error))?;
    serde_json::to_value(result).map_err(|error| failed(&error))
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Interop {
    async fn run(&self, tool: &str, call: &Call) -> Result<String, Break> {
        Ok(match tool {
            "form" => {
                let forms: Value = serde_json::from_str(include_str!("../../forms.json"))
                    .map_err(|error| failed(&error))?;
                let schema = forms[word(&call.arguments["which"])].clone();
                call.form("form", "Please fill this in.", schema)
                    .await?
                    .to_string()
            }
            "two" => call.two().await?,
            "sampling" => {
                let content = json!({"type": "text", "text": "What is best?"});
                let messages = json!([{"role": "user", "content": content}]);
                let params = json!({"messages": messages, "maxTokens": 100});
                let answer = call.ask("model", "sampling/createMessage", params).await?;
                format!("the model said: {}", word(&answer["content"]["text"]))
            }
            "roots" => {
                let listed = call.ask("roots", "roots/list", Value::Null).await?;
                let roots = listed["roots"].as_array().into_iter().flatten();
                let uris: Vec<String> = roots.map(|root| word(&root["uri"])).collect();
                uris.join("\n")
            }
            "progress" => {
                for step in 1..=3 {
                    call.tell(step).await?;
                }
                "done".to_owned()
            }
            "slow" => {
                call.tell(1).await?;
                tokio::select! {
                    () = sleep(Duration::from_secs(60)) => {}
                    () = call.context.ct.cancelled() => {
                        self.stopped.fetch_add(1, Ordering::SeqCst);
                    }
                }
                "it was slow".to_owned()
            }
            "stopped" => {
                for _ in 0..100 {
                    if self.stopped.load(Ordering::SeqCst) > 0 {
                        break;
                    }
                    sleep(Duration::from_millis(50)).await;
                }
                self.stopped.load(Ordering::SeqCst).to_string()
            }
            "crash" => {
                call.tell(1).await?;
                sleep(Duration::from_millis(100)).await;
                std::process::abort();
            }
            unknown => {
                let message = format!("there is no tool {unknown}");
                return Err(ErrorData::invalid_params(message, None).into());
            }
        })
    }
}

impl ServerHandler for Interop {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_completions()
            .build();
        ServerConfig::new(capabilities)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = TOOLS.map(|name| {
            let schema = json!({"type": "object", "properties": {"which": {"type": "string"}}});
            json!({"name": name, "description": format!("Does {name}"), "inputSchema": schema})
        });
        Ok(ListToolsResult::with_all_items(read(json!(tools))?))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let state = request.request_state.as_deref().unwrap_or("{}");
        let mut answers: BTreeMap<String, Value> =
            serde_json::from_str(state).map_err(|error| failed(&error))?;
        answers.extend(request.input_responses.unwrap_or_default());
        let call = Call {
            context,
            arguments: json!(request.arguments),
            answers,
        };
        match self.run(&request.name, &call).await {
            Ok(text) => Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()),
            Err(Break::Question(question)) => Ok(question.into()),
            Err(Break::Error(error)) => Err(error),
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let arguments = json!([{"name": "name", "required": true}]);
        let prompts = read(json!([{"name": "greeting", "arguments": arguments}]))?;
        Ok(ListPromptsResult::with_all_items(prompts))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = json!(request.arguments);
        let text = format!("Greet {}.", word(&arguments["name"]));
        let content = json!({"type": "text", "text": text});
        let result: GetPromptResult = read(
            json!({"resultType": "complete", "messages": [{"role": "user", "content": content}]}),
        )?;
        Ok(result.into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let typed = &request.argument.value;
        let fitting: Vec<&str> = NAMES
            .into_iter()
            .filter(|name| name.starts_with(typed))
            .collect();
        read(json!({"resultType": "complete", "completion": {"values": fitting}}))
    }
}
