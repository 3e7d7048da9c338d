use std::{collections::BTreeSet, sync::Arc, time::Duration};

use askback_core::ask::FlowId;
use tokio::task::JoinSet;

use super::contract::{BrokenContract, CheckResult, check_rules, expect, fail, rules};
use crate::store::{Claim, ClaimRequest, Millis, Owner, PutRequest, Store, StoreError};

const FLOW: FlowId = FlowId([1; 16]);
const NOW: Millis = 1_800_000_000_000;
const LEASE: Duration = Duration::from_secs(60);
const LEASE_END: Millis = NOW + 60_000;
const EXPIRES: Millis = NOW + 86_400_000;
const VALUE: usize = 100_000;
/// A store size in bytes that is never reached.
const AMPLE: usize = 64 << 20;

rules! { [Arc<dyn Store>; 2];
    "a claim is granted once" in AMPLE => granted_once;
    "of many claims at the same time one is granted" in AMPLE => granted_once_at_a_time;
    "a finished claim gives its value from then on" in AMPLE => values_are_kept;
    "a claim that is not finished within its lease is abandoned" in AMPLE => leases_end;
    "only a claim is finished, and with one value" in AMPLE => one_value;
    "a value is no longer than its claim said" in AMPLE => values_are_bounded;
    "any moment and lease may be given" in AMPLE => any_time;
    "a state is kept as it was first put, until the later expiry" in AMPLE => states_are_kept;
    "purge removes what has expired and nothing else" in AMPLE => purged;
    "a full store refuses claims and forgets none" in 20_000 => claims_are_bounded;
    "an owner of claims leaves room for others" in 1 << 20 => claims_are_shared;
    "the oldest states of an owner give way to newer ones of theirs" in 1 << 20 => states_are_shared;
    "a state larger than its room is refused" in 10_000 => states_are_bounded;
}

/// Checks that a store follows the rules of [`Store`] and of its [module](crate::store).
///
/// `create` gets a limit in bytes. It creates an empty store that accepts this many bytes of claims
/// and as many of states, and returns a function that opens the store. Each rule gets its own
/// store, which is opened twice: if the store outlives its process, open it as another process
/// would. Use a multi-threaded runtime, because one rule makes claims concurrently.
///
/// ```
/// use std::sync::Arc;
/// use askback::{store::{MemoryStore, Store}, testing::check_store};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// // In your tests: #[tokio::test(flavor = "multi_thread")]
/// let checked = check_store(async |max_bytes| {
///     let store: Arc<dyn Store> = Arc::new(MemoryStore::new(max_bytes));
///     async move || Arc::clone(&store)
/// });
/// if let Err(broken) = checked.await {
///     panic!("{broken}");
/// }
/// # }
/// ```
///
/// # Errors
///
/// Lists all rules that the store breaks.
pub async fn check_store<C, O>(create: C) -> Result<(), BrokenContract>
where
    C: AsyncFn(usize) -> O,
    O: AsyncFn() -> Arc<dyn Store>,
{
    check_rules(RULES, create).await
}

fn request(name: &str) -> ClaimRequest<'_> {
    ClaimRequest {
        owner: None,
        flow: FLOW,
        name,
        value_bytes: VALUE,
        now: NOW,
        lease: LEASE,
        expires: EXPIRES,
    }
}

fn state(id: u8, bytes: &[u8]) -> PutRequest<'_> {
    PutRequest {
        owner: None,
        id: [id; 32],
        bytes,
        now: NOW,
        expires: EXPIRES,
    }
}

async fn claims(
    what: &str,
    store: &dyn Store,
    request: ClaimRequest<'_>,
    want: Claim,
) -> CheckResult {
    let name = request.name;
    let got = store.claim(request).await?;
    expect(&format!("{what} of `{name}`"), brief(&got), brief(&want))
}

fn brief(claim: &Claim) -> String {
    match claim {
        Claim::Done(value) if value.len() > 32 => format!("Done({} bytes)", value.len()),
        claim => format!("{claim:?}"),
    }
}

async fn finishes(store: &dyn Store, name: &str, value: &[u8]) -> CheckResult {
    Ok(store.finish(FLOW, name, value).await?)
}

async fn holds(what: &str, store: &dyn Store, id: u8, want: Option<&[u8]>) -> CheckResult {
    let got = store.get([id; 32]).await?;
    let length = |bytes: Option<&[u8]>| bytes.map(|bytes| format!("{} bytes", bytes.len()));
    expect(what, length(got.as_deref()), length(want))?;
    expect(
        &format!("{what}, byte for byte"),
        got.as_deref() == want,
        true,
    )
}

/// Expects this error, by the beginning of its `Debug`.
fn refused<T>(what: &str, got: Result<T, StoreError>, want: &str) -> CheckResult {
    match got.map_err(|error| format!("{error:?}")) {
        Err(error) if error.starts_with(want) => Ok(()),
        Err(error) => fail(format!("{what}: refused with {error}, not {want}")),
        Ok(_) => fail(format!("{what}: allowed, not refused with {want}")),
    }
}

async fn granted_once([store, other]: [Arc<dyn Store>; 2]) -> CheckResult {
    claims("the first claim", &*store, request("book"), Claim::Granted).await?;
    claims("the second", &*store, request("book"), Claim::Busy).await?;
    let reopened = "one by the store opened again";
    claims(reopened, &*other, request("book"), Claim::Busy).await?;
    // Flows and names are separate, whatever characters a name has.
    let other_flow = FlowId([2; 16]);
    let apart = [
        (other_flow, "book"),
        (FLOW, "pay"),
        (FLOW, "Book"),
        (FLOW, "book "),
        (FLOW, "book\0"),
        (FLOW, ""),
    ];
    for (flow, name) in apart {
        let request = ClaimRequest {
            flow,
            ..request(name)
        };
        let first = "the first claim in a flow of its own or under a name of its own";
        claims(first, &*store, request, Claim::Granted).await?;
        claims("the second", &*store, request, Claim::Busy).await?;
    }
    Ok(())
}

async fn granted_once_at_a_time([store, other]: [Arc<dyn Store>; 2]) -> CheckResult {
    const CLAIMANTS: usize = 8;
    const NAMES: usize = 40;
    let mut claimants = JoinSet::new();
    for number in 0..CLAIMANTS {
        let store = Arc::clone(if number % 2 == 0 { &store } else { &other });
        claimants.spawn(async move {
            let mut granted = Vec::new();
            for name in 0..NAMES {
                let text = name.to_string();
                if store.claim(request(&text)).await? == Claim::Granted {
                    granted.push(name);
                }
            }
            Ok(granted)
        });
    }
    let mut granted = Vec::new();
    while let Some(claimed) = claimants.join_next().await {
        let claimed: Result<_, StoreError> = claimed?;
        granted.extend(claimed?);
    }
    let names: BTreeSet<_> = granted.iter().collect();
    expect("names that were granted", names.len(), NAMES)?;
    expect("grants", granted.len(), NAMES)
}

async fn values_are_kept([store, other]: [Arc<dyn Store>; 2]) -> CheckResult {
    let values = [&b"TRV-12345678"[..], b"", &[0xff; VALUE]];
    for (name, value) in ["a", "b", "c"].into_iter().zip(values) {
        claims("the first claim", &*store, request(name), Claim::Granted).await?;
        finishes(&*store, name, value).await?;
        for now in [0, NOW, LEASE_END + 1, EXPIRES + 1, Millis::MAX] {
            for store in [&store, &other] {
                let request = ClaimRequest {
                    now,
                    ..request(name)
                };
                let what = format!("a claim at {now}");
                claims(&what, &**store, request, Claim::Done(value.to_vec())).await?;
            }
        }
    }
    Ok(())
}

async fn leases_end([store, _]: [Arc<dyn Store>; 2]) -> CheckResult {
    claims("the first claim", &*store, request("book"), Claim::Granted).await?;
    for (now, want) in [
        (NOW - 1, Claim::Busy),
        (LEASE_END - 1, Claim::Busy),
        (LEASE_END, Claim::Abandoned),
        (EXPIRES + 1, Claim::Abandoned),
        (Millis::MAX, Claim::Abandoned),
        // Asking does not change the claim.
        (NOW, Claim::Busy),
    ] {
        let request = ClaimRequest {
            now,
            ..request("book")
        };
        let what = format!("a claim at {now}, where the lease ends at {LEASE_END}");
        claims(&what, &*store, request, want).await?;
    }
    finishes(&*store, "book", b"late").await?;
    let request = ClaimRequest {
        now: LEASE_END,
        ..request("book")
    };
    let late = "a claim after it was finished late";
    claims(late, &*store, request, Claim::Done(b"late".to_vec())).await
}

async fn one_value([store, _]: [Arc<dyn Store>; 2]) -> CheckResult {
    let unclaimed = store.finish(FLOW, "book", b"1").await;
    refused("a value without a claim", unclaimed, "Unclaimed")?;
    claims("the first claim", &*store, request("book"), Claim::Granted).await?;
    finishes(&*store, "book", b"1").await?;
    // The first attempt may have failed after the value was written.
    finishes(&*store, "book", b"1").await?;
    let second = store.finish(FLOW, "book", b"2").await;
    refused("a second value", second, "Finished")?;
    let first = Claim::Done(b"1".to_vec());
    claims("a later claim", &*store, request("book"), first).await
}

async fn values_are_bounded([store, _]: [Arc<dyn Store>; 2]) -> CheckResult {
    claims("the first claim", &*store, request("book"), Claim::Granted).await?;
    let longer = store.finish(FLOW, "book", &[1; VALUE + 1]).await;
    refused("a longer value", longer, "TooLong { max_bytes: 100000 }")?;
    claims("a claim after that", &*store, request("book"), Claim::Busy).await?;
    finishes(&*store, "book", &[1; VALUE]).await
}

async fn any_time([store, _]: [Arc<dyn Store>; 2]) -> CheckResult {
    let latest = ClaimRequest {
        now: Millis::MAX,
        lease: Duration::MAX,
        expires: Millis::MAX,
        ..request("latest")
    };
    claims(
        "a claim at the last moment",
        &*store,
        latest,
        Claim::Granted,
    )
    .await?;
    claims("one before", &*store, request("latest"), Claim::Busy).await?;
    let first = ClaimRequest {
        now: 0,
        lease: Duration::ZERO,
        expires: 1,
        ..request("first")
    };
    claims("a claim without a lease", &*store, first, Claim::Granted).await?;
    claims("the same again", &*store, first, Claim::Abandoned).await
}

async fn states_are_kept([store, other]: [Arc<dyn Store>; 2]) -> CheckResult {
    holds("a state that was not put", &*store, 1, None).await?;
    let large = vec![7; VALUE];
    for (id, bytes) in [(1, &large[..]), (2, b""), (1, b"other")] {
        store.put(state(id, bytes)).await?;
    }
    holds("what was put first", &*store, 1, Some(&large)).await?;
    holds("by the store opened again", &*other, 1, Some(&large)).await?;
    holds("a state without bytes", &*store, 2, Some(b"")).await?;
    for expires in [NOW + 5, NOW + 20, NOW + 1] {
        let state = PutRequest {
            expires,
            ..state(3, b"longer")
        };
        store.put(state).await?;
    }
    store.purge(NOW + 19).await?;
    let before = "before the latest expiry it was given";
    holds(before, &*store, 3, Some(b"longer")).await?;
    store.purge(NOW + 20).await?;
    holds("after that", &*store, 3, None).await
}

async fn purged([store, _]: [Arc<dyn Store>; 2]) -> CheckResult {
    for (name, expires) in [("soon", NOW + 10), ("done", NOW + 10), ("later", NOW + 11)] {
        let request = ClaimRequest {
            expires,
            ..request(name)
        };
        claims("the first claim", &*store, request, Claim::Granted).await?;
    }
    finishes(&*store, "done", b"value").await?;
    for (id, expires) in [(1, NOW + 10), (2, NOW + 11)] {
        let state = PutRequest {
            expires,
            ..state(id, b"state")
        };
        store.put(state).await?;
    }
    for (now, want) in [(NOW + 9, 0), (NOW + 10, 3), (NOW + 10, 0)] {
        let removed = store.purge(now).await?;
        expect(&format!("entries removed at {now}"), removed, want)?;
    }
    let later = "one that expires later";
    claims(later, &*store, request("later"), Claim::Busy).await?;
    holds("a state that expired", &*store, 1, None).await?;
    holds("one that did not", &*store, 2, Some(b"state")).await?;
    let finished = store.finish(FLOW, "soon", b"").await;
    refused("a claim that was purged", finished, "Unclaimed")?;
    let removed = store.purge(NOW + 11).await?;
    expect("entries removed at the end", removed, 2)
}

async fn claims_are_bounded([store, _]: [Arc<dyn Store>; 2]) -> CheckResult {
    let small = |name, now| ClaimRequest {
        value_bytes: 5000,
        now,
        expires: NOW + 10,
        ..request(name)
    };
    let full = |what: &str, got| refused(what, got, "Full { max_bytes: 20000 }");
    for name in ["a", "b", "c"] {
        claims("the first claim", &*store, small(name, NOW), Claim::Granted).await?;
    }
    full("a fourth", store.claim(small("d", NOW)).await)?;
    let known = "one that is known";
    claims(known, &*store, small("a", NOW), Claim::Busy).await?;
    // States have a separate limit.
    store.put(state(1, &[1; 15_000])).await?;
    for name in ["a", "b"] {
        finishes(&*store, name, &[1; 5000]).await?;
        let done = Claim::Done(vec![1; 5000]);
        claims(known, &*store, small(name, NOW), done).await?;
    }
    full(
        "values do not make room",
        store.claim(small("d", NOW)).await,
    )?;
    finishes(&*store, "c", b"c").await?;
    let freed = "what a value does not take of its room is free: a claim";
    claims(freed, &*store, small("d", NOW), Claim::Granted).await?;
    let expired = "what has expired makes room by itself: a claim";
    claims(expired, &*store, small("e", NOW + 10), Claim::Granted).await
}

fn owner(number: u8) -> Option<Owner> {
    Some(Owner([number; 16]))
}

async fn claims_are_shared([store, _]: [Arc<dyn Store>; 2]) -> CheckResult {
    let commit = async |number, name: &str| {
        let request = ClaimRequest {
            owner: owner(number),
            value_bytes: 4 << 10,
            ..request(name)
        };
        let claimed = store.claim(request).await;
        if claimed.is_ok() {
            store.finish(FLOW, name, &[1; 4 << 10]).await?;
        }
        claimed
    };
    // Ten owners take all they can. Each one gets some room, and none gets all of it.
    for number in 1..=10 {
        let mut taken = 0_usize;
        let last = loop {
            match commit(number, &format!("{number}-{taken}")).await {
                Ok(_) if taken < 100 => taken += 1,
                last => break last,
            }
        };
        refused("a claim too many of one owner", last, "ShareFull")?;
        expect("whether an owner gets anything", taken > 0, true)?;
    }
    let next = commit(0, "book").await?;
    expect(
        "the claim of the next owner",
        brief(&next),
        "Granted".into(),
    )
}

async fn states_are_shared([store, _]: [Arc<dyn Store>; 2]) -> CheckResult {
    const BYTES: usize = 20_000;
    let put = async |owner, id, expires| {
        let state = PutRequest {
            owner,
            expires,
            ..state(id, &[1; BYTES])
        };
        CheckResult::Ok(store.put(state).await?)
    };
    let kept = async |id: u8| {
        let kept = store.get([id; 32]).await?;
        CheckResult::Ok(kept.is_some())
    };
    put(owner(0), 0, NOW + 1).await?;
    // An eighth of the room holds six states.
    for turn in 1..=20 {
        put(owner(1), turn, EXPIRES + u64::from(turn)).await?;
    }
    expect("the latest of an owner is kept", kept(20).await?, true)?;
    expect("their oldest is kept", kept(1).await?, false)?;
    // States without an owner have no share, and are removed first if the store is full.
    for turn in 21..=120 {
        put(None, turn, EXPIRES + u64::from(turn)).await?;
    }
    expect("the latest of nobody known is kept", kept(120).await?, true)?;
    expect("their oldest is kept", kept(21).await?, false)?;
    expect("a small owner's only one is kept", kept(0).await?, true)
}

async fn states_are_bounded([store, _]: [Arc<dyn Store>; 2]) -> CheckResult {
    store.put(state(1, b"kept")).await?;
    let larger = store.put(state(2, &[1; 10_000])).await;
    refused("a state as large as the store", larger, "Full")?;
    let of_owner = PutRequest {
        owner: owner(1),
        ..state(2, &[1; 5000])
    };
    let larger = store.put(of_owner).await;
    refused("one larger than its owner's share", larger, "Full")?;
    holds("what was kept before", &*store, 1, Some(b"kept")).await
}
