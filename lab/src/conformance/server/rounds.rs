//! Tools that ask with the suite's keys, in one round or more.

use askback::{
    Answer, Ctx, Form, Result,
    protocol::{
        CallToolResult, CreateMessageParams, ElicitParams, InputRequest, InputRequiredResult,
        Outcome,
    },
    tool,
};

#[derive(Form)]
struct Name {
    name: String,
}

#[derive(Form)]
struct Color {
    color: String,
}

#[derive(Form)]
struct Consent {
    ok: bool,
}

/// Greets the user by name. The first call may have the answer already.
///
/// A round written by hand: the suite answers before it was asked, and expects to be heard.
#[tool]
pub(super) async fn test_input_required_result_elicitation(
    ctx: Ctx,
) -> Result<Outcome<CallToolResult>> {
    if let Ok(Some(answer)) = ctx.incoming().answer::<Name>("user_name") {
        let Name { name } = answer.accepted()?;
        return Ok(CallToolResult::new(format!("Hello, {name}!")).into());
    }
    let question = InputRequest::from(ElicitParams::form("What is your name?", Name::schema()));
    Ok(Outcome::NeedInput(InputRequiredResult {
        input_requests: Some([("user_name".to_owned(), question)].into_iter().collect()),
        ..InputRequiredResult::default()
    }))
}

/// Asks the model for a capital.
#[tool]
pub(super) async fn test_input_required_result_sampling(ctx: Ctx) -> Result<String> {
    let question = CreateMessageParams::new("What is the capital of France?", 100);
    let reply = ctx.sample(question).key("capital_question").await?;
    Ok(reply.content.text())
}

/// Asks for the folders in which it may work.
#[tool]
pub(super) async fn test_input_required_result_list_roots(ctx: Ctx) -> Result<String> {
    let roots = ctx.roots().key("client_roots").await?;
    let uris = roots.as_client_says().iter();
    let uris: Vec<_> = uris.map(|root| &*root.uri).collect();
    Ok(format!("Roots: {}", uris.join(", ")))
}

/// Asks for consent. That it ends well shows that the state came back.
#[tool]
pub(super) async fn test_input_required_result_request_state(ctx: Ctx) -> Result<&'static str> {
    let consent: Consent = ctx
        .elicit("Please confirm")
        .key("confirm")
        .await?
        .accepted()?;
    Ok(if consent.ok {
        "state-ok"
    } else {
        "state-ok, and a no"
    })
}

/// Asks three questions in one round: a form, a completion and the roots.
#[tool]
pub(super) async fn test_input_required_result_multiple_inputs(ctx: Ctx) -> Result<String> {
    let (name, greeting, roots) = tokio::try_join!(
        ctx.elicit::<Name>("What is your name?").key("user_name"),
        ctx.sample(CreateMessageParams::new("Generate a greeting", 50))
            .key("greeting"),
        ctx.roots().key("client_roots"),
    )?;
    let (Name { name }, greeting) = (name.accepted()?, greeting.content.text());
    Ok(format!(
        "{greeting} {name} has {} roots.",
        roots.as_client_says().len()
    ))
}

/// Asks two questions, one after the other.
#[tool]
pub(super) async fn test_input_required_result_multi_round(ctx: Ctx) -> Result<String> {
    let Name { name } = ctx
        .elicit("Step 1: What is your name?")
        .key("step1")
        .await?
        .accepted()?;
    let question = "Step 2: What is your favorite color?";
    let Color { color } = ctx.elicit(question).key("step2").await?.accepted()?;
    Ok(format!("{name} likes {color}."))
}

/// Asks for consent. A state that was tampered with never reaches this function.
#[tool]
pub(super) async fn test_input_required_result_tampered_state(ctx: Ctx) -> Result<&'static str> {
    let consent: Answer<Consent> = ctx.elicit("Please confirm").key("confirm").await?;
    Ok(if consent.accepted()?.ok {
        "confirmed"
    } else {
        "not confirmed"
    })
}

/// Asks the user if the client supports that, otherwise the model.
#[tool]
pub(super) async fn test_input_required_result_capabilities(ctx: Ctx) -> Result<String> {
    if ctx.can_elicit() {
        let Name { name } = ctx
            .elicit("What is your name?")
            .key("user_name")
            .await?
            .accepted()?;
        return Ok(format!("Hello, {name}!"));
    }
    if ctx.can_sample() {
        let question = CreateMessageParams::new("Generate a greeting", 50);
        return Ok(ctx.sample(question).key("greeting").await?.content.text());
    }
    Ok("There is nobody to ask.".to_owned())
}
