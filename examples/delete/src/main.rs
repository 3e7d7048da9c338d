use askback::{Ctx, Result, RunError, Server, tool};

#[tool(description = "Deletes a file, if a person agrees.")]
async fn delete(ctx: Ctx, path: String) -> Result<&'static str> {
    if !ctx.confirm(format!("Delete {path}?")).await? {
        return Ok("Nothing was deleted.");
    }
    let delete = async move || Ok(std::fs::remove_file(path)?);
    ctx.commit("delete", delete).await.map(|()| "Deleted.")
}

#[tokio::main]
async fn main() -> Result<(), RunError> {
    Server::new("files", "1.0").tool(delete).run_stdio().await
}
