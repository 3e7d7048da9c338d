//! Lists, their entries, and calls of tools that change nothing or that the user named.

use std::collections::BTreeSet;

use askback::{
    Revision,
    internal::jsonrpc::{INVALID_PARAMS, METHOD_NOT_FOUND},
    protocol::{
        CallToolResult, RawObject,
        codes::{MISSING_CAPABILITY, RESOURCE_NOT_FOUND},
        reason,
    },
};
use serde_json::{Map, Value, json};

use super::{Conversation, NOBODY, Trials, asked_everything};
use crate::{
    NamedTool, UnknownName,
    listed::{Lists, MEMBERS, mirrored},
    probe::{ENTRIES, LINES, PAGES, ProbeRequest, Reply, Wait, is_question},
    rules::*,
};

const NOWHERE: &str = "askback-check://nowhere/no-such-resource";

const ACKNOWLEDGEMENT: &str = "notifications/subscriptions/acknowledged";

const TOKEN: &str = "askback-progress";

const HARMLESS: usize = 4;

impl Trials<'_> {
    /// Checks that in at least one revision the server lists each tool that the user named. A list
    /// that could not be read completely may contain any tool.
    pub(crate) async fn find_tools(
        &mut self,
        revisions: &BTreeSet<Revision>,
    ) -> Result<(), UnknownName> {
        let mut listed = BTreeSet::new();
        let mut revisions = revisions.iter().rev();
        let tools = self.scope.tools.iter();
        while let Some(missing) = tools.clone().find(|tool| !listed.contains(&tool.name)) {
            let Some(&revision) = revisions.next() else {
                let name = missing.name.clone();
                return Err(UnknownName::Tool { name, listed });
            };
            self.ledger.revision = revision;
            // Some servers hide tools that ask questions from a client that cannot be asked.
            let Some(mut talk) = self.begin(asked_everything()).await else {
                break;
            };
            let pages = talk.pages("tools").await;
            let has_tools = talk.has("tools");
            talk.probe.close().await;
            let is_list = |page: &Reply| page.result()["tools"].is_array();
            let has_more = |page: &Reply| page.result()["nextCursor"].is_string();
            if has_tools && !pages.iter().all(is_list) || pages.last().is_some_and(has_more) {
                break;
            }
            let tools = pages.iter().flat_map(|page| entries(page, "tools"));
            let names = tools.filter_map(|tool| tool["name"].as_str());
            listed.extend(names.map(str::to_owned));
        }
        Ok(())
    }

    /// Subscribes to changes of a list (2026-07-28, basic/patterns/subscriptions).
    pub(super) async fn subscription(&mut self) {
        let Some(mut talk) = self.begin(json!({})).await else {
            return;
        };
        let mut kinds = ["tools", "prompts", "resources"].into_iter();
        if let Some(kind) = kinds.find(|kind| talk.offered()[kind]["listChanged"] == true) {
            let params = json!({"notifications": {format!("{kind}ListChanged"): true}});
            let message = talk.probe.request("subscriptions/listen", params);
            let seen = talk.send(ProbeRequest::message(&message, Wait::Any)).await;
            let is_first = seen.notifications.first().is_some_and(|first| {
                let meta = &first["params"]["_meta"];
                first["method"] == ACKNOWLEDGEMENT
                    && meta["io.modelcontextprotocol/subscriptionId"] == message["id"]
            });
            let changed = format!("notifications/{kind}/list_changed");
            let allowed = [changed.as_str(), ACKNOWLEDGEMENT];
            let is_asked_for = |it: &Value| allowed.iter().any(|method| it["method"] == **method);
            let is_quiet = seen.notifications.iter().all(is_asked_for);
            talk.judge(&seen, [(ACKNOWLEDGED, is_first), (UNREQUESTED, is_quiet)]);
            if seen.media().starts_with("text/event-stream") {
                let is_unbuffered = seen.header("x-accel-buffering").as_deref() == Some("no");
                talk.judge(&seen, [(STREAM_BUFFERING, is_unbuffered)]);
            }
        }
        talk.probe.close().await;
    }
}

impl Conversation<'_> {
    pub(super) async fn lists(&mut self) {
        let mut lists = Lists::default();
        for member in MEMBERS {
            let entries = self.list(member).await;
            lists.0.insert(member, entries);
        }
        lists.judge(self.ledger);
        self.listed = lists.of("tools").to_vec();
        self.refusals(lists.of("prompts")).await;
        if self.has("resources") {
            let seen = self.ask("resources/read", json!({"uri": NOWHERE})).await;
            let contents = seen.result()["contents"].as_array();
            // The resource may exist after all.
            if contents.is_none_or(Vec::is_empty) {
                let verdicts = [
                    (UNKNOWN_RESOURCE, seen.has_code(INVALID_PARAMS)),
                    (OLD_UNKNOWN_RESOURCE, seen.has_code(RESOURCE_NOT_FOUND)),
                ];
                self.judge(&seen, verdicts);
            }
        }
    }

    /// Reads the pages of a list. Reads only the first page if the list is not declared.
    async fn pages(&mut self, member: &str) -> Vec<Reply> {
        let (mut pages, mut cursors) = (Vec::new(), BTreeSet::new());
        let (mut params, mut count) = (json!({}), 0_usize);
        let (method, has) = (method(member), self.has(capability(member)));
        for _ in 0..PAGES {
            let seen = self.ask(&method, params).await;
            count = count.saturating_add(entries(&seen, member).count());
            let next = seen.result()["nextCursor"].as_str().map(str::to_owned);
            pages.push(seen);
            let next = next.filter(|_| has && count < ENTRIES);
            let Some(next) = next.filter(|next| cursors.insert(next.clone())) else {
                break;
            };
            params = json!({"cursor": next});
        }
        pages
    }

    async fn list(&mut self, member: &str) -> Vec<Value> {
        let rules: &[Rule] = match member {
            "tools" => &[TOOLS_CACHING, TOOLS_DECLARED, TOOLS_LISTED],
            "prompts" => &[PROMPTS_CACHING, PROMPTS_DECLARED, PROMPTS_LISTED],
            "resources" => &[RESOURCES_CACHING, RESOURCES_DECLARED, RESOURCES_LISTED],
            _ => &[TEMPLATES_CACHING],
        };
        let pages = self.pages(member).await;
        let has = self.has(capability(member));
        for (index, page) in pages.iter().enumerate() {
            if let (&[_, declared, listed], 0) = (rules, index) {
                let is_declared = has || entries(page, member).next().is_none();
                self.judge(page, [(declared, is_declared)]);
                let is_listed = (listed, page.result()[member].is_array());
                self.judge(page, has.then_some(is_listed));
            }
            if has {
                self.caching(rules[0], page);
            }
        }
        if has {
            let params = json!({"cursor": "askback-no-such-cursor"});
            let seen = self.ask(&method(member), params).await;
            if !seen.has_code(METHOD_NOT_FOUND) {
                self.judge(&seen, [(BAD_CURSOR, seen.has_code(INVALID_PARAMS))]);
            }
        }
        let all = pages.iter().flat_map(|page| entries(page, member));
        all.cloned().collect()
    }

    async fn refusals(&mut self, prompts: &[Value]) {
        let wants = |prompt: &&Value| {
            let mut arguments = prompt["arguments"].as_array().into_iter().flatten();
            arguments.any(|argument| argument["required"] == true)
        };
        let wanting = prompts.iter().find(wants).map(|prompt| &prompt["name"]);
        let nobody = json!({"name": NOBODY});
        let bare = json!({"name": wanting, "arguments": {}});
        let has_prompts = self.has("prompts");
        for (is_tried, params, rule) in [
            (has_prompts, nobody, UNKNOWN_PROMPT),
            (has_prompts && wanting.is_some(), bare, PROMPT_ARGUMENTS),
        ] {
            if is_tried {
                let seen = self.ask("prompts/get", params).await;
                self.judge(&seen, [(rule, seen.has_code(INVALID_PARAMS))]);
            }
        }
    }

    pub(super) async fn calls(&mut self) {
        if !self.has("tools") {
            return;
        }
        // Calls that must fail: of an unknown tool, and without a required argument.
        let mut unfit = self.harmless(|tool| !required(tool).is_empty());
        unfit.push(bare(NOBODY));
        for mut tool in self.scope.tools.iter().cloned() {
            if let Some(first) = required(self.tool(&tool.name)).first() {
                tool.arguments.remove(*first);
                unfit.push(tool);
            }
        }
        for tool in unfit {
            let seen = self.call(&tool, json!({})).await;
            let result = seen.result();
            let asks = result["resultType"] == "input_required";
            let is_error = result.is_null() || result["isError"] == true || asks;
            self.judge(&seen, [(ARGUMENTS, is_error)]);
        }
        // Calls that may succeed, by a client that cannot be asked.
        for tool in self.callable() {
            let meta = json!({"progressToken": TOKEN});
            let seen = self.call(&tool, json!({"_meta": meta})).await;
            let schema = self.tool(&tool.name)["outputSchema"].clone();
            self.structured(&seen, &schema);
            self.undeclared(&seen);
            self.notified(&seen);
        }
    }

    /// The first of the listed read-only tools that meet a condition.
    fn harmless(&self, is_such: impl Fn(&Value) -> bool) -> Vec<NamedTool> {
        let tools = self.listed.iter();
        let tools = tools.filter(|tool| tool["annotations"]["readOnlyHint"] == true);
        let tools = tools.filter(|tool| is_such(tool)).take(HARMLESS);
        let names = tools.filter_map(|tool| tool["name"].as_str());
        names.map(bare).collect()
    }

    /// Returns the tools that may be called, with arguments that should be valid.
    pub(super) fn callable(&self) -> Vec<NamedTool> {
        let mut tools = self.scope.tools.clone();
        let is_named = |tool: &NamedTool| self.scope.tools.iter().any(|it| it.name == tool.name);
        let harmless = self.harmless(|tool| required(tool).is_empty());
        tools.extend(harmless.into_iter().filter(|tool| !is_named(tool)));
        tools
    }

    /// Calls a tool. Mirrors arguments into headers if the schema says so.
    pub(super) async fn call(&mut self, tool: &NamedTool, more: Value) -> Reply {
        let mut params = json!({"name": tool.name, "arguments": tool.arguments});
        if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
            params.extend(more);
        }
        let mut sent = ProbeRequest::request(&self.probe.request("tools/call", params));
        if let Some(Ok(annotations)) = mirrored(self.tool(&tool.name))
            && self.is_modern()
            && self.way.is_http()
        {
            let arguments = json!(tool.arguments).to_string();
            let arguments = serde_json::from_str::<RawObject>(&arguments).ok();
            for (name, value) in annotations.headers(arguments.as_ref()) {
                sent = sent.header(name, Some(&value));
            }
        }
        let seen = self.send(sent).await;
        // Another rule says what is answered for a tool that does not exist.
        if !self.tool(&tool.name).is_null() {
            self.shape(&seen);
        }
        seen
    }

    /// Judges what our client cannot read of a result. Questions and tasks have other members.
    fn shape(&mut self, seen: &Reply) {
        let result = seen.answer.as_ref().and_then(|it| it.get("result"));
        let is_over = |it: &&Value| {
            let is_complete = matches!(it["resultType"].as_str(), None | Some("complete"));
            is_complete && !it["task"].is_object()
        };
        let Some(result) = result.filter(is_over) else {
            return;
        };
        let faults = match CallToolResult::from_text(&result.to_string()) {
            Ok(read) => {
                let faults = read.left_out.iter().take(LINES);
                faults.map(ToString::to_string).collect()
            }
            Err(error) => vec![reason(&error)],
        };
        self.ledger.judge_faults(RESULT_SHAPE, seen, faults);
    }

    fn structured(&mut self, seen: &Reply, schema: &Value) {
        let result = seen.result();
        let is_over = matches!(result["resultType"].as_str(), None | Some("complete"));
        if result.is_null() || result["isError"] == true || !is_over {
            return;
        }
        let structured = result.get("structuredContent");
        if schema.is_object() {
            let fits = structured.map_or(Some(false), |found| fits(schema, found));
            self.judge(seen, fits.map(|fits| (STRUCTURED, fits)));
        }
        if structured.is_some() {
            let mut content = result["content"].as_array().into_iter().flatten();
            let is_told = content.any(|block| block["type"] == "text");
            self.judge(seen, [(STRUCTURED_TEXT, is_told)]);
        }
    }

    fn undeclared(&mut self, seen: &Reply) {
        let questions = seen.result()["inputRequests"].as_object();
        let mut questions = questions.into_iter().flatten();
        let asks = questions.any(|(_, question)| is_question(&question["method"]));
        self.judge(seen, [(UNDECLARED_QUESTIONS, !asks)]);
        if seen.has_code(MISSING_CAPABILITY) {
            let is_named = seen.error()["data"]["requiredCapabilities"].is_object();
            let status = (CAPABILITY_STATUS, seen.has_status(400));
            self.judge(seen, [(CAPABILITY_NAMED, is_named), status]);
        }
    }

    fn notified(&mut self, seen: &Reply) {
        let of = |method: &'static str| {
            let all = seen.notifications.iter();
            all.filter(move |message| message["method"] == method)
        };
        let is_quiet = of("notifications/message").next().is_none();
        self.judge(seen, [(QUIET_LOG, is_quiet)]);
        let steps = of("notifications/progress").map(|step| &step["params"]);
        let steps: Vec<_> = steps.collect();
        if !steps.is_empty() {
            let is_named = steps.iter().all(|step| step["progressToken"] == TOKEN);
            let values: Vec<_> = steps.iter().map(|it| it["progress"].as_f64()).collect();
            let rises = values.windows(2).all(|pair| pair[0] < pair[1]);
            self.judge(seen, [(PROGRESS_TOKEN, is_named), (PROGRESS_RISES, rises)]);
        }
    }
}

fn capability(member: &str) -> &str {
    match member {
        "resourceTemplates" => "resources",
        member => member,
    }
}

fn method(member: &str) -> String {
    match member {
        "resourceTemplates" => "resources/templates/list".to_owned(),
        member => format!("{member}/list"),
    }
}

pub(super) fn entries<'a>(page: &'a Reply, member: &str) -> impl Iterator<Item = &'a Value> {
    page.result()[member].as_array().into_iter().flatten()
}

fn bare(name: &str) -> NamedTool {
    NamedTool {
        name: name.to_owned(),
        arguments: Map::new(),
    }
}

fn required(tool: &Value) -> Vec<&str> {
    let names = tool["inputSchema"]["required"].as_array();
    let names = names.into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// Whether a value fits a schema; `None` if the schema is invalid, or if this build has no schema check.
#[cfg(feature = "json-schema")]
fn fits(schema: &Value, value: &Value) -> Option<bool> {
    let validator = jsonschema::validator_for(schema).ok()?;
    Some(validator.is_valid(value))
}

#[cfg(not(feature = "json-schema"))]
fn fits(_: &Value, _: &Value) -> Option<bool> {
    None
}
