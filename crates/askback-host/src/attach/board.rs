//! The questions of a board and the front ends that have them, without sockets and clocks.

use std::{
    collections::{BTreeMap, BTreeSet},
    mem,
    time::Duration,
};

use askback::{
    client::HostQuestion,
    protocol::{AnswerSource, ElicitResult, InputRequest, InputResponse},
};
use tokio::sync::oneshot;

use super::{
    connection::Writer,
    line::{AskedLine, BoardLine, FrontEndLine, MAX_TYPED_BYTES, typed_bytes},
};
use crate::{
    ending::{FrontEndKind, QuestionEnd},
    model::Typed,
};

/// An event that the owner of a board may want to act on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// A question waits, and each front end passed it or there is none. Sent once until a front end joins.
    NoFrontEnd,
    /// No user has seen the oldest question for this long. Sent at most twice per question.
    NotSeen(Duration),
    Expired(u64),
    /// The board is full: the newest question was answered without asking a user.
    Flood,
    /// A question is too long for a line: it was answered without asking a user.
    TooLong,
    /// A front end was disconnected because it sent an invalid line or was too slow.
    Dropped(String),
}

/// An answer, or the reason for a refusal.
pub(super) type Response = Result<InputResponse, String>;

#[derive(Debug)]
struct OpenQuestion {
    question: HostQuestion,
    reply: oneshot::Sender<Response>,
    /// Whether a user has seen it in a front end that still has it.
    is_seen: bool,
    since: Duration,
    notices: usize,
    /// The content that was typed in its front ends.
    typed: Typed,
    offered_to: BTreeSet<u64>,
    /// Front ends that have no answer. They keep the offer, but it does not count for them.
    passed_by: BTreeSet<u64>,
}

#[derive(Debug)]
struct FrontEnd {
    kind: FrontEndKind,
    writer: Writer,
}

#[derive(Debug, Default)]
pub(super) struct Questions {
    next: u64,
    next_front_end: u64,
    open: BTreeMap<u64, OpenQuestion>,
    front_ends: BTreeMap<u64, FrontEnd>,
    /// Front ends that are too slow or gone.
    slow: Vec<u64>,
    keep: Duration,
    told_no_front_end: bool,
    notices: Vec<Notice>,
}

const MAX_QUESTIONS: usize = 256;

/// How many questions a front end has at once, without those that it passed. Its desk accepts no more.
const MAX_OFFERED: usize = 16;

const MAX_FRONT_ENDS: usize = 16;

/// The times after which the owner is told that no user has seen the oldest question.
const UNSEEN: [Duration; 2] = [Duration::from_secs(10), Duration::from_secs(60)];

/// Front ends look for new boards every second, so a front end may be running although it has not
/// found a new board yet.
const DISCOVERY: Duration = Duration::from_millis(1500);

impl Questions {
    pub(super) fn new(keep: Duration) -> Self {
        Self {
            keep,
            ..Self::default()
        }
    }

    /// Returns `None` if too many are open.
    pub(super) fn ask(
        &mut self,
        now: Duration,
        question: HostQuestion,
    ) -> Option<(u64, oneshot::Receiver<Response>)> {
        if self.open.len() >= MAX_QUESTIONS {
            self.notices.push(Notice::Flood);
            return None;
        }
        let id = self.next;
        self.next = self.next.saturating_add(1);
        let (reply, replied) = oneshot::channel();
        self.open.insert(
            id,
            OpenQuestion {
                question,
                reply,
                is_seen: false,
                since: now,
                notices: 0,
                typed: Typed::new(),
                offered_to: BTreeSet::new(),
                passed_by: BTreeSet::new(),
            },
        );
        self.offer();
        self.notice_absence(now);
        Some((id, replied))
    }

    /// Returns `None` if there are too many.
    pub(super) fn join(&mut self, kind: FrontEndKind, writer: Writer) -> Option<u64> {
        if self.front_ends.len() >= MAX_FRONT_ENDS {
            let why = "too many front ends".to_owned();
            self.notices.push(Notice::Dropped(why));
            return None;
        }
        let front_end = self.next_front_end;
        self.next_front_end = self.next_front_end.saturating_add(1);
        self.front_ends.insert(front_end, FrontEnd { kind, writer });
        self.told_no_front_end = false;
        self.offer();
        Some(front_end)
    }

    /// Its questions wait for another front end.
    pub(super) fn leave(&mut self, front_end: u64) {
        if self.front_ends.remove(&front_end).is_none() {
            return;
        }
        for question in self.open.values_mut() {
            question.offered_to.remove(&front_end);
            question.passed_by.remove(&front_end);
            if question.offered_to.is_empty() {
                question.is_seen = false;
            }
        }
        self.notice_absence(DISCOVERY);
    }

    pub(super) fn has_front_end(&self, front_end: u64) -> bool {
        self.front_ends.contains_key(&front_end)
    }

    /// Removes slow front ends, and returns the events for the owner.
    pub(super) fn settle(&mut self) -> Vec<Notice> {
        while let Some(front_end) = self.slow.pop() {
            if self.has_front_end(front_end) {
                let why = "a front end is too slow".to_owned();
                self.notices.push(Notice::Dropped(why));
            }
            self.leave(front_end);
        }
        mem::take(&mut self.notices)
    }

    pub(super) fn say_goodbye(&mut self) {
        for front_end in mem::take(&mut self.front_ends).into_values() {
            // If this fails, the closed connection has the same effect.
            let _ = front_end.writer.send(&BoardLine::Bye {});
        }
    }

    fn send(&mut self, front_end: u64, line: &BoardLine) {
        let it = self.front_ends.get(&front_end);
        if it.is_some_and(|it| !it.writer.send(line)) {
            self.slow.push(front_end);
        }
    }

    fn is_absence_new(&self) -> bool {
        let is_passed = |question: &OpenQuestion| {
            let mut front_ends = self.front_ends.keys();
            front_ends.all(|front_end| question.passed_by.contains(front_end))
        };
        !self.told_no_front_end && self.open.values().any(is_passed)
    }

    fn notice_absence(&mut self, now: Duration) {
        if now >= DISCOVERY && self.is_absence_new() {
            self.told_no_front_end = true;
            self.notices.push(Notice::NoFrontEnd);
        }
    }

    fn has(&mut self, front_end: u64, id: u64) -> Option<&mut OpenQuestion> {
        let question = self.open.get_mut(&id);
        question.filter(|question| question.offered_to.contains(&front_end))
    }

    /// Handles a line. Fails if the front end must be disconnected.
    pub(super) fn hear(
        &mut self,
        now: Duration,
        front_end: u64,
        line: FrontEndLine,
    ) -> Result<(), String> {
        match line {
            FrontEndLine::Hello { .. } => {}
            FrontEndLine::Seen { id } => {
                if let Some(question) = self.has(front_end, id) {
                    question.is_seen = true;
                }
            }
            FrontEndLine::Passed { id } => {
                if let Some(question) = self.has(front_end, id) {
                    question.passed_by.insert(front_end);
                }
                self.offer();
                self.notice_absence(now);
            }
            FrontEndLine::Typed { id, fields } => self.keep_typed(front_end, id, fields),
            FrontEndLine::Reply { id, response } => {
                return self.reply(front_end, id, |request| {
                    let read = request.read_response(&response);
                    read.map(Ok)
                        .map_err(|_| "a reply does not fit its question".to_owned())
                });
            }
            FrontEndLine::Refused { id, reason } => {
                return self.reply(front_end, id, |request| match request {
                    InputRequest::Elicit(_) => {
                        Err("a form or link was refused without an action".to_owned())
                    }
                    _ => Ok(Err(reason)),
                });
            }
        }
        Ok(())
    }

    /// Keeps what a front end has typed, and passes it on to the others. The last change of a field
    /// wins.
    fn keep_typed(&mut self, front_end: u64, id: u64, fields: Typed) {
        let Some(question) = self.has(front_end, id) else {
            return;
        };
        let mut typed = question.typed.clone();
        typed.extend(fields.clone());
        if typed_bytes(&typed) > MAX_TYPED_BYTES {
            return;
        }
        question.typed = typed;
        let others = question.offered_to.clone();
        let line = BoardLine::Typed { id, fields };
        for other in others.into_iter().filter(|other| *other != front_end) {
            let it = self.front_ends.get(&other);
            // A slow front end misses this change, and shows older text until the field changes again.
            if it.is_some_and(|it| !it.writer.is_behind()) {
                self.send(other, &line);
            }
        }
    }

    /// Ends a question with a reply. Does nothing if the front end does not have the question.
    fn reply(
        &mut self,
        front_end: u64,
        id: u64,
        read: impl FnOnce(&InputRequest) -> Result<Response, String>,
    ) -> Result<(), String> {
        let by = self.front_ends.get(&front_end).map(|it| it.kind);
        if let (Some(by), Some(asked)) = (by, self.has(front_end, id)) {
            let response = read(&asked.question.request)?;
            self.send(front_end, &BoardLine::Taken { id });
            let settled = BoardLine::Settled { id, by };
            self.close(id, Some(response), Some(front_end), &settled);
        }
        Ok(())
    }

    /// Ends a question whose caller no longer waits.
    pub(super) fn withdraw(&mut self, id: u64, why: QuestionEnd) {
        self.close(id, None, None, &BoardLine::Withdrawn { id, why });
    }

    /// Removes a question, tells all front ends that have it except one, and offers the next one.
    fn close(
        &mut self,
        id: u64,
        response: Option<Response>,
        except: Option<u64>,
        line: &BoardLine,
    ) {
        let Some(question) = self.open.remove(&id) else {
            return;
        };
        if let Some(response) = response {
            // The caller may be gone at this point.
            let _ = question.reply.send(response);
        }
        for front_end in question.offered_to {
            if Some(front_end) != except {
                self.send(front_end, line);
            }
        }
        self.offer();
    }

    fn offer(&mut self) {
        for (front_end, it) in &self.front_ends {
            let open = self.open.iter_mut();
            let mine = open.filter(|(_, question)| !question.passed_by.contains(front_end));
            for (id, question) in mine.take(MAX_OFFERED) {
                let typed = &question.typed;
                if question.offered_to.insert(*front_end)
                    && let Ok(asked) = AskedLine::new(*id, &question.question, typed.clone())
                    && !it.writer.send(&BoardLine::Asked(Box::new(asked)))
                {
                    self.slow.push(*front_end);
                }
            }
        }
    }

    pub(super) fn pass(&mut self, now: Duration) {
        self.notice_absence(now);
        let keep = self.keep;
        let is_over = |question: &OpenQuestion| now >= question.since.saturating_add(keep);
        let open = self.open.iter();
        let over: Vec<_> = open
            .filter(|(_, question)| is_over(question))
            .map(|(id, question)| {
                (
                    *id,
                    unanswered(&question.question.request, "no answer came in time"),
                )
            })
            .collect();
        for (id, response) in over {
            self.notices.push(Notice::Expired(id));
            let why = QuestionEnd::NotAnswered;
            let line = BoardLine::Withdrawn { id, why };
            self.close(id, Some(response), None, &line);
        }
        let oldest = self.open.values_mut().next();
        if let Some(oldest) = oldest.filter(|question| !question.is_seen)
            && let Some(after) = UNSEEN.get(oldest.notices)
            && now >= oldest.since.saturating_add(*after)
        {
            oldest.notices = oldest.notices.saturating_add(1);
            self.notices.push(Notice::NotSeen(*after));
        }
    }

    /// When [`Questions::pass`] must run next.
    pub(super) fn next_deadline(&self) -> Option<Duration> {
        let oldest = self.open.values().next()?;
        let over = oldest.since.saturating_add(self.keep);
        let unseen = UNSEEN.get(oldest.notices);
        let unseen = unseen.filter(|_| !oldest.is_seen);
        let unseen = unseen.map_or(over, |after| oldest.since.saturating_add(*after).min(over));
        let is_absence_due = oldest.since < DISCOVERY && self.is_absence_new();
        Some(match is_absence_due {
            true => DISCOVERY.min(unseen),
            false => unseen,
        })
    }
}

/// The answer to a question that no user answered.
pub(super) fn unanswered(request: &InputRequest, why: &str) -> Response {
    match request {
        InputRequest::Elicit(_) => {
            let mut declined = ElicitResult::decline().answered_by(AnswerSource::Client);
            declined.meta.get_or_insert_default().set_reason(why);
            Ok(InputResponse::Elicit(declined))
        }
        _ => Err(why.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use askback::protocol::RequestParams;
    use tokio::sync::mpsc;

    use super::*;
    use crate::model::TypedValue;

    const NOW: Duration = Duration::from_secs(100);

    type Lines = mpsc::Receiver<Vec<u8>>;

    fn board() -> Questions {
        Questions::new(Duration::from_secs(900))
    }

    fn ask(board: &mut Questions, now: Duration) -> oneshot::Receiver<Response> {
        let question = HostQuestion {
            server: None,
            call: None,
            target: None,
            key: None,
            request: InputRequest::Roots(RequestParams::default()),
            retried: false,
        };
        board.ask(now, question).expect("there is room").1
    }

    fn join(board: &mut Questions, kind: FrontEndKind) -> (u64, Lines) {
        let (writer, lines) = Writer::new();
        (board.join(kind, writer).expect("there is room"), lines)
    }

    fn offered(lines: &mut Lines) -> Vec<u64> {
        let lines = std::iter::from_fn(|| lines.try_recv().ok());
        let read = lines.filter_map(|line| crate::attach::line::read(&line).ok().flatten());
        let asked = read.filter_map(|line| match line {
            BoardLine::Asked(asked) => Some(asked.id),
            _ => None,
        });
        asked.collect()
    }

    fn pass_by(board: &mut Questions, now: Duration, front_end: u64, id: u64) -> Vec<Notice> {
        let heard = board.hear(now, front_end, FrontEndLine::Passed { id });
        assert_eq!(heard, Ok(()));
        board.settle()
    }

    fn pass(board: &mut Questions, now: Duration) -> Vec<Notice> {
        board.pass(now);
        board.settle()
    }

    #[test]
    fn front_ends_have_time_to_find_a_new_board() {
        let early = Duration::from_millis(20);
        let mut board = board();
        let _asked = ask(&mut board, early);
        assert_eq!(board.settle(), []);
        assert_eq!(board.next_deadline(), Some(DISCOVERY));
        assert_eq!(pass(&mut board, DISCOVERY), [Notice::NoFrontEnd]);
        assert_eq!(board.next_deadline(), Some(early.saturating_add(UNSEEN[0])));
        let mut found = self::board();
        let _asked = ask(&mut found, early);
        let _front_end = join(&mut found, FrontEndKind::Terminal);
        assert_eq!(pass(&mut found, DISCOVERY), []);
    }

    #[test]
    fn the_last_change_of_a_field_wins() {
        fn fields(fields: &[(&str, &str)]) -> Typed {
            let text = |text: &str| TypedValue::Text(text.to_owned());
            let fields = fields
                .iter()
                .map(|(name, it)| ((*name).to_owned(), text(it)));
            fields.collect()
        }
        let mut board = board();
        let _asked = ask(&mut board, NOW);
        let (one, _lines) = join(&mut board, FrontEndKind::Terminal);
        let (other, _lines) = join(&mut board, FrontEndKind::Page);
        board.keep_typed(one, 0, fields(&[("name", "Ada"), ("age", "3")]));
        board.keep_typed(other, 0, fields(&[("name", "Bob")]));
        let typed = fields(&[("name", "Bob"), ("age", "3")]);
        assert_eq!(board.open[&0].typed, typed);
        // Changes by a front end that does not show the question, and changes above the limit, are
        // ignored.
        let long = "x".repeat(MAX_TYPED_BYTES);
        board.keep_typed(7, 0, fields(&[("name", "Eve")]));
        board.keep_typed(one, 0, fields(&[("name", &long)]));
        assert_eq!(board.open[&0].typed, typed);
    }

    #[test]
    fn time_tells_the_owner_and_ends_a_question() {
        let mut board = board();
        let mut asked = ask(&mut board, NOW);
        assert_eq!(board.settle(), [Notice::NoFrontEnd]);
        let at = |seconds| NOW.saturating_add(Duration::from_secs(seconds));
        assert_eq!(board.next_deadline(), Some(at(10)));
        assert_eq!(pass(&mut board, at(9)), []);
        let unseen = |of| Notice::NotSeen(Duration::from_secs(of));
        assert_eq!(pass(&mut board, at(10)), [unseen(10)]);
        assert_eq!(pass(&mut board, at(11)), []);
        assert_eq!(board.next_deadline(), Some(at(60)));
        assert_eq!(pass(&mut board, at(60)), [unseen(60)]);
        assert_eq!(board.next_deadline(), Some(at(900)));
        assert!(asked.try_recv().is_err());
        assert_eq!(pass(&mut board, at(900)), [Notice::Expired(0)]);
        assert!(asked.try_recv().is_ok_and(|response| response.is_err()));
        assert_eq!(board.next_deadline(), None);
    }

    #[test]
    fn a_question_that_is_passed_makes_room_for_the_next_one() {
        let mut board = board();
        let (script, mut lines) = join(&mut board, FrontEndKind::Script);
        let _asked: Vec<_> = (0..18).map(|_| ask(&mut board, NOW)).collect();
        let first: Vec<_> = (0..16).collect();
        assert_eq!(offered(&mut lines), first);
        let passed = pass_by(&mut board, NOW, script, 0);
        assert_eq!(passed, [Notice::NoFrontEnd]);
        assert_eq!(offered(&mut lines), [16]);
        pass_by(&mut board, NOW, script, 0);
        pass_by(&mut board, NOW, script, 17);
        assert!(
            offered(&mut lines).is_empty(),
            "passed before, or not offered"
        );
        pass_by(&mut board, NOW, script, 1);
        assert_eq!(offered(&mut lines), [17]);
        let (terminal, mut lines) = join(&mut board, FrontEndKind::Terminal);
        assert_eq!(offered(&mut lines), first);
        let replied = board.reply(terminal, 0, |_| Ok(Err("no".to_owned())));
        assert_eq!(replied, Ok(()));
        assert_eq!(offered(&mut lines), [16]);
    }

    #[test]
    fn a_question_that_all_front_ends_pass_has_no_front_end() {
        let early = Duration::from_millis(20);
        let mut board = board();
        let _asked = ask(&mut board, early);
        let (script, _lines) = join(&mut board, FrontEndKind::Script);
        let passed = pass_by(&mut board, early, script, 0);
        assert_eq!(passed, [], "others may still come");
        assert_eq!(board.next_deadline(), Some(DISCOVERY));
        let (terminal, _lines) = join(&mut board, FrontEndKind::Terminal);
        assert_eq!(pass(&mut board, DISCOVERY), []);
        board.leave(terminal);
        assert_eq!(board.settle(), [Notice::NoFrontEnd]);
        assert_eq!(pass(&mut board, NOW), [Notice::NotSeen(UNSEEN[0])]);
        let (script, _lines) = join(&mut board, FrontEndKind::Script);
        let passed = pass_by(&mut board, NOW, script, 0);
        assert_eq!(passed, [Notice::NoFrontEnd]);
        assert_eq!(board.next_deadline(), Some(early.saturating_add(UNSEEN[1])));
    }

    #[test]
    fn front_ends_are_counted() {
        let mut board = board();
        let joined: Vec<_> = (0..16)
            .map(|_| join(&mut board, FrontEndKind::Page))
            .collect();
        assert_eq!(board.join(FrontEndKind::Page, Writer::new().0), None);
        assert_eq!(joined.len(), MAX_FRONT_ENDS);
    }
}
