//! The front end without a person: an answers file.

mod file;
mod offered;
mod rule;
mod when;

use askback_core::{forms::Content, limits::Limits, protocol::CreateMessageParams};

pub use file::Script;
pub use offered::rule_for;
pub use rule::{Accept, Act, Reply as SamplingReply, Rule, SamplingRule};
pub use when::{Mode, When};

use crate::{
    folder,
    model::{Ask, Asker, By, Question, Reply, Why, link},
};

/// The answer of a file to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// This, by the rule of that number, from 1; none for the list of roots.
    Given(Reply, Option<usize>),
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

impl Script {
    /// Answers a question by the first rule that fits it.
    pub fn answer(&self, asker: &Asker, question: &Question, limits: &Limits) -> Answer {
        match &question.ask {
            Ask::Form { schema, .. } => self.by_rule(asker, question, |accept| {
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
                Ok(_) => self.by_rule(asker, question, |_| Ok(Reply::Link)),
                Err(refusal) => Answer::Given(
                    Reply::Declined {
                        by: By::Policy,
                        reason: Some(format!("The link is not opened: {refusal}")),
                    },
                    None,
                ),
            },
            Ask::Sample(request) => self.sample(asker, question, request),
            Ask::Roots => self.list_roots(),
            Ask::Arguments { .. } | Ask::SignIn { .. } => Answer::Unmatched,
        }
    }

    fn by_rule(
        &self,
        asker: &Asker,
        question: &Question,
        accept: impl FnOnce(&Accept) -> Result<Reply, String>,
    ) -> Answer {
        let fits = |rule: &&Rule| {
            // Nothing consents to a link but a rule that names where it leads.
            let consents = !matches!(question.ask, Ask::Link { .. })
                || !matches!(rule.act, Act::Accept(_))
                || rule.when.host.is_some();
            consents && rule.when.fits(asker, question)
        };
        let Some(at) = self.answers.iter().position(|rule| fits(&rule)) else {
            return Answer::Unmatched;
        };
        let rule = Some(at.saturating_add(1));
        match &self.answers[at].act {
            Act::Accept(given) => match accept(given) {
                Ok(reply) => Answer::Given(reply, rule),
                Err(why) => Answer::Unfit { rule, why },
            },
            Act::Decline { reason, expected } => {
                Answer::Given(declined(reason.clone(), *expected), rule)
            }
            Act::Cancel { expected } => {
                let why = Why::Rule {
                    expected: *expected,
                };
                Answer::Given(Reply::Cancelled(why), rule)
            }
        }
    }

    fn sample(&self, asker: &Asker, question: &Question, request: &CreateMessageParams) -> Answer {
        let fits = |rule: &SamplingRule| rule.when.fits_sampling(asker, question, request);
        let Some(at) = self.sampling.iter().position(fits) else {
            return Answer::Unmatched;
        };
        let reply = match &self.sampling[at].reply {
            SamplingReply::Text(text) => Reply::Text(text.clone()),
            SamplingReply::Decline { expected } => declined(None, *expected),
        };
        Answer::Given(reply, Some(at.saturating_add(1)))
    }

    fn list_roots(&self) -> Answer {
        let Some(paths) = &self.roots else {
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

fn declined(reason: Option<String>, expected: bool) -> Reply {
    Reply::Declined {
        by: By::Rule { expected },
        reason,
    }
}
