//! An expense desk: employees file expenses, and approvers sign in and approve them.

mod claims;
mod web;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use askback::{
    Change, Ctx, Error, Form, Json, Principal, Result, Server, ServerBuilder, State,
    ctx::Progress,
    protocol::{ContentBlock, CreateMessageParams, LoggingLevel},
    resource,
    schemars::{self, JsonSchema},
    server::CompletionRequest,
    tool,
};
use serde::{Deserialize, Serialize};

pub use claims::Claims;
pub use web::{Tokens, router};

/// Creates the desk's server.
pub fn server(claims: &Claims) -> ServerBuilder {
    let approvers = Approvers::default();
    let known = approvers.clone();
    Server::new("expense-desk", "1.0.0")
        .state(claims.clone())
        .state(approvers)
        .state(Audit::default())
        .tool(file_expenses)
        .tool(sign_in)
        .tool(approve().visible_to(move |caller| known.have(caller)))
        .tool(audit)
        .resource(policy)
        .resource_template(claim)
        .logging()
}

#[derive(Clone, Default)]
struct Approvers(Arc<Mutex<HashSet<Principal>>>);

impl Approvers {
    fn sign_in(&self, caller: Principal) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(caller);
    }

    fn have(&self, caller: Option<&Principal>) -> bool {
        let approvers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        caller.is_some_and(|caller| approvers.contains(caller))
    }
}

/// Held by the running audit.
#[derive(Clone, Default)]
struct Audit(Arc<tokio::sync::Mutex<()>>);

#[derive(Deserialize, JsonSchema)]
struct Bill {
    /// The reason, such as a trip.
    purpose: String,
    items: Vec<Item>,
}

#[derive(Deserialize, JsonSchema)]
struct Item {
    /// The thing that was bought.
    what: String,
    /// The amount in cents.
    cents: u32,
}

#[derive(Clone, Serialize, JsonSchema)]
struct Claim {
    /// None if nothing was filed.
    number: Option<i64>,
    title: String,
    cents: i64,
}

#[derive(Form)]
enum Department {
    Research,
    Sales,
}

#[derive(Form)]
struct Filing {
    /// The department that pays.
    department: Department,
    #[form(max_length = 100)]
    note: Option<String>,
}

/// Files a claim for expenses.
#[tool]
async fn file_expenses(
    ctx: Ctx,
    State(claims): State<Claims>,
    Json(Bill { purpose, items }): Json<Bill>,
) -> Result<Json<Claim>> {
    let mut claim = Claim {
        number: None,
        title: purpose,
        cents: 0,
    };
    for (at, Item { what, cents }) in (1u32..).zip(&items) {
        let message = format!("Checking {what}");
        ctx.progress(Progress::of(at, items.len() as f64).message(message));
        if *cents >= 50_000 {
            ctx.log(LoggingLevel::Notice, format!("{what} is much"));
        }
        claim.cents += i64::from(*cents);
    }
    if ctx.can_sample() {
        let wanted = format!("A title of five words: {}", claim.title);
        let title = ctx.sample(CreateMessageParams::new(wanted, 50)).await?;
        claim.title = title.content.text();
    }
    let nothing = Json(claim.clone()).with_text("Nothing was filed.");
    let question = format!("File {} cents for {}?", claim.cents, claim.title);
    let filing: Filing = ctx.elicit(question).await?.accepted_or(nothing.clone())?;
    // The second form depends on the answer to the first.
    let projects = match filing.department {
        Department::Research => ["Batteries", "Solar cells"],
        Department::Sales => ["Fair in Berlin", "Key accounts"],
    };
    let project = ctx.choose("For which project?", projects).key("project");
    let project = project.await?.accepted_or(nothing)?;
    let caller = owner(ctx.principal());
    let row = (
        caller,
        claim.title.clone(),
        filing.note,
        project,
        claim.cents,
    );
    let flow = ctx.clone();
    claim.number = Some(ctx.run("file", || claims.file(flow, row)).await?);
    Ok(Json(claim))
}

/// The owner of a claim. Over stdio, callers are not authenticated.
fn owner(caller: Option<&Principal>) -> String {
    caller.map_or("", |caller| &caller.subject).to_owned()
}

/// Signs an approver in.
#[tool]
async fn sign_in(ctx: Ctx, State(approvers): State<Approvers>) -> Result<&'static str> {
    let caller = ctx.principal().cloned();
    let caller = caller.ok_or_else(|| Error::new("Only callers with a token can sign in."))?;
    if !ctx.confirm("Act as an approver?").await? {
        return Ok("You are not signed in.");
    }
    approvers.sign_in(caller);
    ctx.changed_for_caller(Change::Tools);
    Ok("You are signed in.")
}

/// Approves a claim of another user.
#[tool]
async fn approve(ctx: Ctx, State(claims): State<Claims>, number: i64) -> Result<[ContentBlock; 2]> {
    let approved = claims.approve(number, owner(ctx.principal())).await;
    if !approved.map_err(Error::internal)? {
        return Err(Error::new(format!(
            "There is no claim {number} that you may approve."
        )));
    }
    let stamp = ContentBlock::image_bytes(include_bytes!("approved.png"), "image/png");
    Ok([ContentBlock::text("It is approved."), stamp])
}

/// Compares all claims with the bank's records, which takes 20 seconds.
#[tool(read_only)]
async fn audit(
    ctx: Ctx,
    State(claims): State<Claims>,
    State(audit): State<Audit>,
) -> Result<String> {
    let under_way = audit.0.try_lock();
    let _under_way = under_way.map_err(|_| Error::new("An audit is under way."))?;
    for second in 1..=20 {
        ctx.sleep(Duration::from_secs(1)).await;
        ctx.progress(Progress::of(second, 20.0));
    }
    let claims = claims.find(None).await.map_err(Error::internal)?;
    Ok(format!("{} claims are right.", claims.len()))
}

/// The rules of the desk.
#[resource(uri = "expense://policy", mime_type = "text/plain")]
async fn policy() -> Result<&'static str> {
    Ok("Items of 500 EUR and more are noted.")
}

/// A claim of the caller.
#[resource(uri = "expense://claims/{number}", complete(number = numbers))]
async fn claim(ctx: Ctx, State(claims): State<Claims>, number: i64) -> Result<String> {
    let claims = claims.find(Some(owner(ctx.principal()))).await;
    let mut claims = claims.map_err(Error::internal)?.into_iter();
    let found = claims.find_map(|(found, title)| (found == number).then_some(title));
    found.ok_or_else(|| Error::not_found(format!("there is no claim {number}")))
}

async fn numbers(typed: CompletionRequest, State(claims): State<Claims>) -> Result<Vec<String>> {
    let claims = claims.find(Some(owner(typed.principal.as_deref()))).await;
    let claims = claims.map_err(Error::internal)?.into_iter();
    let numbers = claims.map(|(number, _)| number.to_string());
    Ok(numbers
        .filter(|number| number.starts_with(&typed.value))
        .collect())
}
