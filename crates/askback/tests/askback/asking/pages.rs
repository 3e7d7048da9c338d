//! Links, which count as accepted once their page is done.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use askback::{
    Ctx, Error, Result,
    Revision::{self, V2025_11_25, V2026_07_28},
    testing::{self, Person},
};
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::{Seat, join, serving};
use crate::log::Log;

/// A page that is done some time after the first wait for it.
#[derive(Clone)]
pub(crate) struct Page {
    takes: Duration,
    opened: Arc<OnceLock<Instant>>,
    pub(crate) waits: Arc<AtomicU32>,
}

impl Page {
    pub(crate) fn new(seconds: u64) -> Self {
        Self {
            takes: Duration::from_secs(seconds),
            opened: Arc::default(),
            waits: Arc::default(),
        }
    }

    async fn done(self, wait: Duration) -> Result<bool> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        let opened = *self.opened.get_or_init(Instant::now);
        let left = self.takes.saturating_sub(opened.elapsed());
        sleep(left.min(wait)).await;
        Ok(left <= wait)
    }
}

const LINK: &str = "https://pay.example/1";

pub(crate) async fn pay(ctx: Ctx, page: Page) -> Result<String> {
    let paid = ctx.elicit_url("Pay.", LINK);
    let paid = paid.until(move |wait| page.clone().done(wait)).await;
    match paid {
        Ok(answer) => answer.accepted()?,
        Err(error) => return Ok(error.to_string()),
    }
    // The record of the link is delivered in another round.
    let seat: Seat = ctx.elicit("Which?").await?.accepted()?;
    Ok(format!("paid, by the window: {}", seat.window))
}

fn opens() -> Person {
    Person::new()
        .agree("link")
        .answer("seat", json!({"window": true}))
}

/// Checks the result of a call that waits for a page, its questions, and the number of waits.
async fn check(
    page: Page,
    person: Person,
    revision: Revision,
    said: &str,
    asked: &[&str],
    waits: u32,
) {
    let waited = Arc::clone(&page.waits);
    let handler = move |ctx: Ctx| pay(ctx, page.clone());
    let trial = testing::call(serving(handler), "tool", json!({})).with(person);
    let run = trial.in_revision(revision).await;
    assert_eq!(run.text(), said, "{revision}");
    assert_eq!(run.keys(), asked, "{revision}");
    assert_eq!(waited.load(Ordering::Relaxed), waits, "{revision}");
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_on_when_the_page_is_done() {
    let paid = "paid, by the window: true";
    for revision in [V2025_11_25, V2026_07_28] {
        check(Page::new(0), opens(), revision, paid, &["link", "seat"], 1).await;
        check(Page::new(20), opens(), revision, paid, &["link", "seat"], 1).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_waits_for_a_page_up_to_a_limit() {
    let paid = "paid, by the window: true";
    let again = ["link", "link", "link", "seat"];
    check(Page::new(60), opens(), V2026_07_28, paid, &again, 3).await;
    check(
        Page::new(60),
        opens(),
        V2025_11_25,
        paid,
        &["link", "seat"],
        1,
    )
    .await;
    let late = "the link was opened, but its page was not finished in time";
    check(
        Page::new(660),
        opens(),
        V2026_07_28,
        late,
        &["link"; 25],
        25,
    )
    .await;
    check(Page::new(660), opens(), V2025_11_25, late, &["link"], 1).await;
}

#[tokio::test(start_paused = true)]
async fn a_page_that_was_not_opened_is_not_waited_for() {
    for revision in [V2025_11_25, V2026_07_28] {
        for (person, said) in [
            (
                Person::new().decline("link"),
                "Nothing was done: the person declined.",
            ),
            (
                Person::new().cancel("link"),
                "Nothing was done: the person cancelled.",
            ),
        ] {
            check(Page::new(0), person, revision, said, &["link"], 0).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_timer_may_race_a_page() {
    async fn handler(ctx: Ctx) -> Result<String> {
        let page = Page::new(20);
        let paid = ctx.elicit_url("Pay.", LINK);
        let paid = paid.until(move |wait| page.clone().done(wait));
        let paid = ctx.timeout(Duration::from_secs(10), paid).await;
        let seat: Seat = ctx.elicit("Which?").await?.accepted()?;
        Ok(format!("{} {}", paid.is_ok(), seat.window))
    }
    let trial = testing::call(serving(handler), "tool", json!({})).with(opens());
    for revision in [V2025_11_25, V2026_07_28] {
        let run = trial.in_revision(revision).await;
        assert_eq!(run.text(), "false true", "{revision}");
        assert_eq!(run.keys(), ["link", "seat"], "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_wait_ends_the_link() {
    async fn handler(ctx: Ctx) -> Result<String> {
        let link = ctx.elicit_url("Pay.", LINK);
        let paid = link.until(|_| async { Err(Error::new("the till is closed")) });
        Ok(paid.await.unwrap_err().to_string())
    }
    let trial = testing::call(serving(handler), "tool", json!({})).with(opens());
    for revision in [V2025_11_25, V2026_07_28] {
        let run = trial.in_revision(revision).await;
        assert_eq!(run.text(), "the till is closed", "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_is_finished_before_later_steps_run() {
    // A step ends while the page is open. A replay must see the two in this order.
    async fn handler(ctx: Ctx) -> Result<String> {
        let page = Page::new(20);
        let link = ctx.elicit_url("Pay.", LINK);
        let link = link.until(move |wait| page.clone().done(wait));
        let other = ctx.clone();
        let first = Arc::new(OnceLock::new());
        let (one, two) = (Arc::clone(&first), Arc::clone(&first));
        let paid = async move {
            let paid = link.await;
            one.get_or_init(|| "page");
            paid
        };
        let step = async move {
            let step = other.run("step", async || {
                sleep(Duration::from_secs(10)).await;
                Ok(())
            });
            let step = step.await;
            two.get_or_init(|| "step");
            step
        };
        let (paid, step) = join(paid, step).await;
        paid?.accepted()?;
        step?;
        let seat: Seat = ctx.elicit("Which?").await?.accepted()?;
        Ok(format!("{} {}", first.get().unwrap(), seat.window))
    }
    let trial = testing::call(serving(handler), "tool", json!({})).with(opens());
    for revision in [V2025_11_25, V2026_07_28] {
        let run = trial.in_revision(revision).await;
        assert_eq!(run.text(), "step true", "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_may_not_ask() {
    async fn handler(ctx: Ctx) -> Result<String> {
        let asking = ctx.clone();
        let link = ctx.elicit_url("Pay.", LINK);
        let paid = link.until(move |_| {
            let ctx = asking.clone();
            async move {
                let seat: Seat = ctx.elicit("Which?").await?.accepted()?;
                Ok(seat.window)
            }
        });
        Ok(paid.await.unwrap_err().to_string())
    }
    let trial = testing::call(serving(handler), "tool", json!({})).with(opens());
    for revision in [V2025_11_25, V2026_07_28] {
        let run = trial.in_revision(revision).await;
        let said = run.text();
        assert!(
            said.ends_with("inside `run`, `commit` or `until`"),
            "{said}"
        );
        assert_eq!(run.keys(), ["link"], "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_next_to_a_page_is_asked_once() {
    async fn handler(ctx: Ctx, page: Page) -> Result<String> {
        let link = ctx.elicit_url("Pay.", LINK);
        let link = link.until(move |wait| page.clone().done(wait));
        let (paid, seat) = join(link, ctx.elicit("Which?")).await;
        paid?.accepted()?;
        let seat: Seat = seat?.accepted()?;
        Ok(format!("paid, by the window: {}", seat.window))
    }
    for (takes, revision, asked) in [
        (20, V2025_11_25, &["link", "seat"][..]),
        (20, V2026_07_28, &["link", "seat"]),
        (60, V2025_11_25, &["link", "seat"]),
        (60, V2026_07_28, &["link", "seat", "link", "link"]),
    ] {
        let page = Page::new(takes);
        let handler = move |ctx: Ctx| handler(ctx, page.clone());
        let trial = testing::call(serving(handler), "tool", json!({})).with(opens());
        let run = trial.in_revision(revision).await;
        assert_eq!(run.text(), "paid, by the window: true", "{revision}");
        assert_eq!(run.keys(), asked, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_recorded_time_of_a_link_is_when_its_page_was_finished() {
    // The seat is answered later, in another run of the handler. The record says when the page was
    // done.
    async fn handler(ctx: Ctx, page: Page) -> Result<String> {
        let asked = ctx.now();
        let link = ctx.elicit_url("Pay.", LINK);
        let link = link.until(move |wait| page.clone().done(wait));
        link.await?.accepted()?;
        let paid = ctx.now();
        let seat: Seat = ctx.elicit("Which?").await?.accepted()?;
        let seated = ctx.now();
        Ok(format!(
            "{} {} {}",
            paid - asked,
            seated - paid,
            seat.window
        ))
    }
    for revision in [V2025_11_25, V2026_07_28] {
        let page = Page::new(20);
        let handler = move |ctx: Ctx| handler(ctx, page.clone());
        let person = Person::new().agree("link").after(Duration::from_secs(3));
        let person = person.answer("seat", json!({"window": true}));
        let person = person.after(Duration::from_secs(5));
        let trial = testing::call(serving(handler), "tool", json!({})).with(person);
        let run = trial.in_revision(revision).await;
        assert_eq!(run.text(), "23000 5000 true", "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_rounds_are_warned_of_if_they_ask_and_not_if_they_wait() {
    async fn check(forms: usize, seconds: u64, is_warned: bool) {
        let page = Page::new(seconds);
        let handler = move |ctx: Ctx| {
            let page = page.clone();
            async move {
                for _ in 0..forms {
                    let _: Seat = ctx.elicit("Which?").await?.accepted()?;
                }
                pay(ctx, page).await
            }
        };
        let person = (0..=forms).fold(Person::new().agree("link"), |person, _| {
            person.answer_next(json!({"window": true}))
        });
        let log = Log::default();
        let listening = log.listen();
        let trial = testing::call(serving(handler), "tool", json!({})).with(person);
        let run = trial.in_revision(V2026_07_28).await;
        drop(listening);
        assert_eq!(run.text(), "paid, by the window: true");
        let log = log.text();
        assert_eq!(log.contains("many rounds of questions"), is_warned, "{log}");
    }
    check(7, 0, true).await;
    check(0, 200, false).await;
    check(3, 200, false).await;
}
