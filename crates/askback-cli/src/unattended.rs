//! The front end where no person is asked: an answers file answers, or nobody does.

use std::io::Write;

use askback_core::{limits::Limits, protocol::Root};

use crate::{
    error::{Error, Kind},
    model::{Ask, Asker, By, Question, Reply, Why},
    relay::{Arrival, Arrivals},
    script::{Answer, Script, rule_for},
    terminal::{Look, Page, Remarks, Style, in_full},
    text,
};

/// A run without a person.
pub struct Unattended {
    script: Option<Script>,
    asker: Asker,
    /// The folders named on the command line.
    shared: Option<Vec<Root>>,
    arrivals: Arrivals,
    look: Look,
    unanswered: bool,
    remarks: Remarks,
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
            look: Look::of_stderr(),
            unanswered: false,
            remarks: Remarks::default(),
            limits,
            out,
        }
    }

    /// Whether any question was declined, cancelled or left unanswered so far.
    pub fn unanswered(&self) -> bool {
        self.unanswered
    }

    /// Who asks, to be filled in once the server has said what it calls itself.
    pub fn asker_mut(&mut self) -> &mut Asker {
        &mut self.asker
    }

    /// Waits for `work`, and answers the questions that arrive meanwhile.
    ///
    /// # Errors
    ///
    /// If the run is interrupted; the work is dropped then.
    pub async fn attend<T>(&mut self, work: impl Future<Output = T>) -> Result<T, Error> {
        let mut work = std::pin::pin!(work);
        loop {
            tokio::select! {
                Some(arrival) = self.arrivals.recv() => self.arrive(arrival),
                Ok(()) = tokio::signal::ctrl_c() => {
                    return Err(Error::new(Kind::Interrupted, "stopped"));
                }
                done = &mut work => {
                    while let Ok(arrival) = self.arrivals.try_recv() {
                        self.arrive(arrival);
                    }
                    return Ok(done);
                }
            }
        }
    }

    fn arrive(&mut self, arrival: Arrival) {
        let mut page = Page::new(self.look);
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
            Arrival::Told(words) => page.note(Style::Dim, &text::line(&words)),
            Arrival::Heard(event) => self.remarks.put(&mut page, &self.asker.name, &event),
        }
        // Who cannot be told cannot be helped.
        let _ = self.out.write_all(page.take().as_bytes());
    }

    /// Answers a question, and says on the page what became of it.
    fn answer(&mut self, question: &Question, page: &mut Page) -> Reply {
        let answer = match (&question.ask, &self.shared, &self.script) {
            // Nobody is here who could sign in, whatever a file says.
            (Ask::SignIn { .. }, _, _) => return Reply::Cancelled(Why::Nobody),
            (Ask::Roots, Some(roots), _) => Answer::Given(Reply::Roots(roots.clone()), None),
            (_, _, Some(script)) => script.answer(&self.asker, question, &self.limits),
            (_, _, None) => Answer::Unmatched,
        };
        let reply = match answer {
            Answer::Given(reply, rule) => {
                tell(page, question, &reply, rule);
                reply
            }
            Answer::Unfit { rule, why } => {
                page.put(&in_full(&self.asker, question, self.look));
                let whose = rule.map_or("the list of roots".to_owned(), |rule| {
                    format!("rule {rule}")
                });
                page.item(
                    "× ",
                    Style::Warning,
                    &format!("{whose} does not answer this; cancelled:"),
                );
                page.quote_at("  ", &why);
                Reply::Cancelled(Why::Unmatched)
            }
            Answer::Unmatched => {
                page.put(&in_full(&self.asker, question, self.look));
                self.unmatched(question, page)
            }
        };
        self.unanswered |= reply.is_refusal();
        reply
    }

    fn unmatched(&self, question: &Question, page: &mut Page) -> Reply {
        let (words, why) = match &self.script {
            Some(_) => (
                "no rule of the answers file fits; cancelled.",
                Why::Unmatched,
            ),
            None => ("there is no terminal to ask at; cancelled.", Why::Nobody),
        };
        page.item("× ", Style::Warning, words);
        if let Some(rule) = rule_for(question) {
            page.note(
                Style::Plain,
                "A rule such as this, in a file named by --answers, would answer it:",
            );
            // Without the gutter, for it is to be copied; names of the server are quoted in it.
            for line in text::json(&rule).lines() {
                page.put(&format!("    {line}\n"));
            }
        }
        Reply::Cancelled(why)
    }
}

/// Says on the page, in a line, what a rule answered.
fn tell(page: &mut Page, question: &Question, reply: &Reply, rule: Option<usize>) {
    let what = match (&question.key, &question.ask) {
        (Some(key), _) => text::line(key),
        (None, Ask::Form { .. }) => "a form".to_owned(),
        (None, Ask::Link { .. }) => "a link".to_owned(),
        (None, Ask::Sample(_)) => "sampling".to_owned(),
        (None, Ask::Roots | Ask::Arguments { .. } | Ask::SignIn { .. }) => "roots".to_owned(),
    };
    let became = match reply {
        Reply::Link => "agreed to, not opened",
        Reply::Declined { by: By::Policy, .. } => "declined by policy",
        Reply::Declined { .. } => "declined",
        Reply::Cancelled(_) => "cancelled",
        _ => "answered",
    };
    let by = rule.map_or_else(String::new, |rule| format!(" by rule {rule}"));
    page.note(Style::Dim, &format!("{what}: {became}{by}"));
    match (&question.ask, reply) {
        (Ask::Link { url, .. }, Reply::Link) => page.quote_at("    ", &text::line(url)),
        (
            Ask::Link { url, .. },
            Reply::Declined {
                by: By::Policy,
                reason,
            },
        ) => {
            page.quote_at("    ", &text::line(url));
            let reason = reason.as_deref().unwrap_or_default();
            page.item("    × ", Style::Warning, reason);
        }
        _ => {}
    }
}
