//! What is sent, as far as it decides how it travels.

use std::str::FromStr;

use askback_core::{
    http::headers::{self, encode},
    jsonrpc::{self, Incoming, Message, Request, RequestId, Response},
    limits::Limits,
    protocol::RawObject,
};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::tools::Tools;

/// A message of the engine.
#[derive(Debug)]
pub(super) enum Outgoing {
    /// A request, which an exchange brings the response to.
    Request(Asked),
    /// The session is open from here on.
    Initialized,
    /// The caller of a request no longer wants to know.
    Cancelled(RequestId),
    /// Anything else, which has no answer.
    Other,
}

/// A request that is on its way.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) request: Request,
    /// The revision it names in its `_meta`: it stands alone. Otherwise it belongs to a session.
    pub(super) version: Option<String>,
    /// What it is about.
    name: Option<String>,
}

/// What came back to a request.
#[derive(Debug)]
pub(super) enum Reply {
    /// Its response.
    Response(Response),
    /// Something that holds its response, and is for the engine to take apart.
    Whole,
    /// Something else, which comes before.
    Other,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Parameters {
    name: Option<String>,
    uri: Option<String>,
    task_id: Option<String>,
    request_id: Option<RequestId>,
    #[serde(rename = "_meta")]
    meta: Meta,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Meta {
    #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
    version: Option<String>,
}

#[derive(Deserialize)]
struct Arguments {
    arguments: Option<RawObject>,
}

#[derive(Deserialize)]
struct Context {
    #[serde(rename = "_meta", default)]
    meta: Map<String, Value>,
}

impl Outgoing {
    pub(super) fn read(message: &[u8], limits: &Limits) -> Self {
        // What the engine writes may be longer than what is read from a server.
        let mut limits = limits.clone();
        limits.message_bytes = message.len();
        match jsonrpc::parse(message, &limits) {
            Ok(Incoming::Single(Message::Request(request))) => Self::Request(Asked::new(request)),
            Ok(Incoming::Single(Message::Notification(said))) => match &*said.method {
                "notifications/initialized" => Self::Initialized,
                "notifications/cancelled" => {
                    let params = parameters(said.params.as_deref());
                    params.request_id.map_or(Self::Other, Self::Cancelled)
                }
                _ => Self::Other,
            },
            _ => Self::Other,
        }
    }
}

impl Asked {
    pub(super) fn new(request: Request) -> Self {
        let params = parameters(request.params.as_deref());
        let name = match headers::name_member(&request.method) {
            Some("name") => params.name,
            Some("uri") => params.uri,
            Some("taskId") => params.task_id,
            _ => None,
        };
        Self {
            request,
            version: params.meta.version,
            name,
        }
    }

    /// Whether it asks what the server speaks, so that its failure tells something of the server.
    pub(super) fn is_opening(&self) -> bool {
        self.is_initialize() || self.request.method == "server/discover"
    }

    pub(super) fn is_initialize(&self) -> bool {
        self.request.method == "initialize"
    }

    /// The headers that mirror it, for a request that stands alone.
    pub(super) fn mirrored(&self, tools: &Tools) -> HeaderMap {
        let mut mirrored = HeaderMap::new();
        let Some(version) = &self.version else {
            return mirrored;
        };
        put(&mut mirrored, headers::PROTOCOL_VERSION, version);
        put(&mut mirrored, headers::METHOD, &self.request.method);
        if let Some(name) = &self.name {
            put(&mut mirrored, headers::NAME, &encode(name));
        }
        if let Some(annotations) = self.tool().and_then(|tool| tools.get(tool)) {
            let arguments = self.arguments();
            for (header, value) in annotations.headers(arguments.as_ref()) {
                put(&mut mirrored, &header, &value);
            }
        }
        mirrored
    }

    /// The tool that is called.
    pub(super) fn tool(&self) -> Option<&str> {
        let is_call = self.request.method == "tools/call";
        self.name.as_deref().filter(|_| is_call)
    }

    /// The same request under another id.
    pub(super) fn renamed(&self, id: RequestId) -> Self {
        let mut asked = self.clone();
        asked.request.id = id;
        asked
    }

    /// A request for a page of the tools, made in the name of the same client.
    pub(super) fn list_tools(&self, id: RequestId, cursor: Option<String>) -> Option<Self> {
        let params = self.request.params.as_deref()?;
        let context: Context = serde_json::from_str(params.get()).ok()?;
        let mut meta = context.meta;
        meta.remove("progressToken");
        let mut params = Map::new();
        params.insert("_meta".to_owned(), Value::Object(meta));
        params.extend(cursor.map(|cursor| ("cursor".to_owned(), Value::String(cursor))));
        Some(Self::new(Request {
            id,
            method: "tools/list".to_owned(),
            params: serde_json::value::to_raw_value(&params).ok(),
        }))
    }

    /// Whether it begins a list anew.
    pub(super) fn is_first_page(&self) -> bool {
        #[derive(Deserialize, Default)]
        #[serde(default)]
        struct Page {
            cursor: Option<String>,
        }
        let params = self.request.params.as_deref();
        let page: Page = params
            .and_then(|params| serde_json::from_str(params.get()).ok())
            .unwrap_or_default();
        page.cursor.is_none()
    }

    /// What a message is to this request. An error that names no request is about this one.
    ///
    /// # Errors
    ///
    /// Why it cannot be read.
    pub(super) fn recognize(&self, message: &[u8], limits: &Limits) -> Result<Reply, String> {
        let id = Some(&self.request.id);
        match jsonrpc::parse(message, limits) {
            Ok(Incoming::Single(Message::Response(mut response))) => {
                let unnamed = response.id.is_none() && response.outcome.is_err();
                if unnamed {
                    response.id = id.cloned();
                }
                if response.id.as_ref() == id {
                    Ok(Reply::Response(response))
                } else {
                    Ok(Reply::Other)
                }
            }
            Ok(Incoming::Single(_)) => Ok(Reply::Other),
            Ok(Incoming::Batch(messages)) => {
                let mine = messages.iter().any(|message| match message {
                    Ok(Message::Response(response)) => response.id.as_ref() == id,
                    Ok(_) => false,
                    Err(malformed) => malformed.response && malformed.id.as_ref() == id,
                });
                Ok(if mine { Reply::Whole } else { Reply::Other })
            }
            Err(malformed) if malformed.response && malformed.id.as_ref() == id => Ok(Reply::Whole),
            Err(malformed) => Err(malformed.error.message),
        }
    }

    fn arguments(&self) -> Option<RawObject> {
        let params = self.request.params.as_deref()?;
        let arguments: Arguments = serde_json::from_str(params.get()).ok()?;
        arguments.arguments
    }
}

fn parameters(params: Option<&serde_json::value::RawValue>) -> Parameters {
    params
        .and_then(|params| serde_json::from_str(params.get()).ok())
        .unwrap_or_default()
}

/// Sets a header. Values come encoded; a name was checked when its annotation was.
fn put(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::from_str(name), HeaderValue::from_str(value)) {
        headers.insert(name, value);
    }
}
