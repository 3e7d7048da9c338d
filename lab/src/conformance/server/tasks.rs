//! Slow tools, which become tasks if the client supports tasks.

use std::time::Duration;

use askback::{Ctx, Error, Form, Result, protocol::ErrorObject, tool};

#[derive(Form)]
pub(super) struct Greeting {
    /// The name to greet.
    name: String,
}

#[derive(Form)]
pub(super) struct Work {
    /// How long it takes.
    #[form(max = 3600, default = 1)]
    seconds: u32,
    /// Its name.
    label: Option<String>,
}

#[derive(Form)]
pub(super) struct File {
    /// Which file.
    filename: String,
}

#[derive(Form)]
struct Confirmation {
    confirm: bool,
}

#[derive(Form)]
struct Entry {
    name: String,
    confirm: bool,
}

#[derive(Form)]
struct Name {
    name: String,
}

/// How long work takes if the suite does not specify it.
const A_SECOND: Duration = Duration::from_secs(1);

/// Greets at once.
#[tool]
pub(super) async fn greet(greeting: Greeting) -> Result<String> {
    Ok(format!("Hello, {}!", greeting.name))
}

/// Computes for a while.
#[tool]
pub(super) async fn slow_compute(ctx: Ctx, work: Work) -> Result<String> {
    ctx.sleep(Duration::from_secs(work.seconds.into())).await;
    let label = work.label.as_deref().unwrap_or("It");
    Ok(format!("{label} took {} s.", work.seconds))
}

/// Works for a second and fails.
#[tool]
pub(super) async fn failing_job(ctx: Ctx) -> Result<()> {
    ctx.sleep(A_SECOND).await;
    Err(Error::new("The job failed, as it always does."))
}

/// Works for a second and ends in an error of the protocol.
#[tool]
pub(super) async fn protocol_error_job(ctx: Ctx) -> Result<()> {
    ctx.sleep(A_SECOND).await;
    Err(Error::protocol(ErrorObject::internal(
        "The job broke, as it always does.",
    )))
}

/// Deletes a file, if the person confirms it. There is no file.
#[tool]
pub(super) async fn confirm_delete(ctx: Ctx, file: File) -> Result<String> {
    let question = format!("Delete {}?", file.filename);
    let Confirmation { confirm } = ctx.elicit(question).await?.accepted()?;
    let done = if confirm { "was deleted" } else { "was kept" };
    Ok(format!("{} {done}.", file.filename))
}

/// Asks two questions at the same time.
#[tool]
pub(super) async fn multi_input(ctx: Ctx) -> Result<String> {
    let questions = (
        ctx.elicit::<Entry>("Who is first?").key("first"),
        ctx.elicit::<Entry>("Who is second?").key("second"),
    );
    let (first, second) = ctx.elicit_all(questions).await?;
    let told = |entry: Entry| format!("{}: {}", entry.name, entry.confirm);
    Ok(format!(
        "{}, {}",
        told(first.accepted()?),
        told(second.accepted()?)
    ))
}

/// Asks in an ordinary round, and then takes its time.
#[tool]
pub(super) async fn test_tool_with_task(ctx: Ctx) -> Result<String> {
    let question = "What is your name?";
    let Name { name } = ctx.elicit(question).key("user_name").await?.accepted()?;
    ctx.become_task().await?;
    ctx.sleep(A_SECOND).await;
    Ok(format!("Hello, {name}, after a while."))
}
