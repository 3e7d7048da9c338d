//! `page-server`: a server on stdio for the tests of the page. Its tools ask every kind of question, and return every
//! kind of content.

use askback::{
    Ctx, Form, Result, RunError, Server,
    ctx::Progress,
    forms::{ChoiceField, Field, FormSchema, TextField},
    protocol::{ContentBlock, CreateMessageParams},
    tool,
};

/// Markup and invisible characters.
const MARKUP: &str = "\"'></bdi></pre></textarea><img src=x onerror=\"document.title='taken'\">\
                      <script>document.title='taken'</script>\u{202e}\u{200b}\u{1b}[2J";

/// A picture of 1 pixel, in base64.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==";

/// A sound of 1 sample, in base64.
const WAV: &str = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQIAAAAAAA==";

#[derive(Form)]
struct Seat {
    /// The name on the ticket.
    #[form(title = "Name", min_length = 2)]
    name: String,
    /// A seat by the window costs 5 USD.
    #[form(title = "Window")]
    window: bool,
}

/// Asks for a seat.
#[tool(title = "Choose a seat")]
async fn seat(ctx: Ctx) -> Result<String> {
    let seat: Seat = ctx.elicit("Which seat?").await?.accepted()?;
    Ok(match seat.window {
        true => format!("A window seat for {}.", seat.name),
        false => format!("A seat for {}.", seat.name),
    })
}

/// Asks to open a page.
#[tool]
async fn pay(ctx: Ctx, url: String) -> Result<&'static str> {
    ctx.elicit_url("Pay the fee.", url).await?.accepted()?;
    Ok("Paid.")
}

/// Asks a model for a poem.
#[tool]
async fn poem(ctx: Ctx) -> Result<String> {
    let request = CreateMessageParams::new("Write a haiku about Kyoto.", 200);
    let reply = ctx.sample(request).await?;
    Ok(reply.content.text())
}

/// Asks for the folders of the client.
#[tool]
async fn folders(ctx: Ctx) -> Result<String> {
    let roots = ctx.roots().await?;
    Ok(format!("{} folders", roots.as_client_says().len()))
}

/// Returns text, a picture and a sound.
#[tool(read_only)]
async fn picture() -> Result<Vec<ContentBlock>> {
    Ok(vec![
        "A picture and a sound:".into(),
        ContentBlock::image(PNG, "image/png"),
        ContentBlock::audio(WAV, "audio/wav"),
    ])
}

/// Reports progress, and never ends.
#[tool(read_only)]
async fn wait(ctx: Ctx) -> Result<String> {
    ctx.progress(Progress::of(1, 4).message(MARKUP));
    std::future::pending().await
}

/// Returns the sum of two numbers.
#[tool(read_only)]
async fn add(a: i64, b: i64) -> Result<String> {
    Ok(a.saturating_add(b).to_string())
}

/// Asks with markup in every text, and returns markup.
#[tool(title = "</bdi><script>document.title='taken'</script>")]
async fn markup(ctx: Ctx) -> Result<&'static str> {
    let text = Field::new("text", TextField::default().with_default(MARKUP));
    let choice = Field::new("choice", ChoiceField::new([MARKUP, "other"]));
    let form = FormSchema::new([
        text.title(MARKUP).description(MARKUP).optional(),
        choice.title(MARKUP).description(MARKUP).optional(),
    ]);
    ctx.elicit_form(MARKUP, form).await?.accepted()?;
    Ok(MARKUP)
}

#[tokio::main]
async fn main() -> Result<(), RunError> {
    let server = Server::new("page-server", MARKUP)
        .tool(seat)
        .tool(pay)
        .tool(poem)
        .tool(folders)
        .tool(picture)
        .tool(add)
        .tool(wait)
        .tool(markup);
    server.run_stdio().await
}
