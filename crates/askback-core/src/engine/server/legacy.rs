//! The handshake era: a session opened by `initialize`.

use alloc::{
    boxed::Box,
    collections::{BTreeSet, VecDeque},
    format,
    string::String,
    sync::Arc,
    vec::Vec,
};

use super::{
    Call, Change, ClientLocation, Origin, Output, Profile, SessionChoices,
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
    revision::{Era, Facts, Revision},
    wire,
};

/// The memory of a watched resource without its URI, in bytes.
const WATCHED_BYTES: usize = 64;

/// The session that `initialize` opens.
#[derive(Debug, Default)]
pub(super) enum Session {
    #[default]
    New,
    Open(Box<OpenSession>),
}

#[derive(Debug)]
pub(super) struct OpenSession {
    /// The client. A request with a progress token or a trace has an origin of its own.
    origin: Arc<Origin>,
    origin_bytes: usize,
    level: Option<LoggingLevel>,
    watched: BTreeSet<String>,
    watched_bytes: usize,
    initialized: bool,
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
    pub(super) fn reopened(origin: Origin) -> Self {
        Self::Open(Box::new(OpenSession {
            origin_bytes: origin.kept_bytes(),
            origin: Arc::new(origin),
            level: None,
            watched: BTreeSet::new(),
            watched_bytes: 0,
            // The client learned the session's id when it opened the session.
            initialized: true,
        }))
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self, Self::Open(_))
    }

    pub(super) fn is_initialized(&self) -> bool {
        matches!(self, Self::Open(open) if open.initialized)
    }

    /// Handles `notifications/initialized`. Returns whether a session is open.
    pub(super) fn initialized(&mut self) -> bool {
        match self {
            Self::New => false,
            Self::Open(open) => {
                open.initialized = true;
                true
            }
        }
    }

    pub(super) fn origin(&self) -> Option<&Arc<Origin>> {
        match self {
            Self::New => None,
            Self::Open(open) => Some(&open.origin),
        }
    }

    pub(super) fn revision(&self) -> Option<Revision> {
        match self {
            Self::New => None,
            Self::Open(open) => Some(open.origin.revision),
        }
    }

    pub(super) fn kept_bytes(&self) -> usize {
        match self {
            Self::New => 0,
            Self::Open(open) => {
                open.origin_bytes + open.watched_bytes + WATCHED_BYTES * open.watched.len()
            }
        }
    }

    pub(super) fn level(&self) -> Option<LoggingLevel> {
        match self {
            Self::New => None,
            Self::Open(open) => open.level,
        }
    }

    pub(super) fn choose(&mut self, choices: SessionChoices, most: usize) {
        if let Self::Open(open) = self {
            open.level = choices.level;
            open.watched.clear();
            open.watched_bytes = 0;
            for uri in choices.watched {
                // The other process has the same limit, unless it is configured differently.
                let _ = open.watch(&uri, most);
            }
        }
    }

    pub(super) fn facts(&self) -> Option<&'static Facts> {
        self.revision().map(|revision| revision.facts())
    }

    /// Until the client sets a log level, debug messages are not sent.
    pub(super) fn wants_log(&self, level: LoggingLevel) -> bool {
        match self {
            Self::New => false,
            Self::Open(open) => level >= open.level.unwrap_or(LoggingLevel::Info),
        }
    }

    pub(super) fn wants(&self, profile: &Profile, changed: &Change) -> bool {
        let Self::Open(open) = self else { return false };
        match changed {
            Change::Resource(uri) => open.watched.contains(uri),
            // Sessions have no notifications for these tasks.
            Change::Task(_) => false,
            _ => tells(&profile.capabilities, changed),
        }
    }

    pub(super) fn watched(&self) -> impl Iterator<Item = &str> {
        let open = match self {
            Self::New => None,
            Self::Open(open) => Some(open),
        };
        let watched = open.into_iter().flat_map(|open| &open.watched);
        watched.map(String::as_str)
    }

    pub(super) fn changed(&self, profile: &Profile, changed: &Change, out: &mut VecDeque<Output>) {
        let Self::Open(open) = self else { return };
        if self.wants(profile, changed) {
            let message = notification(changed, None)
                .and_then(|told| write_notification(open.origin.revision, told));
            out.extend(message.map(Output::Send));
        }
    }

    pub(super) fn completed(&self, elicitation_id: String) -> Option<Vec<u8>> {
        let Self::Open(open) = self else { return None };
        let params = ElicitationCompleteParams {
            elicitation_id,
            meta: None,
        };
        let notification = ServerNotification::ElicitationComplete(params);
        write_notification(open.origin.revision, notification)
    }

    pub(super) fn handle_request(
        &mut self,
        profile: &Profile,
        sender: &Sender<'_>,
        id: RequestId,
        request: ClientRequest,
    ) -> Result<RequestOutcome, ErrorObject> {
        let request = match request {
            ClientRequest::Initialize(params) if !self.is_open() => {
                let (open, response) = initialize(profile, sender, &id, *params)?;
                *self = Self::Open(Box::new(open));
                return Ok(RequestOutcome::Response(response));
            }
            request => request,
        };
        let open = match (&mut *self, &request) {
            (Self::New, ClientRequest::Ping(_)) => {
                let revision = Revision::LATEST_LEGACY;
                return Ok(RequestOutcome::Response(empty(revision, &id)));
            }
            (Self::New, _) => return Err(not_opened()),
            (Self::Open(_), ClientRequest::Initialize(_)) => {
                let why = "this session is initialized already, and a client initializes once; if a \
                           bridge such as supergateway is in between, start it with `--stateful`, so \
                           that each client has a session of its own, or connect without it";
                return Err(ErrorObject::new(jsonrpc::INVALID_REQUEST, why));
            }
            (Self::Open(open), _) => open,
        };
        let revision = open.origin.revision;
        if !has_method(revision, &request) {
            return Err(ErrorObject::method_not_found(request.method()));
        }
        match request {
            ClientRequest::Ping(_) => {}
            ClientRequest::SetLevel(ref params) if profile.capabilities.logging.is_some() => {
                open.level = Some(params.level);
            }
            ClientRequest::Subscribe(ref params) if watches(profile) => {
                check_watched(&params.uri, &profile.limits)?;
                open.watch(&params.uri, profile.limits.server.subscriptions)?;
            }
            ClientRequest::Unsubscribe(ref params) if watches(profile) => {
                open.unwatch(&params.uri);
            }
            ClientRequest::SetLevel(_)
            | ClientRequest::Subscribe(_)
            | ClientRequest::Unsubscribe(_) => {
                return Err(ErrorObject::method_not_found(request.method()));
            }
            request => return open.call(profile, id, request).map(RequestOutcome::Call),
        }
        // The server behind this one must know the client's choice.
        if profile.forwards && !matches!(request, ClientRequest::Ping(_)) {
            return open.call(profile, id, request).map(RequestOutcome::Call);
        }
        Ok(RequestOutcome::Response(empty(revision, &id)))
    }
}

impl OpenSession {
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

/// Chooses the revision that the client requested, or else the newest one with a handshake
/// (2025-11-25, basic/lifecycle, Version Negotiation).
fn initialize(
    profile: &Profile,
    sender: &Sender<'_>,
    id: &RequestId,
    params: InitializeParams,
) -> Result<(OpenSession, Vec<u8>), ErrorObject> {
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
    let open = OpenSession {
        origin_bytes: origin.kept_bytes(),
        origin: Arc::new(origin),
        level: None,
        watched: BTreeSet::new(),
        watched_bytes: 0,
        initialized: false,
    };
    Ok((open, wire::write_result(revision, id, result, None)))
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
