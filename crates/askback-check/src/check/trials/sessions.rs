//! Answers on a session that no client would give.

use serde_json::{Value, json};

use super::{
    super::{NamedTool, Unasked, attempt::Kind},
    Conversation, Trials,
};
use crate::probe::{Sent, Wait, is_question};

impl Trials<'_> {
    /// Calls a tool that asks on the session, and answers as no client would.
    pub(in crate::check) async fn answers_of(&mut self, tool: &NamedTool) -> Result<(), Unasked> {
        let talk = self.begin_listed().await;
        let mut talk = talk.ok_or(Unasked::Unbegun)?;
        let seen = self.call(&mut talk, tool, json!({})).await;
        let question = seen.reply.asked.iter().find(|asked| is_question(asked));
        let asked = match question.map(|question| question["id"].clone()) {
            Some(id) => {
                self.answered(&mut talk, Kind::AnsweredTwice, &id).await;
                let nobody = json!("askback-nobody");
                self.answered(&mut talk, Kind::AnsweredUnknown, &nobody)
                    .await;
                self.answered_late(&mut talk, tool).await;
                Ok(())
            }
            None => Err(Unasked::of(&seen)),
        };
        talk.probe.close().await;
        asked
    }

    /// Answers a question after its call was cancelled.
    async fn answered_late(&mut self, talk: &mut Conversation, tool: &NamedTool) {
        talk.probe.set_answering(false);
        let mut sent = self.request_of(talk, tool, json!({}));
        let call = serde_json::from_slice::<Value>(&sent.body).unwrap_or_default();
        sent.wait = Wait::Question;
        let seen = self.send(talk, sent).await;
        talk.probe.set_answering(true);
        let question = seen.reply.asked.iter().find(|asked| is_question(asked));
        let Some(id) = question.map(|question| question["id"].clone()) else {
            return self.untried(Kind::AnsweredLate, "the call asked nothing this time");
        };
        let cancelled = json!({
            "jsonrpc": "2.0", "method": "notifications/cancelled",
            "params": {"requestId": call["id"], "reason": "a trial"},
        });
        self.send(talk, Sent::message(&cancelled, Wait::Nothing))
            .await;
        self.answered(talk, Kind::AnsweredLate, &id).await;
    }

    /// Sends an answer, and then a ping.
    async fn answered(&mut self, talk: &mut Conversation, kind: Kind, id: &Value) {
        let answer = json!({"jsonrpc": "2.0", "id": id, "result": {"action": "decline"}});
        let answered = self.send(talk, Sent::message(&answer, Wait::Nothing)).await;
        let mut seen = self.ask(talk, "ping", json!({})).await;
        seen.shown = format!("{}\n{}", answered.shown, seen.shown);
        self.tried(kind, seen);
    }
}
