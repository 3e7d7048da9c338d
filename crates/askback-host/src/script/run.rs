//! A script in use.

use std::time::{Duration, SystemTime};

use askback::{limits::Limits, protocol::CreateMessageParams};

use super::{
    file::{Script, UnusedRules},
    generate::Source,
    report::{Finding, Place, Report},
    rule::{Accept, Act, Action, AskCount, Reply as SamplingReply, Rule, Step, is_guard},
    sampled,
    value::Values,
};
use crate::{
    folder,
    model::{Ask, By, Question, Reply, Why, link},
};

/// A script in use: it answers, and counts how often each of its rules did.
///
/// It is told the name that the person gave the server, and has no way to learn the server's own.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptRun {
    script: Script,
    /// The time of the run.
    now: SystemTime,
    /// The counts of the rules for forms and links.
    answers: Vec<Count>,
    /// The counts of the rules for what a model is asked.
    sampling: Vec<Count>,
    /// The number of the last call in a reply of a model.
    called: u64,
}

/// The questions of one rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Count {
    /// How many were of those it names, whichever of them.
    met: u64,
    /// How many it answered.
    answered: u64,
}

/// The answer of a file to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// This, by the rule of that number, from 1; none for the list of roots.
    Given(Reply, Option<usize>),
    /// This, by a rule that wants it to be waited for.
    Later {
        /// The time to wait.
        after: Duration,
        /// The reply.
        reply: Reply,
        /// The number of the rule, from 1.
        rule: usize,
    },
    /// This, although the rule of that number says that the question must not be asked.
    Unwanted(Reply, usize),
    /// Nothing: no rule fits the question.
    Unmatched,
    /// Nothing that can be sent: the answer of the rule does not fit the question.
    Unfit {
        /// The number of the rule, from 1; none for the list of roots.
        rule: Option<usize>,
        /// The fault.
        why: String,
    },
}

impl ScriptRun {
    /// A run at this time, in which no rule has answered yet.
    pub fn new(script: Script, now: SystemTime) -> Self {
        Self {
            now,
            called: 0,
            answers: vec![Count::default(); script.answers.len()],
            sampling: vec![Count::default(); script.sampling.len()],
            script,
        }
    }

    /// Answers a question of the server that the person calls by that name, by the first rule that
    /// fits it.
    pub fn answer(&mut self, server: &str, question: &Question, limits: &Limits) -> Answer {
        match &question.ask {
            Ask::Form { schema, .. } => {
                let source = Source {
                    seed: self.script.seed,
                    now: self.now,
                };
                self.by_rule(server, question, |accept| {
                    let none = Values::default();
                    let values = match accept {
                        Accept::Values(values) => values,
                        Accept::Yes => &none,
                    };
                    values.content(schema, source, limits).map(Reply::Form)
                })
            }
            Ask::Link { url, .. } => match link::judge(url) {
                Ok(_) => self.by_rule(server, question, |_| Ok(Reply::Link)),
                Err(refusal) => Answer::Given(
                    Reply::Declined {
                        by: By::Policy,
                        reason: Some(format!("The link is not opened: {refusal}")),
                    },
                    None,
                ),
            },
            Ask::Sample(request) => self.sample(server, question, request),
            Ask::Roots => self.list_roots(),
            Ask::Arguments { .. }
            | Ask::Retry { .. }
            | Ask::Older { .. }
            | Ask::Register { .. }
            | Ask::Client { .. }
            | Ask::SignIn { .. } => Answer::Unmatched,
        }
    }

    /// The report on what the rules did so far.
    pub fn report(&self) -> Report {
        let answers = findings(&self.script.answers, &self.answers, Place::Answers);
        let sampling = findings(&self.script.sampling, &self.sampling, Place::Sampling);
        let mut findings: Vec<_> = answers.chain(sampling).collect();
        match self.script.unused {
            UnusedRules::Allow => findings.retain(|finding| !matches!(finding, Finding::Unused(_))),
            UnusedRules::Warn | UnusedRules::Error => {}
        }
        Report {
            findings,
            unused_fails: self.script.unused == UnusedRules::Error,
        }
    }

    fn by_rule(
        &mut self,
        server: &str,
        question: &Question,
        accept: impl FnOnce(&Accept) -> Result<Reply, String>,
    ) -> Answer {
        let fits = |rule: &Rule<Act>, act: &Act| {
            // Nothing consents to a link but a rule that names where it leads.
            let consents = !matches!(question.ask, Ask::Link { .. })
                || !matches!(act, Act::Accept(_))
                || rule.when.host.is_some();
            consents && rule.when.fits(server, question)
        };
        let picked = pick(&self.script.answers, &mut self.answers, fits);
        let Some(picked) = picked else {
            return Answer::Unmatched;
        };
        let reply = match &picked.step.act {
            Act::Accept(given) => match accept(given) {
                Ok(reply) => reply,
                Err(why) => {
                    return Answer::Unfit {
                        rule: Some(picked.rule),
                        why,
                    };
                }
            },
            Act::Decline { reason, expected } => declined(reason.clone(), *expected),
            Act::Cancel { expected } => Reply::Cancelled(Why::Rule {
                expected: *expected,
            }),
        };
        picked.gives(reply)
    }

    fn sample(
        &mut self,
        server: &str,
        question: &Question,
        request: &CreateMessageParams,
    ) -> Answer {
        let fits = |rule: &Rule<SamplingReply>, _: &SamplingReply| {
            rule.when.fits_sampling(server, question, request)
        };
        let picked = pick(&self.script.sampling, &mut self.sampling, fits);
        let Some(picked) = picked else {
            return Answer::Unmatched;
        };
        let reply = match &picked.step.act {
            SamplingReply::Says(parts) => match sampled::reply(parts, request, &mut self.called) {
                Ok(reply) => reply,
                Err(why) => {
                    return Answer::Unfit {
                        rule: Some(picked.rule),
                        why,
                    };
                }
            },
            SamplingReply::Decline { expected } => declined(None, *expected),
        };
        picked.gives(reply)
    }

    fn list_roots(&self) -> Answer {
        let Some(paths) = &self.script.roots else {
            return Answer::Unmatched;
        };
        match paths.iter().map(|path| folder::root(path)).collect() {
            Ok(roots) => Answer::Given(Reply::Roots(roots), None),
            Err(why) => Answer::Unfit {
                rule: None,
                why: why.to_string(),
            },
        }
    }
}

/// The answer that was picked for a question.
struct PickedAnswer<'a, A> {
    /// The number of its rule, from 1.
    rule: usize,
    step: &'a Step<A>,
    asked: Option<AskCount>,
}

impl<A> PickedAnswer<'_, A> {
    fn gives(&self, reply: Reply) -> Answer {
        let is_never = self.asked.is_some_and(AskCount::is_never);
        match self.step.after {
            _ if is_never => Answer::Unwanted(reply, self.rule),
            Duration::ZERO => Answer::Given(reply, Some(self.rule)),
            after => Answer::Later {
                after,
                reply,
                rule: self.rule,
            },
        }
    }
}

/// The answer of the first rule that fits and has one left. The question is counted for each rule
/// that names it.
fn pick<'a, A>(
    rules: &'a [Rule<A>],
    counts: &mut [Count],
    fits: impl Fn(&Rule<A>, &A) -> bool,
) -> Option<PickedAnswer<'a, A>> {
    let mut picked = None;
    for ((number, rule), count) in (1..).zip(rules).zip(counts) {
        let step = rule.step(count.answered);
        let Some(step) = step.filter(|step| fits(rule, &step.act)) else {
            continue;
        };
        count.met = count.met.saturating_add(1);
        let is_nth = rule.when.nth.is_none_or(|nth| nth.get() == count.met);
        if is_nth && picked.is_none() {
            count.answered = count.answered.saturating_add(1);
            picked = Some(PickedAnswer {
                rule: number,
                step,
                asked: rule.asked,
            });
        }
    }
    picked
}

fn declined(reason: Option<String>, expected: bool) -> Reply {
    Reply::Declined {
        by: By::Rule { expected },
        reason,
    }
}

/// The findings about the rules of a list.
fn findings<A: Action>(
    rules: &[Rule<A>],
    counts: &[Count],
    place: fn(usize) -> Place,
) -> impl Iterator<Item = Finding> {
    let numbered = (1..).zip(rules).zip(counts);
    numbered.filter_map(move |((number, rule), count)| {
        let (rule_at, times) = (place(number), count.answered);
        match rule.asked {
            Some(asked) => (!asked.holds(times)).then_some(Finding::Miscounted {
                rule: rule_at,
                times,
                asked,
            }),
            None => (times == 0 && !is_guard(rule)).then_some(Finding::Unused(rule_at)),
        }
    })
}
