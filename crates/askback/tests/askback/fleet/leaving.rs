//! Clients that leave the stream of a call that has not asked, and come back to another process.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use askback::{Ctx, Result, Revision, State, Tool, ctx::Progress};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::{REVISIONS, Shared, accept, at, line::JournalLine};
use crate::http::client::{Client, Response, Session};

/// For how many seconds the handler works.
const WORK: u32 = 30;

pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new("work_aloud", work_aloud)]
}

/// Says each second how far it is.
async fn work_aloud(ctx: Ctx, State(shared): State<Shared>) -> Result<String> {
    for second in 1..=WORK {
        sleep(Duration::from_secs(1)).await;
        ctx.progress(Progress::of(f64::from(second), f64::from(WORK)));
    }
    let bookings = Arc::clone(&shared.bookings);
    let number: usize = ctx
        .commit("work", move || async move {
            Ok(1 + bookings.fetch_add(1, Ordering::Relaxed))
        })
        .await?;
    Ok(format!("worked as {number}"))
}

/// A call whose client can leave.
struct Call {
    shared: Shared,
    first: Client,
    line: JournalLine,
    session: Session,
    stream: Option<Response>,
    /// The last event that its client has.
    last: String,
}

impl Call {
    async fn begin(revision: Revision, tool: &str) -> Self {
        let shared = Shared::new();
        let (first, line) = shared.node_on_a_line();
        let session = first.open_with(revision, json!({"elicitation": {}})).await;
        let params = json!({"name": tool, "_meta": {"progressToken": "p"}});
        line.requests();
        let mut stream = session.call(1, "tools/call", params).await;
        stream.event().await.expect("a first event");
        let last = stream.last_event_id();
        Self {
            shared,
            first,
            line,
            session,
            stream: Some(stream),
            last,
        }
    }

    /// Leaves, and comes back to this process.
    async fn move_to(&mut self, node: &Client) {
        self.stream = None;
        let resumed = at(&self.session, node).resume(&self.last).await;
        assert_eq!(resumed.status, 200);
        self.stream = Some(resumed);
    }

    /// The next message that is no progress, unless the stream ends.
    async fn message(&mut self) -> Option<Value> {
        let stream = self.stream.as_mut().expect("a stream");
        loop {
            let (_, message) = stream.told().await?;
            if message["method"] != "notifications/progress" {
                return Some(message);
            }
        }
    }

    async fn assert_result(&mut self) {
        let result = self.message().await.expect("a result");
        assert_eq!(result["id"], 1, "{result}");
        assert_eq!(result["result"]["content"][0]["text"], "worked as 1");
        assert_eq!(self.message().await, None);
        assert_eq!(self.shared.bookings.load(Ordering::Relaxed), 1);
    }

    /// Checks that the client is told that nobody knows what became of its request.
    async fn assert_lost(&mut self) {
        let lost = self.message().await.expect("an error");
        assert_eq!(lost["id"], 1, "{lost}");
        let why = lost["error"]["message"].as_str().expect("an error");
        assert!(why.contains("not known"), "{why}");
        assert_eq!(self.message().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_result_reaches_a_client_that_has_left_before_a_question() {
    for revision in REVISIONS {
        // The places to which the client moves, one after the other: 0 is the process that works.
        for places in [&[1][..], &[0], &[1, 2], &[0, 1], &[1, 0, 2]] {
            let mut call = Call::begin(revision, "work_aloud").await;
            let others = [call.first.clone(), call.shared.node(), call.shared.node()];
            for place in places {
                sleep(Duration::from_secs(4)).await;
                call.move_to(&others[*place]).await;
                if *place == 0 {
                    // It gets progress, and with it new numbers of events.
                    let stream = call.stream.as_mut().expect("a stream");
                    assert!(stream.told().await.is_some());
                    call.last = stream.last_event_id();
                }
            }
            let begun = Instant::now();
            call.assert_result().await;
            assert!(
                begun.elapsed() <= Duration::from_secs(WORK.into()),
                "{places:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_reaches_a_client_that_has_left_before_it() {
    let mut call = Call::begin(Revision::V2025_11_25, "slow_question").await;
    sleep(Duration::from_secs(1)).await;
    let second = call.shared.node();
    call.move_to(&second).await;
    let question = call.message().await.expect("a question");
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let third = at(&call.session, &call.shared.node());
    let name = accept(json!({"name": "Ada"}));
    third.answer(&question, name).await;
    let result = call.message().await.expect("a result");
    assert_eq!(result["result"]["content"][0]["text"], "Ada", "{result}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_its_client_has_left_ends_with_its_process() {
    // The client comes back before its process dies, or after.
    for is_back in [true, false] {
        let mut call = Call::begin(Revision::V2025_11_25, "work_aloud").await;
        let second = call.shared.node();
        call.stream = None;
        sleep(Duration::from_secs(1)).await;
        if !is_back {
            call.line.cut();
        }
        call.move_to(&second).await;
        sleep(Duration::from_secs(1)).await;
        call.line.cut();
        let begun = Instant::now();
        call.assert_lost().await;
        assert!(begun.elapsed() < Duration::from_secs(12), "{is_back}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_its_client_has_left_is_cancelled_at_any_process() {
    let mut call = Call::begin(Revision::V2025_11_25, "work_aloud").await;
    let second = call.shared.node();
    call.move_to(&second).await;
    sleep(Duration::from_secs(1)).await;
    let params = json!({"requestId": 1});
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    let session = at(&call.session, &second);
    assert_eq!(session.post(&cancelled).await.status, 202);
    assert_eq!(call.message().await, None);
    sleep(Duration::from_secs(u64::from(2 * WORK))).await;
    assert_eq!(call.shared.bookings.load(Ordering::Relaxed), 0);
    let left = askback::journal::Journal::purge(&call.shared.journal, u64::MAX).await;
    assert_eq!(left.expect("the journal answers"), 0);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_client_stays_is_not_written_down() {
    let mut call = Call::begin(Revision::V2025_11_25, "work_aloud").await;
    call.assert_result().await;
    assert_eq!(call.line.requests(), <[&str; 0]>::default());
}
