//! The state machine of a board, without sockets and clocks: `state, event, time -> effects`.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use super::line::{MAX_TYPED_BYTES, TypedFields, typed_bytes};
use crate::ending::{FrontEndKind, QuestionEnd};

/// An event that the owner of a board may want to act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A question waits, and each front end passed it or there is none. Sent once until a front end joins.
    NoFrontEnd,
    /// No user has seen the oldest question for this long. Sent at most twice per question.
    NotSeen(Duration),
    /// A front end replied.
    Settled {
        /// The number of the question.
        question: u64,
        /// The front end.
        by: FrontEndKind,
    },
    /// A question was withdrawn.
    Withdrawn(u64),
    /// A question expired.
    Expired(u64),
    /// The board is full: the newest question was answered without asking a user.
    Flood,
    /// A question is too long for a line: it was answered without asking a user.
    TooLong,
    /// A front end was disconnected because it sent an invalid line or was too slow.
    Dropped(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Waiting,
    Offered,
    Seen,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Replied,
    Withdrawn,
    Expired,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// Send a question and its draft to a front end: (front end, question).
    Offer(u64, u64),
    /// Tell a front end that its reply is the answer: (front end, question).
    Taken(u64, u64),
    /// Tell a front end that another one replied: (front end, question, who replied).
    Settled(u64, u64, FrontEndKind),
    /// Tell a front end that its question ended without a reply: (front end, question, why).
    Withdrawn(u64, u64, QuestionEnd),
    /// Send the fields with these names to a front end: (front end, question, names).
    Typed(u64, u64, Vec<String>),
    /// End a question: pass on its reply, or answer that no user was asked.
    End(u64, End),
    Notify(Notice),
}

#[derive(Debug)]
struct OpenQuestion {
    stage: Stage,
    since: Duration,
    notices: usize,
    /// The content that was typed in its front ends.
    typed: TypedFields,
    offered_to: BTreeSet<u64>,
    /// Front ends that have no answer. They keep the offer, but it does not count for them.
    passed_by: BTreeSet<u64>,
}

#[derive(Debug)]
pub(super) struct Questions {
    next: u64,
    open: BTreeMap<u64, OpenQuestion>,
    front_ends: BTreeMap<u64, FrontEndKind>,
    keep: Duration,
    told_no_front_end: bool,
}

const MAX_QUESTIONS: usize = 256;

/// How many questions a front end has at once, without those that it passed. Its desk accepts no more.
const MAX_OFFERED: usize = 16;

pub(super) const MAX_FRONT_ENDS: usize = 16;

/// The times after which the owner is told that no user has seen the oldest question.
const UNSEEN: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(60)];

/// Front ends look for new boards every second, so a front end may be running although it has not
/// found a new board yet.
const DISCOVERY: Duration = Duration::from_millis(1500);

impl Questions {
    pub(super) fn new(keep: Duration) -> Self {
        Self {
            next: 0,
            open: BTreeMap::new(),
            front_ends: BTreeMap::new(),
            keep,
            told_no_front_end: false,
        }
    }

    /// Adds a question. Returns no id if too many are open.
    pub(super) fn ask(&mut self, now: Duration) -> (Option<u64>, Vec<Effect>) {
        if self.open.len() >= MAX_QUESTIONS {
            return (None, vec![Effect::Notify(Notice::Flood)]);
        }
        let id = self.next;
        self.next = self.next.saturating_add(1);
        self.open.insert(
            id,
            OpenQuestion {
                stage: Stage::Waiting,
                since: now,
                notices: 0,
                typed: TypedFields::new(),
                offered_to: BTreeSet::new(),
                passed_by: BTreeSet::new(),
            },
        );
        let mut effects = self.offer();
        if now >= DISCOVERY {
            effects.extend(self.notice_absence());
        }
        (Some(id), effects)
    }

    /// Adds a front end. Returns `None` if there are too many.
    pub(super) fn join(&mut self, front_end: u64, kind: FrontEndKind) -> Option<Vec<Effect>> {
        if self.front_ends.len() >= MAX_FRONT_ENDS {
            return None;
        }
        self.front_ends.insert(front_end, kind);
        self.told_no_front_end = false;
        Some(self.offer())
    }

    /// Removes a front end. Its questions wait for another one.
    pub(super) fn leave(&mut self, front_end: u64) -> Vec<Effect> {
        if self.front_ends.remove(&front_end).is_none() {
            return Vec::new();
        }
        for question in self.open.values_mut() {
            question.offered_to.remove(&front_end);
            question.passed_by.remove(&front_end);
            if question.offered_to.is_empty() {
                question.stage = Stage::Waiting;
            }
        }
        self.notice_absence()
    }

    fn is_absence_new(&self) -> bool {
        let is_passed = |question: &OpenQuestion| {
            let mut front_ends = self.front_ends.keys();
            front_ends.all(|front_end| question.passed_by.contains(front_end))
        };
        !self.told_no_front_end && self.open.values().any(is_passed)
    }

    fn notice_absence(&mut self) -> Vec<Effect> {
        if !self.is_absence_new() {
            return Vec::new();
        }
        self.told_no_front_end = true;
        vec![Effect::Notify(Notice::NoFrontEnd)]
    }

    /// Returns the question if the front end has it.
    fn has(&mut self, front_end: u64, id: u64) -> Option<&mut OpenQuestion> {
        let question = self.open.get_mut(&id);
        question.filter(|question| question.offered_to.contains(&front_end))
    }

    pub(super) fn seen(&mut self, front_end: u64, id: u64) {
        if let Some(question) = self.has(front_end, id) {
            question.stage = Stage::Seen;
        }
    }

    /// Offers another question to a front end that has no answer to this one.
    pub(super) fn pass_by(&mut self, now: Duration, front_end: u64, id: u64) -> Vec<Effect> {
        if let Some(question) = self.has(front_end, id) {
            question.passed_by.insert(front_end);
        }
        let mut effects = self.offer();
        if now >= DISCOVERY {
            effects.extend(self.notice_absence());
        }
        effects
    }

    /// Keeps what a front end has typed, and passes it on to the others. The last change of a field
    /// wins.
    pub(super) fn keep_typed(
        &mut self,
        front_end: u64,
        id: u64,
        fields: TypedFields,
    ) -> Vec<Effect> {
        let Some(question) = self.has(front_end, id) else {
            return Vec::new();
        };
        let names: Vec<_> = fields.keys().cloned().collect();
        let mut typed = question.typed.clone();
        typed.extend(fields);
        if typed_bytes(&typed) > MAX_TYPED_BYTES {
            return Vec::new();
        }
        question.typed = typed;
        let others = question.offered_to.iter();
        let others = others.filter(|other| **other != front_end);
        others
            .map(|other| Effect::Typed(*other, id, names.clone()))
            .collect()
    }

    pub(super) fn typed(&self, id: u64) -> Option<&TypedFields> {
        Some(&self.open.get(&id)?.typed)
    }

    #[cfg(test)]
    fn stage(&self, id: u64) -> Option<Stage> {
        self.open.get(&id).map(|question| question.stage)
    }

    pub(super) fn takes_reply(&mut self, front_end: u64, id: u64) -> bool {
        self.has(front_end, id).is_some()
    }

    /// Ends a question with a reply. Does nothing if the front end does not have the question.
    pub(super) fn reply(&mut self, front_end: u64, id: u64) -> Vec<Effect> {
        let (Some(by), true) = (
            self.front_ends.get(&front_end).copied(),
            self.takes_reply(front_end, id),
        ) else {
            return Vec::new();
        };
        let notice = Notice::Settled { question: id, by };
        let mut effects = vec![
            Effect::End(id, End::Replied),
            Effect::Notify(notice),
            Effect::Taken(front_end, id),
        ];
        effects.extend(self.close(id, |other| {
            (other != front_end).then_some(Effect::Settled(other, id, by))
        }));
        effects
    }

    /// Ends a question whose caller no longer waits.
    pub(super) fn withdraw(&mut self, id: u64, why: QuestionEnd) -> Vec<Effect> {
        if !self.open.contains_key(&id) {
            return Vec::new();
        }
        let notice = Effect::Notify(Notice::Withdrawn(id));
        let mut effects = vec![Effect::End(id, End::Withdrawn), notice];
        effects.extend(self.close(id, |other| Some(Effect::Withdrawn(other, id, why))));
        effects
    }

    /// Removes a question, tells the front ends that have it, and offers the next one.
    fn close(&mut self, id: u64, tell: impl Fn(u64) -> Option<Effect>) -> Vec<Effect> {
        let question = self.open.remove(&id);
        let offered_to = question.map(|question| question.offered_to);
        let told = offered_to.into_iter().flatten().filter_map(tell);
        let mut effects: Vec<_> = told.collect();
        effects.extend(self.offer());
        effects
    }

    fn offer(&mut self) -> Vec<Effect> {
        let mut effects = Vec::new();
        for front_end in self.front_ends.keys() {
            let open = self.open.iter_mut();
            let mine = open.filter(|(_, question)| !question.passed_by.contains(front_end));
            for (id, question) in mine.take(MAX_OFFERED) {
                if question.offered_to.insert(*front_end) {
                    effects.push(Effect::Offer(*front_end, *id));
                }
                if question.stage == Stage::Waiting {
                    question.stage = Stage::Offered;
                }
            }
        }
        effects
    }

    pub(super) fn pass(&mut self, now: Duration) -> Vec<Effect> {
        let mut effects = match now >= DISCOVERY {
            true => self.notice_absence(),
            false => Vec::new(),
        };
        let keep = self.keep;
        let is_over = |question: &OpenQuestion| now >= question.since.saturating_add(keep);
        let open = self.open.iter();
        let expired: Vec<_> = open
            .filter(|(_, question)| is_over(question))
            .map(|(id, _)| *id)
            .collect();
        for id in expired {
            effects.push(Effect::End(id, End::Expired));
            effects.push(Effect::Notify(Notice::Expired(id)));
            let why = QuestionEnd::NotAnswered;
            effects.extend(self.close(id, |other| Some(Effect::Withdrawn(other, id, why))));
        }
        let oldest = self.open.values_mut().next();
        if let Some(oldest) = oldest.filter(|question| question.stage != Stage::Seen)
            && let Some(after) = UNSEEN.get(oldest.notices)
            && now >= oldest.since.saturating_add(*after)
        {
            oldest.notices = oldest.notices.saturating_add(1);
            effects.push(Effect::Notify(Notice::NotSeen(*after)));
        }
        effects
    }

    /// When [`Questions::pass`] must run next.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        let oldest = self.open.values().next()?;
        let over = oldest.since.saturating_add(self.keep);
        let unseen = UNSEEN.get(oldest.notices);
        let unseen = unseen.filter(|_| oldest.stage != Stage::Seen);
        let unseen = unseen.map_or(over, |after| oldest.since.saturating_add(*after).min(over));
        let is_absence_due = oldest.since < DISCOVERY && self.is_absence_new();
        Some(match is_absence_due {
            true => DISCOVERY.min(unseen),
            false => unseen,
        })
    }
}

#[cfg(test)]
mod tests {
    use askback::protocol::RawJson;

    use super::*;

    const NOW: Duration = Duration::from_secs(100);

    fn fields(fields: &[(&str, &str)]) -> TypedFields {
        let fields = fields.iter().map(|(name, text)| {
            let value = RawJson::new(text).expect("it is JSON");
            ((*name).to_owned(), value)
        });
        fields.collect()
    }

    fn board() -> Questions {
        Questions::new(Duration::from_secs(900))
    }

    #[test]
    fn front_ends_have_time_to_find_a_new_board() {
        let early = Duration::from_millis(20);
        let notice = [Effect::Notify(Notice::NoFrontEnd)];
        let mut board = board();
        assert_eq!(board.ask(early).1, []);
        assert_eq!(board.next_deadline(), Some(DISCOVERY));
        assert_eq!(board.pass(DISCOVERY), notice);
        assert_eq!(board.next_deadline(), Some(early.saturating_add(UNSEEN[0])));
        let mut found = self::board();
        found.ask(early);
        found.join(1, FrontEndKind::Terminal);
        assert_eq!(found.pass(DISCOVERY), []);
    }

    #[test]
    fn the_last_change_of_a_field_wins_and_goes_to_the_others() {
        let mut board = board();
        board.ask(NOW);
        board.join(1, FrontEndKind::Terminal);
        board.join(2, FrontEndKind::Page);
        board.keep_typed(1, 0, fields(&[("name", "Ada"), ("age", "3")]));
        assert_eq!(
            board.keep_typed(2, 0, fields(&[("name", "Bob")])),
            [Effect::Typed(1, 0, vec!["name".to_owned()]),]
        );
        let typed = fields(&[("name", "Bob"), ("age", "3")]);
        assert_eq!(board.typed(0), Some(&typed));
        // Changes by a front end that does not show the question, and changes above the limit, are
        // ignored.
        let long = "x".repeat(MAX_TYPED_BYTES);
        assert_eq!(board.keep_typed(3, 0, fields(&[("name", "Eve")])), []);
        assert_eq!(board.keep_typed(1, 0, fields(&[("name", &long)])), []);
        assert_eq!(board.typed(0), Some(&typed));
    }

    #[test]
    fn time_tells_the_owner_and_ends_a_question() {
        let mut board = board();
        board.ask(NOW);
        let at = |seconds| NOW.saturating_add(Duration::from_secs(seconds));
        assert_eq!(board.next_deadline(), Some(at(10)));
        assert_eq!(board.pass(at(9)), []);
        let unseen = |of| Effect::Notify(Notice::NotSeen(Duration::from_secs(of)));
        assert_eq!(board.pass(at(10)), [unseen(10)]);
        assert_eq!(board.pass(at(11)), []);
        assert_eq!(board.next_deadline(), Some(at(60)));
        assert_eq!(board.pass(at(60)), [unseen(60)]);
        assert_eq!(board.next_deadline(), Some(at(900)));
        let expired = Effect::Notify(Notice::Expired(0));
        assert_eq!(board.pass(at(900)), [Effect::End(0, End::Expired), expired]);
        assert_eq!(board.next_deadline(), None);
    }

    #[test]
    fn a_question_that_is_passed_makes_room_for_the_next_one() {
        let mut board = board();
        board.join(1, FrontEndKind::Script);
        for _ in 0..18 {
            board.ask(NOW);
        }
        let absence = Effect::Notify(Notice::NoFrontEnd);
        let passed = board.pass_by(NOW, 1, 0);
        assert_eq!(passed, [Effect::Offer(1, 16), absence]);
        assert_eq!(board.pass_by(NOW, 1, 0), [], "it was passed before");
        assert_eq!(board.pass_by(NOW, 1, 17), [], "it was not offered");
        assert_eq!(board.pass_by(NOW, 1, 1), [Effect::Offer(1, 17)]);
        assert_eq!(board.stage(0), Some(Stage::Offered));
        let expected: Vec<_> = (0..16).map(|id| Effect::Offer(2, id)).collect();
        assert_eq!(board.join(2, FrontEndKind::Terminal), Some(expected));
        let taken = board.reply(2, 0);
        assert_eq!(taken.last(), Some(&Effect::Offer(2, 16)));
    }

    #[test]
    fn a_question_that_all_front_ends_pass_has_no_front_end() {
        let early = Duration::from_millis(20);
        let notice = [Effect::Notify(Notice::NoFrontEnd)];
        let mut board = board();
        board.ask(early);
        board.join(1, FrontEndKind::Script);
        assert_eq!(board.pass_by(early, 1, 0), [], "others may still come");
        assert_eq!(board.next_deadline(), Some(DISCOVERY));
        board.join(2, FrontEndKind::Terminal);
        assert_eq!(board.pass(DISCOVERY), []);
        assert_eq!(board.leave(2), notice);
        assert_eq!(
            board.pass(NOW),
            [Effect::Notify(Notice::NotSeen(UNSEEN[0]))]
        );
        board.join(2, FrontEndKind::Script);
        assert_eq!(board.pass_by(NOW, 2, 0), notice);
        assert_eq!(board.next_deadline(), Some(early.saturating_add(UNSEEN[1])));
    }

    #[test]
    fn front_ends_are_counted() {
        let mut board = board();
        for number in 0..16 {
            assert!(board.join(number, FrontEndKind::Page).is_some());
        }
        assert_eq!(board.join(16, FrontEndKind::Page), None);
    }
}
