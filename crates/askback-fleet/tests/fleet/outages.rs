//! PostgreSQL fails while a fleet uses it.

use std::{sync::Arc, time::Duration};

use askback::{
    journal::{
        AnswerOutcome, AnswerRequest, CallId, Journal, Lease, NodeId, ParkOutcome, ParkRequest,
        SessionId, StoreError,
    },
    store::Store,
};
use tokio::{task::spawn_blocking, time::timeout};

use crate::{cluster::Cluster, connect, place};

const CALL: CallId = CallId([1; 16]);
const SESSION: SessionId = SessionId([2; 16]);

/// The time limit for operations that must fail early. Shorter than the `wait` that [`place`] sets.
const SOON: Duration = Duration::from_secs(30);

fn park<'a>() -> ParkRequest<'a> {
    ParkRequest {
        call: CALL,
        session: SESSION,
        request: [3; 16],
        owner: None,
        epoch: 0,
        record: b"record",
        status: None,
        settled: &[],
        events: &[],
        first_event: 1,
        wake: None,
        keep: None,
        now: 1,
        expires: u64::MAX,
    }
}

fn answer<'a>() -> AnswerRequest<'a> {
    AnswerRequest {
        call: CALL,
        session: SESSION,
        ask: 0,
        reply: b"reply",
        lease: Lease {
            node: NodeId([4; 8]),
            until: 10_000,
        },
        now: 1,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_waits_for_postgres_to_be_restarted() {
    let Some(cluster) = Cluster::alone() else {
        return;
    };
    let cluster = Arc::new(cluster);
    let store = connect(&place(&cluster), 1 << 20).await;
    // Several connections of the pool break.
    let parked = tokio::join!(store.park(park()), Store::get(&*store, [0; 32]));
    assert_eq!(parked.0.expect("it is parked"), ParkOutcome::Waiting);
    cluster.kill();
    let answering = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.answer(answer()).await }
    });
    let log = store.read(CALL, SESSION, 0, 9);
    let restarted = spawn_blocking({
        let cluster = Arc::clone(&cluster);
        move || cluster.start_again()
    });
    let (log, restarted) = tokio::join!(log, restarted);
    restarted.expect("it restarts");
    assert!(log.expect("the log is read").is_some());
    let answered = answering.await.expect("no panic").expect("it is stored");
    assert!(matches!(answered, AnswerOutcome::Taken(taken) if taken.epoch == 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_does_not_wait_for_ever() {
    let Some(cluster) = Cluster::alone() else {
        return;
    };
    let mut settings = place(&cluster);
    settings.wait = Duration::from_secs(2);
    let store = connect(&settings, 1 << 20).await;
    cluster.kill();
    let parked = timeout(SOON, store.park(park())).await;
    let error = parked.expect("it ends").expect_err("it fails");
    assert!(matches!(error, StoreError::Unreachable(_)), "{error}");
    cluster.start_again();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_user_is_not_repeated() {
    let Some(cluster) = Cluster::alone() else {
        return;
    };
    let store = connect(&place(&cluster), 1 << 20).await;
    cluster.run_as_administrator("ALTER ROLE vault PASSWORD 'another'");
    cluster.kill();
    cluster.start_again();
    let parked = timeout(SOON, store.park(park())).await;
    let error = parked
        .expect("it is not repeated")
        .expect_err("it is refused");
    assert!(matches!(error, StoreError::Failed(_)), "{error}");
    assert!(error.to_string().contains("refuses the user"), "{error}");
}
