//! PostgreSQL fails while a fleet uses it.

use std::{sync::Arc, time::Duration};

use askback::{
    Clock, SystemClock,
    journal::{
        AnswerOutcome, AnswerRequest, CallId, FinishRequest, Journal, Lease, NodeId, ParkOutcome,
        ParkRequest, SessionId, StoreError,
    },
    store::Store,
};
use askback_fleet::PostgresStore;
use askback_sql::Postgres;
use tokio::{
    task::spawn_blocking,
    time::{sleep, timeout},
};

use crate::{cluster::Cluster, connect, log::Log, place};

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
    let parking = tokio::spawn({
        let store = Arc::clone(&store);
        let call = CallId([9; 16]);
        async move { store.park(ParkRequest { call, ..park() }).await }
    });
    let log = store.read(CALL, SESSION, 0, 9);
    let restarted = spawn_blocking({
        let cluster = Arc::clone(&cluster);
        move || cluster.start_again()
    });
    let (log, restarted) = tokio::join!(log, restarted);
    restarted.expect("it restarts");
    assert!(log.expect("the log is read").is_some());
    let parked = parking.await.expect("no panic").expect("it is parked");
    assert_eq!(parked, ParkOutcome::Waiting);
}

/// Its lease may be over when PostgreSQL can be reached again.
#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_takes_a_lease_is_not_repeated() {
    let Some(cluster) = Cluster::alone() else {
        return;
    };
    let store = connect(&place(&cluster), 1 << 20).await;
    cluster.kill();
    let lease = answer().lease;
    let kept = ParkRequest {
        keep: Some(lease),
        ..park()
    };
    let failed = async {
        [
            store.answer(answer()).await.err(),
            store.due(lease, 1, 9).await.err(),
            store.park(kept).await.err(),
        ]
    };
    let failed = timeout(SOON, failed).await.expect("they are not repeated");
    for error in failed {
        assert!(
            matches!(error, Some(StoreError::Unreachable(_))),
            "{error:?}"
        );
    }
    cluster.start_again();
}

/// As after a long wait for PostgreSQL.
#[tokio::test(flavor = "multi_thread")]
async fn an_operation_whose_lease_is_over_is_not_stored() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    let store = connect(&place(&cluster), 1 << 20).await;
    let is_refused = |error: Option<StoreError>| match error {
        Some(StoreError::Unreachable(why)) => assert!(why.to_string().contains("lease"), "{why}"),
        other => panic!("it is stored: {other:?}"),
    };
    let lease = answer().lease;
    let over = Lease { until: 1, ..lease };
    let kept = ParkRequest {
        keep: Some(over),
        ..park()
    };
    is_refused(store.park(kept).await.err());
    let due = ParkRequest {
        call: CallId([9; 16]),
        wake: Some(1),
        ..park()
    };
    for call in [park(), due] {
        let parked = store.park(call).await.expect("it is parked");
        assert_eq!(parked, ParkOutcome::Waiting);
    }
    is_refused(store.due(over, 1, 9).await.err());
    assert_eq!(store.due(lease, 1, 9).await.expect("it works").len(), 1);
    let late = AnswerRequest {
        lease: over,
        ..answer()
    };
    is_refused(store.answer(late).await.err());
    let taken = store.answer(answer()).await.expect("it works");
    let AnswerOutcome::Taken(taken) = taken else {
        panic!("something of the first answer was stored: {taken:?}");
    };
    assert_eq!(taken.epoch, 1);
}

/// A parked call, and a connection that can lock its row.
struct Contended {
    store: Arc<PostgresStore>,
    other: Postgres,
}

impl Contended {
    async fn new(cluster: &Cluster) -> Self {
        let settings = place(cluster);
        let store = connect(&settings, 1 << 20).await;
        let parked = store.park(park()).await.expect("it is parked");
        assert_eq!(parked, ParkOutcome::Waiting);
        let other = Postgres::connect(settings, &[]).await;
        let other = other.expect("it connects");
        Self { store, other }
    }

    /// Begins an operation while another transaction, which begins with these statements, has locked the row. The
    /// operation is given up, or else continues when the other transaction is committed.
    async fn begin<T: Send + 'static>(
        &self,
        statements: &str,
        is_given_up: bool,
        operation: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        let locking = self.other.client().await.expect("it is free");
        let locking_first = format!("BEGIN; SELECT FROM askback_calls FOR UPDATE; {statements}");
        locking
            .batch_execute(&locking_first)
            .await
            .expect("it works");
        let operation = tokio::spawn(operation);
        self.until("wait_event_type = 'Lock'", 1).await;
        if is_given_up {
            operation.abort();
        }
        locking.batch_execute("COMMIT").await.expect("it works");
        self.until("state <> 'idle'", 0).await;
        operation.await.ok()
    }

    /// Waits until so many other connections are in this state.
    async fn until(&self, state: &str, count: i64) {
        let client = self.other.client().await.expect("it is free");
        let select = format!(
            "SELECT count(*) FROM pg_stat_activity
             WHERE application_name = current_setting('application_name') AND pid <> pg_backend_pid() AND {state}"
        );
        let reached = async {
            loop {
                let row = client.query_one(&select, &[]).await.expect("it works");
                if row.get::<_, i64>(0) == count {
                    return;
                }
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(SOON, reached).await.expect("it is reached");
    }

    async fn answer(&self) {
        let taken = self.store.answer(answer()).await.expect("it works");
        let AnswerOutcome::Taken(taken) = taken else {
            panic!("an answer that was given up was stored: {taken:?}");
        };
        assert_eq!(taken.epoch, 1);
    }
}

/// PostgreSQL carries out a statement that waited for a lock, also if its client has gone.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_up_while_it_waited_for_a_lock_has_no_effect() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    let contended = Contended::new(&cluster).await;
    let store = || Arc::clone(&contended.store);
    let (answering, renewing, parking) = (store(), store(), store());

    let ended = contended
        .begin("", true, async move { answering.answer(answer()).await })
        .await;
    assert!(ended.is_none());
    contended.answer().await;

    // The lease stays as it was.
    let renewed = async move { renewing.renew(&[(CALL, 1)], 5_000).await };
    assert!(contended.begin("", true, renewed).await.is_none());
    let lease = Lease {
        until: 40_000,
        ..answer().lease
    };
    let due = contended.store.due(lease, 6_000, 9).await;
    assert_eq!(due.expect("it works"), []);

    // So does the record.
    let newer = ParkRequest {
        epoch: 1,
        record: b"newer",
        ..park()
    };
    let parked = async move { parking.park(newer).await };
    assert!(contended.begin("", true, parked).await.is_none());
    let due = contended.store.due(lease, 20_000, 9).await;
    let due = due.expect("it works");
    assert_eq!(due[0].record, b"record");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_arrives_as_the_call_ends_is_not_kept() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    let contended = Contended::new(&cluster).await;
    contended.answer().await;
    let store = Arc::clone(&contended.store);
    let finished = async move {
        let end = FinishRequest {
            call: CALL,
            epoch: Some(1),
            events: &[],
            status: None,
            expires: u64::MAX,
        };
        Journal::finish(&store, end).await
    };
    let answered =
        "INSERT INTO askback_answers (call, ask, reply) SELECT id, 1, 'late' FROM askback_calls;
         UPDATE askback_calls SET changes = changes + 1";
    let finished = contended.begin(answered, false, finished).await;
    assert!(finished.expect("it is not given up").expect("it works"));
    let client = contended.other.client().await.expect("it is free");
    let select = "SELECT count(*) FROM askback_answers WHERE reply IS NOT NULL";
    let row = client.query_one(select, &[]).await.expect("it works");
    assert_eq!(row.get::<_, i64>(0), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_waits_up_to_a_limit() {
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

/// In a cut network, each of them is in use until it times out.
#[tokio::test(flavor = "multi_thread")]
async fn a_pool_without_a_free_connection_counts_as_an_outage() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    let mut settings = place(&cluster);
    (settings.connections, settings.wait) = (1, Duration::from_secs(2));
    let database = Postgres::connect(settings, &[]).await;
    let database = database.expect("it connects");
    let used = database.client().await.expect("it is free");
    let Err(error) = database.client().await else {
        panic!("there is another connection");
    };
    assert!(error.is_disconnected(), "{error:?}");
    drop(used);
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

#[tokio::test]
async fn a_clock_that_differs_from_that_of_postgres_is_an_error() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    let store = connect(&place(&cluster), 1 << 20).await;
    for (difference, is_told) in [
        (0, None),
        (2_000, None),
        (-2_000, None),
        (9_000, Some("ahead of PostgreSQL's")),
        (9_000, None),
        (0, None),
        (-9_000, Some("behind PostgreSQL's")),
    ] {
        let log = Log::default();
        let listening = log.listen();
        let now = SystemClock.now().saturating_add_signed(difference);
        store
            .announce(NodeId([4; 8]), now + 15_000, now)
            .await
            .expect("it is noted");
        drop(listening);
        let said = log.text();
        assert_eq!(
            said.contains("the clock of this process"),
            is_told.is_some(),
            "{said}"
        );
        assert!(said.contains(is_told.unwrap_or_default()), "{said}");
    }
}
