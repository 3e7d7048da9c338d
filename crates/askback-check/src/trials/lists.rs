//! Lists, and what is on them.

use std::collections::BTreeSet;

use askback::protocol::codes::RESOURCE_NOT_FOUND;
use askback_core::jsonrpc::{INVALID_PARAMS, METHOD_NOT_FOUND};
use serde_json::{Value, json};

use super::{Conversation, Trials};
use crate::{
    listed::Lists,
    probe::{ENTRIES, Exchange, PAGES},
    rules::*,
};

/// A list of a server.
struct List {
    capability: &'static str,
    method: &'static str,
    member: &'static str,
    /// That a server with such things declares them.
    declared: Option<Rule>,
    listed: Option<Rule>,
    caching: Rule,
}

const TOOLS: List = List {
    capability: "tools",
    method: "tools/list",
    member: "tools",
    declared: Some(TOOLS_DECLARED),
    listed: Some(TOOLS_LISTED),
    caching: TOOLS_CACHING,
};

const PROMPTS: List = List {
    capability: "prompts",
    method: "prompts/list",
    member: "prompts",
    declared: Some(PROMPTS_DECLARED),
    listed: Some(PROMPTS_LISTED),
    caching: PROMPTS_CACHING,
};

const RESOURCES: List = List {
    capability: "resources",
    method: "resources/list",
    member: "resources",
    declared: Some(RESOURCES_DECLARED),
    listed: Some(RESOURCES_LISTED),
    caching: RESOURCES_CACHING,
};

const TEMPLATES: List = List {
    capability: "resources",
    method: "resources/templates/list",
    member: "resourceTemplates",
    declared: None,
    listed: None,
    caching: TEMPLATES_CACHING,
};

/// A name that nothing has.
pub(super) const NOBODY: &str = "askback-no-such-name";

/// A URI that leads to nothing.
const NOWHERE: &str = "askback-check://nowhere/no-such-resource";

impl Trials<'_> {
    pub(super) async fn lists(&mut self, talk: &mut Conversation) {
        talk.listed = self.list(talk, &TOOLS).await;
        if talk.has("tools") {
            self.same_order(talk).await;
        }
        let prompts = self.list(talk, &PROMPTS).await;
        self.prompts(talk, &prompts).await;
        let lists = Lists {
            tools: talk.listed.clone(),
            prompts,
            resources: self.list(talk, &RESOURCES).await,
            templates: self.list(talk, &TEMPLATES).await,
        };
        lists.judge(self.ledger);
        self.unknown_resource(talk).await;
        self.completions(talk).await;
        self.log_level(talk).await;
    }

    /// Reads a list, all its pages.
    async fn list(&mut self, talk: &mut Conversation, list: &List) -> Vec<Value> {
        let mut all = Vec::new();
        let mut cursors = BTreeSet::new();
        let mut params = json!({});
        let mut scope = None;
        for page in 0..PAGES {
            let seen = self.ask(talk, list.method, params).await;
            let items = seen.reply.result().map(|result| &result[list.member]);
            let items = items.and_then(Value::as_array).cloned();
            if page == 0 {
                self.judge_declared(talk, list, &seen, items.as_deref());
            }
            if !talk.has(list.capability) {
                return items.unwrap_or_default();
            }
            if seen.reply.result().is_some() {
                self.caching(list.caching, &seen);
                let now = seen
                    .reply
                    .result()
                    .map(|result| result["cacheScope"].clone());
                if page > 0 {
                    let is_same = now == scope;
                    self.ledger.judge(PAGES_SCOPE, is_same, &seen);
                }
                scope = now;
            }
            all.extend(items.unwrap_or_default());
            let result = seen.reply.result();
            let next = result.and_then(|result| result["nextCursor"].as_str());
            match next {
                Some(next) if all.len() < ENTRIES && cursors.insert(next.to_owned()) => {
                    params = json!({"cursor": next})
                }
                _ => break,
            }
        }
        let params = json!({"cursor": "askback-no-such-cursor"});
        let seen = self.ask(talk, list.method, params).await;
        if seen.reply.code() != Some(METHOD_NOT_FOUND) {
            let is_refused = seen.reply.code() == Some(INVALID_PARAMS);
            self.ledger.judge(BAD_CURSOR, is_refused, &seen);
        }
        all
    }

    fn judge_declared(
        &mut self,
        talk: &Conversation,
        list: &List,
        seen: &Exchange,
        items: Option<&[Value]>,
    ) {
        let has = talk.has(list.capability);
        if let Some(listed) = list.listed.filter(|_| has) {
            self.ledger.judge(listed, items.is_some(), seen);
        }
        let is_right = has || items.is_none_or(<[Value]>::is_empty);
        if let Some(rule) = list.declared {
            self.ledger.judge(rule, is_right, seen);
        }
    }

    async fn same_order(&mut self, talk: &mut Conversation) {
        let mut orders = Vec::new();
        let mut last = None;
        for _ in 0..2 {
            let seen = self.ask(talk, TOOLS.method, json!({})).await;
            let tools = seen.reply.result().map(|result| result["tools"].clone());
            let tools = tools.as_ref().and_then(Value::as_array);
            let names = tools.into_iter().flatten().map(|tool| tool["name"].clone());
            orders.push(names.collect::<Vec<_>>());
            last = Some(seen);
        }
        if let Some(seen) = last {
            let is_same = orders.windows(2).all(|pair| pair[0] == pair[1]);
            self.ledger.judge(TOOLS_ORDER, is_same, &seen);
        }
    }

    async fn prompts(&mut self, talk: &mut Conversation, prompts: &[Value]) {
        if !talk.has("prompts") {
            let rules = [UNKNOWN_PROMPT, PROMPT_ARGUMENTS];
            return self.ledger.untried(&rules, "the server has no prompts");
        }
        let seen = self.ask(talk, "prompts/get", json!({"name": NOBODY})).await;
        let is_refused = seen.reply.code() == Some(INVALID_PARAMS);
        self.ledger.judge(UNKNOWN_PROMPT, is_refused, &seen);
        let wants = |prompt: &&Value| {
            let mut arguments = prompt["arguments"].as_array().into_iter().flatten();
            arguments.any(|argument| argument["required"] == true)
        };
        let Some(prompt) = prompts.iter().find(wants) else {
            let why = "no prompt requires an argument";
            return self.ledger.untried(&[PROMPT_ARGUMENTS], why);
        };
        let params = json!({"name": prompt["name"], "arguments": {}});
        let seen = self.ask(talk, "prompts/get", params).await;
        let is_refused = seen.reply.code() == Some(INVALID_PARAMS);
        self.ledger.judge(PROMPT_ARGUMENTS, is_refused, &seen);
    }

    async fn unknown_resource(&mut self, talk: &mut Conversation) {
        if !talk.has("resources") {
            let rules = [UNKNOWN_RESOURCE, OLD_UNKNOWN_RESOURCE];
            return self.ledger.untried(&rules, "the server has no resources");
        }
        let params = json!({"uri": NOWHERE});
        let seen = self.ask(talk, "resources/read", params).await;
        let contents = seen.reply.result().map(|result| &result["contents"]);
        let contents = contents.and_then(Value::as_array);
        if contents.is_some_and(|contents| !contents.is_empty()) {
            // It may lead to something after all.
            return;
        }
        let code = seen.reply.code();
        self.ledger
            .judge(UNKNOWN_RESOURCE, code == Some(INVALID_PARAMS), &seen);
        self.ledger.judge(
            OLD_UNKNOWN_RESOURCE,
            code == Some(RESOURCE_NOT_FOUND),
            &seen,
        );
    }

    async fn completions(&mut self, talk: &mut Conversation) {
        let reference = json!({"type": "ref/prompt", "name": NOBODY});
        let argument = json!({"name": "a", "value": ""});
        let params = json!({"ref": reference, "argument": argument});
        let seen = self.ask(talk, "completion/complete", params).await;
        let code = seen.reply.code();
        match talk.has("completions") {
            true => {
                let is_refused = code == Some(INVALID_PARAMS);
                self.ledger.judge(COMPLETION_PROMPT, is_refused, &seen);
            }
            false => {
                let is_refused = code == Some(METHOD_NOT_FOUND);
                self.ledger.judge(NO_COMPLETION, is_refused, &seen);
                let why = "the server completes nothing";
                self.ledger.untried(&[COMPLETION_PROMPT], why);
            }
        }
    }

    async fn log_level(&mut self, talk: &mut Conversation) {
        if !talk.has("logging") {
            return self.ledger.untried(&[LOG_LEVEL], "the server logs nothing");
        }
        let seen = match self.is_modern() {
            true => {
                let meta = json!({"io.modelcontextprotocol/logLevel": "askback"});
                let params = json!({"_meta": meta});
                self.ask(talk, "server/discover", params).await
            }
            false => {
                let params = json!({"level": "askback"});
                self.ask(talk, "logging/setLevel", params).await
            }
        };
        let is_refused = seen.reply.code() == Some(INVALID_PARAMS);
        self.ledger.judge(LOG_LEVEL, is_refused, &seen);
    }
}
