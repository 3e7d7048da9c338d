use std::{rc::Rc, sync::Mutex};

use askback::{Ctx, Form, Result, State, Tool, tool};

#[derive(Form)]
struct Seat {
    window: bool,
}

#[tool]
async fn keeps_a_counter(ctx: Ctx) -> Result<String> {
    let counter = Rc::new(1);
    let sure = ctx.confirm("Sure?").await?;
    Ok(format!("{counter} {sure}"))
}

#[tool]
async fn keeps_a_guard(ctx: Ctx, State(seats): State<&'static Mutex<u8>>) -> Result<String> {
    let seats = seats.lock().unwrap();
    let seat = ctx.elicit::<Seat>("A seat?").await?.accepted()?;
    Ok(format!("{seats} {}", seat.window))
}

async fn plain(ctx: Ctx) -> Result<String> {
    let counter = Rc::new(1);
    let sure = ctx.confirm("Sure?").await?;
    Ok(format!("{counter} {sure}"))
}

fn main() {
    let _ = Tool::new("plain", plain);
}
