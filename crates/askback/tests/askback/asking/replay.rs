//! Replay: a handler that is run again.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use askback::{Ctx, Error, Result, Revision, testing};
use serde_json::json;

use super::{Seat, by_the_window, everywhere, join, serving};

// Shows MR-05.
#[tokio::test(start_paused = true)]
async fn a_chosen_name_and_a_made_one_are_never_the_same() {
    async fn handler(ctx: Ctx) -> Result<String> {
        let (first, second, third) = (
            ctx.run("step", async || Ok(1)).await?,
            ctx.run("step-2", async || Ok(2)).await?,
            ctx.run("step", async || Ok(3)).await?,
        );
        let seats = (
            ctx.elicit::<Seat>("one"),
            ctx.elicit::<Seat>("two").key("seat-2"),
            ctx.elicit::<Seat>("three"),
            ctx.elicit::<Seat>("four").key("seat-2"),
        );
        let _ = ctx.elicit_all(seats).await?;
        Ok(format!("{first}{second}{third}"))
    }
    let run = everywhere(handler, by_the_window()).await;
    assert_eq!(run.text(), "123");
    assert_eq!(run.keys(), ["seat", "seat-2", "seat-3", "seat-2-2"]);
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_given_up_does_not_start_again() {
    let started = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&started);
    let handler = move |ctx: Ctx| {
        let counter = Arc::clone(&counter);
        async move {
            let slow = ctx.run("slow", move || async move {
                counter.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_secs(10)).await;
                Ok(())
            });
            let result = ctx.timeout(Duration::from_secs(1), slow).await;
            let _: Seat = ctx.elicit("Which?").await?.accepted()?;
            let _: Seat = ctx.elicit("Sure?").await?.accepted()?;
            Ok(if result.is_err() { "given up" } else { "done" })
        }
    };
    let trial = testing::call(serving(handler), "tool", json!({})).with(by_the_window());
    for revision in [Revision::LATEST_LEGACY, Revision::LATEST] {
        let run = trial.in_revision(revision).await;
        assert_eq!(run.text(), "given up");
        assert_eq!(started.swap(0, Ordering::Relaxed), 1, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn operations_inside_a_step_do_not_count_for_the_handler() {
    async fn handler(ctx: Ctx) -> Result<String> {
        let inner = ctx.clone();
        let effect = move || async move {
            let slept = inner.sleep(Duration::from_millis(1));
            let late = inner.timeout(Duration::from_millis(1), std::future::pending::<()>());
            slept.await;
            late.await.unwrap_err();
            // A child of a step is skipped together with the step.
            let child = inner.clone();
            let asked = async move { child.elicit::<Seat>("Misplaced?").await };
            assert!(inner.spawn(asked).await.is_err());
            Ok(inner.random())
        };
        let within = ctx.run("step", effect).await?;
        let another = ctx.clone();
        let again = ctx.run("other", async move || Ok(another.random()));
        assert_ne!(within, again.await?);
        let outside = ctx.random();
        let asked = ctx.elicit::<Seat>(format!("{outside}?"));
        let seat = ctx.timeout(Duration::from_secs(60), asked).await;
        let slept = ctx.sleep(Duration::from_secs(1));
        let _ = join(slept, ctx.elicit::<Seat>("Sure?")).await.1?;
        Ok(format!("{} {outside}", seat.is_ok()))
    }
    let run = everywhere(handler, by_the_window()).await;
    assert!(run.text().starts_with("true "), "{run:?}");
    assert_eq!(run.keys(), ["seat", "seat-2"]);
}

#[tokio::test(start_paused = true)]
async fn a_value_that_cannot_be_recorded_is_an_error_and_its_effect_happens_once() {
    let happened = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&happened);
    let handler = move |ctx: Ctx| {
        let counters = [Arc::clone(&counter), Arc::clone(&counter)];
        async move {
            let [run, commit] = counters.map(|counter| {
                move || async move {
                    counter.fetch_add(1, Ordering::Relaxed);
                    Ok(BTreeMap::from([((1, 2), 3)]))
                }
            });
            let run = ctx.run("run", run).await.unwrap_err();
            let _: Seat = ctx.elicit("Which?").await?.accepted()?;
            let commit = ctx.commit("commit", commit).await.unwrap_err();
            assert_eq!(run.to_string(), commit.to_string());
            let _: Seat = ctx.elicit("Sure?").await?.accepted()?;
            Ok(run.to_string())
        }
    };
    let trial = testing::call(serving(handler), "tool", json!({})).with(by_the_window());
    for revision in [Revision::LATEST_LEGACY, Revision::LATEST] {
        let run = trial.in_revision(revision).await;
        let words = "the result of a step cannot be recorded: key must be a string";
        assert_eq!(run.text(), words);
        assert_eq!(happened.swap(0, Ordering::Relaxed), 2, "{revision}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_commit_needs_a_name_of_its_own() {
    async fn handler(ctx: Ctx) -> Result<String> {
        let _: Seat = ctx.elicit("Which?").await?.accepted()?;
        ctx.commit("book", async || Ok(())).await?;
        let again: Result<(), Error> = ctx.commit("book", async || Ok(())).await;
        Ok(again.unwrap_err().to_string())
    }
    let run = everywhere(handler, by_the_window()).await;
    assert!(
        run.text()
            .starts_with("a step named `book` was started before")
    );
}

#[tokio::test(start_paused = true)]
async fn a_busy_handler_asks_all_its_questions_in_one_round() {
    // More wake-ups than tokio allows a task in one turn.
    async fn handler(ctx: Ctx) -> Result<String> {
        let busy = async {
            for _ in 0..500 {
                ctx.spawn(async {}).await;
            }
            ctx.elicit::<Seat>("after all that?").await
        };
        let (first, second) = join(ctx.elicit::<Seat>("at once?"), busy).await;
        first?.accepted()?;
        second?.accepted()?;
        Ok(String::new())
    }
    let trial = testing::call(serving(handler), "tool", json!({})).with(by_the_window());
    let run = trial.in_revision(Revision::LATEST).await;
    assert_eq!(run.messages(), ["at once?", "after all that?"]);
    assert_eq!(run.rounds, 2, "{run:?}");
}

#[tokio::test(start_paused = true)]
async fn a_child_of_a_handler_that_has_ended_does_nothing_more() {
    let polled = Arc::new(AtomicU32::new(0));
    let counter = Arc::clone(&polled);
    let handler = move |ctx: Ctx| {
        let counter = Arc::clone(&counter);
        async move {
            drop(ctx.spawn(async move {
                counter.fetch_add(1, Ordering::Relaxed);
            }));
            Ok("over")
        }
    };
    assert_eq!(everywhere(handler, by_the_window()).await.text(), "over");
    assert_eq!(polled.load(Ordering::Relaxed), 0);
}
