//! Admission of a stateless request: its headers must match its body, in a supported revision
//! (2026-07-28, basic/transports/streamable-http, Server Validation).

use std::{borrow::Cow, sync::Arc};

use askback_core::{
    ask::Principal,
    engine::server::{
        self as engine, Call, ClientLocation, Profile, ReceivedMessage, ReceivedRequest,
    },
    http::{
        Mismatch,
        headers::{self, MirroredHeaders},
    },
    jsonrpc::{ErrorObject, Request},
    protocol::ClientRequest,
    revision::Kind,
};
use http::{Extensions, HeaderMap, HeaderName, HeaderValue, request::Parts};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::{heads::Heads, response::SESSION_ID};
use crate::server::Shared;

pub(super) type Attachment = Arc<Extensions>;

pub(super) const INITIALIZE: &str = "initialize";
pub(super) const VERSION: HeaderName = HeaderName::from_static(headers::PROTOCOL_VERSION);

/// Returns the principal that the layer before this service inserted.
pub(super) fn principal(parts: &Parts) -> Option<Arc<Principal>> {
    parts.extensions.get::<Principal>().cloned().map(Arc::new)
}

/// Returns the headers and extensions that handlers may read, if any handler does. Credentials are
/// removed.
pub(super) fn attachment(shared: &Shared, parts: &Parts) -> Option<Attachment> {
    if !shared.catalog.load().takes_extensions {
        return None;
    }
    let mut extensions = parts.extensions.clone();
    // Handlers must use their context, which records that the principal was read.
    extensions.remove::<Principal>();
    #[cfg(feature = "oauth-server")]
    extensions.remove::<crate::authorization::server::RequestRights>();
    let headers = parts.headers.iter();
    let harmless = headers.filter(|(name, value)| !is_proof(name) && !value.is_sensitive());
    let harmless = harmless.map(|(name, value)| (name.clone(), value.clone()));
    extensions.insert(HeaderMap::from_iter(harmless));
    Some(Arc::new(extensions))
}

/// Whether a header carries credentials, by its name. Includes the headers that proxies and clouds
/// add.
fn is_proof(name: &HeaderName) -> bool {
    const PARTS: [&str; 9] = [
        "auth",
        "token",
        "api-key",
        "apikey",
        "assertion",
        "secret",
        "cookie",
        "jwt",
        "dpop",
    ];
    let name = name.as_str();
    name == SESSION_ID.as_str() || PARTS.iter().any(|part| name.contains(part))
}

pub(super) fn attach(call: &mut Call, attachment: Option<&Attachment>) {
    if let Some(attachment) = attachment {
        let attachment = Arc::clone(attachment);
        Arc::make_mut(&mut call.origin).attachment = Some(attachment);
    }
}

/// Admits a request, or returns the first error: headers before the revision, the revision before
/// the method, the method before its parameters.
pub(super) fn admit(
    shared: &Shared,
    heads: Heads<'_>,
    principal: Option<Arc<Principal>>,
    received: ReceivedRequest,
) -> Result<Call, ErrorObject> {
    let headers = heads.mirrored()?;
    let request = &received.request;
    if let Some(version) = received.version() {
        let body = headers::BodySummary {
            version,
            method: request.method(),
            name: request.target(),
        };
        headers::check(&headers, body)?;
        check_arguments(shared, principal.as_deref(), heads.0, request)?;
    } else {
        let wish = match request {
            ClientRequest::Initialize(params) => Some(&*params.protocol_version),
            _ => None,
        };
        check_revision(&shared.profile, &headers, request.method(), None, wish)?;
    }
    engine::admit(
        &shared.profile,
        principal,
        ClientLocation::Elsewhere,
        received,
    )
}

/// Returns the error of an unreadable request: of its headers, else of its parameters.
pub(super) fn judge(
    profile: &Profile,
    heads: Heads<'_>,
    request: &Request,
    error: ErrorObject,
) -> ErrorObject {
    let checked = heads
        .mirrored()
        .map_err(ErrorObject::from)
        .and_then(|headers| {
            let params = request.params.as_deref();
            let (named, wish) = (version_in(params), wish_in(params));
            let (named, wish) = (named.as_deref(), wish.as_deref());
            check_revision(profile, &headers, &request.method, named, wish)
        });
    checked.err().unwrap_or(error)
}

fn check_arguments(
    shared: &Shared,
    caller: Option<&Principal>,
    headers: &HeaderMap,
    request: &ClientRequest,
) -> Result<(), Mismatch> {
    let ClientRequest::CallTool(params) = request else {
        return Ok(());
    };
    let catalog = shared.catalog.load();
    let Some(tool) = catalog.tools.find(&params.name, caller) else {
        return Ok(());
    };
    let find = |name: &str| {
        let values = headers.get_all(name).into_iter();
        values.map(HeaderValue::as_bytes)
    };
    tool.item.mirrored.check(find, params.arguments.as_ref())
}

/// Checks the revision if the parameters cannot be read or do not name one.
fn check_revision(
    profile: &Profile,
    headers: &MirroredHeaders<'_>,
    method: &str,
    named: Option<&str>,
    wish: Option<&str>,
) -> Result<(), ErrorObject> {
    if let Some(version) = named {
        let body = headers::BodySummary {
            version,
            method,
            name: None,
        };
        headers::check(headers, body)?;
    }
    let header = headers.version.map(String::from_utf8_lossy);
    let Some(version) = named.or(header.as_deref()) else {
        return Err(if method == INITIALIZE {
            // The error lists the supported revisions (2026-07-28, basic/versioning).
            engine::unsupported(profile, wish.unwrap_or_default())
        } else {
            Mismatch::Missing("MCP-Protocol-Version".into()).into()
        });
    };
    let revision = engine::spoken(profile, version)?;
    if revision.has(Kind::ClientRequest, method) {
        Ok(())
    } else {
        Err(ErrorObject::method_not_found(method))
    }
}

/// Whether this is a request that names a revision, and so is stateless.
pub(super) fn names_a_version(received: &ReceivedMessage) -> bool {
    match received {
        ReceivedMessage::Request(received) => {
            let opens_session = matches!(received.request, ClientRequest::Initialize(_));
            !opens_session && received.version().is_some()
        }
        ReceivedMessage::Misfit(request, _) => {
            request.method != INITIALIZE && version_in(request.params.as_deref()).is_some()
        }
        ReceivedMessage::Notification(_)
        | ReceivedMessage::Response(_)
        | ReceivedMessage::Batch(_) => false,
    }
}

/// The revision in the parameters, even if the rest is invalid.
fn version_in(params: Option<&RawValue>) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(rename = "_meta", borrow)]
        meta: Meta<'a>,
    }
    #[derive(Deserialize)]
    struct Meta<'a> {
        #[serde(rename = "io.modelcontextprotocol/protocolVersion", borrow)]
        version: Cow<'a, str>,
    }
    let params: Params<'_> = serde_json::from_str(params?.get()).ok()?;
    Some(params.meta.version)
}

fn wish_in(params: Option<&RawValue>) -> Option<Cow<'_, str>> {
    #[derive(Deserialize)]
    struct Params<'a> {
        #[serde(rename = "protocolVersion", borrow)]
        version: Cow<'a, str>,
    }
    let params: Params<'_> = serde_json::from_str(params?.get()).ok()?;
    Some(params.version)
}

pub(super) fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a [u8]>, Mismatch> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (value, None) => Ok(value.map(HeaderValue::as_bytes)),
        (_, Some(_)) => Err(Mismatch::Repeated(name.as_str().to_owned().into())),
    }
}
