//! Calls of tools that change nothing, or that the user named.

use askback::protocol::codes::MISSING_CAPABILITY;
use serde_json::{Value, json};

use super::{Conversation, Trials, bare, lists::NOBODY};
use crate::{
    NamedTool,
    probe::{Reply, Sent, is_question},
    rules::*,
};

/// The token of progress that goes with each call.
const TOKEN: &str = "askback-progress";

impl Trials<'_> {
    pub(super) async fn calls(&mut self, talk: &mut Conversation) {
        if !talk.has("tools") {
            return;
        }
        self.refused(talk, &bare(NOBODY)).await;
        for tool in self.without_arguments(talk) {
            self.refused(talk, &tool).await;
        }
        let tools = self.callable(talk);
        for tool in &tools {
            self.called(talk, tool).await;
        }
    }

    /// The tools that may be called, with arguments that should do.
    pub(super) fn callable(&self, talk: &Conversation) -> Vec<NamedTool> {
        let mut tools = self.scope.tools.clone();
        let is_named = |tool: &NamedTool| self.scope.tools.iter().any(|it| it.name == tool.name);
        let harmless = talk.harmless(|tool| required(tool).is_empty());
        tools.extend(harmless.into_iter().filter(|tool| !is_named(tool)));
        tools
    }

    /// The tools that may be called, each without an argument that it requires.
    fn without_arguments(&self, talk: &Conversation) -> Vec<NamedTool> {
        let mut all = talk.harmless(|tool| !required(tool).is_empty());
        for mut tool in self.scope.tools.iter().cloned() {
            if let Some(first) = required(talk.tool(&tool.name)).first() {
                tool.arguments.remove(*first);
                all.push(tool);
            }
        }
        all
    }

    /// A call that cannot succeed.
    async fn refused(&mut self, talk: &mut Conversation, tool: &NamedTool) {
        let seen = self.call(talk, tool, json!({})).await;
        let result = seen.result();
        let asks = result["resultType"] == "input_required";
        let is_error = result.is_null() || result["isError"] == true || asks;
        self.judge(&seen, [(ARGUMENTS, is_error)]);
    }

    /// A call that may succeed, by a client that can be asked nothing.
    async fn called(&mut self, talk: &mut Conversation, tool: &NamedTool) {
        let meta = json!({"progressToken": TOKEN});
        let seen = self.call(talk, tool, json!({"_meta": meta})).await;
        self.structured(&seen, &talk.tool(&tool.name)["outputSchema"]);
        self.undeclared(&seen);
        self.notified(&seen);
    }

    /// Calls a tool. Its arguments travel in headers, too, if its schema says so.
    pub(super) async fn call(
        &mut self,
        talk: &mut Conversation,
        tool: &NamedTool,
        more: Value,
    ) -> Reply {
        let mut params = json!({"name": tool.name, "arguments": tool.arguments});
        if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
            params.extend(more);
        }
        let message = talk.probe.request("tools/call", params);
        let sent = Sent::request(&message).mirroring(talk.tool(&tool.name), &tool.arguments);
        self.send(talk, sent).await
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
            let is_400 = seen.has_status(400);
            self.judge(
                seen,
                [(CAPABILITY_NAMED, is_named), (CAPABILITY_STATUS, is_400)],
            );
        }
    }

    /// Judges the notifications that came with a call.
    fn notified(&mut self, seen: &Reply) {
        let of = |method: &'static str| {
            let all = seen.notifications.iter();
            all.filter(move |message| message["method"] == method)
        };
        if self.is_modern() {
            let is_quiet = of("notifications/message").next().is_none();
            self.judge(seen, [(QUIET_LOG, is_quiet)]);
        }
        let steps: Vec<_> = of("notifications/progress")
            .map(|step| &step["params"])
            .collect();
        if !steps.is_empty() {
            let is_named = steps.iter().all(|step| step["progressToken"] == TOKEN);
            let values: Vec<_> = steps.iter().map(|it| it["progress"].as_f64()).collect();
            let rises = values.windows(2).all(|pair| pair[0] < pair[1]);
            self.judge(seen, [(PROGRESS_TOKEN, is_named), (PROGRESS_RISES, rises)]);
        }
    }
}

fn required(tool: &Value) -> Vec<&str> {
    let names = tool["inputSchema"]["required"].as_array();
    let names = names.into_iter().flatten();
    names.filter_map(Value::as_str).collect()
}

/// Whether a value fits a schema; `None` if that is no schema, or if this build checks none.
#[cfg(feature = "json-schema")]
fn fits(schema: &Value, value: &Value) -> Option<bool> {
    let validator = jsonschema::validator_for(schema).ok()?;
    Some(validator.is_valid(value))
}

#[cfg(not(feature = "json-schema"))]
fn fits(_: &Value, _: &Value) -> Option<bool> {
    None
}
