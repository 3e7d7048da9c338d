//! The desk: the questions that wait, and the one in front of the person.

mod models;

use std::{collections::VecDeque, mem, time::Duration};

use askback::{
    limits::Limits,
    protocol::{CreateMessageResult, Root},
};

use super::{
    Ask, Asker, By, Call, Claims, Question, Refused, Reply, Stance, Why, WorstEnd,
    kept::Leftover,
    repeat::Repeats,
    stage::{self, Stage, Turn},
    step::{Action, Effect, Notice, Permission, Step, Suggestions},
};
use crate::text::{Clock, PeerText, Words};

/// Every question of one server: one in front of the person, others waiting.
#[derive(Debug)]
pub struct Desk {
    asker: Asker,
    front: Option<Open>,
    waiting: VecDeque<Open>,
    /// Questions answered since the desk was last empty.
    answered: usize,
    /// Questions of other servers that wait for the same person.
    pub(crate) elsewhere: usize,
    muted: bool,
    /// The folders the person has agreed to show this server.
    shared: Option<Vec<Root>>,
    /// The folder that is offered.
    offer: Option<Root>,
    ended: WorstEnd,
    /// How the questions before the last call ended.
    ended_before: WorstEnd,
    stance: Stance,
    /// The answers of the call before, where they are given again.
    repeats: Repeats,
    kept: Leftover,
    stopped: LastStop,
    /// Questions that were refused without asking.
    refused: usize,
    /// Whether the person was told, since they last answered, that too many questions wait.
    flooded: bool,
    /// The model that can be asked, as the person named it.
    model: Option<String>,
    permission: Permission,
    limits: Limits,
    clock: Clock,
}

/// An event of a [`Desk`].
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// A question arrives, under a number of the caller's.
    Asked(u64, Question),
    /// A question was refused, and does not come to the desk.
    Refused(Refused),
    /// A question is taken back.
    Withdrawn(u64),
    /// The server went away before its questions were answered.
    Lost,
    /// A question of ours was answered in another way than by the person here.
    Settled(u64),
    /// The person said something about the question in front.
    Action(Action),
    /// The question in front is answered for the person, by a file of theirs.
    Answered(Reply),
    /// The person will say nothing more.
    EndOfInput,
    /// The reply of the model that an [`Effect::Run`] asked, or why there is none: in words of ours, and
    /// in those of its provider.
    Sampled(Result<Box<CreateMessageResult>, (Words, Option<PeerText>)>),
    /// The result of an [`Effect::Open`]: whether a browser was started.
    Browser(bool),
    /// The result of an [`Effect::CheckFolder`].
    Folder(Result<Root, Words>),
    /// The result of an [`Effect::Suggest`].
    Suggested(Suggestions),
    /// The server says that a link is done.
    LinkDone(String),
}

/// The outcome of an [`Event`].
#[derive(Debug, Clone, PartialEq)]
pub struct EventOutcome {
    /// The question that was in front before, and whether it was one of ours.
    pub before: Option<(u64, bool)>,
    /// The server's message of that question.
    pub message: Option<String>,
    /// Whether it was a link.
    pub is_link: bool,
    /// The party whose doing it was.
    pub cause: Cause,
    /// The effects to carry out.
    pub effects: Vec<Effect>,
}

/// The party whose doing an [`Event`] was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The person's.
    Person,
    /// The server's, which asked or said something.
    Server,
    /// The server's or the browser's: a question went away by itself.
    Gone,
    /// This machine's.
    Machine,
}

/// The question in front of the person, as it is to be shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Front<'a> {
    /// Its number.
    pub id: u64,
    /// The question.
    pub question: &'a Question,
    /// Which of the questions it is, from 1.
    pub position: usize,
    /// How many there are, with those of other servers that wait for the same person.
    pub total: usize,
    /// The current step.
    pub step: Step<'a>,
    /// How often the step has changed: what was shown at the same turn need not be shown again.
    pub turn: u64,
    /// The issue of the person's last input.
    pub issue: Option<&'a Words>,
    /// The model that can be asked, as the person named it.
    pub model: Option<&'a str>,
    /// The values that are suggested for the text that the person wrote last.
    pub suggested: Option<&'a Suggestions>,
}

impl Front<'_> {
    /// Whether the call goes on by itself once the person has agreed to a link: nothing waits for
    /// the page behind it.
    pub fn goes_on(&self) -> bool {
        matches!(self.question.ask, Ask::Link { retried: false, .. })
    }

    /// Whether the person has been to the link in this call already, and the page behind it is not finished.
    pub fn is_unfinished(&self) -> bool {
        matches!(self.question.ask, Ask::Link { again: true, .. })
    }

    /// Whether values are suggested for the fields of the form.
    pub fn suggests(&self) -> bool {
        matches!(self.question.ask, Ask::Arguments { suggests: true, .. })
    }
}

#[derive(Debug)]
struct Open {
    id: u64,
    question: Question,
    stage: Stage,
    turn: u64,
    issue: Option<Words>,
    /// The field for which values are wanted, and the text that they begin with.
    wanted: Option<(usize, String)>,
    suggested: Option<Suggestions>,
}

impl Desk {
    /// A desk without questions. `offer` is the folder offered as a root; `shared` are the
    /// folders agreed to beforehand.
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
            shared,
            offer,
            ended: WorstEnd::default(),
            ended_before: WorstEnd::default(),
            stance: Stance::default(),
            repeats: Repeats::default(),
            kept: Leftover::default(),
            stopped: LastStop::default(),
            refused: 0,
            flooded: false,
            model: None,
            permission: Permission::Ask,
            limits,
            clock: Clock::default(),
        }
    }

    /// Has dates and times in forms be written by this clock, in place of that of this machine in UTC.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// The server whose questions these are.
    pub fn asker(&self) -> &Asker {
        &self.asker
    }

    /// Takes note of the server's own name.
    pub fn meet(&mut self, claims: Option<Claims>) {
        if claims.is_some() {
            self.asker.claims = claims;
        }
    }

    /// The question in front of the person.
    pub fn front(&self) -> Option<Front<'_>> {
        let open = self.front.as_ref()?;
        let position = self.answered.saturating_add(1);
        let others = self.waiting.len().saturating_add(self.elsewhere);
        Some(Front {
            id: open.id,
            question: &open.question,
            position,
            total: position.saturating_add(others),
            step: open.stage.step(self.offer.as_ref()),
            turn: open.turn,
            issue: open.issue.as_ref(),
            suggested: open.suggested.as_ref(),
            model: self.model.as_deref(),
        })
    }

    /// How the questions so far ended, at worst.
    pub fn ended(&self) -> WorstEnd {
        self.ended
    }

    /// How long a server may be silent over a request.
    pub fn patience(&self) -> Duration {
        self.limits.wire.request
    }

    /// The folders the person has agreed to show, if that was asked.
    pub fn shared(&self) -> Option<&[Root]> {
        self.shared.as_deref()
    }

    /// Shows these folders from now on without asking.
    pub fn share(&mut self, roots: Vec<Root>) {
        self.shared = Some(roots);
    }

    /// Answers the questions that come so from now on, also where the person wanted none.
    pub fn answer_as(&mut self, stance: Stance) {
        self.stance = stance;
        self.muted = false;
    }

    /// How questions are answered.
    pub fn stance(&self) -> Stance {
        self.stance
    }

    /// Takes in what happened and says what is to be done.
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
                Event::Withdrawn(_) | Event::Lost | Event::Settled(_) => Cause::Gone,
                Event::Browser(_) | Event::Folder(_) | Event::Sampled(_) => Cause::Machine,
            },
            effects: self.effects(event),
        }
    }

    fn effects(&mut self, event: Event) -> Vec<Effect> {
        match event {
            Event::Asked(id, question) if self.stopped.is_for(&question) => self.asks_on(id),
            Event::Asked(id, question) => self.asked(id, question),
            Event::Refused(refused) => self.refused(refused),
            Event::Withdrawn(id) => self.withdrawn(id),
            Event::Lost => self.lost(),
            Event::Settled(id) => self.settled(id),
            Event::Action(Action::Mute) => self.mute(),
            Event::Action(Action::Suggest { field, text }) => self.suggest(field, text),
            Event::Suggested(suggested) => self.suggested(suggested),
            Event::Action(Action::Never) => self.never(),
            Event::Action(Action::Run(permission)) => self.run(permission),
            Event::Sampled(reply) => self.sampled(reply),
            Event::Action(said) => {
                self.turn(|stage, question, offer| stage.said(question, offer, said))
            }
            Event::Answered(reply) => self.turn(|_, _, _| Turn::reply(reply)),
            Event::EndOfInput => self.turn(|stage, _, _| stage.end_of_input()),
            Event::Browser(is_there) => {
                self.turn(|stage, question, _| stage::opened(stage, question, is_there))
            }
            Event::Folder(found) => self.folder(found),
            Event::LinkDone(id) => self.link_done(&id),
        }
    }

    fn asked(&mut self, id: u64, question: Question) -> Vec<Effect> {
        let answer = |reply| Effect::Answer(id, reply);
        if self.muted && !question.ask.is_ours() {
            return vec![self.refuse(id, Reply::Cancelled(Why::Muted))];
        }
        if let (Some(reply), false) = (self.stance.reply(), question.ask.is_ours()) {
            let ended = reply.as_ref().map_or(WorstEnd::Unanswered, Reply::ended);
            self.end(ended);
            let message = question.ask.message().unwrap_or_default().to_owned();
            let stance = self.stance;
            let mut effects = vec![Effect::Tell(Notice::Played { message, stance })];
            effects.extend(reply.map(answer));
            return effects;
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
            Stage::again(&question.ask, sent, &self.limits, self.clock)
        });
        let is_kept = kept.is_some();
        let first = match kept {
            Some(stage) => Ok(stage),
            None => {
                let has_model = self.model.is_some();
                Stage::first(&question.ask, has_model, &self.limits, self.clock)
            }
        };
        match first {
            Ok(stage) => {
                self.waiting.push_back(Open {
                    id,
                    question,
                    stage,
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

    /// Answers a question that does not come before the person.
    fn refuse(&mut self, id: u64, reply: Reply) -> Effect {
        self.end(reply.ended());
        Effect::Answer(id, reply)
    }

    /// Takes note of how a question ended.
    fn end(&mut self, ended: WorstEnd) {
        self.ended = self.ended.max(ended);
    }

    /// Tells of a question that was refused: it went unanswered, whoever refused it.
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

    /// Puts the next waiting question in front that the person did not answer beforehand.
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
            if let (Stage::Request(_), true) = (&open.stage, self.permission.is_given()) {
                let said = Action::Run(self.permission);
                let turn = open.stage.said(&open.question, None, said);
                effects.extend(turn.effect);
                let Ok(stage) = turn.next else { continue };
                open.stage = stage;
            }
            self.front = Some(open);
            return effects;
        }
        self.answered = 0;
        effects
    }

    /// Takes a question off the desk. It went unanswered, whoever gave up waiting.
    fn withdrawn(&mut self, id: u64) -> Vec<Effect> {
        let before = self.waiting.len();
        self.waiting.retain(|open| open.id != id);
        if self.waiting.len() < before {
            self.end(WorstEnd::Unanswered);
        }
        if self.front.as_ref().is_none_or(|open| open.id != id) {
            return Vec::new();
        }
        self.end(WorstEnd::Unanswered);
        if let Some(open) = self.front.take() {
            self.kept.keep(open.question, open.stage, &self.limits);
        }
        let mut effects = vec![Effect::Tell(Notice::Withdrawn)];
        effects.extend(self.bring_forward());
        effects
    }

    /// Takes all questions of the server off the desk. They went unanswered.
    fn lost(&mut self) -> Vec<Effect> {
        let before = self.waiting.len();
        self.waiting.retain(|open| open.question.ask.is_ours());
        let front = self.front.take_if(|open| !open.question.ask.is_ours());
        if front.is_some() || self.waiting.len() < before {
            self.end(WorstEnd::Unanswered);
        }
        let Some(open) = front else {
            return Vec::new();
        };
        self.kept.keep(open.question, open.stage, &self.limits);
        let mut effects = vec![Effect::Tell(Notice::Lost)];
        effects.extend(self.bring_forward());
        effects
    }

    fn settled(&mut self, id: u64) -> Vec<Effect> {
        self.waiting.retain(|open| open.id != id);
        if self.front.as_ref().is_none_or(|open| open.id != id) {
            return Vec::new();
        }
        let mut effects = vec![Effect::Tell(Notice::BrowserBack)];
        effects.extend(self.bring_forward());
        effects
    }

    fn mute(&mut self) -> Vec<Effect> {
        self.muted = true;
        self.answered = 0;
        let open = self.front.take().into_iter();
        let mut effects: Vec<_> = open
            .chain(mem::take(&mut self.waiting))
            .map(|open| self.refuse(open.id, Reply::Cancelled(Why::Muted)))
            .collect();
        effects.push(Effect::Tell(Notice::Muted));
        effects
    }

    /// Has values suggested for a field of the form in front, where they can be.
    fn suggest(&mut self, field: usize, text: String) -> Vec<Effect> {
        let Some(open) = &mut self.front else {
            return Vec::new();
        };
        let (Ask::Arguments { suggests: true, .. }, Stage::Filling(draft)) =
            (&open.question.ask, &open.stage)
        else {
            return Vec::new();
        };
        let Some(name) = draft.fields().get(field).map(|field| field.name.clone()) else {
            return Vec::new();
        };
        let mut others = draft.content();
        others.remove(&name);
        open.wanted = Some((field, text.clone()));
        vec![Effect::Suggest {
            field,
            name,
            text,
            others,
        }]
    }

    /// Takes in what was suggested, unless the person has gone on meanwhile.
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
        self.turn(|stage, _, _| match (stage, found) {
            (Stage::Folders, Ok(root)) => Turn::reply(Reply::Roots(vec![root])),
            (stage, Err(issue)) => Turn::stay(stage).because(issue),
            (stage, Ok(_)) => Turn::stay(stage),
        })
    }

    fn link_done(&mut self, done: &str) -> Vec<Effect> {
        let is_open = self.front.as_ref().is_some_and(|open| {
            let asked = matches!(&open.question.ask, Ask::Link { id: Some(id), .. } if id == done);
            asked && matches!(open.stage, Stage::Opened(_))
        });
        if !is_open {
            return Vec::new();
        }
        let mut effects = vec![Effect::Tell(Notice::LinkDone)];
        effects.extend(self.turn(|_, _, _| Turn::reply(Reply::Link)));
        effects
    }

    /// Shows these folders from now on, to the questions that wait for them too: the person
    /// agrees once.
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

    /// Moves the question in front by one turn.
    fn turn(&mut self, step: impl FnOnce(Stage, &Question, Option<&Root>) -> Turn) -> Vec<Effect> {
        let Some(open) = self.front.take() else {
            return Vec::new();
        };
        let turn = step(open.stage, &open.question, self.offer.as_ref());
        let mut effects: Vec<_> = turn.effect.into_iter().collect();
        match turn.next {
            Ok(stage) => {
                self.front = Some(Open {
                    stage,
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
}

/// A no without a reason.
fn declined(by: By) -> Reply {
    Reply::Declined { by, reason: None }
}

impl Desk {
    /// Begins a call that the person makes. If it is the one before again, the questions that were
    /// answered in that are answered as they were, and how they end now counts in place of how they did.
    pub fn begin_call(&mut self, is_repeated: bool) {
        match is_repeated {
            true => self.ended = self.ended_before,
            false => self.ended_before = self.ended,
        }
        self.repeats.begin(is_repeated);
    }

    /// Whether anything is kept of what the person wrote in a call that has ended, to be sent if it is made again.
    pub fn has_kept(&self, call: &Call) -> bool {
        self.repeats.has_kept() || self.kept.is_of(call)
    }

    /// Whether a form of the call asked for a secret. The answers to it are not kept.
    pub fn asked_secret(&self) -> bool {
        self.repeats.asked_secret()
    }

    /// Ends a call that the person made.
    pub fn end_call(&mut self) {
        self.repeats.end();
    }
}

/// Whether the last call was stopped, and nothing was begun since.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum LastStop {
    #[default]
    No,
    /// It was, and no question came since.
    Silent,
    /// It was, and the person was told that the server asks on.
    Told,
}

impl LastStop {
    /// Whether a question can only be one for the call that was stopped. A server asks for folders at any time.
    fn is_for(self, question: &Question) -> bool {
        let asks = matches!(
            question.ask,
            Ask::Form { .. } | Ask::Link { .. } | Ask::Sample(_)
        );
        self != Self::No && asks && question.call.is_none()
    }
}

impl Desk {
    /// Takes note that the person stopped the call, while nothing else of the server was under way.
    pub fn stop_call(&mut self) {
        self.stopped = LastStop::Silent;
    }

    /// Takes note that the person does something else: what is asked from now on may belong to that.
    pub fn go_on(&mut self) {
        self.stopped = LastStop::No;
    }

    /// Cancels a question of the call that was stopped, and says so once.
    fn asks_on(&mut self, id: u64) -> Vec<Effect> {
        let is_told = self.stopped == LastStop::Told;
        self.stopped = LastStop::Told;
        let tell = (!is_told).then_some(Effect::Tell(Notice::AsksOn));
        let cancel = Effect::Answer(id, Reply::Cancelled(Why::Stopped));
        tell.into_iter().chain([cancel]).collect()
    }
}
