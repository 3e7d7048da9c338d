//! Every message survives being parsed and serialized, in each of its revisions.

use askback_core::{
    jsonrpc::{self, ErrorObject, Message, Payload, RequestId, Response},
    limits::WireLimits,
    protocol::{
        CallToolResult, ClientNotification, ClientRequest, CompleteResult, CreateMessageParams,
        CreateMessageResult, DetailedTask, DiscoverResult, ElicitParams, ElicitResult, EmptyResult,
        GetPromptResult, GetSkillResult, HasMeta, InitializeResult, InputRequest,
        ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListRootsResult,
        ListSkillsResult, ListTasksResult, ListToolsResult, MissingCapability, RawJson,
        ReadResourceDirectoryResult, ReadResourceResult, RequestParams, ServerNotification,
        ServerRequest, SubscriptionsListenResult, TaskState, UnsupportedVersion,
        UrlElicitationRequired, codes,
    },
    revision::Revision,
    wire::{self, Lower},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

use super::{Case, Kind, read};

// Shows EL-10, EL-12, EL-14, RE-04, BA-02, BA-07, BA-21.
#[test]
fn every_message_is_written_back_as_it_came() {
    check("cases");
}

#[test]
fn the_messages_of_the_guides_are_written_back_as_they_came() {
    check("seeds");
}

// Shows LI24-02, LI25-15.
#[test]
fn what_a_revision_has_not_is_left_out_or_said_in_another_way() {
    check("lowered");
}

fn check(directory: &str) {
    for case in read::<Case>(directory) {
        for revision in case.revisions() {
            let written = write_back(&case, revision, case.message.get());
            let same = case.value();
            let expected = case.written.get(revision.as_str()).unwrap_or(&same);
            assert_eq!(&value(&written), expected, "{revision}");
            let again = write_back(&case, revision, &written);
            assert_eq!(again, written, "written a second time in {revision}");
        }
    }
}

fn write_back(case: &Case, revision: Revision, message: &str) -> String {
    try_write_back(case, revision, message)
        .unwrap_or_else(|error| panic!("{revision}: {error}: {message}"))
}

pub(super) fn try_write_back(
    case: &Case,
    revision: Revision,
    text: &str,
) -> Result<String, ErrorObject> {
    match case.kind {
        Kind::InputRequest => {
            let question: InputRequest = decode(text)?;
            let question = wire::lower(question, revision);
            return Ok(serde_json::to_string(&question).unwrap());
        }
        Kind::InputResponse => {
            let answer = question(case)
                .read_response(&decode::<RawJson>(text)?)
                .map_err(|error| ErrorObject::invalid_params(error.to_string()))?;
            let answer = wire::lower(answer, revision);
            return Ok(serde_json::to_string(&answer).unwrap());
        }
        _ => {}
    }
    let written = match jsonrpc::parse(text.as_bytes(), &WireLimits::default()) {
        Err(bad) => return Err(bad.error),
        Ok(Payload::Single(message)) => single(case, revision, message)?,
        Ok(Payload::Batch(batch)) => {
            let messages: Result<Vec<_>, _> = batch
                .into_iter()
                .map(|message| message.map(|message| crate::written(&message)))
                .collect();
            jsonrpc::write_batch(&messages.map_err(|bad| bad.error)?)
        }
    };
    Ok(String::from_utf8(written).unwrap())
}

fn single(case: &Case, revision: Revision, message: Message) -> Result<Vec<u8>, ErrorObject> {
    match (case.kind, message) {
        (Kind::ClientRequest, Message::Request(call)) => {
            let request: ClientRequest =
                wire::read(revision, &call.method, call.params.as_deref())?;
            Ok(wire::lower(request, revision).to_vec(&call.id))
        }
        (Kind::ServerRequest, Message::Request(call)) => {
            let request: ServerRequest =
                wire::read(revision, &call.method, call.params.as_deref())?;
            Ok(wire::lower(request, revision).to_vec(&call.id))
        }
        (Kind::ClientNotification, Message::Notification(call)) => {
            let notification: ClientNotification =
                wire::read(revision, &call.method, call.params.as_deref())?;
            Ok(wire::lower(notification, revision).to_vec())
        }
        (Kind::ServerNotification, Message::Notification(call)) => {
            let notification: ServerNotification =
                wire::read(revision, &call.method, call.params.as_deref())?;
            Ok(wire::lower(notification, revision).to_vec())
        }
        (Kind::Result | Kind::Answer, Message::Response(response)) => {
            let id = response.id.unwrap();
            result(case, revision, &id, &response.outcome?)
        }
        (Kind::Error, Message::Response(response)) => Ok(error(revision, response)),
        (kind, message) => panic!("{kind:?} is {message:?}"),
    }
}

fn result(
    case: &Case,
    revision: Revision,
    id: &RequestId,
    raw: &RawValue,
) -> Result<Vec<u8>, ErrorObject> {
    let write = (revision, id, raw);
    match case.method().unwrap().as_str() {
        "initialize" => outcome::<InitializeResult>(write),
        "server/discover" => outcome::<DiscoverResult>(write),
        "ping" | "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
            outcome::<EmptyResult>(write)
        }
        "tools/list" => outcome::<ListToolsResult>(write),
        "tools/call" => outcome::<CallToolResult>(write),
        "prompts/list" => outcome::<ListPromptsResult>(write),
        "prompts/get" => outcome::<GetPromptResult>(write),
        "resources/list" => outcome::<ListResourcesResult>(write),
        "resources/directory/read" => outcome::<ReadResourceDirectoryResult>(write),
        "resources/templates/list" => outcome::<ListResourceTemplatesResult>(write),
        "resources/read" => outcome::<ReadResourceResult>(write),
        "skills/list" => outcome::<ListSkillsResult>(write),
        "skills/get" => outcome::<GetSkillResult>(write),
        "subscriptions/listen" => outcome::<SubscriptionsListenResult>(write),
        "completion/complete" => outcome::<CompleteResult>(write),
        "elicitation/create" => outcome::<ElicitResult>(write),
        "sampling/createMessage" => outcome::<CreateMessageResult>(write),
        "roots/list" => outcome::<ListRootsResult>(write),
        "tasks/get" | "tasks/cancel" if revision.facts().tasks => outcome::<TaskState>(write),
        "tasks/get" => outcome::<DetailedTask>(write),
        "tasks/update" | "tasks/cancel" => outcome::<EmptyResult>(write),
        "tasks/list" => outcome::<ListTasksResult>(write),
        // The outcome of a task is the result of its original request.
        "tasks/result" if case.kind == Kind::Result => outcome::<CallToolResult>(write),
        "tasks/result" => outcome::<ElicitResult>(write),
        other => panic!("no result type for {other}"),
    }
}

fn outcome<T: DeserializeOwned + Lower + HasMeta + Serialize>(
    (revision, id, raw): (Revision, &RequestId, &RawValue),
) -> Result<Vec<u8>, ErrorObject> {
    let outcome = wire::read_outcome::<T>(revision, raw)
        .map_err(|error| ErrorObject::internal(error.to_string()))?;
    Ok(wire::write_outcome(revision, id, outcome, None))
}

/// Error data with a known type is converted to it.
fn error(revision: Revision, response: Response) -> Vec<u8> {
    let mut error = response.outcome.unwrap_err();
    error.data = error.data.map(|data| match error.code {
        codes::UNSUPPORTED_VERSION => through::<UnsupportedVersion>(data),
        codes::MISSING_CAPABILITY => through::<MissingCapability>(data),
        codes::URL_ELICITATION_REQUIRED => {
            let data: UrlElicitationRequired = serde_json::from_value(data).unwrap();
            serde_json::to_value(wire::lower(data, revision)).unwrap()
        }
        _ => data,
    });
    jsonrpc::write_error(response.id.as_ref(), &error)
}

fn through<T: DeserializeOwned + Serialize>(data: Value) -> Value {
    let data: T = serde_json::from_value(data).unwrap();
    serde_json::to_value(data).unwrap()
}

/// Any question of the kind that an answer belongs to.
fn question(case: &Case) -> InputRequest {
    match case.method().unwrap().as_str() {
        "elicitation/create" => ElicitParams::url("Go on?", "https://travel.example").into(),
        "sampling/createMessage" => CreateMessageParams::new("Well?", 1).into(),
        _ => InputRequest::Roots(RequestParams::default()),
    }
}

pub(super) fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn decode<T: DeserializeOwned>(text: &str) -> Result<T, ErrorObject> {
    serde_json::from_str(text).map_err(|error| ErrorObject::invalid_params(error.to_string()))
}
