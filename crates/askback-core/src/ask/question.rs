//! Questions, their digests, and the check of their answers.

use alloc::{
    boxed::Box,
    format,
    string::{String, ToString},
    vec::Vec,
};
use serde::Deserialize;
use serde_json::Value;
use sha2::Digest;

use super::{AskError, Capability, journal::QuestionDigest, reading::only_of_answer, sampling};
use crate::{
    address::is_loopback_host,
    canonical::{self, CanonicalError},
    forms::{Issue, Issues, SharedForm},
    limits::Limits,
    protocol::{
        CreateMessageResult, ElicitAction, ElicitFormParams, ElicitParams, ElicitResult, HasMeta,
        InputRequest, ListRootsResult, RawJson, Root,
    },
};

#[derive(Debug, Clone)]
pub struct Question {
    request: InputRequest,
    /// The digest of the question. An answer to any other question, however similar, does not
    /// match.
    pub digest: QuestionDigest,
}

/// A request that keeps all rules and that the client has declared to support.
///
/// Nothing else is sent, so no way of asking can skip a check, whether a handler asks with a future
/// or writes its round by hand.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedRequest(InputRequest);

#[derive(Debug, Clone, PartialEq)]
pub enum UnusableAnswer {
    /// The reason, for the user who is asked again.
    Because(String),
    /// A form with required fields was accepted without any field. Holds the answer to record.
    NoFields(RawJson),
}

impl From<String> for UnusableAnswer {
    fn from(reason: String) -> Self {
        Self::Because(reason)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum CheckedAnswer {
    Elicit(ElicitResult),
    Sample(Box<CreateMessageResult>),
    Roots(Vec<Root>),
}

impl Question {
    /// Checks a request and makes it a question.
    ///
    /// # Errors
    ///
    /// As [`CheckedRequest::new`].
    pub fn new(mut request: InputRequest, limits: &Limits) -> Result<Self, AskError> {
        check_request(&mut request, limits)?;
        let digest = digest(&request).map_err(|error| AskError::BadRequest(error.to_string()))?;
        let mut half = [0; 16];
        half.copy_from_slice(&digest[..16]);
        Ok(Self {
            request,
            digest: QuestionDigest(half),
        })
    }

    /// Whether its answer should come with a receipt.
    pub(super) fn has_challenge(&self) -> bool {
        match &self.request {
            InputRequest::Elicit(asked) => {
                asked.meta().is_some_and(|meta| meta.challenge().is_some())
            }
            _ => false,
        }
    }

    /// Returns the request to send. If an earlier answer was unusable, the reason is added to the
    /// message.
    pub(super) fn to_send(&self, reason: Option<&str>) -> CheckedRequest {
        let mut request = self.request.clone();
        if let (InputRequest::Elicit(ElicitParams::Form(form)), Some(reason)) =
            (&mut request, reason)
        {
            form.message = format!(
                // Clients that ignore line breaks still show the space.
                "{} \n\nThe last answer could not be used: {reason}",
                form.message
            );
        }
        CheckedRequest(request)
    }

    /// The memory of the request's strings, in bytes. A form's schema is shared between calls and
    /// is not counted.
    pub(super) fn kept_bytes(&self) -> usize {
        match &self.request {
            InputRequest::Elicit(ElicitParams::Form(form)) => form.message.len(),
            InputRequest::Elicit(ElicitParams::Url(link)) => link.message.len() + link.url.len(),
            InputRequest::Sample(params) => {
                RawJson::new(params).map_or(0, |json| json.as_str().len())
            }
            InputRequest::Roots(_) => 0,
        }
    }

    /// Checks an answer against the question.
    ///
    /// # Errors
    ///
    /// Returns the reason, for the user who is asked again, or says that the client filled in no
    /// field.
    pub fn check(&self, value: &RawJson, limits: &Limits) -> Result<CheckedAnswer, UnusableAnswer> {
        match &self.request {
            InputRequest::Elicit(asked) => check_elicit(asked, value, limits),
            InputRequest::Sample(_) => {
                let mut result: CreateMessageResult =
                    read_within(value, limits.asking.sampled_bytes)?;
                result.meta = None;
                Ok(CheckedAnswer::Sample(Box::new(result)))
            }
            InputRequest::Roots(_) => {
                let listed = read_within(value, limits.asking.roots_bytes)?;
                Ok(check_roots(listed)?)
            }
        }
    }
}

impl CheckedRequest {
    /// Checks a request. `missing` is the capability that the request needs and the client lacks.
    ///
    /// # Errors
    ///
    /// [`AskError::BadForm`] if a form breaks the rules of forms or asks for a secret.
    /// [`AskError::BadRequest`] if a link is not an absolute https URL (http only for this
    /// machine), or if the tool uses and results of a conversation do not match.
    /// [`AskError::Unsupported`] if a capability is missing.
    pub fn new(
        mut request: InputRequest,
        missing: Option<Capability>,
        limits: &Limits,
    ) -> Result<Self, AskError> {
        check_request(&mut request, limits)?;
        match missing {
            Some(capability) => Err(AskError::Unsupported(capability)),
            None => Ok(Self(request)),
        }
    }

    /// Wraps another server's request, which is forwarded unchanged: that server is responsible for
    /// it, and the client checks it.
    #[must_use]
    pub fn forwarded(request: InputRequest) -> Self {
        Self(request)
    }

    #[must_use]
    pub fn get(&self) -> &InputRequest {
        &self.0
    }

    #[must_use]
    pub fn into_inner(self) -> InputRequest {
        self.0
    }
}

fn check_request(request: &mut InputRequest, limits: &Limits) -> Result<(), AskError> {
    match request {
        InputRequest::Elicit(ElicitParams::Form(form)) => {
            check_form(&form.requested_schema, &form.message, limits).map_err(AskError::BadForm)?;
            // A formatted string may have twice the capacity it needs, and is stored for days.
            form.message.shrink_to_fit();
            Ok(())
        }
        InputRequest::Elicit(ElicitParams::Url(link)) => check_link(&link.url),
        InputRequest::Sample(params) => {
            sampling::check(params, &limits.asking).map_err(AskError::BadRequest)
        }
        InputRequest::Roots(_) => Ok(()),
    }
}

/// Checks that a form may be asked with this message: it keeps the rules of forms and asks for no
/// secret, which must not pass through a client (2026-07-28, client/elicitation, User Interaction
/// Model).
///
/// # Errors
///
/// Returns the issues of its fields.
pub fn check_form(form: &SharedForm, message: &str, limits: &Limits) -> Result<(), Issues> {
    form.lint(&limits.forms)?;
    match form.secret_field(message) {
        None => Ok(()),
        Some(field) => Err(Issues::from(Issue::new(
            field,
            "looks like a secret, which a form must not ask for; ask for it behind a link, or mark it with `not_secret`",
        ))),
    }
}

/// Returns the digest of a question. A form is hashed from its precomputed schema digest and the
/// message, any other question from its canonical JSON; the two cannot collide.
///
/// The digest is part of stored states. If its input changes, the next version of the program no
/// longer recognizes open questions and asks them again.
fn digest(request: &InputRequest) -> Result<[u8; 32], CanonicalError> {
    match request {
        InputRequest::Elicit(ElicitParams::Form(ElicitFormParams {
            mode,
            message,
            requested_schema,
            task: None,
            meta: None,
        })) => {
            let digest = requested_schema.begin_digest()?;
            let digest = digest.chain_update([u8::from(mode.is_some())]);
            Ok(digest.chain_update(message).finalize().into())
        }
        // The id names one attempt to open a link, so the digest ignores it.
        InputRequest::Elicit(ElicitParams::Url(link)) if link.elicitation_id.is_some() => {
            let mut link = link.clone();
            link.elicitation_id = None;
            canonical::digest_of(&InputRequest::Elicit(ElicitParams::Url(link)))
        }
        request => canonical::digest_of(request),
    }
}

impl CheckedAnswer {
    /// Returns the JSON for the record. Checking it again gives the same answer.
    ///
    /// # Errors
    ///
    /// Fails if the answer cannot be written as JSON.
    pub fn to_json(&self) -> Result<RawJson, serde_json::Error> {
        match self {
            Self::Elicit(result) => RawJson::new(result),
            Self::Sample(result) => RawJson::new(result),
            Self::Roots(roots) => RawJson::new(&ListRootsResult {
                roots: roots.clone(),
                meta: None,
            }),
        }
    }
}

fn check_elicit(
    asked: &ElicitParams,
    value: &RawJson,
    limits: &Limits,
) -> Result<CheckedAnswer, UnusableAnswer> {
    let mut result: ElicitResult = read(value)?;
    result.meta = only_of_answer(result.meta, &limits.asking);
    drop_foreign_receipt(asked, &mut result);
    match asked {
        ElicitParams::Form(form) if result.action == ElicitAction::Accept => {
            let schema = &form.requested_schema;
            let content = result.content.take().unwrap_or_default();
            let is_empty = content.values().all(Value::is_null);
            let content = schema.with_defaults(content);
            if let Err(issues) = schema.check(&content, &limits.forms) {
                return Err(match is_empty {
                    true => {
                        UnusableAnswer::NoFields(RawJson::new(&result).map_err(|e| e.to_string())?)
                    }
                    false => UnusableAnswer::Because(schema.say(&issues)),
                });
            }
            result.content = Some(content);
        }
        // Only an accepted form carries values.
        _ => result.content = None,
    }
    Ok(CheckedAnswer::Elicit(result))
}

/// Removes a receipt that is about another question or answer, or that the question did not ask for.
fn drop_foreign_receipt(asked: &ElicitParams, result: &mut ElicitResult) {
    let receipt = result.meta.as_ref().and_then(|meta| meta.receipt());
    if let Some(receipt) = receipt
        && !receipt.fits(asked, result)
        && let Some(mut meta) = result.meta.take()
    {
        meta.set_receipt(None);
        result.meta = meta.boxed();
    }
}

fn check_roots(result: ListRootsResult) -> Result<CheckedAnswer, String> {
    let mut roots = result.roots;
    roots.iter().try_for_each(Root::check)?;
    for root in &mut roots {
        root.meta = None;
    }
    Ok(CheckedAnswer::Roots(roots))
}

/// Checks a link that a server asks the user to open: absolute, encrypted (except to this machine,
/// for development) and without credentials (2026-07-28, client/elicitation, Safe URL Handling).
fn check_link(url: &str) -> Result<(), AskError> {
    let encrypted = url.strip_prefix("https://");
    let rest = encrypted.or_else(|| url.strip_prefix("http://"));
    let authority = rest.map(|rest| rest.split(['/', '?', '#']).next().unwrap_or(rest));
    let why = match authority {
        None => "a link must be an absolute https URL",
        Some("") => "a link must name a host",
        Some(authority) if authority.contains('@') => "a link must not carry credentials",
        Some(_) if url.contains(|c: char| c.is_control() || c.is_whitespace() || c == '\\') => {
            "a link must not hold spaces, backslashes or control characters"
        }
        Some(authority) if encrypted.is_none() && !is_loopback(authority) => {
            "a link must be https; http is for pages of this machine alone, such as \
             http://localhost:3000, in development"
        }
        Some(_) => return Ok(()),
    };
    Err(AskError::BadRequest(why.to_string()))
}

fn is_loopback(authority: &str) -> bool {
    let end = match authority.find(']') {
        Some(end) => end + 1,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    is_loopback_host(host) && port_or_none(port)
}

fn port_or_none(port: &str) -> bool {
    let digits = port.strip_prefix(':');
    port.is_empty() || digits.is_some_and(|digits| digits.parse::<u16>().is_ok())
}

fn read_within<'a, T: Deserialize<'a>>(value: &'a RawJson, most: usize) -> Result<T, String> {
    if value.as_str().len() > most {
        return Err(format!("the answer is longer than {most} bytes"));
    }
    read(value)
}

fn read<'a, T: Deserialize<'a>>(value: &'a RawJson) -> Result<T, String> {
    value.decode().map_err(|error| {
        format!(
            "the answer cannot be read: {}",
            crate::json::explain(&error)
        )
    })
}
