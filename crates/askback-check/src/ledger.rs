use std::collections::{BTreeMap, BTreeSet};

use askback::Revision;
use serde::Serialize;

use crate::{
    probe::{End, Reply},
    rules::{self, Level, Row, Rule},
};

/// Which findings make a server fail.
#[derive(Debug, Clone, Default)]
pub struct Measure {
    /// Whether every finding counts, not just a broken MUST.
    pub is_strict: bool,
    /// The ids of rules that may be broken.
    pub allowed: BTreeSet<&'static str>,
}

#[derive(Debug)]
pub(crate) struct Ledger {
    is_http: bool,
    pub(crate) revision: Revision,
    /// The ids of the rules that were tried, and whether each was always kept.
    tried: BTreeMap<&'static str, bool>,
    findings: Vec<Finding>,
    pub(crate) departures: Vec<Departure>,
    /// Whether the server went away, and no rule was judged since.
    is_away: bool,
}

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Departure {
    pub(crate) revision: &'static str,
    pub(crate) sent: String,
    pub(crate) came: String,
    pub(crate) stderr: Vec<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Finding {
    pub(crate) row: &'static Row,
    pub(crate) revisions: BTreeSet<Revision>,
    pub(crate) sent: String,
    pub(crate) came: String,
    /// The list entries that break the rule. Like the exchange, from the first time.
    pub(crate) places: Vec<String>,
    pub(crate) wanted: &'static str,
}

const MAX_DEPARTURES: usize = 8;

const STDERR_LINES: usize = 8;

impl Measure {
    pub(crate) fn counts(&self, finding: &Finding) -> bool {
        !self.allows(finding) && (self.is_strict || finding.row.level == Level::Must)
    }

    pub(crate) fn allows(&self, finding: &Finding) -> bool {
        self.allowed.contains(finding.row.id)
    }
}

impl Ledger {
    pub(crate) fn new(is_http: bool) -> Self {
        Self {
            is_http,
            revision: Revision::LATEST,
            tried: BTreeMap::new(),
            findings: Vec::new(),
            departures: Vec::new(),
            is_away: false,
        }
    }

    /// Records whether rules were kept in an exchange. Skips rules that do not apply.
    pub(crate) fn judge(&mut self, seen: &Reply, verdicts: impl IntoIterator<Item = (Rule, bool)>) {
        for (rule, is_kept) in verdicts {
            self.judge_as(rule, is_kept, seen, rule.wanted);
        }
    }

    /// Like [`Ledger::judge`], with a special expectation for this exchange.
    pub(crate) fn judge_as(
        &mut self,
        rule: Rule,
        is_kept: bool,
        seen: &Reply,
        wanted: &'static str,
    ) {
        if seen.is_gone() {
            self.note_departure(seen);
        } else if !matches!(seen.end, End::Unreachable(_)) {
            // A server that is gone breaks no more rules.
            self.is_away = false;
            self.put(rule, is_kept, wanted, &seen.sent, seen.shown(), Vec::new());
        }
    }

    pub(crate) fn judge_part(&mut self, rule: Rule, is_kept: bool, sent: &str, came: String) {
        self.put(rule, is_kept, rule.wanted, sent, came, Vec::new());
    }

    /// Records the places that break a rule. Without places, the rule was kept.
    pub(crate) fn judge_places(&mut self, rule: Rule, places: Vec<String>) {
        let is_kept = places.is_empty();
        self.put(rule, is_kept, rule.wanted, "", String::new(), places);
    }

    /// Records the faults of an answer that break a rule. Without faults, the rule was kept.
    pub(crate) fn judge_faults(&mut self, rule: Rule, seen: &Reply, faults: Vec<String>) {
        let is_kept = faults.is_empty();
        self.put(rule, is_kept, rule.wanted, &seen.sent, seen.shown(), faults);
    }

    fn note_departure(&mut self, seen: &Reply) {
        if !self.is_away && self.departures.len() < MAX_DEPARTURES {
            self.is_away = true;
            let more = seen.stderr.len().saturating_sub(STDERR_LINES);
            self.departures.push(Departure {
                revision: self.revision.as_str(),
                sent: seen.sent.clone(),
                came: seen.shown(),
                stderr: seen.stderr[more..].to_vec(),
            });
        }
    }

    fn put(
        &mut self,
        rule: Rule,
        is_kept: bool,
        wanted: &'static str,
        sent: &str,
        came: String,
        places: Vec<String>,
    ) {
        let Some(row) = rule.row(self.revision, self.is_http) else {
            return;
        };
        *self.tried.entry(row.id).or_insert(true) &= is_kept;
        if is_kept {
            return;
        }
        let mut findings = self.findings.iter_mut();
        match findings.find(|it| it.row.id == row.id && it.wanted == wanted) {
            Some(known) => _ = known.revisions.insert(self.revision),
            None => self.findings.push(Finding {
                row,
                revisions: BTreeSet::from([self.revision]),
                sent: sent.to_owned(),
                came,
                places,
                wanted,
            }),
        }
    }

    /// Sorted by severity, the most severe first.
    pub(crate) fn findings(&self) -> Vec<&Finding> {
        let mut findings: Vec<_> = self.findings.iter().collect();
        findings.sort_by_key(|finding| (finding.row.level, finding.row.id));
        findings
    }

    pub(crate) fn kept(&self) -> Vec<&'static Row> {
        let rows = rows().map(|(_, row)| row);
        rows.filter(|row| self.tried.get(row.id) == Some(&true))
            .collect()
    }

    /// The rules of these revisions that were not tried, with the reason.
    pub(crate) fn not_tried(
        &self,
        revisions: &BTreeSet<Revision>,
    ) -> Vec<(&'static Row, &'static str)> {
        let applies = |(rule, row): &(&Rule, &Row)| {
            let mut revisions = revisions.iter();
            revisions.any(|revision| rule.row(*revision, self.is_http) == Some(*row))
        };
        let left = rows().filter(|(_, row)| !self.tried.contains_key(row.id));
        let left = left.filter(applies);
        left.map(|(rule, row)| (row, rule.untried)).collect()
    }
}

/// Each id once.
fn rows() -> impl Iterator<Item = (&'static Rule, &'static Row)> {
    let mut known = BTreeSet::new();
    let rows = rules::ALL
        .iter()
        .flat_map(|rule| rule.rows.iter().map(move |row| (rule, row)));
    rows.filter(move |(_, row)| known.insert(row.id))
}

#[cfg(test)]
mod tests {
    use askback::Revision::{V2025_11_25, V2026_07_28};

    use super::*;
    use crate::rules::*;

    fn seen(end: End) -> Reply {
        Reply {
            end,
            ..Reply::default()
        }
    }

    #[test]
    fn the_same_finding_in_several_revisions_is_reported_once() {
        let mut ledger = Ledger::new(false);
        for revision in [V2025_11_25, V2026_07_28] {
            ledger.revision = revision;
            ledger.judge(&seen(End::Done), [(BAD_CURSOR, false), (JSON_RPC, false)]);
        }
        ledger.judge(&seen(End::Done), [(BAD_CURSOR, true)]);
        let findings = ledger.findings();
        let found = findings.iter().map(|it| (it.row.id, it.revisions.len()));
        assert_eq!(found.collect::<Vec<_>>(), [("BA-02", 2), ("PG-09", 2)]);
        assert!(ledger.kept().is_empty());
        assert!(findings.iter().any(|it| Measure::default().counts(it)));
    }
}
