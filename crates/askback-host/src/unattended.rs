//! The front end without a user: an answers file answers, or every question is cancelled.

use std::{
    io::{self, Write},
    pin::Pin,
    task::{Context, Poll},
    time::SystemTime,
};

use askback::{limits::Limits, witness::Renderer};
use tokio::time::{Sleep, sleep};

use crate::{
    leaf::{Did, Leaf, LinkOpening},
    model::{
        Action, Ask, Asker, Conversation, Desk, Effect, EventOutcome, Notice, Question, Reply,
        Step, Why, WorstEnd,
    },
    page::{Excerpt, LEFT_OUT, Page, Style, out},
    question::{self, in_full},
    script::{Answer, Report, Script, ScriptRun, rule_for},
    signals::Held,
    text::{self, Words},
    words,
};

pub struct UnattendedRun {
    script: Option<ScriptRun>,
    /// Whether the script is a case of a suite, not a file of its own.
    is_case: bool,
    /// The last question that was answered or waits for a delayed answer.
    answered: Option<u64>,
    later: Option<Later>,
    /// How many questions no rule answered.
    unmatched: usize,
    interrupted: Pin<Box<dyn Future<Output = io::Result<()>> + Send>>,
    _held: Held,
    page: Page,
    limits: Limits,
    out: Box<dyn Write + Send>,
}

/// How many unanswered questions are shown. The rest are counted.
const SHOWN: usize = 8;

struct Later {
    due: Pin<Box<Sleep>>,
    reply: Reply,
    told: DelayNote,
}

/// What to report when the delayed answer is given.
enum DelayNote {
    /// The rule that asked for the delay.
    Then(Words),
    /// The link was agreed to, but the server did not report in time that its page is done.
    Overdue,
}

impl UnattendedRun {
    /// A run that takes its answers from `script` and reports on `out`.
    pub fn new(script: Option<Script>, limits: Limits, out: Box<dyn Write + Send>) -> Self {
        Self {
            script: script.map(|script| ScriptRun::new(script, SystemTime::now())),
            is_case: false,
            answered: None,
            later: None,
            unmatched: 0,
            interrupted: Box::pin(tokio::signal::ctrl_c()),
            _held: Held::interrupts(),
            page: out::stderr_page(),
            limits,
            out,
        }
    }

    /// Says in messages that the script is a case of a suite.
    #[must_use]
    pub fn of_suite(mut self) -> Self {
        self.is_case = true;
        self
    }

    /// The report on the script's rules so far.
    pub fn report(&self) -> Report {
        let report = self.script.as_ref().map(ScriptRun::report);
        report.unwrap_or_default()
    }

    /// Answers a question and reports it on the page, within the limits.
    fn answer(&mut self, asker: &Asker, question: &Question) -> Result<Reply, Later> {
        let answer = match (&question.ask, &mut self.script) {
            // Signing in needs a user, whatever the file says.
            (ask, _) if ask.signs_in() => return Ok(Reply::Cancelled(Why::Nobody)),
            (_, Some(script)) => script.answer(&asker.name, question, &self.limits),
            (_, None) => Answer::Unmatched,
        };
        let mut excerpt = Excerpt::new(&mut self.page, self.limits.host.message_shown);
        let script = self.script.as_ref();
        let named = |number| script.map_or_else(Words::default, |it| it.name(question, number));
        let reply = match answer {
            Answer::Given(reply, rule) => {
                tell(&mut excerpt, question, &reply, rule.map(named));
                reply
            }
            Answer::Later { after, reply, rule } => {
                let (rule, seconds) = (named(rule), after.as_secs_f64());
                let words = words!(
                    "{}: {} answers in {} s",
                    kind(question),
                    rule.clone(),
                    seconds
                );
                excerpt.page().note(Style::Dim, words);
                return Err(Later {
                    due: Box::pin(sleep(after)),
                    reply,
                    told: DelayNote::Then(rule),
                });
            }
            Answer::Unfit { rule, why } => {
                in_full(&mut excerpt, asker, question, text::extent(&why));
                let whose: Words = match rule {
                    Some(rule) => named(rule),
                    None => "the list of roots".into(),
                };
                excerpt.page().item(
                    "× ",
                    Style::Warning,
                    words!("{} does not answer this; cancelled:", whose),
                );
                // The text may contain the server's field names.
                excerpt.quote_at("  ", &why);
                Reply::Cancelled(Why::Unmatched)
            }
            Answer::Unmatched => {
                self.unmatched = self.unmatched.saturating_add(1);
                let why = match script {
                    Some(_) => Why::Unmatched,
                    None => Why::Nobody,
                };
                if self.unmatched <= SHOWN {
                    let shown = self.limits.host.message_shown;
                    unmatched(why, self.is_case, asker, question, excerpt.page(), shown);
                }
                Reply::Cancelled(why)
            }
        };
        excerpt.end(LEFT_OUT);
        Ok(reply)
    }

    fn poll_later(&mut self, question: &Question, context: &mut Context<'_>) -> Poll<Did> {
        let Some(mut later) = self.later.take() else {
            return Poll::Pending;
        };
        if later.due.as_mut().poll(context).is_pending() {
            self.later = Some(later);
            return Poll::Pending;
        }
        let mut excerpt = Excerpt::new(&mut self.page, self.limits.host.message_shown);
        match later.told {
            DelayNote::Then(rule) => tell(&mut excerpt, question, &later.reply, Some(rule)),
            DelayNote::Overdue => {
                let minutes = self.limits.host.link.as_secs_f64() / 60.0;
                let words = words!(
                    "the server did not say within {} min that the page is done; it is called again",
                    minutes
                );
                excerpt.page().note(Style::Warning, words);
            }
        }
        excerpt.end(LEFT_OUT);
        Poll::Ready(Did::Answered(later.reply))
    }
}

impl Leaf for UnattendedRun {
    fn poll_did(&mut self, talk: &Conversation, context: &mut Context<'_>) -> Poll<Did> {
        let desk = talk.seen();
        if let Poll::Ready(Ok(())) = self.interrupted.as_mut().poll(context) {
            self.interrupted = Box::pin(tokio::signal::ctrl_c());
            return Poll::Ready(Did::Interrupt);
        }
        match desk.front() {
            // The user permitted it in advance.
            Some(front) if matches!(front.step, Step::Running(_)) => Poll::Pending,
            Some(front) if self.answered != Some(front.id) => {
                self.answered = Some(front.id);
                self.later = None;
                match self.answer(desk.asker(), front.question) {
                    Ok(Reply::Link) if front.question.is_of_error() => {
                        self.page.note(
                            Style::Dim,
                            "    until the server says that the page is done",
                        );
                        self.later = Some(Later {
                            due: Box::pin(sleep(self.limits.host.link)),
                            reply: Reply::Link,
                            told: DelayNote::Overdue,
                        });
                        // The second yes is for a link with warnings.
                        Poll::Ready(Did::Action(vec![Action::Yes, Action::Yes]))
                    }
                    Ok(reply) => Poll::Ready(Did::Answered(reply)),
                    Err(later) => {
                        self.later = Some(later);
                        self.poll_later(front.question, context)
                    }
                }
            }
            Some(front) => self.poll_later(front.question, context),
            None => Poll::Pending,
        }
    }

    fn happened(&mut self, desk: &Desk, happened: &EventOutcome) {
        for effect in &happened.effects {
            if let Effect::Answer(_, Reply::Cancelled(Why::Person)) = effect {
                self.page.note(Style::Dim, "cancelled by Ctrl-C");
            }
            if let Effect::Tell(
                notice @ (Notice::Refused(_)
                | Notice::RefusedMore
                | Notice::NoModel
                | Notice::ModelFailed(..)
                | Notice::LinkDone
                | Notice::Ended(_)),
            ) = effect
            {
                question::notice(&mut self.page, desk.asker(), notice);
            }
            if let Effect::Tell(Notice::LinkRefused { url, refusal, .. }) = effect {
                let mut excerpt = Excerpt::new(&mut self.page, self.limits.host.message_shown);
                let page = excerpt.page();
                page.note(Style::Dim, "a link: declined by policy");
                excerpt.quote_line("    ", url);
                excerpt.page().item("    × ", Style::Error, refusal.words());
                excerpt.end(LEFT_OUT);
            }
        }
    }

    fn tell(&mut self, words: Words) {
        self.page.note(Style::Dim, words);
    }

    /// Opens nothing, even if a rule agreed to the link.
    fn open(&mut self, _: &str) -> LinkOpening {
        LinkOpening::Failed
    }

    fn show(&mut self, _: &Conversation, _: Option<&Words>) {
        // If writing fails, the message is lost.
        let _ = self.page.take().write_to(&mut self.out);
    }

    fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    fn renderer(&self) -> Renderer {
        Renderer::Script
    }

    fn is_person(&self) -> bool {
        false
    }

    fn ended(&self) -> WorstEnd {
        self.report().ended()
    }

    fn end(&mut self) {
        let more = self.unmatched.saturating_sub(SHOWN);
        if more > 0 {
            let words = words!("more questions that were not answered: {}", more);
            self.page.item("× ", Style::Error, words);
        }
        let report = self.report();
        for rule in &report.unused {
            let mark = match report.unused_fails {
                true => "× ",
                false => "! ",
            };
            let words = words!("answers file: {}", rule.clone());
            self.page.item(mark, Style::Warning, words);
        }
    }
}

/// Shows a question that nobody answers, and a rule that would answer it.
fn unmatched(
    why: Why,
    is_case: bool,
    asker: &Asker,
    question: &Question,
    page: &mut Page,
    shown: usize,
) {
    let words = match why {
        Why::Nobody => "there is no terminal to ask at; cancelled.",
        _ if is_case => "no rule of the case or of the suite fits; cancelled.",
        _ => "no rule of the answers file fits; cancelled.",
    };
    let mut excerpt = Excerpt::new(page, shown);
    in_full(&mut excerpt, asker, question, 0);
    excerpt.end(LEFT_OUT);
    if let (Ask::Roots, Why::Nobody) = (&question.ask, why) {
        page.note(
            Style::Dim,
            "there is no terminal to ask at, so no folder is shared; --roots DIR shares one.",
        );
        return;
    }
    page.item("× ", Style::Error, words);
    if let Some(rule) = rule_for(asker, question) {
        let words = match is_case {
            true => "A rule such as this, in the case or in the suite, would answer it:",
            false => "A rule such as this, in a file named by --answers, would answer it:",
        };
        page.note(Style::Plain, words);
        // The rule contains the server's names. It has its own excerpt, so that a long question
        // leaves room for it.
        let mut excerpt = Excerpt::new(page, shown);
        excerpt.quote_at("  ", &rule);
        excerpt.end(LEFT_OUT);
    }
}

fn kind(question: &Question) -> &'static str {
    match &question.ask {
        Ask::Form { .. } => "a form",
        Ask::Link { .. } => "a link",
        Ask::Sample(_) => "sampling",
        _ => "roots",
    }
}

fn became(reply: &Reply) -> &'static str {
    match reply {
        Reply::Link => "agreed to, not opened",
        Reply::Declined { .. } => "declined",
        Reply::Cancelled(_) => "cancelled",
        _ => "answered",
    }
}

fn tell(excerpt: &mut Excerpt<'_>, question: &Question, reply: &Reply, rule: Option<Words>) {
    let by = rule.map_or_else(Words::default, |rule| words!(" by {}", rule));
    let expected = match reply.ended() {
        WorstEnd::Expected => ", as expected",
        _ => "",
    };
    if let Ask::Link { again: true, .. } = question.ask {
        let words = "a link again: the page behind it is not finished";
        excerpt.page().note(Style::Dim, words);
    }
    let words = words!("{}: {}{}{}", kind(question), became(reply), by, expected);
    excerpt.page().note(Style::Dim, words);
    if let Some(key) = &question.key {
        excerpt.quote_line("    key ", key);
    }
    if let (Ask::Link { url, .. }, Reply::Link) = (&question.ask, reply) {
        excerpt.quote_line("    ", url);
    }
}
