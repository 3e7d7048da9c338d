use askback::{Ctx, Form, Prompt, Resource, Result, Tool, prompt, resource, tool};

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
async fn returns_no_result() -> String {
    String::new()
}

#[prompt]
async fn returns_nothing() -> Result<()> {
    Ok(())
}

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
    let _: [Tool; 4] = [
        takes_a_struct(),
        returns_a_struct(),
        returns_no_result(),
        asks_for_arguments(),
    ];
    let _: (Prompt, Resource) = (returns_nothing(), returns_a_number());
    askback::Server::new("a", "1").tool(plain);
}
