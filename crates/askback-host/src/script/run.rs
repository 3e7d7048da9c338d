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
    rule::{Accept, Act, Rule, SampledPart, Step},
    value::Values,
    when::When,
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
        let fits = |when: &When, act: &Act| {
            // Only a rule that names the host can consent to a link.
            let consents = !is_link || !matches!(act, Act::Accept(_)) || when.host.is_some();
            consents && when.fits(server, question)
        };
        let picked = match &question.ask {
            Ask::Form { .. } | Ask::Link { .. } => {
                pick(&self.script.answers, &mut self.answers, fits)
            }
            Ask::Sample(_) => pick(&self.script.sampling, &mut self.sampling, fits),
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
        let answers = unused(&self.script.answers, &self.answers);
        let sampling = unused(&self.script.sampling, &self.sampling);
        Report {
            unused: match self.script.unused {
                UnusedRules::Allow => Vec::new(),
                UnusedRules::Warn | UnusedRules::Error => answers.chain(sampling).collect(),
            },
            unused_fails: self.script.unused == UnusedRules::Error,
        }
    }

    /// Returns the name of a rule that answered a question.
    pub(crate) fn name(&self, question: &Question, number: usize) -> Words {
        let Script {
            answers, sampling, ..
        } = &self.script;
        let at = number.saturating_sub(1);
        let name = match question.ask {
            Ask::Sample(_) => sampling.get(at).map(|rule| &rule.name),
            _ => answers.get(at).map(|rule| &rule.name),
        };
        name.cloned().unwrap_or_default()
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
    fits: impl Fn(&When, &Act) -> bool,
) -> Option<(usize, &'a Step)> {
    let mut rules = (1..).zip(rules).zip(counts);
    rules.find_map(|((number, rule), answered)| {
        let step = rule.step(*answered)?;
        fits(&rule.when, &step.act).then(|| {
            *answered = answered.saturating_add(1);
            (number, step)
        })
    })
}

/// Says which rules answered nothing, except those that only refuse. A rule of a suite applies to all cases, so a
/// single case need not use it.
fn unused<const SAMPLING: bool>(
    rules: &[Rule<SAMPLING>],
    counts: &[u64],
) -> impl Iterator<Item = Words> {
    let is_needed = |rule: &Rule<SAMPLING>| !rule.is_shared && !rule.is_guard();
    let unused = rules.iter().zip(counts);
    let unused = unused.filter(move |(rule, count)| **count == 0 && is_needed(rule));
    unused.map(|(rule, _)| words!("{} answered no question", rule.name.clone()))
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
    /// Says which rules answered no question, in file order.
    pub unused: Vec<Words>,
    /// Whether such a rule fails the run.
    pub unused_fails: bool,
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
