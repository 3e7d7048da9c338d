//! The desk: the waiting questions of a server, and the one in front of the user.

use std::{collections::VecDeque, mem, time::Duration};

use askback::{
    limits::Limits,
    protocol::{CreateMessageResult, Implementation, Root},
};

use super::{
    Ask, Asker, By, Call, Question, Refused, Reply, Typed, TypedChange, Why, WorstEnd,
    action::{Action, Effect, Notice, Permission, SuggestionRequest, Suggestions},
    repeat::{Leftover, Repeats},
    step::{self, Step, Turn},
};
use crate::{
    ending::QuestionEnd,
    models::ModelError,
    text::{Clock, Words},
};

/// The questions of one server: one in front of the user, the others waiting.
#[derive(Debug)]
pub struct Desk {
    asker: Asker,
    front: Option<Open>,
    waiting: VecDeque<Open>,
    /// The number of questions answered since the desk was last empty.
    answered: usize,
    /// The number of questions of other servers that wait for the same user.
    pub(crate) elsewhere: usize,
    muted: bool,
    /// The number of questions that were cancelled because the server is muted.
    muted_questions: usize,
    /// Whether a question that the user leaves stays open for another front end.
    stays: bool,
    shared: Option<Vec<Root>>,
    offer: Option<Root>,
    ended: WorstEnd,
    ended_before: WorstEnd,
    repeats: Repeats,
    kept: Leftover,
    /// Whether the user stopped a call and did nothing since.
    is_stopped: bool,
    refused: usize,
    /// Whether the user was told, since their last answer, that too many questions wait.
    flooded: bool,
    model: Option<String>,
    permission: Permission,
    limits: Limits,
    clock: Clock,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A question arrived, with a number chosen by the caller.
    Asked(u64, Question),
    /// A question was refused before it reached the desk.
    Refused(Refused),
    /// A question ended without an answer of the user: its caller no longer waits.
    Ended(u64, QuestionEnd),
    /// The server disconnected before its questions were answered.
    Lost,
    /// One of our own questions was answered elsewhere.
    Settled(u64),
    /// Another front end changed what is typed in a question.
    Typed {
        id: u64,
        changes: Vec<TypedChange>,
        /// Whether it was typed before this front end had the question.
        is_restored: bool,
    },
    Action(Action),
    /// A file of the user's answers the question in front.
    Answered(Reply),
    EndOfInput,
    /// The result of an [`Effect::Run`]: the model's reply, or our error message and the
    /// provider's.
    Sampled(Result<Box<CreateMessageResult>, ModelError>),
    /// The result of an [`Effect::Open`]: whether a browser was started.
    Browser(bool),
    Folder(Result<Root, Words>),
    Suggested(Suggestions),
    /// The server says that a link is completed.
    LinkDone(String),
}

#[derive(Debug, Clone, PartialEq)]
pub struct EventOutcome {
    /// The number of the question that was in front, and whether it was our own.
    pub before: Option<(u64, bool)>,
    /// The server's message of that question.
    pub message: Option<String>,
    pub is_link: bool,
    pub cause: Cause,
    pub effects: Vec<Effect>,
}

/// Who caused an [`Event`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    Person,
    /// The server, by asking or saying something.
    Server,
    /// The server or the browser: a question was withdrawn.
    Gone,
    /// Another front end of the same question.
    Elsewhere,
    Machine,
}

/// The question in front of the user, as front ends show it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Front<'a> {
    pub id: u64,
    pub question: &'a Question,
    /// Its position among the questions, from 1.
    pub position: usize,
    /// The number of questions, including those of other servers that wait for the same user.
    pub total: usize,
    pub step: &'a Step,
    /// The number of step changes. A front end need not redraw the same turn.
    pub turn: u64,
    /// Why the user's last input was rejected.
    pub issue: Option<&'a Words>,
    /// The name that the user gave the model, if there is a model.
    pub model: Option<&'a str>,
    /// The suggested values for the user's last text.
    pub suggested: Option<&'a Suggestions>,
    /// Whether the question stays open for another front end if the user leaves.
    pub stays: bool,
}

impl Front<'_> {
    /// Whether the call continues as soon as the user agrees to a link, without waiting for the
    /// page.
    pub fn goes_on(&self) -> bool {
        matches!(self.question.ask, Ask::Link { retried: false, .. })
    }

    /// Whether the user already opened the link in this call without finishing the page.
    pub fn is_unfinished(&self) -> bool {
        matches!(self.question.ask, Ask::Link { again: true, .. })
    }

    /// Whether the fields of the form have suggestions.
    pub fn suggests(&self) -> bool {
        matches!(self.question.ask, Ask::Arguments { suggests: true, .. })
    }
}

#[derive(Debug)]
struct Open {
    id: u64,
    question: Question,
    step: Step,
    turn: u64,
    issue: Option<Words>,
    /// The field that needs suggestions, and the start of their text.
    wanted: Option<(usize, String)>,
    suggested: Option<Suggestions>,
    /// The content of the form when it was first shown, without restored text.
    first: Typed,
    /// Whether the user knows that another front end fills in the question as well.
    is_shared: bool,
}

impl Desk {
    /// `offer` is the folder to offer as a root; `shared` are the folders that the user already
    /// agreed to.
    pub fn new(
        asker: Asker,
        offer: Option<Root>,
        shared: Option<Vec<Root>>,
        limits: Limits,
    ) -> Self {
        Self {
            asker,
            front: None,
            waiting: VecDeque::new(),
            answered: 0,
            elsewhere: 0,
            muted: false,
            muted_questions: 0,
            stays: false,
            shared,
            offer,
            ended: WorstEnd::default(),
            ended_before: WorstEnd::default(),
            repeats: Repeats::default(),
            kept: Leftover::default(),
            is_stopped: false,
            refused: 0,
            flooded: false,
            model: None,
            permission: Permission::Ask,
            limits,
            clock: Clock::default(),
        }
    }

    /// Sets the clock for dates and times in forms. The default is this machine's clock in UTC.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Keeps questions open for other front ends if the user leaves.
    #[must_use]
    pub fn with_open_questions(mut self) -> Self {
        self.stays = true;
        self
    }

    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    pub fn meet(&mut self, claims: Option<Implementation>) {
        if claims.is_some() {
            self.asker.claims = claims;
        }
    }

    pub fn front(&self) -> Option<Front<'_>> {
        let open = self.front.as_ref()?;
        let position = self.answered.saturating_add(1);
        let others = self.waiting.len().saturating_add(self.elsewhere);
        Some(Front {
            id: open.id,
            question: &open.question,
            position,
            total: position.saturating_add(others),
            step: &open.step,
            turn: open.turn,
            issue: open.issue.as_ref(),
            suggested: open.suggested.as_ref(),
            model: self.model.as_deref(),
            stays: self.stays,
        })
    }

    pub(super) fn open_questions(&self) -> usize {
        self.waiting
            .len()
            .saturating_add(usize::from(self.front.is_some()))
    }

    pub fn ended(&self) -> WorstEnd {
        self.ended
    }

    /// Returns how long a server may be silent during a request.
    pub fn patience(&self) -> Duration {
        self.limits.wire.request
    }

    /// Returns the folders that the user agreed to show, if they were asked.
    pub fn shared(&self) -> Option<&[Root]> {
        self.shared.as_deref()
    }

    /// Shares these folders from now on without asking.
    pub fn share(&mut self, roots: Vec<Root>) {
        self.shared = Some(roots);
    }

    /// Lets the questions of this server come to the user again.
    pub fn unmute(&mut self) {
        self.muted = false;
    }

    pub fn is_muted(&self) -> bool {
        self.muted
    }

    pub fn update(&mut self, event: Event) -> EventOutcome {
        let front = self.front.as_ref();
        EventOutcome {
            before: front.map(|open| (open.id, open.question.ask.is_ours())),
            message: front
                .and_then(|open| open.question.ask.message())
                .map(str::to_owned),
            is_link: front.is_some_and(|open| matches!(open.question.ask, Ask::Link { .. })),
            cause: match event {
                Event::Action(_) | Event::Answered(_) | Event::EndOfInput => Cause::Person,
                Event::Asked(..) | Event::Refused(_) | Event::Suggested(_) | Event::LinkDone(_) => {
                    Cause::Server
                }
                Event::Ended(..) | Event::Lost | Event::Settled(_) => Cause::Gone,
                Event::Typed { .. } => Cause::Elsewhere,
                Event::Browser(_) | Event::Folder(_) | Event::Sampled(_) => Cause::Machine,
            },
            effects: self.effects(event),
        }
    }

    fn effects(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Asked(id, question) => self.asked(id, question),
            Event::Refused(refused) => self.refused(refused),
            Event::Ended(id, end) => self.remove(Notice::Ended(end), |open| open.id == id),
            Event::Lost => self.remove(Notice::Lost, |open| !open.question.ask.is_ours()),
            Event::Settled(id) => self.remove(Notice::BrowserBack, |open| open.id == id),
            Event::Typed {
                id,
                changes,
                is_restored,
            } => self.retyped(id, changes, is_restored),
            Event::Action(Action::Mute) => self.mute(),
            Event::Action(Action::Suggest { field, text }) => self.suggest(field, text),
            Event::Suggested(suggested) => self.suggested(suggested),
            Event::Action(Action::Never) => self.never(),
            Event::Action(Action::Run(permission)) => self.run(permission),
            Event::Sampled(reply) => self.sampled(reply),
            Event::Action(said) => self.turn(|step, question| step.said(question, said)),
            Event::Answered(reply) => self.turn(|_, _| Turn::reply(reply)),
            Event::EndOfInput => self.turn(|step, _| step.end_of_input()),
            Event::Browser(is_there) => {
                self.turn(|step, question| step::opened(step, question, is_there))
            }
            Event::Folder(found) => self.folder(found),
            Event::LinkDone(id) => self.link_done(&id),
        }
    }

    fn asked(&mut self, id: u64, question: Question) -> Vec<Effect> {
        let answer = |reply| Effect::Answer(id, reply);
        if self.muted && !question.ask.is_ours() {
            return self.asked_while_muted(id, &question);
        }
        if let Some(reply) = self.repeats.take(&question) {
            let message = question.ask.message().unwrap_or_default().to_owned();
            return vec![Effect::Tell(Notice::Repeated { message }), answer(reply)];
        }
        if self.waiting.len() >= self.limits.host.questions_waiting {
            let is_told = mem::replace(&mut self.flooded, true);
            let mut effects = vec![self.refuse(id, Reply::Cancelled(Why::Flood))];
            effects.extend((!is_told).then_some(Effect::Tell(Notice::Flood)));
            return effects;
        }
        if let (Ask::Roots, Some(roots)) = (&question.ask, &self.shared) {
            return vec![answer(Reply::Roots(roots.clone()))];
        }
        let kept = self.kept.take(&question).or_else(|| {
            let sent = self.repeats.sent(&question)?;
            Step::again(&question.ask, sent, &self.limits, self.clock)
        });
        let is_kept = kept.is_some();
        let has_model = self.model.is_some();
        let offer = self.offer.as_ref();
        let first = Step::first(&question.ask, has_model, offer, &self.limits, self.clock);
        match first {
            Ok(first) => {
                self.waiting.push_back(Open {
                    id,
                    first: first.typed(&question.ask),
                    is_shared: false,
                    step: kept.unwrap_or(first),
                    question,
                    turn: 0,
                    issue: None,
                    wanted: None,
                    suggested: None,
                });
                let mut effects = match self.front {
                    Some(_) => Vec::new(),
                    None => self.bring_forward(),
                };
                effects.extend(is_kept.then_some(Effect::Tell(Notice::Restored)));
                effects
            }
            Err((notice, reply)) => {
                let answer = self.refuse(id, reply);
                vec![Effect::Tell(notice), answer]
            }
        }
    }

    fn refuse(&mut self, id: u64, reply: Reply) -> Effect {
        self.end(reply.ended());
        Effect::Answer(id, reply)
    }

    fn end(&mut self, ended: WorstEnd) {
        self.ended = self.ended.max(ended);
    }

    /// A refused question counts as unanswered.
    fn refused(&mut self, refused: Refused) -> Vec<Effect> {
        self.end(WorstEnd::Unanswered);
        if self.muted || refused.is_told {
            return Vec::new();
        }
        self.refused = self.refused.saturating_add(1);
        match self.limits.host.refusals.checked_sub(self.refused) {
            Some(_) => vec![Effect::Tell(Notice::Refused(refused))],
            None if self.refused == self.limits.host.refusals.saturating_add(1) => {
                vec![Effect::Tell(Notice::RefusedMore)]
            }
            None => Vec::new(),
        }
    }

    /// Skips questions that the user has already answered.
    fn bring_forward(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.front = None;
        while let Some(mut open) = self.waiting.pop_front() {
            let is_sampling = matches!(open.question.ask, Ask::Sample(_));
            if is_sampling && self.permission == Permission::Never {
                effects.push(Effect::Tell(Notice::NoModel));
                effects.push(self.refuse(open.id, declined(By::Policy)));
                continue;
            }
            // After a stop, a request without a call is likely that call's: the permission is not for it.
            let is_permitted =
                self.permission.is_given() && !(self.is_stopped && open.question.call.is_none());
            if let (Step::Request(_), true) = (&open.step, is_permitted) {
                let said = Action::Run(self.permission);
                let turn = open.step.said(&open.question, said);
                effects.extend(turn.effect);
                let Ok(step) = turn.next else { continue };
                open.step = step;
            }
            self.front = Some(open);
            return effects;
        }
        self.answered = 0;
        effects
    }

    /// Removes questions. If one of them was in front, tells the user and brings the next one forward. Unless they
    /// were answered elsewhere, they count as unanswered.
    fn remove(&mut self, notice: Notice, is_gone: impl Fn(&Open) -> bool) -> Vec<Effect> {
        let before = self.waiting.len();
        self.waiting.retain(|open| !is_gone(open));
        let front = self.front.take_if(|open| is_gone(open));
        let is_any = front.is_some() || self.waiting.len() < before;
        if is_any && notice != Notice::BrowserBack {
            self.end(WorstEnd::Unanswered);
        }
        let Some(open) = front else {
            return Vec::new();
        };
        self.kept.keep(open.question, open.step, &self.limits);
        let mut effects = vec![Effect::Tell(notice)];
        effects.extend(self.bring_forward());
        effects
    }

    fn open(&self, id: u64) -> Option<&Open> {
        let mut open = self.front.iter().chain(&self.waiting);
        open.find(|open| open.id == id)
    }

    /// Returns what the user has typed in a question, without secrets.
    pub fn typed(&self, id: u64) -> Option<Typed> {
        let open = self.open(id)?;
        Some(open.step.typed(&open.question.ask))
    }

    /// Returns the content of a question when it was first shown, before anything was typed or restored.
    pub fn first_typed(&self, id: u64) -> Option<&Typed> {
        Some(&self.open(id)?.first)
    }

    /// Applies the changes of another front end, but not over newer text of the user.
    fn retyped(&mut self, id: u64, changes: Vec<TypedChange>, is_restored: bool) -> Vec<Effect> {
        let is_in_front = self.front.as_ref().is_some_and(|open| open.id == id);
        let mut all = self.front.iter_mut().chain(&mut self.waiting);
        let Some(open) = all.find(|open| open.id == id) else {
            return Vec::new();
        };
        let before = open.step.typed(&open.question.ask);
        let was_reviewed = open.step.is_reviewed();
        for TypedChange { name, over, now } in changes {
            let known = before.get(&name);
            let is_current = over.is_none() || known == over.as_ref();
            if known.is_some() && is_current {
                let step = mem::replace(&mut open.step, Step::Confirm);
                open.step = step.retype(&name, &now);
            }
        }
        if open.step.typed(&open.question.ask) == before {
            return Vec::new();
        }
        if was_reviewed && !open.step.is_reviewed() {
            open.turn = open.turn.saturating_add(1);
            open.issue = Some("it was changed elsewhere in the meantime".into());
        }
        let notice = match is_restored {
            true => Notice::Restored,
            false if mem::replace(&mut open.is_shared, true) => return Vec::new(),
            false => Notice::TypedElsewhere,
        };
        let is_told = is_in_front || is_restored;
        is_told
            .then_some(Effect::Tell(notice))
            .into_iter()
            .collect()
    }

    /// Cancels a question of a muted server. Tells the user about the first few only.
    fn asked_while_muted(&mut self, id: u64, question: &Question) -> Vec<Effect> {
        self.muted_questions = self.muted_questions.saturating_add(1);
        let message = question.ask.message().unwrap_or_default().to_owned();
        let is_told = self.muted_questions <= self.limits.host.refusals;
        let tell = is_told.then_some(Effect::Tell(Notice::CancelledByMute { message }));
        let answer = self.refuse(id, Reply::Cancelled(Why::Muted));
        tell.into_iter().chain([answer]).collect()
    }

    fn mute(&mut self) -> Vec<Effect> {
        self.muted = true;
        self.muted_questions = 0;
        self.answered = 0;
        let open = self.front.take().into_iter();
        let mut effects: Vec<_> = open
            .chain(mem::take(&mut self.waiting))
            .map(|open| self.refuse(open.id, Reply::Cancelled(Why::Muted)))
            .collect();
        effects.push(Effect::Tell(Notice::Muted));
        effects
    }

    fn suggest(&mut self, field: usize, text: String) -> Vec<Effect> {
        let Some(open) = &mut self.front else {
            return Vec::new();
        };
        let (Ask::Arguments { suggests: true, .. }, Step::Filling(draft)) =
            (&open.question.ask, &open.step)
        else {
            return Vec::new();
        };
        let Some(name) = draft.fields().get(field).map(|field| field.name.clone()) else {
            return Vec::new();
        };
        let mut others = draft.content();
        others.remove(&name);
        open.wanted = Some((field, text.clone()));
        vec![Effect::Suggest(SuggestionRequest {
            field,
            name,
            text,
            others,
        })]
    }

    /// Suggestions that arrive after the user moved on are dropped.
    fn suggested(&mut self, suggested: Suggestions) -> Vec<Effect> {
        if let Some(open) = &mut self.front
            && let Some((field, text)) = &open.wanted
            && (*field, text) == (suggested.field, &suggested.text)
        {
            open.suggested = Some(suggested);
        }
        Vec::new()
    }

    fn folder(&mut self, found: Result<Root, Words>) -> Vec<Effect> {
        self.turn(|step, _| match (step, found) {
            (Step::Folders(_), Ok(root)) => Turn::reply(Reply::Roots(vec![root])),
            (step, Err(issue)) => Turn::stay(step).because(issue),
            (step, Ok(_)) => Turn::stay(step),
        })
    }

    fn link_done(&mut self, done: &str) -> Vec<Effect> {
        let is_open = self.front.as_ref().is_some_and(|open| {
            let asked = matches!(&open.question.ask, Ask::Link { id: Some(id), .. } if id == done);
            asked && matches!(open.step, Step::Opened(_))
        });
        if !is_open {
            return Vec::new();
        }
        let mut effects = vec![Effect::Tell(Notice::LinkDone)];
        effects.extend(self.turn(|_, _| Turn::reply(Reply::Link)));
        effects
    }

    /// Shares these folders from now on, and answers the waiting questions about folders too, so
    /// that the user agrees only once.
    fn agree(&mut self, roots: &[Root]) -> Vec<Effect> {
        self.shared = Some(roots.to_vec());
        let waiting = mem::take(&mut self.waiting);
        let (asking, others) = waiting
            .into_iter()
            .partition(|open| matches!(open.question.ask, Ask::Roots));
        self.waiting = others;
        let asking: VecDeque<Open> = asking;
        let answers = asking.into_iter().map(|open| open.id);
        answers
            .map(|id| Effect::Answer(id, Reply::Roots(roots.to_vec())))
            .collect()
    }

    fn turn(&mut self, take: impl FnOnce(Step, &Question) -> Turn) -> Vec<Effect> {
        let Some(open) = self.front.take() else {
            return Vec::new();
        };
        let turn = take(open.step, &open.question);
        let mut effects: Vec<_> = turn.effect.into_iter().collect();
        match turn.next {
            Ok(step) => {
                self.front = Some(Open {
                    step,
                    turn: open.turn.saturating_add(u64::from(turn.moved)),
                    issue: turn.issue,
                    ..open
                });
            }
            Err(reply) => {
                if !open.question.ask.is_ours() {
                    self.end(reply.ended_for(&open.question));
                }
                self.repeats.keep(&open.question, &reply);
                if let Reply::Roots(roots) = &reply {
                    effects.extend(self.agree(roots));
                }
                let fails = reply.is_refusal() && open.question.is_of_error();
                effects.push(Effect::Answer(open.id, reply));
                effects.extend(fails.then_some(Effect::Tell(Notice::LinkNeeded)));
                self.answered = self.answered.saturating_add(1);
                self.flooded = false;
                effects.extend(self.bring_forward());
            }
        }
        effects
    }

    /// Starts a call. If it repeats the previous call, the same questions get the same answers, and
    /// the new outcome replaces the old one.
    pub fn begin_call(&mut self, is_repeated: bool) {
        match is_repeated {
            true => self.ended = self.ended_before,
            false => self.ended_before = self.ended,
        }
        self.repeats.begin(is_repeated);
        self.go_on();
    }

    /// Whether answers to a call that ended are kept, to be sent if it is repeated.
    pub fn has_kept(&self, call: &Call) -> bool {
        self.repeats.has_kept() || self.kept.is_of(call)
    }

    /// Whether a form of the call asked for a secret. Answers to that form are not kept.
    pub fn asked_secret(&self) -> bool {
        self.repeats.asked_secret()
    }

    pub fn end_call(&mut self) {
        self.repeats.end();
    }

    /// Records that the user stopped a call. Until they do something else, no model replies to a request without a
    /// call unless they permit it.
    pub fn stop_call(&mut self) {
        self.is_stopped = true;
    }

    pub fn go_on(&mut self) {
        self.is_stopped = false;
    }

    /// Lets this model reply to the server's sampling requests from now on, as far as the user permits.
    pub fn ask_model(&mut self, model: String) {
        self.model = Some(model);
    }

    pub fn permission(&self) -> Permission {
        self.permission
    }

    pub fn permit(&mut self, permission: Permission) {
        self.permission = permission;
    }

    /// Runs the request in front, and saves the permission.
    fn run(&mut self, permission: Permission) -> Vec<Effect> {
        let is_request = |open: &Open| matches!(open.step, Step::Request(_));
        let mut effects = Vec::new();
        if self.front.as_ref().is_some_and(is_request) && permission != Permission::Ask {
            self.permission = permission;
            effects.extend(permission.is_kept().then_some(Effect::Remember(permission)));
        }
        let said = Action::Run(permission);
        effects.extend(self.turn(|step, question| step.said(question, said)));
        effects
    }

    /// Declines the request in front and all later sampling requests of the server.
    fn never(&mut self) -> Vec<Effect> {
        let is_sampling = |open: &Open| matches!(open.question.ask, Ask::Sample(_));
        if !self.front.as_ref().is_some_and(is_sampling) {
            return Vec::new();
        }
        self.permission = Permission::Never;
        let mut effects = vec![Effect::Remember(Permission::Never)];
        effects.extend(self.turn(|_, _| Turn::reply(declined(By::Person))));
        effects
    }

    fn sampled(&mut self, reply: Result<Box<CreateMessageResult>, ModelError>) -> Vec<Effect> {
        let is_permitted = self.permission.is_given();
        self.turn(|step, _| match (step, reply) {
            (Step::Running(sampling), Ok(reply)) => step::came(sampling, *reply, is_permitted),
            (Step::Running(sampling), Err(error)) => step::failed(sampling, error),
            (step, _) => Turn::stay(step),
        })
    }
}

fn declined(by: By) -> Reply {
    Reply::Declined { by, reason: None }
}
