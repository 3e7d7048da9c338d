//! The ledger: the requirements that were kept, and those that were broken.

use std::collections::{BTreeMap, BTreeSet};

use askback_core::revision::Revision;

use super::{
    measure::Measure,
    rules::{self, Rule},
};
use crate::probe::Exchange;

/// The verdicts of all trials, by requirement.
#[derive(Debug)]
pub struct Ledger {
    is_http: bool,
    /// The revision that is being tried.
    revision: Revision,
    entries: BTreeMap<&'static str, Entry>,
    /// The exchanges at which the server went away.
    departures: Vec<Departure>,
    /// Whether nothing has come since the last of them.
    is_away: bool,
}

/// Something at which a server went away, and what it was sent.
#[derive(Debug, Clone)]
pub struct Departure {
    /// The revision that was tried.
    pub revision: Revision,
    /// The last thing that was sent.
    pub sent: String,
    /// The last thing that came.
    pub came: String,
    /// The last lines that it wrote to its standard error.
    pub stderr: Vec<String>,
}

/// The verdicts on one requirement.
#[derive(Debug, Clone, Default)]
pub(super) struct Entry {
    /// The revisions in which the server was seen to keep it.
    pub kept: BTreeSet<Revision>,
    /// The findings; equal ones of several revisions are one.
    pub findings: Vec<Finding>,
    /// Why it could not be tried, where it was not.
    pub untried: Option<&'static str>,
}

/// A requirement that was seen to be broken.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The requirement.
    pub rule: Rule,
    /// The revisions in which it was seen.
    pub revisions: BTreeSet<Revision>,
    /// The message that was sent, the first time.
    pub sent: String,
    /// The reply, the first time.
    pub came: String,
    /// The reply that was required.
    pub wanted: &'static str,
}

/// The most findings of one requirement; more of the same kind tell nothing new.
const FINDINGS: usize = 8;

/// The most lines of its standard error that are kept of a server that went away.
const LINES: usize = 8;

impl Ledger {
    /// An empty one.
    pub fn new(is_http: bool) -> Self {
        Self {
            is_http,
            revision: Revision::LATEST,
            entries: BTreeMap::new(),
            departures: Vec::new(),
            is_away: false,
        }
    }

    /// Begins with another revision.
    pub fn turn_to(&mut self, revision: Revision) {
        self.revision = revision;
    }

    /// Notes whether a requirement was kept in an exchange. One that does not apply is passed over.
    pub fn judge(&mut self, rule: Rule, is_kept: bool, seen: &Exchange, wanted: &'static str) {
        if seen.reply.is_gone() {
            return self.note_departure(seen);
        }
        // Where the server is gone, it breaks nothing any more.
        if seen.reply.is_unseen() {
            return;
        }
        self.is_away = false;
        let (sent, came) = (seen.shown.clone(), || seen.reply.shown());
        self.put(rule, is_kept, sent, came, wanted);
    }

    /// Notes it where a server went away instead of answering.
    fn note_departure(&mut self, seen: &Exchange) {
        if !self.is_away && self.departures.len() < FINDINGS {
            self.is_away = true;
            let lines = &seen.reply.stderr;
            self.departures.push(Departure {
                revision: self.revision,
                sent: seen.shown.clone(),
                came: seen.reply.shown(),
                stderr: lines[lines.len().saturating_sub(LINES)..].to_vec(),
            });
        }
    }

    /// Returns the exchanges at which the server went away.
    pub fn departures(&self) -> &[Departure] {
        &self.departures
    }

    /// Notes what a part of a message came to.
    pub fn judge_part(
        &mut self,
        rule: Rule,
        is_kept: bool,
        sent: &str,
        part: &str,
        wanted: &'static str,
    ) {
        self.put(rule, is_kept, sent.to_owned(), || part.to_owned(), wanted);
    }

    fn put(
        &mut self,
        rule: Rule,
        is_kept: bool,
        sent: String,
        came: impl FnOnce() -> String,
        wanted: &'static str,
    ) {
        if !rule.applies(self.revision, self.is_http) {
            return;
        }
        let revision = self.revision;
        let entry = self.entries.entry(rule.id).or_default();
        entry.untried = None;
        if is_kept {
            entry.kept.insert(revision);
            return;
        }
        let mut findings = entry.findings.iter_mut();
        if let Some(known) = findings.find(|known| known.wanted == wanted) {
            known.revisions.insert(revision);
        } else if entry.findings.len() < FINDINGS {
            entry.findings.push(Finding {
                rule,
                revisions: BTreeSet::from([revision]),
                sent,
                came: came(),
                wanted,
            });
        }
    }

    /// Notes why a requirement cannot be tried here.
    pub fn untried(&mut self, rule: Rule, why: &'static str) {
        if rule.applies(self.revision, self.is_http) {
            let entry = self.entries.entry(rule.id).or_default();
            if entry.kept.is_empty() && entry.findings.is_empty() {
                entry.untried = Some(why);
            }
        }
    }

    /// Notes why a requirement was tried at no call, unless a better reason is known.
    pub fn tried_nowhere(&mut self, rule: Rule, why: &'static str) {
        let entry = self.entries.get(rule.id);
        if entry.is_none_or(|entry| entry.untried.is_none()) {
            self.untried(rule, why);
        }
    }

    /// The requirements that were broken, the strongest first.
    pub fn findings(&self) -> Vec<&Finding> {
        let entries = self.entries.values();
        let mut findings: Vec<_> = entries.flat_map(|entry| &entry.findings).collect();
        findings.sort_by_key(|finding| finding.rule.level);
        findings
    }

    /// The requirements that were kept wherever they were tried.
    pub fn kept(&self) -> Vec<&'static Rule> {
        self.all(|entry| entry.findings.is_empty() && !entry.kept.is_empty())
    }

    /// The requirements that were not tried, with the reason.
    pub fn not_tried(&self, revisions: &BTreeSet<Revision>) -> Vec<(&'static Rule, &'static str)> {
        let applies = |rule: &&Rule| {
            let mut revisions = revisions.iter();
            revisions.any(|revision| rule.applies(*revision, self.is_http))
        };
        let rules = rules::ALL.iter().filter(applies);
        let left = rules.filter_map(|rule| match self.entries.get(rule.id) {
            Some(entry) => entry.untried.map(|why| (rule, why)),
            None => Some((rule, "nothing here led to it")),
        });
        left.collect()
    }

    /// Whether a requirement that counts is broken, or the server went away.
    pub fn is_broken(&self, measure: &Measure) -> bool {
        let findings = self.findings();
        let mut broken = findings.iter().map(|finding| finding.rule);
        !self.departures.is_empty() || broken.any(|rule| measure.counts(&rule))
    }

    fn all(&self, is: impl Fn(&Entry) -> bool) -> Vec<&'static Rule> {
        let rules = rules::ALL.iter();
        rules
            .filter(|rule| self.entries.get(rule.id).is_some_and(&is))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use askback_core::revision::Revision::{V2025_06_18, V2025_11_25, V2026_07_28};

    use super::*;
    use crate::{
        check::rules::*,
        probe::{End, Reply},
    };

    fn seen() -> Exchange {
        Exchange {
            shown: "sent".to_owned(),
            reply: Reply::default(),
        }
    }

    #[test]
    fn a_requirement_is_judged_where_it_applies() {
        let mut ledger = Ledger::new(false);
        ledger.turn_to(V2025_06_18);
        ledger.judge(DISCOVER, false, &seen(), "a result");
        ledger.judge(ORIGIN, false, &seen(), "403");
        assert!(ledger.findings().is_empty());
        ledger.turn_to(V2026_07_28);
        ledger.judge(DISCOVER, false, &seen(), "a result");
        assert_eq!(ledger.findings().len(), 1);
    }

    #[test]
    fn the_same_finding_of_several_revisions_is_one() {
        let mut ledger = Ledger::new(false);
        for revision in [V2025_11_25, V2026_07_28] {
            ledger.turn_to(revision);
            ledger.judge(BAD_CURSOR, false, &seen(), "-32602");
            ledger.judge(JSON_RPC, false, &seen(), "-32601");
        }
        ledger.judge(BAD_CURSOR, true, &seen(), "-32602");
        let findings = ledger.findings();
        let found: Vec<_> = findings
            .iter()
            .map(|finding| (finding.rule.id, finding.revisions.len()))
            .collect();
        // The strongest first.
        assert_eq!(found, [("BA-02", 2), ("PG-09", 2)]);
        assert!(ledger.kept().is_empty());
        assert!(ledger.is_broken(&Measure::default()));
    }

    #[test]
    fn a_server_that_is_gone_breaks_nothing_more() {
        let mut ledger = Ledger::new(false);
        let ended = |end| Exchange {
            reply: Reply {
                end,
                ..Reply::default()
            },
            ..seen()
        };
        ledger.judge(
            JSON_RPC,
            false,
            &ended(End::Unreachable(String::new())),
            "x",
        );
        assert!(!ledger.is_broken(&Measure::default()));
        for _ in 0..2 {
            ledger.judge(JSON_RPC, false, &ended(End::Closed(String::new())), "x");
        }
        assert!(ledger.findings().is_empty());
        assert_eq!(ledger.departures().len(), 1);
        assert!(ledger.is_broken(&Measure::default()));
    }

    #[test]
    fn what_was_tried_once_was_tried() {
        let mut ledger = Ledger::new(false);
        ledger.turn_to(V2026_07_28);
        ledger.untried(BAD_CURSOR, "there is no list");
        ledger.judge(BAD_CURSOR, true, &seen(), "-32602");
        ledger.untried(BAD_CURSOR, "there is no list");
        ledger.untried(UNKNOWN_PROMPT, "there are no prompts");
        let not_tried = ledger.not_tried(&BTreeSet::from([V2026_07_28]));
        let why = |id| not_tried.iter().find(|(rule, _)| rule.id == id);
        assert!(why("PG-09").is_none());
        assert_eq!(
            why("PR-11").map(|(_, why)| *why),
            Some("there are no prompts")
        );
        assert!(why("HT-03").is_none() && why("DI-01").is_some());
    }
}
