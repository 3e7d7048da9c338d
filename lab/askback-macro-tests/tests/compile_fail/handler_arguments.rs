use askback::{Ask, Ctx, Form, PlainJson, Result, prompt, tool};

#[derive(Form)]
struct Trip {
    city: String,
}

#[derive(Form)]
enum Seat {
    Window,
}

#[tool]
async fn borrows_a_text(path: &str) -> Result<()> {}

#[tool]
async fn takes_a_size(size: usize) -> Result<()> {}

#[tool]
async fn takes_a_tuple(_pair: (u8, u8)) {}

#[tool]
async fn takes_texts(_names: Vec<String>) {}

#[tool]
async fn has_no_name(_: String) -> Result<()> {}

#[tool]
async fn says_nothing_known(#[arg(minimum = 1)] nights: u8) -> Result<()> {}

#[tool]
async fn says_no_list(#[arg = "nights"] nights: u8) -> Result<()> {}

#[tool]
async fn says_it_of_the_context(
    /// The way back.
    ctx: Ctx,
) -> Result<()> {
}

#[tool]
async fn says_it_of_json(#[arg] all: PlainJson<Trip>) -> Result<()> {}

#[tool]
async fn asks_for_an_argument(#[ask("How many?")] #[arg] nights: u8) -> Result<()> {}

#[prompt]
async fn never_none(#[arg(default = 7)] nights: Option<u8>) -> Result<String> {}

fn main() {}
