use std::{sync::Arc, time::Duration};

use super::contract::{BrokenContract, CheckResult, check_rules, expect, fail, rules};
use crate::journal::{Bus, HeardHints, MAX_HINT_BYTES, SessionId, Topic};

const LONGEST: Duration = Duration::from_secs(10);

rules! { [Arc<dyn Bus>; 2];
    "a hint is heard by other processes, once and in order" => heard;
    "hints of before are not heard" => not_heard;
    "no hint is lost while nothing listens for a moment" => kept;
    "a gap is told" => told_of_gap;
}

/// Checks that a bus follows the rules of [`Bus`].
///
/// `create` creates a new bus, and returns a function that opens it. Each rule gets its own bus, which is opened twice.
///
/// # Errors
///
/// All rules that are broken.
pub async fn check_bus<C, O>(create: C) -> Result<(), BrokenContract>
where
    C: AsyncFn() -> O,
    O: AsyncFn() -> Arc<dyn Bus>,
{
    check_rules(RULES, async |_| create().await).await
}

const SESSION: Topic = Topic::Session(SessionId([1; 16]));

async fn hear(bus: &dyn Bus, after: Option<u64>) -> CheckResult<HeardHints> {
    let heard = tokio::time::timeout(LONGEST, bus.hear(after)).await;
    match heard {
        Ok(heard) => Ok(heard?),
        Err(_) => fail("nothing is heard"),
    }
}

async fn hear_all(
    bus: &dyn Bus,
    mut after: u64,
    count: usize,
) -> CheckResult<Vec<(Topic, Vec<u8>)>> {
    let mut all = Vec::new();
    while all.len() < count {
        let heard = hear(bus, Some(after)).await?;
        after = heard.cursor;
        all.extend(heard.hints);
    }
    Ok(all)
}

async fn heard([bus, other]: [Arc<dyn Bus>; 2]) -> CheckResult {
    let begin = hear(&*other, None).await?;
    let long = vec![7; MAX_HINT_BYTES];
    let hints = [
        (Topic::Changed, b"a".to_vec()),
        (SESSION, Vec::new()),
        (Topic::Changed, long),
    ];
    for (topic, hint) in &hints {
        bus.publish(*topic, hint);
    }
    let all = hear_all(&*other, begin.cursor, hints.len()).await?;
    expect("the hints", all, hints.to_vec())
}

async fn not_heard([bus, other]: [Arc<dyn Bus>; 2]) -> CheckResult {
    let begin = hear(&*other, None).await?;
    bus.publish(Topic::Changed, b"before");
    hear_all(&*other, begin.cursor, 1).await?;
    let now = hear(&*other, None).await?;
    expect("hints without a cursor", now.hints, Vec::new())?;
    expect("whether there is a gap", now.has_gap, false)?;
    bus.publish(Topic::Changed, b"after");
    let all = hear_all(&*other, now.cursor, 1).await?;
    expect("the hint", all, vec![(Topic::Changed, b"after".to_vec())])
}

async fn kept([bus, other]: [Arc<dyn Bus>; 2]) -> CheckResult {
    let begin = hear(&*other, None).await?;
    // Dropped before anything is published.
    let given_up = tokio::time::timeout(Duration::from_millis(1), other.hear(Some(begin.cursor)));
    drop(given_up.await);
    bus.publish(SESSION, b"x");
    let all = hear_all(&*other, begin.cursor, 1).await?;
    expect("the hint", all, vec![(SESSION, b"x".to_vec())])
}

async fn told_of_gap([bus, other]: [Arc<dyn Bus>; 2]) -> CheckResult {
    const MANY: u32 = 1_500;
    let begin = hear(&*other, None).await?;
    for number in 0..MANY {
        bus.publish(Topic::Changed, &number.to_be_bytes());
    }
    let (mut count, mut has_gap, mut after) = (0, false, begin.cursor);
    let last = (Topic::Changed, (MANY - 1).to_be_bytes().to_vec());
    loop {
        let heard = hear(&*other, Some(after)).await?;
        after = heard.cursor;
        count += heard.hints.len();
        has_gap |= heard.has_gap;
        if has_gap || heard.hints.last() == Some(&last) {
            break;
        }
    }
    let is_whole = count == usize::try_from(MANY).unwrap_or_default();
    expect(
        "whether all were heard, or a gap",
        is_whole || has_gap,
        true,
    )
}
