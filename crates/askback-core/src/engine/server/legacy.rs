//! The handshake era: a session opened by `initialize`.

use alloc::{boxed::Box, collections::BTreeSet, format, string::String, sync::Arc, vec::Vec};

use super::{
    Call, Change, ClientLocation, Origin, Profile, SessionChoices,
    modern::{has_method, notification, tells, unsupported, write_notification},
    origin::{check_watched, known_capabilities, known_client, known_token},
};
use crate::{
    ask::Principal,
    forms::{self, LoweredForm},
    jsonrpc::{self, ErrorObject, RequestId},
    protocol::{
        ClientRequest, ElicitParams, ElicitResult, ElicitationCompleteParams, EmptyResult, HasMeta,
        InitializeParams, InitializeResult, InputRequest, JsonObject, LoggingLevel, RawJson,
        ServerNotification, ServerRequest, TraceContext,
    },
    revision::{Era, Revision},
    wire,
};

/// The memory of a watched resource without its URI, in bytes.
const WATCHED_BYTES: usize = 64;

/// The session that `initialize` opens.
#[derive(Debug)]
pub(super) struct Session {
    /// The client. A request with a progress token or a trace has an origin of its own.
    pub(super) origin: Arc<Origin>,
    origin_bytes: usize,
    level: Option<LoggingLevel>,
    watched: BTreeSet<String>,
    watched_bytes: usize,
    pub(super) initialized: bool,
}

pub(super) struct Sender<'a> {
    pub(super) principal: Option<&'a Arc<Principal>>,
    pub(super) place: ClientLocation,
}

pub(super) enum RequestOutcome {
    Response(Vec<u8>),
    Call(Call),
}

impl Session {
    pub(super) fn new(origin: Origin, initialized: bool) -> Self {
        Self {
            origin_bytes: origin.kept_bytes(),
            origin: Arc::new(origin),
            level: None,
            watched: BTreeSet::new(),
            watched_bytes: 0,
            initialized,
        }
    }

    pub(super) fn kept_bytes(&self) -> usize {
        self.origin_bytes + self.watched_bytes + WATCHED_BYTES * self.watched.len()
    }

    pub(super) fn choices(&self) -> SessionChoices {
        SessionChoices {
            level: self.level,
            watched: self.watched.iter().cloned().collect(),
        }
    }

    pub(super) fn choose(&mut self, choices: SessionChoices, most: usize) {
        self.level = choices.level;
        self.watched.clear();
        self.watched_bytes = 0;
        for uri in choices.watched {
            // The other process has the same limit, unless it is configured differently.
            let _ = self.watch(&uri, most);
        }
    }

    /// Until the client sets a log level, debug messages are not sent.
    pub(super) fn wants_log(&self, level: LoggingLevel) -> bool {
        level >= self.level.unwrap_or(LoggingLevel::Info)
    }

    pub(super) fn wants(&self, profile: &Profile, changed: &Change) -> bool {
        match changed {
            Change::Resource(uri) => self.watched.contains(uri),
            // Sessions have no notifications for these tasks.
            Change::Task(_) => false,
            _ => tells(&profile.capabilities, changed),
        }
    }

    pub(super) fn watched(&self) -> impl Iterator<Item = &str> {
        self.watched.iter().map(String::as_str)
    }

    pub(super) fn changed(&self, profile: &Profile, changed: &Change) -> Option<Vec<u8>> {
        let told = notification(changed, None).filter(|_| self.wants(profile, changed))?;
        write_notification(self.origin.revision, told)
    }

    pub(super) fn completed(&self, elicitation_id: String) -> Option<Vec<u8>> {
        let params = ElicitationCompleteParams {
            elicitation_id,
            meta: None,
        };
        let notification = ServerNotification::ElicitationComplete(params);
        write_notification(self.origin.revision, notification)
    }

    fn handle_request(
        &mut self,
        profile: &Profile,
        id: RequestId,
        request: ClientRequest,
    ) -> Result<RequestOutcome, ErrorObject> {
        let revision = self.origin.revision;
        if !has_method(revision, &request) {
            return Err(ErrorObject::method_not_found(request.method()));
        }
        match request {
            ClientRequest::Ping(_) => {}
            ClientRequest::SetLevel(ref params) if profile.capabilities.logging.is_some() => {
                self.level = Some(params.level);
            }
            ClientRequest::Subscribe(ref params) if watches(profile) => {
                check_watched(&params.uri, &profile.limits)?;
                self.watch(&params.uri, profile.limits.server.subscriptions)?;
            }
            ClientRequest::Unsubscribe(ref params) if watches(profile) => {
                self.unwatch(&params.uri);
            }
            ClientRequest::SetLevel(_)
            | ClientRequest::Subscribe(_)
            | ClientRequest::Unsubscribe(_) => {
                return Err(ErrorObject::method_not_found(request.method()));
            }
            request => return self.call(profile, id, request).map(RequestOutcome::Call),
        }
        // The server behind this one must know the client's choice.
        if profile.forwards && !matches!(request, ClientRequest::Ping(_)) {
            return self.call(profile, id, request).map(RequestOutcome::Call);
        }
        Ok(RequestOutcome::Response(empty(revision, &id)))
    }

    fn call(
        &self,
        profile: &Profile,
        id: RequestId,
        mut request: ClientRequest,
    ) -> Result<Call, ErrorObject> {
        let (origin, meta) = match request.meta_slot().take() {
            None => (Arc::clone(&self.origin), JsonObject::new()),
            Some(meta) => {
                let origin = Origin {
                    trace: TraceContext::of(&meta).map(Box::new),
                    progress_token: known_token(meta.progress_token, &profile.limits)?,
                    ..(*self.origin).clone()
                };
                (Arc::new(origin), meta.extra)
            }
        };
        Ok(Call {
            id,
            request,
            meta,
            origin,
        })
    }

    fn watch(&mut self, uri: &str, most: usize) -> Result<(), ErrorObject> {
        if self.watched.len() >= most && !self.watched.contains(uri) {
            let why = format!("too many subscriptions (at most {most})");
            return Err(ErrorObject::new(jsonrpc::INVALID_PARAMS, why));
        }
        let bytes = uri.len();
        if self.watched.insert(uri.into()) {
            self.watched_bytes += bytes;
        }
        Ok(())
    }

    fn unwatch(&mut self, uri: &str) {
        if self.watched.remove(uri) {
            self.watched_bytes -= uri.len();
        }
    }
}

/// Handles a request of the handshake era. `initialize` opens the session.
pub(super) fn handle_request(
    session: &mut Option<Box<Session>>,
    profile: &Profile,
    sender: &Sender<'_>,
    id: RequestId,
    request: ClientRequest,
) -> Result<RequestOutcome, ErrorObject> {
    match (session.as_deref_mut(), request) {
        (None, ClientRequest::Initialize(params)) => {
            let (opened, response) = initialize(profile, sender, &id, *params)?;
            *session = Some(Box::new(opened));
            Ok(RequestOutcome::Response(response))
        }
        (None, ClientRequest::Ping(_)) => {
            let revision = Revision::LATEST_LEGACY;
            Ok(RequestOutcome::Response(empty(revision, &id)))
        }
        (None, _) => Err(not_opened()),
        (Some(_), ClientRequest::Initialize(_)) => {
            let why = "this session is initialized already, and a client initializes once; if a \
                       bridge such as supergateway is in between, start it with `--stateful`, so \
                       that each client has a session of its own, or connect without it";
            Err(ErrorObject::new(jsonrpc::INVALID_REQUEST, why))
        }
        (Some(session), request) => session.handle_request(profile, id, request),
    }
}

/// Chooses the revision that the client requested, or else the newest one with a handshake
/// (2025-11-25, basic/lifecycle, Version Negotiation).
fn initialize(
    profile: &Profile,
    sender: &Sender<'_>,
    id: &RequestId,
    params: InitializeParams,
) -> Result<(Session, Vec<u8>), ErrorObject> {
    let wish = params.protocol_version.parse::<Revision>().ok();
    let mut spoken = profile
        .revisions
        .iter()
        .copied()
        .filter(|revision| revision.era() == Era::Legacy);
    let newest = spoken.clone().max();
    let revision = spoken
        .find(|revision| Some(*revision) == wish)
        .or(newest)
        .ok_or_else(|| unsupported(profile, &params.protocol_version))?;
    let result = InitializeResult {
        protocol_version: revision.as_str().into(),
        capabilities: profile.capabilities.clone(),
        server_info: profile.info.clone(),
        instructions: profile.instructions.clone(),
        meta: None,
    };
    let origin = Origin {
        revision,
        client: Some(known_client(params.client_info, &profile.limits)),
        capabilities: known_capabilities(params.capabilities, &profile.limits),
        log_level: None,
        progress_token: None,
        principal: sender.principal.cloned(),
        place: sender.place,
        trace: None,
        attachment: None,
    };
    let response = wire::write_result(revision, id, result, None);
    Ok((Session::new(origin, false), response))
}

/// Writes a question as a request that the client supports. Returns the lowered form, if it is a
/// form. Unless the key is empty, it is sent in `_meta`, for clients that match on it. A link is
/// given an id.
pub(super) fn write_lowered(
    to: &Origin,
    id: &RequestId,
    key: &str,
    mut question: InputRequest,
) -> (Option<LoweredForm>, Vec<u8>) {
    let mut lowered = None;
    match &mut question {
        InputRequest::Elicit(ElicitParams::Form(form)) => {
            let dialect = wire::dialect_of_client(to.revision, to.client.as_ref());
            let plain = forms::lower(&form.requested_schema, &dialect);
            form.requested_schema = plain.schema.clone().into();
            lowered = Some(plain);
        }
        InputRequest::Elicit(ElicitParams::Url(link)) => {
            link.elicitation_id
                .get_or_insert_with(|| format!("{key}-{id}"));
        }
        InputRequest::Sample(_) | InputRequest::Roots(_) => {}
    }
    if !key.is_empty() {
        question.meta_mut().set_ask_key(key);
    }
    let request = wire::lower(ServerRequest::from(question), to.revision);
    (lowered, request.to_vec(id))
}

/// Converts the answer to a lowered form back. An unreadable answer is returned unchanged, because
/// the check of answers rejects it.
pub(super) fn lift(lowered: Option<&LoweredForm>, answer: RawJson) -> RawJson {
    let Some(lowered) = lowered else {
        return answer;
    };
    let lifted = || {
        let mut result: ElicitResult = answer.decode().ok()?;
        result.content = result.content.map(|content| lowered.lift(content));
        RawJson::new(&result).ok()
    };
    lifted().unwrap_or(answer)
}

/// Writes a question as a request that the client supports, with an id of the caller's choice.
#[must_use]
pub fn write_question(to: &Origin, id: &RequestId, key: &str, question: InputRequest) -> Vec<u8> {
    write_lowered(to, id, key, question).1
}

#[must_use]
pub fn read_answer(to: &Origin, question: InputRequest, answer: RawJson) -> RawJson {
    let (lowered, _) = write_lowered(to, &RequestId::Number(0), "", question);
    lift(lowered.as_ref(), answer)
}

fn watches(profile: &Profile) -> bool {
    tells(&profile.capabilities, &Change::Resource(String::new()))
}

fn empty(revision: Revision, id: &RequestId) -> Vec<u8> {
    wire::write_result(revision, id, EmptyResult::default(), None)
}

/// The client may be of either era, so the message says what each needs.
fn not_opened() -> ErrorObject {
    let why = "send `initialize` first, or name the protocol version and the client's \
               capabilities in `_meta`";
    ErrorObject::new(jsonrpc::INVALID_PARAMS, why)
}
