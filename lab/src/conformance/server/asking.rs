//! Tools that ask the model or the user, in any revision.

use askback::{Answer, Ctx, Form, Result, ctx::Progress, protocol::CreateMessageParams, tool};
use serde_json::Value;

#[derive(Form)]
pub(super) struct Sampling {
    /// The prompt for the model.
    prompt: String,
}

#[derive(Form)]
pub(super) struct Elicitation {
    /// The message for the user.
    message: String,
}

#[derive(Form)]
struct User {
    /// User's response
    username: String,
    /// User's email address
    email: String,
}

#[derive(Form)]
struct Defaults {
    #[form(default = "John Doe")]
    name: String,
    #[form(default = 30)]
    age: u32,
    #[form(default = 95.5)]
    score: f64,
    #[form(default = Status::Active)]
    status: Status,
    #[form(default = true)]
    verified: bool,
}

#[derive(Form)]
enum Status {
    Active,
    Inactive,
    Pending,
}

#[derive(Form)]
#[form(rename_all = "camelCase")]
struct Enums {
    untitled_single: Untitled,
    titled_single: Titled,
    legacy_enum: Legacy,
    untitled_multi: Vec<Untitled>,
    titled_multi: Vec<Titled>,
}

#[derive(Form)]
#[form(rename_all = "lowercase")]
enum Untitled {
    Option1,
    Option2,
    Option3,
}

#[derive(Form)]
#[form(rename_all = "lowercase")]
enum Titled {
    #[form(title = "First Option")]
    Value1,
    #[form(title = "Second Option")]
    Value2,
    #[form(title = "Third Option")]
    Value3,
}

#[derive(Form)]
#[form(rename_all = "lowercase", enum_names)]
enum Legacy {
    #[form(title = "Option One")]
    Opt1,
    #[form(title = "Option Two")]
    Opt2,
    #[form(title = "Option Three")]
    Opt3,
}

#[derive(Form)]
struct Confirmation {
    confirm: bool,
}

/// Asks the model.
#[tool]
pub(super) async fn test_sampling(ctx: Ctx, sampling: Sampling) -> Result<String> {
    let reply = ctx
        .sample(CreateMessageParams::new(sampling.prompt, 100))
        .await?;
    Ok(format!("LLM response: {}", reply.content.text()))
}

/// Asks the person who they are.
#[tool]
pub(super) async fn test_elicitation(ctx: Ctx, elicitation: Elicitation) -> Result<String> {
    let user: Answer<User> = ctx.elicit(elicitation.message).await?;
    Ok(format!("User response: {}", told(user)))
}

/// Asks with every field filled in beforehand.
#[tool]
pub(super) async fn test_elicitation_sep1034_defaults(ctx: Ctx) -> Result<String> {
    let answer: Answer<Defaults> = ctx.elicit("Please review what is filled in.").await?;
    Ok(format!("Elicitation completed: {}", told(answer)))
}

/// Asks for choices, in every way in which they can be written.
#[tool]
pub(super) async fn test_elicitation_sep1330_enums(ctx: Ctx) -> Result<String> {
    let answer: Answer<Enums> = ctx.elicit("Please choose.").await?;
    Ok(format!("Elicitation completed: {}", told(answer)))
}

/// Needs a model; a client without one is told so.
#[tool]
pub(super) async fn test_missing_capability(ctx: Ctx) -> Result<String> {
    let reply = ctx
        .sample(CreateMessageParams::new("Say something.", 100))
        .await?;
    Ok(reply.content.text())
}

/// Asks the person in the middle of a streamed response.
#[tool]
pub(super) async fn test_streaming_elicitation(ctx: Ctx) -> Result<String> {
    ctx.progress(Progress::of(0.5, 1.0).message("about to ask"));
    let answer: Answer<Confirmation> = ctx.elicit("Shall we go on?").await?;
    Ok(told(answer))
}

/// Formats the user's answer as the suite expects.
fn told<T: Form>(answer: Answer<T>) -> String {
    let (action, content) = match answer {
        Answer::Accepted(form) => ("accept", Value::Object(form.write())),
        Answer::Declined { .. } => ("decline", Value::Null),
        Answer::Cancelled | Answer::DeclinedByClient { .. } => ("cancel", Value::Null),
    };
    format!("action={action}, content={content}")
}
