//! Skills (SEP-2640): their entries, and the files that the entries promise.

use askback::{
    client::check_skill_file,
    internal::{
        jsonrpc::{INVALID_PARAMS, METHOD_NOT_FOUND},
        quote::clipped,
    },
    protocol::{ReadResourceResult, ResultWithEntries, SKILLS_EXTENSION, Skill},
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Conversation, offers::entries};
use crate::{
    listed::{NAME_BYTES, name},
    probe::ENTRIES,
    rules::*,
};

const NO_SKILL: &str = "skill://askback-no-such-name/SKILL.md";

/// The maximum number of skills whose `SKILL.md` is read.
const MAX_SKILLS_READ: usize = 4;

impl Conversation<'_> {
    pub(super) async fn skills(&mut self) {
        let is_declared = self.offered()["extensions"][SKILLS_EXTENSION].is_object();
        if !self.is_modern() || !is_declared {
            return;
        }
        let has_resources = self.has("resources");
        let declared = [(SKILLS_RESOURCES, has_resources)];
        self.trials.judge(&self.greeting, declared);
        let listed = self.ask("skills/list", json!({})).await;
        let is_listed = listed.result()["skills"].is_array();
        self.judge(&listed, [(SKILLS_ANSWERED, is_listed)]);
        let seen = self.ask("skills/get", json!({"uri": NO_SKILL})).await;
        let is_known = !seen.has_code(METHOD_NOT_FOUND);
        self.judge(&seen, [(SKILLS_ANSWERED, is_known)]);
        let refused = (UNKNOWN_SKILL, seen.has_code(INVALID_PARAMS));
        self.judge(&seen, is_known.then_some(refused));
        let (mut skills, mut places) = (Vec::new(), Vec::new());
        for (entry, number) in entries(&listed, "skills").take(ENTRIES).zip(1_usize..) {
            match read_entry(entry) {
                Ok(skill) => skills.push(skill),
                Err(why) => places.push(match name(entry).as_str() {
                    "" => format!("skill {number}: {why}"),
                    name => format!("{name}: {why}"),
                }),
            }
        }
        if is_listed {
            self.ledger.judge_places(SKILL_ENTRY, places);
        }
        for skill in skills.iter().take(MAX_SKILLS_READ) {
            let params = json!({"uri": skill.uri});
            let seen = self.ask("resources/read", params).await;
            let read = ReadResourceResult::from_text(&seen.result().to_string()).ok();
            let is_right =
                read.is_some_and(|read| check_skill_file(skill, &skill.uri, &read).is_ok());
            self.judge(&seen, [(SKILL_FILE, is_right)]);
        }
    }
}

/// Reads an entry as a client does.
fn read_entry(entry: &Value) -> Result<Skill, String> {
    let skill = Skill::deserialize(entry).map_err(|error| error.to_string());
    let checked = skill.and_then(|skill| skill.check().map(|()| skill));
    checked.map_err(|why| clipped(&why, NAME_BYTES))
}
