//! Every kind of message and every kind of part has a test case.

use askback_core::revision::{
    self, Facts,
    Revision::{self, V2025_03_26, V2025_06_18, V2025_11_25},
};
use serde_json::Value;

use super::{Case, Kind, read};

/// The kinds of cases that a kind of method needs: one for the message, one for the response.
const NEEDED: [(revision::Kind, Kind, Option<Kind>); 5] = [
    (
        revision::Kind::ClientRequest,
        Kind::ClientRequest,
        Some(Kind::Result),
    ),
    (
        revision::Kind::ServerRequest,
        Kind::ServerRequest,
        Some(Kind::Answer),
    ),
    (
        revision::Kind::InputRequest,
        Kind::InputRequest,
        Some(Kind::InputResponse),
    ),
    (
        revision::Kind::ClientNotification,
        Kind::ClientNotification,
        None,
    ),
    (
        revision::Kind::ServerNotification,
        Kind::ServerNotification,
        None,
    ),
];

#[test]
fn every_method_of_every_revision_has_its_cases() {
    let cases = read::<Case>("cases");
    let has = |revision: Revision, kind: Kind, method: &str| {
        cases.iter().any(|case| {
            case.kind == kind
                && case.method().as_deref() == Some(method)
                && case.revisions().any(|known| known == revision)
        })
    };
    let mut missing = Vec::new();
    for revision in Revision::ALL {
        for (methods, said, answered) in NEEDED {
            for method in revision.methods(methods) {
                for kind in [Some(said), answered].into_iter().flatten() {
                    if !has(revision, kind, method) {
                        missing.push((revision.as_str(), kind, method));
                    }
                }
            }
        }
    }
    assert_eq!(missing, [], "messages without a case");
}

/// A part of messages, whether a revision has it, and the members that identify it (`type=image` is
/// a member with a value).
type Thing = (&'static str, fn(Revision, &Facts) -> bool, &'static str);

#[rustfmt::skip]
const THINGS: &[Thing] = &[
    ("text", |_, _| true, "type=text text"),
    ("image", |_, _| true, "type=image data"),
    ("audio", |_, f| f.audio, "type=audio data"),
    ("link", |_, f| f.resource_links, "type=resource_link uri"),
    ("embedded text", |_, _| true, "uri text"),
    ("embedded bytes", |_, _| true, "uri blob"),
    ("tool use", |_, f| f.sampling_tools, "type=tool_use input"),
    ("tool result", |_, f| f.sampling_tools, "type=tool_result toolUseId"),
    ("tool choice", |_, f| f.sampling_tools, "toolChoice"),
    ("hints of a tool", |r, _| r >= V2025_03_26, "readOnlyHint"),
    ("output schema", |_, f| f.structured_content, "outputSchema"),
    ("structured content", |_, f| f.structured_content, "structuredContent"),
    ("icon", |r, _| r >= V2025_11_25, "src"),
    ("title", |_, f| f.titles, "name title"),
    ("last change", |r, _| r >= V2025_06_18, "lastModified"),
    ("prompt reference", |_, _| true, "type=ref/prompt name"),
    ("resource reference", |_, _| true, "type=ref/resource uri"),
    ("completion context", |r, _| r >= V2025_06_18, "argument context"),
    ("words with progress", |r, _| r >= V2025_03_26, "progress message"),
    ("completions", |_, f| f.completions_capability, "completions"),
    ("link to open", |_, f| f.elicitation_url, "mode=url url"),
    ("end of a link", |r, _| r.has(revision::Kind::ServerNotification, "notifications/elicitation/complete"), "elicitationId"),
    ("links to open first", |_, f| f.url_elicitation_error, "elicitations"),
    ("task", |_, f| f.tasks || f.extensions, "taskId status"),
    ("task of the core", |_, f| f.tasks, "taskId ttl"),
    ("task of the extension", |_, f| f.extensions, "resultType=task ttlMs"),
    ("wish for a task", |_, f| f.tasks, "task name"),
    ("task of a message", |_, f| f.tasks, "io.modelcontextprotocol/related-task"),
    ("extension", |_, f| f.extensions, "extensions"),
    ("questions", |_, f| f.result_type, "resultType=input_required inputRequests"),
    ("answers", |_, f| f.result_type, "inputResponses requestState"),
    ("cache hints", |_, f| f.cache_hints, "ttlMs cacheScope"),
    ("revision of a request", |_, f| f.request_meta, "io.modelcontextprotocol/protocolVersion"),
    ("client of a request", |_, f| f.request_meta, "io.modelcontextprotocol/clientInfo"),
    ("level of a request", |_, f| f.request_meta, "io.modelcontextprotocol/logLevel"),
    ("server of a result", |_, f| f.request_meta, "io.modelcontextprotocol/serverInfo"),
    ("subscription", |r, _| r.has(revision::Kind::ClientRequest, "subscriptions/listen"), "io.modelcontextprotocol/subscriptionId"),
];

/// The parts of forms, listed in the same way.
#[rustfmt::skip]
const FORM_THINGS: &[Thing] = &[
    ("text", |_, f| f.elicitation_form, "type=string"),
    ("number", |_, f| f.elicitation_form, "type=number"),
    ("integer", |_, f| f.elicitation_form, "type=integer"),
    ("yes or no", |_, f| f.elicitation_form, "type=boolean"),
    ("choice", |_, f| f.elicitation_form, "type=string enum"),
    ("names of a choice", |_, f| f.elicitation_form, "type=string enumNames"),
    ("titles of a choice", |_, f| f.forms.one_of_titles, "type=string oneOf"),
    ("choice of several", |_, f| f.forms.multi_choice, "type=array items"),
    ("titles of several", |_, f| f.forms.multi_choice, "anyOf"),
    ("default", |_, f| f.elicitation_form, "type=string default"),
    ("pattern", |_, f| f.forms.pattern, "type=string pattern"),
];

#[test]
fn everything_inside_messages_has_a_case() {
    let cases = read::<Case>("cases");
    let check = |things: &[Thing], parts: fn(&Value) -> Vec<&Value>| {
        for revision in Revision::ALL {
            let messages: Vec<Value> = cases
                .iter()
                .filter(|case| case.revisions().any(|known| known == revision))
                .map(Case::value)
                .collect();
            for (name, exists, members) in things {
                let seen = messages
                    .iter()
                    .flat_map(parts)
                    .any(|part| holds(part, members));
                assert_eq!(
                    seen,
                    exists(revision, revision.facts()),
                    "{name} in {revision}"
                );
            }
        }
    };
    check(THINGS, |message| vec![message]);
    check(FORM_THINGS, |message| find(message, "requestedSchema"));
}

/// Whether a value contains an object with these members.
fn holds(value: &Value, members: &str) -> bool {
    let here = members.split(' ').all(|member| {
        let (name, text) = match member.split_once('=') {
            Some((name, text)) => (name, Some(text)),
            None => (member, None),
        };
        value
            .get(name)
            .is_some_and(|found| text.is_none() || found.as_str() == text)
    });
    here || children(value).any(|child| holds(child, members))
}

/// The values of a member, wherever it occurs.
fn find<'a>(value: &'a Value, name: &str) -> Vec<&'a Value> {
    let here = value.get(name).into_iter();
    here.chain(children(value).flat_map(|child| find(child, name)))
        .collect()
}

fn children(value: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match value {
        Value::Object(object) => Box::new(object.values()),
        Value::Array(list) => Box::new(list.iter()),
        _ => Box::new(std::iter::empty()),
    }
}
