//! A script in use.

use askback_core::{forms::Content, limits::Limits, protocol::CreateMessageParams};

use super::{
    file::{Script, Unused},
    report::{Finding, Place, Report},
    rule::{Accept, Act, Asked, Reply as SamplingReply, Rule},
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
    /// How often each rule for forms and links answered.
    answers: Vec<u64>,
    /// How often each rule for what a model is asked answered.
    sampling: Vec<u64>,
}

/// The answer of a file to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// This, by the rule of that number, from 1; none for the list of roots.
    Given(Reply, Option<usize>),
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
    /// A run in which no rule has answered yet.
    pub fn new(script: Script) -> Self {
        Self {
            answers: vec![0; script.answers.len()],
            sampling: vec![0; script.sampling.len()],
            script,
        }
    }

    /// Answers a question of the server that the person calls by that name, by the first rule that
    /// fits it.
    pub fn answer(&mut self, server: &str, question: &Question, limits: &Limits) -> Answer {
        match &question.ask {
            Ask::Form { schema, .. } => self.by_rule(server, question, |accept| {
                let values = match accept {
                    Accept::Values(values) => values.clone(),
                    Accept::Yes => Content::new(),
                };
                let content = schema.with_defaults(values);
                match schema.check(&content, &limits.forms) {
                    Ok(()) => Ok(Reply::Form(content)),
                    Err(issues) => Err(issues.to_string()),
                }
            }),
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
            Ask::Arguments { .. } | Ask::SignIn { .. } => Answer::Unmatched,
        }
    }

    /// The report on what the rules did so far.
    pub fn report(&self) -> Report {
        let mut findings = Vec::new();
        for (index, (rule, &times)) in self.script.answers.iter().zip(&self.answers).enumerate() {
            let is_guard = !matches!(rule.act, Act::Accept(_)) && !rule.act.is_expected();
            let place = Place::Answers(index.saturating_add(1));
            findings.extend(finding(place, times, rule.asked, is_guard));
        }
        for (index, (rule, &times)) in self.script.sampling.iter().zip(&self.sampling).enumerate() {
            let is_guard = rule.act == SamplingReply::Decline { expected: false };
            let place = Place::Sampling(index.saturating_add(1));
            findings.extend(finding(place, times, rule.asked, is_guard));
        }
        match self.script.unused {
            Unused::Allow => findings.retain(|finding| !matches!(finding, Finding::Unused(_))),
            Unused::Warn | Unused::Error => {}
        }
        Report {
            findings,
            unused_fails: self.script.unused == Unused::Error,
        }
    }

    fn by_rule(
        &mut self,
        server: &str,
        question: &Question,
        accept: impl FnOnce(&Accept) -> Result<Reply, String>,
    ) -> Answer {
        let fits = |rule: &Rule<Act>| {
            // Nothing consents to a link but a rule that names where it leads.
            let consents = !matches!(question.ask, Ask::Link { .. })
                || !matches!(rule.act, Act::Accept(_))
                || rule.when.host.is_some();
            consents && rule.when.fits(server, question)
        };
        let Some((number, rule)) = pick(&self.script.answers, &mut self.answers, fits) else {
            return Answer::Unmatched;
        };
        let reply = match &rule.act {
            Act::Accept(given) => match accept(given) {
                Ok(reply) => reply,
                Err(why) => {
                    return Answer::Unfit {
                        rule: Some(number),
                        why,
                    };
                }
            },
            Act::Decline { reason, expected } => declined(reason.clone(), *expected),
            Act::Cancel { expected } => Reply::Cancelled(Why::Rule {
                expected: *expected,
            }),
        };
        given(reply, number, rule.asked)
    }

    fn sample(
        &mut self,
        server: &str,
        question: &Question,
        request: &CreateMessageParams,
    ) -> Answer {
        let fits = |rule: &Rule<SamplingReply>| rule.when.fits_sampling(server, question, request);
        let Some((number, rule)) = pick(&self.script.sampling, &mut self.sampling, fits) else {
            return Answer::Unmatched;
        };
        let reply = match &rule.act {
            SamplingReply::Text(text) => Reply::Text(text.clone()),
            SamplingReply::Decline { expected } => declined(None, *expected),
        };
        given(reply, number, rule.asked)
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

/// The first rule that fits, with its number; that it answers is counted.
fn pick<'a, A>(
    rules: &'a [Rule<A>],
    counts: &mut [u64],
    fits: impl Fn(&Rule<A>) -> bool,
) -> Option<(usize, &'a Rule<A>)> {
    let mut numbered = (1..).zip(rules).zip(counts);
    let ((number, rule), count) = numbered.find(|((_, rule), _)| fits(rule))?;
    *count = count.saturating_add(1);
    Some((number, rule))
}

fn given(reply: Reply, rule: usize, asked: Option<Asked>) -> Answer {
    match asked {
        Some(asked) if asked.is_never() => Answer::Unwanted(reply, rule),
        _ => Answer::Given(reply, Some(rule)),
    }
}

fn declined(reason: Option<String>, expected: bool) -> Reply {
    Reply::Declined {
        by: By::Rule { expected },
        reason,
    }
}

/// The finding about a rule that answered so often. A guard is a rule that refuses what is better not
/// asked: it may stay unused.
fn finding(place: Place, times: u64, asked: Option<Asked>, is_guard: bool) -> Option<Finding> {
    match asked {
        Some(asked) => (!asked.holds(times)).then_some(Finding::Miscounted {
            rule: place,
            times,
            asked,
        }),
        None => (times == 0 && !is_guard).then_some(Finding::Unused(place)),
    }
}
