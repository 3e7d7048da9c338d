use askback_core::{ask::Principal, revision::Revision};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::{
    server::Server,
    transport::{self, Receiver, Sender},
};

/// A connection to a server in memory, over which any JSON can be sent.
///
/// Use it to test what goes over the wire. Dropping it kills the server's side, with all its calls.
///
/// ```
/// use askback::{Result, Revision, Server, Tool, testing::Wire};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let hello = Tool::new("hello", async || -> Result<&'static str> { Ok("Hello!") });
/// let server = Server::new("greeter", "1.0.0").tool(hello).build().unwrap();
///
/// let mut wire = Wire::connect(&server);
/// wire.initialize(Revision::V2025_06_18, &json!({})).await;
/// let id = wire.request("tools/call", json!({"name": "hello"})).await;
/// let response = wire.hear().await.unwrap();
/// assert_eq!(response["id"], id);
/// assert_eq!(response["result"]["content"][0]["text"], "Hello!");
/// # }
/// ```
#[derive(Debug)]
pub struct Wire {
    receiver: Receiver,
    sender: Sender,
    serving: JoinHandle<std::io::Result<()>>,
    last_id: u64,
}

impl Wire {
    /// Connects to a server. Must be called within a tokio runtime.
    #[must_use]
    pub fn connect(server: &Server) -> Self {
        Self::to(server, None)
    }

    /// Connects to a server as this principal. Must be called within a tokio runtime.
    #[must_use]
    pub fn connect_as(server: &Server, principal: Principal) -> Self {
        Self::to(server, Some(principal))
    }

    pub(super) fn to(server: &Server, principal: Option<Principal>) -> Self {
        let (near, mut far) = transport::memory();
        if let Some(principal) = principal {
            far = far.principal(principal);
        }
        let server = server.clone();
        let serving = tokio::spawn(async move { server.serve(far).await });
        let (receiver, sender) = near.split();
        Self {
            receiver,
            sender,
            serving,
            last_id: 0,
        }
    }

    /// Sends a message. The message is lost if the server no longer reads.
    pub async fn say(&mut self, message: &Value) {
        let _ = self.sender.send(message.to_string().into_bytes()).await;
    }

    /// Sends a request with a new id, and returns the id.
    pub async fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        let id = self.last_id;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.say(&message).await;
        id
    }

    /// Receives the server's next message; `None` once the server is gone. Cancel safe.
    pub async fn hear(&mut self) -> Option<Value> {
        let message = self.receive().await?;
        serde_json::from_slice(&message).ok()
    }

    pub(super) async fn receive(&mut self) -> Option<Vec<u8>> {
        self.receiver.receive().await.ok().flatten()
    }

    /// Opens a session of a handshake revision, and returns the server's response.
    pub async fn initialize(&mut self, revision: Revision, capabilities: &Value) -> Value {
        let params = json!({
            "protocolVersion": revision.as_str(),
            "capabilities": capabilities,
            "clientInfo": {"name": "askback-testing", "version": "1"},
        });
        self.request("initialize", params).await;
        let answer = self.hear().await.unwrap_or_default();
        self.say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .await;
        answer
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Returns the parameters of a stateless request, with the required `_meta`, and all notifications enabled.
pub(super) fn stateless(
    revision: Revision,
    capabilities: &Value,
    mut params: Value,
    token: u64,
) -> Value {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": revision.as_str(),
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "askback-testing", "version": "1"},
        "io.modelcontextprotocol/logLevel": "debug",
        "progressToken": token,
    });
    params
}
