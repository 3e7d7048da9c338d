//! Effects in the author's database, claimed in the same transaction.

use std::{
    env, fs,
    path::Path,
    process::{abort, exit},
    sync::{Arc, Mutex},
    time::Duration,
};

use askback::{
    Ctx, Error, Form, Limits, Principal, Result, Revision, Server, ServerBuilder, State, Tool,
    keys::{Key, KeyRing, KeySource},
    store::{
        SqliteStore,
        rusqlite::{Connection, TransactionBehavior},
    },
    testing::{self, Person, TestClock, Wire},
    transport::Child,
};
use serde_json::{Value, json};

use crate::{
    asking::seat_round,
    client::{Hosted, Scripted, accept, builder},
};

/// The error of a commit whose name was already used in the call.
const NAME_IS_USED: &str = "a commit named `book` was made before in this call";

/// The database directory of a server in a child process.
const PLACE: &str = "ASKBACK_TEST_DATABASE";
/// Where that process dies, once.
const DIES: &str = "ASKBACK_TEST_DIES";

type Database = Arc<Mutex<Connection>>;

fn database(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    SqliteStore::create_tables(&connection).unwrap();
    connection
        .execute_batch("CREATE TABLE IF NOT EXISTS bookings (reference INTEGER PRIMARY KEY)")
        .unwrap();
    connection
}

fn count(connection: &Connection) -> (u32, u32) {
    let count = |sql| connection.query_row(sql, [], |row| row.get(0)).unwrap();
    (
        count("SELECT count(*) FROM bookings"),
        count("SELECT count(*) FROM askback_commits"),
    )
}

#[derive(Form)]
struct Seat {
    window: bool,
}

/// Ends the process if it must die at this place, and no process has died yet.
fn die(at: &str) {
    if env::var(DIES).is_ok_and(|dies| dies == at) {
        let mark = Path::new(&env::var(PLACE).unwrap()).join("died");
        if fs::File::create_new(mark).is_ok() {
            abort();
        }
    }
}

fn book(ctx: &Ctx, connection: &mut Connection) -> Result<String> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let reference = ctx.commit_in(&transaction, "book", || {
        transaction.execute("INSERT INTO bookings DEFAULT VALUES", [])?;
        die("between effect and value");
        Ok(format!("TRV-{}", transaction.last_insert_rowid()))
    })?;
    die("before the end of the transaction");
    transaction.commit()?;
    die("before the response");
    Ok(reference)
}

async fn reserve(ctx: Ctx, State(database): State<Database>) -> Result<String> {
    let _seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    book(&ctx, &mut database.lock().unwrap())
}

fn agency(connection: Connection) -> ServerBuilder {
    Server::new("agency", "1")
        .state(Arc::new(Mutex::new(connection)))
        .keys(KeySource::Ring(KeyRing::new(Key::new(&[7; 32]))))
}

#[tokio::test(start_paused = true)]
async fn an_effect_in_a_transaction_happens_once_whatever_the_client_does() {
    let directory = tempfile::tempdir().unwrap();
    let made = Arc::new(Mutex::new(Vec::new()));
    let (place, paths) = (directory.path().to_owned(), Arc::clone(&made));
    let server = move || {
        let mut paths = paths.lock().unwrap();
        let path = place.join(format!("{}.db", paths.len()));
        let connection = database(&path);
        paths.push(path);
        agency(connection).tool(Tool::new("reserve", reserve))
    };
    let person = Person::new().answer("seat", json!({"window": true}));
    let report = testing::call(server, "reserve", json!({}))
        .with(person)
        .in_every_revision()
        .await;
    assert_eq!(report.assert_same().text(), "TRV-1");
    let paths = made.lock().unwrap();
    let counts = paths.iter().map(|path| count(&database(path)));
    // In a revision that cannot finish the call, the server did nothing.
    assert!(counts.clone().all(|count| matches!(count, (1, 1) | (0, 0))));
    assert!(counts.filter(|count| *count == (1, 1)).count() > 5);
}

/// The outcome of one attempt of a handler, and the number of bookings and claims afterwards.
async fn attempt(
    path: &Path,
    book: fn(&Ctx, &mut Connection) -> Result<String>,
) -> (String, (u32, u32)) {
    let tool = move |ctx: Ctx, State(database): State<Database>| async move {
        book(&ctx, &mut database.lock().unwrap())
    };
    let client = {
        let server = agency(database(path)).tool(Tool::new("book", tool));
        let (here, there) = askback::transport::memory();
        let server = server.build().unwrap();
        tokio::spawn(async move { server.serve(there).await });
        builder(None).connect(here).await.unwrap()
    };
    let result = client.call_tool("book", ()).await.unwrap();
    let said = serde_json::to_value(&result.content[0]).unwrap();
    client.close().await;
    let text = said["text"].as_str().unwrap().to_owned();
    (text, count(&database(path)))
}

#[tokio::test]
async fn what_a_transaction_does_not_commit_has_not_happened() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("author.db");
    // The effect fails, and the author commits the rest of the transaction.
    let fails = |ctx: &Ctx, connection: &mut Connection| {
        let transaction = connection.transaction()?;
        let failed = ctx.commit_in(&transaction, "book", || {
            transaction.execute("INSERT INTO bookings DEFAULT VALUES", [])?;
            Err::<(), _>(Error::new("no seat is left"))
        });
        let why = failed.unwrap_err().to_string();
        let again = ctx.commit_in(&transaction, "book", || Ok(why))?;
        transaction.commit()?;
        Ok(again)
    };
    assert_eq!(
        attempt(&path, fails).await,
        ("no seat is left".into(), (0, 1))
    );
    // The effect succeeds, and the author does not commit.
    let drops = |ctx: &Ctx, connection: &mut Connection| {
        for _ in 0..2 {
            let transaction = connection.transaction()?;
            ctx.commit_in(&transaction, "book", || {
                transaction.execute("INSERT INTO bookings DEFAULT VALUES", [])?;
                Ok(())
            })?;
        }
        Ok("dropped".to_owned())
    };
    assert_eq!(attempt(&path, drops).await, ("dropped".into(), (0, 1)));
}

#[tokio::test]
async fn a_name_is_good_for_one_commit() {
    let directory = tempfile::tempdir().unwrap();
    let twice = |ctx: &Ctx, connection: &mut Connection| {
        book(ctx, connection)?;
        Ok(match book(ctx, connection) {
            Ok(reference) => reference,
            Err(error) => error.to_string(),
        })
    };
    let (said, counts) = attempt(&directory.path().join("author.db"), twice).await;
    assert!(said.starts_with(NAME_IS_USED), "{said}");
    assert_eq!(counts, (1, 1));
}

#[tokio::test]
async fn a_value_that_is_too_large_undoes_what_was_done() {
    let directory = tempfile::tempdir().unwrap();
    let long = |ctx: &Ctx, connection: &mut Connection| {
        // The quotes around a JSON text count, too.
        let most = ctx.limits().asking.commit_bytes;
        let transaction = connection.transaction()?;
        let too_long = ctx.commit_in(&transaction, "book", || {
            transaction.execute("INSERT INTO bookings DEFAULT VALUES", [])?;
            Ok("x".repeat(most))
        });
        let why = too_long.map_or_else(|why| why.to_string(), |_| "it is kept".to_owned());
        transaction.commit()?;
        Ok(why)
    };
    let (said, counts) = attempt(&directory.path().join("author.db"), long).await;
    assert_eq!(counts, (0, 0), "{said}");
    assert!(said.contains("are kept of one: return less"), "{said}");
}

/// One round of the call. With `before`, answers its question.
async fn round(wire: &mut Wire, before: Option<&Value>) -> Value {
    let params = seat_round("reserve", before);
    wire.request("tools/call", params).await;
    wire.hear().await.expect("an answer")
}

#[tokio::test(start_paused = true)]
async fn a_claim_lasts_as_long_as_a_state_that_leads_to_it() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("author.db");
    let server = agency(database(&path)).clock(TestClock::new());
    let server = server.tool(Tool::new("reserve", reserve)).build().unwrap();
    let mut wire = Wire::connect(&server);
    let first = round(&mut wire, None).await;
    let booked = round(&mut wire, Some(&first)).await;
    assert_eq!(booked["result"]["content"][0]["text"], "TRV-1", "{booked}");
    let ttl = Limits::default().asking.round_ttl;
    tokio::time::sleep(ttl - Duration::from_secs(60)).await;
    // A new claim replaces expired ones.
    let other = round(&mut wire, None).await;
    let booked = round(&mut wire, Some(&other)).await;
    assert_eq!(booked["result"]["content"][0]["text"], "TRV-2", "{booked}");
    let again = round(&mut wire, Some(&first)).await;
    assert_eq!(again["result"]["content"][0]["text"], "TRV-1", "{again}");
    assert_eq!(count(&database(&path)), (2, 2));
}

#[tokio::test]
async fn no_principal_takes_the_room_for_the_claims_of_others() {
    let directory = tempfile::tempdir().unwrap();
    let mut limits = Limits::default();
    (limits.asking.commit_bytes, limits.asking.store_bytes) = (100, 64 << 10);
    let server = agency(database(&directory.path().join("author.db")));
    let server = server.limits(limits).tool(Tool::new("reserve", reserve));
    let server = server.build().unwrap();
    let booked = async |who: &str| {
        let mut wire = Wire::connect_as(&server, Principal::new(who));
        let first = round(&mut wire, None).await;
        let last = round(&mut wire, Some(&first)).await;
        last["result"]["isError"] != true
    };
    let mut taken = 0;
    while booked("mallory").await {
        taken += 1;
        assert!(taken < 100, "mallory takes all there is");
    }
    assert!(booked("ada").await, "after {taken}");
}

/// Books twice under one name, in two ways. Returns the outcome of the second.
async fn reserve_twice(ctx: Ctx, State(database): State<Database>, ways: Ways) -> Result<String> {
    let _seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    let mut says = Vec::new();
    for way in ways.ways.split(", ") {
        let database = Arc::clone(&database);
        let within = ctx.clone();
        let came_to = match way {
            "commit" => {
                let book = async move || {
                    let sql = "INSERT INTO bookings DEFAULT VALUES";
                    database.lock().unwrap().execute(sql, [])?;
                    Ok("TRV".to_owned())
                };
                ctx.commit("book", book).await
            }
            "commit_in" => book(&ctx, &mut database.lock().unwrap()),
            // The step is skipped when the handler is run again.
            "commit_in in a run" => {
                let run = async move || book(&within, &mut database.lock().unwrap());
                ctx.run("book in a run", run).await
            }
            _ => {
                let _seat: Seat = ctx.elicit("Another seat?").await?.accepted()?;
                continue;
            }
        };
        says.push(came_to.map_or_else(|error| error.to_string(), |_| "booked".to_owned()));
    }
    Ok(says.join("; "))
}

#[derive(Form)]
struct Ways {
    ways: String,
}

#[tokio::test]
async fn a_name_is_good_for_one_commit_of_either_kind() {
    let directory = tempfile::tempdir().unwrap();
    for (at, ways) in [
        "commit, commit_in",
        "commit_in, commit",
        "commit, a question, commit_in",
        "commit_in, a question, commit",
        "commit_in in a run, a question, commit",
    ]
    .into_iter()
    .enumerate()
    {
        let path = directory.path().join(format!("{at}.db"));
        let store = SqliteStore::open(&path).unwrap();
        let server = agency(database(&path))
            .store(store)
            .tool(Tool::new("reserve", reserve_twice));
        let (here, there) = askback::transport::memory();
        let server = server.build().unwrap();
        tokio::spawn(async move { server.serve(there).await });
        let client = builder(Some(Revision::LATEST))
            .host(Scripted::new(|_| accept(json!({"window": true}))))
            .connect(here)
            .await
            .unwrap();
        let result = client.call_tool("reserve", json!({"ways": ways})).await;
        let said = serde_json::to_value(&result.unwrap().content[0]).unwrap();
        let said = said["text"].as_str().unwrap();
        let expected = format!("booked; {NAME_IS_USED}");
        assert!(said.starts_with(&expected), "{ways}: {said}");
        assert_eq!(count(&database(&path)), (1, 1), "{ways}");
        client.close().await;
    }
}

#[tokio::test]
async fn an_effect_that_ends_its_transaction_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    for (at, (statement, is_done)) in [
        ("INSERT OR ROLLBACK INTO bookings VALUES (7)", Ok(())),
        ("INSERT OR ROLLBACK INTO bookings VALUES (7)", Err("full")),
        ("ROLLBACK", Ok(())),
        ("COMMIT", Ok(())),
    ]
    .into_iter()
    .enumerate()
    {
        let path = directory.path().join(format!("{at}.db"));
        let connection = database(&path);
        connection
            .execute("INSERT INTO bookings VALUES (7)", [])
            .unwrap();
        let (sender, mut said) = tokio::sync::mpsc::unbounded_channel();
        let tool = move |ctx: Ctx, State(database): State<Database>| {
            let sender = sender.clone();
            async move {
                let mut database = database.lock().unwrap();
                let transaction = database.transaction()?;
                let committed = ctx.commit_in(&transaction, "book", || {
                    // The author ignores the error.
                    let _ = transaction.execute(statement, []);
                    is_done.map_err(Error::new)
                });
                let _ = sender.send(committed.map_err(|error| error.to_string()));
                Ok("")
            }
        };
        let server = agency(connection).tool(Tool::new("book", tool));
        let (here, there) = askback::transport::memory();
        let server = server.build().unwrap();
        tokio::spawn(async move { server.serve(there).await });
        let client = builder(None).connect(here).await.unwrap();
        client.call_tool("book", ()).await.unwrap();
        let why = said.recv().await.unwrap().unwrap_err();
        let begins = "the effect of `book` ended its transaction";
        assert!(why.starts_with(begins), "{statement} {is_done:?}: {why}");
        client.close().await;
    }
}

/// A server in a child process: see [`a_process_may_die_anywhere`].
#[test]
fn the_server_side() {
    let Ok(place) = env::var(PLACE) else { return };
    let connection = database(&Path::new(&place).join("author.db"));
    let server = agency(connection).tool(Tool::new("reserve", reserve));
    let server = server.build().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(server.serve_stdio()).unwrap();
    exit(0);
}

#[tokio::test]
async fn a_process_may_die_anywhere() {
    for dies in [
        "between effect and value",
        "before the end of the transaction",
        "before the response",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let server = Child::command(env::current_exe().unwrap())
            .args(["--exact", "transaction::the_server_side", "--nocapture"])
            .arg("--test-threads=2")
            .env(PLACE, directory.path())
            .env(DIES, dies);
        let client = builder(Some(Revision::LATEST))
            .host(Scripted::new(|_| accept(json!({"window": true}))))
            .resend_answers(true)
            .connect(server)
            .await
            .unwrap();
        // The client restarts the server and sends the round again.
        let result = client.call_tool("reserve", ()).await.unwrap();
        let said = serde_json::to_value(&result.content[0]).unwrap();
        assert_eq!(said["text"], "TRV-1", "{dies}");
        client.close().await;
        assert!(directory.path().join("died").exists(), "{dies}");
        let connection = database(&directory.path().join("author.db"));
        assert_eq!(count(&connection), (1, 1), "{dies}");
    }
}
