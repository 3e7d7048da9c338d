//! The report of a check, for a person and for a program.

use std::collections::BTreeSet;

use askback_core::revision::Revision;
use askback_host::{
    page::{Page, Style},
    text::{PeerText, Words, given},
    words,
};
use serde::Serialize;

use super::{
    Checked, Departure, Finding,
    measure::Measure,
    rules::{Level, Rule},
};
use crate::probe::Lost;

/// The most characters of what was sent or came that are shown to a person.
const SHOWN: usize = 400;

/// The report as JSON.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report<'a> {
    /// Those the server speaks.
    revisions: Vec<&'static str>,
    tried: Vec<&'static str>,
    findings: Vec<Found<'a>>,
    /// The exchanges at which the server went away.
    departures: Vec<Departed<'a>>,
    /// Why the server was not tried to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_early: Option<String>,
    kept: Vec<&'static str>,
    not_tried: Vec<NotTried>,
}

#[derive(Debug, Serialize)]
struct Found<'a> {
    id: &'static str,
    level: Level,
    requirement: &'static str,
    /// Whether it may be broken, since the person said so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    allowed: bool,
    revisions: Vec<&'static str>,
    sent: &'a str,
    came: &'a str,
    wanted: &'static str,
}

#[derive(Debug, Serialize)]
struct Departed<'a> {
    revision: &'static str,
    sent: &'a str,
    came: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stderr: &'a [String],
}

#[derive(Debug, Serialize)]
struct NotTried {
    id: &'static str,
    why: &'static str,
}

impl Checked {
    /// Returns the report for a program.
    pub fn report(&self, measure: &Measure) -> Report<'_> {
        let findings = self.ledger.findings();
        let not_tried = self.ledger.not_tried(&self.tried);
        Report {
            revisions: names(self.spoken.iter()),
            tried: names(self.tried.iter()),
            findings: findings
                .into_iter()
                .map(|finding| Found::of(finding, measure))
                .collect(),
            departures: self.ledger.departures().iter().map(Departed::of).collect(),
            ended_early: self
                .lost
                .as_ref()
                .map(|lost| ended(lost).as_str().to_owned()),
            kept: self.ledger.kept().iter().map(|rule| rule.id).collect(),
            not_tried: not_tried
                .into_iter()
                .map(|(rule, why)| NotTried { id: rule.id, why })
                .collect(),
        }
    }

    /// Puts the report on a page; with `is_whole`, also what was kept and what was not tried.
    pub fn put(&self, page: &mut Page, is_whole: bool, measure: &Measure) {
        let revisions = listed(&self.spoken);
        page.say(Style::Dim, words!("The server speaks {}.", revisions));
        for departure in self.ledger.departures() {
            put_departure(page, departure);
        }
        if let Some(lost) = &self.lost {
            page.blank();
            page.item("× ", Style::Warning, ended(lost));
        }
        let findings = self.ledger.findings();
        for finding in &findings {
            put_finding(page, finding, measure);
        }
        let kept = self.ledger.kept();
        let not_tried = self.ledger.not_tried(&self.tried);
        if is_whole {
            put_rules(page, "Kept", kept.iter().map(|rule| (*rule, None)));
            let left = not_tried.iter().map(|(rule, why)| (*rule, Some(*why)));
            put_rules(page, "Not tried", left);
        }
        let of = |level| {
            let is = |finding: &&&Finding| finding.rule.level == level;
            findings.iter().filter(is).count()
        };
        let allowed = findings
            .iter()
            .filter(|finding| measure.allows(&finding.rule))
            .count();
        let allowed: Words = match allowed {
            0 => Words::default(),
            allowed => words!(" ({} of them allowed)", allowed),
        };
        page.blank();
        page.say(
            Style::Strong,
            words!(
                "{} MUST and {} SHOULD broken{}, {} kept, {} not tried",
                of(Level::Must),
                of(Level::Should),
                allowed,
                kept.len(),
                not_tried.len()
            ),
        );
        let is_broken = |id: &&str| findings.iter().any(|finding| finding.rule.id == *id);
        for id in measure.allowed.iter().filter(|id| !is_broken(id)) {
            page.note(Style::Dim, words!("allowed, but not broken: {}", *id));
        }
    }
}

impl<'a> Departed<'a> {
    fn of(departure: &'a Departure) -> Self {
        Self {
            revision: departure.revision.as_str(),
            sent: &departure.sent,
            came: &departure.came,
            stderr: &departure.stderr,
        }
    }
}

impl<'a> Found<'a> {
    fn of(finding: &'a Finding, measure: &Measure) -> Self {
        Self {
            id: finding.rule.id,
            level: finding.rule.level,
            requirement: finding.rule.says,
            allowed: measure.allows(&finding.rule),
            revisions: names(finding.revisions.iter()),
            sent: &finding.sent,
            came: &finding.came,
            wanted: finding.wanted,
        }
    }
}

fn put_departure(page: &mut Page, departure: &Departure) {
    page.blank();
    let words = words!("The server went away (in {}).", given(departure.revision));
    page.item("× ", Style::Warning, words);
    put_exchange(page, &departure.sent, &departure.came);
    for line in &departure.stderr {
        put_quoted(page, "stderr ", line);
    }
}

/// Why a server was not tried to the end, in words.
fn ended(lost: &Lost) -> Words {
    match lost {
        Lost::Deaf(requests, time) => words!(
            "The server left {} requests in a row without an answer, each for {} s. The rest was not tried.",
            u64::from(*requests),
            time.as_secs()
        ),
        Lost::Late(time) => words!(
            "The server was tried for {} s, which is the most. The rest was not tried.",
            time.as_secs()
        ),
    }
}

/// Puts what was sent and what came, as far as a person reads it.
pub fn put_exchange(page: &mut Page, sent: &str, came: &str) {
    for (mark, text) in [("  sent ", sent), ("  came ", came)] {
        if !text.is_empty() {
            put_quoted(page, mark, text);
        }
    }
}

fn put_quoted(page: &mut Page, mark: &'static str, text: &str) {
    let (head, more) = PeerText::from(text).cut(SHOWN);
    page.quote_json(mark, head);
    if more > 0 {
        page.note(Style::Dim, words!("{} more characters are left out", more));
    }
}

fn put_finding(page: &mut Page, finding: &Finding, measure: &Measure) {
    let Rule {
        id, level, says, ..
    } = finding.rule;
    page.blank();
    let (mark, style) = match measure.allows(&finding.rule) {
        true => ("- ", Style::Plain),
        false => ("× ", Style::Warning),
    };
    page.item(mark, style, words!("{} {}  {}", id, level.as_str(), says));
    if measure.allows(&finding.rule) {
        page.note(Style::Dim, "allowed by --allow");
    }
    page.note(Style::Dim, words!("in {}", listed(&finding.revisions)));
    put_exchange(page, &finding.sent, &finding.came);
    page.note(Style::Plain, words!("wanted: {}", finding.wanted));
}

fn put_rules<'a>(
    page: &mut Page,
    title: &'static str,
    rules: impl Iterator<Item = (&'a Rule, Option<&'static str>)>,
) {
    page.blank();
    page.say(Style::Strong, title);
    for (rule, why) in rules {
        let words = words!("{} {}  {}", rule.id, rule.level.as_str(), rule.says);
        page.note(Style::Plain, words);
        if let Some(why) = why {
            page.item("    ", Style::Dim, why);
        }
    }
}

/// The newest first.
fn names<'a>(revisions: impl DoubleEndedIterator<Item = &'a Revision>) -> Vec<&'static str> {
    revisions.rev().map(|revision| revision.as_str()).collect()
}

/// The revisions in words, the newest first.
pub fn listed(revisions: &BTreeSet<Revision>) -> Words {
    let names = names(revisions.iter()).into_iter();
    Words::join(names.map(|name| words!("{}", given(name))), ", ")
}
