//! The last call, made again as no client would.

use std::{collections::BTreeMap, time::Duration};

use askback_check::{
    check::{
        self, Agreed, NamedTool, Unasked,
        attempt::{Attempt, is_asked, is_success},
        report::put_exchange,
    },
    probe::Exchange,
};
use askback_core::{forms::FormSchema, revision::Revision};
use askback_host::{
    page::{Page, Style, out},
    text::{PeerText, given},
    wire::Wire,
    words,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Repl, again::Call, line::Trouble};
use crate::{
    error::{Error, Kind},
    probe_args::ProbeArgs,
};

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long the server is tried, beside the time in which a state lapses.
const TRIED: Duration = Duration::from_secs(5 * 60);

/// The words on the marks of what was tried.
const LEGEND: &str = "\u{2713} as required   × not as required   · right either way   - not tried";

/// The most characters of an error of the server that stand in a row.
const SAID: usize = 200;

impl Repl<'_> {
    /// Makes the last call again in all ways in which a client would not, on connections of their
    /// own, and says what the server did and should have done. A state is sent again after the seconds of
    /// `wanted`, and by its other principal, where it has them.
    pub(super) async fn trouble(&mut self, wanted: Trouble) -> Result<(), Error> {
        let tool = match self.known.last.as_ref().map(|last| last.whole()) {
            Some(Some(Call::Tool(tool, arguments))) => NamedTool {
                name: tool.name.clone(),
                arguments: arguments.clone(),
            },
            Some(Some(_)) => return Err(Error::usage("the last call was not one of a tool")),
            Some(None) => {
                let error = "the last call had arguments that seem to be secrets and are not kept";
                return Err(Error::usage(error).hint("askback check --tool makes such a call."));
            }
            None => {
                let error = Error::usage("there was no call that could be made again");
                return Err(error.hint("Call a tool that asks, then write /trouble."));
            }
        };
        let lapse = wanted
            .lapse
            .map(|seconds| Duration::from_secs(seconds.into()));
        let whole = TRIED.saturating_add(lapse.unwrap_or_default());
        let bounds = self
            .session
            .beside(ProbeArgs::default().bounds(PATIENCE, whole));
        let way = self.session.way(&bounds)?;
        let other = wanted
            .other
            .map(|name| self.session.other_way(&name, &bounds));
        let other = other.transpose()?;
        let revision = self.session.client.revision();
        let words = match self.one_of_several() {
            Some(name) => words!(
                "Forms and links of {} are declined, in {}: ",
                name,
                given(revision)
            ),
            None => words!("Forms and links are declined, in {}: ", given(revision)),
        };
        self.session.host.page().quote_line(words, &tool.name);
        let agreed = match &self.session.wire {
            Some(wire) => agreed(&wire.lock(), &tool),
            None => Vec::new(),
        };
        let known = check::Known {
            other: other.as_ref(),
            lapse,
            agreed: &agreed,
        };
        let trouble = check::trouble(&way, &bounds, revision, &tool, known);
        let attempts = self.session.host.attend(trouble).await?;
        let attempts = attempts.map_err(unasked)?;
        let mut page = out::stdout_page();
        put(&mut page, &attempts, revision);
        Ok(self.session.host.print(page.take().trimmed())?)
    }
}

/// The error for a call that asked nothing.
fn unasked(why: Unasked) -> Error {
    let (kind, words) = match why {
        Unasked::Unbegun => (
            Kind::Connection,
            "the server did not answer when it was opened once more".into(),
        ),
        Unasked::Gone => (
            Kind::Connection,
            "the call did not finish: the server went away".into(),
        ),
        Unasked::Silent => (
            Kind::Connection,
            words!(
                "the call did not finish: the server sent nothing for {} s",
                PATIENCE.as_secs()
            ),
        ),
        Unasked::Ended => (Kind::Usage, "the call asked nothing this time".into()),
    };
    let hint = "Nothing was tried: /trouble misuses the questions of a call, so it needs one.";
    Error::new(kind, words).hint(hint)
}

/// The forms that were agreed to in calls like this, after each of which the call asked again. What seems to be a secret
/// is sent by the person alone.
fn agreed(wire: &Wire, tool: &NamedTool) -> Vec<Agreed> {
    let mut found = Vec::new();
    // What each request of such a call agrees to, and what the last of them was asked.
    let mut sent: BTreeMap<String, Vec<Agreed>> = BTreeMap::new();
    let mut asked = Value::Null;
    for entry in wire.entries().filter(|entry| !entry.is_beside()) {
        let Ok(message) = serde_json::from_slice::<Value>(entry.message()) else {
            continue;
        };
        let id = message["id"].to_string();
        let params = &message["params"];
        if entry.is_sent() {
            let is_it = params["name"] == tool.name.as_str()
                && *params["arguments"].as_object().unwrap_or(&Map::new()) == tool.arguments;
            if message["method"] == "tools/call" && is_it {
                let answers = params["inputResponses"].as_object().into_iter().flatten();
                let answers = answers.filter(|(_, answer)| answer["action"] == "accept");
                let agreed = answers.map(|(key, answer)| Agreed {
                    question: asked[key].clone(),
                    answer: answer.clone(),
                });
                sent.insert(
                    id,
                    agreed
                        .filter(|agreed| may_repeat(&agreed.question))
                        .collect(),
                );
            }
        } else if let Some(agreed) = sent.remove(&id) {
            asked = message["result"]["inputRequests"].clone();
            if asked.is_object() {
                found.extend(agreed);
            }
        }
    }
    found
}

/// Whether the answer to a question may be given again without the person: that to a form which asks for no secret.
fn may_repeat(question: &Value) -> bool {
    let params = &question["params"];
    let message = params["message"].as_str().unwrap_or_default();
    let schema = FormSchema::deserialize(&params["requestedSchema"]);
    schema.is_ok_and(|schema| schema.secret_fields(message).next().is_none())
}

/// Puts what was tried on the page.
fn put(page: &mut Page, attempts: &[Attempt], revision: Revision) {
    for Attempt { kind, seen } in attempts {
        let rule = match kind.rule().filter(|rule| rule.applies(revision, false)) {
            Some(rule) => words!("{} {}", rule.id, rule.level.as_str()),
            None => "-".into(),
        };
        let seen = match seen {
            Ok(seen) if seen.reply.is_unseen() => Err("the server went away before"),
            Ok(seen) => Ok(seen),
            Err(why) => Err(*why),
        };
        let seen = match seen {
            Ok(seen) => seen,
            Err(why) => {
                let words = words!("{}  {}", rule.padded(15), kind.does());
                page.item("- ", Style::Dim, words);
                page.item("    ", Style::Dim, words!("not tried: {}", why));
                continue;
            }
        };
        // A server that does not answer neither goes on nor refuses.
        let is_mute = seen.reply.is_gone() || seen.reply.is_cut() || seen.reply.is_silent();
        let is_kept = match is_mute {
            true => Some(false),
            false => kind.is_kept(seen),
        };
        let (mark, style) = match is_kept {
            Some(true) => ("\u{2713} ", Style::Plain),
            Some(false) => ("× ", Style::Warning),
            None => ("· ", Style::Plain),
        };
        page.item(mark, style, words!("{}  {}", rule.padded(15), kind.does()));
        let (came, said) = came(seen);
        match said {
            Some(said) => page.quote_at(words!("    {} ", came), said),
            None => page.item("    ", Style::Plain, came),
        }
        if is_kept != Some(true) {
            let wanted = match kind.rule() {
                None if is_mute => "a result, or an error",
                _ => kind.wanted(),
            };
            page.item("    ", Style::Dim, words!("wanted: {}", wanted));
        }
        if is_kept == Some(false) {
            put_exchange(page, &seen.shown, &seen.reply.shown());
        }
    }
    page.note(Style::Dim, LEGEND);
}

/// The words for what the server did, and its own words where it refused.
fn came(seen: &Exchange) -> (&'static str, Option<PeerText>) {
    let reply = &seen.reply;
    if let Some(error) = reply.error() {
        let said = format!(
            "{}: {}",
            error["code"],
            error["message"].as_str().unwrap_or_default()
        );
        let (said, _) = PeerText::from(askback_host::text::line(&said)).cut(SAID);
        return ("it refused:", Some(said));
    }
    let came = match () {
        () if is_asked(seen) => "it asked",
        () if is_success(seen) => "a result",
        () if reply.result().is_some() => "a result that reports an error",
        () if reply.is_gone() => "it went away",
        () if reply.is_cut() => "the connection was cut before the answer",
        () if reply.is_silent() => "nothing came in time",
        () => "something else came",
    };
    (came, None)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use askback::transport::WireEvent;
    use serde_json::json;

    use super::*;

    /// A form with one field of this name.
    fn form(field: &str) -> Value {
        let properties = json!({field: {"type": "string"}});
        let schema = json!({"type": "object", "properties": properties});
        let params = json!({"message": "Who?", "requestedSchema": schema});
        json!({"method": "elicitation/create", "params": params})
    }

    #[test]
    fn an_answer_is_given_again_unless_it_is_that_of_the_person_alone() {
        #[track_caller]
        fn check(question: Value, may: bool) {
            assert_eq!(may_repeat(&question), may, "{question}");
        }
        let says = |message: &str, field: &str| {
            let mut form = form(field);
            form["params"]["message"] = message.into();
            form
        };
        check(form("city"), true);
        check(form("password"), false);
        check(says("Which city?", "value"), true);
        // A field that says nothing is judged by the message.
        check(says("Your password?", "value"), false);
        let link = json!({"mode": "url", "message": "Sign in.", "url": "https://a.test"});
        check(
            json!({"method": "elicitation/create", "params": link}),
            false,
        );
        let sampling = json!({"messages": [], "maxTokens": 1});
        check(
            json!({"method": "sampling/createMessage", "params": sampling}),
            false,
        );
        check(Value::Null, false);
    }

    #[test]
    fn the_answers_of_the_very_call_are_those_after_which_it_asked_again() {
        /// A round of a call: the parameters of its request, and its result.
        type Round = (Value, Value);

        #[track_caller]
        fn check(rounds: &[Round], beside: &[Round], expected: &[(&str, &str)]) {
            let mut wire = Wire::new(SystemTime::UNIX_EPOCH, 1 << 20);
            let all = rounds.iter().map(|round| (round, false));
            let all = all.chain(beside.iter().map(|round| (round, true)));
            for (id, ((params, result), is_beside)) in all.enumerate() {
                let sent = json!({"id": id, "method": "tools/call", "params": params}).to_string();
                let came = json!({"id": id, "result": result}).to_string();
                for event in [
                    WireEvent::Sent(sent.as_bytes()),
                    WireEvent::Received(came.as_bytes()),
                ] {
                    let _ = match is_beside {
                        true => wire.take_beside(&event, Duration::ZERO),
                        false => wire.take(&event, Duration::ZERO),
                    };
                }
            }
            let arguments = Map::from_iter([("to".to_owned(), "Rome".into())]);
            let tool = NamedTool {
                name: "book".to_owned(),
                arguments,
            };
            let found: Vec<_> = agreed(&wire, &tool)
                .into_iter()
                .map(|agreed| (agreed.question, agreed.answer["content"].clone()))
                .collect();
            let expected = expected
                .iter()
                .map(|(field, typed)| (form(field), json!({ *field: typed })));
            assert_eq!(found, expected.collect::<Vec<_>>());
        }
        let asks = |key: &str, field: &str| json!({"inputRequests": {key: form(field)}});
        let call = |to: &str| json!({"name": "book", "arguments": {"to": to}});
        let answers = |to: &str, key: &str, field: &str, action: &str| {
            let answer = json!({"action": action, "content": {field: "typed"}});
            let mut params = call(to);
            params["inputResponses"] = json!({key: answer});
            params
        };
        let done = json!({"content": []});
        let begin = || (call("Rome"), asks("a", "city"));
        let yes = |result: Value| (answers("Rome", "a", "city", "accept"), result);
        let found = &[("city", "typed")];
        check(&[begin(), yes(asks("b", "hotel"))], &[], found);
        // The last answer led to no question.
        check(&[begin(), yes(done.clone())], &[], &[]);
        let last = answers("Rome", "b", "hotel", "accept");
        check(
            &[begin(), yes(asks("b", "hotel")), (last.clone(), done)],
            &[],
            found,
        );
        check(
            &[begin(), yes(asks("b", "hotel")), (last, asks("c", "seat"))],
            &[],
            &[("city", "typed"), ("hotel", "typed")],
        );
        let no = answers("Rome", "a", "city", "decline");
        check(&[begin(), (no, asks("b", "hotel"))], &[], &[]);
        // A secret is typed by the person each time.
        let secret = answers("Rome", "a", "password", "accept");
        check(
            &[
                (call("Rome"), asks("a", "password")),
                (secret, asks("b", "hotel")),
            ],
            &[],
            &[],
        );
        // Those of other calls, and of what was tried on connections beside.
        let oslo = answers("Oslo", "a", "city", "accept");
        check(
            &[
                (call("Oslo"), asks("a", "city")),
                (oslo, asks("b", "hotel")),
            ],
            &[],
            &[],
        );
        let mut cancels = [begin(), yes(asks("b", "hotel"))];
        for (params, _) in &mut cancels {
            params["name"] = "cancel".into();
        }
        check(&cancels, &[], &[]);
        let twice = [begin(), yes(asks("b", "hotel"))];
        check(&[begin()], &twice, &[]);
        check(&twice, &twice, found);
    }
}
