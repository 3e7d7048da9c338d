//! Effects in the author's PostgreSQL database, claimed in the same transaction.

use std::{
    env, fs,
    path::Path,
    process::{Command, abort},
};

use askback::{
    Ctx, Error, Form, Result, Server, State, Tool,
    keys::{Key, KeyRing, KeySource},
    testing::Wire,
};
use askback_fleet::{
    PostgresSettings, PostgresStore,
    deadpool_postgres::{Manager, Pool},
    tokio_postgres::{Config, NoTls},
};
use serde_json::{Value, json};

use crate::{cluster::Cluster, place};

/// The error of a commit whose name was already used in the call.
const NAME_IS_USED: &str = "a commit named `book` was made before in this call";

/// The folder of a child process, with the input and the output of its round.
const PLACE: &str = "ASKBACK_TEST_PLACE";
/// The connection string of a child process.
const DATABASE: &str = "ASKBACK_TEST_DATABASE";
/// The place at which the child process dies.
const DIES: &str = "ASKBACK_TEST_DIES";

fn pool(database: &str) -> Pool {
    let config: Config = database.parse().unwrap();
    let manager = Manager::new(config, NoTls);
    Pool::builder(manager).max_size(4).build().unwrap()
}

/// Creates the author's database, with tables for claims and for bookings.
async fn author(settings: &PostgresSettings) -> Pool {
    let pool = pool(settings.database.expose());
    let mut connection = pool.get().await.unwrap();
    // The second time, the tables exist.
    for _ in 0..2 {
        let transaction = connection.transaction().await.unwrap();
        PostgresStore::create_tables(&transaction).await.unwrap();
        transaction.commit().await.unwrap();
    }
    let table = "CREATE TABLE bookings (reference BIGINT GENERATED ALWAYS AS IDENTITY)";
    connection.batch_execute(table).await.unwrap();
    pool
}

/// The number of bookings and of claims.
async fn count(pool: &Pool) -> (i64, i64) {
    let connection = pool.get().await.unwrap();
    let both = "SELECT (SELECT count(*) FROM bookings), (SELECT count(*) FROM askback_commits)";
    let row = connection.query_one(both, &[]).await.unwrap();
    (row.get(0), row.get(1))
}

/// Ends the process if this is the place at which it must die.
fn die(at: &str) {
    if env::var(DIES).is_ok_and(|dies| dies == at) {
        abort();
    }
}

#[derive(Form)]
struct Seat {
    window: bool,
}

const INSERT: &str = "INSERT INTO bookings DEFAULT VALUES RETURNING reference";

async fn book(ctx: &Ctx, database: &Pool) -> Result<String> {
    let mut connection = database.get().await.map_err(Error::internal)?;
    let transaction = connection.transaction().await.map_err(Error::internal)?;
    let reference = PostgresStore::commit_in(ctx, &transaction, "book", async || {
        die("between claim and effect");
        let row = transaction.query_one(INSERT, &[]).await;
        let reference: i64 = row.map_err(Error::internal)?.get(0);
        die("between effect and value");
        Ok(format!("TRV-{reference}"))
    });
    let reference = reference.await?;
    die("before the end of the transaction");
    transaction.commit().await.map_err(Error::internal)?;
    die("before the response");
    Ok(reference)
}

async fn reserve(ctx: Ctx, State(database): State<Pool>) -> Result<String> {
    let _seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    ctx.run("reserve", || book(&ctx, &database)).await
}

fn agency(database: Pool, tool: Tool) -> Server {
    let server = Server::new("agency", "1").state(database).tool(tool);
    let server = server.keys(KeySource::Ring(KeyRing::new(Key::new(&[7; 32]))));
    server.build().unwrap()
}

/// Runs a round of the call `reserve`. If `before` has the result of the first round, answers its question.
async fn round(server: &Server, before: Option<&Value>) -> Value {
    let mut params = json!({
        "name": "reserve",
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        },
    });
    if let Some(before) = before {
        params["requestState"] = before["result"]["requestState"].clone();
        let seat = json!({"action": "accept", "content": {"window": true}});
        params["inputResponses"] = json!({"seat": seat});
    }
    let mut wire = Wire::connect(server);
    wire.request("tools/call", params).await;
    wire.hear().await.expect("an answer")
}

fn text(answer: &Value) -> &str {
    let text = answer["result"]["content"][0]["text"].as_str();
    text.unwrap_or_else(|| panic!("{answer}"))
}

/// The last round of a call in a child process: see [`a_process_may_die_anywhere`].
#[test]
fn the_last_round() {
    let Ok(place) = env::var(PLACE) else { return };
    let place = Path::new(&place);
    let runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        let server = agency(
            pool(&env::var(DATABASE).unwrap()),
            Tool::new("reserve", reserve),
        );
        let before = fs::read(place.join("first")).unwrap();
        let before = serde_json::from_slice(&before).unwrap();
        let answer = round(&server, Some(&before)).await;
        fs::write(place.join("last"), text(&answer)).unwrap();
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_may_die_anywhere() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    for dies in [
        "between claim and effect",
        "between effect and value",
        "before the end of the transaction",
        "before the response",
    ] {
        let settings = place(&cluster);
        let database = author(&settings).await;
        let server = agency(database.clone(), Tool::new("reserve", reserve));
        let directory = tempfile::tempdir().unwrap();
        let first = round(&server, None).await;
        fs::write(directory.path().join("first"), first.to_string()).unwrap();
        let last_round = |dies: &str| {
            let mut child = Command::new(env::current_exe().unwrap());
            child.args(["--exact", "commit::the_last_round", "--nocapture"]);
            child.env(PLACE, directory.path()).env(DIES, dies);
            child.env(DATABASE, settings.database.expose());
            child.output().unwrap().status
        };
        assert!(!last_round(dies).success(), "{dies}: it lives");
        assert!(last_round("").success(), "{dies}");
        // The booking of the first process is undone, or it is the only one.
        let said = fs::read_to_string(directory.path().join("last")).unwrap();
        let connection = database.get().await.unwrap();
        let booked = "SELECT 'TRV-' || reference FROM bookings";
        let booked = connection.query_one(booked, &[]).await.unwrap();
        assert_eq!(said, booked.get::<_, String>(0), "{dies}");
        assert_eq!(count(&database).await, (1, 1), "{dies}");
        // Another attempt changes nothing.
        assert_eq!(text(&round(&server, Some(&first)).await), said, "{dies}");
        assert_eq!(count(&database).await, (1, 1), "{dies}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn simultaneous_rounds_book_once() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    let database = author(&place(&cluster)).await;
    let server = || agency(database.clone(), Tool::new("reserve", reserve));
    let [one, two, three] = [server(), server(), server()];
    let first = round(&one, None).await;
    let answers = tokio::join!(
        round(&one, Some(&first)),
        round(&two, Some(&first)),
        round(&three, Some(&first)),
    );
    let (one, two, three) = (text(&answers.0), text(&answers.1), text(&answers.2));
    assert!(one.starts_with("TRV-"), "{one}");
    assert_eq!((two, three), (one, one));
    assert_eq!(count(&database).await, (1, 1));
}

/// Calls a handler. Returns the text of its result, and the number of bookings and claims afterwards.
async fn attempt<Fut>(
    cluster: &Cluster,
    book: impl Fn(Ctx, Pool) -> Fut + Clone + Send + Sync + 'static,
) -> (String, (i64, i64))
where
    Fut: Future<Output = Result<String>> + Send + 'static,
{
    let database = author(&place(cluster)).await;
    let tool = move |ctx: Ctx, State(database): State<Pool>| book(ctx, database);
    let server = agency(database.clone(), Tool::new("reserve", tool));
    let answer = round(&server, None).await;
    (text(&answer).to_owned(), count(&database).await)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_transaction_does_not_commit_has_not_happened() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    // The effect fails, in words or in SQL, and the author commits the rest of the transaction.
    for statement in [INSERT, "INSERT INTO nothing DEFAULT VALUES"] {
        let fails = move |ctx: Ctx, database: Pool| async move {
            let mut connection = database.get().await.map_err(Error::internal)?;
            let transaction = connection.transaction().await?;
            let failed = PostgresStore::commit_in(&ctx, &transaction, "book", async || {
                let _ = transaction.execute(statement, &[]).await;
                Err::<(), _>(Error::new("no seat is left"))
            });
            let why = failed.await.unwrap_err().to_string();
            let again =
                PostgresStore::commit_in(&ctx, &transaction, "book", async || Ok(why)).await?;
            transaction.commit().await?;
            Ok(again)
        };
        let came_to = attempt(&cluster, fails).await;
        assert_eq!(came_to, ("no seat is left".into(), (0, 1)));
    }
    // The effect succeeds, and the author does not commit.
    let drops = |ctx: Ctx, database: Pool| async move {
        let mut connection = database.get().await.map_err(Error::internal)?;
        for _ in 0..2 {
            let transaction = connection.transaction().await?;
            let booked = PostgresStore::commit_in(&ctx, &transaction, "book", async || {
                transaction.execute(INSERT, &[]).await?;
                Ok(())
            });
            booked.await?;
        }
        Ok("dropped".to_owned())
    };
    assert_eq!(attempt(&cluster, drops).await, ("dropped".into(), (0, 0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_good_for_one_commit() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    let twice = |ctx: Ctx, database: Pool| async move {
        book(&ctx, &database).await?;
        let again = book(&ctx, &database).await;
        Ok(again.unwrap_or_else(|error| error.to_string()))
    };
    let (said, counts) = attempt(&cluster, twice).await;
    assert!(said.starts_with(NAME_IS_USED), "{said}");
    assert_eq!(counts, (1, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_kept_is_undone() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    for (what, statement, length, expected) in [
        ("a long value", INSERT, usize::MAX, "return less"),
        // Nothing of a transaction with a statement that failed can be kept.
        ("a failure", "SELECT 1/0", 0, "its operator finds the cause"),
    ] {
        let books = move |ctx: Ctx, database: Pool| async move {
            let mut connection = database.get().await.map_err(Error::internal)?;
            let transaction = connection.transaction().await?;
            let length = length.min(ctx.limits().asking.commit_bytes);
            let booked = PostgresStore::commit_in(&ctx, &transaction, "book", async || {
                // The author ignores an error.
                let _ = transaction.execute(statement, &[]).await;
                Ok("x".repeat(length))
            });
            let why = booked.await.unwrap_err();
            transaction.commit().await?;
            Ok(why.to_string())
        };
        let (said, counts) = attempt(&cluster, books).await;
        assert_eq!(counts, (0, 0), "{what}: {said}");
        assert!(said.contains(expected), "{what}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_that_ends_its_transaction_is_an_error() {
    let Some(cluster) = Cluster::join() else {
        return;
    };
    for statement in ["COMMIT", "ROLLBACK", "COMMIT; BEGIN", "ROLLBACK; BEGIN"] {
        for fails in [false, true] {
            let ends = move |ctx: Ctx, database: Pool| async move {
                let mut connection = database.get().await.map_err(Error::internal)?;
                let transaction = connection.transaction().await?;
                let booked = PostgresStore::commit_in(&ctx, &transaction, "book", async || {
                    transaction.batch_execute(statement).await?;
                    match fails {
                        true => Err(Error::new("full")),
                        false => Ok(()),
                    }
                });
                Ok(booked.await.unwrap_err().to_string())
            };
            let (said, _) = attempt(&cluster, ends).await;
            // If the effect fails in a transaction of its own, the author reads its error.
            let expected = match fails && statement.ends_with("BEGIN") {
                true => "full",
                false => "the effect of `book` ended its transaction",
            };
            assert!(said.starts_with(expected), "{statement} {fails}: {said}");
        }
    }
}
