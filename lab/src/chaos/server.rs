//! The server of the processes: the travel agency, with tools, prompts and resources that ask in other ways.

use std::{error::Error, fs::OpenOptions, io::Write as _, path::Path, sync::Arc, time::Duration};

use askback::{
    Ctx, Fleet, Form, Principal, Result, State,
    authorization::server::{Access, Protection, TokenError},
    keys::{Key, KeyRing, KeySource},
    prompt, resource,
    store::SqliteStore,
    tool,
};
use askback_core::auth::Scopes;
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
        let mut file = OpenOptions::new().append(true).create(true).open(&self.0)?;
        // In a single write, because other processes append at the same time.
        file.write_all(format!("{line}\n").as_bytes())?;
        Ok(file.sync_data()?)
    }
}

/// Serves as one process of the fleet until it is stopped. All processes share the database.
///
/// # Errors
///
/// If the file or the address cannot be used.
pub async fn serve(address: &str, database: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    let folder = database.parent().ok_or("a file within a folder")?;
    let store = Arc::new(SqliteStore::open(database)?);
    let server = askback_travel::builder(Bookings::in_directory(folder)?, Itineraries::Nowhere)
        .tool(book_group)
        .tool(book_later)
        .prompt(invite)
        .resource(ticket)
        .state(Effects(folder.join("effects.jsonl").into()))
        .service("chaos")
        .keys(KeySource::Ring(KeyRing::new(Key::new(&KEY))))
        .store(Arc::clone(&store))
        .fleet(Fleet::new(Arc::clone(&store)).bus(store))
        .build()?;
    // The token is the person's name, so each call has its own person.
    let protection = Protection::verify_with("http://127.0.0.1/mcp", |token| async move {
        let scopes =
            Scopes::of(["travel:book"]).map_err(|error| TokenError::Invalid(error.to_string()))?;
        Ok(Access::new(Principal::new(token), scopes))
    })?;
    let listener = TcpListener::bind(address).await?;
    let mut terminated = signal(SignalKind::terminate())?;
    let stop = async move {
        terminated.recv().await;
    };
    let endpoint = server.http().protect(protection);
    Ok(endpoint.serve_until(listener, stop).await?)
}
