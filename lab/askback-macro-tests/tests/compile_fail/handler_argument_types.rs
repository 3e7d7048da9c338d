use askback::{Form, Result, prompt, tool};

#[derive(Form)]
struct Trip {
    city: String,
}

#[derive(Form)]
enum Seat {
    Window,
}

struct Unknown;

#[tool]
async fn mixes(trip: Trip, nights: u8) -> Result<String> {
    Ok(format!("{} {nights}", trip.city))
}

#[prompt]
async fn bounds_a_text(#[arg(max = 9)] city: String) -> Result<String> {
    Ok(city)
}

#[tool]
async fn nests(#[arg] trip: Trip) -> Result<String> {
    Ok(trip.city)
}

#[tool]
async fn takes_an_unmarked_choice(_seat: Seat) -> Result<()> {
    Ok(())
}

#[tool]
async fn takes_what_is_unknown(#[arg] _unknown: Unknown) -> Result<()> {
    Ok(())
}

#[tool]
async fn takes_a_list_without_the_feature(names: Vec<String>) -> Result<String> {
    Ok(names.concat())
}

#[prompt]
async fn prompts_with_a_list(names: Vec<String>) -> Result<String> {
    Ok(names.concat())
}

#[tool]
async fn bounds_a_list(#[arg(max = 9)] rows: Vec<u8>) -> Result<u8> {
    Ok(rows[0])
}

#[tool]
async fn takes_a_size(count: usize) -> Result<String> {
    Ok(count.to_string())
}

fn main() {}
