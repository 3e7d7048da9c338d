//! The counter of calls, with a Redis of the tests' own.

use std::{sync::Arc, time::Duration};

use askback::journal::{CallCounter, CountedCall, StoreError};
use askback_fleet::{RedisCallCounter, Secret};
use tokio::{
    task::{JoinSet, yield_now},
    time::timeout,
};

use crate::engine::Engine;

/// The budget does not refill noticeably during a test, however slow the machine is.
const WINDOW: Duration = Duration::from_secs(100_000);

/// A machine may be slow.
const PATIENCE: Duration = Duration::from_secs(60);

async fn counter(engine: &Engine, service: &str) -> Arc<RedisCallCounter> {
    let address = Secret::new(format!("redis://127.0.0.1:{}", engine.port));
    let counter = RedisCallCounter::connect(&address, service).await;
    Arc::new(counter.expect("it connects"))
}

/// Makes 40 concurrent calls at these processes, and checks how many are within their budget. If the machine is too slow
/// for a count, it is not known whether Redis counted the call.
async fn check(processes: &[Arc<RedisCallCounter>], call: CountedCall) {
    let mut calls = JoinSet::new();
    for number in 0..40 {
        let counter = Arc::clone(&processes[number % processes.len()]);
        calls.spawn(async move { counter.take(call).await });
    }
    let counts = calls.join_all().await;
    let allowed = counts.iter().filter(|it| matches!(it, Ok(None))).count() as u64;
    let unknown = counts.iter().filter(|it| it.is_err()).count() as u64;
    assert!(allowed <= call.calls, "{counts:?}");
    assert!(allowed + unknown >= call.calls, "{counts:?}");
}

async fn counted(counter: &RedisCallCounter, call: CountedCall) -> Option<Duration> {
    loop {
        match counter.take(call).await {
            Ok(wait) => return wait,
            Err(StoreError::Unreachable(_)) => yield_now().await,
            Err(error) => panic!("it does not count: {error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_share_each_budget_exactly() {
    let test = async {
        let Some(engine) = Engine::start("redis-server", &[]) else {
            return;
        };
        let processes = [counter(&engine, "a").await, counter(&engine, "a").await];
        let call = CountedCall::new([1; 16], 10, WINDOW);
        check(&processes, call).await;
        // Neither another budget nor another fleet's budget was used up.
        let other = CountedCall::new([2; 16], 7, WINDOW);
        check(&processes, other).await;
        check(&[counter(&engine, "b").await], call).await;
        // The next call fits after a tenth of the window.
        let wait = counted(&processes[0], call).await.expect("it is refused");
        assert!(wait <= WINDOW / 10, "{wait:?}");
        assert!(wait > WINDOW / 20, "{wait:?}");
    };
    timeout(PATIENCE, test).await.expect("it ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_refills_and_is_then_forgotten() {
    let test = async {
        let Some(engine) = Engine::start("redis-server", &[]) else {
            return;
        };
        let counter = counter(&engine, "a").await;
        let call = CountedCall::new([1; 16], 1, Duration::from_millis(20));
        // Each call is within its budget again, some time after the one before.
        for _ in 0..3 {
            while counted(&counter, call).await.is_some() {}
        }
        let client =
            redis::Client::open(format!("redis://127.0.0.1:{}", engine.port)).expect("it is one");
        let connection = client.get_multiplexed_async_connection().await;
        let mut connection = connection.expect("it connects");
        loop {
            let keys: u64 = redis::cmd("DBSIZE")
                .query_async(&mut connection)
                .await
                .expect("it counts");
            if keys == 0 {
                break;
            }
        }
    };
    timeout(PATIENCE, test).await.expect("it ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_fails_while_redis_is_away_and_counts_again() {
    let test = async {
        let Some(mut engine) = Engine::start("redis-server", &[]) else {
            return;
        };
        engine.stop();
        let early = counter(&engine, "a").await;
        let call = CountedCall::new([1; 16], 1, WINDOW);
        let away = early.take(call).await;
        assert!(matches!(away, Err(StoreError::Unreachable(_))), "{away:?}");
        engine.restart();
        // The budget is used up.
        while counted(&early, call).await.is_none() {}
        engine.restart();
        // The new Redis knows no budget.
        while counted(&early, call).await.is_some() {}
    };
    timeout(PATIENCE, test).await.expect("it ends");
}
