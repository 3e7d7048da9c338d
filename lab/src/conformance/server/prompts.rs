use askback::{
    Ctx, Form, Result, prompt,
    protocol::{ContentBlock, PromptMessage, ResourceContents},
    server::CompletionRequest,
};

use super::content::PNG;

#[derive(Form)]
pub(super) struct Arguments {
    /// First test argument
    arg1: String,
    /// Second test argument
    arg2: String,
}

#[derive(Form)]
#[form(rename_all = "camelCase")]
pub(super) struct Embedded {
    /// URI of the resource to embed
    resource_uri: String,
}

#[derive(Form)]
struct Context {
    context: String,
}

/// Says something.
#[prompt]
pub(super) async fn test_simple_prompt() -> Result<String> {
    Ok("This is a simple prompt for testing.".to_owned())
}

/// Repeats its arguments.
#[prompt(complete(arg1 = complete_arg1))]
pub(super) async fn test_prompt_with_arguments(arguments: Arguments) -> Result<String> {
    let Arguments { arg1, arg2 } = arguments;
    Ok(format!(
        "Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"
    ))
}

/// Brings a resource along.
#[prompt]
pub(super) async fn test_prompt_with_embedded_resource(
    embedded: Embedded,
) -> Result<Vec<PromptMessage>> {
    let text = "Embedded resource content for testing.";
    let resource = ResourceContents::text(embedded.resource_uri, text);
    let resource = ContentBlock::resource(resource.with_mime_type("text/plain"));
    Ok(vec![
        PromptMessage::user(resource),
        PromptMessage::user("Please process the embedded resource above."),
    ])
}

/// Shows a picture.
#[prompt]
pub(super) async fn test_prompt_with_image() -> Result<Vec<PromptMessage>> {
    Ok(vec![
        PromptMessage::user(ContentBlock::image(PNG, "image/png")),
        PromptMessage::user("Please analyze the image above."),
    ])
}

/// Asks the person what it should be about.
#[prompt]
pub(super) async fn test_input_required_result_prompt(ctx: Ctx) -> Result<String> {
    let question = "What context should the prompt use?";
    let Context { context } = ctx.elicit(question).key("user_context").await?.accepted()?;
    Ok(format!("Use this context: {context}"))
}

async fn complete_arg1(typed: CompletionRequest) -> Result<Vec<String>> {
    let known = ["paris", "park", "party"].into_iter();
    let fitting = known.filter(|known| known.starts_with(&typed.value));
    Ok(fitting.map(str::to_owned).collect())
}
