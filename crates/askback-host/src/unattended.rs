//! The front end where no person is asked: an answers file answers, or nobody does.

use std::io::Write;

use askback_core::{limits::Limits, protocol::Root};
use tokio::time::Instant;

use crate::{
    Interrupted,
    model::{Ask, Asker, By, Question, Reply, Why, link},
    page::{Excerpt, LEFT_OUT, Page, Style, out},
    plain::{Remark, Remarks, in_full},
    relay::{Arrival, Arrivals},
    script::{Answer, Script, rule_for},
    text::{self, Given, Words, given},
    words,
};

/// A run without a person.
pub struct Unattended {
    script: Option<Script>,
    asker: Asker,
    /// The folders named on the command line.
    shared: Option<Vec<Root>>,
    arrivals: Arrivals,
    unanswered: bool,
    remarks: Remarks,
    /// From when the time of remarks is counted.
    began: Instant,
    limits: Limits,
    out: Box<dyn Write + Send>,
}

impl Unattended {
    /// A run that takes its answers from `script`, or has none, and tells of it on `out`.
    pub fn new(
        script: Option<Script>,
        asker: Asker,
        shared: Option<Vec<Root>>,
        arrivals: Arrivals,
        limits: Limits,
        out: Box<dyn Write + Send>,
    ) -> Self {
        Self {
            script,
            asker,
            shared,
            arrivals,
            began: Instant::now(),
            remarks: Remarks::new(&limits),
            unanswered: false,
            limits,
            out,
        }
    }

    /// Whether any question was declined, cancelled or left unanswered so far.
    pub fn unanswered(&self) -> bool {
        self.unanswered
    }

    /// Returns the asker, to be filled in when the server has sent its name.
    pub fn asker_mut(&mut self) -> &mut Asker {
        &mut self.asker
    }

    /// Waits for `work`, and answers the questions that arrive meanwhile.
    ///
    /// # Errors
    ///
    /// If the run is interrupted; the work is dropped then.
    pub async fn attend<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Interrupted> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                Some(arrival) = self.arrivals.recv() => self.arrive(arrival),
                Ok(()) = tokio::signal::ctrl_c() => {
                    return Err(Interrupted);
                }
                done = &mut work => {
                    while let Ok(arrival) = self.arrivals.try_recv() {
                        self.arrive(arrival);
                    }
                    let left_out = self.remarks.sum_up();
                    self.put(left_out);
                    return Ok(done);
                }
            }
        }
    }

    fn arrive(&mut self, arrival: Arrival) {
        let mut page = out::stderr_page();
        match arrival {
            Arrival::Asked {
                claims,
                question,
                reply,
                ..
            } => {
                if claims.is_some() {
                    self.asker.claims = claims;
                }
                // Withdrawn at the same moment: nobody waits for it.
                let _ = reply.send(self.answer(&question, &mut page));
            }
            Arrival::Withdrawn(_) | Arrival::Settled(_) => {}
            Arrival::Told(words) => page.note(Style::Dim, words),
            Arrival::Heard(event) => {
                for remark in self.remarks.hear(event, self.began.elapsed()) {
                    Remarks::put(&mut page, &self.name(), remark);
                }
            }
        }
        self.write(&mut page);
    }

    fn write(&mut self, page: &mut Page) {
        // Who cannot be told cannot be helped.
        let _ = page.take().write_to(&mut self.out);
    }

    /// The name that the person gave the server.
    fn name(&self) -> Given {
        given(&self.asker.name).short()
    }

    /// Tells how much was left out of what the server said, at the end.
    pub fn end(&mut self) {
        let left_out = self.remarks.all_left_out();
        self.put(left_out);
    }

    fn put(&mut self, remark: Option<Remark>) {
        let mut page = out::stderr_page();
        if let Some(remark) = remark {
            Remarks::put(&mut page, &self.name(), remark);
        }
        self.write(&mut page);
    }

    /// Answers a question, and says on the page what became of it: of the question itself no more
    /// than a person reads.
    fn answer(&mut self, question: &Question, page: &mut Page) -> Reply {
        let answer = match (&question.ask, &self.shared, &self.script) {
            // Nobody is here who could sign in, whatever a file says.
            (Ask::SignIn { .. }, _, _) => return Reply::Cancelled(Why::Nobody),
            (Ask::Roots, Some(roots), _) => Answer::Given(Reply::Roots(roots.clone()), None),
            (_, _, Some(script)) => script.answer(&self.asker, question, &self.limits),
            (_, _, None) => Answer::Unmatched,
        };
        let mut excerpt = Excerpt::new(page, self.limits.host.message_shown);
        let reply = match answer {
            Answer::Given(reply, rule) => {
                tell(&mut excerpt, question, &reply, rule);
                reply
            }
            Answer::Unfit { rule, why } => {
                in_full(&mut excerpt, &self.asker, question, text::extent(&why));
                let whose: Words = match rule {
                    Some(rule) => words!("rule {}", rule),
                    None => "the list of roots".into(),
                };
                excerpt.page().item(
                    "× ",
                    Style::Warning,
                    words!("{} does not answer this; cancelled:", whose),
                );
                // Names of the server's fields stand in it.
                excerpt.quote_at("  ", &why);
                Reply::Cancelled(Why::Unmatched)
            }
            Answer::Unmatched => self.unmatched(question, &mut excerpt),
        };
        excerpt.end(LEFT_OUT);
        self.unanswered |= reply.is_refusal();
        reply
    }

    fn unmatched(&self, question: &Question, excerpt: &mut Excerpt<'_>) -> Reply {
        let rule = rule_for(&self.asker, question).map(|rule| text::json(&rule));
        let following = rule.as_ref().map_or(0, |rule| text::extent(rule));
        in_full(excerpt, &self.asker, question, following);
        let (words, why) = match &self.script {
            Some(_) => (
                "no rule of the answers file fits; cancelled.",
                Why::Unmatched,
            ),
            None => ("there is no terminal to ask at; cancelled.", Why::Nobody),
        };
        excerpt.page().item("× ", Style::Warning, words);
        if let Some(rule) = rule {
            excerpt.page().note(
                Style::Plain,
                "A rule such as this, in a file named by --answers, would answer it:",
            );
            // Names of the server stand in it.
            excerpt.quote_at("  ", &rule);
        }
        Reply::Cancelled(why)
    }
}

/// Says on the page what a rule answered.
fn tell(excerpt: &mut Excerpt<'_>, question: &Question, reply: &Reply, rule: Option<usize>) {
    let what = match &question.ask {
        Ask::Form { .. } => "a form",
        Ask::Link { .. } => "a link",
        Ask::Sample(_) => "sampling",
        Ask::Roots | Ask::Arguments { .. } | Ask::SignIn { .. } => "roots",
    };
    let became = match reply {
        Reply::Link => "agreed to, not opened",
        Reply::Declined { by: By::Policy, .. } => "declined by policy",
        Reply::Declined { .. } => "declined",
        Reply::Cancelled(_) => "cancelled",
        _ => "answered",
    };
    let by = rule.map_or_else(Words::default, |rule| words!(" by rule {}", rule));
    let words = words!("{}: {}{}", what, became, by);
    excerpt.page().note(Style::Dim, words);
    if let Some(key) = &question.key {
        excerpt.quote_line("    key ", key);
    }
    let Ask::Link { url, .. } = &question.ask else {
        return;
    };
    match reply {
        Reply::Link => excerpt.quote_line("    ", url),
        Reply::Declined { by: By::Policy, .. } => {
            excerpt.quote_line("    ", url);
            if let Err(refusal) = link::judge(url) {
                excerpt
                    .page()
                    .item("    × ", Style::Warning, refusal.words());
            }
        }
        _ => {}
    }
}
