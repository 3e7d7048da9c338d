//! The report of a check.

use std::{collections::BTreeSet, time::Duration};

use askback::Revision;
use askback_host::{
    page::{Page, Style},
    text::{PeerText, Words, given},
    words,
};
use serde_json::{Value, json};

use crate::{
    ledger::{Departure, Finding, Ledger, Measure},
    probe::GiveUpReason,
    rules::{Level, Row},
};

const SHOWN: usize = 400;

const PLACES: usize = 8;

const NAMES: usize = 14;

#[derive(Debug)]
pub struct Report {
    pub(crate) steps: Vec<Step>,
    /// Whether a sign-in is needed to continue.
    pub wants_sign_in: bool,
    /// Whether the server answers, so that the rules can be tried.
    pub(crate) is_answering: bool,
    /// The revisions that the server speaks, as far as known.
    pub(crate) spoken: BTreeSet<Revision>,
    pub(crate) tried: BTreeSet<Revision>,
    pub(crate) ledger: Ledger,
    pub(crate) lost: Option<GiveUpReason>,
}

#[derive(Debug)]
pub(crate) struct Step {
    name: &'static str,
    /// One of [`OK`], [`FAILED`] and [`NOT_TRIED`].
    state: &'static str,
    took: Option<Duration>,
    says: Words,
    pub(crate) quoted: Option<PeerText>,
    pub(crate) advice: Option<Words>,
}

const OK: &str = "ok";
const FAILED: &str = "failed";
const NOT_TRIED: &str = "not tried";

impl Report {
    pub fn new(is_http: bool) -> Self {
        Self {
            steps: Vec::new(),
            wants_sign_in: false,
            is_answering: false,
            spoken: BTreeSet::new(),
            tried: BTreeSet::new(),
            ledger: Ledger::new(is_http),
            lost: None,
        }
    }

    /// Returns whether the server fails: a client cannot use it, it breaks a rule that counts, or it went away.
    pub fn is_faulty(&self, measure: &Measure) -> bool {
        let mut findings = self.ledger.findings().into_iter();
        let is_broken = findings.any(|finding| measure.counts(finding));
        self.steps.iter().any(|step| step.state == FAILED)
            || is_broken && (!self.tried.is_empty() || measure.is_strict)
            || !self.ledger.departures.is_empty()
            || matches!(self.lost, Some(GiveUpReason::Unresponsive(..)))
    }

    pub fn give_up(&mut self, reason: GiveUpReason) {
        self.lost = Some(reason);
    }

    pub(crate) fn ok(
        &mut self,
        name: &'static str,
        took: Option<Duration>,
        says: impl Into<Words>,
    ) -> &mut Step {
        let step = self.add(name, OK, says.into());
        step.took = took;
        step
    }

    pub(crate) fn fail(
        &mut self,
        name: &'static str,
        says: impl Into<Words>,
        quoted: Option<String>,
        advice: impl Into<Words>,
    ) {
        let step = self.add(name, FAILED, says.into());
        step.quoted = quoted.filter(|text| !text.is_empty()).map(PeerText::from);
        step.advice = Some(advice.into());
    }

    pub(crate) fn skip(&mut self, name: &'static str, why: impl Into<Words>) {
        self.add(name, NOT_TRIED, why.into());
    }

    fn add(&mut self, name: &'static str, state: &'static str, says: Words) -> &mut Step {
        self.steps.push(Step {
            name,
            state,
            took: None,
            says,
            quoted: None,
            advice: None,
        });
        let last = self.steps.len().saturating_sub(1);
        &mut self.steps[last]
    }

    /// Sorts the steps in this order, and adds the steps that were not reached.
    pub(crate) fn complete(&mut self, names: &'static str) {
        for name in names.split(' ') {
            if !self.steps.iter().any(|step| step.name == name) {
                self.skip(name, "");
            }
        }
        let place = |step: &Step| names.split(' ').position(|name| name == step.name);
        self.steps.sort_by_key(place);
    }

    pub fn json(&self, measure: &Measure) -> Value {
        let findings = self.ledger.findings().into_iter();
        let not_tried = self.ledger.not_tried(&self.tried).into_iter();
        json!({
            "steps": self.steps.iter().map(Step::json).collect::<Value>(),
            "revisions": names(&self.spoken),
            "tried": names(&self.tried),
            "findings": findings.map(|finding| finding.json(measure)).collect::<Value>(),
            "departures": self.ledger.departures,
            "endedEarly": self.lost.as_ref().map(|lost| ended(lost).as_str().to_owned()),
            "kept": self.ledger.kept().iter().map(|row| row.id).collect::<Value>(),
            "notTried": not_tried
                .map(|(row, why)| json!({"id": row.id, "why": why}))
                .collect::<Value>(),
        })
    }

    /// Writes the report to a page. With `is_whole`, includes the rules that were kept or not tried.
    pub fn put(&self, page: &mut Page, is_whole: bool, measure: &Measure) {
        for step in &self.steps {
            step.put(page);
        }
        let was_tried = !self.tried.is_empty();
        if was_tried {
            page.blank();
            let revisions = listed(&self.spoken);
            page.say(Style::Dim, words!("The server speaks {}.", revisions));
        }
        for departure in &self.ledger.departures {
            departure.put(page);
        }
        if let Some(lost) = &self.lost {
            page.blank();
            page.item("× ", Style::Error, ended(lost));
        }
        let findings = self.ledger.findings();
        for finding in &findings {
            finding.put(page, measure);
        }
        let kept = self.ledger.kept().into_iter().map(|row| (row, ""));
        let not_tried = self.ledger.not_tried(&self.tried);
        let (kept_count, not_tried_count) = (kept.len(), not_tried.len());
        if is_whole {
            put_rules(page, "Kept", kept);
            put_rules(page, "Not tried", not_tried);
        }
        if !was_tried {
            return;
        }
        let of = |level| findings.iter().filter(|it| it.row.level == level).count();
        let allowed = match findings.iter().filter(|it| measure.allows(it)).count() {
            0 => Words::default(),
            allowed => words!(" ({} of them allowed)", allowed),
        };
        page.blank();
        let sum = words!(
            "{} MUST and {} SHOULD broken{}, {} kept, {} not tried",
            of(Level::Must),
            of(Level::Should),
            allowed,
            kept_count,
            not_tried_count
        );
        page.say(Style::Strong, sum);
        let is_broken = |id: &&str| findings.iter().any(|finding| finding.row.id == *id);
        for id in measure.allowed.iter().filter(|id| !is_broken(id)) {
            page.note(Style::Dim, words!("allowed, but not broken: {}", *id));
        }
    }
}

impl Step {
    fn json(&self) -> Value {
        json!({
            "step": self.name,
            "state": self.state,
            "took": self.took.map(|took| in_words(took).as_str().to_owned()),
            "says": self.says.as_str().trim_end_matches(':'),
            "quoted": self.quoted.as_ref().map(PeerText::raw),
            "advice": self.advice.as_ref().map(Words::as_str),
        })
    }

    fn put(&self, page: &mut Page) {
        let (mark, style) = match self.state {
            OK => ("✓ ", Style::Plain),
            FAILED => ("× ", Style::Error),
            _ => ("- ", Style::Dim),
        };
        let mut line = words!("{} {}", words!("{}", self.name).padded(NAMES), self.state);
        if let Some(took) = self.took {
            line = words!("{} ({})", line, in_words(took));
        }
        if !self.says.is_empty() {
            line = words!("{}, {}", line, self.says.clone());
        }
        page.item(mark, style, line);
        if let Some(quoted) = &self.quoted {
            page.quote_at("    ", quoted.clone());
        }
        if let Some(advice) = &self.advice {
            page.item("    ", Style::Strong, advice.clone());
        }
    }
}

impl Departure {
    fn put(&self, page: &mut Page) {
        page.blank();
        let words = words!("The server went away (in {}).", given(self.revision));
        page.item("× ", Style::Error, words);
        put_quoted(page, "  sent ", &self.sent);
        put_quoted(page, "  came ", &self.came);
        for line in &self.stderr {
            put_quoted(page, "stderr ", line);
        }
    }
}

impl Finding {
    fn json(&self, measure: &Measure) -> Value {
        json!({
            "id": self.row.id,
            "level": self.row.level.as_str(),
            "requirement": self.row.says,
            "allowed": measure.allows(self),
            "revisions": names(&self.revisions),
            "sent": self.sent,
            "came": self.came,
            "places": self.places,
            "wanted": if self.wanted.is_empty() { self.row.says } else { self.wanted },
        })
    }

    fn put(&self, page: &mut Page, measure: &Measure) {
        page.blank();
        let is_allowed = measure.allows(self);
        let (mark, style) = match (is_allowed, self.row.level) {
            (true, _) => ("- ", Style::Plain),
            (false, Level::Lint) => ("! ", Style::Warning),
            (false, _) => ("× ", Style::Error),
        };
        page.item(mark, style, heading(self.row));
        if is_allowed {
            page.note(Style::Dim, "allowed by --allow");
        }
        if self.row.level != Level::Lint {
            page.note(Style::Dim, words!("in {}", listed(&self.revisions)));
        }
        put_quoted(page, "  sent ", &self.sent);
        put_quoted(page, "  came ", &self.came);
        for place in self.places.iter().take(PLACES) {
            page.quote_line("  ", PeerText::from(&**place));
        }
        let more = self.places.len().saturating_sub(PLACES);
        if more > 0 {
            page.note(Style::Dim, words!("and {} more", more));
        }
        if !self.wanted.is_empty() {
            page.note(Style::Plain, words!("wanted: {}", self.wanted));
        }
    }
}

fn heading(row: &Row) -> Words {
    words!("{} {}  {}", row.id, row.level.as_str(), row.says)
}

fn ended(lost: &GiveUpReason) -> Words {
    match lost {
        GiveUpReason::Unresponsive(requests, time) => words!(
            "The server left {} requests in a row without an answer, each for {} s. The rest was not tried.",
            u64::from(*requests),
            time.as_secs()
        ),
        GiveUpReason::TimedOut(time) => words!(
            "The server was tried for {} s, which is the most. The rest was not tried: try one revision at a time with --protocol.",
            time.as_secs()
        ),
        GiveUpReason::Interrupted => {
            "The check was interrupted. This is what it found so far; the rest was not tried."
                .into()
        }
    }
}

fn put_quoted(page: &mut Page, mark: &'static str, text: &str) {
    if text.is_empty() {
        return;
    }
    let (head, more) = PeerText::from(text).cut(SHOWN);
    page.quote_at(mark, head);
    if more > 0 {
        page.note(Style::Dim, words!("{} more characters are left out", more));
    }
}

fn put_rules(
    page: &mut Page,
    title: &'static str,
    rules: impl IntoIterator<Item = (&'static Row, &'static str)>,
) {
    page.blank();
    page.say(Style::Strong, title);
    for (row, why) in rules {
        page.note(Style::Plain, heading(row));
        if !why.is_empty() {
            page.item("    ", Style::Dim, why);
        }
    }
}

fn names(revisions: &BTreeSet<Revision>) -> Vec<&'static str> {
    let revisions = revisions.iter().rev();
    revisions.map(|revision| revision.as_str()).collect()
}

/// Newest first.
pub fn listed(revisions: &BTreeSet<Revision>) -> Words {
    let names = names(revisions).into_iter();
    Words::join(names.map(|name| words!("{}", given(name))), ", ")
}

fn in_words(took: Duration) -> Words {
    match took.as_millis() {
        ms @ 0..3_000 => words!("{} ms", u64::try_from(ms).unwrap_or(u64::MAX)),
        _ => words!("{} s", took.as_secs()),
    }
}
