//! How known clients handle the questions of the tools that a suite calls.
//!
//! Each case that calls a tool runs once with a client that can be asked everything. If some clients cannot be asked any
//! question of a case, the case runs once more with a client that declares no questions. For each other client that can
//! be asked only some of the questions, or speaks an older revision, the case runs once more with the client's name,
//! revision and capabilities. Then [`judge`] decides from what was recorded of each client.
//!
//! If the server says in the newest revision that it asks only in older ones, the case also runs in
//! [`older::REVISION`].

mod judge;
mod preview;
mod report;

use std::collections::{BTreeMap, BTreeSet};

use askback::Revision;

use self::judge::{Flaw, Reason};
pub use self::{
    judge::Verdict,
    preview::preview,
    report::{json, lines},
};
use super::{
    file::{Action, Case},
    observe::{BriefEnd, ObservedQuestion, QuestionMode, QuestionRequest, ReplyKind},
    run::{self, CaseRun, PlannedRun, Runner},
};
use crate::{
    error::Error, known_clients::KnownClient, older, role::Role, session::SessionArgs,
    target::Target,
};

/// The tools of a suite, each with what every client does with its questions.
#[derive(Debug)]
pub struct Matrix {
    pub tools: Vec<ToolRow>,
    pub clients: Vec<&'static KnownClient>,
}

#[derive(Debug)]
pub struct ToolRow {
    pub name: String,
    /// The kinds of questions that the tool asks a client with all capabilities.
    pub asked: Vec<QuestionMode>,
    /// Whether the tool may ask more: the suite has no rule for one of its questions.
    pub is_incomplete: bool,
    /// In the order of [`Matrix::clients`]. `None` if the tool asks nothing.
    pub cells: Vec<Option<Cell>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// All reasons of all questions, each once.
    pub reasons: BTreeSet<Reason>,
    /// How the tool ended if it could not ask.
    pub ended: Option<BriefEnd>,
    pub forms: Vec<ObservedQuestion>,
}

/// The kind of client that a case runs with. Clients with the same key see the same questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum RunKey {
    /// A client that can be asked everything, in the newest revision. Also used for a case that asks nothing there.
    Everything,
    /// A client that can be asked everything, in [`older::REVISION`].
    Older,
    /// A client that declares no questions.
    Nothing,
    /// The client with this name. It can be asked only some of the questions, or speaks an older revision.
    Client(&'static str),
}

pub fn recorded() -> impl Iterator<Item = &'static KnownClient> {
    let all = KnownClient::all().iter();
    all.filter(|client| client.newest().is_some())
}

/// Runs the cases that call tools, and judges their questions for these clients. `broken` is called for each case that
/// could not be run.
pub async fn matrix(
    target: &Target,
    args: &SessionArgs,
    (before, cases): (&[Case], &[&Case]),
    clients: Vec<&'static KnownClient>,
    mut broken: impl FnMut(&CaseRun<'_>),
) -> Result<Matrix, Error> {
    let calls: Vec<(&str, &Case)> = cases
        .iter()
        .filter_map(|case| match &case.action {
            Action::Call(tool, _) => Some((tool.as_str(), *case)),
            _ => None,
        })
        .collect();
    let mut runs = BTreeMap::new();
    let all: Vec<_> = calls.iter().map(|(_, case)| planned(case, None)).collect();
    for run in play(target, args, before, &all, RunKey::Everything).await? {
        if let run::Verdict::Broken(_) = run.verdict {
            broken(&run);
        }
        runs.insert((RunKey::Everything, run.planned.case.name.as_str()), run);
    }
    let older = runs.values().filter(|run| asks_in_older(run));
    let older: Vec<_> = older
        .map(|run| planned(run.planned.case, Some(older::REVISION)))
        .collect();
    for run in play(target, args, before, &older, RunKey::Older).await? {
        if !run.asked.is_empty() {
            runs.insert((RunKey::Older, run.planned.case.name.as_str()), run);
        }
    }
    // The cases of each further run.
    let mut more: BTreeMap<RunKey, Vec<PlannedRun<'_>>> = BTreeMap::new();
    for (_, case) in &calls {
        let keys = clients.iter().map(|client| RunKey::of(client, &runs, case));
        let keys: BTreeSet<_> = keys.collect();
        for key in keys
            .into_iter()
            .filter(|key| !runs.contains_key(&(*key, case.name.as_str())))
        {
            let is_older = key == RunKey::Nothing && is_older(&runs, case);
            let revision = is_older.then_some(older::REVISION);
            more.entry(key).or_default().push(planned(case, revision));
        }
    }
    for (key, planned) in more {
        for run in play(target, args, before, &planned, key).await? {
            runs.insert((key, run.planned.case.name.as_str()), run);
        }
    }
    let mut names: Vec<&str> = Vec::new();
    for (tool, _) in &calls {
        if !names.contains(tool) {
            names.push(tool);
        }
    }
    let tools = names.into_iter().map(|name| {
        let of_tool = calls.iter().filter(|(tool, _)| *tool == name);
        let of_tool: Vec<_> = of_tool.map(|(_, case)| *case).collect();
        row(name, &of_tool, &runs, &clients)
    });
    Ok(Matrix {
        tools: tools.collect(),
        clients,
    })
}

type Runs<'a> = BTreeMap<(RunKey, &'a str), CaseRun<'a>>;

/// Plans a run in this revision, or else in the newest of the server.
fn planned(case: &Case, revision: Option<Revision>) -> PlannedRun<'_> {
    PlannedRun {
        case,
        revision,
        number: None,
    }
}

/// Whether the server said that it cannot ask in this revision.
fn asks_in_older(run: &CaseRun<'_>) -> bool {
    let said = run.ended.as_ref().filter(|ended| ended.failed);
    run.asked.is_empty() && said.is_some_and(|ended| older::is_meant_by_error(ended.text.raw()))
}

/// Whether the case asks only in an older revision.
fn is_older(runs: &Runs<'_>, case: &Case) -> bool {
    runs.contains_key(&(RunKey::Older, case.name.as_str()))
}

/// Returns the run with a client that can be asked everything, in the revision in which the case asks.
fn base<'r, 'a>(runs: &'r Runs<'a>, case: &'r Case) -> Option<&'r CaseRun<'a>> {
    let of = |key| runs.get(&(key, case.name.as_str()));
    of(RunKey::Older).or_else(|| of(RunKey::Everything))
}

/// The kinds of questions that a case asks a client that can be asked everything.
fn modes(runs: &Runs<'_>, case: &Case) -> BTreeSet<QuestionMode> {
    let asked = base(runs, case).into_iter().flat_map(|run| &run.asked);
    asked.map(|question| question.mode).collect()
}

async fn play<'a>(
    target: &Target,
    args: &SessionArgs,
    before: &[Case],
    planned: &[PlannedRun<'a>],
    key: RunKey,
) -> Result<Vec<CaseRun<'a>>, Error> {
    let role = match key {
        RunKey::Everything | RunKey::Older => Role::default(),
        RunKey::Nothing => Role::without_questions(),
        RunKey::Client(name) => {
            KnownClient::named(name).map_or_else(Role::default, Role::as_seen_by_servers)
        }
    };
    let mut args = args.clone();
    args.role = Some(role);
    let runner = Runner::new(target.clone(), args, before);
    runner.run(planned, |_| Ok(())).await
}

impl RunKey {
    /// Returns the key of the run that shows what the client is asked in this case.
    fn of(client: &'static KnownClient, runs: &Runs<'_>, case: &Case) -> Self {
        let modes = modes(runs, case);
        let is_newest = client.newest() == Some(Revision::LATEST);
        if is_newest && is_older(runs, case) {
            return Self::Everything;
        }
        let reachable = modes
            .iter()
            .filter(|mode| judge::unreachable(**mode, client).is_none())
            .count();
        match reachable {
            0 if !modes.is_empty() => Self::Nothing,
            all if all == modes.len() && is_newest => Self::Everything,
            0 => Self::Everything,
            _ => Self::Client(client.name),
        }
    }
}

fn row(name: &str, cases: &[&Case], runs: &Runs<'_>, clients: &[&'static KnownClient]) -> ToolRow {
    let bases = || cases.iter().filter_map(|case| base(runs, case));
    // Cases of a tool may ask differently. The case that asks most says what the tool asks.
    let most = bases().max_by_key(|run| run.asked.len());
    let asked = most.into_iter().flat_map(|run| &run.asked);
    let asked: Vec<_> = asked.map(|question| question.mode).collect();
    let is_unanswered = |question: &ObservedQuestion| question.reply == ReplyKind::Unanswered;
    let is_incomplete = bases().any(|run| run.asked.iter().any(is_unanswered));
    let cells = clients.iter().map(|client| {
        let cells = cases.iter().filter_map(|case| cell(case, runs, client));
        cells.reduce(Cell::with)
    });
    ToolRow {
        name: name.to_owned(),
        asked,
        is_incomplete,
        cells: cells.collect(),
    }
}

/// The verdict on the questions of a case. `None` if the case asks nothing.
fn cell(case: &Case, runs: &Runs<'_>, client: &'static KnownClient) -> Option<Cell> {
    let modes = modes(runs, case);
    if modes.is_empty() {
        return None;
    }
    let key = RunKey::of(client, runs, case);
    let run = runs.get(&(key, case.name.as_str()))?;
    if let run::Verdict::Broken(error) = &run.verdict {
        let text = error.message.to_string().into();
        return Some(Cell {
            reasons: BTreeSet::from([Flaw::NoConnection.alone()]),
            ended: Some(BriefEnd { failed: true, text }),
            forms: Vec::new(),
        });
    }
    let lacking = modes.iter();
    let lacking = lacking.filter_map(|mode| judge::unreachable(*mode, client));
    let mut reasons: BTreeSet<_> = lacking.map(Flaw::alone).collect();
    // If the client declares no such question, another revision does not help.
    let is_askable = reasons.len() < modes.len();
    if key == RunKey::Everything && is_older(runs, case) && is_askable {
        reasons.insert(Flaw::AsksInOlderAlone.alone());
    }
    let ended = run.ended.clone().filter(|_| !reasons.is_empty());
    for question in &run.asked {
        reasons.extend(judge::judge(&question.request, client));
    }
    let forms = run.asked.iter();
    let forms = forms.filter(|question| matches!(question.request, QuestionRequest::Form(_)));
    Some(Cell {
        reasons,
        ended,
        forms: forms.cloned().collect(),
    })
}

impl Cell {
    pub fn verdict(&self) -> Verdict {
        Verdict::of(&self.reasons)
    }

    /// Joins the cells of two cases. The worse verdict counts.
    fn with(mut self, other: Self) -> Self {
        self.reasons.extend(other.reasons);
        self.ended = self.ended.or(other.ended);
        for form in other.forms {
            let is_same = |known: &ObservedQuestion| known.request == form.request;
            if !self.forms.iter().any(is_same) {
                self.forms.push(form);
            }
        }
        self
    }
}
