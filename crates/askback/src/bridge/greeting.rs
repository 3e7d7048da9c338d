//! Reads the client's description from its first request, for the server behind the bridge.

use std::{
    future::{pending, poll_fn},
    io,
    sync::Arc,
};

use askback_core::{
    engine::server::{Connection, Output, Profile},
    jsonrpc::{self, Message, Payload, Request, RequestId},
    limits::Limits,
    protocol::{
        ClientCapabilities, ClientRequest, Implementation, OtherRequest, ServerCapabilities,
    },
    revision::{Era, Revision},
};

use crate::transport::Channel;

/// How many messages are read while the bridge connects to the server. More wait in the channel.
const MAX_KEPT_MESSAGES: usize = 16;

#[derive(Clone)]
pub(super) struct ClientGreeting {
    pub(super) message: Vec<u8>,
    pub(super) id: RequestId,
    pub(super) revision: Revision,
    pub(super) info: Implementation,
    pub(super) capabilities: ClientCapabilities,
}

/// Waits for the first request that describes the client, and answers requests before it. Returns `None` if the channel
/// ends.
pub(super) async fn receive(
    channel: &mut Channel,
    limits: &Limits,
) -> io::Result<Option<ClientGreeting>> {
    let mut engine = Connection::new(Arc::new(Profile {
        info: Implementation::new("bridge", ""),
        capabilities: ServerCapabilities::default(),
        instructions: None,
        revisions: Revision::ALL.to_vec(),
        ttl_ms: 0,
        limits: Arc::new(limits.clone()),
        forwards: true,
    }));
    loop {
        let Some(message) = next(channel).await else {
            return Ok(None);
        };
        if let Some(greeting) = ClientGreeting::read(&message, limits) {
            return Ok(Some(greeting));
        }
        engine.handle_message(&message);
        while let Some(output) = engine.poll() {
            if let Output::Send(response) = output {
                channel.sender.add(response);
            }
        }
        poll_fn(|cx| channel.sender.poll_flush(cx)).await?;
    }
}

/// Keeps the messages that arrive while the bridge connects to the server. Returns `None` if the channel ends.
///
/// With `may_be_replaced`, returns the first `initialize`. A client that sends it after another request has given
/// that request up, and expects no response to it: the SDK for Rust does so after ten seconds.
pub(super) async fn keep(
    channel: &mut Channel,
    kept: &mut Vec<Vec<u8>>,
    limits: &Limits,
    may_be_replaced: bool,
) -> Option<ClientGreeting> {
    while kept.len() < MAX_KEPT_MESSAGES {
        let message = next(channel).await?;
        if may_be_replaced
            && let Some(greeting) = ClientGreeting::read(&message, limits)
            && greeting.revision.era() == Era::Legacy
        {
            kept.clear();
            return Some(greeting);
        }
        kept.push(message);
    }
    pending().await
}

async fn next(channel: &mut Channel) -> Option<Vec<u8>> {
    channel.receiver.receive().await.ok().flatten()
}

impl ClientGreeting {
    fn read(message: &[u8], limits: &Limits) -> Option<Self> {
        let Ok(Payload::Single(Message::Request(request))) = jsonrpc::parse(message, &limits.wire)
        else {
            return None;
        };
        let Request { id, method, params } = request;
        let params = params.as_deref();
        let (revision, info, capabilities) = if method == "initialize" {
            let Ok(ClientRequest::Initialize(params)) = ClientRequest::parse(&method, params)
            else {
                return None;
            };
            let wish = params.protocol_version.parse::<Revision>().ok();
            let wish = wish.filter(|wish| wish.era() == Era::Legacy);
            let revision = wish.unwrap_or(Revision::LATEST_LEGACY);
            (revision, params.client_info, params.capabilities)
        } else {
            let meta = OtherRequest::new(&method, params).ok()?.meta?;
            let revision = meta.protocol_version.as_deref()?.parse::<Revision>().ok()?;
            if revision.era() != Era::Modern {
                return None;
            }
            let info = meta.client_info.unwrap_or_default();
            (revision, info, meta.client_capabilities?)
        };
        Some(Self {
            message: message.to_vec(),
            id,
            revision,
            info,
            capabilities,
        })
    }
}
