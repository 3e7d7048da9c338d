//! A question, what identifies it, and whether an answer fits it.

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

/// A question that may be asked, with the digest that identifies it.
#[derive(Debug, Clone)]
pub struct Question {
    request: InputRequest,
    /// The digest that identifies the question: an answer to another question, however alike, does
    /// not fit.
    pub digest: QuestionDigest,
}

/// A request that may be sent to the client of a call: the request keeps all rules, and the client
/// declared that it takes such requests.
///
/// Nothing else is sent. So no way of asking can leave out a check, whether a handler asked with a
/// future or wrote its round by hand.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckedRequest(InputRequest);

/// Why an answer cannot be used.
#[derive(Debug, Clone, PartialEq)]
pub enum UnusableAnswer {
    /// In a sentence for the person who is asked again.
    Because(String),
    /// A form was accepted without any field, although some are required; with the answer as it is
    /// recorded.
    NoFields(RawJson),
}

impl From<String> for UnusableAnswer {
    fn from(reason: String) -> Self {
        Self::Because(reason)
    }
}

/// An answer that fits its question: what is read of it, and nothing else that came with it.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckedAnswer {
    /// A person's answer to a form or a link.
    Elicit(ElicitResult),
    /// A model's completion.
    Sample(Box<CreateMessageResult>),
    /// The folders a server may work in.
    Roots(Vec<Root>),
}

impl Question {
    /// A question, if it may be asked.
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

    /// The request as it is sent to a client that takes it; after an answer that was not usable, with
    /// the reason in its message.
    pub(super) fn to_send(&self, reason: Option<&str>) -> CheckedRequest {
        let mut request = self.request.clone();
        if let (InputRequest::Elicit(ElicitParams::Form(form)), Some(reason)) =
            (&mut request, reason)
        {
            form.message = format!(
                // Clients that show no line ends leave the blank.
                "{} \n\nThe last answer could not be used: {reason}",
                form.message
            );
        }
        CheckedRequest(request)
    }

    /// The memory of the texts in the request, in bytes. A form's schema is shared between calls and not counted.
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

    /// Reads an answer and checks it against the question.
    ///
    /// # Errors
    ///
    /// Fails with a sentence for the person who is asked again, or says that the client shows no
    /// fields.
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
    /// A request, if it may be sent. `missing` is what the client would have to support for it, and
    /// does not.
    ///
    /// # Errors
    ///
    /// [`AskError::BadForm`] for a form that breaks the rules of forms or asks for a secret,
    /// [`AskError::BadRequest`] for a link that is no absolute https URL (http is for this machine
    /// alone), and for a conversation in which uses of tools and their results do not match;
    /// [`AskError::Unsupported`] if the client lacks something.
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

    /// A request of another server, which is passed on as it is: that server answers for it, and the client judges it.
    #[must_use]
    pub fn forwarded(request: InputRequest) -> Self {
        Self(request)
    }

    /// The request that is sent.
    #[must_use]
    pub fn get(&self) -> &InputRequest {
        &self.0
    }

    /// The request that is sent.
    #[must_use]
    pub fn into_inner(self) -> InputRequest {
        self.0
    }
}

fn check_request(request: &mut InputRequest, limits: &Limits) -> Result<(), AskError> {
    match request {
        InputRequest::Elicit(ElicitParams::Form(form)) => {
            check_form(&form.requested_schema, &form.message, limits).map_err(AskError::BadForm)?;
            // A formatted text has up to twice the capacity it needs, and waits for days.
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

/// Checks that a form may be asked with a message: it keeps the rules of forms, and asks for no secret,
/// which must not pass through a client (2026-07-28, client/elicitation, User Interaction Model).
///
/// # Errors
///
/// Fails with the issues of its fields.
pub fn check_form(form: &SharedForm, message: &str, limits: &Limits) -> Result<(), Issues> {
    form.lint(&limits.forms)?;
    match form.secret_field(message) {
        None => Ok(()),
        Some(field) => Err(Issues::from(Issue::new(
            field,
            "looks like a secret, which a form must not ask for; ask for it behind a link, or say \
             that it is none with `not_secret`",
        ))),
    }
}

/// The digest of a question, in two ways that cannot come to the same: that of a form and its message,
/// which says most of it beforehand, and that of the canonical JSON of every other question.
///
/// It is part of the states in flight: where what is digested changes, a question that is with a client
/// is another one for the next version of the program, and is asked again.
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
        // A link is the same question under any id: that names one attempt to answer it.
        InputRequest::Elicit(ElicitParams::Url(link)) if link.elicitation_id.is_some() => {
            let mut link = link.clone();
            link.elicitation_id = None;
            canonical::digest_of(&InputRequest::Elicit(ElicitParams::Url(link)))
        }
        request => canonical::digest_of(request),
    }
}

impl CheckedAnswer {
    /// The answer as it is recorded: checked again, it comes to the same.
    ///
    /// # Errors
    ///
    /// If it cannot be written as JSON.
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
        // What is not accepted carries no values, and a link never does.
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

/// A link a server may ask a person to open: absolute, encrypted on its way (in development, the way
/// may end on this machine), without anybody's credentials (2026-07-28, client/elicitation, Safe URL
/// Handling).
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

/// Whether a host, perhaps with a port, is this machine.
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
