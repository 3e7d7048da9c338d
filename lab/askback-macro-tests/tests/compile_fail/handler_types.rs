use askback::{Answer, Ctx, Form, Prompt, Resource, Result, Tool, ctx::Confirm, prompt, resource, tool};

struct Trip;

#[derive(Form)]
struct Contact {
    name: String,
}

struct Booking;

#[tool]
async fn takes_a_struct(_ctx: Ctx, _trip: Trip) -> Result<()> {
    Ok(())
}

#[tool]
async fn returns_a_struct() -> Result<Booking> {
    Ok(Booking)
}

#[tool]
async fn returns_an_answer(ctx: Ctx) -> Result<Answer<String>> {
    Ok(ctx.elicit("Where to?").await?)
}

#[tool]
async fn returns_a_question(ctx: Ctx) -> Result<Confirm> {
    Ok(ctx.confirm("Sure?"))
}

#[tool]
async fn fails_with_a_text() -> Result<(), String> {
    Ok(())
}

#[prompt]
async fn returns_nothing() {}

#[resource(uri = "travel://all")]
async fn returns_a_number() -> Result<u8> {
    Ok(1)
}

#[tool]
async fn asks_for_arguments(#[ask("Who?")] _contact: Contact) -> Result<()> {
    Ok(())
}

async fn plain() -> Result<()> {
    Ok(())
}

fn main() {
    let _: [Tool; 6] = [
        takes_a_struct(),
        returns_a_struct(),
        returns_an_answer(),
        returns_a_question(),
        fails_with_a_text(),
        asks_for_arguments(),
    ];
    let _: (Prompt, Resource) = (returns_nothing(), returns_a_number());
    askback::Server::new("a", "1").tool(plain);
}
