//! The beginning of a conversation, and what the server lists in it.

use std::{collections::BTreeSet, time::Duration};

use askback_core::{
    jsonrpc::METHOD_NOT_FOUND,
    protocol::{
        LeftOutEntry, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
        ListToolsResult,
    },
    revision::{Era, Revision},
};
use askback_host::{
    text::{Words, given},
    words,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Diagnosis, Lists,
    era::{self, Met},
    said::{self, Language},
};
use crate::{
    check,
    probe::{Bounds, Closed, ENTRIES, End, Probe, Reply, Way, is_question},
};

/// A conversation that was begun.
pub(super) struct Greeted {
    pub(super) talk: Probe,
    /// The result of the greeting.
    pub(super) result: Value,
}

/// How long a server may take to answer at first before that is worth a warning.
const SLOW: Duration = Duration::from_secs(3);

/// Begins a conversation in the newest revision that works.
pub(super) async fn greet(
    way: &Way,
    bounds: &Bounds,
    diagnosis: &mut Diagnosis,
    is_started: bool,
) -> Option<Greeted> {
    let Met { talk, reply } = match era::find(way, bounds).await {
        Ok(met) => met,
        Err(error) => {
            let advice = "A script needs a first line that names a program that is there.";
            let why = Some(error.to_string());
            diagnosis.fail("start", "it cannot be started:", why, advice);
            return None;
        }
    };
    let Some(found) = spoken(talk.revision(), &reply) else {
        let closed = talk.close().await;
        let started = is_started.then(|| Language::of(way));
        failed(diagnosis, started, &reply, closed);
        return None;
    };
    if is_started {
        diagnosis.ok("start", Some(reply.took), "it answers");
    }
    if reply.took > SLOW {
        let says = words!("it took {} s to answer at first", reply.took.as_secs());
        diagnosis.warn(says, [], "Hosts give up on servers that start slowly.");
    }
    if let Some((fault, message)) = reply.faults.first() {
        let quoted = Some(message.clone());
        diagnosis.fail("protocol", fault.says(), quoted, fault.advice());
        talk.close().await;
        return None;
    }
    let result = reply.result().cloned().unwrap_or_default();
    diagnosis.ok("protocol", (!is_started).then_some(reply.took), found);
    let claims = claims(&result);
    diagnosis.quote(claims.clone());
    diagnosis.claims = Some(claims).filter(|claims| !claims.trim().is_empty());
    Some(Greeted { talk, result })
}

/// The revisions that a greeting tells of; none where it failed.
fn spoken(revision: Revision, reply: &Reply) -> Option<Words> {
    let result = reply.result()?;
    match revision.era() {
        Era::Modern => {
            if !check::speaks(revision, reply) {
                return None;
            }
            let all = result["supportedVersions"].as_array().into_iter().flatten();
            let all = all.filter_map(Value::as_str);
            let all = all.filter_map(|version| version.parse::<Revision>().ok());
            Some(words!("each request by itself, in {}", listed(all)))
        }
        Era::Legacy => {
            let version = result["protocolVersion"].as_str()?;
            let known = version.parse::<Revision>().ok()?;
            Some(words!("with a handshake, in {}", given(known)))
        }
    }
}

fn listed(revisions: impl Iterator<Item = Revision>) -> Words {
    let unique: BTreeSet<Revision> = revisions.collect();
    let names = unique.into_iter().rev();
    Words::join(names.map(|revision| words!("{}", given(revision))), ", ")
}

/// The name that a server gives itself.
fn claims(result: &Value) -> String {
    let modern = &result["_meta"]["io.modelcontextprotocol/serverInfo"];
    let info = match modern.is_object() {
        true => modern,
        false => &result["serverInfo"],
    };
    let member = |name: &str| info[name].as_str().unwrap_or_default();
    format!("{} {}", member("name"), member("version"))
}

/// Says why no greeting was answered.
fn failed(diagnosis: &mut Diagnosis, started: Option<Language>, reply: &Reply, closed: Closed) {
    let mut lines = closed.noise;
    let is_noisy = !lines.is_empty();
    lines.extend(closed.stderr);
    let said = Some(lines.join("\n"));
    let known = said::advice(&lines);
    let is_started = started.is_some();
    match &reply.end {
        End::Closed(_) if is_started => {
            let says = match closed.code {
                Some(code) => words!("the server exited (code {})", i64::from(code)),
                None => "the server went away".into(),
            };
            let language = started.unwrap_or(Language::Other);
            let advice = match (known, lines.is_empty()) {
                (Some(known), _) => known,
                (None, true) if closed.code == Some(0) => language.on_silence(),
                (None, true) => "It said nothing: start it by hand to see more.",
                (None, false) => "What it said is above.",
            };
            diagnosis.fail("start", says, said, advice);
        }
        End::Silent(time) => {
            if is_started {
                diagnosis.ok("start", None, "the process runs");
            }
            let says = words!("there was no answer within {} s", time.as_secs_f64());
            let advice = match (is_started, is_noisy) {
                _ if known.is_some() => known.unwrap_or_default(),
                (true, true) => {
                    "What it writes is no message: see whether it needs an option for standard streams."
                }
                (true, false) => "See whether it is an MCP server over standard streams.",
                (false, _) => "See the log of the server.",
            };
            diagnosis.fail("protocol", says, said, advice);
        }
        _ => {
            if is_started {
                diagnosis.ok("start", Some(reply.took), "it answers");
            }
            let says = "it speaks no revision that is known here:";
            let advice = match is_started {
                true => "See whether it is an MCP server over standard streams.",
                false => "See whether there is an MCP server at this path, which takes POST.",
            };
            diagnosis.fail("protocol", says, Some(reply.shown()), advice);
        }
    }
}

/// Reads the lists of a server, and ends the conversation.
pub(super) async fn lists(
    mut talk: Probe,
    result: &Value,
    language: Language,
    bounds: &Bounds,
    diagnosis: &mut Diagnosis,
) -> Option<Lists> {
    if talk.revision().era() == Era::Legacy {
        talk.initialized().await;
    }
    let mut lists = Lists::default();
    let offered = &result["capabilities"];
    let mut failed = None;
    let mut left_out: Vec<String> = Vec::new();
    let mut took = Duration::ZERO;
    for (capability, method, member, list) in [
        ("tools", "tools/list", "tools", &mut lists.tools),
        ("prompts", "prompts/list", "prompts", &mut lists.prompts),
        (
            "resources",
            "resources/list",
            "resources",
            &mut lists.resources,
        ),
        (
            "resources",
            "resources/templates/list",
            "resourceTemplates",
            &mut lists.templates,
        ),
    ] {
        let is_declared = !matches!(offered[capability], Value::Null | Value::Bool(false));
        // Tools that a server forgot to declare are found all the same.
        if failed.is_some() || !is_declared && capability != "tools" {
            continue;
        }
        let mut params = json!({});
        let mut cursors = Cursors::default();
        loop {
            let reply = talk.ask(method, params).await.reply;
            took = took.max(reply.took);
            if let Some((fault, message)) = reply.faults.first() {
                failed = Some((fault.says().into(), message.clone(), fault.advice()));
                break;
            }
            let read = reply.result().map(|page| unusable(member, page));
            if let Some(Ok(entries)) = &read {
                let unusable = entries.iter().filter(|entry| !entry.is_hint);
                left_out.extend(unusable.map(ToString::to_string));
            }
            let page = reply.result().map(|page| &page[member]);
            // `null` is an empty list: it is how Go writes one.
            let page = page.and_then(|page| match page.is_null() {
                true => read.is_some_and(|read| read.is_ok()).then_some(&[][..]),
                false => page.as_array().map(Vec::as_slice),
            });
            let Some(page) = page else {
                if !is_declared {
                    break;
                }
                // A server with resources alone need not know templates.
                if !(capability == "resources" && reply.code() == Some(METHOD_NOT_FOUND)) {
                    let says = words!("{} is not answered as it should be:", method);
                    let advice = "See the log of the server, and askback check.";
                    failed = Some((says, reply.shown(), advice));
                }
                break;
            };
            if !is_declared && list.is_empty() && !page.is_empty() {
                diagnosis.warn(
                    words!(
                        "it lists {} and does not declare the capability:",
                        capability
                    ),
                    [capability.to_owned()],
                    "It should: most clients look for nothing that is not declared.",
                );
            }
            list.extend(page.iter().cloned());
            let next = reply.result().and_then(|page| page["nextCursor"].as_str());
            let Some(next) = next else { break };
            if list.len() >= ENTRIES {
                lists.unread.push(method);
                break;
            }
            if let Err(says) = cursors.follow(method, next, bounds.limits.client.pages) {
                let advice =
                    "The last page has no nextCursor. Clients give up on a list without an end.";
                failed = Some((says, next.to_owned(), advice));
                break;
            }
            params = json!({"cursor": next});
        }
    }
    let asked = talk.asked().iter().map(|asked| &asked.outline);
    let questions = asked.filter(|asked| is_question(asked));
    let methods: BTreeSet<String> = questions
        .filter_map(|asked| asked["method"].as_str().map(str::to_owned))
        .collect();
    if !methods.is_empty() {
        let says = "it asked a client that had not said that it can be asked";
        diagnosis.warn(
            says,
            methods,
            "It should look at the capabilities of the client.",
        );
    }
    leave(talk, language, diagnosis).await;
    match failed {
        Some((says, shown, advice)) => {
            diagnosis.fail("lists", says, Some(shown), advice);
            None
        }
        None if !left_out.is_empty() => {
            left_out.truncate(LEFT_OUT);
            let says = "it lists what cannot be used:";
            let advice = "Clients leave such an entry out, or give up on the whole list.";
            diagnosis.fail("lists", says, Some(left_out.join("\n")), advice);
            Some(lists)
        }
        None => {
            diagnosis.ok("lists", Some(took), "");
            Some(lists)
        }
    }
}

/// How many entries are named that cannot be used.
const LEFT_OUT: usize = 10;

/// The entries of a page that a client of this version leaves out.
fn unusable(member: &str, page: &Value) -> Result<Vec<LeftOutEntry>, serde_json::Error> {
    Ok(match member {
        "tools" => ListToolsResult::deserialize(page)?.left_out,
        "prompts" => ListPromptsResult::deserialize(page)?.left_out,
        "resources" => ListResourcesResult::deserialize(page)?.left_out,
        _ => ListResourceTemplatesResult::deserialize(page)?.left_out,
    })
}

/// The cursors of a list that led on.
#[derive(Default)]
struct Cursors(BTreeSet<String>);

impl Cursors {
    /// Counts a cursor that is to be followed; fails where a client follows it no more.
    fn follow(&mut self, method: &'static str, cursor: &str, pages: usize) -> Result<(), Words> {
        if !self.0.insert(cursor.to_owned()) {
            return Err(words!(
                "a cursor of {} leads back to an earlier page:",
                method
            ));
        }
        match self.0.len() < pages {
            true => Ok(()),
            false => Err(words!(
                "{} is longer than the {} pages accepted here:",
                method,
                pages
            )),
        }
    }
}

/// Ends a conversation, and looks at how the server does.
async fn leave(talk: Probe, language: Language, diagnosis: &mut Diagnosis) {
    let closed = talk.close().await;
    if !closed.noise.is_empty() {
        let says = "it writes what is no message to its standard output";
        diagnosis.warn(says, closed.noise, language.on_noise());
    }
    if closed.is_by_itself == Some(false) {
        let seconds = closed.allowed.as_secs();
        let says = words!("it went on for {} s after its input had ended", seconds);
        diagnosis.warn(
            says,
            [],
            "It should exit then: hosts may leave it behind otherwise.",
        );
    }
}
