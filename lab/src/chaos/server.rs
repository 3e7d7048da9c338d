//! The server of the processes: the travel agency, with tools, prompts and resources that ask in other ways.

use std::{
    error::Error,
    fs::{File, OpenOptions},
    io::Write as _,
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

use super::balancer::MARK;
use askback::{
    Ctx, Fleet, Form, Principal, Result, State,
    authorization::server::{Access, Protection, TokenError},
    journal::{Bus, HeardHints, Journal, StoreError, StoreFuture, Topic},
    keys::{Key, KeyRing, KeySource},
    prompt, resource,
    store::{SqliteStore, Store},
    tool,
};
use askback_core::auth::Scopes;
use askback_fleet::{NatsBus, PostgresBus, PostgresSettings, PostgresStore, RedisBus, Secret};
use askback_travel::{Bookings, Itineraries};
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    signal::unix::{SignalKind, signal},
    time::sleep,
};

const KEY: [u8; 32] = *b"the key of processes that die...";

const WORK: Duration = Duration::from_millis(20);

/// The bookings file. All processes append to it.
#[derive(Clone)]
struct Effects(Arc<Path>);

#[derive(Form)]
struct Consent {
    confirm_booking: bool,
}

#[derive(Form)]
struct Contact {
    #[form(format = "email")]
    email: String,
}

#[derive(Form)]
struct Room {
    #[form(default = 2)]
    beds: u8,
}

/// Asks one question, then two at once, and books.
async fn book(ctx: Ctx, effects: Effects) -> Result<String> {
    ctx.run("quote", work).await?;
    let consent: Consent = ctx.elicit("Shall we book?").await?.accepted()?;
    ctx.run("hold", work).await?;
    let questions = (
        ctx.elicit::<Contact>("Who travels?"),
        ctx.elicit::<Room>("Which room?"),
    );
    let (contact, room) = ctx.elicit_all(questions).await?;
    let (contact, room) = (contact.accepted()?, room.accepted()?);
    if !consent.confirm_booking {
        return Ok("Nothing was booked.".to_owned());
    }
    let text = signed(&ctx, &contact);
    let line = json!({
        "owner": {"subject": subject(&ctx)},
        "contact": {"email": contact.email},
        "beds": room.beds,
    });
    ctx.commit("book", move || async move { effects.add(&line) })
        .await?;
    Ok(text)
}

/// Books a room for a group.
#[tool]
async fn book_group(ctx: Ctx, State(effects): State<Effects>) -> Result<String> {
    book(ctx, effects).await
}

/// Books a room for a group, as a task that another process goes on with.
#[tool(task = "required", durable)]
async fn book_later(ctx: Ctx, State(effects): State<Effects>) -> Result<String> {
    book(ctx, effects).await
}

/// Writes an invitation.
#[prompt]
async fn invite(ctx: Ctx) -> Result<String> {
    guest(ctx).await
}

/// The ticket of a guest.
#[resource(uri = "chaos://ticket")]
async fn ticket(ctx: Ctx) -> Result<String> {
    guest(ctx).await
}

async fn guest(ctx: Ctx) -> Result<String> {
    ctx.run("look", work).await?;
    let contact: Contact = ctx.elicit("Who is the guest?").await?.accepted()?;
    ctx.run("write", work).await?;
    Ok(signed(&ctx, &contact))
}

/// Says hello. Asks nothing.
#[tool]
async fn hello() -> Result<&'static str> {
    Ok("Hello!")
}

/// Says hello to a guest who is asked for their address, and does nothing else.
#[tool]
async fn greet(ctx: Ctx) -> Result<String> {
    let contact: Contact = ctx.elicit("Who is the guest?").await?.accepted()?;
    Ok(signed(&ctx, &contact))
}

async fn work() -> Result<()> {
    sleep(WORK).await;
    Ok(())
}

fn subject(ctx: &Ctx) -> &str {
    ctx.principal().map_or("", |person| &person.subject)
}

/// Returns the text of a result: the guest, and the caller.
fn signed(ctx: &Ctx, contact: &Contact) -> String {
    format!("{} of {}", contact.email, subject(ctx))
}

impl Effects {
    fn add(&self, line: &Value) -> Result<()> {
        let mut file = append(&self.0)?;
        // In a single write, because other processes append at the same time.
        file.write_all(format!("{line}\n").as_bytes())?;
        Ok(file.sync_data()?)
    }
}

/// The files that all processes share in their folder.
pub(super) const DATABASE: &str = "fleet.db";
/// Has a byte per hint.
pub(super) const HINTS: &str = "hints";
/// Has a line with the number of each request, each time that a process handles it.
pub(super) const HANDLED: &str = "handled";

/// How long an operation waits for PostgreSQL. A slow machine starts it again within this time.
const OUTAGE: Duration = Duration::from_secs(60);

/// How long a starting process waits for its engines.
const ENGINES: Duration = Duration::from_secs(60);

type BoxError = Box<dyn Error + Send + Sync>;

/// Serves as one process of the fleet until it is stopped. All processes share the folder, the journal (`sqlite` or a
/// connection string of PostgreSQL), and the bus (`none`, `sqlite`, `postgres` or an address).
///
/// # Errors
///
/// If the folder, an engine or the address cannot be used.
pub async fn serve(address: &str, folder: &Path, journal: &str, bus: &str) -> Result<(), BoxError> {
    // The log goes to `nodes.log`.
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_writer(std::io::stderr)
        .init();
    tracing::info!(address, id = std::process::id(), "a process starts");
    if journal == "sqlite" || journal == "none" {
        let store = Arc::new(SqliteStore::open(folder.join(DATABASE))?);
        if journal == "none" {
            return serve_with(address, folder, store, None).await;
        }
        let bus = connect_bus(bus, Some(Arc::clone(&store) as Arc<dyn Bus>)).await?;
        let fleet = fleet(folder, Arc::clone(&store), bus)?;
        return serve_with(address, folder, store, Some(fleet)).await;
    }
    let mut settings = PostgresSettings::new(Secret::new(journal));
    settings.wait = OUTAGE;
    let store = until_reachable(async || PostgresStore::connect(settings.clone()).await).await?;
    let of_journal = until_reachable(async || match bus {
        "postgres" => Ok(Some(PostgresBus::connect(settings.clone()).await?)),
        _ => Ok(None),
    });
    let bus = match of_journal.await? {
        Some(bus) => Some(Arc::new(bus) as Arc<dyn Bus>),
        None => connect_bus(bus, None).await?,
    };
    let store = Arc::new(store);
    let fleet = fleet(folder, Arc::clone(&store), bus)?;
    serve_with(address, folder, store, Some(fleet)).await
}

fn fleet(
    folder: &Path,
    journal: impl Journal + 'static,
    bus: Option<Arc<dyn Bus>>,
) -> std::io::Result<Fleet> {
    let fleet = Fleet::new(journal);
    let Some(bus) = bus else { return Ok(fleet) };
    let count = append(&folder.join(HINTS))?;
    Ok(fleet.bus(CountedBus { bus, count }))
}

/// Repeats this until it succeeds, for at most [`ENGINES`], because an engine may be starting.
async fn until_reachable<T>(
    connect: impl AsyncFn() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let begun = Instant::now();
    loop {
        match connect().await {
            Err(_) if begun.elapsed() < ENGINES => sleep(Duration::from_millis(100)).await,
            connected => return connected,
        }
    }
}

async fn connect_bus(
    bus: &str,
    of_journal: Option<Arc<dyn Bus>>,
) -> Result<Option<Arc<dyn Bus>>, StoreError> {
    let address = Secret::new(bus);
    Ok(match bus.split(':').next() {
        Some("sqlite") => of_journal,
        Some("nats") => {
            let connect = async || NatsBus::connect(&address, SERVICE).await;
            Some(Arc::new(until_reachable(connect).await?))
        }
        Some("redis") => {
            let connect = async || RedisBus::connect(&address, SERVICE).await;
            Some(Arc::new(until_reachable(connect).await?))
        }
        _ => None,
    })
}

const SERVICE: &str = "chaos";

/// A bus that counts hints.
struct CountedBus {
    bus: Arc<dyn Bus>,
    count: File,
}

impl Bus for CountedBus {
    fn publish(&self, topic: Topic, hint: &[u8]) {
        self.bus.publish(topic, hint);
        // The number is only reported.
        let _ = (&self.count).write_all(b".");
    }

    fn hear(&self, after: Option<u64>) -> StoreFuture<'_, HeardHints> {
        self.bus.hear(after)
    }

    fn was_reached(&self) -> bool {
        self.bus.was_reached()
    }

    fn is_refused(&self) -> bool {
        self.bus.is_refused()
    }

    fn passes_calls(&self) -> bool {
        self.bus.passes_calls()
    }
}

fn append(file: &Path) -> std::io::Result<File> {
    OpenOptions::new().append(true).create(true).open(file)
}

async fn serve_with(
    address: &str,
    folder: &Path,
    store: impl Store + 'static,
    fleet: Option<Fleet>,
) -> Result<(), BoxError> {
    let builder = askback_travel::builder(Bookings::in_directory(folder)?, Itineraries::Nowhere)
        .tool(book_group)
        .tool(book_later)
        .prompt(invite)
        .resource(ticket)
        .tool(hello)
        .tool(greet)
        .state(Effects(folder.join("effects.jsonl").into()))
        .service(SERVICE)
        .keys(KeySource::Ring(KeyRing::new(Key::new(&KEY))))
        .store(store);
    let server = match fleet {
        None => builder.build()?,
        Some(fleet) => builder.fleet(fleet).build()?,
    };
    // The token is the person's name, so each call has its own person.
    let handled = Arc::new(append(&folder.join(HANDLED))?);
    let protection = Protection::verify_with("http://127.0.0.1/mcp", move |token| {
        let handled = Arc::clone(&handled);
        async move {
            let scopes = Scopes::of(["travel:book"])
                .map_err(|error| TokenError::Invalid(error.to_string()))?;
            let (name, request) = token.split_once(MARK).unwrap_or((&token, ""));
            // In a single write, because other processes append at the same time.
            let _ = (&*handled).write_all(format!("{request}\n").as_bytes());
            Ok(Access::new(Principal::new(name), scopes))
        }
    })?;
    let listener = TcpListener::bind(address).await?;
    let mut terminated = signal(SignalKind::terminate())?;
    let stop = async move {
        terminated.recv().await;
    };
    let endpoint = server.http().protect(protection);
    Ok(endpoint.serve_until(listener, stop).await?)
}
