//! The front end without a person: an answers file.

mod file;

use askback_core::{
    forms::{Content, FormSchema},
    limits::Limits,
    protocol::{CreateMessageParams, SamplingBlock},
};
use serde_json::Value;

pub use file::{Accept, Act, Mode, Reply as SamplingReply, Rule, SamplingRule, Script, When};

use crate::{
    folder,
    model::{Ask, Asker, By, Call, Question, Reply, Why, link},
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
            Act::Decline { reason } => Answer::Given(declined(reason.clone()), rule),
            Act::Cancel => Answer::Given(Reply::Cancelled(Why::Rule), rule),
        }
    }

    fn sample(&self, asker: &Asker, question: &Question, request: &CreateMessageParams) -> Answer {
        let fits = |rule: &SamplingRule| rule.when.fits_sampling(asker, question, request);
        let Some(at) = self.sampling.iter().position(fits) else {
            return Answer::Unmatched;
        };
        let reply = match &self.sampling[at].reply {
            SamplingReply::Text(text) => Reply::Text(text.clone()),
            SamplingReply::Decline => declined(None),
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

impl When {
    fn fits(&self, asker: &Asker, question: &Question) -> bool {
        let mode = match &question.ask {
            Ask::Form { .. } => Some(Mode::Form),
            Ask::Link { .. } => Some(Mode::Url),
            _ => None,
        };
        let message = question.ask.message().unwrap_or_default();
        let leads_there = |wanted: &String| match &question.ask {
            Ask::Link { url, .. } => link::judge(url).is_ok_and(|link| link.host() == wanted),
            _ => false,
        };
        self.fits_call(asker, question)
            && self.mode.is_none_or(|wanted| mode == Some(wanted))
            && self.host.as_ref().is_none_or(leads_there)
            && self
                .message
                .as_ref()
                .is_none_or(|part| message.contains(part))
    }

    fn fits_sampling(
        &self,
        asker: &Asker,
        question: &Question,
        request: &CreateMessageParams,
    ) -> bool {
        let says = |part: &String| {
            let blocks = request
                .messages
                .iter()
                .flat_map(|message| message.content.blocks());
            let texts = blocks.filter_map(|block| match block {
                SamplingBlock::Text(text) => Some(&text.text),
                _ => None,
            });
            request
                .system_prompt
                .iter()
                .chain(texts)
                .any(|text| text.contains(part))
        };
        self.fits_call(asker, question)
            && self.mode.is_none()
            && self.message.as_ref().is_none_or(says)
    }

    fn fits_call(&self, asker: &Asker, question: &Question) -> bool {
        let (tool, prompt) = match &question.call {
            Some(Call::Tool(name)) => (Some(name), None),
            Some(Call::Prompt(name)) => (None, Some(name)),
            Some(Call::Resource(_)) | None => (None, None),
        };
        let is = |wanted: &Option<String>, is: Option<&String>| {
            wanted.is_none() || wanted.as_ref() == is
        };
        // Never what the server calls itself: any server can call itself anything.
        is(&self.server, Some(&asker.name))
            && is(&self.tool, tool)
            && is(&self.prompt, prompt)
            && is(&self.key, question.key.as_ref())
    }
}

fn declined(reason: Option<String>) -> Reply {
    Reply::Declined {
        by: By::Rule,
        reason,
    }
}

/// A rule that would answer a question of this server, to be filled in and put into an answers
/// file. One for a link names the server and the call: it consents to nothing else.
pub fn rule_for(asker: &Asker, question: &Question) -> Option<String> {
    let when = match (&question.call, &question.key) {
        (_, Some(key)) => format!("{{key: {}}}", word(key)),
        (Some(Call::Tool(name)), None) => format!("{{tool: {}}}", word(name)),
        (Some(Call::Prompt(name)), None) => format!("{{prompt: {}}}", word(name)),
        _ => "{}".to_owned(),
    };
    match &question.ask {
        Ask::Form { schema, .. } => Some(format!(
            "answers:\n  - when: {when}\n    accept: {{{}}}",
            fields_for(schema)
        )),
        Ask::Link { .. } => Some(format!(
            "answers:\n  - when: {}\n    accept: true",
            this_link(asker, question)
        )),
        Ask::Sample(_) => Some("sampling:\n  - reply: …".to_owned()),
        Ask::Roots => Some("roots: [.]".to_owned()),
        Ask::Arguments { .. } | Ask::SignIn { .. } => None,
    }
}

/// Everything that tells a link from those of other servers, calls and questions.
fn this_link(asker: &Asker, question: &Question) -> String {
    let (tool, prompt) = match &question.call {
        Some(Call::Tool(name)) => (Some(name), None),
        Some(Call::Prompt(name)) => (None, Some(name)),
        Some(Call::Resource(_)) | None => (None, None),
    };
    let named = [
        ("tool", tool),
        ("prompt", prompt),
        ("key", question.key.as_ref()),
    ];
    let mut parts = vec![
        "mode: url".to_owned(),
        format!("server: {}", word(&asker.name)),
    ];
    if let Ask::Link { url, .. } = &question.ask
        && let Ok(link) = link::judge(url)
    {
        parts.push(format!("host: {}", word(link.host())));
    }
    let named = named
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    parts.extend(named.map(|(name, value)| format!("{name}: {}", word(value))));
    format!("{{{}}}", parts.join(", "))
}

/// The fields that a rule must give.
fn fields_for(schema: &FormSchema) -> String {
    let needed = schema
        .fields
        .iter()
        .filter(|field| field.required && field.default_value().is_none());
    let fields: Vec<_> = needed
        .map(|field| format!("{}: …", word(&field.name)))
        .collect();
    fields.join(", ")
}

/// Words that YAML, in one of its versions, reads as something else than a text: a tool called `null`
/// would be none, and the rule one for every tool.
const NO_TEXT: [&str; 9] = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];

/// A word of a YAML file, quoted unless it is plain.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let is_plain = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.chars().all(plain)
        && !NO_TEXT.iter().any(|word| text.eq_ignore_ascii_case(word));
    match is_plain {
        true => text.to_owned(),
        false => Value::from(text).to_string(),
    }
}
