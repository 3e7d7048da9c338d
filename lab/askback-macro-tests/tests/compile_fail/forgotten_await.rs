#![deny(unused_must_use)]

use askback::{Ctx, Result};

async fn waits_for_no_step(ctx: Ctx) -> Result<()> {
    ctx.commit("delete", async || Ok(()));
    Ok(())
}

async fn waits_for_no_question(ctx: Ctx) -> Result<()> {
    ctx.confirm("Delete it?");
    Ok(())
}

async fn takes_a_no_for_a_yes(ctx: Ctx) -> Result<()> {
    ctx.elicit::<bool>("Delete it?").await?;
    Ok(())
}

fn main() {}
