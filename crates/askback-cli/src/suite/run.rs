//! Runs a suite: one case after another, in each revision of the case.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc, time::Duration};

use askback::{
    Revision,
    client::{Client, ClientError, List},
    protocol::{LeftOutEntry, Tool},
};
use askback_host::{content, folder, model::Change, page::Rows, script::Report, text::PeerText};
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::time::{Instant, timeout};

use super::{
    expect::{Came, Mismatch},
    file::{Action, Case, ListKind, Revisions},
    observe::{BriefEnd, CaseEnd, CaseQuestions, Observation, ObservedQuestion},
    player::{Player, PlayerHandle},
};
use crate::{
    args::{self, Argument, ArgumentValue},
    error::{Error, Kind},
    session::{Answers, Session, SessionArgs, failed},
    target::Target,
};

pub struct Runner<'a> {
    target: Target,
    before: &'a [Case],
    args: SessionArgs,
}

#[derive(Debug, Clone, Copy)]
pub struct PlannedRun<'a> {
    pub case: &'a Case,
    pub revision: Option<Revision>,
    /// Which run of a repeated suite this is, from 1.
    pub number: Option<u32>,
}

#[derive(Debug, Clone)]
pub struct CaseRun<'a> {
    pub planned: PlannedRun<'a>,
    pub verdict: Verdict,
    pub took: Duration,
    pub asked: Vec<ObservedQuestion>,
    pub shown: Vec<Rows>,
    /// `None` if the case did not run.
    pub ended: Option<BriefEnd>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Passed,
    Failed(Vec<Mismatch>),
    Broken(Error),
}

/// Returns the cases to run, in order: those whose name contains `filter`, in the revisions of `only` if it has any.
pub fn plan<'a>(cases: &'a [Case], filter: &str, only: &[Revision]) -> Vec<PlannedRun<'a>> {
    let mut all = Vec::new();
    let mut order = Vec::new();
    for case in cases.iter().filter(|case| case.name.contains(filter)) {
        let revisions: Vec<Option<Revision>> = match &case.revisions {
            Revisions::Newest if only.is_empty() => vec![None],
            Revisions::Newest => only.iter().copied().map(Some).collect(),
            Revisions::Each(each) => {
                let is_meant = |revision: &&Revision| only.is_empty() || only.contains(revision);
                each.iter().filter(is_meant).copied().map(Some).collect()
            }
        };
        for revision in revisions {
            if !order.contains(&revision) {
                order.push(revision);
            }
            all.push(PlannedRun {
                case,
                revision,
                number: None,
            });
        }
    }
    // Cases of the same revision share a connection.
    all.sort_by_key(|planned| order.iter().position(|it| *it == planned.revision));
    all
}

impl PlannedRun<'_> {
    /// Returns the case's name, followed by the number of the run if the suite is repeated.
    pub fn case_name(&self) -> String {
        match self.number {
            Some(number) => format!("{} (run {number})", self.case.name),
            None => self.case.name.clone(),
        }
    }

    /// Returns [`PlannedRun::case_name`], followed by the revision if the case names one.
    pub fn name(&self) -> String {
        match self.revision {
            Some(revision) => format!("{} [{revision}]", self.case_name()),
            None => self.case_name(),
        }
    }
}

struct Stage {
    session: Session,
    playing: PlayerHandle,
    asked: Rc<RefCell<CaseQuestions>>,
    revision: Option<Revision>,
    /// Whether a request was given up. The server may still ask for it, which the next case would answer.
    is_given_up: bool,
}

impl<'b> Runner<'b> {
    /// Creates a run on this server. The requests of `before` are made each time the server starts.
    pub fn new(target: Target, args: SessionArgs, before: &'b [Case]) -> Self {
        Self {
            target,
            before,
            args,
        }
    }

    /// Runs the cases. Stops if `done` fails.
    pub async fn run<'a>(
        &self,
        planned: &[PlannedRun<'a>],
        mut done: impl FnMut(&CaseRun<'a>) -> Result<(), Error>,
    ) -> Result<Vec<CaseRun<'a>>, Error> {
        let mut runs = Vec::with_capacity(planned.len());
        let mut shared = None;
        // A revision that could not connect, and why, so that it is not tried for each case.
        let mut unreachable: Option<(Option<Revision>, Error)> = None;
        for &planned in planned {
            let known = unreachable
                .as_ref()
                .filter(|(revision, _)| *revision == planned.revision);
            let run = match known {
                Some((_, why)) => CaseRun::without(planned, why.clone()),
                None => self.run_case(planned, &mut shared).await?,
            };
            if let (Verdict::Broken(error), None) = (&run.verdict, &run.ended) {
                if matches!(error.kind, Kind::Interrupted | Kind::Usage) {
                    return Err(error.clone());
                }
                unreachable = Some((planned.revision, error.clone()));
            }
            done(&run)?;
            runs.push(run);
        }
        if let Some(stage) = shared {
            stage.session.close().await;
        }
        Ok(runs)
    }

    /// Runs a case on the shared connection, if there is one and the case does not need its own.
    async fn run_case<'a>(
        &self,
        planned: PlannedRun<'a>,
        shared: &mut Option<Stage>,
    ) -> Result<CaseRun<'a>, Error> {
        if let Some(stage) = shared.take_if(|stage| stage.revision != planned.revision) {
            stage.session.close().await;
        }
        let is_fresh = planned.case.is_fresh();
        let mut stage = match shared.take_if(|_| !is_fresh) {
            Some(stage) => stage,
            None => {
                let began = Instant::now();
                let (player, playing) = Player::new(planned.case, self.args.limits());
                let mut stage = match self.open(planned, player, playing.clone()).await {
                    Ok(stage) => stage,
                    Err(error) => {
                        return Ok(CaseRun {
                            took: began.elapsed(),
                            shown: playing.shown(),
                            ..CaseRun::without(planned, error)
                        });
                    }
                };
                if let Some(failed) = self.set_up(&mut stage, planned).await? {
                    stage.session.close().await;
                    return Ok(failed);
                }
                stage
            }
        };
        let run = stage.run(planned).await?;
        match is_fresh || stage.is_given_up || matches!(run.verdict, Verdict::Broken(_)) {
            true => stage.session.close().await,
            false => *shared = Some(stage),
        }
        Ok(run)
    }

    /// Makes the requests of `before`. If one fails, returns the case as failed.
    async fn set_up<'a>(
        &self,
        stage: &mut Stage,
        planned: PlannedRun<'a>,
    ) -> Result<Option<CaseRun<'a>>, Error> {
        for case in self.before {
            let run = stage.run(PlannedRun { case, ..planned }).await?;
            let verdict = match run.verdict {
                Verdict::Passed => continue,
                Verdict::Broken(error) => Verdict::Broken(error),
                Verdict::Failed(mismatches) => {
                    let mismatches = mismatches.into_iter();
                    let named = mismatches.map(|mismatch| mismatch.before(&case.name));
                    Verdict::Failed(named.collect())
                }
            };
            return Ok(Some(CaseRun {
                planned,
                verdict,
                ..run
            }));
        }
        Ok(None)
    }

    async fn open(
        &self,
        planned: PlannedRun<'_>,
        player: Player,
        playing: PlayerHandle,
    ) -> Result<Stage, Error> {
        let roots = planned.case.script.roots.as_ref().map(|paths| {
            let roots = paths.iter().map(|path| folder::root(path));
            roots.collect::<Result<Vec<_>, _>>().map_err(Error::usage)
        });
        let roots = roots.transpose()?;
        let mut args = self.args.clone();
        if let Some(revision) = planned.revision {
            args = args.speaking(revision);
        }
        let answers = Answers::Leaf {
            leaf: Box::new(player),
            calls_tools: planned.case.calls_tools,
        };
        let mut session = Session::open(self.target.clone(), &args, answers).await?;
        if let Some(roots) = roots {
            let host = &mut session.host;
            host.change(Change::Shared(host.chosen(), roots));
        }
        let asked = Rc::<RefCell<CaseQuestions>>::default();
        let noted = Rc::clone(&asked);
        session.host.note(move |question, reply| {
            if let Some(asked) = ObservedQuestion::of(question, reply) {
                noted.borrow_mut().push(asked);
            }
        });
        // With this feature, results are checked against the known output schemas.
        if cfg!(feature = "json-schema") && session.client.capabilities().tools.is_some() {
            let Session { client, host, .. } = &mut session;
            host.attend(client.tools()).await?.map_err(failed)?;
        }
        Ok(Stage {
            session,
            playing,
            asked,
            revision: planned.revision,
            is_given_up: false,
        })
    }
}

impl<'a> CaseRun<'a> {
    /// A case whose server cannot be reached.
    fn without(planned: PlannedRun<'a>, error: Error) -> Self {
        Self {
            planned,
            verdict: Verdict::Broken(error),
            took: Duration::ZERO,
            asked: Vec::new(),
            shown: Vec::new(),
            ended: None,
        }
    }
}

impl Stage {
    async fn run<'a>(&mut self, planned: PlannedRun<'a>) -> Result<CaseRun<'a>, Error> {
        let case = planned.case;
        self.playing.play(case);
        let undeclared = self.session.role().undeclared();
        let Session { client, host, .. } = &mut self.session;
        self.asked.borrow_mut().take();
        let began = Instant::now();
        let acting = act(client, &case.action);
        let under = case.expect.under();
        let acted = match under {
            Some(under) => host.attend(timeout(under, acting)).await?,
            None => host.attend(async { Ok(acting.await) }).await?,
        };
        let took = began.elapsed();
        let ended = match (acted, under) {
            (Ok(Ok(ended)), _) => ended,
            (Ok(Err(error)), _) => CaseEnd::Error(failed(error)),
            (Err(_), under) => CaseEnd::Late(under.unwrap_or(took)),
        };
        self.is_given_up = matches!(ended, CaseEnd::Late(_));
        let asked = self.asked.borrow_mut().take();
        let brief = ended.brief();
        let verdict = match &ended {
            CaseEnd::Error(error)
                if matches!(
                    error.kind,
                    Kind::Connection | Kind::OutcomeUnknown | Kind::SignIn
                ) =>
            {
                Verdict::Broken(error.clone())
            }
            _ => {
                let observed = Observation {
                    ended,
                    asked: asked.clone(),
                    undeclared,
                };
                let mut mismatches = case.expect.judge(&observed);
                mismatches.extend(unused(self.playing.report()));
                match mismatches.is_empty() {
                    true => Verdict::Passed,
                    false => Verdict::Failed(mismatches),
                }
            }
        };
        host.flush();
        Ok(CaseRun {
            planned,
            verdict,
            took,
            asked,
            shown: self.playing.shown(),
            ended: Some(brief),
        })
    }
}

/// The rules of a case that answered nothing, if that fails it.
fn unused(report: Report) -> Vec<Mismatch> {
    let unused = report.unused.into_iter().filter(|_| report.unused_fails);
    unused
        .map(|rule| Mismatch {
            expected: "questions as the rules have them".into(),
            came: Came::Ours(rule),
        })
        .collect()
}

async fn act(client: &Client, action: &Action) -> Result<CaseEnd, ClientError> {
    Ok(match action {
        Action::Call(tool, arguments) => {
            let result = match tool_of_tasks(client, tool).await? {
                Some(tool) => client.call_listed(&tool, arguments).await?,
                None => client.call_tool(tool, arguments).await?,
            };
            CaseEnd::Result {
                json: json(&result.raw),
                text: content::tool_result(&result.value),
                failed: result.failed(),
                broken: named(&result.left_out),
            }
        }
        Action::Prompt(name, arguments) => {
            let result = client.get_prompt(name, texts(arguments)).await?;
            let text = content::prompt(&result.value);
            read(json(&result.raw), text, &result.left_out)
        }
        Action::Read(uri) => {
            let result = client.read_resource(uri).await?;
            let text = content::resource(&result.value);
            read(json(&result.raw), text, &result.left_out)
        }
        Action::List(listed) => list(client, *listed).await?,
    })
}

/// The tool with this name, if the server has tools that must be called as tasks. On other servers, the tool need not
/// be listed.
async fn tool_of_tasks(client: &Client, name: &str) -> Result<Option<Tool>, ClientError> {
    if !client.revision().facts().tasks || !client.capabilities().calls_as_tasks() {
        return Ok(None);
    }
    let mut tools = client.tools().await?.into_iter();
    Ok(tools.find(|tool| tool.name == name))
}

async fn list(client: &Client, listed: ListKind) -> Result<CaseEnd, ClientError> {
    fn entries<T: Serialize>(member: &str, all: &List<T>, name: impl Fn(&T) -> &str) -> CaseEnd {
        let mut object = Map::new();
        object.insert(member.to_owned(), json(&**all));
        let names: Vec<_> = all.iter().map(name).collect();
        read(
            Value::Object(object),
            names.join("\n").into(),
            &all.left_out,
        )
    }
    Ok(match listed {
        ListKind::Tools => entries("tools", &client.tools().await?, |tool| &tool.name),
        ListKind::Prompts => entries("prompts", &client.prompts().await?, |prompt| &prompt.name),
        ListKind::Resources => entries("resources", &client.resources().await?, |one| &one.uri),
        ListKind::Templates => {
            let templates = client.resource_templates().await?;
            entries("resourceTemplates", &templates, |one| &one.uri_template)
        }
    })
}

/// A result of anything but a tool.
fn read(json: Value, text: PeerText, left_out: &[LeftOutEntry]) -> CaseEnd {
    CaseEnd::Result {
        json,
        text,
        failed: false,
        broken: named(left_out),
    }
}

/// The parts of a result that violate the protocol. Hints are descriptive only.
fn named(left_out: &[LeftOutEntry]) -> Vec<String> {
    let entries = left_out.iter().filter(|entry| !entry.is_hint);
    entries.map(ToString::to_string).collect()
}

fn json(value: &(impl Serialize + ?Sized)) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}

fn texts(arguments: &Map<String, Value>) -> BTreeMap<String, String> {
    let arguments = arguments.iter().map(|(key, value)| Argument {
        key: key.clone(),
        given: ArgumentValue::Json(value.clone()),
    });
    args::for_prompt(arguments.collect())
}
