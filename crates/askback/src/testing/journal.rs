use std::{sync::Arc, time::Duration};

use tokio::task::JoinSet;

use super::contract::{BrokenContract, CheckResult, expect, rules};
use crate::journal::{
    AnswerOutcome, AnswerRequest, CallId, Event, FinishRequest, Journal, JournalStatus, Lease,
    Millis, NodeId, Owner, ParkOutcome, ParkRequest, SessionId, SessionRequest, StoreError,
    TakenCall,
};

const NOW: Millis = 1_800_000_000_000;
const EXPIRES: Millis = NOW + 86_400_000;
const CALL: CallId = CallId([1; 16]);
const SESSION: SessionId = SessionId([2; 16]);
const REQUEST: [u8; 16] = [3; 16];
/// A journal size in bytes that is never reached.
const AMPLE: usize = 64 << 20;

/// A lease of ten seconds.
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
    let mut broken = BrokenContract::default();
    for (rule, max_bytes, check) in RULES {
        let open = create(*max_bytes).await;
        let opened = [open().await, open().await];
        broken.note(rule, check(opened).await);
    }
    broken.into_result()
}

fn failed(error: StoreError) -> String {
    format!("failed with {error:?}")
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

fn of_session(session: SessionId, owner: Option<Owner>) -> SessionRequest {
    SessionRequest {
        session,
        owner,
        now: NOW,
        expires: EXPIRES,
    }
}

async fn parks(journal: &dyn Journal, request: ParkRequest<'_>, want: ParkOutcome) -> CheckResult {
    let got = journal.park(request).await.map_err(failed)?;
    expect("to park a call", got, want)
}

async fn answer(
    journal: &dyn Journal,
    ask: u32,
    node: u8,
    now: Millis,
) -> Result<AnswerOutcome, String> {
    let reply = format!("reply {ask}");
    let answer = AnswerRequest {
        call: CALL,
        session: SESSION,
        ask,
        reply: reply.as_bytes(),
        lease: lease(node, now),
        now,
    };
    journal.answer(answer).await.map_err(failed)
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
    parks(&*journal, request, ParkOutcome::Waiting).await?;
    let want = AnswerOutcome::Taken(taken("first", 1, &[1], 7));
    expect("the answer", answer(&*other, 1, 7, NOW).await?, want)?;
    // It continues from where it was parked again.
    let again = ParkRequest {
        epoch: 1,
        settled: &[1],
        ..park(b"second", &[])
    };
    parks(&*other, again, ParkOutcome::Waiting).await?;
    let want = AnswerOutcome::Taken(taken("second", 2, &[0], 7));
    expect(
        "the other answer",
        answer(&*journal, 0, 7, NOW).await?,
        want,
    )
}

async fn first_answer([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    parks(
        &*journal,
        park(b"r", &[event("Sure?", Some(0))]),
        ParkOutcome::Waiting,
    )
    .await?;
    let want = AnswerOutcome::Taken(taken("r", 1, &[0], 2));
    expect("the first", answer(&*journal, 0, 7, NOW).await?, want)?;
    expect(
        "the second",
        answer(&*other, 0, 8, NOW).await?,
        AnswerOutcome::Duplicate,
    )?;
    let again = ParkRequest {
        epoch: 1,
        settled: &[0],
        ..park(b"s", &[])
    };
    parks(&*journal, again, ParkOutcome::Waiting).await?;
    let late = answer(&*other, 0, 8, NOW).await?;
    expect(
        "one after it is part of the record",
        late,
        AnswerOutcome::Duplicate,
    )
}

async fn one_takes([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    const NODES: u8 = 8;
    parks(&*journal, park(b"r", &[]), ParkOutcome::Waiting).await?;
    let mut answering = JoinSet::new();
    for node in 0..NODES {
        let journal = Arc::clone(if node % 2 == 0 { &journal } else { &other });
        answering.spawn(async move { answer(&*journal, u32::from(node), node, NOW).await });
    }
    let mut takers = 0;
    let mut kept = 0;
    while let Some(answered) = answering.join_next().await {
        match answered.map_err(|error| error.to_string())?? {
            AnswerOutcome::Taken(_) => takers += 1,
            AnswerOutcome::Kept => kept += 1,
            other => return Err(format!("an answer: {other:?}")),
        }
    }
    expect("processes that took it", takers, 1)?;
    expect("answers that were kept for it", kept, NODES - 1)
}

async fn answered_at_work([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    parks(&*journal, park(b"r", &[]), ParkOutcome::Waiting).await?;
    answer(&*journal, 0, 7, NOW).await?;
    expect(
        "an answer meanwhile",
        answer(&*other, 1, 8, NOW).await?,
        AnswerOutcome::Kept,
    )?;
    let again = ParkRequest {
        epoch: 1,
        settled: &[0],
        ..park(b"s", &[])
    };
    parks(
        &*journal,
        again,
        ParkOutcome::Answered(taken("s", 1, &[1], 1)),
    )
    .await?;
    let again = ParkRequest {
        record: b"t",
        settled: &[1],
        ..again
    };
    parks(&*journal, again, ParkOutcome::Waiting).await
}

async fn parked_again([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let events = [event("Which?", Some(0)), event("How many?", Some(1))];
    let first = park(b"first", &events);
    for journal in [&journal, &other] {
        parks(&**journal, first, ParkOutcome::Waiting).await?;
    }
    let log = other.read(CALL, SESSION, 0, 9).await.map_err(failed)?;
    let numbers = log.map(|log| log.events.iter().map(|it| it.number).collect::<Vec<_>>());
    expect("the messages", numbers, Some(vec![1, 2]))?;
    let want = AnswerOutcome::Taken(taken("first", 1, &[0], 3));
    expect("the answer", answer(&*journal, 0, 7, NOW).await?, want)?;
    // Another process has it now.
    parks(&*other, first, ParkOutcome::Lost).await?;
    answer(&*other, 1, 8, NOW).await?;
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
    let second = ParkRequest {
        epoch: 1,
        ..park(b"r", &[])
    };
    parks(&*journal, second, ParkOutcome::Lost).await?;
    parks(&*journal, park(b"r", &[]), ParkOutcome::Waiting).await?;
    answer(&*journal, 0, 7, NOW).await?;
    // Its process stops renewing the lease, and another process continues.
    let later = NOW + 10_000;
    let due = other.due(lease(8, later), later, 9).await.map_err(failed)?;
    expect("calls that are due", due, vec![taken_over("r", 2, &[0], 1)])?;
    let late = [event("late", None)];
    let request = ParkRequest {
        epoch: 1,
        ..park(b"late", &late)
    };
    parks(&*journal, request, ParkOutcome::Lost).await?;
    let end = FinishRequest {
        call: CALL,
        epoch: Some(1),
        events: &late,
        status: None,
        expires: EXPIRES,
    };
    expect("an end", journal.finish(end).await.map_err(failed)?, false)?;
    let end = FinishRequest {
        epoch: Some(2),
        ..end
    };
    expect("the end", other.finish(end).await.map_err(failed)?, true)?;
    expect(
        "a second end",
        other.finish(end).await.map_err(failed)?,
        false,
    )
}

async fn goes_on([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let request = ParkRequest {
        wake: Some(NOW + 5),
        ..park(b"r", &[])
    };
    parks(&*journal, request, ParkOutcome::Waiting).await?;
    for (now, want) in [
        (NOW + 4, Vec::new()),
        (NOW + 5, vec![taken("r", 1, &[], 1)]),
        (NOW + 5, Vec::new()),
    ] {
        let due = other.due(lease(7, now), now, 9).await.map_err(failed)?;
        expect("calls that are due", due, want)?;
    }
    // A renewed lease has not ended.
    other
        .renew(&[(CALL, 1)], NOW + 20_000)
        .await
        .map_err(failed)?;
    other
        .renew(&[(CALL, 0)], NOW + 90_000)
        .await
        .map_err(failed)?;
    for (now, want) in [
        (NOW + 19_999, Vec::new()),
        (NOW + 20_000, vec![taken_over("r", 2, &[], 1)]),
    ] {
        let due = journal.due(lease(8, now), now, 9).await.map_err(failed)?;
        expect("calls that are due", due, want)?;
    }
    let due = journal.due(lease(9, NOW + 90_000), NOW + 90_000, 0).await;
    expect("none of them", due.map_err(failed)?, Vec::new())
}

async fn logged([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let events = [event("a", Some(0)), event("b", Some(1))];
    let request = ParkRequest {
        first_event: 4,
        ..park(b"r", &events)
    };
    parks(&*journal, request, ParkOutcome::Waiting).await?;
    let read = async |after, most| {
        let log = other
            .read(CALL, SESSION, after, most)
            .await
            .map_err(failed)?;
        let log = log.ok_or("there is no log")?;
        let events = log.events.into_iter();
        let events: Vec<_> = events
            .map(|event| (event.number, event.is_answered, event.message))
            .collect();
        Ok::<_, String>((events, log.is_over))
    };
    let a = |is_answered| (4, is_answered, b"a".to_vec());
    let b = (5, false, b"b".to_vec());
    expect(
        "the log",
        read(0, 9).await?,
        (vec![a(false), b.clone()], false),
    )?;
    expect("its end", read(5, 9).await?, (Vec::new(), false))?;
    answer(&*journal, 0, 7, NOW).await?;
    expect(
        "the log",
        read(3, 9).await?,
        (vec![a(true), b.clone()], false),
    )?;
    let last = [event("c", None)];
    let end = FinishRequest {
        call: CALL,
        epoch: Some(1),
        events: &last,
        status: None,
        expires: EXPIRES,
    };
    journal.finish(end).await.map_err(failed)?;
    let c = (6, false, b"c".to_vec());
    expect(
        "a part of the log",
        read(3, 2).await?,
        (vec![a(true), b.clone()], false),
    )?;
    expect("the rest of the log", read(4, 2).await?, (vec![b, c], true))?;
    expect("what is behind it", read(6, 2).await?, (Vec::new(), true))
}

async fn in_its_session([journal, _]: [Arc<dyn Journal>; 2]) -> CheckResult {
    parks(
        &*journal,
        park(b"r", &[event("a", Some(0))]),
        ParkOutcome::Waiting,
    )
    .await?;
    let other = SessionId([9; 16]);
    let stolen = AnswerRequest {
        call: CALL,
        session: other,
        ask: 0,
        reply: b"x",
        lease: lease(7, NOW),
        now: NOW,
    };
    let answered = journal.answer(stolen).await.map_err(failed)?;
    expect(
        "an answer in another session",
        answered,
        AnswerOutcome::Unknown,
    )?;
    let read = journal.read(CALL, other, 0, 9).await.map_err(failed)?;
    expect("its log in another session", read, None)?;
    let cancelled = journal.cancel(other, REQUEST).await.map_err(failed)?;
    expect("to cancel it in another session", cancelled, false)?;
    let unknown = AnswerRequest {
        call: CallId([9; 16]),
        session: SESSION,
        ..stolen
    };
    let answered = journal.answer(unknown).await.map_err(failed)?;
    expect(
        "an answer to another call",
        answered,
        AnswerOutcome::Unknown,
    )?;
    let want = AnswerOutcome::Taken(taken("r", 1, &[0], 2));
    expect("the answer", answer(&*journal, 0, 7, NOW).await?, want)
}

async fn ended([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    parks(&*journal, park(b"r", &[]), ParkOutcome::Waiting).await?;
    let cancelled = other.cancel(SESSION, [9; 16]).await.map_err(failed)?;
    expect("to cancel another request", cancelled, false)?;
    let cancelled = other.cancel(SESSION, REQUEST).await.map_err(failed)?;
    expect("to cancel it", cancelled, true)?;
    expect(
        "an answer",
        answer(&*journal, 0, 7, NOW).await?,
        AnswerOutcome::Unknown,
    )?;
    parks(&*journal, park(b"r", &[]), ParkOutcome::Waiting).await?;
    answer(&*journal, 0, 7, NOW).await?;
    let end = FinishRequest {
        call: CALL,
        epoch: Some(1),
        events: &[],
        status: None,
        expires: EXPIRES,
    };
    journal.finish(end).await.map_err(failed)?;
    expect(
        "a late answer",
        answer(&*journal, 1, 7, NOW).await?,
        AnswerOutcome::Duplicate,
    )?;
    let due = journal
        .due(lease(7, EXPIRES), EXPIRES, 9)
        .await
        .map_err(failed)?;
    expect("calls that are due", due, Vec::new())?;
    let cancelled = other.cancel(SESSION, REQUEST).await.map_err(failed)?;
    expect("to cancel it when it is over", cancelled, false)
}

async fn tasks([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let status = async |journal: &dyn Journal| {
        let task = journal.task(CALL, SESSION).await.map_err(failed)?;
        Ok::<_, String>(task.map(|task| (task.status, task.answered)))
    };
    let begun = ParkRequest {
        status: Some(b"begun"),
        keep: Some(lease(7, NOW)),
        ..park(b"r", &[])
    };
    parks(&*journal, begun, ParkOutcome::Waiting).await?;
    let is = |text: &str, answered: &[u32]| Some((text.as_bytes().to_vec(), answered.to_vec()));
    expect("its status", status(&*other).await?, is("begun", &[]))?;
    let task = other.task(CALL, SessionId([9; 16])).await.map_err(failed)?;
    expect("its status in another session", task, None)?;
    let kept = answer(&*other, 0, 8, NOW).await?;
    expect("an answer while it works", kept, AnswerOutcome::Kept)?;
    // A process that keeps the call continues without its answers.
    let half = ParkRequest {
        record: b"s",
        status: Some(b"half"),
        ..begun
    };
    parks(&*journal, half, ParkOutcome::Waiting).await?;
    expect("its status", status(&*other).await?, is("half", &[0]))?;
    for (epoch, text) in [(9, "of another epoch"), (0, "most")] {
        let set = journal.set_status(CALL, epoch, text.as_bytes());
        set.await.map_err(failed)?;
    }
    expect("its status", status(&*other).await?, is("most", &[0]))?;
    let end = FinishRequest {
        call: CALL,
        epoch: None,
        events: &[],
        status: Some(b"cancelled"),
        expires: EXPIRES,
    };
    let ended = other.finish(end).await.map_err(failed)?;
    expect("to end it from outside", ended, true)?;
    let late = journal.set_status(CALL, 0, b"late").await;
    late.map_err(failed)?;
    let late = FinishRequest {
        epoch: Some(0),
        status: Some(b"late"),
        ..end
    };
    expect(
        "a late end",
        journal.finish(late).await.map_err(failed)?,
        false,
    )?;
    expect("its status", status(&*other).await?, is("cancelled", &[0]))?;
    let lost = journal.renew(&[(CALL, 0)], NOW + 9).await.map_err(failed)?;
    expect("calls that its process has lost", lost, vec![(CALL, 0)])?;
    // A status update that arrives after the task asks is ignored.
    const ASKING: CallId = CallId([4; 16]);
    let asks = ParkRequest {
        call: ASKING,
        request: [4; 16],
        status: Some(b"asks"),
        ..park(b"r", &[])
    };
    parks(&*journal, asks, ParkOutcome::Waiting).await?;
    let late = journal.set_status(ASKING, 0, b"works").await;
    late.map_err(failed)?;
    let task = other.task(ASKING, SESSION).await.map_err(failed)?;
    let status = task.map(|task| task.status);
    expect(
        "the status of a task that asks",
        status,
        Some(b"asks".to_vec()),
    )
}

async fn renewed([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    parks(&*journal, park(b"r", &[]), ParkOutcome::Waiting).await?;
    // Parked is not lost, but no process works on it.
    let lost = journal.renew(&[(CALL, 0)], NOW + 9).await.map_err(failed)?;
    expect("calls that were lost", lost, Vec::new())?;
    let want = AnswerOutcome::Taken(taken("r", 1, &[0], 1));
    expect("the answer", answer(&*other, 0, 8, NOW).await?, want)?;
    let lost = journal.renew(&[(CALL, 0)], NOW + 9).await.map_err(failed)?;
    expect(
        "calls that another process has taken",
        lost,
        vec![(CALL, 0)],
    )?;
    other.cancel(SESSION, REQUEST).await.map_err(failed)?;
    let lost = other.renew(&[(CALL, 1)], NOW + 9).await.map_err(failed)?;
    expect("calls that were cancelled", lost, vec![(CALL, 1)])
}

async fn sessions_end([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    let session = journal.session(SESSION).await.map_err(failed)?;
    expect(
        "a session that is not known",
        (session.is_ended, session.note),
        (false, None),
    )?;
    journal
        .note(of_session(SESSION, None), b"first")
        .await
        .map_err(failed)?;
    journal
        .note(of_session(SESSION, None), b"watched")
        .await
        .map_err(failed)?;
    let session = other.session(SESSION).await.map_err(failed)?;
    let noted = (false, Some(b"watched".to_vec()));
    expect("what was noted", (session.is_ended, session.note), noted)?;
    parks(&*journal, park(b"r", &[]), ParkOutcome::Waiting).await?;
    journal
        .end_session(of_session(SESSION, None))
        .await
        .map_err(failed)?;
    let session = other.session(SESSION).await.map_err(failed)?;
    expect("whether it has ended", session.is_ended, true)?;
    expect(
        "an answer",
        answer(&*other, 0, 7, NOW).await?,
        AnswerOutcome::Unknown,
    )?;
    let since = other.ended_since(NOW).await.map_err(failed)?;
    expect("those that ended since", since, vec![SESSION])?;
    let since = other.ended_since(NOW + 1).await.map_err(failed)?;
    expect("those that ended later", since, Vec::new())
}

async fn purged([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    parks(
        &*journal,
        park(b"r", &[event("a", Some(0))]),
        ParkOutcome::Waiting,
    )
    .await?;
    journal
        .note(of_session(SESSION, None), b"n")
        .await
        .map_err(failed)?;
    expect(
        "removed too early",
        other.purge(EXPIRES - 1).await.map_err(failed)?,
        0,
    )?;
    expect("removed", other.purge(EXPIRES).await.map_err(failed)?, 2)?;
    expect(
        "an answer",
        answer(&*journal, 0, 7, NOW).await?,
        AnswerOutcome::Unknown,
    )?;
    let session = journal.session(SESSION).await.map_err(failed)?;
    expect("what was noted", session.note, None)
}

async fn counted([journal, other]: [Arc<dyn Journal>; 2]) -> CheckResult {
    const SECOND: u64 = 1000;
    let status = async |now| {
        let mut status = other.status(now).await.map_err(failed)?;
        expect("whether it counts bytes", status.bytes > 0, true)?;
        status.bytes = 0;
        Ok::<_, String>(status)
    };
    let empty = other.status(NOW).await.map_err(failed)?;
    expect("an empty journal", empty, JournalStatus::default())?;
    let events = [
        event("a", Some(0)),
        event("b", Some(1)),
        event("note", None),
    ];
    let asks = ParkRequest {
        wake: Some(NOW + SECOND),
        ..park(b"r", &events)
    };
    parks(&*journal, asks, ParkOutcome::Waiting).await?;
    let task = ParkRequest {
        call: CallId([77; 16]),
        keep: Some(lease(1, NOW)),
        status: Some(b"s"),
        ..park(b"t", &[])
    };
    parks(&*journal, task, ParkOutcome::Waiting).await?;
    let parked = JournalStatus {
        waiting_calls: 1,
        running_calls: 1,
        open_questions: 2,
        busy_processes: 1,
        next_wake: Some(NOW + SECOND),
        ..JournalStatus::default()
    };
    expect("two calls", status(NOW).await?, parked.clone())?;
    let overdue = JournalStatus {
        waiting_calls: 0,
        overdue_calls: 1,
        lag: Duration::from_secs(2),
        next_wake: None,
        ..parked
    };
    expect(
        "a call whose time has come",
        status(NOW + 3 * SECOND).await?,
        overdue.clone(),
    )?;
    answer(&*journal, 1, 2, NOW).await?;
    let answered = JournalStatus {
        running_calls: 2,
        open_questions: 1,
        busy_processes: 2,
        ..JournalStatus::default()
    };
    expect("an answered call", status(NOW).await?, answered)?;
    let ended = journal.finish(FinishRequest {
        call: CALL,
        epoch: Some(1),
        events: &[],
        status: None,
        expires: EXPIRES,
    });
    expect("to end it", ended.await.map_err(failed)?, true)?;
    let ended = JournalStatus {
        running_calls: 1,
        busy_processes: 1,
        ..JournalStatus::default()
    };
    expect("a call that is over", status(NOW).await?, ended)?;
    let silent = JournalStatus {
        overdue_calls: 1,
        lag: Duration::from_secs(5),
        ..JournalStatus::default()
    };
    let much_later = NOW + 15 * SECOND;
    expect(
        "a process without a lease",
        status(much_later).await?,
        silent,
    )
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
            Ok(_) if parked == u8::MAX => return Err("an owner may have all".into()),
            Ok(_) => parked += 1,
            Err(error) => break error,
        }
    };
    match refused {
        StoreError::ShareFull | StoreError::Full { .. } => {}
        other => return Err(format!("one too many: {other:?}")),
    }
    let request = ParkRequest {
        call: CallId([255; 16]),
        owner: Some(Owner([2; 16])),
        ..park(&record, &[])
    };
    parks(&*journal, request, ParkOutcome::Waiting).await?;
    // Notes about sessions make room for newer sessions of the same owner.
    let kept = SessionId([254; 16]);
    let of_other = of_session(kept, Some(Owner([2; 16])));
    journal.note(of_other, b"kept").await.map_err(failed)?;
    for number in 0..100 {
        let session = SessionRequest {
            expires: EXPIRES + u64::from(number),
            ..of_session(SessionId([number; 16]), Some(greedy))
        };
        journal.note(session, &record).await.map_err(failed)?;
    }
    let oldest = journal.session(SessionId([0; 16])).await.map_err(failed)?;
    expect("the oldest note of an owner of many", oldest.note, None)?;
    let newest = journal.session(SessionId([99; 16])).await.map_err(failed)?;
    expect("whether the newest is kept", newest.note.is_some(), true)?;
    let other = journal.session(kept).await.map_err(failed)?;
    expect(
        "the note of another owner",
        other.note,
        Some(b"kept".to_vec()),
    )
}
