use std::{
    collections::BTreeSet,
    time::{Duration, SystemTime},
};

use askback::{
    limits::Limits,
    protocol::{
        CreateMessageParams, CreateMessageResult, RawObject, SamplingBlock, ToolChoiceMode,
        ToolUseContent,
    },
};

use super::{
    file::{Script, UnusedRules},
    rule::{Accept, Act, AnswerRule, Rule, SampledPart, Step},
    value::Values,
};
use crate::{
    folder,
    model::{Ask, By, PERSON, Question, Reply, Why, WorstEnd, calls, content_of, link, mode},
    text::Words,
    words,
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

#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// Answered by the rule with this number, counted from 1. `None` is the list of roots or a link
    /// that is never opened.
    Given(Reply, Option<usize>),
    /// Answered by a rule with a delay.
    Later {
        after: Duration,
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
        why: String,
    },
}

impl ScriptRun {
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
            (Act::Says(parts), Ask::Sample(request)) => sampled(parts, request, &mut self.called),
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

/// Builds a reply from parts. Tool calls get ids that are unique in the run: `last` is the number
/// of the last call, and is updated.
/// Fails if a part calls a tool that the request does not offer, or if the request requires or forbids
/// tool calls and the parts do not comply.
fn sampled(
    parts: &[SampledPart],
    request: &CreateMessageParams,
    last: &mut u64,
) -> Result<Reply, String> {
    let has_calls = parts
        .iter()
        .any(|said| matches!(said, SampledPart::Call { .. }));
    match mode(request) {
        ToolChoiceMode::Required if !has_calls => {
            return Err("the request requires a tool call".to_owned());
        }
        ToolChoiceMode::None if has_calls => {
            return Err("the request allows no tool call".to_owned());
        }
        ToolChoiceMode::Auto | ToolChoiceMode::Required | ToolChoiceMode::None => {}
    }
    if let [SampledPart::Text(text)] = parts {
        return Ok(Reply::Text(text.clone()));
    }
    let messages = request.messages.iter();
    let said = messages.flat_map(|message| calls(message.content.blocks()));
    let said: BTreeSet<_> = said.map(|call| call.id.as_str()).collect();
    let mut id = || loop {
        *last = last.saturating_add(1);
        let id = format!("call-{last}");
        if !said.contains(id.as_str()) {
            return id;
        }
    };
    let blocks = parts.iter().map(|said| match said {
        SampledPart::Text(text) => Ok(SamplingBlock::text(text)),
        SampledPart::Call { tool, input } => {
            let offered = request.tools.iter().flatten();
            if !offered.into_iter().any(|offered| offered.name == *tool) {
                return Err(format!("the request does not offer the tool `{tool}`"));
            }
            Ok(SamplingBlock::ToolUse(ToolUseContent {
                id: id(),
                name: tool.clone(),
                input: RawObject::new(input).map_err(|error| error.to_string())?,
                meta: None,
            }))
        }
    });
    let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    let stop_reason = match has_calls {
        true => "toolUse",
        false => "endTurn",
    };
    Ok(Reply::Sampled(Box::new(CreateMessageResult {
        content: content_of(blocks),
        stop_reason: Some(stop_reason.to_owned()),
        ..CreateMessageResult::text(PERSON, "")
    })))
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The rules that answered no question, in file order.
    pub unused: Vec<Place>,
    /// Whether such a rule fails the run.
    pub unused_fails: bool,
}

const OF_CASE: &str = "case ";

/// The position of a rule in an answers file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    Answers(usize),
    Sampling(usize),
}

/// The origin of a script's rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RulesOf {
    #[default]
    Answers,
    /// A suite: the rules of a case, then the rules of the suite.
    Suite {
        /// The number of the case's `answers` rules.
        answers: usize,
        /// The number of the case's `sampling` rules.
        sampling: usize,
    },
}

impl Report {
    /// Returns the worst outcome according to the rules.
    pub fn ended(&self) -> WorstEnd {
        match self.unused_fails && !self.unused.is_empty() {
            true => WorstEnd::Unexpected,
            false => WorstEnd::Answered,
        }
    }
}

impl Place {
    /// Says that the rule answered no question.
    pub fn unused(self, of: RulesOf) -> Words {
        words!("{} answered no question", self.words(of))
    }

    /// Returns the rule's name for messages.
    pub fn words(self, of: RulesOf) -> Words {
        let (whose, number) = of.numbered(self);
        match self {
            Self::Answers(_) => words!("{}rule {}", whose, number),
            Self::Sampling(_) => words!("{}sampling rule {}", whose, number),
        }
    }
}

impl RulesOf {
    /// Whether a rule belongs to the case, not to the suite.
    pub fn is_of_case(self, place: Place) -> bool {
        self.numbered(place).0 == OF_CASE
    }

    /// Returns the prefix of the rule's name and its number in the case or suite.
    fn numbered(self, place: Place) -> (&'static str, usize) {
        let (number, own) = match (self, place) {
            (Self::Answers, Place::Answers(number) | Place::Sampling(number)) => {
                return ("", number);
            }
            (Self::Suite { answers, .. }, Place::Answers(number)) => (number, answers),
            (Self::Suite { sampling, .. }, Place::Sampling(number)) => (number, sampling),
        };
        match number.checked_sub(own) {
            None | Some(0) => (OF_CASE, number),
            Some(number) => ("suite ", number),
        }
    }

    /// Returns the name of a rule that answered a question, without `sampling`.
    pub(crate) fn rule(self, place: Place) -> Words {
        let (whose, number) = self.numbered(place);
        words!("{}rule {}", whose, number)
    }
}
