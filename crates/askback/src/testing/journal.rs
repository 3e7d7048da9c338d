use std::{fmt::Debug, sync::Arc, time::Duration};

use tokio::task::JoinSet;

use super::contract::{BrokenContract, CheckResult, check_rules, expect, fail, rules};
use crate::journal::{
    AnswerOutcome, AnswerRequest, CallId, Event, FinishRequest, Journal, JournalStatus, Lease,
    Millis, NodeId, Owner, ParkOutcome, ParkRequest, SessionId, SessionNote, SessionRequest,
    StoreError, StoreFuture, TakenCall,
};

const NOW: Millis = 1_800_000_000_000;
const EXPIRES: Millis = NOW + 86_400_000;
const CALL: CallId = CallId([1; 16]);
const SESSION: SessionId = SessionId([2; 16]);
const REQUEST: [u8; 16] = [3; 16];
/// A journal size in bytes that is never reached.
const AMPLE: usize = 64 << 20;

const fn lease(node: u8, now: Millis) -> Lease {
    Lease {
        node: NodeId([node; 8]),
        until: now + 10_000,
    }
}

rules! { [Arc<dyn Journal>; 2];
    "a call is taken with its record by its first answer" in AMPLE => taken_by_an_answer;
    "the first answer to a question counts" in AMPLE => first_answer;
    "of many answers at the same time one takes the call" in AMPLE => one_takes;
    "an answer while a process works on the call is given to it" in AMPLE => answered_at_work;
    "an answer at the moment at which the call is parked is not lost" in AMPLE => answered_and_parked;
    "a call that is parked again with the same record is parked once" in AMPLE => parked_again;
    "who comes with an older epoch has lost the call" in AMPLE => lost;
    "a call goes on when its time has come or a lease is over" in AMPLE => goes_on;
    "the log is numbered without a gap, and says which questions are answered" in AMPLE => logged;
    "a call is known in its session alone" in AMPLE => in_its_session;
    "a call that is cancelled or over takes no answer" in AMPLE => ended;
    "a task has a status, and is ended from outside" in AMPLE => tasks;
    "a process hears which calls it has lost when it renews its leases" in AMPLE => renewed;
    "a session that is ended is so for all, and its calls are gone" in AMPLE => sessions_end;
    "purge removes what has expired and nothing else" in AMPLE => purged;
    "a process is counted while it serves" in AMPLE => announced;
    "the status counts calls, questions and processes" in AMPLE => counted;
    "an owner leaves room for others" in 1 << 20 => shared_out;
}

/// Checks that a journal follows the rules of [`Journal`] and of its [module](crate::journal).
///
/// `create` creates an empty journal with this limit in bytes, and returns a function that opens it. Each rule gets its
/// own journal, which is opened twice: if the journal outlives its process, open it as another process would.
///
/// # Errors
///
/// All rules that are broken.
pub async fn check_journal<C, O>(create: C) -> Result<(), BrokenContract>
where
    C: AsyncFn(usize) -> O,
    O: AsyncFn() -> Arc<dyn Journal>,
{
    check_rules(RULES, create).await
}

async fn gives<T: PartialEq + Debug>(
    what: &str,
    answer: StoreFuture<'_, T>,
    want: T,
) -> CheckResult {
    expect(what, answer.await?, want)
}

fn event(text: &str, ask: Option<u32>) -> Event {
    Event {
        ask,
        message: text.as_bytes().to_vec(),
    }
}

fn park<'a>(record: &'a [u8], events: &'a [Event]) -> ParkRequest<'a> {
    ParkRequest {
        call: CALL,
        session: SESSION,
        request: REQUEST,
        owner: None,
        epoch: 0,
        record,
        status: None,
        settled: &[],
        events,
        first_event: 1,
        wake: None,
        keep: None,
        now: NOW,
        expires: EXPIRES,
    }
}

/// Parks the call again in this epoch, after these answers.
fn park_again<'a>(epoch: u32, settled: &'a [u32], record: &'a [u8]) -> ParkRequest<'a> {
    ParkRequest {
        epoch,
        settled,
        ..park(record, &[])
    }
}

fn of_session(session: SessionId, owner: Option<Owner>) -> SessionRequest {
    SessionRequest {
        session,
        owner,
        now: NOW,
        expires: EXPIRES,
    }
}

fn end(epoch: Option<u32>, events: &[Event]) -> FinishRequest<'_> {
    FinishRequest {
        call: CALL,
        epoch,
        events,
        status: None,
        expires: EXPIRES,
    }
}

async fn parks(journal: &dyn Journal, request: ParkRequest<'_>, want: ParkOutcome) -> CheckResult {
    gives("to park a call", journal.park(request), want).await
}

async fn waits(journal: &dyn Journal, request: ParkRequest<'_>) -> CheckResult {
    parks(journal, request, ParkOutcome::Waiting).await
}

async fn answer(journal: &dyn Journal, ask: u32, node: u8) -> CheckResult<AnswerOutcome> {
    let reply = format!("reply {ask}");
    let answer = AnswerRequest {
        call: CALL,
        session: SESSION,
        ask,
        reply: reply.as_bytes(),
        lease: lease(node, NOW),
        now: NOW,
    };
    Ok(journal.answer(answer).await?)
}

async fn answers(
    what: &str,
    journal: &dyn Journal,
    (ask, node): (u32, u8),
    want: AnswerOutcome,
) -> CheckResult {
    expect(what, answer(journal, ask, node).await?, want)
}

/// Answers a question, by which the call is taken.
async fn takes(journal: &dyn Journal, ask: u32, want: TakenCall) -> CheckResult {
    answers("the answer", journal, (ask, 7), AnswerOutcome::Taken(want)).await
}

fn taken(record: &str, epoch: u32, answers: &[u32], next_event: u64) -> TakenCall {
    let reply = |ask: &u32| (*ask, format!("reply {ask}").into_bytes());
    TakenCall {
        call: CALL,
        session: SESSION,
        epoch,
        record: record.as_bytes().to_vec(),
        answers: answers.iter().map(reply).collect(),
        next_event,
        was_interrupted: false,
    }
}

fn taken_over(record: &str, epoch: u32, answers: &[u32], next_event: u64) -> TakenCall {
    TakenCall {
        was_interrupted: true,
        ..taken(record, epoch, answers, next_event)
    }
}

async fn taken_by_an_answer([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let events = [event("Which?", Some(0)), event("How many?", Some(1))];
    let request = ParkRequest {
        first_event: 5,
        ..park(b"first", &events)
    };
    waits(&*journal, request).await?;
    takes(&*other, 1, taken("first", 1, &[1], 7)).await?;
    // The call continues from the point at which it was parked again.
    waits(&*other, park_again(1, &[1], b"second")).await?;
    takes(&*journal, 0, taken("second", 2, &[0], 7)).await
}

async fn first_answer([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    waits(&*journal, park(b"r", &[event("Sure?", Some(0))])).await?;
    takes(&*journal, 0, taken("r", 1, &[0], 2)).await?;
    answers("the second", &*other, (0, 8), AnswerOutcome::Duplicate).await?;
    waits(&*journal, park_again(1, &[0], b"s")).await?;
    let late = "one after it is part of the record";
    answers(late, &*other, (0, 8), AnswerOutcome::Duplicate).await
}

async fn one_takes([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    const NODES: u8 = 8;
    waits(&*journal, park(b"r", &[])).await?;
    let mut answering = JoinSet::new();
    for node in 0..NODES {
        let journal = Arc::clone(if node % 2 == 0 { &journal } else { &other });
        answering.spawn(async move { answer(&*journal, u32::from(node), node).await });
    }
    let mut takers = 0;
    let mut kept = 0;
    while let Some(answered) = answering.join_next().await {
        match answered?? {
            AnswerOutcome::Taken(_) => takers += 1,
            AnswerOutcome::Kept => kept += 1,
            other => return fail(format!("an answer: {other:?}")),
        }
    }
    expect("processes that took it", takers, 1)?;
    expect("answers that were kept for it", kept, NODES - 1)
}

async fn answered_at_work([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    waits(&*journal, park(b"r", &[])).await?;
    answer(&*journal, 0, 7).await?;
    answers("an answer meanwhile", &*other, (1, 8), AnswerOutcome::Kept).await?;
    let answered = ParkOutcome::Answered(taken("s", 1, &[1], 1));
    parks(&*journal, park_again(1, &[0], b"s"), answered).await?;
    waits(&*journal, park_again(1, &[1], b"t")).await
}

async fn answered_and_parked([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    for number in 0..20 {
        let call = CallId([number; 16]);
        let first = ParkRequest {
            call,
            ..park(b"r", &[])
        };
        waits(&*journal, first).await?;
        let of = |ask, reply| AnswerRequest {
            call,
            session: SESSION,
            ask,
            reply,
            lease: lease(7, NOW),
            now: NOW,
        };
        journal.answer(of(0, b"reply 0")).await?;
        let again = ParkRequest {
            call,
            ..park_again(1, &[0], b"s")
        };
        let at_once = tokio::join!(journal.park(again), other.answer(of(1, b"reply 1")));
        let (parked, answered) = (at_once.0?, at_once.1?);
        let (taken_again, epoch) = match (parked, answered) {
            (ParkOutcome::Answered(taken), AnswerOutcome::Kept) => (taken, 1),
            (ParkOutcome::Waiting, AnswerOutcome::Taken(taken)) => (taken, 2),
            other => return fail(format!("parked and answered: {other:?}")),
        };
        let want = TakenCall {
            call,
            ..taken("s", epoch, &[1], 1)
        };
        expect("the call with the other answer", taken_again, want)?;
    }
    Ok(())
}

async fn parked_again([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let events = [event("Which?", Some(0)), event("How many?", Some(1))];
    let first = park(b"first", &events);
    for journal in [&journal, &other] {
        waits(&**journal, first).await?;
    }
    let log = other.read(CALL, SESSION, 0, 9).await?;
    let numbers = log.map(|log| log.events.iter().map(|it| it.number).collect::<Vec<_>>());
    expect("the messages", numbers, Some(vec![1, 2]))?;
    takes(&*journal, 0, taken("first", 1, &[0], 3)).await?;
    // Another process has it now.
    parks(&*other, first, ParkOutcome::Lost).await?;
    answer(&*other, 1, 8).await?;
    let more = [event("When?", Some(2))];
    let second = ParkRequest {
        epoch: 1,
        settled: &[0],
        ..park(b"second", &more)
    };
    for journal in [&journal, &other] {
        let want = ParkOutcome::Answered(taken("second", 1, &[1], 4));
        parks(&**journal, second, want).await?;
    }
    Ok(())
}

async fn lost([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    parks(&*journal, park_again(1, &[], b"r"), ParkOutcome::Lost).await?;
    waits(&*journal, park(b"r", &[])).await?;
    answer(&*journal, 0, 7).await?;
    // Its process stops renewing the lease, and another process continues.
    let later = NOW + 10_000;
    let due = other.due(lease(8, later), later, 9);
    gives("calls that are due", due, vec![taken_over("r", 2, &[0], 1)]).await?;
    let late = [event("late", None)];
    let request = ParkRequest {
        epoch: 1,
        ..park(b"late", &late)
    };
    parks(&*journal, request, ParkOutcome::Lost).await?;
    gives("an end", journal.finish(end(Some(1), &late)), false).await?;
    gives("the end", other.finish(end(Some(2), &late)), true).await?;
    gives("a second end", other.finish(end(Some(2), &late)), false).await
}

async fn goes_on([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let request = ParkRequest {
        wake: Some(NOW + 5),
        ..park(b"r", &[])
    };
    waits(&*journal, request).await?;
    for (now, want) in [
        (NOW + 4, Vec::new()),
        (NOW + 5, vec![taken("r", 1, &[], 1)]),
        (NOW + 5, Vec::new()),
    ] {
        let due = other.due(lease(7, now), now, 9);
        gives("calls that are due", due, want).await?;
    }
    // A renewed lease has not ended.
    for (epoch, until) in [(1, NOW + 20_000), (0, NOW + 90_000)] {
        let renewed = other.renew(&[(CALL, epoch)], until).await;
        renewed?;
    }
    for (now, want) in [
        (NOW + 19_999, Vec::new()),
        (NOW + 20_000, vec![taken_over("r", 2, &[], 1)]),
    ] {
        let due = journal.due(lease(8, now), now, 9);
        gives("calls that are due", due, want).await?;
    }
    let due = journal.due(lease(9, NOW + 90_000), NOW + 90_000, 0);
    gives("none of them", due, Vec::new()).await
}

async fn logged([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let events = [event("a", Some(0)), event("b", Some(1))];
    let request = ParkRequest {
        first_event: 4,
        ..park(b"r", &events)
    };
    waits(&*journal, request).await?;
    let check = async |what, (after, most), want: &[(u64, bool, &str)], is_over| {
        let log = other.read(CALL, SESSION, after, most);
        let log = log.await?.ok_or("there is no log")?;
        let events = log.events.into_iter();
        let got: Vec<_> = events
            .map(|it| (it.number, it.is_answered, it.message))
            .collect();
        let want = want.iter();
        let want = want
            .map(|(number, is_answered, text)| (*number, *is_answered, text.as_bytes().to_vec()));
        expect(what, (got, log.is_over), (want.collect(), is_over))
    };
    check(
        "the log",
        (0, 9),
        &[(4, false, "a"), (5, false, "b")],
        false,
    )
    .await?;
    check("its end", (5, 9), &[], false).await?;
    answer(&*journal, 0, 7).await?;
    check("the log", (3, 9), &[(4, true, "a"), (5, false, "b")], false).await?;
    let last = [event("c", None)];
    journal.finish(end(Some(1), &last)).await?;
    check(
        "a part of the log",
        (3, 2),
        &[(4, true, "a"), (5, false, "b")],
        false,
    )
    .await?;
    check(
        "the rest of the log",
        (4, 2),
        &[(5, false, "b"), (6, false, "c")],
        true,
    )
    .await?;
    check("what is behind it", (6, 2), &[], true).await
}

async fn in_its_session([journal, _]: [Arc<dyn Journal>; 2]) -> CheckResult {
    waits(&*journal, park(b"r", &[event("a", Some(0))])).await?;
    let other = SessionId([9; 16]);
    let stolen = AnswerRequest {
        call: CALL,
        session: other,
        ask: 0,
        reply: b"x",
        lease: lease(7, NOW),
        now: NOW,
    };
    let unknown = AnswerRequest {
        call: CallId([9; 16]),
        session: SESSION,
        ..stolen
    };
    let what = "an answer in another session";
    gives(what, journal.answer(stolen), AnswerOutcome::Unknown).await?;
    let what = "an answer to another call";
    gives(what, journal.answer(unknown), AnswerOutcome::Unknown).await?;
    let read = journal.read(CALL, other, 0, 9);
    gives("its log in another session", read, None).await?;
    let cancelled = journal.cancel(other, REQUEST);
    gives("to cancel it in another session", cancelled, false).await?;
    takes(&*journal, 0, taken("r", 1, &[0], 2)).await
}

async fn ended([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    waits(&*journal, park(b"r", &[])).await?;
    let cancelled = other.cancel(SESSION, [9; 16]);
    gives("to cancel another request", cancelled, false).await?;
    gives("to cancel it", other.cancel(SESSION, REQUEST), true).await?;
    answers("an answer", &*journal, (0, 7), AnswerOutcome::Unknown).await?;
    waits(&*journal, park(b"r", &[])).await?;
    answer(&*journal, 0, 7).await?;
    journal.finish(end(Some(1), &[])).await?;
    answers("a late answer", &*journal, (1, 7), AnswerOutcome::Duplicate).await?;
    let due = journal.due(lease(7, EXPIRES), EXPIRES, 9);
    gives("calls that are due", due, Vec::new()).await?;
    let cancelled = other.cancel(SESSION, REQUEST);
    gives("to cancel it when it is over", cancelled, false).await
}

async fn tasks([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let has_status = async |text: &str, answered: &[u32]| {
        let task = other.task(CALL, SESSION).await?;
        let want = Some((text.as_bytes().to_vec(), answered.to_vec()));
        expect(
            "its status",
            task.map(|task| (task.status, task.answered)),
            want,
        )
    };
    let set = async |call, epoch, text: &str| {
        let set = journal.set_status(call, epoch, text.as_bytes());
        CheckResult::Ok(set.await?)
    };
    let begun = ParkRequest {
        status: Some(b"begun"),
        keep: Some(lease(7, NOW)),
        ..park(b"r", &[])
    };
    waits(&*journal, begun).await?;
    has_status("begun", &[]).await?;
    let task = other.task(CALL, SessionId([9; 16]));
    gives("its status in another session", task, None).await?;
    answers(
        "an answer while it works",
        &*other,
        (0, 8),
        AnswerOutcome::Kept,
    )
    .await?;
    // A process that keeps the call continues without its answers.
    let half = ParkRequest {
        record: b"s",
        status: Some(b"half"),
        ..begun
    };
    waits(&*journal, half).await?;
    has_status("half", &[0]).await?;
    set(CALL, 9, "of another epoch").await?;
    set(CALL, 0, "most").await?;
    has_status("most", &[0]).await?;
    let cancelled = FinishRequest {
        status: Some(b"cancelled"),
        ..end(None, &[])
    };
    gives("to end it from outside", other.finish(cancelled), true).await?;
    set(CALL, 0, "late").await?;
    let late = FinishRequest {
        epoch: Some(0),
        status: Some(b"late"),
        ..cancelled
    };
    gives("a late end", journal.finish(late), false).await?;
    has_status("cancelled", &[0]).await?;
    let lost = journal.renew(&[(CALL, 0)], NOW + 9);
    gives("calls that its process has lost", lost, vec![(CALL, 0)]).await?;
    // A status update that arrives after the task asks is ignored.
    const ASKING: CallId = CallId([4; 16]);
    let asks = ParkRequest {
        call: ASKING,
        request: [4; 16],
        status: Some(b"asks"),
        ..park(b"r", &[])
    };
    waits(&*journal, asks).await?;
    set(ASKING, 0, "works").await?;
    let task = other.task(ASKING, SESSION).await?;
    let status = task.map(|task| task.status);
    expect(
        "the status of a task that asks",
        status,
        Some(b"asks".to_vec()),
    )
}

async fn renewed([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    waits(&*journal, park(b"r", &[])).await?;
    // Parked is not lost, but no process works on it.
    let lost = journal.renew(&[(CALL, 0)], NOW + 9);
    gives("calls that were lost", lost, Vec::new()).await?;
    takes(&*other, 0, taken("r", 1, &[0], 1)).await?;
    let lost = journal.renew(&[(CALL, 0)], NOW + 9);
    gives(
        "calls that another process has taken",
        lost,
        vec![(CALL, 0)],
    )
    .await?;
    other.cancel(SESSION, REQUEST).await?;
    let lost = other.renew(&[(CALL, 1)], NOW + 9);
    gives("calls that were cancelled", lost, vec![(CALL, 1)]).await
}

async fn sessions_end([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let session = of_session(SESSION, None);
    let unknown = journal.session(SESSION);
    gives(
        "a session that is not known",
        unknown,
        SessionNote::default(),
    )
    .await?;
    for note in [b"first".as_slice(), b"watched"] {
        journal.note(session, note).await?;
    }
    let noted = SessionNote {
        is_ended: false,
        note: Some(b"watched".to_vec()),
    };
    gives("what was noted", other.session(SESSION), noted).await?;
    waits(&*journal, park(b"r", &[])).await?;
    journal.end_session(session).await?;
    let ended = other.session(SESSION).await?;
    expect("whether it has ended", ended.is_ended, true)?;
    answers("an answer", &*other, (0, 7), AnswerOutcome::Unknown).await?;
    let since = other.ended_since(NOW);
    gives("those that ended since", since, vec![SESSION]).await?;
    let since = other.ended_since(NOW + 1);
    gives("those that ended later", since, Vec::new()).await
}

async fn purged([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    waits(&*journal, park(b"r", &[event("a", Some(0))])).await?;
    let noted = journal.note(of_session(SESSION, None), b"n").await;
    noted?;
    gives("removed too early", other.purge(EXPIRES - 1), 0).await?;
    gives("removed", other.purge(EXPIRES), 2).await?;
    answers("an answer", &*journal, (0, 7), AnswerOutcome::Unknown).await?;
    let session = journal.session(SESSION).await?;
    expect("what was noted", session.note, None)
}

async fn announced([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let (first, second) = (NodeId([1; 8]), NodeId([2; 8]));
    // The process, until when it serves, the time, and how many serve.
    let cases = [
        (first, 15, 0, 1),
        (second, 16, 1, 2),
        (first, 20, 5, 2),
        (first, 30, 16, 1),
        (second, 40, 17, 2),
        (second, 60, 30, 1),
    ];
    for (at, (process, until, now, want)) in cases.into_iter().enumerate() {
        let journal = if at % 2 == 0 { &journal } else { &other };
        let what = format!("the processes at {now}");
        let announced = journal.announce(process, NOW + until, NOW + now);
        gives(&what, announced, want).await?;
    }
    gives("removed", journal.purge(NOW + 60), 2).await
}

async fn counted([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    const SECOND: u64 = 1000;
    let check = async |what, now, want: &JournalStatus| {
        let mut status = other.status(now).await?;
        expect("whether it counts bytes", status.bytes > 0, true)?;
        status.bytes = 0;
        expect(what, &status, want)
    };
    gives(
        "an empty journal",
        other.status(NOW),
        JournalStatus::default(),
    )
    .await?;
    let events = [
        event("a", Some(0)),
        event("b", Some(1)),
        event("note", None),
    ];
    let asks = ParkRequest {
        wake: Some(NOW + SECOND),
        ..park(b"r", &events)
    };
    waits(&*journal, asks).await?;
    let task = ParkRequest {
        call: CallId([77; 16]),
        keep: Some(lease(1, NOW)),
        status: Some(b"s"),
        ..park(b"t", &[])
    };
    waits(&*journal, task).await?;
    let parked = JournalStatus {
        waiting_calls: 1,
        running_calls: 1,
        open_questions: 2,
        busy_processes: 1,
        next_wake: Some(NOW + SECOND),
        ..JournalStatus::default()
    };
    check("two calls", NOW, &parked).await?;
    let overdue = JournalStatus {
        waiting_calls: 0,
        overdue_calls: 1,
        lag: Duration::from_secs(2),
        next_wake: None,
        ..parked
    };
    check("a call whose time has come", NOW + 3 * SECOND, &overdue).await?;
    answer(&*journal, 1, 2).await?;
    let answered = JournalStatus {
        running_calls: 2,
        open_questions: 1,
        busy_processes: 2,
        ..JournalStatus::default()
    };
    check("an answered call", NOW, &answered).await?;
    gives("to end it", journal.finish(end(Some(1), &[])), true).await?;
    let ended = JournalStatus {
        running_calls: 1,
        busy_processes: 1,
        ..JournalStatus::default()
    };
    check("a call that is over", NOW, &ended).await?;
    let silent = JournalStatus {
        overdue_calls: 1,
        lag: Duration::from_secs(5),
        ..JournalStatus::default()
    };
    check("a process without a lease", NOW + 15 * SECOND, &silent).await
}

async fn shared_out([journal, _]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let record = vec![1; 16 << 10];
    let greedy = Owner([1; 16]);
    let mut parked = 0_u8;
    let refused = loop {
        let request = ParkRequest {
            call: CallId([parked; 16]),
            owner: Some(greedy),
            ..park(&record, &[])
        };
        match journal.park(request).await {
            Ok(_) if parked == u8::MAX => return fail("an owner may have all"),
            Ok(_) => parked += 1,
            Err(error) => break error,
        }
    };
    match refused {
        StoreError::ShareFull | StoreError::Full { .. } => {}
        other => return fail(format!("one too many: {other:?}")),
    }
    let request = ParkRequest {
        call: CallId([255; 16]),
        owner: Some(Owner([2; 16])),
        ..park(&record, &[])
    };
    waits(&*journal, request).await?;
    // Notes about sessions make room for newer sessions of the same owner.
    let kept = SessionId([254; 16]);
    let of_other = of_session(kept, Some(Owner([2; 16])));
    journal.note(of_other, b"kept").await?;
    for number in 0..100 {
        let session = SessionRequest {
            expires: EXPIRES + u64::from(number),
            ..of_session(SessionId([number; 16]), Some(greedy))
        };
        journal.note(session, &record).await?;
    }
    let oldest = journal.session(SessionId([0; 16])).await?;
    expect("the oldest note of an owner of many", oldest.note, None)?;
    let newest = journal.session(SessionId([99; 16])).await?;
    expect("whether the newest is kept", newest.note.is_some(), true)?;
    let other = journal.session(kept).await?;
    expect(
        "the note of another owner",
        other.note,
        Some(b"kept".to_vec()),
    )
}
