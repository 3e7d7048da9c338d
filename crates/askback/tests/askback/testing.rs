//! The scripted user, with handlers that are safe to run again and some that are not.

use std::{
    panic::catch_unwind,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use askback::{
    Ctx, Form, Principal, Result, Revision, Server, ServerBuilder, State, Tool,
    ctx::Progress,
    protocol::{
        CallToolResult, ElicitParams, InputRequest, InputRequiredResult, LoggingLevel, Outcome,
    },
    store::MemoryStore,
    testing::{self, CallEnd, Fixture, Person, ReceivedNotification, Run, Trouble},
};
use serde_json::json;

#[derive(Form, Debug)]
struct Seat {
    /// By the window?
    window: bool,
}

#[derive(Form, Debug)]
struct Guest {
    /// Who travels.
    name: String,
    /// How old they are.
    #[form(max = 120)]
    age: u8,
}

async fn reserve(ctx: Ctx) -> Result<String> {
    ctx.log(LoggingLevel::Info, "looking");
    let price = ctx.run("price", || async { Ok(120) }).await?;
    let seat: Seat = ctx
        .elicit(format!("A seat for {price}?"))
        .await?
        .accepted()?;
    ctx.progress(Progress::at(0.5).message("one answer"));
    let guest: Guest = ctx.elicit("For whom?").await?.accepted()?;
    let number = ctx.random() % 1000;
    let place = if seat.window { "window" } else { "aisle" };
    Ok(format!("{} sits at the {place}: {number}", guest.name))
}

fn airline() -> ServerBuilder {
    let builder = Server::new("airline", "1").logging();
    builder.tool(Tool::new("reserve", reserve))
}

fn ada() -> Person {
    Person::new()
        .answer("seat", json!({"window": true}))
        .answer("guest", json!({"name": "Ada", "age": 36}))
}

#[tokio::test(start_paused = true)]
async fn a_call_goes_the_same_way_in_every_revision() {
    let report = testing::call(airline, "reserve", json!({}))
        .with(ada())
        .in_every_revision()
        .await;
    let run = report.assert_same();
    assert_eq!(run.keys(), ["seat", "guest"]);
    assert_eq!(run.messages(), ["A seat for 120?", "For whom?"]);
    assert!(run.text().starts_with("Ada sits at the window"), "{run:?}");
    assert!(!run.is_error());
    let repeats = |run: &&Run| matches!(run.trouble, Trouble::Twice | Trouble::Again);
    for run in report.runs[2..].iter().filter(|run| !repeats(run)) {
        let told = [
            ReceivedNotification::Log("info".into(), json!("looking")),
            ReceivedNotification::Progress(0.5, Some("one answer".into())),
        ];
        assert_eq!(run.notifications, told, "{run}");
    }
    let old = report.in_revision(Revision::V2024_11_05);
    assert!(old.is_error() && old.questions.is_empty(), "{old:?}");
}

// Shows EL-25.
#[tokio::test(start_paused = true)]
async fn a_no_is_the_same_in_every_revision() {
    let cases = [
        (ada().decline("guest"), "Ada sits at"),
        (
            Person::new().decline("seat"),
            "Nothing was done: the person declined.",
        ),
        (
            Person::new().decline_because("seat", "too dear"),
            "Nothing was done: the person declined (too dear).",
        ),
        (
            Person::new().cancel("seat"),
            "Nothing was done: the person cancelled.",
        ),
    ];
    for (person, text) in cases {
        let report = testing::call(airline, "reserve", json!({}))
            .with(person)
            .in_every_revision()
            .await;
        let run = report.assert_same();
        assert!(run.text().starts_with(text), "{run:?}");
    }
}

// Shows EL-47, MR-19.
#[tokio::test(start_paused = true)]
async fn a_wrong_answer_is_asked_again_in_every_revision() {
    let person = Person::new()
        .answer("guest", json!({"name": "Ada", "age": 360}))
        .answer("guest", json!({"name": "Ada", "age": 36}))
        .answer_next(json!({"window": false}));
    let report = testing::call(airline, "reserve", json!({}))
        .with(person)
        .in_every_revision()
        .await;
    let run = report.assert_same();
    assert_eq!(run.keys(), ["seat", "guest", "guest"]);
    assert!(run.messages()[2].contains("could not be used"), "{run:?}");
    assert!(run.text().starts_with("Ada sits at the aisle"), "{run:?}");
}

// Shows EL-25.
#[tokio::test(start_paused = true)]
async fn silence_ends_a_call_or_lets_a_timer_run_out() {
    async fn patient(ctx: Ctx) -> Result<&'static str> {
        let asked = ctx.elicit::<Seat>("Which?");
        match ctx.timeout(Duration::from_secs(60), asked).await {
            Ok(answer) => answer?.accepted().map(|_| "chosen"),
            Err(_) => Ok("any seat"),
        }
    }
    let server = || {
        Server::new("airline", "1")
            .tool(Tool::new("patient", patient))
            .tool(Tool::new("reserve", reserve))
    };
    let silent = Person::new().silent("seat");
    let slow = Person::new()
        .answer("seat", json!({"window": true}))
        .after(Duration::from_secs(61));
    let quick = slow.clone().after(Duration::from_secs(59));
    for (person, text) in [
        (silent.clone(), "any seat"),
        (slow, "any seat"),
        (quick, "chosen"),
    ] {
        let trial = testing::call(server, "patient", json!({})).with(person);
        assert_eq!(trial.in_every_revision().await.assert_same().text(), text);
    }

    let trial = testing::call(server, "reserve", json!({})).with(silent);
    let waited = trial.in_revision(Revision::LATEST_LEGACY).await;
    assert_eq!(waited.text(), "no answer came in time");
    let left = trial.in_revision(Revision::LATEST).await;
    assert_eq!(left.ended, CallEnd::Abandoned);
    assert_eq!(left.keys(), ["seat", "seat"]);
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_asks_something_else_each_time_is_found_out() {
    let counter = Arc::new(AtomicU32::new(0));
    let server = move || {
        let counter = Arc::clone(&counter);
        let restless = move |ctx: Ctx| {
            let number = counter.fetch_add(1, Ordering::Relaxed);
            async move {
                let asked = ctx.elicit::<Seat>(format!("Is it {number}?"));
                Ok(asked.await?.accepted()?.window.to_string())
            }
        };
        Server::new("airline", "1").tool(Tool::new("restless", restless))
    };
    let trial = testing::call(server, "restless", json!({})).with(ada());
    for revision in [Revision::LATEST_LEGACY, Revision::LATEST] {
        let run = trial.in_revision(revision).await;
        let found = "the handler is not safe to run again: it asked [seat] and, run again from \
                     its record, asks [seat] with other words";
        assert!(run.findings[0].starts_with(found), "{run:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_effect_that_happens_twice_is_found_out() {
    let server = |commit: bool| {
        move || {
            let booked = Arc::new(AtomicU32::new(0));
            let book = move |ctx: Ctx| {
                let booked = Arc::clone(&booked);
                async move {
                    let _: Seat = ctx.elicit("Which?").await?.accepted()?;
                    let effect = || async move { Ok(booked.fetch_add(1, Ordering::Relaxed)) };
                    let number = if commit {
                        ctx.commit("book", effect).await?
                    } else {
                        ctx.run("book", effect).await?
                    };
                    Ok(format!("booking {number}"))
                }
            };
            Server::new("airline", "1").tool(Tool::new("book", book))
        }
    };
    for trouble in Trouble::ALL {
        let run = |commit| {
            let trial = testing::call(server(commit), "book", json!({})).with(ada());
            async move { trial.in_trouble(trouble).await }
        };
        assert_eq!(run(true).await.findings, [""; 0]);
        let repeats = matches!(trouble, Trouble::Twice | Trouble::Again);
        assert_eq!(!run(false).await.findings.is_empty(), repeats, "{trouble}");
    }
}

/// A handler that sends something, in one way or another.
async fn send(ctx: Ctx, State(sent): State<Sent>, how: How) -> Result<&'static str> {
    let _: Seat = ctx.elicit("Which?").await?.accepted()?;
    let counted = Arc::clone(&sent.0);
    let effect = async move || Ok(counted.fetch_add(1, Ordering::Relaxed));
    match &*how.how {
        "commit" => drop(ctx.commit("send", effect).await?),
        "run" => drop(ctx.run("send", effect).await?),
        _ => drop(effect().await?),
    }
    // Gives a client time to return to an older round.
    let _: Guest = ctx.elicit("For whom?").await?.accepted()?;
    Ok("It is sent.")
}

#[derive(Clone, Default)]
struct Sent(Arc<AtomicU32>);

#[derive(Form)]
struct How {
    how: String,
}

#[tokio::test(start_paused = true)]
async fn an_effect_done_twice_is_found_though_every_result_is_the_same() {
    let server = |sent: &Sent| {
        let tool = Tool::new("send", send);
        Server::new("office", "1").state(sent.clone()).tool(tool)
    };
    let fixture = Fixture::new(Sent::default, server);
    let counts = fixture
        .clone()
        .effects(|sent| sent.0.load(Ordering::Relaxed) as usize);
    for (how, is_done_once) in [("commit", true), ("run", false), ("plain", false)] {
        let arguments = json!({"how": how});
        let uncounted = fixture.call("send", arguments.clone()).with(ada());
        let uncounted = uncounted.in_every_revision().await;
        assert_eq!(uncounted.assert_same().effects, None, "{how}");

        let report = counts.call("send", arguments).with(ada());
        let report = report.in_every_revision().await;
        let checked = catch_unwind(|| report.assert_same().effects);
        if is_done_once {
            assert_eq!(checked.expect("all runs are the same"), Some(1));
            continue;
        }
        let panic = checked.expect_err("the effects differ");
        let found = panic.downcast::<String>().expect("a message");
        assert!(found.starts_with("the number of effects was "), "{found}");
        let remedy = "what must happen at most once belongs in `Ctx::commit`";
        assert!(found.contains(remedy), "{found}");
    }
}

/// A tool that builds its round by hand, with or without a request state.
async fn send_by_hand(
    ctx: Ctx,
    State(sent): State<Sent>,
    how: How,
) -> Result<Outcome<CallToolResult>> {
    let (way, state) = how.how.split_once(' ').unwrap_or((&how.how, ""));
    let state = Some(state.to_owned()).filter(|state| !state.is_empty());
    let Some(answer) = ctx.incoming().answer::<Seat>("seat")? else {
        let question = InputRequest::from(ElicitParams::form("Which?", Seat::schema()));
        return Ok(Outcome::NeedInput(InputRequiredResult {
            input_requests: Some([("seat".to_owned(), question)].into_iter().collect()),
            request_state: state,
            ..InputRequiredResult::default()
        }));
    };
    answer.accepted()?;
    assert_eq!(ctx.incoming().request_state(), state.as_deref());
    let effect = async move || Ok(sent.0.fetch_add(1, Ordering::Relaxed));
    match way {
        "commit" => drop(ctx.commit("send", effect).await?),
        _ => drop(effect().await?),
    }
    Ok(CallToolResult::new("It is sent.").into())
}

#[tokio::test(start_paused = true)]
async fn an_effect_after_a_round_written_by_hand_is_judged_as_any_other() {
    let server = |sent: &Sent| {
        let tool = Tool::new("send", send_by_hand);
        Server::new("office", "1").state(sent.clone()).tool(tool)
    };
    let fixture = Fixture::new(Sent::default, server);
    let fixture = fixture.effects(|sent| sent.0.load(Ordering::Relaxed) as usize);
    for (how, is_done_once) in [
        ("commit", true),
        ("commit page-2", true),
        ("plain", false),
        ("plain page-2", false),
    ] {
        let trial = fixture.call("send", json!({"how": how})).with(ada());
        let report = trial.in_every_revision().await;
        let checked = catch_unwind(|| report.assert_same().effects);
        if is_done_once {
            assert_eq!(checked.expect("all runs are the same"), Some(1), "{how}");
            continue;
        }
        let panic = checked.expect_err(how);
        let found = panic.downcast::<String>().expect("a message");
        assert!(found.starts_with("the number of effects was "), "{found}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_is_made_as_the_principal_of_the_trial() {
    async fn whoami(ctx: Ctx) -> Result<String> {
        let _: Seat = ctx.elicit("Which?").await?.accepted()?;
        let principal = ctx.principal().map(|principal| &*principal.subject);
        Ok(principal.unwrap_or("nobody").to_owned())
    }
    let server = || {
        let for_bob = |caller: Option<&Principal>| caller == Some(&Principal::new("bob"));
        let tool = Tool::new("whoami", whoami);
        let hidden = Tool::new("hidden", whoami).visible_to(for_bob);
        Server::new("airline", "1").tool(tool).tool(hidden)
    };
    for (principal, subject) in [(Some("ada"), "ada"), (Some("bob"), "bob"), (None, "nobody")] {
        let call = |tool| {
            let trial = testing::call(server, tool, json!({})).with(ada());
            match principal {
                Some(name) => trial.as_principal(Principal::new(name)),
                None => trial,
            }
        };
        let report = call("whoami").in_every_revision().await;
        assert_eq!(report.assert_same().text(), subject);
        let report = call("hidden").in_every_revision().await;
        let is_hidden = report.assert_same().text().starts_with("there is no tool");
        assert_eq!(is_hidden, subject != "bob", "{subject}");
    }
}

#[tokio::test(start_paused = true)]
#[should_panic = "to which the person has no answer"]
async fn a_question_without_an_answer_is_found_out() {
    let report = testing::call(airline, "reserve", json!({}))
        .in_every_revision()
        .await;
    report.assert_same();
}

#[derive(Debug, Clone, Copy)]
enum Kept {
    /// The default of a server that was given no store.
    ByDefault,
    InMemory,
    InMemoryOfTheTest,
}

#[tokio::test(start_paused = true)]
async fn a_crash_shows_a_commit_whose_claim_ends_with_its_process() {
    async fn book(ctx: Ctx, State(sent): State<Sent>) -> Result<&'static str> {
        let _: Seat = ctx.elicit("Which?").await?.accepted()?;
        for name in ["book", "pay"] {
            let counted = Arc::clone(&sent.0);
            let effect = async move || Ok(counted.fetch_add(1, Ordering::Relaxed));
            ctx.commit(name, effect).await?;
        }
        Ok("Done.")
    }
    for (kept, is_found) in [
        (Kept::ByDefault, false),
        (Kept::InMemory, true),
        (Kept::InMemoryOfTheTest, true),
    ] {
        let store = Arc::new(MemoryStore::default());
        let server = move |sent: &Sent| {
            let tool = Tool::new("book", book);
            let server = Server::new("office", "1").state(sent.clone()).tool(tool);
            match kept {
                Kept::ByDefault => server,
                Kept::InMemory => server.store(MemoryStore::default()),
                Kept::InMemoryOfTheTest => server.store(Arc::clone(&store)),
            }
        };
        let trial = Fixture::new(Sent::default, server)
            .effects(|sent| sent.0.load(Ordering::Relaxed) as usize)
            .call("book", json!({}))
            .with(ada());
        let report = trial.in_every_revision().await;
        let crashes = report
            .runs
            .iter()
            .filter(|run| matches!(run.trouble, Trouble::Crash(_)));
        let crashes: Vec<_> = crashes.map(|run| run.effects.unwrap()).collect();
        // The effects with a crash at the first commit, at the second, and without a crash.
        let want = if is_found { [3, 4, 2] } else { [1, 2, 2] };
        assert_eq!(crashes, want, "{kept:?}");
        let is_same = std::panic::catch_unwind(|| report.assert_same().effects);
        assert_eq!(is_same.is_err(), is_found, "{kept:?}");
    }
    let run = testing::call(
        || {
            Server::new("office", "1")
                .state(Sent::default())
                .tool(Tool::new("book", book))
        },
        "book",
        json!({}),
    );
    let run = run.with(ada()).in_trouble(Trouble::Crash(0)).await;
    assert_eq!(
        run.text(),
        "`book` was begun and never finished: its outcome is unknown; check before you try again"
    );
}
