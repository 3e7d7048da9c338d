//! Every interleaving of several tasks that renew one token, with a crash at each step.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use askback::testing::TestClock;
use askback_core::{
    ask::{
        Principal,
        keys::{Key, KeyRing},
    },
    clock::Clock,
    future::BoxFuture,
};
use askback_oauth::Secret;
use proptest::prelude::*;
use tokio::task::yield_now;

use super::super::account::{AccountKey, AccountState, Holder};
use super::super::credential::Grant;
use super::super::error::VaultError;
use super::super::handle::Vault;
use super::super::keys::LocalKeys;
use super::super::query::AccountQuery;
use super::super::renewal::{RenewalError, Renewer, Step, decide};
use super::super::settings::VaultSettings;
use super::super::sql::SqliteVault;
use super::super::store::{Lease, SealedSecrets, VaultRecord, VaultStore};

/// A provider that issues a new refresh token each time and accepts each one once. If one is sent twice, it revokes the
/// whole grant.
#[derive(Default)]
struct Provider {
    issued: Mutex<IssuedTokens>,
    requests: AtomicUsize,
}

#[derive(Default)]
struct IssuedTokens {
    newest: usize,
    killed: bool,
}

impl Renewer for Provider {
    fn renew<'a>(
        &'a self,
        _account: &'a AccountKey,
        refresh: &'a Secret,
    ) -> BoxFuture<'a, Result<Grant, RenewalError>> {
        Box::pin(async move {
            // The request is on its way.
            yield_now().await;
            let granted = self.granted(refresh);
            // The response is on its way.
            yield_now().await;
            granted
        })
    }
}

impl Provider {
    fn granted(&self, refresh: &Secret) -> Result<Grant, RenewalError> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut issued = self.issued.lock().unwrap();
        issued.killed |= refresh.expose() != format!("refresh-{}", issued.newest);
        if issued.killed {
            return Err(RenewalError::Refused);
        }
        issued.newest += 1;
        Ok(tokens(issued.newest).expires(u64::MAX))
    }
}

fn tokens(number: usize) -> Grant {
    let access = Secret::new(format!("access-{number}"));
    Grant::tokens(access, Some(Secret::new(format!("refresh-{number}"))))
}

#[derive(Debug, Clone, Copy)]
enum Move {
    Step(usize),
    /// Drops a task, as if its process had been killed.
    Crash(usize),
    Wait(u64),
}

struct Outcome {
    requests: usize,
    crashed: usize,
    killed: bool,
    /// The access token that each task got, and the refresh token in the store at that time.
    given: Vec<(String, String)>,
    last: Result<String, VaultError>,
}

type Task = Pin<Box<dyn Future<Output = Result<(String, String), VaultError>>>>;

/// Runs tasks on several machines that need a token which has just expired, in this order, and then to their end.
fn run(tasks: usize, machines: usize, moves: &[Move]) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    runtime.block_on(async {
        let store: Arc<dyn VaultStore> = Arc::new(SqliteVault::in_memory().unwrap());
        let clock = Arc::new(TestClock::new());
        let mut vaults = Vec::new();
        for _ in 0..machines {
            let keys = LocalKeys::new(KeyRing::new(Key::new(&[7; 32])));
            let (store, clock) = (Arc::clone(&store), Arc::clone(&clock));
            let settings = VaultSettings::default();
            let vault = Vault::open_with(store, Arc::new(keys), settings, clock);
            vaults.push(vault.await.unwrap());
        }
        let ada = Principal::new("ada");
        let put = vaults[0].put(&ada, "github", "ada-l", tokens(0).expires(clock.now()));
        put.await.unwrap();

        let provider = Arc::new(Provider::default());
        let ask = |vault: &Vault| -> Task {
            let (vault, provider) = (vault.clone(), Arc::clone(&provider));
            let wanted = AccountQuery::new(&ada, "github");
            Box::pin(async move {
                let (record, access) = vault.inner.current(&wanted, &*provider).await?;
                let column = super::Column::Refresh;
                let refresh = vault.inner.opened(&record, column).await?.unwrap();
                Ok((access.expose().to_owned(), refresh.expose().to_owned()))
            })
        };
        let mut running: Vec<Option<Task>> = (0..tasks)
            .map(|at| Some(ask(&vaults[at % machines])))
            .collect();
        let mut given = Vec::new();
        let mut crashed = 0;
        let mut context = Context::from_waker(Waker::noop());
        let mut step = |task: &mut Option<Task>| {
            let polled = task.as_mut().map(|task| task.as_mut().poll(&mut context));
            if let Some(Poll::Ready(done)) = polled {
                *task = None;
                given.extend(done);
            }
        };
        for next in moves {
            match *next {
                Move::Step(at) => step(&mut running[at % tasks]),
                Move::Crash(at) => {
                    crashed += usize::from(running[at % tasks].take().is_some());
                }
                Move::Wait(milliseconds) => {
                    tokio::time::advance(Duration::from_millis(milliseconds)).await;
                }
            }
        }
        for _ in 0..10_000 {
            if running.iter().all(Option::is_none) {
                break;
            }
            running.iter_mut().for_each(&mut step);
            tokio::time::advance(Duration::from_millis(10)).await;
        }
        assert!(running.iter().all(Option::is_none), "a task does not end");
        // All leases and pauses have expired by then.
        tokio::time::advance(Duration::from_secs(7200)).await;
        let requests = provider.requests.load(Ordering::Relaxed);
        let last = ask(&vaults[0]).await.map(|(access, _)| access);
        Outcome {
            requests,
            crashed,
            killed: provider.issued.lock().unwrap().killed,
            given,
            last,
        }
    })
}

fn number(token: &str) -> &str {
    token.rsplit('-').next().unwrap_or_default()
}

fn moves(most: usize, crashes: bool, longest: u64) -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        12 => any::<usize>().prop_map(Move::Step),
        u32::from(crashes) => any::<usize>().prop_map(Move::Crash),
        2 => (0..=longest).prop_map(Move::Wait),
    ];
    prop::collection::vec(one, 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn only_one_task_asks_the_provider(
        tasks in 1..6_usize,
        machines in 1..4_usize,
        moves in moves(160, false, 40),
    ) {
        let outcome = run(tasks, machines, &moves);
        prop_assert_eq!(outcome.requests, 1);
        prop_assert!(!outcome.killed);
        let all = vec![("access-1".to_owned(), "refresh-1".to_owned()); tasks];
        prop_assert_eq!(outcome.given, all);
        prop_assert_eq!(outcome.last.unwrap(), "access-1");
    }

    #[test]
    fn a_crash_costs_a_request_and_at_worst_a_reconnection(
        tasks in 1..6_usize,
        machines in 1..4_usize,
        moves in moves(160, true, 40_000),
    ) {
        let outcome = run(tasks, machines, &moves);
        // A token is handed out only after its refresh token is stored.
        for (access, refresh) in &outcome.given {
            prop_assert_eq!(number(access), number(refresh));
        }
        match outcome.last {
            Ok(access) => prop_assert_ne!(access, "access-0"),
            Err(error) => prop_assert!(matches!(error, VaultError::NeedsReconnect), "{}", error),
        }
        let slow = moves.iter().any(|it| matches!(it, Move::Wait(1000..)));
        if !slow {
            prop_assert!(outcome.requests <= 1 + outcome.crashed);
        }
    }
}

#[test]
fn a_crash_at_each_step_is_survived() {
    let mut lost = Vec::new();
    for steps in 0..40 {
        let mut moves = vec![Move::Step(0); steps];
        moves.push(Move::Crash(0));
        let outcome = run(2, 2, &moves);
        match outcome.last {
            Ok(access) => assert_eq!(access, "access-1", "a crash after {steps} steps"),
            Err(_) => lost.push(steps),
        }
    }
    // Tokens are lost only by a crash between the provider's response and the write.
    let (first, last) = (lost[0], lost[lost.len() - 1]);
    assert_eq!(lost, Vec::from_iter(first..=last));
    assert!(lost.len() <= 4, "{lost:?}");
}

#[test]
fn a_record_says_what_to_do() {
    const NOW: u64 = 1_000_000_000;
    let check = |change: &dyn Fn(&mut VaultRecord), want: Step| {
        let mut record = VaultRecord {
            account: Holder::from(&Principal::new("ada")).account("github", "ada-l"),
            name: "ada".into(),
            version: 1,
            state: AccountState::Active,
            scopes: Default::default(),
            obtained: NOW - 3_600_000,
            expires: Some(NOW + 60_001),
            is_api_key: false,
            sealed: SealedSecrets {
                key: Key::new(&[7; 32]).id(),
                access: Vec::new(),
                refresh: Some(Vec::new()),
            },
            proof: Vec::new(),
            lease: None,
        };
        change(&mut record);
        let step = decide(&record, NOW, Duration::from_secs(60));
        assert_eq!(step, want, "{record:?}");
    };
    let leased = |until| Some(Lease { id: [1; 16], until });
    let cooling = |until| AccountState::CoolingDown { until, failures: 1 };
    check(&|_| {}, Step::Use);
    check(&|it| it.expires = None, Step::Use);
    check(&|it| it.expires = Some(NOW + 60_000), Step::Renew);
    check(&|it| it.expires = Some(NOW), Step::Renew);
    check(
        &|it| it.state = AccountState::NeedsReconnect,
        Step::Reconnect,
    );
    // A token with a lifetime of 40 seconds is renewed in its last 10.
    let short = |it: &mut VaultRecord, left| {
        it.expires = Some(NOW + left);
        it.obtained = NOW + left - 40_000;
    };
    check(&|it| short(it, 10_001), Step::Use);
    check(&|it| short(it, 10_000), Step::Renew);
    // Without a refresh token.
    let alone = |it: &mut VaultRecord, expires| {
        it.expires = Some(expires);
        it.sealed.refresh = None;
    };
    check(&|it| alone(it, NOW + 1), Step::Use);
    check(&|it| alone(it, NOW), Step::Reconnect);
    // While another task renews it.
    let renewed = |it: &mut VaultRecord, expires, until| {
        it.expires = Some(expires);
        it.lease = leased(until);
    };
    check(&|it| renewed(it, NOW + 1, NOW + 1), Step::Use);
    check(&|it| renewed(it, NOW, NOW + 1), Step::Wait);
    check(&|it| renewed(it, NOW, NOW), Step::Renew);
    // After a failed renewal.
    let failed = |it: &mut VaultRecord, expires, until| {
        it.expires = Some(expires);
        it.state = cooling(until);
    };
    check(&|it| failed(it, NOW + 1, NOW + 1), Step::Use);
    check(&|it| failed(it, NOW, NOW + 1), Step::Unavailable(NOW + 1));
    check(&|it| failed(it, NOW, NOW), Step::Renew);
    check(&|it| failed(it, NOW + 60_001, NOW + 9), Step::Use);
}
