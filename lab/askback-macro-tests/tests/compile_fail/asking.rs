use askback::{Ctx, Result};

struct Booking {
    _seat: String,
}

async fn asks_for_what_derives_nothing(ctx: Ctx) -> Result<()> {
    ctx.elicit::<Booking>("A seat?").await?;
    Ok(())
}

async fn asks_for_a_size(ctx: Ctx) -> Result<()> {
    ctx.elicit::<usize>("How many?").await?;
    Ok(())
}

async fn chooses_what_cannot_be_read(ctx: Ctx) -> Result<()> {
    ctx.choose("Which one?", [Booking { _seat: "12A".into() }]).await?;
    Ok(())
}

fn main() {}
