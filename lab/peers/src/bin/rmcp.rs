//! The server of `bench-server`, written with rmcp.
//!
//! `rmcp --addr ADDR [--nodelay] [--json]` serves HTTP, `rmcp --stdio` serves stdio. `--nodelay` sets `TCP_NODELAY`,
//! which rmcp leaves to its user; `--json` answers with JSON if possible.

use std::sync::Arc;

use axum::{Router, serve::ListenerExt};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt, elicit_safe,
    handler::server::{
        tool::{InputResponses, RequestState},
        wrapper::Parameters,
    },
    model::{
        CallToolResponse, CallToolResult, ContentBlock, ElicitRequest, ElicitRequestParams,
        InputRequest, InputRequests, InputRequiredResult, ProtocolVersion, ServerCapabilities,
        ServerConfig, SubscriptionFilter,
    },
    service::RequestContext,
    tool, tool_handler, tool_router,
    transport::{
        stdio,
        streamable_http_server::{
            StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
        },
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

#[derive(Clone)]
struct Bench;

#[derive(Deserialize, JsonSchema)]
struct Echo {
    message: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct UserName {
    name: String,
}

elicit_safe!(UserName);

#[tool_router]
impl Bench {
    #[tool(description = "Says it back")]
    async fn echo(&self, Parameters(echo): Parameters<Echo>) -> Result<String, ErrorData> {
        Ok(echo.message)
    }

    /// Asks in the way of the caller's protocol.
    #[tool(description = "Asks for a name")]
    async fn ask(
        &self,
        RequestState(_): RequestState,
        InputResponses(responses): InputResponses,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let version = context.meta.protocol_version();
        if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
            let responses = responses.as_ref();
            let Some(response) = responses.and_then(|responses| responses.get("user_name")) else {
                return Ok(question().into());
            };
            let name = response["content"]["name"].as_str().unwrap_or_default();
            return Ok(hello(name).into());
        }
        let answer = context.peer.elicit::<UserName>("What is your name?").await;
        let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(hello(&answer.map_or_else(String::new, |answer| answer.name)).into())
    }
}

fn question() -> InputRequiredResult {
    let schema = serde_json::json!({
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "required": ["name"]
    });
    let request = ElicitRequest::new(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "What is your name?".into(),
        requested_schema: serde_json::from_value(schema).expect("a form"),
    });
    let mut requests = InputRequests::new();
    requests.insert("user_name".into(), InputRequest::Elicitation(request));
    InputRequiredResult::new(Some(requests), Some("asked".into()))
}

fn hello(name: &str) -> CallToolResult {
    CallToolResult::success(vec![ContentBlock::text(format!("Hello, {name}!"))])
}

#[tool_handler]
impl ServerHandler for Bench {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed();
        ServerConfig::new(capabilities.build())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if has("--stdio") {
        let server = Bench.serve(stdio()).await.expect("a session");
        server.waiting().await.expect("an end");
        return;
    }
    let address = arguments.iter().skip_while(|argument| *argument != "--addr");
    let address = address.skip(1).next().expect("an address");
    let config = StreamableHttpServerConfig::default().with_json_response(has("--json"));
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(|| Ok(Bench), sessions, config);
    let router = Router::new().nest_service("/mcp", service);
    let listener = TcpListener::bind(address).await.expect("a free address");
    println!("{}", listener.local_addr().expect("an address"));
    if has("--nodelay") {
        let listener = listener.tap_io(|stream| stream.set_nodelay(true).expect("a socket"));
        axum::serve(listener, router).await.expect("a server");
    } else {
        axum::serve(listener, router).await.expect("a server");
    }
}
