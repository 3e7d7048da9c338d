//! Lists, what is on them, and subscriptions to their changes.

use std::collections::BTreeSet;

use askback::protocol::codes::RESOURCE_NOT_FOUND;
use askback_core::jsonrpc::{INVALID_PARAMS, METHOD_NOT_FOUND};
use serde_json::{Value, json};

use super::{Conversation, Trials};
use crate::{
    listed::Lists,
    probe::{ENTRIES, PAGES, Reply, Sent, Wait, id_of},
    rules::*,
};

/// A list of a server: the capability, the method and the member of it; that a server with such things declares them, and
/// lists what it declares; that it says how long it may be kept.
struct List(
    &'static str,
    &'static str,
    &'static str,
    Option<[Rule; 2]>,
    Rule,
);

const TOOLS: List = List(
    "tools",
    "tools/list",
    "tools",
    Some([TOOLS_DECLARED, TOOLS_LISTED]),
    TOOLS_CACHING,
);

const PROMPTS: List = List(
    "prompts",
    "prompts/list",
    "prompts",
    Some([PROMPTS_DECLARED, PROMPTS_LISTED]),
    PROMPTS_CACHING,
);

const RESOURCES: List = List(
    "resources",
    "resources/list",
    "resources",
    Some([RESOURCES_DECLARED, RESOURCES_LISTED]),
    RESOURCES_CACHING,
);

const TEMPLATES: List = List(
    "resources",
    "resources/templates/list",
    "resourceTemplates",
    None,
    TEMPLATES_CACHING,
);

/// A name that nothing has.
pub(super) const NOBODY: &str = "askback-no-such-name";

/// A URI that leads to nothing.
const NOWHERE: &str = "askback-check://nowhere/no-such-resource";

const ACKNOWLEDGEMENT: &str = "notifications/subscriptions/acknowledged";

impl Trials<'_> {
    pub(super) async fn lists(&mut self, talk: &mut Conversation) {
        talk.listed = self.list(talk, TOOLS).await;
        if talk.has("tools") {
            self.same_order(talk).await;
        }
        let prompts = self.list(talk, PROMPTS).await;
        self.prompts(talk, &prompts).await;
        let lists = Lists {
            tools: talk.listed.clone(),
            prompts,
            resources: self.list(talk, RESOURCES).await,
            templates: self.list(talk, TEMPLATES).await,
        };
        lists.judge(self.ledger);
        self.unknown_resource(talk).await;
        self.completions(talk).await;
        self.log_level(talk).await;
    }

    /// Reads a list, all its pages.
    async fn list(&mut self, talk: &mut Conversation, list: List) -> Vec<Value> {
        let List(capability, method, member, declared, caching) = list;
        let mut all = Vec::new();
        let mut cursors = BTreeSet::new();
        let mut params = json!({});
        let mut scope = None;
        for _ in 0..PAGES {
            let seen = self.ask(talk, method, params).await;
            let result = seen.result();
            let items = result[member].as_array();
            let has = talk.has(capability);
            if let (Some([declared, listed]), true) = (declared, cursors.is_empty()) {
                let is_declared = has || items.is_none_or(Vec::is_empty);
                self.judge(&seen, [(declared, is_declared)]);
                let is_listed = has.then_some((listed, items.is_some()));
                self.judge(&seen, is_listed);
            }
            all.extend(items.into_iter().flatten().cloned());
            if !has {
                return all;
            }
            self.caching(caching, &seen);
            if !result.is_null() {
                let first = scope.get_or_insert_with(|| result["cacheScope"].clone());
                if !cursors.is_empty() {
                    let is_same = *first == result["cacheScope"];
                    self.judge(&seen, [(PAGES_SCOPE, is_same)]);
                }
            }
            match result["nextCursor"].as_str() {
                Some(next) if all.len() < ENTRIES && cursors.insert(next.to_owned()) => {
                    params = json!({"cursor": next});
                }
                _ => break,
            }
        }
        let params = json!({"cursor": "askback-no-such-cursor"});
        let seen = self.ask(talk, method, params).await;
        if !seen.has_code(METHOD_NOT_FOUND) {
            self.judge(&seen, [(BAD_CURSOR, seen.has_code(INVALID_PARAMS))]);
        }
        all
    }

    async fn same_order(&mut self, talk: &mut Conversation) {
        let names = |seen: &Reply| {
            let tools = seen.result()["tools"].as_array().into_iter().flatten();
            tools.map(|tool| tool["name"].clone()).collect::<Vec<_>>()
        };
        let first = self.ask(talk, TOOLS.1, json!({})).await;
        let seen = self.ask(talk, TOOLS.1, json!({})).await;
        let is_same = names(&first) == names(&seen);
        self.judge(&seen, [(TOOLS_ORDER, is_same)]);
    }

    async fn prompts(&mut self, talk: &mut Conversation, prompts: &[Value]) {
        if !talk.has("prompts") {
            return;
        }
        let nobody = json!({"name": NOBODY});
        let refusal = [(UNKNOWN_PROMPT, INVALID_PARAMS)];
        self.refuse(talk, "prompts/get", nobody, refusal).await;
        let wants = |prompt: &&Value| {
            let mut arguments = prompt["arguments"].as_array().into_iter().flatten();
            arguments.any(|argument| argument["required"] == true)
        };
        let Some(prompt) = prompts.iter().find(wants) else {
            return;
        };
        let params = json!({"name": prompt["name"], "arguments": {}});
        let refusal = [(PROMPT_ARGUMENTS, INVALID_PARAMS)];
        self.refuse(talk, "prompts/get", params, refusal).await;
    }

    async fn unknown_resource(&mut self, talk: &mut Conversation) {
        if !talk.has("resources") {
            return;
        }
        let params = json!({"uri": NOWHERE});
        let seen = self.ask(talk, "resources/read", params).await;
        let contents = seen.result()["contents"].as_array();
        // It may lead to something after all.
        if contents.is_none_or(Vec::is_empty) {
            let verdicts = [
                (UNKNOWN_RESOURCE, seen.has_code(INVALID_PARAMS)),
                (OLD_UNKNOWN_RESOURCE, seen.has_code(RESOURCE_NOT_FOUND)),
            ];
            self.judge(&seen, verdicts);
        }
    }

    async fn completions(&mut self, talk: &mut Conversation) {
        let reference = json!({"type": "ref/prompt", "name": NOBODY});
        let params = json!({"ref": reference, "argument": {"name": "a", "value": ""}});
        let refusal = match talk.has("completions") {
            true => (COMPLETION_PROMPT, INVALID_PARAMS),
            false => (NO_COMPLETION, METHOD_NOT_FOUND),
        };
        self.refuse(talk, "completion/complete", params, [refusal])
            .await;
    }

    async fn log_level(&mut self, talk: &mut Conversation) {
        if !talk.has("logging") {
            return;
        }
        let (method, params) = match self.is_modern() {
            true => {
                let meta = json!({"io.modelcontextprotocol/logLevel": "askback"});
                ("server/discover", json!({"_meta": meta}))
            }
            false => ("logging/setLevel", json!({"level": "askback"})),
        };
        let refusal = [(LOG_LEVEL, INVALID_PARAMS)];
        self.refuse(talk, method, params, refusal).await;
    }

    /// Subscribes to changes of a list (2026-07-28, basic/patterns/subscriptions).
    pub(super) async fn subscription(&mut self) {
        let Some(mut talk) = self.begin(json!({})).await else {
            return;
        };
        let mut kinds = ["tools", "prompts", "resources"].into_iter();
        let Some(kind) = kinds.find(|kind| talk.offered[kind]["listChanged"] == true) else {
            talk.probe.close().await;
            return;
        };
        let filter = json!({format!("{kind}ListChanged"): true});
        let params = json!({"notifications": filter});
        let message = talk.probe.request("subscriptions/listen", params);
        let sent = Sent::message(&message, Wait::Any);
        let seen = self.send(&mut talk, sent).await;
        let is_first = seen.notifications.first().is_some_and(|first| {
            let meta = &first["params"]["_meta"];
            first["method"] == ACKNOWLEDGEMENT
                && meta["io.modelcontextprotocol/subscriptionId"] == id_of(&message)
        });
        let allowed = format!("notifications/{kind}/list_changed");
        let is_asked_for = |it: &Value| it["method"] == *allowed || it["method"] == ACKNOWLEDGEMENT;
        let is_quiet = seen.notifications.iter().all(is_asked_for);
        self.judge(&seen, [(ACKNOWLEDGED, is_first), (UNREQUESTED, is_quiet)]);
        if seen.media().starts_with("text/event-stream") {
            let is_unbuffered = seen.header("x-accel-buffering").as_deref() == Some("no");
            self.judge(&seen, [(STREAM_BUFFERING, is_unbuffered)]);
        }
        talk.probe.close().await;
    }
}
