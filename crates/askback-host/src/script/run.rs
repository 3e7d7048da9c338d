use std::time::{Duration, SystemTime};

use askback::{limits::Limits, protocol::CreateMessageParams};

use super::{
    file::{Script, UnusedRules},
    report::{Place, Report},
    rule::{Accept, Act, Action, Reply as SamplingReply, Rule, Step, is_guard},
    sampled,
    value::Values,
};
use crate::{
    folder,
    model::{Ask, By, Question, Reply, Why, link},
};

/// A running script. It answers questions and counts the answers of each rule.
///
/// Rules match the name that the user gave a server. The server's own name is not used.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptRun {
    script: Script,
    now: SystemTime,
    /// How many questions each rule answered.
    answers: Vec<u64>,
    sampling: Vec<u64>,
    /// The number of the last tool call in a reply.
    called: u64,
}

/// The outcome of a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Answered by the rule with this number, counted from 1. `None` is the list of roots or a link
    /// that is never opened.
    Given(Reply, Option<usize>),
    /// Answered by a rule with a delay.
    Later {
        /// The time to wait.
        after: Duration,
        /// The reply.
        reply: Reply,
        /// The number of the rule, counted from 1.
        rule: usize,
    },
    /// Not answered: no rule matches.
    Unmatched,
    /// Not answered: the rule's answer does not fit the question.
    Unfit {
        /// The number of the rule, counted from 1. `None` is the list of roots.
        rule: Option<usize>,
        /// The error.
        why: String,
    },
}

impl ScriptRun {
    /// Starts a run at this time.
    pub fn new(script: Script, now: SystemTime) -> Self {
        Self {
            now,
            called: 0,
            answers: vec![0; script.answers.len()],
            sampling: vec![0; script.sampling.len()],
            script,
        }
    }

    /// Answers a question with the first matching rule. `server` is the user's name for the server.
    pub fn answer(&mut self, server: &str, question: &Question, limits: &Limits) -> Answer {
        match &question.ask {
            Ask::Form { schema, .. } => {
                let now = self.now;
                self.by_rule(server, question, |accept| {
                    let none = Values::default();
                    let values = match accept {
                        Accept::Values(values) => values,
                        Accept::Yes => &none,
                    };
                    values.content(schema, now, limits).map(Reply::Form)
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

    /// Reports what the rules did so far.
    pub fn report(&self) -> Report {
        let answers = unused(&self.script.answers, &self.answers, Place::Answers);
        let sampling = unused(&self.script.sampling, &self.sampling, Place::Sampling);
        Report {
            unused: match self.script.unused {
                UnusedRules::Allow => Vec::new(),
                UnusedRules::Warn | UnusedRules::Error => answers.chain(sampling).collect(),
            },
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
            // Only a rule that names the host can consent to a link.
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

struct PickedAnswer<'a, A> {
    /// The number of the rule, counted from 1.
    rule: usize,
    step: &'a Step<A>,
}

impl<A> PickedAnswer<'_, A> {
    fn gives(&self, reply: Reply) -> Answer {
        match self.step.after {
            Duration::ZERO => Answer::Given(reply, Some(self.rule)),
            after => Answer::Later {
                after,
                reply,
                rule: self.rule,
            },
        }
    }
}

/// Returns the answer of the first matching rule that has answers left.
fn pick<'a, A>(
    rules: &'a [Rule<A>],
    counts: &mut [u64],
    fits: impl Fn(&Rule<A>, &A) -> bool,
) -> Option<PickedAnswer<'a, A>> {
    let mut rules = (1..).zip(rules).zip(counts);
    rules.find_map(|((number, rule), answered)| {
        let step = rule.step(*answered)?;
        let picked = PickedAnswer { rule: number, step };
        fits(rule, &step.act).then(|| {
            *answered = answered.saturating_add(1);
            picked
        })
    })
}

fn declined(reason: Option<String>, expected: bool) -> Reply {
    Reply::Declined {
        by: By::Rule { expected },
        reason,
    }
}

/// The rules that answered nothing, except those that only refuse.
fn unused<A: Action>(
    rules: &[Rule<A>],
    counts: &[u64],
    place: fn(usize) -> Place,
) -> impl Iterator<Item = Place> {
    let numbered = (1..).zip(rules).zip(counts);
    let unused = numbered.filter(|((_, rule), count)| **count == 0 && !is_guard(rule));
    unused.map(move |((number, _), _)| place(number))
}
