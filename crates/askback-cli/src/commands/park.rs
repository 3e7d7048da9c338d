//! Calls whose questions wait in a file: starts them for `askback call --park` and continues them.

mod page;

use std::{
    collections::BTreeMap,
    env,
    time::{Duration, SystemTime},
};

use askback::{
    Limits, Revision,
    client::Received,
    forms::FormSchema,
    internal::{jsonrpc::INVALID_PARAMS, revision::Era},
    protocol::{
        CallToolParams, CallToolResult, ElicitParams, InputRequest, OrderedMap, Outcome as Came,
        RawJson, RawObject, Tool,
    },
};
use askback_host::{
    content,
    model::{
        WorstEnd,
        link::{self, Warning},
    },
    page::{Style, out},
    text::{Words, given},
    wire, words,
};
use serde::Serialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{call::left_out, print_as_json};
use crate::{
    error::{Error, Kind, OTHER_PROCESS, Outcome},
    parked::{ParkedCall, Parking, Turn, now},
    session::{Session, failed},
};

#[derive(Serialize)]
pub(super) struct ParkedCallReport<'a> {
    id: &'a str,
    server: &'a str,
    tool: &'a str,
    expires: String,
    questions: Vec<QuestionReport>,
    answer: String,
}

#[derive(Serialize)]
struct QuestionReport {
    key: String,
    kind: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The host of the link, and warnings about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warnings: Option<Vec<String>>,
    /// Other sites in the link: possible redirect targets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    leads_on: Vec<String>,
    /// Why the link is never opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    /// The action of an answer without a result so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    answered: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<bool>,
}

impl<'a> ParkedCallReport<'a> {
    pub(super) fn of(id: &'a str, call: &'a ParkedCall) -> Result<Self, Error> {
        let (questions, _) = call.asks()?;
        let key = match call.meant(&questions) {
            Some(_) => "",
            None => " --key KEY",
        };
        let is_link =
            |request: &InputRequest| matches!(request, InputRequest::Elicit(ElicitParams::Url(_)));
        let ways = match questions.iter().all(|(_, request)| is_link(request)) {
            true => "--accept (or --decline, --cancel)",
            false => "FIELD=VALUE… (or --accept, --decline, --cancel)",
        };
        Ok(Self {
            id,
            server: &call.server,
            tool: &call.tool,
            expires: wire::time(SystemTime::UNIX_EPOCH, Duration::from_secs(call.until())),
            questions: questions
                .into_iter()
                .map(|(key, request)| QuestionReport::of(call, key, request))
                .collect(),
            answer: format!("askback answer {id}{key} {ways}"),
        })
    }
}

impl QuestionReport {
    fn of(call: &ParkedCall, key: String, request: InputRequest) -> Self {
        let answered = call.answer(&key).map(str::to_owned);
        let mut asked = Self {
            sent: answered.is_some().then_some(call.sent),
            answered,
            key,
            kind: request.method(),
            message: String::new(),
            schema: None,
            url: None,
            site: None,
            warnings: None,
            leads_on: Vec::new(),
            refused: None,
        };
        if let InputRequest::Elicit(params) = request {
            asked.message = params.message().to_owned();
            match params {
                ElicitParams::Form(form) => {
                    asked.kind = "form";
                    asked.schema = marked(&form.requested_schema, &form.message).ok();
                }
                ElicitParams::Url(link) => {
                    asked.kind = "link";
                    match link::judge(&link.url) {
                        Ok(link) => {
                            let warnings = link.warnings.iter();
                            asked.warnings = Some(warnings.map(warning).collect());
                            asked.site = Some(link.host().to_owned());
                            asked.leads_on = link.leads_on;
                            asked.url = Some(link.url);
                        }
                        Err(refusal) => {
                            asked.refused = Some(refusal.to_string());
                            asked.url = Some(link.url);
                        }
                    }
                }
            }
        }
        asked
    }
}

pub(super) async fn begin(
    session: &mut Session,
    tool: &Tool,
    arguments: Map<String, Value>,
    is_json: bool,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let revision = session.client.revision();
    if revision.era() == Era::Legacy {
        let words = words!(
            "a question cannot be parked in {}: there it belongs to the open connection",
            given(revision)
        );
        let can = words!("It can in {}.", given(Revision::LATEST));
        return Err(Error::usage(words)
            .hint(can)
            .hint("Here, answer it at a terminal or with --answers FILE."));
    }
    let folder = env::current_dir()
        .map_err(|error| Error::usage(words!("this folder cannot be read: {}", given(error))))?;
    let call = ParkedCall {
        line: env::args().skip(2).collect(),
        folder,
        server: session.host.desk().asker().name.clone(),
        tool: tool.name.clone(),
        arguments,
        asked: Box::default(),
        answers: BTreeMap::new(),
        sent: false,
        refused: false,
        since: now(),
    };
    // Check that the question can be stored before the server does anything.
    let parking = Parking::of_user()?;
    parking.find_room()?;
    match round(session, &call, None).await? {
        RoundEnd::Asks(asked) => {
            let id = parking.keep(&asking(&call, asked)?)?;
            let turn = parking.take(&id)?;
            match waits(&turn.call)? {
                true => print(&turn.id, &turn.call, is_json, outcome),
                false => deliver(session, turn, is_json, outcome).await,
            }
        }
        RoundEnd::Result(result) => show(session, &result, is_json, outcome),
    }
}

pub(super) async fn go_on(
    session: &mut Session,
    turn: Turn,
    is_json: bool,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    // The list says which headers the server needs.
    let listed = session.host.attend(session.client.tools()).await?;
    listed.map_err(|error| failed(error).hint(tries_again(&turn.id)))?;
    deliver(session, turn, is_json, outcome).await
}

/// Sends a call's answers until a question has no answer, and prints that question. Each round has its own id, so that
/// an answer to an earlier question is not used for the next one.
async fn deliver(
    session: &mut Session,
    mut turn: Turn,
    is_json: bool,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let parking = Parking::of_user()?;
    // Rejected links are declined automatically, so a server could ask forever.
    for _ in 0..Limits::default().asking.rounds {
        if turn.call.refuses() {
            outcome.questions = WorstEnd::Refused;
        }
        let (_, state) = turn.call.asks()?;
        let has_state = state.is_some();
        turn.call.sent = true;
        turn.keep()?;
        match round(session, &turn.call, state).await {
            // Even if the result cannot be printed, the server has the answer.
            Ok(RoundEnd::Result(result)) => {
                let ended = turn.end();
                show(session, &result, is_json, outcome)?;
                return ended;
            }
            Ok(RoundEnd::Asks(asked)) => {
                let next = asking(&turn.call, asked)?;
                let id = parking.keep(&next)?;
                turn.end()?;
                turn = parking.take(&id)?;
            }
            // The server has already acted on the answer, and would act again.
            Err(error) if error.kind == Kind::Protocol => {
                turn.end()?;
                return Err(
                    error.hint("The server has answered, so the call may have taken effect.")
                );
            }
            // The server would reject this round again. Any other failure may be retried.
            Err(error) if error.kind == Kind::Server => {
                turn.end()?;
                let code = error.answer.as_ref().map(|answer| answer.code);
                return Err(match has_state && code == Some(INVALID_PARAMS) {
                    true => error.hint(OTHER_PROCESS),
                    false => error,
                });
            }
            Err(error) if error.kind == Kind::OutcomeUnknown => {
                let id = given(&turn.id);
                let hint = words!(
                    "If it has not, askback answer {} sends the answer again.",
                    id
                );
                return Err(error.hint(hint));
            }
            Err(error) => return Err(error.hint(tries_again(&turn.id))),
        }
        if waits(&turn.call)? {
            return print(&turn.id, &turn.call, is_json, outcome);
        }
    }
    turn.end()?;
    let error = "the server keeps asking for links that are not opened";
    Err(Error::new(Kind::Protocol, error))
}

/// The advice for a stored answer that has no result.
pub(super) fn tries_again(id: &str) -> Words {
    words!("askback answer {} tries again.", given(id))
}

/// Whether a new call is waiting: for an answer or, without a question, for the time to continue.
fn waits(call: &ParkedCall) -> Result<bool, Error> {
    let (questions, _) = call.asks()?;
    Ok(questions.is_empty() || !call.is_answered()?)
}

/// A call with the questions of its next round. A link that is never opened is declined with the reason, as in a
/// conversation.
fn asking(call: &ParkedCall, asked: Box<RawValue>) -> Result<ParkedCall, Error> {
    let mut next = ParkedCall {
        asked,
        answers: BTreeMap::new(),
        sent: false,
        refused: call.refuses(),
        since: now(),
        ..call.clone()
    };
    let (questions, _) = next.asks()?;
    let mut page = out::stderr_page();
    for (key, question) in questions {
        if let InputRequest::Elicit(ElicitParams::Url(link)) = question
            && let Err(refusal) = link::judge(&link.url)
        {
            page.note(Style::Dim, "a link: declined by policy");
            page.quote_line("    ", &link.url);
            page.item("    × ", Style::Error, refusal.words());
            next.answers.insert(key, json!({"action": "decline"}));
        }
    }
    out::tell(&mut page);
    Ok(next)
}

pub(super) fn print(
    id: &str,
    call: &ParkedCall,
    is_json: bool,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    outcome.parked = true;
    if is_json || !out::is_seen() {
        let parked = ParkedCallReport::of(id, call)?;
        return print_as_json(&BTreeMap::from([("parked", parked)]));
    }
    let mut page = out::stdout_page();
    page::put(&mut page, id, call)?;
    Ok(out::print(&page.take())?)
}

enum RoundEnd {
    Asks(Box<RawValue>),
    Result(Received<CallToolResult>),
}

async fn round(
    session: &mut Session,
    call: &ParkedCall,
    state: Option<String>,
) -> Result<RoundEnd, Error> {
    let unwritten = |error: serde_json::Error| Error::usage(given(error));
    let answers = call.answers.iter();
    let answers = answers.map(|(key, answer)| Ok((key.as_str(), RawJson::new(answer)?)));
    let answers = answers.collect::<Result<Vec<_>, _>>().map_err(unwritten)?;
    let params = CallToolParams {
        arguments: Some(RawObject::new(&call.arguments).map_err(unwritten)?),
        input_responses: (!answers.is_empty()).then(|| answers.into_iter().collect()),
        request_state: state,
        ..CallToolParams::new(&call.tool)
    };
    let Session { client, host, .. } = session;
    let received = host
        .attend(client.call_round(params))
        .await?
        .map_err(failed)?;
    match received.value {
        Came::Done(value) => Ok(RoundEnd::Result(Received {
            value,
            raw: received.raw,
        })),
        Came::NeedInput(_) => Ok(RoundEnd::Asks(received.raw)),
        Came::Task(_) | Came::CoreTask(_) => {
            let error = "the server returned a task, which the client did not request";
            Err(Error::new(Kind::Protocol, error))
        }
    }
}

fn show(
    session: &mut Session,
    result: &Received<CallToolResult>,
    is_json: bool,
    outcome: &mut Outcome,
) -> Result<(), Error> {
    let host = &mut session.host;
    outcome.tool_error = result.value.failed();
    match is_json {
        true => host.print(out::of_json(&result.raw))?,
        false => host.print(out::of_text(content::tool_result(&result.value)))?,
    }
    left_out(host, &result.value.left_out, outcome);
    Ok(())
}

/// The schema of a form. Fields that seem to ask for a secret are marked.
fn marked(schema: &FormSchema, message: &str) -> serde_json::Result<RawJson> {
    let mut root: OrderedMap<RawJson> = serde_json::from_str(&schema.to_json())?;
    let Some(properties) = root.get("properties") else {
        return RawJson::new(&root);
    };
    let mut properties: OrderedMap<RawJson> = properties.decode()?;
    for field in schema.secret_fields(message) {
        if let Some(property) = properties.get(&field.name) {
            let mut property: OrderedMap<RawJson> = property.decode()?;
            property.insert("secret", RawJson::new(&true)?);
            properties.insert(&field.name, RawJson::new(&property)?);
        }
    }
    root.insert("properties", RawJson::new(&properties)?);
    RawJson::new(&root)
}

fn warning(warning: &Warning) -> String {
    match warning.words() {
        (words, Some(of)) => format!("{words} {}", of.raw()),
        (words, None) => words.to_string(),
    }
}
