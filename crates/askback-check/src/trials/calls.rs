//! Calls of tools that change nothing, or that the person named.

use askback::protocol::codes::MISSING_CAPABILITY;
use serde_json::{Map, Value, json};

use super::{Conversation, Trials, lists::NOBODY};
use crate::{
    NamedTool,
    probe::{Exchange, Sent, is_question},
    rules::*,
};

/// The most tools that are called because they say that they change nothing.
const HARMLESS: usize = 4;

/// The token of progress that goes with each call.
const TOKEN: &str = "askback-progress";

/// Why structured content cannot be held against an output schema.
const UNCHECKED: &str = match cfg!(feature = "json-schema") {
    true => "the output schema of a tool is no JSON Schema",
    false => "this build checks no output schemas: install askback with the feature `json-schema`",
};

impl Trials<'_> {
    pub(super) async fn calls(&mut self, talk: &mut Conversation) {
        if !talk.has("tools") {
            let rules = [ARGUMENTS, STRUCTURED, STRUCTURED_TEXT];
            return self.ledger.untried(&rules, "the server has no tools");
        }
        let unknown = NamedTool {
            name: NOBODY.to_owned(),
            arguments: Map::new(),
        };
        self.refused(talk, &unknown).await;
        for tool in self.without_arguments(talk) {
            self.refused(talk, &tool).await;
        }
        let tools = self.callable(talk);
        for tool in &tools {
            self.called(talk, tool).await;
        }
        let uncalled = uncalled(talk, &tools);
        for (rule, why) in [
            (STRUCTURED, without_schema(talk, &tools)),
            (
                STRUCTURED_TEXT,
                "no tool that was called gave structured content",
            ),
            (UNDECLARED_QUESTIONS, "no call was answered"),
        ] {
            self.ledger.untried(&[rule], uncalled.unwrap_or(why));
        }
    }

    /// The tools that may be called, with arguments that should do.
    pub(super) fn callable(&self, talk: &Conversation) -> Vec<NamedTool> {
        let can_do_without = |tool: &&Value| required(tool).is_empty();
        let harmless = talk.harmless().filter(can_do_without).take(HARMLESS);
        let named = self.scope.tools.iter().cloned();
        let is_named = |name: &str| self.scope.tools.iter().any(|tool| tool.name == name);
        let names = harmless.filter_map(|tool| tool["name"].as_str());
        let harmless = names.filter(|name| !is_named(name)).map(|name| NamedTool {
            name: name.to_owned(),
            arguments: Map::new(),
        });
        named.chain(harmless).collect()
    }

    /// The tools that may be called, each without an argument that it requires.
    fn without_arguments(&self, talk: &Conversation) -> Vec<NamedTool> {
        let wants = |tool: &&Value| !required(tool).is_empty();
        let mut all: Vec<_> = talk
            .harmless()
            .filter(wants)
            .take(HARMLESS)
            .filter_map(|tool| tool["name"].as_str())
            .map(|name| NamedTool {
                name: name.to_owned(),
                arguments: Map::new(),
            })
            .collect();
        for tool in &self.scope.tools {
            let listed = talk.tool(&tool.name).map(required).unwrap_or_default();
            if let Some(first) = listed.first() {
                let mut arguments = tool.arguments.clone();
                arguments.remove(*first);
                let name = tool.name.clone();
                all.push(NamedTool { name, arguments });
            }
        }
        all
    }

    /// A call that cannot succeed.
    async fn refused(&mut self, talk: &mut Conversation, tool: &NamedTool) {
        let seen = self.call(talk, tool, json!({})).await;
        let result = seen.reply.result();
        let is_error = result.is_none_or(|result| {
            result["isError"] == true || result["resultType"] == "input_required"
        });
        self.ledger.judge(ARGUMENTS, is_error, &seen);
    }

    /// A call that may succeed, by a client that can be asked nothing.
    async fn called(&mut self, talk: &mut Conversation, tool: &NamedTool) {
        let meta = json!({"progressToken": TOKEN});
        let seen = self.call(talk, tool, json!({"_meta": meta})).await;
        let declared = talk.tool(&tool.name);
        let declared = declared.and_then(|it| it["outputSchema"].as_object().cloned());
        self.structured(&seen, declared.map(Value::Object).as_ref());
        self.undeclared(&seen);
        self.beside(&seen);
    }

    /// Calls a tool. Its arguments travel in headers, too, where its schema says so.
    pub(super) async fn call(
        &mut self,
        talk: &mut Conversation,
        tool: &NamedTool,
        more: Value,
    ) -> Exchange {
        let mut params = json!({"name": tool.name, "arguments": tool.arguments});
        if let (Value::Object(params), Value::Object(more)) = (&mut params, more) {
            params.extend(more);
        }
        let message = talk.probe.request("tools/call", params);
        let sent = Sent::request(&message).mirroring(talk.tool(&tool.name), &tool.arguments);
        self.send(talk, sent).await
    }

    fn structured(&mut self, seen: &Exchange, declared: Option<&Value>) {
        let Some(result) = seen.reply.result() else {
            return;
        };
        let is_over = !matches!(result["resultType"].as_str(), Some(kind) if kind != "complete");
        if result["isError"] == true || !is_over {
            return;
        }
        let structured = result.get("structuredContent");
        let has = structured.is_some();
        match declared.map(|schema| structured.map(|found| fits(schema, found))) {
            None => {}
            Some(None) => self.ledger.judge(STRUCTURED, false, seen),
            Some(Some(Some(fits))) => {
                self.ledger.judge(STRUCTURED, fits, seen);
            }
            Some(Some(None)) => self.ledger.untried(&[STRUCTURED], UNCHECKED),
        }
        if has {
            let mut content = result["content"].as_array().into_iter().flatten();
            let is_told = content.any(|block| block["type"] == "text");
            self.ledger.judge(STRUCTURED_TEXT, is_told, seen);
        }
    }

    fn undeclared(&mut self, seen: &Exchange) {
        let result = seen.reply.result();
        let questions = result.and_then(|result| result["inputRequests"].as_object());
        let asks = questions.is_some_and(|all| all.values().any(is_question));
        self.ledger.judge(UNDECLARED_QUESTIONS, !asks, seen);
        if seen.reply.code() == Some(MISSING_CAPABILITY) {
            let missing = seen
                .reply
                .error()
                .map(|error| &error["data"]["requiredCapabilities"]);
            let is_told = missing.is_some_and(Value::is_object);
            self.ledger.judge(CAPABILITY_NAMED, is_told, seen);
            let is_400 = seen.reply.status == Some(400);
            self.ledger.judge(CAPABILITY_STATUS, is_400, seen);
        }
    }

    /// The notifications that came with a call.
    fn beside(&mut self, seen: &Exchange) {
        let of = |method: &'static str| {
            let all = seen.reply.notifications.iter();
            all.filter(move |message| message["method"] == method)
        };
        if self.is_modern() {
            let is_quiet = of("notifications/message").next().is_none();
            self.ledger.judge(QUIET_LOG, is_quiet, seen);
        }
        let steps: Vec<_> = of("notifications/progress").collect();
        if steps.is_empty() {
            return;
        }
        let is_named = steps
            .iter()
            .all(|step| step["params"]["progressToken"] == TOKEN);
        self.ledger.judge(PROGRESS_TOKEN, is_named, seen);
        let values = steps.iter().map(|step| step["params"]["progress"].as_f64());
        let values: Vec<_> = values.collect();
        let rises = values.windows(2).all(|pair| pair[0] < pair[1]);
        self.ledger.judge(PROGRESS_RISES, rises, seen);
    }
}

/// Why no tool was called, if none was.
pub(super) fn uncalled(talk: &Conversation, called: &[NamedTool]) -> Option<&'static str> {
    called.is_empty().then(|| match talk.harmless().next() {
        Some(_) => {
            "each tool that says that it changes nothing requires arguments; name one with --tool"
        }
        None => "no tool says that it changes nothing; name one with --tool",
    })
}

/// Why no structured content was held against an output schema, where tools were called.
fn without_schema(talk: &Conversation, called: &[NamedTool]) -> &'static str {
    let declares = |tool: &NamedTool| {
        let listed = talk.tool(&tool.name);
        listed.is_some_and(|listed| listed["outputSchema"].is_object())
    };
    match called.iter().any(declares) {
        true => "no tool that was called with an output schema gave a result",
        false => "no tool that was called has an output schema",
    }
}

/// The arguments that a tool requires.
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
