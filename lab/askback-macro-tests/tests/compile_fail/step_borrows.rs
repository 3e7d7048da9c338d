use askback::{Ctx, Result};

async fn forgets_to_move(ctx: Ctx, path: String) -> Result<usize> {
    ctx.commit("length", || async { Ok(path.len()) }).await
}

async fn borrows_what_ends(ctx: Ctx, path: String) -> Result<usize> {
    let name = path.as_str();
    ctx.commit("length", move || async move { Ok(name.len()) }).await
}

async fn borrows_in_an_async_closure(ctx: Ctx, path: String) -> Result<()> {
    ctx.commit("write", async || Ok(std::fs::write(&path, "Buy milk.")?)).await
}

fn main() {}
