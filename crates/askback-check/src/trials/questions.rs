//! Forms and links, and tools that ask in the middle of a session.

use askback::protocol::codes::URL_ELICITATION_REQUIRED;
use serde_json::{Value, json};

use super::{Conversation, Trials, calls::uncalled};
use crate::{NamedTool, probe::Exchange, rules::*};

impl Trials<'_> {
    /// Calls tools as a client that can be asked everything.
    pub(super) async fn questions(&mut self) {
        let Some(mut talk) = self.begin_listed().await else {
            return;
        };
        let tools = self.callable(&talk);
        for tool in &tools {
            let seen = self.call(&mut talk, tool, json!({})).await;
            for asked in &seen.reply.asked {
                if asked["method"] == "elicitation/create" {
                    self.question(&seen, &asked["params"]);
                }
            }
            if seen.reply.code() == Some(URL_ELICITATION_REQUIRED) {
                self.links(&seen);
            }
        }
        self.unasked(&talk, &tools);
        talk.probe.close().await;
    }

    /// Judges a form or a link.
    pub(super) fn question(&mut self, seen: &Exchange, params: &Value) {
        match params["mode"].as_str() {
            Some("url") => self.link(seen, params),
            _ => {
                let is_whole =
                    params["message"].is_string() && params["requestedSchema"].is_object();
                self.ledger.judge(FORM_SHAPE, is_whole, seen);
            }
        }
    }

    fn link(&mut self, seen: &Exchange, params: &Value) {
        let is_whole = params["message"].is_string() && params["url"].is_string();
        self.ledger.judge(LINK_SHAPE, is_whole, seen);
    }

    /// Judges the links of an error that requires them.
    fn links(&mut self, seen: &Exchange) {
        let data = seen.reply.error().map(|error| &error["data"]);
        let links = data.and_then(|data| data["elicitations"].as_array());
        for link in links.into_iter().flatten() {
            self.link(seen, link);
        }
    }

    /// Notes why forms and links were not looked at.
    pub(super) fn unasked(&mut self, talk: &Conversation, tools: &[NamedTool]) {
        let uncalled = uncalled(talk, tools);
        for (rule, why) in [
            (
                FORM_SHAPE,
                "no tool that was called sent a form; name one with --tool",
            ),
            (
                LINK_SHAPE,
                "no tool that was called sent a link; name one with --tool",
            ),
        ] {
            self.ledger.untried(&[rule], uncalled.unwrap_or(why));
        }
    }
}
