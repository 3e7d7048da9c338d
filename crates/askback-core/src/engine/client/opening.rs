//! Opens a connection: the probe, the fallback, the handshake.
//!
//! A server of the stateless era answers `server/discover`. Any server that does not answer it
//! correctly is assumed to need a handshake (2026-07-28, basic/transports/stdio, Backward
//! Compatibility).

use alloc::{borrow::ToOwned, boxed::Box, string::String, sync::Arc, vec::Vec};
use core::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{
    Carrier, ClientError, ClientMessage, Greeting, Profile,
    message::{Introduction, SentMeta},
};
use crate::{
    jsonrpc::{ErrorObject, RequestId},
    protocol::{
        ClientNotification, ClientRequest, DiscoverResult, InitializeParams, InitializeResult,
        NotificationParams, Outcome, RequestParams, codes, reason,
    },
    revision::{Era, Revision},
};

#[derive(Debug)]
pub(super) struct Opening {
    id: i64,
    deadline: Duration,
    step: Step,
    refused: Vec<Revision>,
    /// The revision that was tried again because the server refused it but also listed it.
    insisted: Option<Revision>,
}

#[derive(Debug)]
enum Step {
    Probe(Revision),
    Initialize(Revision, HandshakeCause),
}

#[derive(Debug)]
enum HandshakeCause {
    /// The server indicated that it needs the handshake.
    Told,
    /// An earlier connection needed the handshake.
    Remembered,
    Silence(SilentProbe),
}

/// A probe that timed out. A slow server may still answer it and then refuse the handshake.
#[derive(Debug)]
struct SilentProbe {
    id: i64,
    greeting: Option<Box<Greeting>>,
}

#[derive(Debug)]
pub(super) struct Context<'a> {
    pub(super) profile: &'a Profile,
    pub(super) carrier: Carrier,
    pub(super) last_id: &'a mut i64,
    pub(super) now: Duration,
}

#[derive(Debug)]
pub(super) enum OpeningStep {
    Wait,
    Send(ClientMessage),
    Open(Box<Greeting>, Option<ClientMessage>),
    Fail(ClientError),
}

impl Opening {
    /// Opens a connection with a probe, or with a handshake if the server is known to need one.
    pub(super) fn start(
        handshake: Option<Revision>,
        cx: &mut Context<'_>,
    ) -> (Self, ClientMessage) {
        let mut opening = Self {
            id: 0,
            deadline: cx.now,
            step: Step::Probe(Revision::LATEST),
            refused: Vec::new(),
            insisted: None,
        };
        let first = handshake
            .or_else(|| cx.newest(Era::Modern))
            .or_else(|| cx.newest(Era::Legacy))
            .unwrap_or(Revision::LATEST);
        let message = match first.era() {
            Era::Modern => opening.probe(first, cx),
            Era::Legacy
                if cx.carrier == (Carrier::Exchanges { handshake: true })
                    || cx.profile.handshake.is_some() =>
            {
                opening.initialize(first, HandshakeCause::Remembered, cx)
            }
            Era::Legacy => opening.initialize(first, HandshakeCause::Told, cx),
        };
        (opening, message)
    }

    pub(super) fn deadline(&self) -> Duration {
        self.deadline
    }

    pub(super) fn request_id(&self) -> i64 {
        self.id
    }

    /// Whether only the probe was sent. A server that exits because of it is restarted for the
    /// handshake.
    pub(super) fn is_probing(&self) -> bool {
        matches!(self.step, Step::Probe(_))
    }

    pub(super) fn handle_response(
        &mut self,
        id: Option<&RequestId>,
        outcome: Result<Box<RawValue>, ClientError>,
        cx: &mut Context<'_>,
    ) -> OpeningStep {
        let mine = match id {
            Some(id) => *id == RequestId::Number(self.id),
            // An error without an id belongs to the only request so far.
            None => outcome.is_err(),
        };
        match &mut self.step {
            Step::Probe(revision) if mine => {
                let revision = *revision;
                self.probed(revision, outcome, cx)
            }
            Step::Initialize(..) if mine => match outcome {
                Ok(result) => initialized(result, cx),
                Err(error) => self.rejected(error, cx),
            },
            Step::Initialize(_, HandshakeCause::Silence(late))
                if id == Some(&RequestId::Number(late.id)) =>
            {
                late.greeting = outcome
                    .ok()
                    .and_then(|result| modern_greeting(result, cx).ok());
                OpeningStep::Wait
            }
            Step::Probe(_) | Step::Initialize(..) => OpeningStep::Wait,
        }
    }

    pub(super) fn handle_timeout(&mut self, cx: &mut Context<'_>) -> OpeningStep {
        if cx.now < self.deadline {
            return OpeningStep::Wait;
        }
        match &self.step {
            Step::Probe(_) => match cx.newest(Era::Legacy) {
                Some(wish) if cx.carrier == Carrier::Stream => {
                    let late = SilentProbe {
                        id: self.id,
                        greeting: None,
                    };
                    OpeningStep::Send(self.initialize(wish, HandshakeCause::Silence(late), cx))
                }
                _ => OpeningStep::Fail(ClientError::TimedOut(cx.profile.limits.wire.request)),
            },
            Step::Initialize(..) => {
                self.rejected(ClientError::TimedOut(cx.profile.limits.wire.request), cx)
            }
        }
    }

    fn probed(
        &mut self,
        revision: Revision,
        outcome: Result<Box<RawValue>, ClientError>,
        cx: &mut Context<'_>,
    ) -> OpeningStep {
        let error = match outcome.map(|result| modern_greeting(result, cx)) {
            Ok(Ok(greeting)) => return OpeningStep::Open(greeting, None),
            Ok(Err(Some(offered))) => return self.choose_again(&offered, cx),
            Ok(Err(None)) => {
                ClientError::Protocol("the answer to `server/discover` cannot be read".to_owned())
            }
            Err(ClientError::Server(error)) => {
                if error.code == codes::UNSUPPORTED_VERSION
                    && let Some(offered) = offered(&error)
                {
                    // A listed revision is tried once more: another process than the one that made
                    // the list may have refused it.
                    let listed = offered.iter().any(|version| *version == revision.as_str());
                    if !listed || self.insisted.replace(revision) == Some(revision) {
                        self.refused.push(revision);
                    }
                    return self.choose_again(&offered, cx);
                }
                // Only a server of the stateless era reports a missing capability or checks
                // headers.
                if matches!(
                    error.code,
                    codes::MISSING_CAPABILITY | codes::HEADER_MISMATCH
                ) {
                    return OpeningStep::Fail(ClientError::Server(error));
                }
                ClientError::Server(error)
            }
            Err(error) if !tells_era(&error) => return OpeningStep::Fail(error),
            Err(error) => error,
        };
        match cx.newest(Era::Legacy) {
            Some(wish) => OpeningStep::Send(self.initialize(wish, HandshakeCause::Told, cx)),
            None => OpeningStep::Fail(error),
        }
    }

    fn rejected(&mut self, error: ClientError, cx: &mut Context<'_>) -> OpeningStep {
        if let Step::Initialize(wish, before) = &mut self.step {
            match core::mem::replace(before, HandshakeCause::Told) {
                HandshakeCause::Silence(SilentProbe {
                    greeting: Some(greeting),
                    ..
                }) => {
                    return OpeningStep::Open(greeting, None);
                }
                HandshakeCause::Remembered if tells_era(&error) => {
                    if let Some(revision) = cx.newest(Era::Modern) {
                        return OpeningStep::Send(self.probe(revision, cx));
                    }
                }
                HandshakeCause::Told | HandshakeCause::Remembered | HandshakeCause::Silence(_) => {}
            }
            self.refused.push(*wish);
        }
        // The server should answer with a revision it supports, but some return an error that lists
        // the revisions.
        let offered = match &error {
            ClientError::Server(error) => offered(error),
            _ => None,
        };
        let wish = offered.and_then(|offered| cx.choose(Era::Legacy, &offered, &self.refused));
        match wish {
            Some(wish) => OpeningStep::Send(self.initialize(wish, HandshakeCause::Told, cx)),
            None => OpeningStep::Fail(error),
        }
    }

    fn choose_again(&mut self, offered: &[String], cx: &mut Context<'_>) -> OpeningStep {
        if let Some(revision) = cx.choose(Era::Modern, offered, &self.refused) {
            OpeningStep::Send(self.probe(revision, cx))
        } else if let Some(revision) = cx.choose(Era::Legacy, offered, &self.refused) {
            OpeningStep::Send(self.initialize(revision, HandshakeCause::Told, cx))
        } else {
            OpeningStep::Fail(cx.incompatible(offered))
        }
    }

    fn probe(&mut self, revision: Revision, cx: &mut Context<'_>) -> ClientMessage {
        // A silent server needs a handshake only if the transport is a stream and the client can
        // speak an older revision.
        let patience = match cx.newest(Era::Legacy) {
            Some(_) if cx.carrier == Carrier::Stream => cx.profile.limits.client.probe,
            _ => cx.profile.limits.wire.request,
        };
        self.expect(Step::Probe(revision), patience, cx);
        let request = Arc::new(ClientRequest::Discover(RequestParams::default()));
        let introduction = Arc::new(Introduction::new(cx.profile, revision, None));
        let meta = SentMeta::new(introduction, None, None);
        ClientMessage::lowered(self.id, request, Some(meta))
    }

    fn initialize(
        &mut self,
        wish: Revision,
        before: HandshakeCause,
        cx: &mut Context<'_>,
    ) -> ClientMessage {
        self.expect(
            Step::Initialize(wish, before),
            cx.profile.limits.wire.request,
            cx,
        );
        let params = InitializeParams {
            protocol_version: wish.as_str().to_owned(),
            capabilities: cx.profile.capabilities.clone(),
            client_info: cx.profile.info.clone(),
            meta: None,
        };
        let request = ClientRequest::Initialize(Box::new(params));
        ClientMessage::request(wish, self.id, request)
    }

    fn expect(&mut self, step: Step, patience: Duration, cx: &mut Context<'_>) {
        *cx.last_id += 1;
        self.id = *cx.last_id;
        self.deadline = cx.now.saturating_add(patience);
        self.step = step;
    }
}

impl Context<'_> {
    fn newest(&self, era: Era) -> Option<Revision> {
        let revisions = self.profile.revisions.iter().copied();
        revisions.filter(|revision| revision.era() == era).max()
    }

    /// Returns the newest common revision of an era that the server has not refused.
    fn choose(&self, era: Era, offered: &[String], refused: &[Revision]) -> Option<Revision> {
        offered
            .iter()
            .filter_map(|version| version.parse().ok())
            .filter(|revision: &Revision| revision.era() == era)
            .filter(|revision| self.profile.revisions.contains(revision))
            .filter(|revision| !refused.contains(revision))
            .max()
    }

    fn incompatible(&self, offered: &[String]) -> ClientError {
        ClientError::Incompatible {
            spoken: self.profile.revisions.clone(),
            offered: offered.to_owned(),
        }
    }
}

/// Reads the result of `server/discover`. Without a usable revision, returns the versions that the
/// server offers, if they can be read.
fn modern_greeting(
    result: Box<RawValue>,
    cx: &Context<'_>,
) -> Result<Box<Greeting>, Option<Vec<String>>> {
    let found = Outcome::<DiscoverResult>::parse(&result)
        .ok()
        .and_then(Outcome::done)
        .ok_or(None)?;
    let Some(revision) = cx.choose(Era::Modern, &found.supported_versions, &[]) else {
        return Err(Some(found.supported_versions));
    };
    Ok(Box::new(Greeting {
        revision,
        server: found.meta.and_then(|meta| meta.server_info),
        capabilities: found.capabilities,
        instructions: found.instructions,
        result,
    }))
}

fn initialized(result: Box<RawValue>, cx: &Context<'_>) -> OpeningStep {
    let answer: InitializeResult = match serde_json::from_str(result.get()) {
        Ok(answer) => answer,
        Err(error) => {
            return OpeningStep::Fail(ClientError::Unreadable {
                why: reason(&error),
                received: result.get().to_owned(),
            });
        }
    };
    let offered = [answer.protocol_version];
    let Some(revision) = cx.choose(Era::Legacy, &offered, &[]) else {
        return OpeningStep::Fail(cx.incompatible(&offered));
    };
    let greeting = Greeting {
        revision,
        server: Some(answer.server_info),
        capabilities: answer.capabilities,
        instructions: answer.instructions,
        result,
    };
    let notification = ClientNotification::Initialized(NotificationParams::default());
    let message = ClientMessage::notification(revision, notification);
    OpeningStep::Open(Box::new(greeting), Some(message))
}

/// Whether a failed probe shows that the server does not support it. Errors from an overloaded
/// server, a failing proxy or missing authorization prove nothing (2026-07-28, basic/versioning, Compatibility
/// Matrix).
fn tells_era(error: &ClientError) -> bool {
    match error {
        ClientError::Http { status, .. } => {
            let about_the_client = [401, 403, 407, 408, 413, 421, 425, 429, 431];
            (400..500).contains(status) && !about_the_client.contains(status)
        }
        ClientError::Server(_) | ClientError::Protocol(_) | ClientError::Unreadable { .. } => true,
        _ => false,
    }
}

fn offered(error: &ErrorObject) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    struct Offer {
        supported: Vec<String>,
    }
    let offer = Offer::deserialize(error.data.as_ref()?);
    offer.ok().map(|offer| offer.supported)
}
