use askback::{Answer, Ctx, Form, Result, Tool};

#[derive(Form)]
struct Trip {
    city: String,
}

async fn borrows(trip: &Trip) -> Result<String> {
    Ok(trip.city.clone())
}

async fn takes_a_plain_argument(city: String) -> Result<String> {
    Ok(city)
}

async fn returns_an_answer(ctx: Ctx) -> Result<Answer<String>> {
    Ok(ctx.elicit("Where to?").await?)
}

fn is_not_async(trip: Trip) -> Result<String> {
    Ok(trip.city)
}

fn main() {
    let _ = Tool::new("borrows", borrows);
    let _ = Tool::new("takes_a_plain_argument", takes_a_plain_argument);
    let _ = Tool::new("returns_an_answer", returns_an_answer);
    let _ = Tool::new("is_not_async", is_not_async);
}
