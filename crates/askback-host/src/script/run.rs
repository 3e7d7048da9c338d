use std::time::{Duration, SystemTime};

use askback::limits::Limits;

use super::{
    file::{Script, UnusedRules},
    report::{Place, Report},
    rule::{Accept, Act, AnswerRule, Rule, Step},
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
        if let Ask::Link { url, .. } = &question.ask
            && let Err(refusal) = link::judge(url)
        {
            return Answer::Given(refusal.reply(), None);
        }
        let is_link = matches!(question.ask, Ask::Link { .. });
        let fits = |rule: &AnswerRule, act: &Act| {
            // Only a rule that names the host can consent to a link.
            let consents = !is_link || !matches!(act, Act::Accept(_)) || rule.when.host.is_some();
            consents && rule.when.fits(server, question)
        };
        let picked = match &question.ask {
            Ask::Form { .. } | Ask::Link { .. } => {
                pick(&self.script.answers, &mut self.answers, fits)
            }
            Ask::Sample(request) => pick(&self.script.sampling, &mut self.sampling, |rule, _| {
                rule.when.fits_sampling(server, question, request)
            }),
            Ask::Roots => return self.list_roots(),
            _ => None,
        };
        let Some((rule, step)) = picked else {
            return Answer::Unmatched;
        };
        let reply = match (&step.act, &question.ask) {
            (Act::Accept(accept), Ask::Form { schema, .. }) => {
                let none = Values::default();
                let values = match accept {
                    Accept::Values(values) => values,
                    Accept::Yes => &none,
                };
                values.content(schema, self.now, limits).map(Reply::Form)
            }
            (Act::Says(parts), Ask::Sample(request)) => {
                sampled::reply(parts, request, &mut self.called)
            }
            (Act::Accept(_) | Act::Says(_), _) => Ok(Reply::Link),
            (Act::Decline { reason, expected }, _) => Ok(Reply::Declined {
                by: By::Rule {
                    expected: *expected,
                },
                reason: reason.clone(),
            }),
            (Act::Cancel { expected }, _) => Ok(Reply::Cancelled(Why::Rule {
                expected: *expected,
            })),
        };
        match (reply, step.after) {
            (Err(why), _) => Answer::Unfit {
                rule: Some(rule),
                why,
            },
            (Ok(reply), Duration::ZERO) => Answer::Given(reply, Some(rule)),
            (Ok(reply), after) => Answer::Later { after, reply, rule },
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

/// Returns the answer of the first matching rule that has answers left, and the number of the rule,
/// counted from 1.
fn pick<'a, const SAMPLING: bool>(
    rules: &'a [Rule<SAMPLING>],
    counts: &mut [u64],
    fits: impl Fn(&Rule<SAMPLING>, &Act) -> bool,
) -> Option<(usize, &'a Step)> {
    let mut rules = (1..).zip(rules).zip(counts);
    rules.find_map(|((number, rule), answered)| {
        let step = rule.step(*answered)?;
        fits(rule, &step.act).then(|| {
            *answered = answered.saturating_add(1);
            (number, step)
        })
    })
}

/// The rules that answered nothing, except those that only refuse.
fn unused<const SAMPLING: bool>(
    rules: &[Rule<SAMPLING>],
    counts: &[u64],
    place: fn(usize) -> Place,
) -> impl Iterator<Item = Place> {
    let numbered = (1..).zip(rules).zip(counts);
    let unused = numbered.filter(|((_, rule), count)| **count == 0 && !rule.is_guard());
    unused.map(move |((number, _), _)| place(number))
}
