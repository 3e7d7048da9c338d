//! Reduces a client's description to bounded parts.

use alloc::{format, string::String};

use serde_json::Value;

use super::Origin;
use crate::{
    jsonrpc::{self, ErrorObject, RequestId},
    limits::Limits,
    protocol::{
        ClientCapabilities, ElicitationCapability, Implementation, JsonObject, ProgressToken,
        SamplingCapability, TraceContext,
    },
};

/// The memory of a JSON value without its strings, in bytes.
const VALUE_BYTES: usize = size_of::<Value>();

/// The memory of a map node, which holds up to eleven members.
const NODE_BYTES: usize = 11 * (size_of::<String>() + VALUE_BYTES) + 16;

/// The minimum number of members in a map node, if there are several nodes.
const NODE_MEMBERS: usize = 5;

impl Origin {
    pub(super) fn kept_bytes(&self) -> usize {
        let client = self.client.as_ref().map_or(0, |client| {
            client.name.len() + client.version.len() + client.title.as_ref().map_or(0, String::len)
        });
        let capabilities = &self.capabilities;
        let named = [&capabilities.extensions, &capabilities.experimental];
        let named = named.into_iter().flatten().map(object_bytes);
        let token = self.progress_token.as_ref().map_or(0, id_bytes);
        let trace = self.trace.as_deref().map_or(0, trace_bytes);
        client + named.sum::<usize>() + token + trace
    }
}

fn trace_bytes(trace: &TraceContext) -> usize {
    let texts = [&trace.traceparent, &trace.tracestate, &trace.baggage];
    let bytes = texts.into_iter().flatten().map(String::len);
    size_of::<TraceContext>() + bytes.sum::<usize>()
}

/// Reduces the client's description to shortened strings for display and logs.
pub(super) fn known_client(client: Implementation, limits: &Limits) -> Implementation {
    let short = |mut text: String| {
        shorten(&mut text, limits.server.client_info_bytes);
        text
    };
    Implementation {
        name: short(client.name),
        title: client.title.map(short),
        version: short(client.version),
        description: None,
        website_url: None,
        icons: None,
    }
}

/// Reduces the client's capabilities to those that a server uses. Small unknown capabilities are
/// stored; the tasks extension is stored without settings.
pub(super) fn known_capabilities(
    capabilities: ClientCapabilities,
    limits: &Limits,
) -> ClientCapabilities {
    let most = limits.server.client_extension_bytes;
    let small = |named: &JsonObject| object_bytes(named) <= most;
    let takes_tasks = capabilities.tasks_extension();
    let mut known = ClientCapabilities {
        elicitation: capabilities.elicitation.map(|modes| ElicitationCapability {
            form: modes.form.map(said),
            url: modes.url.map(said),
        }),
        sampling: capabilities.sampling.map(|sampling| SamplingCapability {
            context: sampling.context.map(said),
            tools: sampling.tools.map(said),
        }),
        roots: capabilities.roots,
        // The tasks of 2025-11-25 are not used.
        tasks: None,
        extensions: capabilities.extensions.filter(small),
        experimental: capabilities.experimental.filter(small),
    };
    if takes_tasks {
        known.declare_tasks_extension();
    }
    known
}

/// Checks the progress token of a request.
///
/// # Errors
///
/// -32602 if it is longer than
/// [`limits.wire.request_id_bytes`](crate::limits::WireLimits::request_id_bytes).
pub(super) fn known_token(
    token: Option<ProgressToken>,
    limits: &Limits,
) -> Result<Option<ProgressToken>, ErrorObject> {
    match token {
        Some(token) if id_bytes(&token) > limits.wire.request_id_bytes => {
            Err(too_long("the progress token", limits.wire.request_id_bytes))
        }
        token => Ok(token),
    }
}

pub(super) fn check_watched(uri: &str, limits: &Limits) -> Result<(), ErrorObject> {
    if uri.len() > limits.server.watched_uri_bytes {
        return Err(too_long(
            "the URI to be watched",
            limits.server.watched_uri_bytes,
        ));
    }
    Ok(())
}

pub(super) fn too_long(what: &str, most: usize) -> ErrorObject {
    let why = format!("{what} has more than the {most} bytes kept here");
    ErrorObject::new(jsonrpc::INVALID_PARAMS, why)
}

pub(super) fn id_bytes(id: &RequestId) -> usize {
    match id {
        RequestId::Number(_) => 0,
        RequestId::String(id) => id.len(),
    }
}

/// Drops the settings of a capability.
fn said(_: JsonObject) -> JsonObject {
    JsonObject::new()
}

fn shorten(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
        text.shrink_to_fit();
    }
}

pub(super) fn object_bytes(object: &JsonObject) -> usize {
    if object.is_empty() {
        return 0;
    }
    let members = object
        .iter()
        .map(|(name, value)| name.len() + value_bytes(value));
    (1 + object.len() / NODE_MEMBERS) * NODE_BYTES + members.sum::<usize>()
}

/// The memory of a value, in bytes. Parsing has limited its depth.
fn value_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        Value::String(text) => text.len(),
        Value::Array(items) => items
            .iter()
            .map(|item| VALUE_BYTES + value_bytes(item))
            .sum(),
        Value::Object(object) => object_bytes(object),
    }
}
